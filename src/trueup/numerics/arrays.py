"""What stands in many signatures: arrays by what they hold, a random generator, progress."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rng = np.random.Generator
Progress = Callable[[float], None]
"""Called with the fraction done."""
