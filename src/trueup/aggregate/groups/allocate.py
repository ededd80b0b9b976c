"""Given P: how many units of each true class there are among each group's predicted units.

The model of one group b, given a draw of P and of the concentrations a = κμ that groups share:

    β_b ~ Dir(a),   s_i ~ β_b,   ŝ_i ~ p_{s_i}     for each unit i of the group.

Base rates are drawn first (`base_rates`), with the units' classes summed out; given those, the
units of each predicted class are allocated, M_·h ~ Multinomial(v̂_bh, c_·h), c_gh ∝ β_bg p_gh.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.base_rates import TINY, draw_rates

__all__ = ["allocate_groups", "log_ratios"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Tilt = Sequence[tuple[Floats, Floats]]


def allocate_groups(
    P: Floats,
    a: Floats,
    v_hat: Integers,
    known: Floats,
    rng: np.random.Generator,
    *,
    tilt: Tilt = (),
    halves: Integers | None = None,
    again: int = 0,
    sweeps: int | None = None,
) -> Integers:
    """Draw M (K, H, G, R), rows true: how the units of G groups fall, given P and a.

    Parameters
    ----------
    P : (R, K, K) ndarray
        Draws of the contingency matrix.
    a : (R, K) ndarray
        Concentrations κμ of the groups' base rates, for each draw.
    v_hat : (G, K) ndarray of int
        Units per group and predicted class.
    known : (G, K) ndarray
        Units of each true class that the group is known to have besides: they inform β_b.
    rng : numpy.random.Generator
        Source of randomness.
    tilt : pairs of (G, H) and (K, H, R) ndarray
        For totals, what each cell's values say (x), and how that counts for each true and
        predicted class (s): then c_gh ∝ β_bg p_gh exp(Σ x_bh s_gh).
    halves : (G, H) ndarray of int, optional
        The units in cells that are to be allocated apart, column h of predicted class h mod K;
        those of `v_hat` by default.
    again : int
        How often base rates and units are drawn in turn after that, so that values inform the base
        rates as well: where groups differ much, β_b alone would settle the class of their units.
    sweeps : int, optional
        How often each class of β_b is moved.
    """
    rows = np.maximum(np.ascontiguousarray(np.moveaxis(P, 0, -1)), TINY)  # (K, K, R)
    shape = np.ascontiguousarray(a.T)[:, None, :] + known.T[:, :, None]  # (K, G, R)
    beta = draw_rates(rows, shape, v_hat, rng, sweeps=sweeps)
    cells = v_hat if halves is None else halves
    M = _draw_columns(beta, rows, cells, rng, tilt)
    for _ in range(again):
        beta = np.maximum(rng.standard_gamma(shape + M.sum(axis=1)), TINY)
        M = _draw_columns(beta, rows, cells, rng, tilt)
    return M


def _draw_columns(
    beta: Floats,
    rows: Floats,
    v_hat: Integers,
    rng: np.random.Generator,
    tilt: Tilt = (),
) -> Integers:
    """M_·h ~ Multinomial(v̂_h, c_·h), c_gh ∝ β_g p_gh, as binomials one class after another."""
    K, G, R = beta.shape
    M = np.empty((K, v_hat.shape[1], G, R), dtype=np.int64)
    for h in range(v_hat.shape[1]):
        n = np.ascontiguousarray(np.broadcast_to(v_hat[:, h, None], (G, R)))
        weight = [beta[g] * rows[g, h % K] for g in range(K)]
        for x, s in tilt:
            for g in range(K):
                weight[g] *= np.exp(x[:, h, None] * s[g, h])
        later = weight[K - 1]
        tails = [later]
        for g in range(K - 2, -1, -1):
            later = weight[g] + later
            tails.append(later)
        for g in range(K - 1):
            M[g, h] = rng.binomial(n, weight[g] / tails[K - 1 - g])
            n = n - M[g, h]
        M[K - 1, h] = n
    return M


def log_ratios(means: Floats) -> Floats:
    """log(r_g / max r) (K, R), of mean values (R, K); a class without value counts as 1e-25."""
    top = np.maximum(means.max(axis=1), np.finfo(float).tiny)
    return np.asarray(np.log(np.maximum(means.T / top, TINY**0.25)))
