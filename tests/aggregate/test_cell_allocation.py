"""Allocation within cells, against all ways of picking units; draws that add up."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from trueup.aggregate.cells import allocate_cells, beyond, draw_cells
from trueup.draws.cells.columns import Columns

Y = np.array([1.0, 2.0, 2.5, 7.0])


def cell(x):
    return np.array([[x]])


def test_a_share_has_the_moments_of_picking_units(rng):
    c, size = 0.3, 200_000
    columns = np.broadcast_to(np.array([c, 1 - c])[None, :, None, None], (size, 2, 1, 1))
    M, U = allocate_cells(columns, cell(4), cell(Y.sum()), cell((Y**2).sum()), rng)
    sums = {m: np.array([sum(x) for x in combinations(Y, m)]) for m in range(5)}
    p = {m: comb(4, m) * c**m * (1 - c) ** (4 - m) for m in range(5)}
    mean = sum(p[m] * sums[m].mean() for m in p)
    var = sum(p[m] * (sums[m] ** 2).mean() for m in p) - mean**2
    u = U[:, 0, 0, 0]
    assert abs(u.mean() - mean) < 5 * np.sqrt(var / size)
    error = np.sqrt((((u - u.mean()) ** 2).var()) / size)  # of a variance, by its own draws
    assert abs(u.var() - var) < 5 * error
    for m in range(1, 4):  # and given how many were picked
        mine = u[M[:, 0, 0, 0] == m]
        assert abs(mine.mean() - sums[m].mean()) < 5 * mine.std() / np.sqrt(len(mine))
        error = np.sqrt(((mine - mine.mean()) ** 2).var() / len(mine))
        assert abs(mine.var() - sums[m].var()) < 5 * error


def test_equal_values_give_the_units(rng):
    c = rng.dirichlet(np.ones(3), (500, 2, 4)).transpose(0, 3, 1, 2)
    v = rng.integers(0, 30, (2, 4))
    M, U = allocate_cells(c, v, 3.7 * v, 3.7**2 * v, rng)
    assert pytest.approx(3.7 * M) == U


@pytest.mark.parametrize("sign", [1, -1])
def test_draws_add_up_and_have_one_sign(sign, rng):
    c = rng.dirichlet(np.ones(3), (500, 2, 4)).transpose(0, 3, 1, 2)
    v = rng.integers(0, 30, (2, 4))
    y = [[rng.lognormal(0, 2, n) for n in row] for row in v]
    u, w = (np.array([[(x**k).sum() for x in row] for row in y]) for k in (1, 2))
    M, U = allocate_cells(c, v, sign * u, w, rng)
    assert (M.sum(axis=1) == v).all()
    assert pytest.approx(np.broadcast_to(sign * u, U.sum(axis=1).shape)) == U.sum(axis=1)
    assert (sign * U >= 0).all()


def test_columns_are_those_of_prior_and_audited_units(rng):
    """The mean and variance of Dir(κm + n), cell by cell, for each chain's own κ and m."""
    C, n = 20_000, np.array([[[3, 0], [0, 9]], [[1, 0], [6, 2]], [[0, 0], [2, 2]]])
    m = np.array([[[0.5, 0.2], [0.3, 0.6]], [[0.3, 0.3], [0.3, 0.3]], [[0.2, 0.5], [0.4, 0.1]]])
    kappa = np.tile([2.0, 30.0], C // 2)
    zeros = np.zeros(C)
    state = Columns(kappa, np.repeat(m[None], C, axis=0), *[zeros] * 6)
    c = draw_cells(state, n, rng)
    np.testing.assert_allclose(c.sum(axis=1), 1.0)
    for i, k in enumerate((2.0, 30.0)):
        mean = (k * m + n) / (k + n.sum(axis=0))
        sd = np.sqrt(mean * (1 - mean) / (k + n.sum(axis=0) + 1))
        error = 5 * sd / np.sqrt(C / 2)
        assert (np.abs(c[i::2].mean(axis=0) - mean) < error).all()
        assert c[i::2].std(axis=0) == pytest.approx(sd, rel=0.1)


def test_trends_beyond_the_audited_units_go_on_or_turn_round(rng):
    """The log odds move by f − 1 times the trend of the predictions, f ~ U(−2, 2), and λs stays."""
    C, m = 20_000, np.array([[[0.3, 0.5, 0.7]], [[0.7, 0.5, 0.3]]])
    d = np.tile(np.array([0.4, -0.2]).reshape(1, 2, 1, 1), (C, 1, 1, 1))
    ones = np.ones(C)
    state = Columns(ones, np.tile(m, (C, 1, 1, 1)), ones, ones, ones, d, ones, ones)
    over = np.array([[[0.0, 0.5, 1.5]]])
    new = beyond(state, over, rng)
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    moved = np.log(new[:, 0] / new[:, 1]) - np.log(m[0] / m[1])
    np.testing.assert_allclose(moved[..., 0], 0.0, atol=1e-12)
    f = 1 + moved[:, 0, 1:] / (0.6 * over[0, 0, 1:])
    np.testing.assert_allclose(f[:, 0], f[:, 1])
    assert abs(f).max() <= 2 + 1e-9
    assert abs(f.mean()) < 5 * (4 / np.sqrt(12)) / np.sqrt(C)
    assert f.var() == pytest.approx(16 / 12, rel=0.05)
