"""
Regions on a checkerboard
=========================

Five classifiers learn the same 15,000 points of a 4×4 checkerboard. A colour is the class they
would give to a place; a thin line is where one hyperplane takes over from another, be it of the
same class or of the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from multiplane import AMMClassifier, GAMMClassifier, MultiplaneClassifier, PegasosClassifier
from multiplane.datasets import make_checkerboard

X, y = make_checkerboard(4, 4, n=20_000, random_state=0)
X, X_test, y, y_test = X[:15_000], X[15_000:], y[:15_000], y[15_000:]

models = {
    "Pegasos, linear": PegasosClassifier(alpha=1e-5, random_state=0),
    "AMM": AMMClassifier(alpha=1e-5, random_state=0),
    "GAMM": GAMMClassifier(alpha=1e-5, random_state=0),
    "Multiplane": MultiplaneClassifier(random_state=0),
    "scikit-learn's SVC, RBF": SVC(C=100, gamma=10),
}

# %%
# One hyperplane a class makes one straight border, and half of the board is wrong. AMM may have
# several, but a new one comes to life only for a row that all others of its class score below zero,
# and soon there is no such row. GAMM also copies hyperplanes where they err, hundreds of times, and
# finds the squares. Multiplane starts from centres of the classes and drops what never wins:
# what is left is one hyperplane a square.
#
# The support vectors of the kernel machine are drawn as dots. They crowd where classes meet, and a
# prediction compares a row with every one of them.

side = np.linspace(-1, 1, 200, dtype=np.float32)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)  # (40000, 2)
look = {"cmap": "coolwarm", "vmin": 0, "vmax": 1}

fig, axes = plt.subplots(2, 3, figsize=(9, 6.7), layout="constrained")
axes[0, 0].scatter(*X[:2500].T, c=y[:2500], s=4, linewidths=0, **look)
axes[0, 0].set_title(f"the data\n{len(X):,} points", fontsize=10)
for ax, (name, model) in zip(axes.flat[1:], models.items(), strict=True):
    wrong = 100 * (1 - model.fit(X, y).score(X_test, y_test))
    classes = model.predict(grid).reshape(200, 200)
    ax.imshow(classes, extent=(-1, 1, -1, 1), origin="lower", alpha=0.6, **look)
    if hasattr(model, "apply"):
        size = f"{model.n_hyperplanes_} hyperplanes"
        winner = model.apply(grid).reshape(200, 200)
        change = (winner[:-1, :-1] != winner[1:, :-1]) | (winner[:-1, :-1] != winner[:-1, 1:])
        lines = np.where(change, 1.0, np.nan)
        ax.imshow(lines, extent=(-1, 1, -1, 1), origin="lower", cmap="gray_r", vmin=0, vmax=1)
    else:
        size = f"{len(model.support_vectors_)} support vectors"
        ax.scatter(*model.support_vectors_.T, c="black", s=3, linewidths=0)
    ax.set_title(f"{name}\n{wrong:.1f} % errors, {size}", fontsize=10)
for ax in axes.flat:
    ax.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal", xticks=[], yticks=[])
plt.show()
