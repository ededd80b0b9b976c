"""Theorem 1: the likelihood, and the posterior of p and β for a product of Dirichlets."""

import numpy as np
import pytest
from scipy.special import gammaln

from trueup.draws.theorem1 import log_likelihood, posterior
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.prior import Dirichlet

N_TEST = np.array([[7, 2, 0], [1, 5, 3], [0, 4, 9]])
ALPHA = np.array([[0.5, 1.0, 2.0], [1.5, 0.7, 0.3], [1.0, 0.2, 3.0]])
GAMMA = np.array([0.4, 2.0, 1.1])


def log_dirichlet(x, a):
    return gammaln(a.sum()) - gammaln(a).sum() + ((a - 1) * np.log(x)).sum()


def test_likelihood_is_the_product_over_the_test_units(rng):
    P, beta = draw_dirichlet(np.ones((3, 3)), 1, rng)[0], draw_dirichlet(np.ones(3), 1, rng)[0]
    unit_by_unit = sum(
        np.log(P[g, h]) + np.log(beta[g])
        for g in range(3)
        for h in range(3)
        for _ in range(N_TEST[g, h])
    )
    assert log_likelihood(N_TEST, P, beta) == pytest.approx(unit_by_unit)


def test_posterior_is_prior_times_likelihood_up_to_one_constant(rng):
    prior = Dirichlet(ALPHA, GAMMA).for_classes(3)
    after = posterior(prior, N_TEST)

    def gap(P, beta):
        def log_density(c):
            rows = sum(log_dirichlet(P[g], c.alpha[g]) for g in range(3))
            return rows + log_dirichlet(beta, c.gamma)

        return log_density(after) - log_density(prior) - float(log_likelihood(N_TEST, P, beta))

    gaps = [
        gap(draw_dirichlet(np.ones((3, 3)), 1, rng)[0], draw_dirichlet(np.ones(3), 1, rng)[0])
        for _ in range(20)
    ]
    assert np.ptp(gaps) < 1e-9


def test_base_rates_take_gamma_and_row_totals():
    after = posterior(Dirichlet(ALPHA, GAMMA).for_classes(3), N_TEST)
    assert after.gamma == pytest.approx(GAMMA + np.array([9, 9, 13]))
    assert after.alpha == pytest.approx(ALPHA + N_TEST)


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_draws_have_the_moments_of_the_dirichlet(rng, scale):
    a = scale * np.array([[0.5, 1.0, 2.0], [1.5, 0.7, 0.3]])
    R = 40_000
    draws = draw_dirichlet(a, R, rng)
    total = a.sum(axis=1, keepdims=True)
    mean = a / total
    variance = mean * (1 - mean) / (total + 1)
    assert draws.sum(axis=-1) == pytest.approx(1)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / R)).all()
    squares = (draws - mean) ** 2
    error = squares.std(axis=0) / np.sqrt(R)
    assert (np.abs(squares.mean(axis=0) - variance) < 5 * error).all()


def test_tiny_concentrations_never_give_a_row_of_nothing(rng):
    draws = draw_dirichlet(np.full((3, 4), 1e-4), 2000, rng)
    assert np.isfinite(draws).all()
    assert draws.sum(axis=-1) == pytest.approx(1)
    # such a row is nearly one class, each equally often
    largest = draws.argmax(axis=-1).ravel()
    counts = np.bincount(largest, minlength=4)
    assert (np.abs(counts - 1500) < 5 * np.sqrt(6000 * 0.25 * 0.75)).all()
