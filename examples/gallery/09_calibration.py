"""
Can probabilities be believed?
==============================

Of the rows that are given a class with a probability of 0.7, seven in ten should have it. A
reliability diagram shows whether they have: rows are sorted into bins by the probability that was
predicted, and the share that had the class is drawn against it. The waveforms of Breiman are a
problem with real doubt: the best classifier there can be gets 86.7 % of the rows right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve

from multiplane import CalibratedLeastSquaresClassifier, MultiplaneClassifier
from multiplane.datasets import make_waveform

X, y = make_waveform(25_000, random_state=0)
X, X_test, y, y_test = X[:5_000], X[5_000:], y[:5_000], y[5_000:]

# %%
# Least squares are made for it: the mean of zeros and ones is a probability, and
# ``CalibratedLeastSquaresClassifier`` goes on to learn how its predictions have to be bent to be
# one. Hyperplanes give scores, which tell who wins and not how surely. scikit-learn's
# ``CalibratedClassifierCV`` finds out on rows held out what they are worth; mind the method.
#
# "sigmoid", its default, looks at each class's score alone. But a score of a multi-class machine
# means something only beside those of the other classes, and what comes out is too timid: below
# the diagonal on the left, above it on the right. "temperature" (since scikit-learn 1.8) takes the
# softmax of all scores, after dividing them by a number that it learns.

wrapped = {
    method: CalibratedClassifierCV(MultiplaneClassifier(random_state=0), method=method, cv=3)
    for method in ("temperature", "sigmoid")
}
predicted = {
    "calibrated least squares": CalibratedLeastSquaresClassifier().fit(X, y).predict_proba(X_test),
    "Multiplane, temperature": wrapped["temperature"].fit(X, y).predict_proba(X_test),
    "Multiplane, sigmoid": wrapped["sigmoid"].fit(X, y).predict_proba(X_test),
}
truth = np.eye(3)[y_test]

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 7), sharex=True, height_ratios=(3, 1), layout="constrained"
)
top.plot([0, 1], [0, 1], color="0.7", ls="--", lw=1)
for (name, P), marker in zip(predicted.items(), "o^s", strict=True):
    share, probability = calibration_curve(truth.ravel(), P.ravel(), n_bins=12)
    brier = ((P - truth) ** 2).sum(axis=1).mean()
    wrong = 100 * np.mean(P.argmax(axis=1) != y_test)
    label = f"{name}\nBrier score {brier:.3f}, {wrong:.1f} % errors"
    top.plot(probability, share, marker=marker, ms=5, label=label)
    bottom.hist(P.ravel(), bins=np.linspace(0, 1, 25), histtype="step", lw=1.3)
bottom.set_yscale("log")
top.set(ylabel="share that has the class", ylim=(0, 1))
top.legend(frameon=False, fontsize=9)
bottom.set(xlabel="predicted probability, all three classes", ylabel="rows × classes", xlim=(0, 1))
plt.show()
