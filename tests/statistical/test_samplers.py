"""Chains against oracles that share no code with them: quadrature, rejection, importance."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betaincinv
from tests.seeds import fresh, more

from trueup.draws.samplers import draw_constrained, draw_full
from trueup.draws.samplers.exact import log_masses

RNG = fresh
PECULIAR = np.array([[4.5, 1.5], [2.5, 3.5]]), np.array([10.0, 90.0])
A3 = np.array([[4.4, 1.3, 0.3], [0.3, 2.3, 1.3], [1.3, 0.3, 1.3]])
V3 = np.array([25.0, 40.0, 35.0])


def errors(draws, mean, extra=0.0):
    """How many Monte Carlo errors the mean of each β_g is off; `extra` is the oracle's own."""
    error = draws.beta.std(axis=0) / np.sqrt(draws.info["ess"])
    return np.abs(draws.beta.mean(axis=0) - mean) / np.hypot(error, extra)


def quantile_errors(got, ess, values, weight):
    order = np.argsort(values)
    cumulative = np.cumsum(weight[order])
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        at = values[order][np.searchsorted(cumulative, q)]
        yield abs((got <= at).mean() - q) / (np.sqrt(q * (1 - q) / ess) + 1e-4)


def moments_agree(got, ess, values, weight):
    mean = values @ weight
    for f in (lambda b: b, lambda b: (b - mean) ** 2):
        exact = f(values) @ weight
        assert abs(f(got).mean() - exact) < 5 * f(got).std() / np.sqrt(ess) + 1e-5
    assert max(quantile_errors(got, ess, values, weight)) < 5


def full_quadrature(a, gamma, v_hat, m=160):
    """β₀ and posterior weights of `full` at K = 2, on a grid of the prior's own quantiles."""
    u = (np.arange(m) + 0.5) / m
    x = betaincinv(a[0, 1], a[0, 0], u)[:, None, None]
    y = betaincinv(a[1, 0], a[1, 1], u)[None, :, None]
    beta = betaincinv(gamma[0], gamma[1], u)[None, None, :]
    rho = beta * (1 - x) + (1 - beta) * y
    weight = rho ** v_hat[0] * (1 - rho) ** v_hat[1]
    return np.broadcast_to(beta, weight.shape).ravel(), (weight / weight.sum()).ravel()


def test_constrained_chain_at_two_classes_against_exact_draws():
    oracle = draw_constrained(*PECULIAR, 100_000, RNG(31)).beta[:, 0]
    draws = draw_constrained(*PECULIAR, 6_000, RNG(32), sampler="chain")
    weight = np.full(len(oracle), 1 / len(oracle))
    moments_agree(draws.beta[:, 0], draws.info["ess"] * 0.95, oracle, weight)
    # the rectangle in which the classes are exchanged is one swap away, not lost
    swapped = (draws.P[:, 0, 1] > 0.9).mean()
    better, other = log_masses(PECULIAR[0], PECULIAR[1] / PECULIAR[1].sum())
    share = np.exp(other - np.logaddexp(better, other))  # 0.3%, so about 18 draws
    assert swapped > 0
    assert swapped - share < 5 * np.sqrt(share / (draws.info["ess"] / 2))


@pytest.mark.parametrize(
    ("gamma", "v_hat"), [((1.0, 1.0), (3, 7)), ((0.5, 2.5), (0, 8)), ((0.5, 2.5), (40, 10))]
)
def test_full_at_two_classes_against_quadrature(gamma, v_hat):
    a = PECULIAR[0]
    draws = draw_full(a, np.array(gamma), np.array(v_hat), 2_500, RNG(33))
    values, weight = full_quadrature(a, gamma, v_hat)
    moments_agree(draws.beta[:, 0], draws.info["ess"], values, weight)


@pytest.mark.parametrize(("K", "many"), [(3, 20), (5, 20), (5, 4)])
def test_chain_against_rejection(K, many, monkeypatch):
    monkeypatch.setattr("trueup.draws.samplers.walk.MANY_CLASSES", many)  # moves of many classes
    rng = RNG(34)
    a = rng.multinomial(6, 0.7 * np.eye(K) + 0.3 / K) + 1 / K
    # counts that some β explains: with others, rejection keeps too few
    v_hat = 1000 * rng.dirichlet(np.full(K, 4.0)) @ (a / a.sum(axis=1, keepdims=True))
    oracle = draw_constrained(a, v_hat, 10_000, rng, sampler="rejection")
    draws = draw_constrained(a, v_hat, 4_000, rng, sampler="chain")
    extra = oracle.beta.std(axis=0) / np.sqrt(10_000)
    assert errors(draws, oracle.beta.mean(axis=0), extra).max() < 5
    extra = oracle.P.std(axis=0) / np.sqrt(10_000)
    error = np.hypot(extra, draws.P.std(axis=0) / np.sqrt(draws.info["ess"]))
    assert np.all(np.abs(draws.P.mean(axis=0) - oracle.P.mean(axis=0)) < 5 * error)


def test_full_against_importance_from_the_prior():
    """P ~ Dir(a), β ~ Dir(γ), weighed by the multinomial likelihood of a small v̂."""
    gamma, v_hat = np.array([0.5, 1.0, 2.0]), np.array([4, 0, 5])
    rng = RNG(35)
    P = np.stack([rng.dirichlet(row, 100_000) for row in A3], axis=1)
    beta = rng.dirichlet(gamma, 100_000)
    weight = np.prod(np.einsum("rgh,rg->rh", P, beta) ** v_hat, axis=1)
    mean, extra = weighted(beta, weight)
    assert errors(draw_full(A3, gamma, v_hat, 4_000, rng), mean, extra).max() < 5
    # γ for 1, the wrong prior of β, is seen
    assert errors(draw_full(A3, np.ones(3), v_hat, 4_000, rng), mean, extra).max() > 8


def test_full_with_a_small_gamma_against_importance_from_the_prior():
    """Classes that are there or not, at K = 3: how often each is absent, and means."""
    gamma, v_hat = np.array([0.03, 0.3, 0.1]), np.array([4, 1, 5])
    rng = RNG(44)
    P = np.stack([rng.dirichlet(row, 400_000) for row in A3], axis=1)
    beta = rng.dirichlet(gamma, 400_000)
    weight = np.prod(np.einsum("rgh,rg->rh", P, beta) ** v_hat, axis=1)
    draws = draw_full(A3, gamma, v_hat, 8_000, rng)
    assert draws.info["warnings"] == []
    assert errors(draws, *weighted(beta, weight)).max() < 5
    share, extra = weighted(1.0 * (beta < 1e-3), weight)
    error = np.hypot(np.sqrt(share * (1 - share) / draws.info["ess"]), extra)
    assert np.all(np.abs((draws.beta < 1e-3).mean(axis=0) - share) < 5 * error)
    present = weight * (beta[:, 2] > 1e-3)  # and the row of a class that comes and goes
    mean, extra = weighted(P[:, 2], present)
    rows = draws.P[draws.beta[:, 2] > 1e-3, 2]
    share = len(rows) / len(draws.P)
    error = np.hypot(extra, rows.std(axis=0) / np.sqrt(share * draws.info["ess"]))
    assert np.all(np.abs(rows.mean(axis=0) - mean) < 5 * error)


def weighted(beta, weight):
    """Self-normalised mean and its standard error."""
    weight = weight / weight.sum()
    mean = weight @ beta
    return mean, np.sqrt(weight**2 @ (beta - mean) ** 2)


@pytest.mark.parametrize("wrong", ["no determinant", "exponent off by one"])
def test_determinant_and_exponent_matter(wrong):
    """The density of model.md on c, |det P| Π β^(1−a_g·): either factor changed is caught."""
    # few data, so that importance weights on Dirichlet columns have a variance
    a = np.array([[0.9, 0.3, 0.3], [0.3, 1.6, 0.3], [0.3, 0.9, 0.3]])
    a = a if wrong == "no determinant" else A3 / 2
    rng = RNG(36)
    rho = V3 / V3.sum()
    c = np.stack([rng.dirichlet(column, 200_000) for column in a.T], axis=2)
    beta = c @ rho
    det = np.abs(np.linalg.det(c * rho / beta[:, :, None]))
    right = det * np.prod(beta ** (1 - a.sum(axis=1)), axis=1)
    draws = draw_constrained(a, V3, 6_000, rng, sampler="chain")
    assert errors(draws, *weighted(beta, right)).max() < 5
    factor = 1 / det if wrong == "no determinant" else beta.prod(axis=1)
    assert errors(draws, *weighted(beta, right * factor)).max() > 5


@pytest.mark.parametrize("gamma", [(0.05, 0.1), (9.0, 12.0)])
def test_full_with_a_small_or_a_large_gamma_against_quadrature(gamma):
    """A class that is almost absent or not, and a prior of β that outweighs the test set's."""
    a, v_hat, m = PECULIAR[0], (6, 14), 160
    draws = draw_full(a, np.array(gamma), np.array(v_hat), 2_500, RNG(41))
    values, weight = full_quadrature(a, gamma, v_hat, m)
    assert draws.info["warnings"] == []
    mean, absent = values @ weight, weight[values < 1e-3].sum()
    assert errors(draws, np.array([mean, 1 - mean])).max() < 5
    got, ess = (draws.beta[:, 0] < 1e-3).mean(), draws.info["ess"]
    assert abs(got - absent) < 5 * np.sqrt(absent * (1 - absent) / ess) + 1 / m


@pytest.mark.parametrize("shape", [(2, 4), (3, 2)])
def test_full_with_more_or_fewer_columns_than_classes(shape):
    """Against importance from the prior: P ~ Dir(a) with K rows and L columns, β ~ Dir(γ)."""
    rng = RNG(42)
    a = rng.integers(0, 5, shape) + 0.5
    gamma, v_hat = np.array([0.5, 1.0, 2.0])[: shape[0]], np.array([4, 0, 5, 3])[: shape[1]]
    P = np.stack([rng.dirichlet(row, 100_000) for row in a], axis=1)
    beta = rng.dirichlet(gamma, 100_000)
    weight = np.prod(np.einsum("rgh,rg->rh", P, beta) ** v_hat, axis=1)
    draws = draw_full(a, gamma, v_hat, 2_500, rng)
    assert draws.P.shape == (2_500, *shape)
    assert draws.rho.shape == (2_500, shape[1])
    assert errors(draws, *weighted(beta, weight)).max() < 5
    mean, extra = weighted(P[:, 0], weight)
    error = np.hypot(extra, draws.P[:, 0].std(axis=0) / np.sqrt(draws.info["ess"]))
    assert np.all(np.abs(draws.P[:, 0].mean(axis=0) - mean) < 5 * error)


@pytest.mark.parametrize("planted", ["no determinant", "no tilt of ρ", "no likelihood of v̂"])
def test_wrong_moves_of_full_are_caught(planted, monkeypatch):
    from trueup.draws.samplers import gammas, tilted

    a, v_hat = PECULIAR[0], np.array([3, 7])
    values, weight = full_quadrature(a, (1.0, 1.0), v_hat)
    real, rows = tilted.tilted, tilted._rows
    if planted == "no determinant":
        monkeypatch.setattr(gammas, "_likelier", lambda *them: them[5])
    elif planted == "no tilt of ρ":
        monkeypatch.setattr(
            tilted,
            "tilted",
            lambda x, a, r, rng: real(x, a, r if x.ndim == 3 else np.zeros_like(r), rng),
        )
    else:
        monkeypatch.setattr(tilted, "_rows", lambda *them: (*rows(*them)[:2], np.zeros(1), None))
    draws = draw_full(a, np.ones(2), v_hat, 14_000, RNG(37), max_sweeps=14_000)
    assert errors(draws, np.array([values @ weight, 1 - values @ weight])).max() > 5


@pytest.mark.slow
def test_full_with_data_from_its_prior():
    """Against importance from the prior, where truths, test sets and γ are unlike in each run.

    Planted bugs: γ = 1, and one more than γ in the rarest class.
    """
    rng, K = RNG(38), 3
    alpha, gamma = np.full((K, K), 1 / K) + 0.5 * np.eye(K), np.arange(1.0, K + 1)
    for _ in range(more(4)):
        truth = np.stack([rng.dirichlet(row) for row in alpha])
        n = np.stack([rng.multinomial(3 + g, truth[g]) for g in range(K)])
        v_hat = rng.multinomial(12, rng.dirichlet(gamma) @ truth)
        P = np.stack([rng.dirichlet(row, 100_000) for row in alpha + n], axis=1)
        beta = rng.dirichlet(gamma, 100_000)
        weight = np.prod(np.einsum("rgh,rg->rh", P, beta) ** v_hat, axis=1)
        draws = draw_full(alpha + n, gamma, v_hat, 2_000, rng)
        assert errors(draws, *weighted(beta, weight)).max() < 5
        mean, extra = weighted(P[:, 0], weight)
        error = np.hypot(extra, draws.P[:, 0].std(axis=0) / np.sqrt(draws.info["ess"]))
        assert np.all(np.abs(draws.P[:, 0].mean(axis=0) - mean) < 5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20])
def test_fifteen_classes_against_rejection(n):
    """With α = 1/K rejection still keeps a few per cent: independent draws as the oracle."""
    rng = RNG(40)
    a = rng.multinomial(n, 0.85 * np.eye(15) + 0.01) + 1 / 15
    v_hat = rng.dirichlet(np.full(15, 5.0)) * 20_000
    oracle = draw_constrained(a, v_hat, 4_000, rng, sampler="rejection")
    draws = draw_constrained(a, v_hat, 4_000, rng, sampler="chain")
    extra = oracle.beta.std(axis=0) / np.sqrt(4_000)
    assert errors(draws, oracle.beta.mean(axis=0), extra).max() < 5


@pytest.mark.slow
@pytest.mark.parametrize("units", [100, 500])
def test_fifteen_classes_and_many_units_against_rejection(units):
    """Rows from their Dirichlets, kept where β = (Pᵀ)⁻¹ρ is permissible: 3% and 74% of them."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
    from samplers import case

    (a, v_hat), rng = case(15, units), RNG(43)
    kept = []
    while sum(map(len, kept)) < 1_500:
        P = np.stack([rng.dirichlet(row, 20_000) for row in a], axis=1)
        beta = np.linalg.solve(np.swapaxes(P, 1, 2), (v_hat / v_hat.sum())[:, None])[..., 0]
        kept.append(beta[(beta >= 0).all(axis=1)])
    oracle = np.concatenate(kept)
    draws = draw_constrained(a, v_hat, 4_000, rng, sampler="chain")
    mean = oracle.mean(axis=0)
    assert errors(draws, mean, oracle.std(axis=0) / np.sqrt(len(oracle))).max() < 5
    # β of the rarest class has a kurtosis of 15 to 40: the error of a variance is that of squares
    theirs, ours = (oracle - mean) ** 2, (draws.beta - mean) ** 2
    error = np.hypot(
        theirs.std(axis=0) / np.sqrt(len(theirs)), ours.std(axis=0) / np.sqrt(draws.info["ess"])
    )
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * error).all()
