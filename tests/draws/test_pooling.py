"""Strata: priors that each stratum gets from the others, and draws of pooled rows."""

import numpy as np
import pytest

from trueup.draws.pooling import draw_rows, pool_strata
from trueup.errors import OptionError
from trueup.prior import perks

PRIOR = perks(2)


def strata(rng, kappa, J=40, n=200):
    q = rng.beta(0.1 * kappa, 0.9 * kappa, J)
    p = rng.beta(0.3 * kappa, 0.7 * kappa, J)
    P = np.stack([np.stack([1 - q, q], axis=1), np.stack([p, 1 - p], axis=1)], axis=1)
    return rng.multinomial(np.full((J, 2), n // 2), P)


def test_none_and_complete_are_plain_sums(rng):
    n = strata(rng, 20, J=4)
    none = pool_strata(n, PRIOR, rng, pooling="none")
    complete = pool_strata(n, PRIOR, rng, pooling="complete")
    assert (none.alpha[0] == PRIOR.alpha).all()
    assert complete.alpha[0] + n == pytest.approx(PRIOR.alpha + n.sum(axis=0) + 0 * n)
    assert none.kappa is None
    with pytest.raises(OptionError, match="pooling"):
        pool_strata(n, PRIOR, rng, pooling="some")


def test_the_concentration_of_rows_is_learned(rng):
    """40 strata with 100 units per row tell κ to about 30%; rows, not columns."""
    for kappa in (5.0, 40.0):
        pooled = pool_strata(strata(rng, kappa), PRIOR, rng)
        assert np.all(np.abs(np.log(np.median(pooled.kappa, axis=0) / kappa)) < 5 * 0.3)
        m = pooled.alpha[:, 0] / pooled.alpha[:, 0].sum(axis=-1, keepdims=True)
        error = 5 * np.sqrt(0.25 / (kappa + 1) / 40) + 5 * np.sqrt(0.25 / 4000)
        assert np.all(np.abs(m.mean(axis=0) - [[0.9, 0.1], [0.3, 0.7]]) < error)


def test_a_stratum_without_test_units_is_answered_by_the_others(rng):
    n = strata(rng, 50, J=12)
    n[3] = 0
    pooled = pool_strata(n, PRIOR, rng)
    assert pooled.without_test.tolist() == [j == 3 for j in range(12)]
    draws = draw_rows(pooled.alpha[:, 3] + n[3], PRIOR.gamma, np.array([700, 300]), 1000, rng)
    assert np.isfinite(draws.P).all()
    spread = draws.P[:, 0, 1].std()
    assert abs(draws.P[:, 0, 1].mean() - 0.1) < 5 * (spread / np.sqrt(draws.ess) + 0.03)


def test_draw_rows_is_the_joint_posterior(rng):
    """With gamma = Σ_h alpha + n the columns are Dirichlet: E β = Σ_h ρ_h E c_gh, exactly."""
    n = np.array([[[30, 4], [5, 9]]])
    a = PRIOR.alpha + n
    v_hat = np.array([700_000, 300_000])
    draws = draw_rows(a, PRIOR.gamma + n[0].sum(axis=1), v_hat, 4000, rng)
    c = a[0] / a[0].sum(axis=0)
    exact = c @ v_hat / v_hat.sum()
    assert np.all(np.abs(draws.beta.mean(axis=0) - exact) < 5 * draws.beta.std(axis=0) / 50)
    assert draws.ess > 2500
    rho = np.einsum("rg,rgh->rh", draws.beta, draws.P)
    assert np.abs(rho - v_hat / v_hat.sum()).max() < 0.01


def test_every_draw_of_strata_is_permissible_and_levels_stay_in_step(rng):
    n = strata(rng, 20, J=3, n=20)
    pooled = pool_strata(n, PRIOR, rng, levels=7)
    draws = draw_rows(pooled.alpha[:, 0] + n[0], PRIOR.gamma, np.array([60, 40]), 100, rng)
    assert draws.P.shape == (100, 2, 2)
    assert (draws.beta >= 0).all()
    sharp = np.stack([np.eye(2) * 1e6 * (i + 1) + 1e6 for i in range(5)])  # a level per P
    levels = draw_rows(sharp, PRIOR.gamma, np.array([50, 50]), 20, rng).P[:, 0, 0]
    expected = np.tile([(i + 2) / (i + 3) for i in range(5)], 4)
    np.testing.assert_allclose(levels, expected, atol=0.01)
