"""Error rates that depend on a number: NUTS against quadrature, and a whole simulation."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import multivariate_t
from tests.seeds import fresh

import trueup as tu
from trueup.count.counts import make_counts
from trueup.draws import nuts
from trueup.draws.base_rates import columns
from trueup.draws.nuts import draw_regression
from trueup.draws.settings import make_settings

pytestmark = pytest.mark.slow
CENTRES = (-1.2, 0.1, 1.4)
TESTS = np.array(
    [[[9, 7], [4, 12]], [[12, 4], [2, 11]], [[14, 5], [2, 13]]]
)  # bin, true, predicted
V_HAT = np.array([[220, 310], [240, 260], [330, 200]])
MIDDLE = np.log(0.1 / 0.9)


def draws_of(prior, design, key, draws, V_HAT=V_HAT):
    """P (R, J, K, K) and β (R, J, K) of three bins, and the settings' info."""
    settings = make_settings(
        2, prior=replace(prior, centres=CENTRES), design=design, method="auto", noise=False,
        overlap=False, draws=draws, interval=0.95, seed=int(fresh(key).integers(2**32)),
    )  # fmt: skip
    every = [make_counts(n, v_hat) for n, v_hat in zip(TESTS, V_HAT, strict=True)]
    return draw_regression(every, every, settings)


def by_weights(log_density, starts, settings, size=200_000):
    """Stand in for `run_nuts`, which takes long to compile: draws of the prior, weighted.

    Standard normals, and log odds "r" of base rates, which are uniform.
    """
    import jax

    rng = settings.rng
    drawn = {"r": rng.logistic}
    x = {name: drawn.get(name, rng.normal)(size=(size, *y.shape[1:])) for name, y in starts.items()}
    with jax.enable_x64(True):
        log_w = np.asarray(jax.jit(jax.vmap(log_density))(x))
    for name, y in x.items():
        log_prior = -0.5 * y**2 if name != "r" else y - 2 * np.logaddexp(0, y)
        log_w = log_w - log_prior.reshape(size, -1).sum(axis=1)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    assert (w**2).sum() < 1 / (2 * settings.draws)
    at = rng.choice(size, (nuts.CHAINS, settings.draws // nuts.CHAINS), p=w)
    return {name: y[at] for name, y in x.items()}, {"sampler": "nuts", "divergences": 0}


def by_normal(log_density, starts, settings, size=20_000):
    """Stand in for `run_nuts` with many data: draws of a t around the mode, weighted.

    Log odds of base rates near 1 have a long tail, so it is wider than the curvature says.
    """
    import jax
    from jax.flatten_util import ravel_pytree

    rng = settings.rng
    with jax.enable_x64(True):
        start, back = ravel_pytree({name: y[0] for name, y in starts.items()})
        minus = jax.jit(lambda x: -log_density(back(x)))
        found = minimize(minus, start, jac=jax.jit(jax.grad(minus)), method="BFGS")
        t = multivariate_t(found.x, 2.5 * np.linalg.inv(jax.hessian(minus)(found.x)), 8)
        x = t.rvs(size, random_state=rng)
        log_w = -np.asarray(jax.jit(jax.vmap(minus))(x)) - t.logpdf(x)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        assert (w**2).sum() < 1 / 200  # a mean within 7% of its sd
        at = rng.choice(size, (nuts.CHAINS, settings.draws // nuts.CHAINS), p=w)
        draws = jax.vmap(jax.vmap(back))(x[at])
    return jax.tree.map(np.asarray, draws), {"sampler": "nuts", "divergences": 0}


def agree(found, expected, ess):
    error = found.std(axis=0) / np.sqrt(ess)
    assert (np.abs(found.mean(axis=0) - expected) < 5 * error).all()


def test_a_random_test_set_tells_of_columns(monkeypatch):
    """Pr(true | predicted h) per bin, by quadrature of its intercept and slope."""
    monkeypatch.setattr(nuts, "run_nuts", by_weights)
    prior = tu.prior.regression("x", sd=1.2, slope_sd=0.7)
    P, beta, info = draws_of(prior, "random", 700, draws=600)
    info["ess"] /= 1.5  # draws of weights that are worth twice as many or more
    c = np.stack([columns(P[:, j], beta[:, j]) for j in range(3)], axis=1)
    a, b = np.meshgrid(np.linspace(-6, 6, 601), np.linspace(-6, 6, 601), indexing="ij")
    for h in (0, 1):
        wrong, right = TESTS[:, 1 - h, h], TESTS[:, h, h]
        error = expit(MIDDLE + 1.2 * a[..., None] + 0.7 * b[..., None] * np.array(CENTRES))
        log_density = (wrong * np.log(error) + right * np.log1p(-error)).sum(axis=-1)
        weight = np.exp(log_density - 0.5 * (a**2 + b**2))
        weight /= weight.sum()
        expected = np.einsum("ab,abj->j", weight, error)
        agree(c[:, :, 1 - h, h], expected, info["ess"])
        second = np.einsum("ab,abj->j", weight, error**2)
        agree(c[:, :, 1 - h, h] ** 2, second, info["ess"])
    # a share of each predicted class, as many as there are: β = cρ
    rho = V_HAT / V_HAT.sum(axis=1, keepdims=True)
    assert beta == pytest.approx(np.einsum("rjgh,jh->rjg", c, rho), rel=1e-6)


def test_a_test_set_of_each_class_tells_of_rows(monkeypatch):
    """Without slopes: p_01 and p_10 of all bins by quadrature, with each bin's β integrated.

    Few predicted units, for which weights of the prior do.
    """
    monkeypatch.setattr(nuts, "run_nuts", partial(by_weights, size=400_000))
    prior = tu.prior.regression("x", sd=1.2, slope_sd=1e-6)
    few = V_HAT // 10
    P, beta, info = draws_of(prior, "by_class", 710, draws=300, V_HAT=few)
    info["ess"] /= 1.5  # draws of weights that are worth twice as many or more
    z = np.linspace(-5, 5, 101)
    p = expit(MIDDLE + 1.2 * z)
    p01, p10 = np.meshgrid(p, p, indexing="ij")
    n = TESTS.sum(axis=0)
    log_density = (
        n[0, 1] * np.log(p01) + n[0, 0] * np.log1p(-p01)
        + n[1, 0] * np.log(p10) + n[1, 1] * np.log1p(-p10)
        - 0.5 * (z[:, None] ** 2 + z[None, :] ** 2)
    )  # fmt: skip
    b = (np.arange(200) + 0.5) / 200  # β_0 is uniform
    mean_beta = []
    for v_hat in few:
        rho = b * (1 - p01[..., None]) + (1 - b) * p10[..., None]
        inner = v_hat[0] * np.log(rho) + v_hat[1] * np.log1p(-rho)
        top = inner.max(axis=-1)
        mass = np.exp(inner - top[..., None])
        log_density += top + np.log(mass.sum(axis=-1))
        mean_beta.append((mass * b).sum(axis=-1) / mass.sum(axis=-1))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    for j in range(3):  # the same rates in every bin
        agree(P[:, j, 0, 1], (weight * p01).sum(), info["ess"])
        agree(P[:, j, 1, 0], (weight * p10).sum(), info["ess"])
        agree(beta[:, j, 0], (weight * mean_beta[j]).sum(), info["ess"])


def world(rng, N=20_000):
    """Companies of which the large ones are seldom missed, and are webshops more often."""
    y = np.exp(rng.normal(0, 1.2, N))
    webshop = rng.random(N) < expit(-1.5 + 0.6 * np.log(y))
    missed = rng.random(N) < expit(-1.2 - 0.9 * np.log(y))
    alarm = rng.random(N) < expit(-2.5 + 0.5 * np.log(y))
    table = pd.DataFrame({"unit": np.arange(N), "y": y})
    table["predicted"] = np.where(webshop, ~missed, alarm)
    return table, webshop


def test_one_P_for_all_misses_and_a_regression_does_not(monkeypatch):
    """Errors fall with size, and totals are mostly large units.

    The design is called shifted, where audited values do not make up for it. One P for all is then
    6 to 7 posterior standard deviations too high; a regression has a bias of one at most, as rates
    are equal within a bin.
    """
    monkeypatch.setattr(nuts, "run_nuts", by_normal)
    rng = fresh(720)
    table, webshop = world(rng)
    audited = rng.choice(len(table), 1600, replace=False)
    test_set = table.iloc[audited].assign(true=webshop[audited])
    truth = table["y"][webshop].sum()
    far, near = (
        tu.correct(table, test_set, value="y", design="shifted", prior=prior, draws=400)
        for prior in ("perks", tu.prior.regression("y", log=True, bins=4))
    )
    one_P, by_size = far.rows()[1], near.rows()[1]
    assert near.info["sampler"] == "nuts"
    assert near.info["strata"] == 4
    assert one_P["mean"] - truth > 2.5 * one_P["sd"]
    assert abs(by_size["mean"] - truth) < 5 * by_size["sd"]
    assert abs(by_size["mean"] - truth) < 0.6 * abs(one_P["mean"] - truth)
