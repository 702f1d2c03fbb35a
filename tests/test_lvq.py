"""LVQ2.1, the baseline of our own: a step by hand, and what it must be able to learn."""

import numpy as np
import pytest
from multiplane.experiments.gamm.lvq import LVQ21, step

from multiplane.datasets import make_checkerboard


def shown(x, code, prototypes, owner, window=0.3):
    moved = np.array(prototypes, dtype=float)
    step(moved, np.array(owner), np.array(x, dtype=float), code, 0.1, window)
    return moved.tolist()


def test_a_step_by_hand():
    """At 0.8 from the right prototype and 1.2 from the wrong one; a third takes no part."""
    moved = shown([0.8, 0], 0, [[0, 0], [2, 0], [9, 9]], [0, 1, 1])
    # 0 + 0.1 (0.8 − 0) and 2 − 0.1 (0.8 − 2).
    np.testing.assert_allclose(moved, [[0.08, 0], [2.12, 0], [9, 9]], rtol=1e-12)


def test_also_where_the_wrong_one_is_nearer():
    moved = shown([0.8, 0], 1, [[0, 0], [2, 0]], [0, 1])
    np.testing.assert_allclose(moved, [[-0.08, 0], [1.88, 0]], rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "owner"),
    [
        ([0.9, 0], [0, 0, 1]),  # both of the right class
        ([0.9, 0], [1, 1, 0]),  # both of the wrong class
        ([0.6, 0], [0, 1, 1]),  # 0.6 / 1.4 is less than 0.7 / 1.3: outside the window
        ([0.0, 0], [0, 1, 1]),  # on a prototype
    ],
)
def test_nothing_moves(x, owner):
    prototypes = [[0.0, 0.0], [2.0, 0.0], [9.0, 9.0]]
    assert shown(x, 0, prototypes, owner) == prototypes


def test_a_board_and_any_labels():
    X, y = make_checkerboard(2, 2, 1_500, random_state=0)
    labels = np.array(["red", "blue"])[y]
    clf = LVQ21(n_prototypes=4).fit(X[:1_000], labels[:1_000])
    assert clf.prototypes_.shape == (8, 2)
    assert clf.score(X[1_000:], labels[1_000:]) > 0.95


def test_more_prototypes_than_points():
    clf = LVQ21(n_prototypes=20).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    assert clf.predict([[0.5], [5.5]]).tolist() == [0, 1]
    again = LVQ21(n_prototypes=20).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    assert (clf.prototypes_ == again.prototypes_).all()
