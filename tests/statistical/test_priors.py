"""Any prior, by weights, NUTS and chains: a Dirichlet given as a function has an exact answer.

Planted bugs that these catch: P transposed, the change of variables forgotten, |det P| forgotten,
gamma taken for alpha.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.seeds import fresh

import trueup as tu
from trueup.draws import pair_walk, rates
from trueup.draws.density import Posterior, log_density
from trueup.prior.elicited import Built

pytestmark = pytest.mark.filterwarnings("ignore:The predicted classes of the test set")
# rows true, few units and unlike errors, so that each part of the density matters
TESTS = {
    2: [[9, 3], [1, 14]],
    3: [[9, 3, 0], [1, 11, 2], [1, 0, 12]],
    5: [[9, 3, 0, 0, 1], [1, 11, 2, 0, 0], [1, 0, 12, 0, 2], [0, 1, 1, 9, 0], [2, 0, 0, 0, 12]],
}
V_HAT = {2: [9, 36], 3: [7, 35, 10], 5: [160, 220, 140, 120, 180]}


def alpha_of(K):
    """Concentrations unlike their own transpose, with row sums unlike each other."""
    g, h = np.indices((K, K))
    return np.where(g == h, 3.0, 0.7 + 0.4 * ((g + 2 * h) % 3)) + 0.3 * g


def exact(method, K, rng, size=100_000):
    """Draws of P and of the counts' shares, with weights: the paper's theorems in plain NumPy.

    β has the prior Dir(Σ_h α_gh). Under `bayes` counts have no mean, and only P is given.
    """
    alpha, n, v_hat = alpha_of(K), np.array(TESTS[K]), np.array(V_HAT[K], float)
    rho = v_hat / v_hat.sum()
    if method == "joint":  # cells θ_gh = β_g p_gh, by columns
        c = np.stack([rng.dirichlet(column, size) for column in (alpha + n).T], axis=2)
        theta = c * rng.dirichlet(alpha.sum(axis=0) + v_hat, size)[:, None, :]
        return [theta / theta.sum(axis=2, keepdims=True), c @ rho], np.ones(size)
    P = np.stack([rng.dirichlet(row, size) for row in alpha + n], axis=1)
    if method == "bayes":
        return [P], np.ones(size)
    if method == "full":  # with few units the likelihood of v̂ is a weight like any other
        theta = P * rng.dirichlet(alpha.sum(axis=1), size)[:, :, None]
        log_weight = np.log(theta.sum(axis=1)) @ v_hat
        c = theta / theta.sum(axis=1, keepdims=True)
        return [P, c @ rho], np.exp(log_weight - log_weight.max())
    beta = np.linalg.solve(np.swapaxes(P, 1, 2), rho[:, None])[..., 0]
    inside = (beta >= 0).all(axis=1)
    assert (np.linalg.det(P[inside]) < 0).mean() < 1e-3  # another corner, that chains may miss
    return [P[inside], beta[inside]], np.ones(inside.sum())


def far(found, ess, expected, weight):
    """Give the largest distance of E[x] and E[x²] in Monte Carlo errors of both sides."""
    worst = 0.0
    share = weight / weight.sum()
    assert (share**2).sum() < 1 / 1000
    for x, y in zip(found, expected, strict=False):
        for power in (1, 2):
            mean = np.tensordot(share, y**power, 1)
            spread = np.tensordot(share, (y**power - mean) ** 2, 1)
            error = np.sqrt(spread * (1 / ess + (share**2).sum()))
            worst = max(worst, float((np.abs((x**power).mean(axis=0) - mean) / error).max()))
    return worst


def dirichlet_function(K, **options):
    """A Dirichlet as a user would write it; base rates have the prior Dir(Σ_h α_gh)."""
    alpha = alpha_of(K)
    reference = tu.Dirichlet(0.6 * alpha + 0.4, alpha.sum(axis=1))
    return tu.prior.log_density(
        lambda P, np: ((alpha - 1) * np.log(P)).sum(), reference=reference, **options
    )


def dirichlet_tilt(K):
    """The same for chains without gradient, all matrices at once."""
    alpha = alpha_of(K)
    reference = tu.Dirichlet(0.6 * alpha + 0.4, alpha.sum(axis=1))

    def tilt(P, xp):
        return 0.4 * ((alpha - 1) * xp.log(xp.maximum(P, 1e-300))).sum((-2, -1))

    return Built(
        lambda base, labels: (base.alpha, base.gamma, tilt), reference, "tilt", smooth=False
    )


def run(method, K, prior, draws, key):
    seed = int(fresh(key).integers(2**32))
    return tu.correct_counts(
        TESTS[K], V_HAT[K], method=method, overlap=False, noise=False, prior=prior,
        draws=draws, seed=seed,
    )  # fmt: skip


def check(est, method, K, key):
    ess, shares = est.info["ess"], est.draws / sum(V_HAT[K])
    expected, weight = exact(method, K, fresh(key))
    assert far([est.P, shares], ess, expected, weight) < 5
    # and these are not so wide that a wrong answer would pass
    assert far([np.swapaxes(est.P, 1, 2)], ess, expected, weight) > 20


@pytest.mark.parametrize(
    ("method", "K"),
    [(method, K) for K in (2, 5) for method in ("bayes", "constrained", "joint")]
    + [("full", 2), ("full", 3)],
)
def test_weights_give_the_conjugate_answer(method, K):
    key = 100 + 10 * K + len(method)
    est = run(method, K, dirichlet_function(K), 4000, key)
    assert est.info["sampler"] == "importance"
    assert est.info["pareto_k"] < 0.7
    est.info["ess"] /= 2  # losses of the chains and of the weights multiply
    check(est, method, K, key + 1)


@pytest.mark.parametrize("method", ["bayes", "constrained", "joint", "full"])
def test_jax_has_the_density_of_numpy(method, rng):
    """So what chains without gradient show of the density of a method holds for NUTS too."""
    jax = pytest.importorskip("jax")
    for K in (2, 3):  # JAX compiles each anew
        a, v_hat = alpha_of(K) + TESTS[K], np.array(V_HAT[K], float)
        prior = dirichlet_tilt(K).for_classes(K)
        it = Posterior(method, prior, a, a.sum(axis=1), v_hat, v_hat / v_hat.sum())
        log_x = np.log(rng.dirichlet(np.ones(K), (20, K + it.random_rho)))
        with jax.enable_x64(True):
            found = np.array(jax.vmap(lambda x: log_density(x, it, jax.numpy))(log_x))  # noqa: B023
        assert found == pytest.approx(log_density(log_x, it, np), rel=1e-10)


@pytest.mark.slow
def test_nuts_gives_the_conjugate_answer(monkeypatch):
    """With the method that has the most parameters, K + 1 simplices.

    The density is all that NUTS knows of a method; most time goes into compiling it.
    """
    monkeypatch.setattr(rates, "ENOUGH", 2.0)  # weights never do
    method, K, key = "full", 2, 234
    est = run(method, K, dirichlet_function(K), 2000, key)
    assert est.info["sampler"] == "nuts"
    assert est.info["rhat"] < 1.02
    assert est.info["ess"] > 400
    assert est.info["divergences"] <= 20
    check(est, method, K, key + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "K"),
    # the corners of `constrained` take chains 15 s with three classes
    [("bayes", 3), ("joint", 2), ("full", 2), ("constrained", 2)],
)
def test_chains_without_gradient_give_the_conjugate_answer(method, K, monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    key = 300 + 10 * K + len(method)
    est = run(method, K, dirichlet_tilt(K), 1000, key)
    assert est.info["sampler"] == "pair walk"
    assert est.info["rhat"] < 1.02
    check(est, method, K, key + 1)


@pytest.mark.slow
def test_chains_take_a_function_that_jax_cannot_follow(monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    alpha = alpha_of(2)

    def plain(P):  # NumPy's own functions, and a float: no tracer survives that
        return float(((alpha - 1) * np.log(P)).sum())

    reference = tu.Dirichlet(1.0, alpha.sum(axis=1))
    prior = tu.prior.log_density(plain, reference=reference, smooth=False)
    monkeypatch.setattr(pair_walk, "CHAINS", 16)  # one matrix after the other takes long
    est = run("constrained", 2, prior, 1000, 401)
    assert est.info["sampler"] == "pair walk"
    check(est, "constrained", 2, 402)
