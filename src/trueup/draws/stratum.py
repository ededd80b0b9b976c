"""One part of the population with error rates of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Stratum"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stratum:
    """One stratum's draws: u and β (R, K) and P (R, K, K), on which its groups build.

    `M` (R, K, K) are its units by true and predicted class.
    """

    u: Floats
    P: Floats
    beta: Floats
    M: NDArray[Any]
    info: dict[str, Any]
