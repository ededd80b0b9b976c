"""Who owns a cell's units and its sum: allocation within cells, where units are alike.

Given the columns c_·ℓ, the units of a cell that were not audited are M_·ℓ ~ Mult(v_ℓ, c_·ℓ).
Within a cell value goes with units: class g holds M_gℓ of v_ℓ units picked without replacement, so
its share of the cell's Σy has mean p = M/v and variance p(1 − p) v s²/u², s² the variance of the
cell's values. Dir(A p) has both if A + 1 = u²/(v s²), the same A for all classes; as all values of
a band have one sign, A ≥ 0. Every draw is permissible and adds up; equal values give exactly M/v.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.cells.columns import Columns, curve

__all__ = ["allocate_cells", "draw_cells", "share_values"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TWICE = 2.0
"""Beyond the largest audited units a trend may be as much steeper than before, or turn round. If it
went on as before, a few giants of one class, where errors rise with size among the others, would
be given to the wrong class with near certainty (such units: `giants` in `verify.populations`)."""
# Relative variances below this are rounding: the values of the cell are equal.
EQUAL = 1e-9


def draw_cells(
    state: Columns, n: Integers, rng: np.random.Generator, over: Floats | None = None
) -> Floats:
    """Draw the columns c_·ℓ ~ Dir(κ m_ℓ + n_·ℓ): (C, K, H, B).

    `over` (R, H, B) is how far cells lie beyond the audited units (`Frame`).
    """
    m = state.m if over is None else beyond(state, over, rng)
    c = rng.standard_gamma(np.maximum(state.kappa[:, None, None, None] * m + n, 1e-300))
    total = c.sum(axis=1, keepdims=True)
    return np.where(total > 0, c / np.where(total > 0, total, 1.0), m)


def beyond(state: Columns, over: Floats, rng: np.random.Generator) -> Floats:
    """Return m where trends beyond the largest audited units are f times as steep, f ~ U(−2, 2).

    That is for d, what predictions add; what values of classes imply, λs, goes on.
    """
    f = TWICE * (2 * rng.random(len(state.kappa)) - 1)
    log_m = np.log(np.maximum(state.m, 1e-300))
    log_m += curve((f - 1)[:, None, None, None] * state.d, over)
    m = np.exp(log_m - log_m.max(axis=1, keepdims=True))
    return np.asarray(m / m.sum(axis=1, keepdims=True))


def allocate_cells(
    c: Floats, v: Integers, u: Floats, w: Floats, rng: np.random.Generator
) -> tuple[Integers, Floats]:
    """Share out each cell's units and sum to true classes: M and U, both (C, K, H, B).

    `c` are the columns (C, K, H, B); `v`, `u` and `w` (H, B) the units that were not audited, their
    Σy and Σy².
    """
    p = np.moveaxis(c, 1, -1)
    M = np.moveaxis(rng.multinomial(v, p / p.sum(axis=-1, keepdims=True)), -1, 1)
    return M, share_values(M, v, u, w, rng, axis=1) * u


def share_values(
    M: Integers, v: Integers, u: Floats, w: Floats, rng: np.random.Generator, axis: int
) -> Floats:
    """Draw each class's share of a cell's sum, given its units M; classes are on `axis`."""
    units = np.maximum(v, 1)
    share = M / units
    mean = u / units
    divisor = np.where(mean != 0, mean, 1.0)  # its square may be too small for a float
    spread = np.where(mean != 0, w / units / divisor / divisor - 1.0, 0.0)
    some = (spread > EQUAL) & (v > 1)
    A = np.where(some, (v - 1) / np.where(some, spread, 1.0) - 1.0, 0.0)
    picked = rng.standard_gamma(np.maximum(A, 1e-3) * share)
    total = picked.sum(axis=axis, keepdims=True)
    if (lost := some & (total == 0) & (v > 0)).any():  # a unit with all the value, to one class
        up = np.cumsum(share, axis=axis)
        one = (rng.random(total.shape) < up) & (up > 0)
        first = np.diff(one.astype(np.int8), axis=axis, prepend=0) > 0
        share, total = np.where(lost, first, share), np.where(lost, 0.0, total)
    drawn = some & (total > 0)
    return np.asarray(np.where(drawn, picked / np.where(drawn, total, 1.0), share))
