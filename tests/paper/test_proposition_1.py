"""Proposition 1: Jeffreys' prior, derived here from the Fisher information, not restated."""

import numpy as np
import pytest

from trueup.numerics.dirichlet import draw_dirichlet
from trueup.prior import jeffreys, perks


def cell_probabilities(x, K):
    """θ_gh = p_gh β_g from the K² − 1 free parameters: all but the last of each simplex."""
    rows = x[: K * (K - 1)].reshape(K, K - 1)
    P = np.column_stack([rows, 1 - rows.sum(axis=1)])
    beta = np.append(x[K * (K - 1) :], 1 - x[K * (K - 1) :].sum())
    return (P * beta[:, None]).ravel()


def fisher_information(x, K, step=1e-5):
    """Σ_cells (∂θ ∂θᵀ)/θ of one test unit, by central differences."""
    gradient = np.array(
        [
            (cell_probabilities(x + e, K) - cell_probabilities(x - e, K)) / (2 * step)
            for e in step * np.eye(len(x))
        ]
    )
    return (gradient / cell_probabilities(x, K)) @ gradient.T


@pytest.mark.parametrize("K", [2, 3])
def test_jeffreys_is_the_root_of_the_information(K, rng):
    prior = jeffreys(K)
    ratios = []
    for _ in range(25):
        P = draw_dirichlet(np.full((K, K), 3.0), 1, rng)[0]
        beta = draw_dirichlet(np.full(K, 3.0), 1, rng)[0]
        x = np.concatenate([P[:, :-1].ravel(), beta[:-1]])
        half_log_det = 0.5 * np.linalg.slogdet(fisher_information(x, K))[1]
        log_prior = ((prior.alpha - 1) * np.log(P)).sum() + ((prior.gamma - 1) * np.log(beta)).sum()
        ratios.append(half_log_det - log_prior)
    assert np.ptp(ratios) < 1e-5  # proportional: one constant for all points


@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_another_gamma_would_be_caught(gamma, rng):
    K, gaps = 3, []
    for _ in range(10):
        P = draw_dirichlet(np.full((K, K), 3.0), 1, rng)[0]
        beta = draw_dirichlet(np.full(K, 3.0), 1, rng)[0]
        x = np.concatenate([P[:, :-1].ravel(), beta[:-1]])
        half_log_det = 0.5 * np.linalg.slogdet(fisher_information(x, K))[1]
        gaps.append(half_log_det + 0.5 * np.log(P).sum() - (gamma - 1) * np.log(beta).sum())
    assert np.ptp(gaps) > 0.01


def test_perks_is_jeffreys_for_two_classes_only():
    assert (perks(2).alpha == jeffreys(2).alpha).all()
    assert (perks(2).gamma == jeffreys(2).gamma).all()
    assert (perks(3).alpha != jeffreys(3).alpha).all()
    assert perks(15).alpha.sum(axis=1) == pytest.approx(1)
