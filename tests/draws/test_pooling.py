"""Strata: the joint posterior of all of them, against quadrature and weighted draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from tests.seeds import more

from trueup.draws.base_rates import columns
from trueup.draws.pooled_moves import LEAST_LOG, _log_volume
from trueup.draws.pooling import draw_pooled
from trueup.prior import perks

RATES = {
    2: np.array([[0.9, 0.1], [0.2, 0.8]]),
    3: np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]]),
}


def population(rng, K, J, n, *, kappa=20.0, N=2500, random=True):
    """Return test units (J, K, K), predicted counts (J, K) and the units M (J, K, K)."""
    P = np.stack([[rng.dirichlet(kappa * row) for row in RATES[K]] for _ in range(J)])
    v = rng.multinomial(N, rng.dirichlet([6.0, 2.0, 2.0][:K], J))
    M = rng.multinomial(v, P)
    if random:
        test = [rng.multivariate_hypergeometric(m.ravel(), n).reshape(K, K) for m in M]
    else:
        test = rng.multinomial(np.full((J, K), n // K), P)
    return np.asarray(test), M.sum(axis=1), M


def units(drawn, v_hat):
    """Return the expected units per class (R, J + 1, K) of each stratum and of their sum."""
    c = np.stack([columns(drawn.P[:, j], drawn.beta[:, j]) for j in range(len(v_hat))], axis=1)
    u = np.einsum("rjgh,jh->rjg", c, v_hat)
    return np.concatenate([u, u.sum(axis=1, keepdims=True)], axis=1)


@pytest.mark.parametrize("a", [(0.001, 0.02), (1e-5, 2e-5), (0.3, 4.0), (12.0, 3.0)])
def test_the_mass_of_rates_that_a_double_holds(a):
    """∫ p^(a−1) (1−p)^(b−1) over log p, log(1−p) > −T; without the bound κ near 0 has no mass."""
    T = LEAST_LOG

    def density(logit):
        return np.exp(-a[0] * np.logaddexp(0, -logit) - a[1] * np.logaddexp(0, logit))

    exact = quad(density, -T, T, points=[-20, 0, 20], limit=500)[0]
    a = np.array(a)
    assert _log_volume(a[:, None], a.sum())[0] == pytest.approx(np.log(exact), abs=0.02)


def test_the_concentration_of_rows_is_learned(rng):
    """30 strata with 100 units per row tell κ to about 30%; rows, not columns."""
    for kappa in (5.0, 40.0):
        n, v_hat, _ = population(rng, 2, 30, 200, kappa=kappa, random=False)
        drawn = draw_pooled(n, v_hat, perks(2), 200, rng, from_population=False)
        assert np.all(np.abs(np.log(np.median(drawn.kappa, axis=0) / kappa)) < 5 * 0.35)
        error = 5 * np.sqrt(0.25 / (kappa + 1) / 30 + 0.25 / 3000)
        assert np.all(np.abs(drawn.P.mean(axis=(0, 1)) - RATES[2]) < error)


def test_a_stratum_without_test_units_rests_on_the_others(rng):
    n, v_hat, _ = population(rng, 2, 12, 200, kappa=50.0)
    n[3] = 0
    drawn = draw_pooled(n, v_hat, perks(2), 200, rng, from_population=True)
    q = drawn.P[:, 3, 0, 1]
    assert abs(q.mean() - 0.1) < 5 * 0.06
    assert q.std() > drawn.P[:, 4, 0, 1].std()


def test_draws_fit_the_predicted_counts_and_are_permissible(rng):
    n, v_hat, _ = population(rng, 3, 4, 20, N=400)
    v_hat[1] = [30, 0, 0]  # classes that no unit is predicted as
    n[1], n[2, :, 2] = 0, 0
    drawn = draw_pooled(n, v_hat, perks(3), 200, rng, from_population=True, seconds=0.3)
    assert drawn.P.shape == (200, 4, 3, 3)
    assert np.allclose(drawn.P.sum(axis=3), 1)
    assert np.allclose(drawn.beta.sum(axis=2), 1)
    rho = np.einsum("rjg,rjgh->rjh", drawn.beta, drawn.P)
    assert np.abs(rho[:, 0].mean(axis=0) - v_hat[0] / v_hat[0].sum()).max() < 5 * 0.5 / 20


@pytest.mark.usefixtures("short_chains")
def test_the_same_seed_gives_the_same_draws(rng):
    n, v_hat, _ = population(rng, 2, 3, 60)
    first, second = (
        draw_pooled(n, v_hat, perks(2), 100, np.random.default_rng(1), from_population=True)
        for _ in range(2)
    )
    assert (first.P == second.P).all()


def test_chains_that_did_not_converge_say_so(rng):
    n, v_hat, _ = population(rng, 3, 20, 3, N=10**5)
    drawn = draw_pooled(n, v_hat, perks(3), 200, rng, from_population=True, seconds=0.2)
    assert drawn.P.shape == (200, 20, 3, 3)
    (warning,) = drawn.info["warnings"]
    assert "before they had converged: R-hat" in warning


@pytest.mark.slow
def test_the_effective_size_is_that_over_seeds(rng):
    n, v_hat, _ = population(rng, 2, 4, 25)
    runs = [draw_pooled(n, v_hat, perks(2), 200, rng, from_population=True) for _ in range(more(4))]
    u = np.stack([units(run, v_hat)[:, :, 1] for run in runs])  # of each stratum, and of all
    promised = np.mean([1 / run.info["ess"] for run in runs])
    ratio = np.sqrt((u.mean(axis=1).var(axis=0, ddof=1) / u.var(axis=(0, 1))).mean() / promised)
    error = 1 / np.sqrt(2 * len(u) * 2)  # strata are nearly unrelated; half of them count
    assert 1 / 3 / (1 + 5 * error) < ratio < 1.5 * (1 + 5 * error)  # it is that of the worst


def marginal(a, n):
    """Return log Pr(n | a) of Dirichlet-multinomials over the last axis."""
    value = (gammaln(a + n) - gammaln(a)).sum(axis=-1)
    return value + gammaln(a.sum(axis=-1)) - gammaln((a + n).sum(axis=-1))


def weighted(n, v_hat, prior, random, rng, size=100_000):
    """The module's model once more: draws of κ, P and β given n, and weights by κ, m, μ and v̂."""
    J, K = v_hat.shape
    u = rng.random((size, K + 1))  # κ/(κ + 10)
    kappa = 10 * u / (1 - u)
    m = np.stack([rng.dirichlet(a, size) for a in prior.alpha], axis=1)
    a = np.maximum(kappa[:, :K, None] * m, 1e-12)
    b = np.maximum(kappa[:, K:] * rng.dirichlet(prior.gamma, size), 1e-12)
    P, beta, log_w = np.empty((size, J, K, K)), np.empty((size, J, K)), np.zeros(size)
    for j in range(J):
        own = n[j].sum(axis=1) * random  # a test set within true classes says nothing of β
        log_w += marginal(a, n[j]).sum(axis=1) + marginal(b, own)
        x, y = (np.maximum(rng.standard_gamma(z), 1e-200) for z in (a + n[j], b + own))
        P[:, j] = x / x.sum(axis=2, keepdims=True)
        beta[:, j] = y / y.sum(axis=1, keepdims=True)
        log_w += np.log(np.einsum("rg,rgh->rh", beta[:, j], P[:, j])) @ v_hat[j]
    w = np.exp(log_w - log_w.max())
    return (u, P, beta), w / w.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("random", "draws"), [(True, 2000), (False, 700)])
def test_the_posterior_is_that_of_weighted_draws(random, draws, rng):
    """Means and mean squares of κ, P and β, in few units, where weights are an exact oracle.

    Planted once: no Jacobian of scaled rows, one stratum too few in the prior of κ, κ_0 μ = 1, n_g
    left in β's exponent (each 7 errors and more away) and no determinant of P (5 to 11).
    """
    n, v_hat, _ = population(rng, 2, 3, 12, N=60, random=random)
    v_hat = np.array([rng.multinomial(15, v / v.sum()) for v in v_hat])
    theirs, w = weighted(n, v_hat, perks(2), random, rng)
    drawn = draw_pooled(n, v_hat, perks(2), draws, rng, from_population=random, seconds=8)
    kappa = np.column_stack([drawn.kappa, drawn.kappa_0])
    for x, y in zip((kappa / (kappa + 10), drawn.P, drawn.beta), theirs, strict=True):
        for power in (1, 2):
            mean = np.tensordot(w, y**power, 1)
            squares = (y**power - mean) ** 2
            variance = np.tensordot(w, squares, 1)
            error = np.sqrt(variance / drawn.info["ess"] + np.tensordot(w**2, squares, 1))
            assert np.all(np.abs((x**power).mean(axis=0) - mean) < 5 * error)
