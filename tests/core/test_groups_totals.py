"""Totals of a group given how its units fall: moments, limits and scale."""

import numpy as np
import pytest

from trueup.groups.totals import split_signed, split_totals, value_power

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
