"""
Accuracy against budget
=======================

A kernel machine that learns from a stream gets a new support vector with every row that it does not
get right by a margin. ``BudgetedPegasosClassifier`` has room for so many of them, its budget; when
there is one too many, the smallest has to go. Three ways to part with it, at six budgets, on 30,000
rows of a checkerboard:

- *remove*: it is gone, with all it had to say;
- *project*: the others take over what they can say of it;
- *merge*: it and a neighbour become one vector between them.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

from multiplane import BudgetedPegasosClassifier
from multiplane.datasets import make_checkerboard

X, y = make_checkerboard(4, 4, n=35_000, random_state=0)
X, X_test, y, y_test = X[:30_000], X[30_000:], y[:30_000], y[30_000:]
budgets = [10, 20, 50, 100, 200, 400]

# %%
# Removal throws away what has been learnt, and gains from a larger budget only slowly. Merging
# moves support vectors to where no row ever was, so that a few can stand for many: twenty are
# enough for most of the board, and time grows with the budget alone. Projection loses the least
# once there is some room, but has to know how all support vectors relate to each other: its time
# grows with the square of the budget. Merging is the default.


def measured(seed, **settings):
    clf = BudgetedPegasosClassifier(alpha=1e-4, gamma=16, random_state=seed, **settings)
    start = time.perf_counter()
    clf.fit(X, y)
    seconds = time.perf_counter() - start
    return 100 * (1 - clf.score(X_test, y_test)), 1e6 * seconds / len(X)


fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for way, marker in {"remove": "s", "project": "^", "merge": "o"}.items():
    found = np.array(
        [[measured(seed, budget=b, maintenance=way) for b in budgets] for seed in range(3)]
    ).mean(axis=0)  # (6, 2)
    left.plot(budgets, found[:, 0], marker=marker, label=way)
    right.plot(budgets, found[:, 1], marker=marker, label=way)
left.set_ylabel("error, mean of three seeds, %")
right.set_ylabel("training, µs a row")
for ax in (left, right):
    ax.set(xscale="log", yscale="log", xlabel="budget: support vectors at most")
    ax.set_xticks(budgets, budgets)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.grid(alpha=0.3)
left.legend(frameon=False)
plt.show()
