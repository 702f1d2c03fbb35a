"""
What is worth its cost
======================

``explore`` asks the data which family suits it. It trains all of them on growing samples, tests
them on rows held out, drops who cannot win any more, and forecasts error and time for all rows.
Print what it returns for answers in words; ``found.plot()`` has more pictures than this one.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

import multiplane
from multiplane.datasets import make_checkerboard

X, y = make_checkerboard(5, 5, n=40_000, random_state=0)
found = multiplane.explore(X, y, time_budget=10, random_state=0, verbose=0)

# %%
# On the left is what was measured. A single point is a model that was beaten and dropped; a curve
# that still falls at its end would gain from more rows. On the right is the forecast for all rows.
# Nothing lies below the grey steps: the models on them are the frontier, than which none is both
# better and cheaper. Which one to take depends on what an error costs and what a second; the ring
# is the one that is recommended.
#
# Times are those of the machine that made this page. The race depends on it, too: with a faster
# one, or more seconds, more is tried.

families = list(dict.fromkeys(entry["family"] for entry in found.forecast))
colours = dict(zip(families, plt.cm.tab10.colors, strict=False))
markers = {entry["name"]: "os^Dv"[i % 5] for i, entry in enumerate(found.forecast)}

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 5), sharey=True, layout="constrained")
for entry in found.forecast:
    name = entry["name"]
    look = {"color": colours[entry["family"]], "marker": markers[name]}
    curve = [(m["n_rows"], 100 * m["error"]) for m in found.measurements if m["name"] == name]
    left.plot(*np.array(curve).reshape(-1, 2).T, lw=1, ms=5, **look)
    right.plot(entry["fit_seconds"], 100 * entry["error"], ls="", ms=8, label=name, **look)
frontier = found.frontier("fit_seconds")
seconds, errors = zip(*((e["fit_seconds"], 100 * e["error"]) for e in frontier), strict=True)
right.step(seconds, errors, where="post", color="0.7", lw=1, zorder=0)
best = found.forecast[0]
right.plot(best["fit_seconds"], 100 * best["error"], "o", ms=16, mfc="none", color="black")
left.set(xscale="log", yscale="log", xlabel="rows to train with", ylabel="error, %")
right.set(xscale="log", xlabel="training on all rows, expected, seconds")
sizes = sorted({m["n_rows"] for m in found.measurements})
left.set_xticks(sizes, [f"{n:,}" for n in sizes])
for axis in (left.yaxis, right.xaxis):
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
for ax in (left, right):
    ax.minorticks_off()
    ax.grid(alpha=0.3)
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
