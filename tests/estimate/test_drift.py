"""Error rates that drift from period to period, by the formulas of a random walk."""

import numpy as np
import pytest
from tests.estimate.test_periods import P, correct, few_particles, series

import trueup as tu
from trueup.errors import DataError, OptionError
from trueup.estimate.doubts.rates import rates_differ
from trueup.estimate.periods import draw
from trueup.estimate.periods.drift import (
    USUAL,
    drift_given,
    drifting,
    in_points,
    learn_drift,
    moved,
)
from trueup.estimate.periods.estimate import recalls_seen

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
    odds = log_odds(drifting(P, AUDITS, AT, step[None], rng))
    expected = np.array([2.0, 1.0, 0.0, 1.0, 0.0, 1.0, 4.0])
    assert odds.var(axis=0) == pytest.approx(np.outer(expected, step**2), rel=0.06, abs=1e-12)
    assert odds.mean(axis=0) == pytest.approx(np.tile(log_odds(P[0, 0]), (7, 1)), abs=0.01)
    change = (odds[:, 6] - odds[:, 5]).var(axis=0)  # steps are independent
    assert change == pytest.approx(3 * step**2, rel=0.06)


def test_rows_stay_rates_and_errors_keep_their_proportions(rng):
    P = rng.dirichlet([6.0, 2.0, 1.0], (50, 2, 3))
    found = drifting(P, AUDITS, AT, np.full((50, 3), 0.3), rng)
    assert found.shape == (50, 7, 3, 3)
    assert found.sum(axis=3) == pytest.approx(1.0)
    assert found[:, [2, 4]] == pytest.approx(P)
    assert found[:, 6, 0, 1] / found[:, 6, 0, 2] == pytest.approx(P[:, 1, 0, 1] / P[:, 1, 0, 2])


def test_a_drift_in_points_is_that_of_the_recall(rng):
    P = np.broadcast_to([[[0.8, 0.2], [0.05, 0.95]]], (20_000, 1, 2, 2))
    step = drift_given(P, 0.004)
    found = drifting(P, np.array([0.0]), np.array([0.0, 1.0]), step[None], rng)
    change = np.diagonal(found[:, 1], axis1=1, axis2=2).std(axis=0)
    assert change == pytest.approx([0.004, 0.004], rel=0.05)
    assert in_points(P, step[None]) == pytest.approx(0.004)


def audits_alone(odds, sds, size=20_000):
    """Draws of P (size, A, 2, 2) whose recalls have these log odds (A, 2), by the delta method."""
    p = 1 / (1 + np.exp(-np.asarray(odds, float)))
    signs = np.tile([1.0, -1.0], size // 2)[:, None, None]
    recall = p + signs * np.asarray(sds, float) * p * (1 - p)
    P = np.empty((*recall.shape, 2))
    k = np.arange(2)
    P[..., k, k], P[..., k, 1 - k] = recall, 1 - recall
    return P


def test_how_far_audits_lie_apart_is_drawn_from_the_walk_given_them(rng):
    """Oracle: the precision matrix of walk and noise, for a step that is given."""
    when, tau = np.array([1.0, 3.0, 10.0]), 1.5
    odds = np.array([[0.0, 1.0], [0.6, 0.2], [-0.3, 1.5]])
    sds = np.array([[0.1, 0.3], [0.2, 0.1], [0.15, 0.25]])
    x, step = learn_drift(audits_alone(odds, sds), when, np.full(2, tau), rng)
    assert (step == tau).mean() > 0.9  # the grid ends at 5/√9, and few steps there are likely
    for g in range(2):
        joined = np.zeros((3, 3))
        for a, gap in enumerate(np.diff(when)):
            joined[a : a + 2, a : a + 2] += np.array([[1, -1], [-1, 1]]) / (tau**2 * gap)
        noise = 1 / sds[:, g] ** 2
        cov = np.linalg.inv(joined + np.diag(noise))
        contrast = np.eye(3) - noise / noise.sum()
        expected, spread = contrast @ cov @ (noise * odds[:, g]), contrast @ cov @ contrast.T
        assert x[:, :, g].mean(axis=0) == pytest.approx(expected, abs=0.01)
        assert np.cov(x[:, :, g].T) == pytest.approx(spread, abs=0.003)


@pytest.mark.parametrize("apart", [0.0, 2.0])
def test_the_step_is_learned_from_how_far_audits_lie_apart(apart, rng):
    """Oracle: the integral over τ, where both classes of two audits change alike."""
    sd, gap = 0.3, 4.0
    odds = np.array([[0.0, 0.5], [apart, 0.5 - apart]])
    _, step = learn_drift(audits_alone(odds, np.full((2, 2), sd)), AUDITS, np.zeros(2), rng)
    tau = np.linspace(1e-4, 5 / 2, 100_000)
    variance = tau**2 * gap + 2 * sd**2
    density = np.exp(-(apart**2) / variance) / variance / (1 + (tau * np.sqrt(gap) / USUAL) ** 2)
    below = np.cumsum(density) / density.sum()
    for q in (0.25, 0.5, 0.75):
        assert (step[:, 0] < tau[np.searchsorted(below, q)]).mean() == pytest.approx(q, abs=0.04)


def test_recalls_move_and_wrong_predictions_keep_their_shape(rng):
    one, shape = rng.dirichlet([6.0, 2.0, 1.0], (40, 3)), rng.dirichlet([1.0, 2.0, 3.0], (40, 2, 3))
    x = rng.normal(0, 1, (40, 2, 3))
    units = rng.uniform(1, 9, (40, 2, 3))
    found = moved(one, shape, x, units)
    assert found.sum(axis=3) == pytest.approx(1.0)
    assert np.diff(log_odds(found), axis=1) == pytest.approx(np.diff(x, axis=1))
    mean = (np.diagonal(found, axis1=2, axis2=3) * units).sum(axis=1) / units.sum(axis=1)
    assert mean == pytest.approx(np.diagonal(one, axis1=1, axis2=2), abs=1e-4)
    assert found[:, 1, 0, 1] / found[:, 1, 0, 2] == pytest.approx(
        shape[:, 1, 0, 1] / shape[:, 1, 0, 2]
    )


@pytest.mark.usefixtures("few_particles")
def test_audits_far_apart_each_show_their_own_recall(rng):
    """Recalls of 0.95 and 0.70: with log odds around one P's, z was −7 to −10 in the last."""
    rates = [np.array([[r, 1 - r], [0.1, 0.9]]) for r in (0.95, 0.7)]
    table, test = series(rng, [0.4] * 2, 30_000, {1: 8000, 2: 8000}, rates)
    draws = correct(table, test, draws=400).draws[:, :, 0]
    truth = [int((table.filter(table["month"] == t)["true"] == 0).sum()) for t in (1, 2)]
    assert (np.abs(draws.mean(axis=0) - truth) / draws.std(axis=0)).max() < 3.5


def test_growth_is_covered_where_two_small_audits_do_not_see_the_drift(rng, monkeypatch):
    """A recall falls by 5 points: 98% of intervals cover, and 8% if all audits have one P."""
    monkeypatch.setattr(draw, "PARTICLES", 400)
    covered = 0
    for _ in range(8):
        rates = [np.array([[r, 1 - r], [0.1, 0.9]]) for r in (0.8, 0.775, 0.75)]
        table, test = series(rng, [0.3] * 3, 16_000, {1: 100, 3: 100}, rates)
        true = [int((table.filter(table["month"] == t)["true"] == 0).sum()) for t in (1, 3)]
        draws = correct(table, test, draws=400).draws[:, [0, 2], 0]
        low, high = np.quantile(draws[:, 1] / draws[:, 0], [0.025, 0.975])
        covered += low <= true[1] / true[0] <= high
    assert covered >= 5


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
    told = "error rates may drift, a recall by about 3 points in one period"
    assert told in " ".join(str(est).split())
    assert not any("assumed to be the same" in words for words in est.info["warnings"])


def test_more_audits_see_more():
    """Two audits by the difference of two shares. Planted bug: each further audit saw less."""
    audit = np.array([[40, 10], [5, 45]])
    two, ten = (recalls_seen(np.array([audit] * A), np.arange(float(A)))[0] for A in (2, 10))
    p = np.array([81 / 102, 91 / 102])
    assert two == pytest.approx(2.8 * np.sqrt(p * (1 - p) * 2 / 50))
    assert (ten < 0.75 * two).all()
    nobody = recalls_seen(np.array([audit, audit * [[0], [1]]]), np.array([0.0, 1.0]))
    assert nobody[1][0] == pytest.approx(41 / 52)  # a recall can fall to 0 at most


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
    assert np.mean([rates_differ(n, [0, 1]).p_value < 0.05 for n, _ in sets]) > 0.3
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
