"""Algorithm 1 of the AMM paper on rows that are never all at hand (experiments/digits.py)."""

import numpy as np
import pytest
from multiplane.experiments import digits
from sklearn.datasets import make_classification

from multiplane import AMMClassifier, PegasosClassifier


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(
        6_000, 20, n_informative=12, n_classes=10, n_clusters_per_class=2, random_state=0
    )
    return X.astype(np.float32), y


def blocks(X, y, size):
    return [(X[i : i + size], y[i : i + size], None) for i in range(0, len(y), size)]


@pytest.mark.parametrize("n_passes", [1, 2, 3, 5])
@pytest.mark.parametrize("average", [False, True])
def test_batch_in_blocks_is_fit(rows, n_passes, average):
    """To the last bit, whatever the blocks; prunings fall into the middle of blocks."""
    model = AMMClassifier(
        "batch",
        max_iter=n_passes,
        shuffle=False,
        average=average,
        prune_every=1_700,
        random_state=0,
    )
    streamed = digits.learner(AMMClassifier(**model.get_params()), np.asarray)
    counts = list(digits.passes(blocks(*rows, 1_000), [streamed], n_passes))
    model.fit(*rows)
    np.testing.assert_array_equal(streamed.model.coef_, model.coef_)
    np.testing.assert_array_equal(streamed.model.hyperplane_class_, model.hyperplane_class_)
    assert counts[-1] == n_passes * len(rows[1])
    assert model.history_[-1]["pruned"] > 0


def test_several_learn_the_same_rows(rows):
    """Each as if it were alone, with its own labels."""

    def odd(y):
        return y % 2

    both = [
        digits.learner(PegasosClassifier(random_state=0), np.asarray),
        digits.learner(AMMClassifier(random_state=0), odd),
    ]
    for _ in digits.passes(blocks(*rows, 1_500), both, 1):
        pass
    X, y = rows
    for each, labels in zip(both, (np.asarray, odd), strict=True):
        alone = type(each.model)(max_iter=1, shuffle=False, random_state=0).fit(X, labels(y))
        np.testing.assert_array_equal(each.model.coef_, alone.coef_)
        assert each.seconds > 0
