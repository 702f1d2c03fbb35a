"""
A model in C
============

``export`` writes a fitted classifier as a C header: tables of numbers, a function for the label of
a row, one for its scores. It needs no library and allocates nothing. Here it is compiled, where
there is a compiler, and asked beside Python.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.ctypeslib import ndpointer
from sklearn.datasets import load_digits

import multiplane

X, y = load_digits(return_X_y=True)
X = X.astype(np.float32)
clf = multiplane.MultiplaneClassifier(random_state=0).fit(X, y)

# %%
# All that is added to the header is a loop over the rows.

LOOP = """
#include "digits.h"
void labels(const float *X, long n, long *found)
{
  for (long i = 0; i < n; i++) found[i] = digits_classes[digits_predict(X + 64 * i)];
}
"""


def compiled(folder):
    multiplane.export(clf, folder / "digits.h", name="digits")
    (folder / "loop.c").write_text(LOOP)
    command = ["cc", "-O2", "-shared", "-fPIC", "loop.c", "-o", "digits.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    loop = ctypes.CDLL(str(folder / "digits.so")).labels
    loop.restype = None
    loop.argtypes = [ndpointer(np.float32), ctypes.c_long, ndpointer(np.dtype("long"))]
    return loop


# %%
# ``predict`` checks its rows and hands them to loops that take many at a time. What a call costs is
# shared by its rows, and a row that comes alone bears all of it. ``multiplane.compile`` is for such
# rows, still in Python. In C a call costs next to nothing. What remains are the products, one after
# the other as the standard has it, where the library's own loops take many hyperplanes at a time.
# The labels are the same.

expected, each, words = clf.predict(X), {}, []


def clock(name, predict):
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        labels = predict()
        seconds.append(time.perf_counter() - start)
    each[name] = 1e6 * min(seconds) / len(X)
    words.append(f" {each[name]:.3g} µs, {np.sum(labels != expected)} labels differ")


with tempfile.TemporaryDirectory() as name:
    multiplane.save(clf, Path(name) / "digits.mpl")
    predictor = multiplane.compile(Path(name) / "digits.mpl")
    clock("predict, a row at a time", lambda: [clf.predict(row[None])[0] for row in X])
    clock("multiplane.compile, a row at a time", lambda: [predictor.predict_one(row) for row in X])
    clock("predict, all rows at once", lambda: clf.predict(X))
    if shutil.which("cc"):
        loop, labels = compiled(Path(name)), np.empty(len(X), dtype="long")
        clock("C, a row at a time", lambda: loop(X, len(X), labels) or labels)

fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
bars = ax.barh(list(each), list(each.values()), color=["C0", "C0", "C0", "C1"][: len(each)])
ax.bar_label(bars, words)
no_cc = "" if shutil.which("cc") else "; no C compiler (cc) here"
ax.set_title(f"{clf.n_hyperplanes_} hyperplanes, 64 features, {len(X):,} rows{no_cc}")
ax.set(xscale="log", xlabel="µs a row", xlim=(0.1, 30 * max(each.values())))
ax.xaxis.set_major_formatter("{x:g}")
ax.invert_yaxis()
plt.show()
