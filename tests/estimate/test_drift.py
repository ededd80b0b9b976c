"""Error rates that drift from period to period, by the formulas of a random walk."""

import numpy as np
import pytest
from tests.estimate.test_periods import P, correct, few_particles, series

import trueup as tu
from trueup.errors import DataError, OptionError
from trueup.estimate.doubts.rates import rates_differ
from trueup.estimate.periods.rates import drift_given, drift_seen, drifting, in_points

__all__ = ["few_particles"]
AT = np.array([0.0, 1.0, 2.0, 4.0, 6.0, 7.0, 10.0])
AUDITS = np.array([2.0, 6.0])


def log_odds(P):
    recall = np.diagonal(P, axis1=-2, axis2=-1)
    return np.log(recall / (1 - recall))


def test_the_walk_is_a_bridge_between_audits_and_free_outside(rng):
    """Its variance is step² (t − a)(b − t)/(b − a) between audits, and step² |t − a| outside."""
    P = np.broadcast_to([[[[0.8, 0.2], [0.3, 0.7]]] * 2], (20_000, 2, 2, 2))
    step = np.array([0.2, 0.1])
    odds = log_odds(drifting(P, AUDITS, AT, step, rng))
    expected = np.array([2.0, 1.0, 0.0, 1.0, 0.0, 1.0, 4.0])
    assert odds.var(axis=0) == pytest.approx(np.outer(expected, step**2), rel=0.06, abs=1e-12)
    assert odds.mean(axis=0) == pytest.approx(np.tile(log_odds(P[0, 0]), (7, 1)), abs=0.01)
    change = (odds[:, 6] - odds[:, 5]).var(axis=0)  # steps are independent
    assert change == pytest.approx(3 * step**2, rel=0.06)


def test_rows_stay_rates_and_errors_keep_their_proportions(rng):
    P = rng.dirichlet([6.0, 2.0, 1.0], (50, 2, 3))
    found = drifting(P, AUDITS, AT, np.full(3, 0.3), rng)
    assert found.shape == (50, 7, 3, 3)
    assert found.sum(axis=3) == pytest.approx(1.0)
    assert found[:, [2, 4]] == pytest.approx(P)
    assert found[:, 6, 0, 1] / found[:, 6, 0, 2] == pytest.approx(P[:, 1, 0, 1] / P[:, 1, 0, 2])


def test_a_drift_in_points_is_that_of_the_recall(rng):
    P = np.broadcast_to([[[0.8, 0.2], [0.05, 0.95]]], (20_000, 1, 2, 2))
    step = drift_given(P, 0.004)
    found = drifting(P, np.array([0.0]), np.array([0.0, 1.0]), step, rng)
    moved = np.diagonal(found[:, 1], axis1=1, axis2=2).std(axis=0)
    assert moved == pytest.approx([0.004, 0.004], rel=0.05)
    assert in_points(P, step) == pytest.approx(0.004)


def test_the_drift_that_audits_show():
    """Log odds of 0 and 1, four periods apart: half a unit for each root of a period."""
    one = 1 / (1 + np.exp(-1.0))
    P = np.array([[[[0.5, 0.5], [0.5, 0.5]], [[one, 1 - one], [1 - one, one]]]])
    units = np.array([[10, 90], [30, 90]])
    assert drift_seen(P, AUDITS, units) == pytest.approx([0.5, 0.5])


@pytest.mark.usefixtures("few_particles")
def test_intervals_allow_for_the_drift(rng):
    """Recalls walk by 4 points a period; without `drift` the mean of z² is above 5."""
    z = []
    for _ in range(12):
        recall = 0.8 + np.cumsum([0.0, *rng.normal(0, 0.04, 2)])
        rates = [np.array([[r, 1 - r], [0.15, 0.85]]) for r in np.clip(recall, 0.05, 0.99)]
        table, test = series(rng, [0.5] * 3, 5000, {1: 2000}, rates)
        truth = int((table.filter(table["month"] == 3)["true"] == 0).sum())
        draws = correct(table, test, drift=0.04, draws=300).draws[:, 2, 0]
        z.append((truth - draws.mean()) / draws.std())
    assert np.mean(np.square(z)) < 3.1  # chi² of 12 is above 37 in 1 of 4,000


def test_intervals_grow_with_the_time_since_the_audit(rng):
    table, test = series(rng, [0.3] * 6, 2000, {1: 300})
    width = {}
    for drift in (0.0, 0.03):
        est = correct(table, test, drift=drift, draws=1000)
        width[drift] = np.array([row["upper"] - row["lower"] for row in est.rows()[::2]][:6])
        assert est.info["drift"] == (pytest.approx(drift) if drift else None)
    assert width[0.03][0] < 1.2 * width[0.0][0]
    assert width[0.03][5] > 1.6 * width[0.0][5]
    told = "error rates are taken to drift, a recall by about 3 points in one period"
    assert told in " ".join(str(est).split())
    assert not any("assumed to be the same" in words for words in est.info["warnings"])


def test_bad_drift(rng):
    table, test = series(rng, [0.3, 0.4], 200)
    with pytest.raises(OptionError, match="`drift` needs `period`"):
        tu.correct(table.drop("true"), test, drift=0.01)
    for wrong in (-0.01, 1.0, float("nan")):
        with pytest.raises(OptionError, match="`drift` must be how far a recall may move"):
            correct(table, test, drift=wrong)
    with pytest.raises(OptionError, match="`drift` needs to know when units were audited"):
        correct(table, test.drop("month"), design="shifted", drift=0.01)
    with pytest.raises(DataError, match="must have the column 'month'"):
        correct(table, test.drop("month"), drift=0.01)


def by_prediction(rng, shares, rates, n):
    """Audited units (A, 2, 2), n of each predicted class, and the units they were drawn from."""
    audits, v_hat = [], []
    for share, p in zip(shares, rates, strict=True):
        s = (rng.random(2000) >= share).astype(int)
        s_hat = (rng.random(2000) >= p[s, 0]).astype(int)
        found = np.zeros((2, 2), dtype=int)
        for h in range(2):
            units = rng.choice(np.flatnonzero(s_hat == h), n, replace=False)
            np.add.at(found, (s[units], h), 1)
        audits.append(found)
        v_hat.append(np.bincount(s_hat, minlength=2))
    return np.array(audits), np.array(v_hat)


def test_audits_by_prediction_of_other_base_rates_do_not_differ(rng):
    """With shares of 20% and 50%, a test for random units found 15 of 20 to differ."""
    sets = [by_prediction(rng, [0.2, 0.5], [P, P], 75) for _ in range(20)]
    p = np.array([rates_differ(n, [0, 1], v_hat=v).p_value for n, v in sets])
    assert (p < 0.05).sum() <= 6
    assert np.mean([rates_differ(n, [0, 1]).p_value < 0.05 for n, _ in sets]) > 0.5
    worse = np.array([[0.5, 0.5], [0.15, 0.85]])
    sets = [by_prediction(rng, [0.2, 0.5], [P, worse], 150) for _ in range(5)]
    assert all(rates_differ(n, [0, 1], v_hat=v).p_value < 0.05 for n, v in sets)


def test_a_class_that_may_be_absent_is_named(rng):
    """Where no unit has a class, only wrong predictions name it: intervals lie above 0.

    Two standard errors decide, so that one series in forty is not told.
    """
    named = []
    for _ in range(5):
        table, test = series(rng, [0.4, 0.4, 0.0, 0.5], 2000, {1: 150})
        told = [x for x in correct(table, test, draws=200).info["warnings"] if "zero" in x]
        named.append([words.split(" from zero in ")[1].split(":")[0] for words in told])
    assert named.count(["3"]) >= 3
    table, test = series(rng, [0.4, 0.4, 0.4, 0.5], 2000, {1: 150})
    assert not any("zero" in words for words in correct(table, test, draws=200).info["warnings"])
