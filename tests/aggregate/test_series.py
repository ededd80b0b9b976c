"""Totals of periods: the error of mean values is one for all of them."""

import numpy as np
import pytest
from tests.seeds import more

from trueup.aggregate.levels import find_levels
from trueup.aggregate.means import Audited, Means
from trueup.aggregate.series import totals_of_periods

P = np.array([[0.8, 0.2], [0.1, 0.9]])


PRICES = np.array([1.0, 1.0, 0.7, 1.4, 1.0, 2.0])


def sums(g, h, t, y, T=3):
    """Units and values (T, 2, 2) per period, true and predicted class."""
    at = (t * 2 + g) * 2 + h
    return np.bincount(at, y, minlength=4 * T).reshape(T, 2, 2)


def test_the_sum_of_periods_is_covered(rng):
    """With means drawn for each period by itself, it was 75% of the time."""
    covered = []
    for _ in range(more(100)):
        t = np.repeat(np.arange(3), 1500)
        g = (rng.random(4500) > np.array([0.12, 0.22, 0.32])[t]).astype(int)
        h = (rng.random(4500) > P[g, 0]).astype(int)
        y = rng.lognormal(0, 1, 4500) * np.where(g == 0, 20, 1)
        audit = np.zeros(4500, bool)
        audit[rng.choice(np.flatnonzero(t == 1), 200, replace=False)] = True
        n, s, s2 = (sums(g[audit], h[audit], t[audit], y[audit] ** k) for k in range(3))
        rest = ~audit
        M, u, w = (sums(g[rest], h[rest], t[rest], y[rest] ** k) for k in range(3))
        audited = Audited(n.astype(int), s, s2)
        M = np.repeat(M[None].astype(int), 150, axis=0)
        drawn = totals_of_periods(M, u.sum(axis=1), w.sum(axis=1), rng, False, audited)
        assert drawn.sum(axis=2) == pytest.approx(np.tile(u.sum(axis=(1, 2)), (150, 1)))
        low, high = np.quantile(drawn[:, :, 0].sum(axis=1), [0.025, 0.975])
        covered.append(low <= u[:, 0].sum() <= high)
    # 0.02 for normal means of lognormal values
    assert np.mean(covered) > 0.93 - 5 * np.sqrt(0.93 * 0.07 / len(covered))


def test_signed_values_given_the_truth(rng):
    """Without noise, means that û determines are found whatever the audited values say."""
    M = np.array([[[80, 10], [20, 90]], [[40, 30], [10, 120]], [[70, 5], [60, 65]]])
    theta = np.array([[3.0, 3.0], [-1.0, -1.0]])
    u = M * theta
    n = np.array([[20, 5], [5, 20]])
    n = np.stack([n, 0 * n, 0 * n])
    audited = Audited(n, n * theta, n * (theta**2 + 1e-6))
    w = (M * (theta**2 + 1e-6)).sum(axis=1)
    many = np.repeat(M[None], 400, axis=0)
    drawn = totals_of_periods(many, u.sum(axis=1), w, rng, True, audited)
    assert drawn.mean(axis=0) == pytest.approx(u.sum(axis=2), abs=1.0)


@pytest.mark.parametrize("which", ["all classes", "one class", "none"])
def test_values_that_rise_and_fall(rng, which):
    """Prices and seasons: z² of every period and class; with one mean for all it was above 20."""
    z = []
    for _ in range(more(10)):
        t = np.repeat(np.arange(6), 2000)
        g = (rng.random(12_000) > np.linspace(0.2, 0.4, 6)[t]).astype(int)
        h = (rng.random(12_000) > P[g, 0]).astype(int)
        y = rng.lognormal(0, np.where(g == 0, 1.0, 0.5)) * np.where(g == 0, 3, 1)
        y *= np.where((which == "none") | ((which == "one class") & (g == 1)), 1.0, PRICES[t])
        audit = np.zeros(12_000, bool)
        audit[rng.choice(np.flatnonzero(t == 1), 300, replace=False)] = True
        n, s, s2 = (sums(g[audit], h[audit], t[audit], y[audit] ** k, 6) for k in range(3))
        M, u, w = (sums(g[~audit], h[~audit], t[~audit], y[~audit] ** k, 6) for k in range(3))
        many, audited = np.repeat(M[None].astype(int), 200, axis=0), Audited(n.astype(int), s, s2)
        drawn = totals_of_periods(many, u.sum(axis=1), w.sum(axis=1), rng, False, audited)[:, :, 0]
        z.append(np.mean(((drawn.mean(axis=0) - u[:, 0].sum(axis=1)) / drawn.std(axis=0)) ** 2))
    assert np.mean(z) < 3.0


def test_levels_are_found(rng):
    """Exact totals, and audited means that are right: levels are the prices."""
    M = rng.integers(200, 900, (6, 2, 2)).astype(float)
    theta = np.array([[3.0, 3.0], [1.0, 1.0]])
    u = np.einsum("tgh,gh,t->th", M, theta, PRICES)
    one = np.ones((50, 2))
    means = Means(
        np.zeros((50, 2, 2)), np.ones((50, 2, 2)), np.zeros((50, 2, 2)), one * [3.0, 1.0],
        0.01 * one, np.full((2, 2), 0.01),
    )  # fmt: skip
    found = find_levels(M, u, means)
    assert found.f / found.f[0] == pytest.approx(np.repeat(PRICES[:, None], 2, axis=1), rel=0.01)
    assert np.sqrt(found.own) < 0.01
    assert np.sqrt(found.common) == pytest.approx(np.sqrt(np.mean((PRICES - 1) ** 2)), rel=0.1)
