"""Totals given the allocation: exact limits, and coverage when the allocation is known."""

import numpy as np
import pytest

from trueup.aggregate.values import class_variances, totals_given_allocation
from trueup.numerics.weights import resample

M = np.array([[300, 20, 10], [25, 400, 15], [5, 10, 60]])
V, V_HAT = M.sum(axis=1), M.sum(axis=0)


def stack(m, R=2000):
    return np.broadcast_to(m, (R, *m.shape))


def test_equal_values_give_the_counts(rng):
    u, log_weight = totals_given_allocation(stack(M), 7.0 * V_HAT, 49.0 * V_HAT, rng)
    assert u == pytest.approx(np.tile(7.0 * V, (2000, 1)))
    assert (log_weight == 0).all()


def test_perfect_predictions_give_the_known_totals(rng):
    u_hat, w_hat = np.array([3e5, 9e4, 5e4]), np.array([9e8, 3e8, 8e7])
    u, log_weight = totals_given_allocation(stack(np.diag(V_HAT)), u_hat, w_hat, rng)
    assert u == pytest.approx(np.tile(u_hat, (2000, 1)), rel=1e-9)
    assert np.isfinite(log_weight).all()


def test_a_class_without_units_has_no_total(rng):
    none = M.copy()
    none[2] = 0
    v_hat = none.sum(axis=0)
    u, _ = totals_given_allocation(stack(none), 100.0 * v_hat, 30_000.0 * v_hat, rng)
    assert (u[:, 2] == 0).all()


def test_nobody_left_gives_nothing(rng):
    u, log_weight = totals_given_allocation(stack(0 * M), np.zeros(3), np.zeros(3), rng)
    assert (u == 0).all()
    assert (log_weight == 0).all()


@pytest.mark.parametrize("signed", [False, True])
def test_draws_are_permissible_and_add_up(signed, rng):
    v_hat = V_HAT.astype(float)
    u_hat = np.array([100.0, 2e4, -50.0 if signed else 50.0])
    w_hat = 3 * u_hat**2 / v_hat + 1e6
    u, _ = totals_given_allocation(stack(M), u_hat, w_hat, rng, signed)
    assert u.sum(axis=1) == pytest.approx(u_hat.sum())
    assert signed or (u >= 0).all()


def test_signed_draws_have_the_mean_and_variance_of_the_model(rng):
    """Against the joint normal of all K² cell totals, conditioned on û by brute force."""
    v_hat = V_HAT.astype(float)
    u_hat, w_hat = np.array([3500.0, 4100.0, 900.0]), np.array([45e3, 60e3, 15e3])
    N, T, R = v_hat.sum(), u_hat.sum(), 60_000
    tau2 = w_hat.sum() / N - (T / N) ** 2
    sigma2 = class_variances(stack(M.astype(float), 1), u_hat, w_hat, tau2, True)[0]
    u, _ = totals_given_allocation(stack(M, R), u_hat, w_hat, rng, signed=True)
    cells = [(g, h) for g in range(3) for h in range(3)]
    cov = np.array(
        [
            [tau2 * M[a] * M[b] * (a[0] == b[0]) + sigma2[a[0]] * M[a] * (a == b) for b in cells]
            for a in cells
        ]
    )
    to_u = np.array([[cell[0] == g for cell in cells] for g in range(3)], float)
    to_u_hat = np.array([[cell[1] == h for cell in cells] for h in range(3)], float)
    gain = to_u @ cov @ to_u_hat.T @ np.linalg.inv(to_u_hat @ cov @ to_u_hat.T)
    mean = T / N * V + gain @ (u_hat - T / N * v_hat)
    expected = to_u @ cov @ to_u.T - gain @ to_u_hat @ cov @ to_u.T
    spread = np.sqrt(np.diag(expected))
    assert (np.abs(u.mean(axis=0) - mean) < 5 * spread / np.sqrt(R)).all()
    # the error of a covariance of normals is √(σ²σ'² + cov²) / √R
    error = np.sqrt((np.outer(spread, spread) ** 2 + expected**2) / R)
    assert (np.abs(np.cov(u.T) - expected) < 5 * error).all()


@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_intervals_cover_when_the_allocation_is_known(sigma, rng):
    """Lognormal values, different means: which values went where is all that is open."""
    replications, inside = 300, np.zeros(3)
    means = np.array([1.0, 1.5, 2.0])
    for _ in range(replications):
        y = [
            [m * rng.lognormal(-(sigma**2) / 2, sigma, units) for units in row]
            for m, row in zip(means, M, strict=True)
        ]
        sums, squares = (np.array([[(cell**k).sum() for cell in row] for row in y]) for k in (1, 2))
        draws, log_weight = totals_given_allocation(
            stack(M, 1000), sums.sum(axis=0), squares.sum(axis=0), rng
        )
        draws = draws[resample(log_weight, 1000, rng).indices]
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        truth = sums.sum(axis=1)
        inside += (low <= truth) & (truth <= high)
    error = np.sqrt(0.95 * 0.05 / replications)
    assert (inside / replications > 0.95 - 5 * error).all()
