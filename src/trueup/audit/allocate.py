"""How many units to label in each stratum."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import OptionError
from trueup.numerics.arrays import Integers

LEAST = 2
"""Units to label at least in each stratum, so that none is left to the prior alone."""
MOST = 1_000_000
Label = tuple[Hashable, ...]
BAND = "trueup band"


def whole(n: object, least: int = 1) -> int:
    """Refuse what is no number of units."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not least <= n <= MOST:
        raise OptionError(f"`n` must be a whole number from {least} to {MOST:,}; got {n!r}.")
    return int(n)


def allocate_units(n: int, weights: ArrayLike, capacity: ArrayLike) -> Integers:
    """Spread n units over strata by weight, at least LEAST in each and never more than exist.

    Examples
    --------
    >>> allocate_units(100, [1, 1, 2], [10, 500, 500])
    array([10, 30, 60])
    """
    capacity = np.asarray(capacity, np.int64)
    weight = np.asarray(weights, float)
    n, floor = int(min(n, capacity.sum())), np.minimum(LEAST, capacity)
    if floor.sum() > n:  # too few for that: by size
        floor, weight = np.zeros_like(capacity), capacity.astype(float)
    # without weight, by size: but only where the strata with weight are full
    weight = weight / max(weight.sum(), 1e-300) + 1e-9 * capacity / max(capacity.sum(), 1)
    low, high = 0.0, 2e9 * (capacity.sum() + 1)
    for _ in range(200):  # the level at which clipped shares add up to n
        level = (low + high) / 2
        low, high = (
            (level, high) if np.clip(level * weight, floor, capacity).sum() < n else (low, level)
        )
    exact = np.clip(high * weight, floor, capacity)
    given = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(given - exact, kind="stable")  # the largest remainders first
    room = order[(capacity - given)[order] > 0]
    given[room[: n - given.sum()]] += 1
    return np.asarray(given)
