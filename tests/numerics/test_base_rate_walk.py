"""The path of base rates against a grid over both of its periods."""

import numpy as np
import pytest

from trueup.numerics import base_rate_walk
from trueup.numerics.base_rate_walk import WIDE, find_path

P = np.array([[0.8, 0.2], [0.3, 0.7]])
V = np.array([[60.0, 140.0], [90.0, 110.0]])
A = np.array([[12.0, 28.0], [0.0, 0.0]])


def on_a_grid(sigma, gap=1.0):
    """Log of the integral over (x_1, x_2), and the mean of β in class 0 per period."""
    x = np.linspace(-6, 6, 1201)
    beta = 1 / (1 + np.exp(-x))

    def fit(t):
        shares = np.stack([beta, 1 - beta], axis=1)
        return np.log(shares @ P) @ V[t] + np.log(shares) @ A[t]

    def log_normal(z, variance):
        return -0.5 * z**2 / variance - 0.5 * np.log(variance)

    log_p = fit(0)[:, None] + fit(1)[None] + log_normal(x, 2 * WIDE**2)[:, None]
    log_p = log_p + log_normal(x[None] - x[:, None], 2 * gap * sigma**2)
    p = np.exp(log_p - log_p.max())
    # find_path leaves out the constant of each normal density, and has that of its own integral
    total = np.log(p.sum() * (x[1] - x[0]) ** 2) + log_p.max() - np.log(2 * np.pi)
    p /= p.sum()
    return total, np.array([(p.sum(axis=1) * beta).sum(), (p.sum(axis=0) * beta).sum()])


@pytest.mark.parametrize(("sigma", "gap"), [(0.05, 1.0), (0.3, 1.0), (0.3, 4.0), (2.0, 1.0)])
def test_path_agrees_with_a_grid(sigma, gap, rng):
    total, mean = on_a_grid(sigma, gap)
    path = find_path(P[None], V, A, np.array([sigma]), np.array([gap]))
    assert path.log_likelihood[0] == pytest.approx(total, abs=0.1)  # a tenth of a weight
    many = find_path(np.tile(P, (4000, 1, 1)), V, A, np.full(4000, sigma), np.array([gap]))
    draws = many.draw(rng)[:, :, 0]
    error = 5 * draws.std(axis=0) / np.sqrt(4000) + 0.05 * draws.std(axis=0)
    assert (abs(draws.mean(axis=0) - mean) < error).all()


def test_relabelling_permutes_the_path():
    K, order = 3, [2, 0, 1]
    rates = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    v, a = np.array([[50.0, 80.0, 70.0], [60.0, 40.0, 90.0]]), np.zeros((2, K))
    one = find_path(rates[None], v, a, np.array([0.2]), np.ones(1))
    other = find_path(
        rates[np.ix_(order, order)][None], v[:, order], a, np.array([0.2]), np.ones(1)
    )
    assert one.log_likelihood[0] == pytest.approx(other.log_likelihood[0], abs=1e-3)


def test_paths_of_rates_that_fit_badly_are_found(rng, monkeypatch):
    """Planted bug: full steps of Fisher scoring, which go to and fro in a tenth of these."""
    K, T = 12, 8
    rates = 0.8 * np.eye(K) + 0.2 / K
    beta = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    v = rng.multinomial(1000, beta @ rates, T).astype(float)
    n = np.stack([rng.multinomial(round(150 * b), row) for b, row in zip(beta, rates, strict=True)])
    P = np.stack([rng.dirichlet(row + 1 / K, 60) for row in n], axis=1)
    data = (P, v, np.zeros_like(v), np.full(60, 0.05), np.ones(T - 1))
    path = find_path(*data)
    monkeypatch.setattr(base_rate_walk, "STEPS", 200)
    monkeypatch.setattr(base_rate_walk, "CLOSE", 1e-4)
    assert (np.abs(find_path(*data).x - path.x).max(axis=(1, 2)) < 0.1).mean() > 0.7
