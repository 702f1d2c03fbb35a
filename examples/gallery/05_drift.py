"""
A stream that changes
=====================

A checkerboard is turned by 45 degrees after 70,000 rows. Four kernel machines of the same size see
the stream in blocks of 1,000 rows: each block is predicted first and learnt then.
"""

import matplotlib.pyplot as plt
import numpy as np

from multiplane import BudgetedPegasosClassifier
from multiplane.datasets import stream_checkerboard

N, CHANGE, BLOCK, LIFE = 140_000, 70_000, 1_000, 40_000
s = np.float32(0.5**0.5)
turn = np.array([[s, -s], [s, s]])


def errors(in_turns=False, **settings):
    """In %, block by block. In turns: the elder of two predicts, until it has lived long enough."""
    settings = {"alpha": 1e-4, "gamma": 16, "budget": 200, "random_state": 0} | settings
    models = [BudgetedPegasosClassifier(**settings)]
    blocks = stream_checkerboard(4, 4, n=N, block_size=BLOCK, random_state=0)
    for number, (X, y) in enumerate(blocks):
        X = X if number * BLOCK < CHANGE else X @ turn
        yield 100 * np.mean(models[0].predict(X) != y) if number else np.nan
        if in_turns and number * BLOCK % (LIFE // 2) == 0:
            models = [*models, BudgetedPegasosClassifier(**settings)][-2:]
        for model in models:
            model.partial_fit(X, y, classes=[0, 1])


# %%
# No setting of these machines is about change. A step is 1/(λt) long, which makes the model the sum
# of all lessons so far over the number of rows: an old lesson counts as much as a new one, and what
# the old board has taught is undone when there are about as many lessons against it. A lesson is a
# row with a loss: one in eight while all goes well, every second one after the turn (``history_``
# has them as ``updates``), which is why it is over sooner than one might fear.
#
# *As it comes* the machine also averages, over about the last fifth of its life: the later the
# change, the longer the delay. With ``average=False`` the last model predicts, which is worse while
# all is quiet, and turns sooner.
#
# What forgets is the budget. Merging keeps what a support vector had to say;
# ``maintenance="random"`` drops one for each that comes, and the past is gone within a block or
# two. So is much of the present: it pays all the time.
#
# The fourth is a remedy for any learner: two of them, the elder predicts, and after 40,000 rows
# the younger takes its place. It forgets on schedule, and costs twice the time. It is not a
# detector: if you know when the world has changed, start anew then.

ways = {
    "merging, as it comes": {},
    "merging, average=False": {"average": False},
    'maintenance="random"': {"maintenance": "random"},
    "merging, two in turns": {"in_turns": True},
}
fig, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
for name, settings in ways.items():
    ax.plot(np.arange(0, N, BLOCK), list(errors(**settings)), label=name, lw=1.2)
ax.axvline(CHANGE, color="0.6", ls="--", lw=1, zorder=0)
ax.annotate("the board is turned", (CHANGE, 56), (-6, 0), textcoords="offset points", ha="right")
ax.set(xlabel="rows", ylabel="error on the next 1,000 rows, %", xlim=(0, N), ylim=(0, 60))
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.legend(frameon=False, loc="upper right")
plt.show()
