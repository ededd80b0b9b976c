"""Given P: how many units of each true class there are among each group's predicted units.

The model of one group b, given a draw of P and of the concentrations a = κμ that groups share:

    β_b ~ Dir(a),   s_i ~ β_b,   ŝ_i ~ p_{s_i}     for each unit i of the group.

Base rates are drawn first (`base_rates`), with the units' classes summed out; given those, the
units of each predicted class are allocated, M_·h ~ Multinomial(v̂_bh, c_·h), c_gh ∝ β_bg p_gh.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.base_rates import TINY, draw_rates

__all__ = ["allocate_groups"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def allocate_groups(
    P: Floats,
    a: Floats,
    v_hat: Integers,
    known: Floats,
    rng: np.random.Generator,
    *,
    sweeps: int | None = None,
) -> Integers:
    """Draw M (K, L, G, R), rows true: how the units of G groups fall, given P and a.

    `P` (R, K, L) are draws of the contingency matrix, `a` (R, K) the concentrations κμ of the
    groups' base rates on each, `v_hat` (G, L) the groups' units; `known` (G, K) units of each true
    class besides inform β_b. Each class of β_b is moved `sweeps` times.
    """
    rows = np.maximum(np.ascontiguousarray(np.moveaxis(P, 0, -1)), TINY)  # (K, L, R)
    shape = np.ascontiguousarray(a.T)[:, None, :] + known.T[:, :, None]  # (K, G, R)
    return _draw_columns(draw_rates(rows, shape, v_hat, rng, sweeps=sweeps), rows, v_hat, rng)


def _draw_columns(
    beta: Floats, rows: Floats, v_hat: Integers, rng: np.random.Generator
) -> Integers:
    """M_·h ~ Multinomial(v̂_h, c_·h), c_gh ∝ β_g p_gh, as binomials one class after another."""
    K, G, R = beta.shape
    M = np.empty((K, v_hat.shape[1], G, R), dtype=np.int64)
    for h in range(v_hat.shape[1]):
        n = np.ascontiguousarray(np.broadcast_to(v_hat[:, h, None], (G, R)))
        weight = [beta[g] * rows[g, h] for g in range(K)]
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
