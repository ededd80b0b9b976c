"""The overall accuracy: audited units are known, the others lie between all wrong and all right."""

import numpy as np
import pytest

from trueup.aggregate.overall import overall_accuracy
from trueup.count.counts import make_counts

N_TEST = np.array([[60, 4, 1], [6, 50, 3], [2, 5, 40]])
LEFT = np.array([5, 8, 7])
INFO = {"method": "joint", "prior": "perks", "noise": True, "design": "random", "seed": 1}
OF_CLASSES = np.full(2000, np.nan)


def overall(n, size, overlap, M=None, combined=False, **info):
    counts = make_counts(n, size)
    M = np.zeros((2000, 3, 3)) if M is None else M
    return overall_accuracy(OF_CLASSES, M, counts, INFO | {"overlap": overlap} | info, combined)


def draws(overlap):
    size = N_TEST.sum(axis=0) + LEFT
    return overall(N_TEST, size, overlap) * size.sum()


def test_audited_units_are_known():
    right, some = np.trace(N_TEST), draws(overlap=True)
    assert some.min() >= right
    assert some.max() <= right + LEFT.sum()
    np.testing.assert_allclose(some, np.round(some))
    # 20 units of which about 150 in 171 are right, so that all of these are seldom wrong
    assert right + 10 < some.mean() < right + LEFT.sum()


def test_units_of_a_test_set_from_elsewhere_are_not():
    """Then 191 units are unknown: their spread is that of 191 units and of 171 audited ones."""
    p = np.trace(N_TEST) / N_TEST.sum()
    sd = np.sqrt(p * (1 - p) * 191 * (1 + 191 / 171))
    assert 0.8 * sd < draws(overlap=False).std() < 1.2 * sd


@pytest.mark.parametrize("method", ["full", "constrained"])
def test_by_rows_it_is_the_base_rates_times_the_recalls(method):
    """Units of the classes are the draws', audited ones known; recalls are those of the rows.

    With the recalls of M, which are 1/3 here, or of the columns of the test set it would be lower.
    """
    n = np.array([[19, 1, 0], [4, 15, 1], [6, 0, 34]])
    units = np.array([5000, 2000, 1000])
    M = np.tile(np.repeat(units[:, None], 3, axis=1) // 3, (2000, 1, 1))
    M[:, :, 0] += units - M[0].sum(axis=1)
    found = overall(n, M[0].sum(axis=0), True, M, method=method, design="by_class")
    r, m = np.diag(n) / n.sum(axis=1), n.sum(axis=1)
    mean = (units * r).sum() / 8000
    sd = np.sqrt(mean * (1 - mean) * (units**2 / m).sum()) / 8000
    assert found.mean() == pytest.approx(mean, abs=0.2 * sd)
    assert found.std() == pytest.approx(sd, rel=0.1)


def test_clusters_are_worth_fewer_units():
    some, fewer = (overall(N_TEST, [9000] * 3, False, design_effect=x).std() for x in (1.0, 4.0))
    assert fewer == pytest.approx(2 * some, rel=0.1)


def test_a_label_that_is_no_class_is_never_right():
    """Half of all units are predicted "unknown": at most the other half can be right."""
    counts = make_counts(
        [[20, 1, 9], [2, 20, 11], [3, 1, 20]], [500, 500, 1000],
        classes=["a", "b", "c"], predicted_classes=["a", "b", "unknown"],
    )  # fmt: skip
    info = INFO | {"overlap": False}
    found = overall_accuracy(OF_CLASSES, np.zeros((2000, 3, 3)), counts, info, False)
    assert found.max() <= 0.5
    assert found.mean() == pytest.approx((20 / 25 + 20 / 22) / 4, abs=0.02)


@pytest.mark.parametrize(
    "info",
    [{"strata": 2}, {"period": "month"}, {"combined": True, "design": "by_prediction"}],
    ids=str,
)
def test_it_is_left_out_where_it_would_be_too_low(info):
    assert overall(N_TEST, [900] * 3, True, **info) is None


def test_without_errors_it_is_that_of_one_class():
    """As of 90 units, all right: Jeffreys' prior, Beta(90.5, 0.5)."""
    found = overall(30 * np.eye(3, dtype=int), [10**6] * 3, True)
    assert found.mean() == pytest.approx(90.5 / 91, abs=5 * found.std() / np.sqrt(2000))


def test_a_large_label_with_few_audited_units_is_not_certain():
    """8 in 10 units have a label of which 15 were audited, all right: the interval is theirs."""
    n = np.array([[15, 2, 1], [0, 13, 2], [0, 0, 12]])
    found = overall(n, [80_000, 10_000, 10_000], True)
    assert np.quantile(found, 0.025) < 0.9
