"""What stands in many signatures: arrays by what they hold, a generator and its seed, progress."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rng = np.random.Generator
Progress = Callable[[float], None]
"""Called with the fraction done."""


def fresh_seed() -> int:
    """Return a seed for a run that was given none, to be reported."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def as_floats(given: ArrayLike) -> Floats:
    """Return numbers as an array, and an empty one for what holds no numbers."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)
