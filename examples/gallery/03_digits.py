"""
Hyperplanes as pictures
=======================

A hyperplane of a model of images is an image itself: red pixels speak for its class, blue ones
against it. Here each of scikit-learn's digits, of 8×8 pixels, has up to three hyperplanes. Under
each stands the mean of the images that it decides.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from multiplane import MultiplaneClassifier

images, labels = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(images, labels, test_size=0.4, random_state=0)
clf = MultiplaneClassifier(n_hyperplanes=3, alpha=1e-3, scale="uniform", random_state=0).fit(X, y)

# %%
# Nobody has told the model that there are several ways to write a digit. Three hyperplanes start
# from three centres of each class and share its rows among them: ones that are thick, lean over
# or have a foot, sevens with a bar and without. Those that never win are dropped, and for zeros and
# twos one is enough.
#
# What all hyperplanes have in common is left out of the pictures. A row's class is decided by
# differences of scores, so that the same plane can be added to all of them and nothing changes.

winner = clf.apply(X)
weights = clf.coef_ - clf.coef_.mean(axis=0)  # (m, 64)
limit = abs(weights).max() / 1.5

fig, axes = plt.subplots(6, 10, figsize=(9, 6), layout="constrained")
for ax in axes.flat:
    ax.set_axis_off()
for digit in range(10):
    own = [j for j, label in enumerate(clf.hyperplane_class_) if label == digit]
    own.sort(key=lambda j: -(winner == j).sum())
    for place, j in enumerate(own):
        top, bottom = axes[2 * place : 2 * place + 2, digit]
        top.imshow(weights[j].reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
        bottom.imshow(X[winner == j].mean(axis=0).reshape(8, 8), cmap="gray_r")
        top.set_title(f"{(winner == j).sum()} rows", fontsize=7, pad=2)
wrong = 100 * (1 - clf.score(X_test, y_test))
fig.suptitle(f"{clf.n_hyperplanes_} hyperplanes, {wrong:.1f} % errors on {len(X_test)} test rows")
plt.show()
