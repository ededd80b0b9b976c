"""`joint` when much is known of the rates and nothing of the base rates: weights, or a chain."""

import numpy as np
import pytest
from tests.seeds import fresh

import trueup as tu
from trueup.draws import rates

TEST = np.array([[14, 6], [3, 77]])
V_HAT = np.array([90, 410])
pytestmark = pytest.mark.filterwarnings("ignore:Only .* are effective")
OPTIONS = {"method": "joint", "noise": False, "overlap": False}


def always(monkeypatch, enough):
    """0: always weights; 2: always the chain."""
    monkeypatch.setattr(rates, "ENOUGH", enough)
    monkeypatch.setattr(rates, "MOST_K", np.inf)


def by_quadrature(alpha, gamma, n, v_hat, size=110):
    """Means of p_01, p_10, β_0 and of the count of class 0, on a grid of (p, q, b).

    Π_gh p_gh^(α + n − 1) · Π_g β_g^(γ + n_g· − 1) · Π_h ρ_h^(v̂_h − n_·h), with ρ = Pᵀβ.
    """
    x = (np.arange(size) + 0.5) / size
    p, q, b = np.meshgrid(0.85 * x, 0.35 * x, 0.8 * x, indexing="ij")
    P = np.array([[1 - p, p], [q, 1 - q]])
    beta = np.array([b, 1 - b])
    rho = np.einsum("gh...,g...->h...", P, beta)
    log_density = sum((alpha[g, h] + n[g, h] - 1) * np.log(P[g, h]) for g in (0, 1) for h in (0, 1))
    for g in (0, 1):
        log_density += (gamma[g] + n[g].sum() - 1) * np.log(beta[g])
        log_density += (v_hat[g] - n[:, g].sum()) * np.log(rho[g])
    weight = np.exp(log_density - log_density.max())
    for axis in range(3):  # nothing is cut off
        assert weight.take(-1, axis).max() < 1e-6
    count = sum(P[0, h] * b / rho[h] * v_hat[h] for h in (0, 1))
    return [(weight * y).sum() / weight.sum() for y in (p, q, count)]


def compare(alpha, gamma, sampler):
    """Compare with quadrature; return what `gamma` forgotten would differ by, in errors."""
    seed, draws = int(fresh(600).integers(2**32)), 8000
    prior = tu.Dirichlet(alpha, gamma)
    est = tu.correct_counts(TEST, V_HAT, prior=prior, draws=draws, seed=seed, **OPTIONS)
    assert est.info.get("sampler") == sampler
    expected = by_quadrature(np.array(alpha), gamma, TEST, V_HAT)
    # the rows' own sums in place of gamma
    wrong = by_quadrature(np.array(alpha), np.sum(alpha, axis=1), TEST, V_HAT)[2]
    found = [est.P[:, 0, 1], est.P[:, 1, 0], est.draws[:, 0]]
    errors = [x.std() * np.sqrt(1 / est.info["ess"] + 1 / draws) for x in found]  # resampled
    for x, mean, error in zip(found, expected, errors, strict=True):
        assert abs(x.mean() - mean) < 5 * error + 1e-3 * x.std()
    return abs(found[2].mean() - wrong) / errors[2]


@pytest.mark.parametrize(
    ("alpha", "gamma"),
    [([[25, 5], [1, 30]], [1, 1]), ([[12, 3], [2, 9]], [2, 8]), ([[1, 1], [1, 1]], [1, 1])],
)
def test_two_classes_by_a_chain_are_those_of_quadrature(alpha, gamma, monkeypatch):
    always(monkeypatch, 2.0)
    forgotten = compare(alpha, gamma, "chain")
    assert forgotten > 5 or np.sum(alpha) < 10


@pytest.mark.parametrize(
    ("alpha", "gamma"),
    [([[1, 1], [1, 1]], [1, 1]), ([[2, 1], [1, 3]], [6, 3]), ([[4, 1], [1, 6]], [2, 3])],
)
def test_two_classes_by_weights_are_those_of_quadrature(alpha, gamma):
    """Where the product takes weights; forced further out their variance is not finite."""
    forgotten = compare(alpha, gamma, None)
    assert forgotten > 5 or np.sum(alpha) < 10


def test_three_classes_by_weights_and_by_chain(monkeypatch):
    test, v_hat = [[9, 3, 1], [1, 11, 2], [2, 0, 12]], [160, 220, 140]
    both = []
    for enough in (0.0, 2.0):
        always(monkeypatch, enough)
        seed = int(fresh(610).integers(2**32))
        prior = tu.prior.diagonal(3)
        both.append(tu.correct_counts(test, v_hat, prior=prior, draws=8000, seed=seed, **OPTIONS))
    weighted, chain = both
    assert weighted.info.get("sampler") is None
    assert chain.info["sampler"] == "chain"
    ess = 1 / (1 / weighted.info["ess"] + 1 / chain.info["ess"])
    for one, other in ((weighted.draws, chain.draws), (weighted.P, chain.P)):
        error = other.std(axis=0) / np.sqrt(ess)
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * error).all()


def test_the_chain_is_chosen_where_weights_would_not_do():
    earlier = [[6300, 2700], [1080, 34920]]  # with a third of them, weights do one time in fifty
    few = tu.correct_counts(TEST, V_HAT, prior=tu.prior.from_counts(earlier, 1))
    assert few.info["sampler"] == "chain"
    assert few.info["ess"] > 1000
    assert few.info["rhat"] < 1.05
    assert tu.correct_counts(TEST, V_HAT, prior="uniform").info.get("sampler") is None
