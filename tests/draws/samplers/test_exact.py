"""K = 2 against quadrature, with both rectangles at their right mass however small."""

import numpy as np
import pytest
from scipy.special import betainc, betaincc, betaincinv
from tests.seeds import fresh

from trueup.draws.samplers.exact import draw_exact, log_masses

PECULIAR = np.array([[4.5, 1.5], [2.5, 3.5]]), np.array([10.0, 90.0])
CASES = {
    "peculiar example": PECULIAR,
    "labels exchanged": (PECULIAR[0][::-1, ::-1], PECULIAR[1][::-1]),
    "weak data": (np.array([[0.5, 0.5], [1.5, 0.5]]), np.array([30.0, 70.0])),
    "worse than chance": (np.array([[2.0, 9.0], [8.0, 3.0]]), np.array([40.0, 60.0])),
}


def quadrature(a, v_hat, m=1500):
    """β₀ and weights on a grid that has equal mass in each cell of each rectangle."""
    rho = v_hat / v_hat.sum()
    u = (np.arange(m) + 0.5) / m
    F = betainc(a[0, 1], a[0, 0], rho[1]), betainc(a[1, 0], a[1, 1], rho[0])
    beta, weight = [], []
    for low in (True, False):
        x = betaincinv(a[0, 1], a[0, 0], u * F[0] if low else F[0] + u * (1 - F[0]))[:, None]
        y = betaincinv(a[1, 0], a[1, 1], u * F[1] if low else F[1] + u * (1 - F[1]))[None]
        mass = F[0] * F[1] if low else (1 - F[0]) * (1 - F[1])
        beta.append(((rho[0] - y) / (1 - x - y)).ravel())
        weight.append(np.full(m * m, mass / m / m))
    beta, weight = np.concatenate(beta), np.concatenate(weight)
    return beta, weight / weight.sum()


@pytest.mark.parametrize("name", CASES)
def test_means_variances_quantiles(name):
    a, v_hat = CASES[name]
    size = 100_000
    got = draw_exact(a, v_hat, size, fresh(21)).beta[:, 0]
    beta, weight = quadrature(a, v_hat)
    mean = beta @ weight
    for moment in (lambda b: b, lambda b: (b - mean) ** 2):
        exact = moment(beta) @ weight
        sd = np.sqrt((moment(beta) - exact) ** 2 @ weight)
        assert abs(moment(got).mean() - exact) < 5 * sd / np.sqrt(size) + 2e-6
    order = np.argsort(beta)
    cumulative = np.cumsum(weight[order])
    for q in (0.025, 0.25, 0.5, 0.75, 0.975):
        at = beta[order][np.searchsorted(cumulative, q)]
        assert abs((got <= at).mean() - q) < 5 * np.sqrt(q * (1 - q) / size) + 1e-4


def test_peculiar_example():
    draws = draw_exact(*PECULIAR, 100_000, fresh(22))
    beta, weight = quadrature(*PECULIAR)
    assert 100 * (beta @ weight) == pytest.approx(4.91, abs=0.005)
    assert draws.info["acceptance"] == pytest.approx(0.02865, abs=0.00001)
    assert draws.info["swapped"] == pytest.approx(0.003, abs=0.0005)
    p = draws.info["swapped"]
    below = draws.P[:, 0, 1] > 0.9
    assert abs(below.mean() - p) < 5 * np.sqrt(p * (1 - p) / 100_000)


@pytest.mark.parametrize("n", [30, 60, 130, 2000])
def test_a_rectangle_of_almost_no_mass(n):
    """Both rectangles far in the tails: their ratio and their draws are still right."""
    # rows that say p₀₁ = p₁₀ = 1/2 while the counts are at 0.2, 0.8
    a, v_hat = np.full((2, 2), float(n)), np.array([0.2, 0.8])
    better, swapped = log_masses(a, v_hat)
    if n < 500:
        tiny, all_but = betainc(n, n, 0.2), betaincc(n, n, 0.2)
        assert better == pytest.approx(np.log(tiny) + np.log(all_but), rel=1e-10)
    assert better == pytest.approx(swapped, rel=1e-12)
    draws = draw_exact(a, v_hat, 20_000, fresh(23))
    assert np.isfinite(draws.beta).all()
    # a and v̂ are symmetric under P → P with its rows exchanged: β₀ and β₁ are alike
    error = draws.beta[:, 0].std() / np.sqrt(20_000)
    assert abs(draws.beta[:, 0].mean() - 0.5) < 5 * error
