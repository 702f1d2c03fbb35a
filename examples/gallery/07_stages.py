"""
Stage after stage
=================

``StagewiseLeastSquaresClassifier`` draws a block of random features, fits what is left over by the
blocks before, and forgets the block's matrix. Thousands of features cost no more memory than one
block. ``staged_predict`` gives the labels after each stage, so that one training draws the curve of
all shorter ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from multiplane import StagewiseLeastSquaresClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# Three ways to fit a stage. *Linear* is ridge regression of the residual. *Calibrated* has the
# predictions so far among its features, too. *Logistic* is a logistic regression beside the scores
# so far: it takes more time and gets the most out of the first features.
#
# The dotted curves are errors on training rows. The logistic one is gone after a few stages: there
# is no row left that the next block could learn from, and the test error hardly falls any more.
# For the others each block has something to add. With 1,078 rows blocks are small here;
# with more, take the default of 512, and ``early_stopping=True`` to end when it no longer helps.

BLOCK, STAGES, SEEDS = 32, 24, range(3)
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
features = BLOCK * np.arange(1, STAGES + 1)
for update, colour in zip(("linear", "calibrated", "logistic"), plt.cm.tab10.colors, strict=False):
    curves = []
    for seed in SEEDS:
        clf = StagewiseLeastSquaresClassifier(
            update, block_size=BLOCK, n_stages=STAGES, random_state=seed
        ).fit(X, y)
        test = [100 * np.mean(labels != y_test) for labels in clf.staged_predict(X_test)]
        train = [100 * np.mean(labels != y) for labels in clf.staged_predict(X)]
        curves.append((test, train))
    test, train = np.mean(curves, axis=0)
    ax.plot(features, test, color=colour, label=update)
    ax.plot(features, train, color=colour, ls=":", lw=1)
ax.set(xscale="log", yscale="log", xlabel="random Fourier features", ylim=(0.2, 20))
ax.set_ylabel(f"error, mean of {len(SEEDS)} seeds, %")
ticks = [32, 64, 128, 256, 512, features[-1]]
ax.set_xticks(ticks, ticks)
ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
ax.yaxis.set_major_formatter("{x:g}")
ax.minorticks_off()
ax.grid(alpha=0.3)
ax.legend(frameon=False, title="update (dotted: training rows)")
plt.show()
