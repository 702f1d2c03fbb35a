"""
Growth and pruning
==================

How many hyperplanes a model needs is a thing that AMM and GAMM find out. ``history_`` keeps the
books: how many have been created out of nothing, duplicated and pruned so far, how many are alive,
and the error since the last entry, each row being judged before it is learnt.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from multiplane import AMMClassifier, GAMMClassifier
from multiplane.datasets import stream_checkerboard

models = {
    "AMM": AMMClassifier(alpha=1e-5, random_state=0),
    "GAMM": GAMMClassifier(alpha=1e-5, random_state=0),
}
X, y = next(stream_checkerboard(4, 4, n=300_000, block_size=300_000, random_state=0))
# The cut into calls does not change the model: let each be some percent longer than the last.
ends = np.geomspace(500, len(X), 80).astype(int)
for model in models.values():
    for start, end in pairwise([0, *ends]):
        model.partial_fit(X[start:end], y[start:end], classes=[0, 1])

# %%
# A hyperplane is created when all others of its class are below zero. That happens a dozen times
# in the beginning and then no more, which is not enough for a 4×4 board. GAMM also duplicates the
# hyperplane that a row with a loss belongs to, with a probability that each copy makes one
# hundredth smaller: it grows fast, then slowly, and the error follows.
#
# Every 10,000 steps the smallest hyperplanes are pruned, as far as the model changes by little more
# than a step would change it. What goes first are failed attempts from the time when nothing was
# known. (The error is that of the model in training; ``predict`` averages, and does better.)

fig, axes = plt.subplots(2, 2, figsize=(9, 6), sharex=True, layout="constrained")
for (top, bottom), (name, model) in zip(axes.T, models.items(), strict=True):
    calls = [entry for entry in model.history_ if entry["event"] == "partial_fit"]
    rows = [entry["t"] - 1 for entry in calls]
    kinds = {"hyperplanes": "black", "created": "C2", "duplicated": "C0", "pruned": "C3"}
    for kind, colour in kinds.items():
        label, width = ("alive", 2.5) if kind == "hyperplanes" else (kind, 1.2)
        top.plot(rows, [entry[kind] for entry in calls], color=colour, label=label, lw=width)
    top.set_title(f"{name}: {model.n_hyperplanes_} hyperplanes in the end")
    bottom.plot(rows, [100 * entry["error"] for entry in calls], color="black")
    bottom.set(xlabel="rows", xscale="log", ylim=(0, 60))
    bottom.xaxis.set_major_formatter("{x:,.0f}")
axes[0, 1].legend(frameon=False, loc="upper left")
axes[0, 0].set_ylabel("hyperplanes")
axes[1, 0].set_ylabel("error on the rows of a call, %")
plt.show()
