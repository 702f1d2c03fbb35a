"""Learning curves, and error against what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter
except ImportError as error:
    raise ImportError("pictures need Matplotlib: pip install matplotlib") from error

if TYPE_CHECKING:
    from multiplane.exploration._explore import Exploration

_COLOURS = {
    "linear": "#777777",
    "AMM": "#56b4e9",
    "GAMM": "#0072b2",
    "multiplane": "#d55e00",
    "least squares": "#009e73",
    "kernel": "#cc79a7",
}
_MARKERS = "os^D"  # the family's sizes
_COSTS = (
    ("fit_seconds", "training on all rows, seconds", 1.0),
    ("predict_seconds", "prediction, µs a row", 1e6),
    ("size", "numbers in the model", 1.0),
)


def draw(found: Exploration) -> Any:
    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    marker = _markers(found)
    _curves(axes[0], found, marker)
    for ax, (cost, label, unit) in zip(axes[1:], _COSTS, strict=True):
        _frontier(ax, found, marker, cost, label, unit)
    figure.suptitle(
        f"{found.n_rows:,} rows, {found.n_features:,} features, {found.n_classes:,} classes. "
        f"Recommended: {found.forecast[0]['name']}"
    )
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _markers(found: Exploration) -> dict[str, str]:
    names: dict[str, list[str]] = {}
    for entry in [*found.measurements, *found.forecast]:
        known = names.setdefault(entry["family"], [])
        if entry["name"] not in known:
            known.append(entry["name"])
    return {
        name: _MARKERS[i % len(_MARKERS)]
        for known in names.values()
        for i, name in enumerate(known)
    }


def _curves(ax: Any, found: Exploration, marker: dict[str, str]) -> None:
    for entry in found.forecast:
        name, colour = entry["name"], _COLOURS[entry["family"]]
        points = [m for m in found.measurements if m["name"] == name]
        if not points:  # inferred
            continue
        n, error, low, high = (
            np.array([m[key] for m in points]) for key in ("n_rows", "error", "low", "high")
        )
        error = np.maximum(error, low)
        ax.errorbar(
            n,
            100 * error,
            100 * np.maximum(0, [error - low, high - error]),  # but for rounding
            color=colour,
            marker=marker[name],
            markersize=5,
            lw=1,
            elinewidth=0.7,
        )
        if n[-1] < found.n_rows:
            beyond = np.geomspace(n[-1], found.n_rows, 20)
            curve = np.append(error[-1], found.curve(name, beyond[1:])[:, 0])
            ax.plot(beyond, 100 * curve, color=colour, lw=1, ls=":")
    ax.axvline(found.n_rows, color="0.8", lw=0.8, zorder=0)
    ax.set(xlabel="rows to train with (dotted: expected)", xscale="log")
    ax.set_xticks(sorted({m["n_rows"] for m in found.measurements} | {found.n_rows}))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="x", labelsize=8, labelrotation=20)
    _errors(ax)


def _frontier(
    ax: Any, found: Exploration, marker: dict[str, str], cost: str, label: str, unit: float
) -> None:
    for number, entry in enumerate(found.forecast):
        ax.plot(
            unit * entry[cost],
            100 * entry["error"],
            marker[entry["name"]],
            color=_COLOURS[entry["family"]],
            markersize=11 if number == 0 else 7,
            markeredgecolor="black" if number == 0 else "none",
            label=entry["name"],
        )
    best = found.frontier(cost)
    ax.step(
        [unit * entry[cost] for entry in best],
        [100 * entry["error"] for entry in best],
        where="post",
        color="0.6",
        lw=1,
        zorder=0,
    )
    ax.set(xlabel=label, xscale="log")
    _few_labels(ax.xaxis, *ax.get_xlim())
    _errors(ax)


def _errors(ax: Any) -> None:
    ax.set(ylabel="error, %", yscale="log")
    _few_labels(ax.yaxis, *ax.get_ylim())
    ax.grid(alpha=0.2)


def _few_labels(axis: Any, low: float, high: float) -> None:
    """Plain numbers; between powers of ten only if there would be next to none otherwise."""
    plain = FuncFormatter(lambda value, _: f"{value:,.9g}")
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(plain if high < 12 * low else NullFormatter())
    axis.set_tick_params(which="minor", labelsize=7)
