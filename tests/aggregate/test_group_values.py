"""Totals of a group given how its units fall: moments, limits, and sums that are met."""

import numpy as np
import pytest

from trueup.aggregate.cells import share_values
from trueup.aggregate.groups.conditioned import (
    _meet,
    allocate_to,
    counts_to,
    meet_totals,
    tilt_to,
)
from trueup.aggregate.groups.values import split_signed

R = 20_000


def cell(M, size=R):
    """One group with units in one cell: M (K,) by true class, as (K, R, 1, 1)."""
    return np.repeat(np.asarray(M)[:, None], size, axis=1)[:, :, None, None]


def split(M, y, rng):
    v, u, w = (np.array([[x]]) for x in (len(y), np.sum(y), np.sum(np.square(y))))
    return (share_values(cell(M), v, u, w, rng, axis=0) * u)[:, :, 0, 0].T


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
    assert np.isin(np.round(u[:, 0], 6), [0, 100]).mean() > 0.98
    assert abs((u[:, 0] > 50).mean() - 0.2) < 5 * np.sqrt(0.16 / R) + 0.005


def test_a_class_without_units_has_no_value(rng):
    assert (split([0, 6, 3], rng.lognormal(size=9), rng)[:, 0] == 0).all()


def signed(M, y, means, rng, size=R):
    v, u, w = (np.array([[x]]) for x in (len(y), np.sum(y), np.sum(np.square(y))))
    return split_signed(cell(M, size), means, v, u, w, rng)[:, :, 0].T


def test_signed_moments(rng):
    y, M = rng.normal(size=10), np.array([6, 4])
    u = signed(M, y, np.zeros((R, 2)), rng)
    variance = 24 / 9 * y.var()
    assert np.all(np.abs(u.mean(axis=0) - M / 10 * y.sum()) < 5 * np.sqrt(variance / R))
    assert np.all(np.abs(u.var(axis=0) / variance - 1) < 5 * np.sqrt(2 / R))


@pytest.mark.filterwarnings("error")
def test_signed_values_without_differences_between_classes(rng):
    u = signed([6, 4], rng.normal(1e4, 3e5, 10), np.ones((100, 2)), rng, 100)
    assert u.sum(axis=1) == pytest.approx(u.sum(axis=1)[0])


def test_class_means_shift_signed_totals(rng):
    y = rng.normal(size=10)
    u = signed([6, 4], y, np.repeat([[0.3, -0.2]], R, axis=0), rng)
    away = 0.3 - (0.6 * 0.3 - 0.4 * 0.2)
    error = np.sqrt(u[:, 0].var() / R)
    assert abs(u[:, 0].mean() - (0.6 * y.sum() + 6 * away)) < 5 * error


@pytest.mark.parametrize("K", [2, 4])
def test_units_of_cells_meet_the_whole(rng, K):
    """The mean of a conditioned cell, in one column, is that of drawing without replacement."""
    v = rng.integers(0, 40, (3, 5))
    c = np.repeat(rng.dirichlet(np.ones(K))[:, None], 4000, axis=1)[:, :, None, None]
    c = np.broadcast_to(c, (K, 4000, 3, 5)).copy()
    X = rng.multinomial(v.sum(), c[:, 0, 0, 0], 4000).T
    M = allocate_to(tilt_to(c, v, 1.0, X), v, X, rng)
    assert (M.sum(axis=(2, 3)) == X).all()
    assert (M.sum(axis=0) == v).all()
    assert (M >= 0).all()
    part = M.mean(axis=1)
    expected = X.mean(axis=1)[:, None, None] * v / v.sum()
    error = np.sqrt(M.var(axis=1) / 4000)
    assert np.all(np.abs(part - expected) < 5 * error + 1e-9)


@pytest.mark.parametrize(("X", "expected"), [(140, [86, 54]), (60, [46, 14])])
def test_units_are_given_where_they_are_likely_and_taken_where_they_are_not(X, expected, rng):
    """Of 50 units in each of two cells with room for 100, likely by 9 to 1 and by 1 to 9."""
    m = np.array([50, 50])
    _meet(m, np.array([100, 100]), np.array([0.9, 0.1]), X, rng)
    assert m.sum() == X
    np.testing.assert_allclose(m, expected, atol=1)


@pytest.mark.parametrize("K", [2, 4])
def test_counts_of_groups_meet_the_whole(rng, K):
    """As many units of a class as the whole has; groups alike share them by size, at random."""
    v, size = np.vstack([rng.integers(0, 40, (5, K)), np.zeros((1, K), int)]), 4000
    P = np.repeat(np.full((K, K), 1 / K)[None], size, axis=0)
    beta = np.repeat(rng.dirichlet(np.ones(K))[None], 6, axis=0)
    X = rng.multinomial(v.sum(), rng.dirichlet(np.ones(K)), size)
    u = counts_to(np.repeat(beta[None], size, axis=0), P, v, X, rng)
    assert (u.sum(axis=1) == X).all()
    assert (u.sum(axis=2) == v.sum(axis=1)).all()
    assert (u >= 0).all()
    part = v.sum(axis=1) / v.sum()
    expected = X[:, None] * part[:, None]
    error = np.sqrt((u - expected).var(axis=0) / size)
    assert np.all(np.abs((u - expected).mean(axis=0)) < 5 * error + 1e-9)
    # the variance of units taken without replacement
    exact = (expected * (1 - X / v.sum())[:, None] * (1 - part)[:, None]).mean(axis=0)
    exact *= v.sum() / (v.sum() - 1)
    assert np.all(np.abs((u - expected).var(axis=0) - exact) < 0.15 * exact + 0.05)


def test_the_least_known_cell_gives_way_the_most(rng):
    """Normal columns with known sum: Matheron's rule has the mean of the conditional normal."""
    v, kappa = np.array([[4000, 4000]]), np.array([20.0, 500.0])
    c = rng.beta(0.3 * kappa, 0.7 * kappa, (3000, 2))
    c = np.stack([c, 1 - c])[:, :, None]
    omega = np.broadcast_to(1 + v / (kappa + 1), (3000, 1, 2))
    X = np.repeat([[2600.0], [5400.0]], 3000, axis=1)
    tilted = tilt_to(c, v, omega, X)[0, :, 0]
    var = 0.21 / (kappa + 1) + 0.21 / 4000
    expected = 0.3 + (2600 - 2400) / 4000 * var / var.sum()
    assert tilted.mean(axis=0) == pytest.approx(expected, abs=0.006)  # a plain tilt: 0.025 off


def test_totals_meet_the_whole_even_where_few_groups_can_give(rng):
    u = np.zeros((2, 3, 4))
    u[0] = [10.0, 5.0, 1.0, 0.0]
    u[1] = [0.0, 5.0, 0.0, 7.0]
    T = u[:, 0].sum(axis=0)
    X = np.array([[16.0, 12.0, 26.0], [12.0, 16.0, 2.0]])
    met = meet_totals(u, T, X)
    np.testing.assert_allclose(met.sum(axis=2), X, rtol=1e-6)
    np.testing.assert_allclose(met.sum(axis=0), np.broadcast_to(T, (3, 4)), rtol=1e-6)
    assert (met >= 0).all()
    np.testing.assert_allclose(met[:, 0], u[:, 0])  # it was met before
