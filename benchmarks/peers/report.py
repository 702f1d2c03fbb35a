"""Tables and pictures of the results: docs/peers.md, docs/peers/*.png, and what other pages quote.

    python -m benchmarks.peers.report [--results FILE] [--root FOLDER]

In README.md the summary goes between `<!-- peers -->` and `<!-- /peers -->`; in docs/when-not.md a
line `<!-- peers DATA: SOLVER SOLVER ... -->` is followed by a table of just these.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.peers.__main__ import RESULTS
from benchmarks.peers.objective import pareto
from benchmarks.peers.solvers import OURS, SOLVERS, find

Cell = dict[str, Any]
# Columns of the summary. The best of a group is the best on the test set, for all groups alike.
GROUPS = {
    "Multiplane": ("multiplane",),
    "others of ours": tuple(name for name in OURS if name != "multiplane"),
    "linear": ("sgd", "linear_svc", "liblinear", "vowpal_wabbit"),
    "kernel": ("svc", "libsvm", "nystroem"),
    "boosted trees": ("hist_gradient_boosting", "lightgbm", "xgboost"),
    "network": ("mlp",),
}
HEAD = (
    "| | error, % | training, s | model, kB | a row alone, µs | of many, µs | memory, MB |\n"
    "|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    options = parser.parse_args()
    record = json.loads(options.results.read_text())
    docs = options.root / "docs"
    (docs / "peers").mkdir(parents=True, exist_ok=True)
    for data, cells in by_data(record["cells"]).items():
        picture(data, cells, docs / "peers" / f"{data}.png")
    (docs / "peers.md").write_text(page(record))
    for path in (options.root / "README.md", docs / "when-not.md"):
        if path.exists():
            path.write_text(filled(path.read_text(), record["cells"]))
    print(summary(record["cells"]))


def by_data(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    sets: dict[str, list[Cell]] = {}
    for cell in cells:
        sets.setdefault(cell["data"], []).append(cell)
    return sets


def finished(cells: Iterable[Cell]) -> list[Cell]:
    return sorted((c for c in cells if "error" in c), key=lambda c: (c["error"], c["seconds"]))


# --- tables ----------------------------------------------------------------------------------


def page(record: dict[str, Any]) -> str:
    cells, conditions = record["cells"], record["conditions"]
    dates = sorted({cell["date"] for cell in cells})
    commits = ", ".join(dict.fromkeys(cell["commit"] for cell in cells))
    parts = [
        "# Beside the peers",
        "Written by `python -m benchmarks.peers.report` from what `python -m benchmarks.peers` "
        f"measured on {' to '.join(dict.fromkeys((dates[0], dates[-1])))} at {commits}: "
        f"{conditions['machine']}, Python {conditions['python']}. "
        f"Threads: {conditions['threads']}.",
        "One run a cell, with a seed where there is one. Training seconds include scaling and "
        "searches, not reading; they are the processor's, below one second the least of three by "
        "the clock. Model: the saved file. A row alone: the median of 300 calls "
        "by the library's shortest way. Memory: the most that training adds to what is "
        f"resident before. Training and prediction end after {limits(cells)}. "
        "**Bold**: no other has both less error and less training time. "
        "[What is measured and why](decisions/0017-peers.md) · "
        "[When to use something else](when-not.md)",
        "## Summary",
        summary(cells),
        standing(cells),
        "## Who takes part",
        who(cells),
    ]
    for data, own in by_data(cells).items():
        parts += [
            f"## {data}",
            about(own),
            f"![{data}: error against training time](peers/{data}.png)",
        ]
        parts += [table(own)]
    return "\n\n".join(parts) + "\n"


def limits(cells: list[Cell]) -> str:
    """Of all data sets alike, but for some."""
    own = {data: max(cell["limit"] for cell in part) for data, part in by_data(cells).items()}
    usual = min(own.values())
    more = [f"{data} {limit:g} s" for data, limit in own.items() if limit > usual]
    return f"{usual:g} s each" + (f" ({', '.join(more)})" if more else "")


def about(cells: list[Cell]) -> str:
    known = next((cell for cell in cells if "rows" in cell), None)
    if known is None:
        return cells[0]["reason"]
    rows, features = f"{known['rows']:,} rows to train", f"{known['features']:,} features"
    return f"{rows}, {features}, {known['classes']} classes."


def table(cells: list[Cell], among: list[Cell] | None = None) -> str:
    """Of some cells; bold is who is not beaten `among` all of the data set."""
    done = finished(cells)
    chosen = pareto(finished(among or cells))
    rows = [HEAD, *(row(cell, cell["solver"] in chosen) for cell in done)]
    for cell in cells:
        if "error" not in cell:
            trained = f"{cell['seconds']:.3g}" if "seconds" in cell else ""
            rows.append(f"| {name(cell)} | {cell['reason']} | {trained} | | | | |")
    return "\n".join(rows)


def row(cell: Cell, best: bool) -> str:
    star = " ¹" if cell.get("note") else ""
    title = f"**{name(cell)}**" if best else name(cell)
    return (
        f"| {title} | {cell['error']:.2f} | {significant(cell['seconds'])}{star} "
        f"| {significant(cell['model_bytes'] / 1000)} | {significant(cell['single_us'])} "
        f"| {significant(cell['batch_us'])} | {cell['peak_mb']:.0f} |"
    )


def name(cell: Cell) -> str:
    return f"{cell['title']}, ours" if cell.get("ours") else str(cell["title"])


def significant(number: float) -> str:
    """Two digits, and no exponent."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def summary(cells: Iterable[Cell]) -> str:
    head = ["data", "rows", *GROUPS]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for data, own in by_data(cells).items():
        best = {
            group: next((c for c in finished(own) if c["solver"] in members), None)
            for group, members in GROUPS.items()
        }
        if not any(best.values()):
            continue
        least = min(cell["error"] for cell in best.values() if cell)
        slow = {c["solver"]: c["too_slow"] for c in own if "too_slow" in c}
        shown = [
            brief(cell, group, least) if cell else missing(slow, group)
            for group, cell in best.items()
        ]
        rows = next(cell["rows"] for cell in own if "rows" in cell)
        lines.append(f"| {data} | {rows:,} | {' | '.join(shown)} |")
    return "\n".join(lines)


def missing(slow: dict[str, float], group: str) -> str:
    limits = [slow[solver] for solver in GROUPS[group] if solver in slow]
    return f"> {min(limits):g} s" if limits else "–"


def brief(cell: Cell, group: str, least: float) -> str:
    error = f"{cell['error']:.2f}"
    who = "" if len(GROUPS[group]) == 1 else f" {cell['title'].partition(' ')[0].rstrip(',')}"
    return (f"**{error}**" if cell["error"] == least else error) + (
        f"{who}, {significant(cell['seconds'])} s"
    )


def standing(cells: Iterable[Cell]) -> str:
    """How often each is not beaten in both, and its mean place by error where it has finished."""
    sets = [done for done in map(finished, by_data(cells).values()) if done]
    found = []
    for solver in SOLVERS:
        ranked = [[cell["solver"] for cell in done] for done in sets]
        places = [names.index(solver) + 1 for names in ranked if solver in names]
        unbeaten = sum(solver in pareto(done) for done in sets)
        if places:
            found.append((sum(places) / len(places), solver, len(places), unbeaten))
    lines = [
        f"| | finished, of {len(sets)} | unbeaten in error and time | place by error, there |",
        "|---|---|---|---|",
    ]
    for place, solver, n_done, unbeaten in sorted(found):
        kind = find(solver)
        title = f"{kind.title}, ours" if kind.ours else kind.title
        lines.append(f"| {title} | {n_done} | {unbeaten} | {place:.1f} |")
    return "\n".join(lines)


def who(cells: Iterable[Cell]) -> str:
    """What each file says of its solver, and the version that ran."""
    versions = {cell["solver"]: cell["version"] for cell in cells if "version" in cell}
    lines = ["| | package | what |", "|---|---|---|"]
    for solver in SOLVERS:
        if solver in versions:
            kind = find(solver)
            said = " ".join((sys.modules[kind.__module__].__doc__ or "").split())
            lines.append(f"| {kind.title} | {kind.needs} {versions[solver]} | {said} |")
    return (
        "\n".join(lines) + "\n\n¹ stopped before it had converged, at its default number of passes."
    )


def quoted(sets: dict[str, list[Cell]], data: str, solvers: str) -> str:
    cells = {cell["solver"]: cell for cell in sets.get(data, [])}
    wanted = [cells[solver] for solver in solvers.split() if solver in cells]
    return table(wanted, sets.get(data)) if wanted else "(not measured yet)"


def filled(text: str, cells: list[Cell]) -> str:
    """A page, with what belongs between each mark and the next closing one."""

    def table_of(found: re.Match[str]) -> str:
        head, data, solvers = found.groups()
        inside = quoted(by_data(cells), data, solvers) if data else summary(cells)
        return f"<!-- {head} -->\n\n{inside}\n\n<!-- /peers -->"

    mark = r"<!-- (peers(?: ([^:\n]+): ([^\n]*?))?) -->.*?<!-- /peers -->"
    return re.sub(mark, table_of, text, flags=re.DOTALL)


# --- pictures --------------------------------------------------------------------------------


def picture(data: str, cells: list[Cell], path: Path) -> None:
    """Error against training time; a larger dot is a larger model."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    done = finished(cells)
    if not done:
        return
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    least = min([cell["error"] for cell in done if cell["error"] > 0], default=0.01)
    height = {cell["solver"]: max(cell["error"], least / 2) for cell in done}  # 0 has no logarithm
    front = [cell for cell in done if cell["solver"] in pareto(done)]
    front.sort(key=lambda cell: cell["seconds"])
    axes.step(
        [cell["seconds"] for cell in front],
        [height[cell["solver"]] for cell in front],
        where="post", color="0.8", zorder=0,
    )  # fmt: skip
    for cell in done:
        axes.scatter(
            cell["seconds"],
            height[cell["solver"]],
            s=size(cell["model_bytes"]),
            color="C3" if cell.get("ours") else "0.45",
            alpha=0.8, linewidths=0,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="training, s", ylabel="test error, %", title=data)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("{x:g}" if axis is axes.yaxis and spread(height) < 5 else "")
    axes.tick_params(labelsize=8, which="both")
    axes.margins(0.12, 0.18)
    for known, what in ((1e4, "10 kB"), (1e6, "1 MB"), (1e8, "100 MB")):
        axes.scatter([], [], s=size(known), color="0.75", label=what)
    figure.legend(
        loc="outside right upper", fontsize=7, title="model", title_fontsize=7, frameon=False
    )
    figure.canvas.draw()
    label(axes, done, height)
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})
    plt.close(figure)


def size(model_bytes: float) -> float:
    return float(15 * max(1.0, (model_bytes / 1000) ** 0.3))


def spread(height: dict[str, float]) -> float:
    return max(height.values()) / min(height.values())


def label(axes: Any, done: list[Cell], height: dict[str, float]) -> None:
    """Names beside the dots, each at the first of some places where it covers nothing."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    at = {cell["solver"]: (cell["seconds"], height[cell["solver"]]) for cell in done}
    dots = axes.transData.transform(list(at.values()))
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in dots]
    frame, renderer = axes.get_window_extent(), axes.figure.canvas.get_renderer()
    for cell in done:
        colour = "C3" if cell.get("ours") else "0.2"
        for x, y in PLACES:
            text = axes.annotate(
                cell["title"],
                at[cell["solver"]],
                (x, y),
                textcoords="offset points",
                ha="left" if x > 0 else "right",
                va="center",
                fontsize=7,
                color=colour,
                arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.3} if abs(y) > 7 else None,
            )
            text.update_positions(renderer)
            box = Text.get_window_extent(text)  # without its line
            inside = all(frame.contains(*corner) for corner in (box.min, box.max))
            if (x, y) == PLACES[-1] or (inside and not any(box.overlaps(b) for b in taken)):
                taken.append(box)
                break
            text.remove()


PLACES = [
    (side * x, sign * y)
    for y in (0, 7, 14, 21, 28, 35, 42, 50, 60, 70)
    for x in (7, 28)
    for sign in (1, -1)
    for side in (1, -1)
]
PLACES.append((8, 0))  # else over others

if __name__ == "__main__":
    main()
