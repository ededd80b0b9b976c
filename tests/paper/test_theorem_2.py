"""Theorem 2: Var(β̂ | s), against the multinomial it comes from."""

import numpy as np

from trueup.aggregate.noise import classification_noise, noise_covariance
from trueup.draws.contingency import base_rate_variance

P = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
V = np.array([40, 100, 10])


def simulate(rng, replications):
    """v̂ as a sum of one multinomial per true class."""
    return sum(rng.multinomial(v, p, replications) for v, p in zip(V, P, strict=True))


def covariance_error(x):
    centred = x - x.mean(axis=0)
    products = centred[:, :, None] * centred[:, None, :]
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(len(x))


def test_variance_of_the_predicted_base_rates(rng):
    N = V.sum()
    measured, error = covariance_error(simulate(rng, 50_000) / N)
    exact = base_rate_variance(P, V / N, N)
    assert (np.abs(measured - exact) < 5 * error).all()
    transposed = base_rate_variance(P.T / P.T.sum(axis=1, keepdims=True), V / N, N)
    assert (np.abs(measured - transposed) > 5 * error).any()


def test_with_values_it_is_the_sum_of_squares_that_counts(rng):
    values = rng.lognormal(0, 1, V.sum())
    s = np.repeat(np.arange(3), V)
    W = np.bincount(s, values**2)
    u_hat = np.empty((20_000, 3))
    for start in range(0, len(u_hat), 2000):
        uniform = rng.random((2000, len(s)))
        s_hat = (uniform[:, :, None] > P.cumsum(axis=1)[s][None, :, :2]).sum(axis=2)
        for h in range(3):
            u_hat[start : start + 2000, h] = np.where(s_hat == h, values, 0).sum(axis=1)
    measured, error = covariance_error(u_hat)
    assert (np.abs(measured - noise_covariance(P, W)) < 5 * error).all()


def test_noise_draws_have_that_covariance(rng):
    W = np.array([3.0, 2.0, 5.0])
    draws = classification_noise(P[None], np.tile(W, (50_000, 1)), rng)
    measured, error = covariance_error(draws)
    assert (np.abs(measured - noise_covariance(P, W)) < 5 * error + 1e-12).all()
    assert np.abs(draws.sum(axis=1)).max() < 1e-9


def test_y_of_one_is_theorem_2():
    N = V.sum()
    counts = noise_covariance(P, V.astype(float))
    assert np.allclose(counts, N**2 * base_rate_variance(P, V / N, N))
