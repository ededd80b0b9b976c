"""What every sampler returns."""

from dataclasses import dataclass, field
from typing import Any

from trueup.numerics.arrays import Floats


@dataclass(frozen=True)
class Draws:
    """R draws of P and the base rates that go with them; Pᵀβ = ρ on every draw.

    `info` has `sampler` ("exact", "rejection" or "chain"), `acceptance`, `ess` (effective draws
    among those returned, of the slowest β_g), `rhat` (largest over β_g; None for independent
    draws), `warnings` (empty when all is well) and, for a chain, its size.
    """

    P: Floats  # (R, K, K)
    beta: Floats  # (R, K)
    rho: Floats  # (K,) v̂/N under `constrained`; (R, K) drawn under `full`
    info: dict[str, Any] = field(default_factory=dict)
