"""Settings for all tests."""

import os

# Before SciPy is imported: without it scikit-learn skips its checks of array-API input.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Before NumPy is: products are small here, and threads of BLAS spin while they wait for each other.
# Where all cores were taken, the tests of explore took five times the processor's time with two.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from multiplane import _native

# The same random problems at each run; the machines that run this are shared, so no deadlines.
settings.register_profile("multiplane", deadline=None, derandomize=True, database=None)
settings.load_profile("multiplane")


@pytest.fixture(params=_native.simd_levels())
def simd(request):
    """Run the test once for every instruction set of this machine."""
    before = _native.simd_level()
    _native.use_simd(request.param)
    yield request.param
    _native.use_simd(before)


@pytest.fixture
def fused_levels():
    """Goes from one instruction set with fused multiply-add to the next: all give the same bits."""
    before = _native.simd_level()

    def levels():
        for level in _native.simd_levels():
            _native.use_simd(level)
            if _native.simd_fused():
                yield level

    yield levels()
    _native.use_simd(before)
