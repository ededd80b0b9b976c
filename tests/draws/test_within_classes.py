"""Cells of a test set drawn within true classes, against weighted draws of a random one."""

from itertools import islice

import numpy as np
import pytest
from scipy import stats
from tests.seeds import more

from trueup.aggregate.cells import draw_cells
from trueup.draws.cells.columns import learn_columns, scales
from trueup.draws.cells.frame import Frame, frame
from trueup.draws.cells.within_classes import draw_unseen, draw_within_classes
from trueup.numerics.diagnostics import ess
from trueup.numerics.half_t import DF
from trueup.numerics.weights import effective_size

N = np.array([[[2, 2, 0], [1, 1, 1]], [[0, 1, 0], [0, 1, 0]]])  # more, and few weights count
V_HAT = np.array([[400, 900, 200], [300, 500, 700]])
Z = np.array([[-1.0, 0.1, 1.2], [-0.9, -0.2, 0.8]])
ALPHA = np.array([[6.0, 3.0], [2.0, 5.0]])
KNOWN = frame(N, V_HAT, Z, True)
SCORED = Frame(np.stack([KNOWN.phi[0], Z]), KNOWN.slopes, None, np.eye(2))


def figures(state, c, rho):
    """β_1, the first class's share of the cells with the highest scores, and log υ_1: (C, 3)."""
    theta = c * rho[:, None]
    highest = theta[:, 0, :, 2].sum(axis=1)
    return np.stack([theta[:, 0].sum(axis=(1, 2)), highest, np.log(state.upsilon[:, 0])], axis=-1)


def weighted(rng, sweeps, known, sign=-1):
    """Mean and variance of `figures` by draws for a random test set, weighted by Π β^(−n_g)."""
    found = []
    states = learn_columns(N, known, ALPHA, rng, chains=400)
    prior = ALPHA.sum(axis=0)[:, None] / 3
    for state in islice(states, 60, 60 + sweeps):
        c = draw_cells(state, N, rng)
        rho = rng.standard_gamma(V_HAT + prior + N.sum(axis=0), (400, 2, 3))
        rho /= rho.sum(axis=(1, 2), keepdims=True)
        beta = np.einsum("cghb,chb->cg", c, rho)
        found.append((figures(state, c, rho), sign * np.log(beta) @ N.sum(axis=(1, 2))))
    x, log_w = (np.concatenate(y) for y in zip(*found, strict=True))
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    mean = w @ x
    return mean, w @ (x - mean) ** 2, effective_size(log_w) / 20  # sweeps depend on each other


@pytest.mark.slow
def test_posterior_is_that_of_weighted_draws(rng):
    """In each run for bands of the value or for those of a score, whichever comes."""
    known = (KNOWN, SCORED)[rng.integers(2)]
    states = learn_columns(N, known, ALPHA, rng, chains=100)
    cells = draw_within_classes(states, N, V_HAT, known, ALPHA, rng)
    every = list(islice(cells, 60, 140))
    if known is SCORED:
        assert np.std([state.b for state, _, _ in every]) > 0.3  # the slope moves
    x = np.stack([figures(*one) for one in every], axis=1)
    mean, var, size = weighted(rng, 150, known)
    wrong, _, _ = weighted(rng, 30, known, sign=0)  # the planted bug: a test set drawn at random
    assert size > 100  # of the weights; below, the errors that follow from it say nothing
    for q in range(3):
        mine = x[..., q]
        error = np.sqrt(var[q] * (1 / ess(mine) + 1 / size))
        assert abs(mine.mean() - mean[q]) < 5 * error
        assert abs(mine.var() / var[q] - 1) < 5 * np.sqrt(2 / ess(mine) + 2 / size) + 0.1
    assert abs(x[..., 0].mean() - wrong[0]) > 10 * np.sqrt(var[0] / ess(x[..., 0]))


def test_without_units_the_scale_of_slopes_is_as_its_prior(rng):
    """Planted bug: a Cauchy's density instead of the half-t's in one of its moves."""
    none = np.zeros_like(N)
    known = frame(none, V_HAT, Z, True)
    states = learn_columns(none, known, ALPHA, rng, chains=40)
    cells = draw_within_classes(states, none, V_HAT, known, ALPHA, rng)
    sweeps = islice(cells, 50, 50 + more(300))
    upsilon = np.stack([state.upsilon[:, 0] for state, _, _ in sweeps], axis=1)
    for times in (1, 3):
        above = (upsilon > times * scales(1)[0]).astype(float)
        p = 2 * stats.t.sf(times, DF)
        assert abs(above.mean() - p) < 5 * np.sqrt(p * (1 - p) / ess(above))


def test_unseen_units_make_the_test_set_random(rng):
    """n + k has each class as often as the population: n_g + k_g ~ t β_g, with t ~ Σ(n + k)."""
    theta = np.array([[[0.05], [0.05]], [[0.1], [0.2]], [[0.2], [0.4]]])
    n_g = np.array([300, 200, 100])
    k = draw_unseen(np.broadcast_to(theta, (4000, 3, 2, 1)), n_g, rng)
    total = n_g + k.sum(axis=(2, 3)).mean(axis=0)
    assert total / total.sum() == pytest.approx([0.1, 0.3, 0.6], rel=0.02)
    assert k[:, 0].max() == 0  # the class that was drawn most often lacks nothing
