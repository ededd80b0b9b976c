"""The overall accuracy: audited units are known, the others lie between all wrong and all right."""

import numpy as np

from trueup.aggregate.overall import overall_accuracy
from trueup.count.counts import make_counts

N_TEST = np.array([[60, 4, 1], [6, 50, 3], [2, 5, 40]])
LEFT = np.array([5, 8, 7])
INFO = {"method": "joint", "prior": "perks", "noise": True, "bands": 0, "design": "random"}


def draws(overlap):
    counts = make_counts(N_TEST, N_TEST.sum(axis=0) + LEFT)
    found = overall_accuracy(counts, INFO | {"overlap": overlap, "seed": 1}, 2000)
    return found * counts.N


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
