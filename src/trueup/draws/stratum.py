"""One part of the population with error rates of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts, make_counts
from trueup.count.parts import Parts

__all__ = ["Stratum", "counts_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stratum:
    """One stratum's draws: u and β (R, K) and P (R, K, K), on which its groups build."""

    u: Floats
    P: Floats
    beta: Floats
    info: dict[str, Any]


def counts_of(parts: Parts, j: int, counts: Counts) -> Counts:
    """One part as a bag of counts of its own."""
    assert parts.n_b is not None

    def take(x: Any) -> Any:
        return None if x is None else x[j]

    return make_counts(
        parts.n_b[j],
        parts.v_hat_b[j],
        take(parts.u_hat_b),
        take(parts.w_hat_b),
        take(parts.t_b),
        take(parts.t2_b),
        classes=counts.classes,
        signed=counts.signed,
    )
