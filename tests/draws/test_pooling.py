"""Strata: the joint posterior of all of them, against quadrature, simulation and NUTS."""

import numpy as np
import pytest
from scipy.integrate import quad
from tests.seeds import more

from trueup.draws.base_rates import columns
from trueup.draws.pooled_moves import LEAST_LOG, _log_volume
from trueup.draws.pooling import draw_pooled
from trueup.numerics.diagnostics import ess
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
        drawn = draw_pooled(n, v_hat, perks(2), 400, rng, from_population=False)
        assert np.all(np.abs(np.log(np.median(drawn.kappa, axis=0) / kappa)) < 5 * 0.35)
        error = 5 * np.sqrt(0.25 / (kappa + 1) / 30 + 0.25 / 3000)
        assert np.all(np.abs(drawn.P.mean(axis=(0, 1)) - RATES[2]) < error)


def test_a_stratum_without_test_units_rests_on_the_others(rng):
    n, v_hat, _ = population(rng, 2, 12, 200, kappa=50.0)
    n[3] = 0
    drawn = draw_pooled(n, v_hat, perks(2), 400, rng, from_population=True)
    q = drawn.P[:, 3, 0, 1]
    assert abs(q.mean() - 0.1) < 5 * 0.06
    assert q.std() > drawn.P[:, 4, 0, 1].std()


def test_draws_fit_the_predicted_counts_and_are_permissible(rng):
    n, v_hat, _ = population(rng, 3, 4, 20, N=400)
    v_hat[1] = [30, 0, 0]  # classes that no unit is predicted as
    n[1], n[2, :, 2] = 0, 0
    drawn = draw_pooled(n, v_hat, perks(3), 300, rng, from_population=True, seconds=3)
    assert drawn.P.shape == (300, 4, 3, 3)
    assert np.allclose(drawn.P.sum(axis=3), 1)
    assert np.allclose(drawn.beta.sum(axis=2), 1)
    rho = np.einsum("rjg,rjgh->rjh", drawn.beta, drawn.P)
    assert np.abs(rho[:, 0].mean(axis=0) - v_hat[0] / v_hat[0].sum()).max() < 5 * 0.5 / 20


def test_the_same_seed_gives_the_same_draws(rng):
    n, v_hat, _ = population(rng, 2, 3, 60)
    first, second = (
        draw_pooled(n, v_hat, perks(2), 300, np.random.default_rng(1), from_population=True)
        for _ in range(2)
    )
    assert (first.P == second.P).all()


def test_chains_that_did_not_converge_say_so(rng):
    n, v_hat, _ = population(rng, 3, 20, 3, N=10**5)
    drawn = draw_pooled(n, v_hat, perks(3), 200, rng, from_population=True, seconds=1)
    assert drawn.P.shape == (200, 20, 3, 3)
    (warning,) = drawn.info["warnings"]
    assert "before they had converged: R-hat" in warning


@pytest.mark.slow
def test_ranks_of_the_truth_are_even_when_the_prior_is_true(rng):
    """Populations drawn from the model itself: the truth is as often in each tenth of the draws.

    One of the two designs in each run, to save half a minute.
    """
    J, N, ranks, random = 4, 400, [], bool(rng.integers(2))
    for _ in range(more(40)):
        u = rng.random(3)
        kappa, kappa_0 = 10 * u[:2] / (1 - u[:2]), 10 * u[2] / (1 - u[2])
        m, mu = rng.dirichlet([0.5, 0.5], 2), rng.dirichlet([1.0, 1.0])
        tiny = 1e-9
        P = np.stack([[rng.dirichlet(kappa[g] * m[g] + tiny) for g in range(2)] for _ in range(J)])
        beta = np.stack([rng.dirichlet(kappa_0 * mu + tiny) for _ in range(J)])
        if not np.isfinite(P).all() or not np.isfinite(beta).all():
            continue
        M = rng.multinomial(rng.multinomial(N, beta), P)
        if random:
            test = rng.multinomial(15, (beta[:, :, None] * P).reshape(J, 4)).reshape(J, 2, 2)
        else:
            test = rng.multinomial(np.full((J, 2), 8), P)
        v_hat = M.sum(axis=1)
        # the least number of sweeps, whatever the clock says: about 100 effective draws
        drawn = draw_pooled(test, v_hat, perks(2), 200, rng, from_population=random, seconds=0)
        total = (drawn.beta[:, :, 1]).sum(axis=1)
        ranks.append((total < beta[:, 1].sum()).mean())
    ranks = np.array(ranks)
    error = np.sqrt(1 / 12 / len(ranks))
    assert abs(ranks.mean() - 0.5) < 5 * error
    assert abs(ranks.var() - 1 / 12) < 5 * np.sqrt(1 / 180 / len(ranks))


@pytest.mark.slow
def test_the_effective_size_is_that_over_seeds(rng):
    n, v_hat, _ = population(rng, 2, 6, 25)
    runs = [
        draw_pooled(n, v_hat, perks(2), 400, rng, from_population=True) for _ in range(more(12))
    ]
    u = np.stack([units(run, v_hat)[:, -1, 1] for run in runs])
    promised = np.mean([1 / run.info["ess"] for run in runs])
    ratio = np.sqrt(u.mean(axis=1).var(ddof=1) / u.var() / promised)
    assert 1 / 1.5 / (1 + 5 / np.sqrt(2 * len(u))) < ratio < 1.5 * (1 + 5 / np.sqrt(2 * len(u)))


@pytest.mark.slow
def test_the_posterior_is_that_of_nuts(rng):
    """The module's model, written once more: means and standard deviations of all strata agree.

    One of two cases in each run, as each takes NUTS about a minute.
    """
    K, random = ((2, True), (3, False))[rng.integers(2)]
    n, v_hat, _ = population(rng, K, 4, 40, random=random)
    prior = perks(K)
    drawn = draw_pooled(n, v_hat, prior, 4000, rng, from_population=random)
    ours = units(drawn, v_hat)
    theirs, sizes = nuts(n, v_hat, prior, random, int(rng.integers(2**31)))
    scale = theirs.std(axis=0)
    error = np.sqrt(1 / drawn.info["ess"] + 1 / sizes)
    assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < (0.1 + 5 * error) * scale)
    assert np.all(np.abs(np.log(ours.std(axis=0) / scale)) < 0.05 + 5 * error)


def nuts(n, v_hat, prior, random, seed):
    """Return the expected units per class (R, J + 1, K) and how many draws are effective."""
    jax = pytest.importorskip("jax")
    numpyro = pytest.importorskip("numpyro")
    dist, jnp = numpyro.distributions, jax.numpy
    J, K = v_hat.shape

    def model():
        # κ/(κ + 10) is uniform: log κ is logistic around log 10
        log_kappa = numpyro.sample("log_kappa", dist.Logistic(jnp.log(10.0), 1).expand([K + 1]))
        with numpyro.plate("rows", K):
            m = numpyro.sample("m", dist.Dirichlet(jnp.asarray(prior.alpha)))
        mu = numpyro.sample("mu", dist.Dirichlet(jnp.asarray(prior.gamma)))
        with numpyro.plate("strata", J):
            a = jnp.exp(log_kappa[:K, None]) * m
            P = numpyro.sample("P", dist.Dirichlet(a).to_event(1))
            beta = numpyro.sample("beta", dist.Dirichlet(jnp.exp(log_kappa[K]) * mu))
        theta = P * beta[:, :, None]
        rho = theta.sum(axis=1)
        numpyro.factor("test", (n * jnp.log(theta if random else P)).sum())
        numpyro.factor("predicted", (v_hat * jnp.log(rho)).sum())
        numpyro.deterministic("u", (theta * (v_hat / rho)[:, None, :]).sum(axis=2))

    kernel = numpyro.infer.NUTS(model, target_accept_prob=0.9)
    chain = numpyro.infer.MCMC(
        kernel, num_warmup=600, num_samples=1000, num_chains=2, progress_bar=False,
        chain_method="sequential",
    )  # fmt: skip
    with jax.enable_x64(True):
        chain.run(jax.random.PRNGKey(seed))
        u = np.asarray(chain.get_samples(group_by_chain=True)["u"])
    u = np.concatenate([u, u.sum(axis=2, keepdims=True)], axis=2)
    sizes = [[ess(u[:, :, j, g]) for g in range(K)] for j in range(J + 1)]
    return u.reshape(-1, J + 1, K), np.array(sizes)
