"""The algebra of the moves in gammas, and that their proposals keep a gamma distribution."""

import numpy as np
import pytest
from scipy.special import digamma, gammainc, gammaincinv, polygamma
from tests.seeds import fresh

from trueup.draws.samplers.gammas import (
    invert,
    move_columns,
    move_row,
    propose,
    propose_columns,
    swap_rows,
)
from trueup.draws.samplers.walk import start
from trueup.numerics.dirichlet import GammaDraws, log_gamma

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
    unit = np.einsum("ckh,ghc->kgc", state.B, state.X)
    np.testing.assert_allclose(unit, np.repeat(np.eye(K)[:, :, None], C, axis=2), atol=1e-5)
    np.testing.assert_allclose(np.einsum("ghc,gc->hc", state.X, state.w), state.rho, atol=1e-8)
    assert state.w.min() >= -1e-9
    np.testing.assert_allclose(state.beta().sum(axis=0), 1.0)


def move(state, a, order, rng, *, keep=0.0, tries=1, passes=1):
    """Move columns; return their last proposals and which stay inside, by column."""
    made = {}

    def fresh(block):
        xs = propose_columns(state.X, a, block, [(keep, tries)] * len(block), rng)
        made.update(zip(block, xs, strict=True))
        return xs

    kept = dict(move_columns(state, order, passes, fresh, rng))
    return {k: (made[k], kept[k]) for k in order}


def inside(X, rho):
    """Which of the chains are in Θ_K, by solving again."""
    A = np.moveaxis(X, -1, 0).swapaxes(1, 2)
    return (np.linalg.solve(A, rho.T[:, :, None])[:, :, 0] >= 0).all(axis=1)


def test_start_is_permissible(a):
    holds(begin(a, fresh(2)))


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("block", [1, 2, 8])
def test_moves_keep_w_right(a, keep, block, monkeypatch):
    monkeypatch.setattr("trueup.draws.samplers.gammas.BLOCK", block)
    rng = fresh(3)
    state = begin(a, rng)
    rows = [move_row(state, i, propose(state.X[i], a[i], keep, 1, rng)) for i in range(K)]
    assert any(kept.any() for kept in rows)  # new rows or columns seldom stay inside
    holds(state)
    moved = move(state, a, [3, 0, 4, 1, 2], rng, keep=keep, passes=2)
    assert any(kept.any() for _, kept in moved.values())
    w = state.w.copy()
    holds(again := invert(state.X, state.rho))
    np.testing.assert_allclose(again.w, w, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", ["column", "row"])
def test_a_move_is_kept_exactly_where_it_stays_inside(a, kind):
    rng = fresh(4)
    state = begin(a, rng)
    i, wanted = 2, state.X.copy()
    if kind == "column":
        ((x, kept),) = move(state, a, [i], rng).values()
        wanted[:, i] = x[:, 0]
        moved = (state.X[:, i] == x[:, 0]).all(axis=0)
    else:
        x = propose(state.X[i], a[i], 0.0, 1, rng)
        wanted[i] = x[:, 0]
        kept = move_row(state, i, x)
        moved = (state.X[i] == x[:, 0]).all(axis=0)
    np.testing.assert_array_equal(kept[0], inside(wanted, state.rho))
    np.testing.assert_array_equal(moved, kept[0])


def test_the_first_proposal_that_stays_inside_is_taken(a):
    rng = fresh(5)
    state = begin(a, rng)
    ((x, kept),) = move(state, a, [0], rng, tries=6).values()
    for c in range(C):
        first = np.flatnonzero(kept[:, c])[:1]
        if first.size:
            np.testing.assert_array_equal(state.X[:, 0, c], x[:, first[0], c])
    holds(invert(state.X, state.rho))


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


@pytest.mark.parametrize("power", [2, 15, 40])
def test_gammas_of_one_over_a_whole_number(power):
    """Moments, the share beyond 1 (a part of the envelope of its own), and the median."""
    shape, size = 1.0 / power, 400_000
    x = np.empty((1, size))
    GammaDraws(np.array([shape])).fill(x, fresh(9))
    for z, p in ((1.0, gammainc(shape, 1.0)), (gammaincinv(shape, 0.5), 0.5), (0.3, None)):
        p = gammainc(shape, z) if p is None else p
        assert abs((x < z).mean() - p) < 5 * np.sqrt(p * (1 - p) / size)
    assert abs(x.mean() - shape) < 5 * np.sqrt(shape / size)
    spread = np.sqrt(6 * shape / size)  # x² has variance a(a+1)(4a+6)
    assert abs((x**2).mean() - shape * (shape + 1)) < 5 * spread * (1 + 2 * shape)
