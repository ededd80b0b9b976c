"""Base rates given P and v̂: against an integral over the base rates of two classes."""

import numpy as np
import pytest

from trueup.draws.base_rates import exact_beta, weigh_beta

V_HAT = np.array([4, 16])
RATES = np.array([[[0.8, 0.2], [0.1, 0.9]], [[0.7, 0.3], [0.4, 0.6]]])
"""v̂/N is inside the hull of the first one's rows, and far outside that of the second one's."""


def integrated(P):
    """|det P| times the integral of the likelihood over β, and the mean of β in class 0."""
    beta = (np.arange(20_000) + 0.5) / 20_000
    rho = np.outer(beta, P[0]) + np.outer(1 - beta, P[1])
    likelihood = (rho**V_HAT).prod(axis=1)
    mean = (likelihood * beta).sum() / likelihood.sum()
    return abs(np.linalg.det(P)) * likelihood.mean(), mean


@pytest.mark.parametrize("draw", [exact_beta, weigh_beta])
def test_draws_and_weights_agree_with_an_integral(draw, rng):
    """Weights decide between draws of P. Planted bug: without the mass inside the simplex."""
    size, masses, errors = 40_000, [], []
    for P in RATES:
        beta, log_weight = draw(np.repeat(P[None], size, axis=0), V_HAT, rng)
        weight = np.exp(log_weight)
        mean = weight @ beta[:, 0] / weight.sum()
        error = np.sqrt(weight**2 @ (beta[:, 0] - mean) ** 2) / weight.sum()
        assert mean == pytest.approx(integrated(P)[1], abs=5 * error)
        masses.append(weight.mean())
        errors.append(weight.std() / weight.mean() / np.sqrt(size))
    ratio = integrated(RATES[1])[0] / integrated(RATES[0])[0]
    assert masses[1] / masses[0] == pytest.approx(ratio, rel=5 * np.hypot(*errors))
