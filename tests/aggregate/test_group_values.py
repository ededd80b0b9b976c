"""Totals of a group given how its units fall: moments, limits and scale."""

import numpy as np
import pytest
from scipy import stats

from trueup.aggregate.groups.signed import halve
from trueup.aggregate.groups.values import split_signed, split_totals, value_power

R = 20_000


def cell(M, size=R):
    """One group with units in the first predicted class only: M (K,) by true class."""
    K = len(M)
    table = np.zeros((K, K, 1, size), dtype=np.int64)
    table[:, 0, 0, :] = np.asarray(M)[:, None]
    return table


def split(M, y, rng, means=None):
    K = len(M)
    u_hat, w_hat = np.zeros((1, K)), np.zeros((1, K))
    u_hat[0, 0], w_hat[0, 0] = np.sum(y), np.sum(np.square(y))
    tilt = (np.ones((1, K)), np.ones((R, K)) if means is None else means)
    return split_totals(cell(M), tilt, u_hat, w_hat, rng)[:, 0].T


def test_moments_are_those_of_units_taken_at_random(rng):
    y, M = rng.lognormal(size=12), np.array([7, 4, 1])
    u = split(M, y, rng)
    f, n = M / 12, 12
    cov = (np.diag(f) - np.outer(f, f)) * n**2 / (n - 1) * y.var()
    error = np.sqrt(np.diag(cov) / R)
    assert np.all(np.abs(u.mean(axis=0) - f * y.sum()) < 5 * error)
    kurtosis = ((u - u.mean(axis=0)) ** 4).mean(axis=0) / u.var(axis=0) ** 2
    relative = u.var(axis=0) / np.diag(cov) - 1
    assert np.all(np.abs(relative) < 5 * np.sqrt((kurtosis - 1) / R) + 1e-3)
    assert (u >= 0).all()
    assert u.sum(axis=1) == pytest.approx(y.sum())


def test_equal_values_leave_nothing_to_chance(rng):
    u = split([3, 5], np.full(8, 2.5), rng)
    np.testing.assert_allclose(u, np.broadcast_to([7.5, 12.5], u.shape))


def test_one_unit_with_all_the_value_goes_to_one_class(rng):
    u = split([1, 4], [100.0, 0, 0, 0, 0], rng)
    assert np.isin(np.round(u[:, 0], 6), [0, 100]).mean() > 0.999
    assert abs((u[:, 0] > 50).mean() - 0.2) < 5 * np.sqrt(0.16 / R)


def test_a_class_without_units_has_no_value(rng):
    assert (split([0, 6, 3], rng.lognormal(size=9), rng)[:, 0] == 0).all()


def test_signed_moments(rng):
    y, M = rng.normal(size=10), np.array([6, 4])
    u_hat, w_hat = np.array([[y.sum(), 0]]), np.array([[(y**2).sum(), 0]])
    u = split_signed(cell(M), np.zeros((R, 2)), u_hat, w_hat, rng)[:, 0].T
    variance = 24 / 9 * y.var()
    assert np.all(np.abs(u.mean(axis=0) - M / 10 * y.sum()) < 5 * np.sqrt(variance / R))
    assert np.all(np.abs(u.var(axis=0) / variance - 1) < 5 * np.sqrt(2 / R))


@pytest.mark.filterwarnings("error")
def test_signed_values_without_differences_between_classes(rng):
    u_hat, w_hat = np.array([[1e5, 0]]), np.array([[1e12, 0]])
    u = split_signed(cell([6, 4], 100), np.ones((100, 2)), u_hat, w_hat, rng)
    assert u.sum(axis=0) == pytest.approx(1e5)


def test_halves_have_the_units_and_moments_of_their_cells(rng):
    y = [[rng.normal(size=n) for n in row] for row in rng.integers(0, 9, (40, 3))]
    v_hat, u_hat, w_hat = (np.array([[f(x) for x in row] for row in y]) for f in (len, sum, square))
    P, one = np.full((50, 3, 3), 1 / 3), np.full((50, 3), 1 / 3)
    halves = halve(P, one, one, v_hat, u_hat, w_hat)
    found = (halves.v_hat, halves.u_hat, halves.w_hat)
    for whole, parts in zip((v_hat, u_hat, w_hat), found, strict=True):
        np.testing.assert_allclose(parts[:, :3] + parts[:, 3:], whole, atol=1e-9)
    two = v_hat == 2
    found = np.stack([halves.u_hat[:, :3][two], halves.u_hat[:, 3:][two]], axis=1)
    pairs = np.array([x for row in y for x in row if len(x) == 2]).reshape(-1, 2)
    np.testing.assert_allclose(np.sort(found, axis=1), np.sort(pairs, axis=1), atol=1e-6)


def square(x):
    return (x**2).sum()


@pytest.mark.parametrize("heavy", [False, True])
def test_values_keep_the_share_and_the_mean_of_each_class(heavy):
    """Groups of one unit: over all of them c_g units are of class g, with the mean value r_g."""
    B, c, r = 3000, np.array([0.3, 0.7]), np.array([2.0, -1.0])
    law = stats.t(3) if heavy else stats.norm()
    # values at equal steps of probability: a sample of a heavy tail differs too much from the next
    noise = [law.ppf((np.arange(n) + 0.5) / n) for n in (900, 2100)]
    y = np.concatenate([r[0] + noise[0], r[1] + noise[1]])
    v_hat, u_hat, w_hat = (np.stack([x, 0 * x], axis=1) for x in (np.ones(B, int), y, y**2))
    P, beta, means = (np.repeat(x[None], 20, axis=0) for x in (np.full((2, 2), 0.5), c, r))
    ((x0, s0), (x1, s1)) = halve(P, beta, means, v_hat, u_hat, w_hat).tilt
    weight = c[:, None] * np.exp(x0[:, 0] * s0[:, 0, :1] + x1[:, 0] * s1[:, 0, :1])
    share = weight / weight.sum(axis=0)
    assert share.mean(axis=1) == pytest.approx(c, abs=0.005)
    assert share @ y / B == pytest.approx(c * (y.mean() + r - c @ r), abs=0.02)


def test_powers_do_not_depend_on_the_unit_of_y(rng):
    v_hat = rng.integers(0, 9, (30, 2))
    u_hat = v_hat * rng.lognormal(size=(30, 2))
    w_hat = u_hat**2 / np.maximum(v_hat, 1) * 1.5
    power = value_power(v_hat, u_hat, w_hat)
    np.testing.assert_allclose(power, value_power(v_hat, 7 * u_hat, 49 * w_hat))
    assert (power[v_hat == 0] == 1).all()
    assert (value_power(v_hat, u_hat, None) == 1).all()


def test_equal_values_have_power_one():
    v_hat = np.array([[5, 1], [2, 9]])
    assert value_power(v_hat, 3.0 * v_hat, 9.0 * v_hat) == pytest.approx(1)
