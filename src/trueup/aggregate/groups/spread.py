"""Units of a cell that are not of its likeliest class, one by one; compiled if numba is there.

Both versions do the same arithmetic on the same random numbers, so that the answer does not depend
on what is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["spread"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]
Scan = Callable[[Floats, Floats, Places, Places, Places, Integers, Floats, Integers], None]

MANY = 10_000_000
"""Units after which numba is loaded: that takes a second or two, and saves 40 ns per unit."""
_drawn = [0]


def spread(
    beta: Floats, T: Floats, b: Places, h: Places, top: Places, left: Integers, x: Floats,
    u: Integers,
) -> None:  # fmt: skip
    """Add the `left` units of each cell (b, h) to u (B, K), in place.

    One is of class g ≠ `top` with the odds β_bg p_gh; T (L, K) is P's transpose, `x` has a uniform
    number for each unit.
    """
    _drawn[0] += len(x)
    scan = _compiled() if _drawn[0] > MANY else _vectorised
    scan(beta, T, b, h, top, left, x, u)


def _vectorised(
    beta: Floats, T: Floats, b: Places, h: Places, top: Places, left: Integers, x: Floats,
    u: Integers,
) -> None:  # fmt: skip
    c = np.take(beta, b, axis=0) * np.take(T, h, axis=0)
    c[np.arange(len(c)), top] = 0.0
    up = np.cumsum(c, axis=1)
    unit = np.repeat(np.arange(len(c)), left)
    pick = (np.take(up, unit, axis=0) <= (x * up[unit, -1])[:, None]).sum(axis=1)
    at = b[unit] * u.shape[1] + np.minimum(pick, u.shape[1] - 1)
    u += np.bincount(at, minlength=u.size).reshape(u.shape)


def _scan(
    beta: Floats, T: Floats, b: Places, h: Places, top: Places, left: Integers, x: Floats,
    u: Integers,
) -> None:  # fmt: skip
    K, at = u.shape[1], 0
    up = np.empty(K)
    for i in range(len(left)):
        total = 0.0
        for k in range(K):
            if k != top[i]:
                total += beta[b[i], k] * T[h[i], k]
            up[k] = total
        for _ in range(left[i]):
            y, k = x[at] * total, 0
            at += 1
            while k < K - 1 and up[k] <= y:
                k += 1
            u[b[i], k] += 1


@cache
def _compiled() -> Scan:
    try:
        import numba
    except ImportError:
        return _vectorised
    compiled: Scan = numba.njit(_scan, nogil=True, cache=True)
    return compiled
