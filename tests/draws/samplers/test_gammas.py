"""The algebra of the moves in gammas, and that their proposals keep a gamma distribution."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from tests.seeds import fresh

from trueup.draws.samplers.gammas import invert, move_column, move_row, propose, swap_rows
from trueup.draws.samplers.walk import start
from trueup.numerics.dirichlet import log_gamma

K, C = 5, 200
V = np.array([10.0, 40.0, 20.0, 5.0, 25.0])


@pytest.fixture
def a():
    return fresh(1).multinomial(8, np.eye(K) * 0.7 + 0.06) + 0.3


def begin(a, rng):
    rho = np.repeat((V / V.sum())[:, None], C, axis=1)
    return invert(start(a, rho, rng), rho)


def holds(state):
    """B is the inverse of Xᵀ, Xᵀw = ρ and w ≥ 0."""
    unit = np.einsum("khc,ghc->kgc", state.B, state.X)
    np.testing.assert_allclose(unit, np.repeat(np.eye(K)[:, :, None], C, axis=2), atol=1e-5)
    np.testing.assert_allclose(np.einsum("ghc,gc->hc", state.X, state.w), state.rho, atol=1e-8)
    assert state.w.min() >= -1e-9
    np.testing.assert_allclose(state.beta().sum(axis=0), 1.0)


def inside(X, rho):
    """Which of the chains are in Θ_K, by solving again."""
    A = np.moveaxis(X, -1, 0).swapaxes(1, 2)
    return (np.linalg.solve(A, rho.T[:, :, None])[:, :, 0] >= 0).all(axis=1)


def test_start_is_permissible(a):
    holds(begin(a, fresh(2)))


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9])
def test_moves_keep_B_and_w_right(a, keep):
    rng = fresh(3)
    state = begin(a, rng)
    for i in range(K):
        x = propose(state.X[:, i], a[:, i], keep, 1, rng)
        assert move_column(state, i, x, rng).any()
        x = propose(state.X[i], a[i], keep, 1, rng)
        assert move_row(state, i, x, rng).any()
    holds(state)


@pytest.mark.parametrize("move", ["column", "row"])
def test_a_move_is_kept_exactly_where_it_stays_inside(a, move):
    rng = fresh(4)
    state = begin(a, rng)
    i, wanted = 2, state.X.copy()
    x = propose(state.X[:, i], a[:, i], 0.0, 1, rng)
    if move == "column":
        wanted[:, i] = x[:, 0]
        kept = move_column(state, i, x, rng)[0]
        moved = (state.X[:, i] == x[:, 0]).all(axis=0)
    else:
        wanted[i] = x[:, 0]
        kept = move_row(state, i, x, rng)[0]
        moved = (state.X[i] == x[:, 0]).all(axis=0)
    np.testing.assert_array_equal(kept, inside(wanted, state.rho))
    np.testing.assert_array_equal(moved, kept)


def test_the_first_proposal_that_stays_inside_is_taken(a):
    rng = fresh(5)
    state = begin(a, rng)
    x = propose(state.X[:, 0], a[:, 0], 0.0, 6, rng)
    kept = move_column(state, 0, x, rng)
    for c in range(C):
        first = np.flatnonzero(kept[:, c])[:1]
        if first.size:
            np.testing.assert_array_equal(state.X[:, 0, c], x[:, first[0], c])
    holds(state)


def test_only_later_columns_are_still_right(a):
    rng = fresh(6)
    state = begin(a, rng)
    for k in range(K):
        x = propose(state.X[:, k], a[:, k], 0.0, 1, rng)
        move_column(state, k, x, rng, only_later=True)
    w = state.w.copy()
    holds(again := invert(state.X, state.rho))
    np.testing.assert_allclose(again.w, w, rtol=1e-5, atol=1e-8)


def test_rows_that_are_alike_are_always_exchanged(a):
    rng = fresh(7)
    flat = np.full((K, K), 0.8)
    X = begin(flat, rng).X
    before = np.linalg.slogdet(np.moveaxis(X, -1, 0))[0]
    assert swap_rows(X, flat, rng) == C
    after = np.linalg.slogdet(np.moveaxis(X, -1, 0))[0]
    np.testing.assert_array_equal(before, -after)


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
def test_proposals_are_reversible_and_keep_the_gamma(keep):
    """E f(x)h(x') = E h(x)f(x') and E x' = a, for two different powers f and h."""
    a, chains, rng = np.array([0.07, 0.6, 3.0]), 200_000, fresh(8)
    x = rng.standard_gamma(a[:, None], size=(3, chains))
    new = propose(x, a, keep, 1, rng)[:, 0]
    assert np.all(np.abs(new.mean(axis=1) - a) < 5 * np.sqrt(a / chains))
    difference = x**2 * new - new**2 * x
    assert np.all(np.abs(difference.mean(axis=1)) < 5 * difference.std(axis=1) / np.sqrt(chains))


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 7.0, 500.0])
def test_log_gamma(a):
    x = log_gamma(np.array([a]), (40_000,), fresh(8))
    assert np.isfinite(x).all()
    sd = np.sqrt(polygamma(1, a))
    assert abs(x.mean() - digamma(a)) < 5 * sd / 200
