"""Simulation-based calibration under priors that are not conjugate, drawn without the package.

If (P, β) comes from the prior and the data from them, the rank of the truth among the draws is
uniform (Talts et al. 2018), whatever the prior; a false alarm has probability below 1e-5.
"""

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.draws.test_cell_columns import assert_uniform
from tests.seeds import fresh, more

import trueup as tu
from trueup.draws import pair_walk, rates

BINS = 20
pytestmark = pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")


def data(P, beta, N, audited, rng):
    """True counts, a random test set, and the predicted counts."""
    K = len(beta)
    cells = rng.multinomial(N, (beta[:, None] * P).ravel())
    test = rng.multivariate_hypergeometric(cells, audited).reshape(K, K)
    cells = cells.reshape(K, K)
    return cells.sum(axis=1), test, cells.sum(axis=0)


def rank(truth, draws, rng):
    """Give the rank among 199 draws, 0 to 199; equal ones are ordered by chance."""
    few = rng.choice(draws, 199, replace=False)
    below, same = (few < truth).sum(), (few == truth).sum()
    return below + rng.integers(same + 1)


def uniform(ranks, bins=BINS):
    return chisquare(np.bincount(ranks * bins // 200, minlength=bins)).pvalue


def ranks_of_logistic_normal(replications, told, rng):
    """Ranks of two counts and two rates; errors are 20% in the middle, and the prior is `told`."""
    K, sd = 3, 0.6
    gamma = tu.prior.logistic_normal(error=told, sd=sd).for_classes(K).alpha.sum(axis=1)
    prior = tu.prior.logistic_normal(error=told, sd=sd, rest=tu.Dirichlet(1.0, gamma))
    ranks = []
    for _ in range(replications):
        odds = rng.normal(np.log(0.1 / 0.8), sd, (K, K))
        odds[np.diag_indices(K)] = 0.0
        P = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        counts, test, v_hat = data(P, rng.dirichlet(gamma), 3000, 60, rng)
        seed = int(rng.integers(2**32))
        est = tu.correct_counts(test, v_hat, prior=prior, method="joint", draws=1000, seed=seed)
        assert est.info["sampler"] == "importance"
        mine = [rank(counts[g], est.draws[:, g], rng) for g in (0, 2)]
        mine += [rank(P[g, h], est.P[:, g, h], rng) for g, h in ((0, 1), (2, 2))]
        ranks.append(mine)
    return np.transpose(ranks)


@pytest.mark.slow
def test_logistic_normal_rows_by_weights(monkeypatch):
    monkeypatch.setattr(rates, "MOST_K", np.inf)  # the weights themselves are tried here, also
    monkeypatch.setattr(rates, "ENOUGH", 0.0)  # the few that are worse than we take
    ranks = ranks_of_logistic_normal(more(200), 0.2, fresh(500))
    assert min(uniform(x) for x in ranks) * 4 > 1e-5
    # told that errors are rarer than they are, the same test fails
    assert uniform(ranks_of_logistic_normal(100, 0.12, fresh(501))[3]) < 1e-5


@pytest.mark.slow
def test_truncated_rows_by_chains(monkeypatch):
    """Recalls uniform between 0.6 and 0.95, which test sets of 4 units say little of.

    The chains know of a method by its density alone, and test_priors.py has those of all methods.
    """
    rng = fresh(502)
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    monkeypatch.setattr(pair_walk, "WARM_UP", 80)
    monkeypatch.setattr(pair_walk, "SWEEPS", 40)
    monkeypatch.setattr(pair_walk, "ROUNDS", 1)
    prior = tu.prior.truncated(tu.Dirichlet(1.0, [2.0, 2.0]), recall=(0.6, 0.95))
    ranks = []
    for _ in range(more(45)):
        recall = rng.uniform(0.6, 0.95, 2)
        P = np.array([[recall[0], 1 - recall[0]], [1 - recall[1], recall[1]]])
        beta = rng.dirichlet([2.0, 2.0])
        counts, test, v_hat = data(P, beta, 500, 4, rng)
        seed = int(rng.integers(2**32))
        est = tu.correct_counts(test, v_hat, prior=prior, method="joint", draws=640, seed=seed)
        assert est.info["sampler"] == "pair walk"
        ranks.append(
            [rank(counts[0], est.draws[:, 0], rng)]
            + [rank(recall[g], est.P[:, g, g], rng) for g in (0, 1)]
        )
    # without the walls, the planted bug, draws of recalls are elsewhere
    for column in np.transpose(ranks):
        assert_uniform((column + 0.5) / 200)
