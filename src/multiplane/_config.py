"""Which loops are in use, and what they were built with."""

from __future__ import annotations

import os
import sys

from multiplane import _native


def use_simd_from_environment() -> None:
    """Obey ``MULTIPLANE_SIMD``; called once, when the package is imported."""
    wanted = os.environ.get("MULTIPLANE_SIMD", "").strip().lower()
    if not wanted:
        return
    try:
        _native.use_simd(wanted)
    except ValueError as error:
        raise ImportError(f"MULTIPLANE_SIMD={wanted}: {error}") from None


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def config() -> dict[str, str]:
    """What `show_config` prints, as a dictionary."""
    import platform

    return {
        "multiplane": _version("multiplane"),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "platform": platform.platform(),
        "simd": _native.simd_level(),
        "simd available": ", ".join(_native.simd_levels()),
        "fused multiply-add": "yes" if _native.simd_fused() else "no",
        "compiler": _native.COMPILER,
        "hardware threads": str(_native.hardware_threads()),
    }


def show_config() -> None:
    """Print versions, the instruction set in use, the compiler and the number of threads.

    ``MULTIPLANE_SIMD=baseline|avx2|avx512`` in the environment forces an instruction set.
    """
    entries = config()
    width = max(map(len, entries))
    sys.stdout.writelines(f"{name:>{width}}  {value}\n" for name, value in entries.items())
