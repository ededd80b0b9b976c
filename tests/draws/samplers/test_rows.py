"""The algebra of a row move, and that the proposals leave Dirichlet rows alone."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from tests.seeds import fresh

from trueup.draws.samplers.rows import Target, move_rho, move_row, start, tidy
from trueup.draws.samplers.swaps import swap_rows
from trueup.numerics.dirichlet import dirichlet, log_gamma, refresh

K, C = 5, 200


@pytest.fixture
def target():
    rng = fresh(1)
    n = rng.multinomial(8, np.eye(K) * 0.7 + 0.06)
    return Target(n + 0.3, np.array([10.0, 40.0, 20.0, 5.0, 25.0]))


def holds(state):
    """Q is the inverse of Pᵀ, Pᵀβ = ρ, β ≥ 0, and the logs are logs."""
    np.testing.assert_allclose(
        np.einsum("khc,ghc->kgc", state.Q, state.P),
        np.repeat(np.eye(K)[:, :, None], C, axis=2),
        atol=1e-6,
    )
    np.testing.assert_allclose(np.einsum("ghc,gc->hc", state.P, state.beta), state.rho, atol=1e-9)
    np.testing.assert_allclose(state.P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(state.log_P), state.P, rtol=1e-9, atol=1e-300)
    assert state.beta.min() >= 0


def test_start_is_permissible(target):
    holds(start(target, C, fresh(2)))


def test_pivots_keep_Q_and_beta_right(target):
    rng = fresh(3)
    state = start(target, C, rng)
    for r in (0.0, 0.5, 0.9):
        P, log_P = refresh(state.log_P, target.a, np.full(K, r), rng)
        for g in range(K):
            before = np.linalg.slogdet(np.moveaxis(state.P, -1, 0))[0]
            assert move_row(state, g, P[g], log_P[g], target, rng) > 0
            after = np.linalg.slogdet(np.moveaxis(state.P, -1, 0))[0]
            np.testing.assert_array_equal(before, after)
    holds(state)


def test_a_move_is_kept_exactly_where_it_stays_inside(target):
    rng = fresh(4)
    state = start(target, C, rng)
    P, log_P = refresh(state.log_P, target.a, np.zeros(K), rng)
    wanted = state.P.copy()
    wanted[2] = P[2]
    solved = np.linalg.solve(np.moveaxis(wanted, -1, 0).swapaxes(1, 2), state.rho.T[:, :, None])
    inside = (solved[:, :, 0] >= 0).all(axis=1)
    assert move_row(state, 2, P[2], log_P[2], target, rng) == inside.sum()
    np.testing.assert_array_equal((state.P[2] == P[2]).all(axis=0), inside)


def test_swaps_cross_the_sign_of_the_determinant(target):
    rng = fresh(5)
    flat = Target(np.full((K, K), 0.8), target.v_hat)
    state = start(flat, C, rng)
    before = np.linalg.slogdet(np.moveaxis(state.P, -1, 0))[0]
    assert swap_rows(state, flat, rng) == C  # all rows alike: every exchange is accepted
    after = np.linalg.slogdet(np.moveaxis(state.P, -1, 0))[0]
    np.testing.assert_array_equal(before, -after)
    holds(state)


def test_rho_moves(target):
    rng = fresh(6)
    full = Target(target.a, np.array([3.0, 0.0, 2.0, 4.0, 1.0]), np.full(K, 1.5))
    state = start(full, C, rng)
    rho, _ = dirichlet(full.v_hat + 1.0, C, rng)
    assert move_rho(state, rho, full, rng) > 0
    holds(state)


def test_tidy_changes_nothing_but_rounding(target):
    rng = fresh(7)
    state = start(target, C, rng)
    Q, beta = state.Q.copy(), state.beta.copy()
    tidy(state, target)
    np.testing.assert_allclose(state.Q, Q)
    np.testing.assert_allclose(state.beta, beta)


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 7.0, 500.0])
def test_log_gamma(a):
    x = log_gamma(np.array([a]), (40_000,), fresh(8))
    assert np.isfinite(x).all()
    sd = np.sqrt(polygamma(1, a))
    assert abs(x.mean() - digamma(a)) < 5 * sd / 200


@pytest.mark.parametrize("r", [0.0, 0.5, 0.95])
def test_refresh_is_reversible_and_keeps_the_dirichlet(r):
    """E f(p)h(p') = E h(p)f(p') and E f(p') = E f(p), for f and h of different cells."""
    a = np.array([0.07, 0.6, 3.0, 20.0])
    chains = 200_000
    rng = fresh(9)
    p, log_p = dirichlet(a, chains, rng)
    q, _ = refresh(log_p[None], a[None], np.array([r]), rng)
    q = q[0]
    mean = a / a.sum()
    sd = np.sqrt(mean * (1 - mean) / (a.sum() + 1))
    assert np.all(np.abs(q.mean(axis=1) - mean) < 5 * sd / np.sqrt(chains))
    for g, h in [(0, 2), (1, 2), (2, 3)]:
        difference = p[g] ** 2 * q[h] - q[g] ** 2 * p[h]
        assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(chains)
