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
    moves: int | None = None,
) -> Integers:
    """Draw M (K, L, G, R), rows true: how the units of G groups fall, given P and a.

    `P` (R, K, L) are draws of the contingency matrix, `a` (R, K) the concentrations κμ of the
    groups' base rates on each, `v_hat` (G, L) the groups' units; `known` (G, K) units of each true
    class besides inform β_b, whose chains make as many `moves`.
    """
    rows = np.maximum(np.moveaxis(P, 0, -1), TINY)  # (K, L, R)
    shape = a.T[:, None, :] + known.T[:, :, None]  # (K, G, R)
    beta = draw_rates(rows, shape, v_hat, rng, moves=moves)
    c = beta.transpose(2, 1, 0)[:, :, None] * rows.transpose(2, 1, 0)[:, None]  # (R, G, L, K)
    c /= c.sum(axis=3, keepdims=True)
    return np.asarray(rng.multinomial(v_hat, c).transpose(3, 2, 1, 0))
