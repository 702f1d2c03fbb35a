"""
The envelope
============

With one feature a hyperplane is a line over the axis, and the model can be drawn whole. A point has
the class of the line that is highest above it; all that matters is the upper envelope, drawn thick.
The problem is a strip of seven blocks whose classes alternate, as in Figure 1 of the GAMM paper
(Djuric, Wang and Vucetic, ICML 2020).
"""

import matplotlib.pyplot as plt
import numpy as np

from multiplane import GAMMClassifier, MultiplaneClassifier
from multiplane.datasets import make_xor_strip

X, y = make_xor_strip(n_blocks=7, n=20_000, random_state=0)
X, X_test, y, y_test = X[:15_000], X[15_000:], y[:15_000], y[15_000:]
models = {
    "GAMM": GAMMClassifier(alpha=1e-5, random_state=0),
    "Multiplane": MultiplaneClassifier(n_hyperplanes=4, random_state=0),
}

# %%
# The highest of several lines is a convex function: from left to right its slope only rises. So no
# line wins in two places, and seven blocks need seven lines, whatever the algorithm.
#
# Nor is more needed. The tangents to the parabola x²/2 at some centres have an envelope in which
# each wins just where its centre is the nearest. Put a centre into each block, give the tangent the
# block's class, and all points are right. With tangents to ‖x‖²/2 this holds for any number of
# features: it is how the paper proves that such models can fit any data that does not contradict
# itself, and where ``MultiplaneClassifier`` starts: given four lines a class, it keeps the seven
# that win. GAMM finds its envelope by making copies, most of which end below it (grey) and decide
# nothing.

colours = "#2166ac", "#b2182b"
x = np.linspace(-1, 1, 2001)

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    wrong = 100 * (1 - model.fit(X, y).score(X_test, y_test))
    lines = np.outer(model.coef_[:, 0], x) + model.intercept_[:, None]  # (m, 2001)
    winner, height = lines.argmax(axis=0), lines.max(axis=0)
    for block, left in enumerate(np.linspace(-1, 1, 8)[:-1]):
        ax.axvspan(left, left + 2 / 7, color=colours[block % 2], alpha=0.12, linewidth=0)
    for j, line in enumerate(lines):
        wins = winner == j
        if wins.any():
            colour = colours[model.hyperplane_class_[j]]
            ax.plot(x, line, color=colour, lw=0.7, alpha=0.7)
            ax.plot(x[wins], height[wins], color=colour, lw=3.5, solid_capstyle="butt")
        else:
            ax.plot(x[[0, -1]], line[[0, -1]], color="0.7", lw=0.3, zorder=0)
    room = height.max() - height.min()
    ax.set(xlim=(-1, 1), ylim=(height.min() - 0.5 * room, height.max() + 0.05 * room))
    ax.set(xlabel="x", ylabel="score", xticks=[-1, -0.5, 0, 0.5, 1])
    decide = len(set(winner))
    ax.set_title(f"{name}: {wrong:.1f} % errors\n{len(lines)} lines, {decide} in the envelope")
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
