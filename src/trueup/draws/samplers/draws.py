"""What every sampler returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trueup.numerics.arrays import Floats

Progress = Callable[[float], object]


@dataclass(frozen=True)
class Draws:
    """R draws of P and the base rates that go with them; Pᵀβ = ρ on every draw.

    Attributes
    ----------
    P : ndarray (R, K, K)
        Pr(predicted h | true g): rows true, columns predicted.
    beta : ndarray (R, K)
        Base rates of the true classes, non-negative, summing to one.
    rho : ndarray (K,) or (R, K)
        Rates of the predicted classes: v̂/N under `constrained`, drawn under `full`.
    info : dict
        `sampler` ("exact", "rejection" or "chain"), `acceptance`, `ess` (effective draws among
        those returned, of the slowest β_g), `rhat` (largest over β_g; None for independent
        draws), `warnings` (list of str; empty when all is well) and, for a chain, its size.
    """

    P: Floats
    beta: Floats
    rho: Floats
    info: dict[str, Any] = field(default_factory=dict)
