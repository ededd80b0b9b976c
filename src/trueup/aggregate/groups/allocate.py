"""Given P: how many units of each true class there are in each group.

The model of one group b, given a draw of P and of the concentrations a = κμ that groups share:

    β_b ~ Dir(a),   s_i ~ β_b,   ŝ_i ~ p_{s_i}     for each unit i of the group.

Base rates are drawn first (`base_rates`), with the units' classes summed out; given those, the
units of each predicted class are allocated, M_·h ~ Multinomial(v̂_bh, c_·h), c_gh ∝ β_bg p_gh.
First those of the likeliest class, then the few that are left, one by one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.base_rates import draw_rates
from trueup.aggregate.groups.near import TINY, Near
from trueup.numerics.arrays import Floats, Integers, Rng

Places = NDArray[np.intp]

ONE_BY_ONE = 60
"""Units of a cell that are drawn by themselves: with more a multinomial is faster."""


class Cells(NamedTuple):
    """The cells with units: their group b, label h, units v and likeliest class."""

    b: Places
    h: Places
    v: Integers
    top: Places


def find_cells(beta: Floats, P: Floats, v_hat: Integers) -> Cells:
    """List the cells of v̂ (G, L) that have units; classes have the odds β (G, K) times P (K, L)."""
    b, h = np.nonzero(v_hat)
    return Cells(b, h, v_hat[b, h], np.argmax(beta[b] * P.T[h], axis=1))


def allocate_cells(beta: Floats, T: Floats, pi: Floats, cells: Cells, rng: Rng) -> Integers:
    """Draw the counts u (G, K), given β (G, K), Pᵀ (L, K) and π = βP (G, L)."""
    (G, K), (b, h, v, top) = beta.shape, cells
    m = rng.binomial(v, np.minimum(beta[b, top] * T[h, top] / pi[b, h % pi.shape[1]], 1.0))
    left = v - m
    u = np.bincount(b * K + top, m, G * K).astype(np.int64).reshape(G, K)
    if K == 2:  # there is one other class
        return u + np.bincount(b * K + 1 - top, left, G * K).astype(np.int64).reshape(G, K)
    few = np.flatnonzero((left > 0) & (left <= ONE_BY_ONE))
    x = rng.random(int(left[few].sum()))  # a uniform number for each unit
    c = np.take(beta, b[few], axis=0) * np.take(T, h[few], axis=0)
    c[np.arange(len(few)), top[few]] = 0.0
    up = np.cumsum(c, axis=1)
    unit = np.repeat(np.arange(len(few)), left[few])
    pick = (np.take(up, unit, axis=0) <= (x * up[unit, -1])[:, None]).sum(axis=1)
    at = b[few][unit] * K + np.minimum(pick, K - 1)
    u += np.bincount(at, minlength=u.size).reshape(u.shape)
    many = np.flatnonzero(left > ONE_BY_ONE)
    if len(many):
        c = beta[b[many]] * T[h[many]]
        c[np.arange(len(many)), top[many]] = 0.0
        np.add.at(u, b[many], rng.multinomial(left[many], c / c.sum(axis=1, keepdims=True)))
    return u


def allocate_groups(
    P: Floats,
    a: Floats,
    v_hat: Integers,
    known: Floats,
    rng: Rng,
    *,
    moves: int | None = None,
    start: Near | None = None,
    at: Floats | None = None,
) -> Integers:
    """Draw u (R, G, K): how many units of each true class G groups have, given P and a.

    `P` (R, K, L) are draws of the contingency matrix, `a` (R, K) the concentrations κμ of the
    groups' base rates on each, `v_hat` (G, L) the groups' units; `known` (G, K) units of each true
    class besides inform β_b. `moves`, `start` and `at` are those of `draw_rates`.
    """
    (R, K, L), G = P.shape, len(v_hat)
    P = np.maximum(P, TINY)
    shape = a.T[:, None, :] + (known.T[:, :, None] if known.any() else 0.0)  # (K, G or 1, R)
    beta = draw_rates(np.moveaxis(P, 0, -1), shape, v_hat, rng, moves=moves, start=start, at=at)
    b, h, v, top = find_cells(beta.mean(axis=0), P.mean(axis=0), v_hat)
    r = np.arange(R)[:, None]  # draws side by side, as if they were more groups and labels
    every = Cells((r * G + b).ravel(), (r * L + h).ravel(), np.tile(v, R), np.tile(top, R))
    T = np.ascontiguousarray(P.swapaxes(1, 2)).reshape(R * L, K)
    u = allocate_cells(beta.reshape(R * G, K), T, (beta @ P).reshape(R * G, L), every, rng)
    return u.reshape(R, G, K)
