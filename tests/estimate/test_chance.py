"""Predictions that are right less often than by chance: against shuffled units, and in words."""

import warnings

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.estimate.doubts.chance import SWAPPED, _pairs, _whole, below_chance

WORDS = "right less often than chance would have it"


def counted(true, predicted, K):
    n = np.zeros((K, K), int)
    np.add.at(n, (true, predicted), 1)
    return n


def good(rng):
    """A test set of a classifier that is better than chance, of any size."""
    K = int(rng.integers(2, 16))
    true = rng.choice(K, int(rng.integers(10, 600)), p=rng.dirichlet(np.ones(K)))
    right = rng.random(len(true)) < rng.uniform(0.5, 0.95)
    return counted(true, np.where(right, true, rng.integers(0, K, len(true))), K)


def told(test, v_hat, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        est = tu.correct_counts(test, v_hat, **{"seed": 1, "draws": 200} | options)
    return [text for text in est.info["warnings"] if WORDS in text]


@pytest.mark.parametrize("K", [2, 3, 5])
def test_mean_and_variance_are_those_of_shuffled_units(K, rng):
    true, predicted = rng.integers(0, K, (2, 60))
    right = np.array([(true == rng.permutation(predicted)).sum() for _ in range(20_000)])
    n = counted(true, predicted, K).astype(float)
    mean, z = _whole(n)
    assert abs(right.mean() - mean) < 5 * right.std() / np.sqrt(len(right))
    sd = (n.trace() + 0.5 - mean) / z
    assert sd == pytest.approx(right.std(), rel=5 / np.sqrt(2 * len(right)))
    if K == 2:  # of two classes, right predictions go in steps of two
        assert _pairs(n)[0, 1] == pytest.approx(((n.trace() - mean) / 2 + 0.5) / (sd / 2))


def test_good_predictions_are_never_accused(rng):
    assert not [n for n in (good(rng) for _ in range(200)) if _p(n) < SWAPPED]


def _p(n):
    evidence = below_chance(n, range(len(n)))
    return 1.0 if evidence is None else evidence.p_value


def test_useless_predictions_are_accused_as_rarely_as_promised(rng):
    seen = [_p(counted(*rng.integers(0, 4, (2, 100)), 4)) < SWAPPED for _ in range(4000)]
    assert sum(seen) <= 4 + 5 * np.sqrt(4)


@pytest.mark.parametrize("design", ["random", "by_class", "shifted", "by_prediction"])
def test_rows_or_columns_that_are_interchanged_are_seen(design):
    (text,) = told([[3, 97], [95, 5]], [980, 1020], design=design)
    assert "8 of the 200 audited units are predicted right" in text
    assert not told([[97, 3], [5, 95]], [1020, 980], design=design)
    (text,) = told([[0, 50, 0], [0, 0, 50], [50, 0, 0]], [900, 900, 900], design=design)
    assert "0 of the 150" in text


def test_two_classes_of_many_that_are_interchanged_are_named():
    n = np.diag([50] * 6) + 1
    assert not told(n, [900] * 6)
    (text,) = told(n[:, [0, 1, 4, 3, 2, 5]], [900] * 6, classes=list("abcdef"))
    assert "units of class 'c' and 'e' are predicted as the other of the two" in text


def test_columns_that_are_not_the_classes_are_no_mistake():
    n = [[3, 97], [95, 5]]
    assert not told(n, [980, 1020], classes=["a", "b"], predicted_classes=["x", "y"])
    assert not told(n, [980, 1020], classes=["a", "b"], predicted_classes=["b", "a"])
    assert not told([[3, 90, 7], [95, 2, 3]], [900, 900, 90])


def test_studies_in_another_order_than_their_columns_are_seen():
    pos, neg = [[78, 7], [27, 10]], [[3, 368], [0, 30]]
    assert told(None, [50, 3280], studies={"neg": neg, "pos": pos})
    assert not told(None, [50, 3280], studies={"pos": pos, "neg": neg})


def test_check_says_so_and_clusters_are_allowed_for():
    """Ten documents of each author with one error in common: no more than chance."""
    units = pd.DataFrame({"author": np.repeat(np.arange(40), 10), "predicted": "a"})
    units.loc[units["author"] % 2 == 0, "predicted"] = "b"
    few = units[units["author"] < 4].assign(true=np.repeat(["a", "b", "a", "b"], 10))
    assert any(WORDS in text for text in tu.check(units, few).doubts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        est = tu.correct(units, few, cluster="author", seed=1, draws=200)
    assert not [text for text in est.info["warnings"] if WORDS in text]
