"""Step two of the paper: draw from the posterior, keep what falls in Θ_K(v̂)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.contingency import solve_Q
from trueup.draws.samplers.draws import Draws, Progress
from trueup.errors import EstimateError
from trueup.numerics.dirichlet import dirichlet

__all__ = ["draw_rejection", "propose"]

Floats = NDArray[np.float64]


def propose(a: Floats, rho: Floats, batch: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw `batch` matrices with Dirichlet rows; return those in Θ_K and their base rates."""
    P = np.moveaxis(dirichlet(a, batch, rng)[0], -1, 0)
    beta = solve_Q(P, rho)
    keep = np.all(beta >= 0.0, axis=1)
    return P[keep], beta[keep]


def draw_rejection(
    a: Floats,
    v_hat: Floats,
    size: int,
    rng: np.random.Generator,
    *,
    max_proposals: int,
    progress: Progress | None = None,
) -> Draws:
    """Draw until `size` are kept; after `max_proposals` that is an error.

    Parameters
    ----------
    a : ndarray (K, K)
        Posterior Dirichlet parameters α + n.
    v_hat : ndarray (K,)
        Units per predicted class, all positive.
    size : int
        Number of draws wanted.
    rng : numpy.random.Generator
        Where the randomness comes from.
    max_proposals : int
        Where to stop.
    progress : callable, optional
        Called with the fraction done.
    """
    rho = v_hat / v_hat.sum()
    K = len(rho)
    most = 2_000_000 // (K * K)
    batch = int(np.clip(size, 256, most))
    kept: list[tuple[Floats, Floats]] = []
    found = proposed = 0
    while found < size and proposed < max_proposals:
        kept.append(propose(a, rho, batch, rng))
        found += len(kept[-1][1])
        proposed += batch
        rate = max(found, 0.5) / proposed
        batch = int(np.clip(1.1 * (size - found) / rate, 256, most))
        if progress is not None:
            progress(min(found / size, 1.0))
    if found < size:
        raise EstimateError(
            f"rejection must keep {size:,} draws; {proposed:,} proposals gave {found:,}.",
            hint='sampler="chain" does not depend on the acceptance.',
        )
    info = {
        "sampler": "rejection",
        "acceptance": found / proposed,
        "ess": float(size),
        "rhat": None,
        "proposals": proposed,
        "warnings": [],
    }
    P = np.concatenate([p for p, _ in kept])[:size]
    return Draws(P, np.concatenate([b for _, b in kept])[:size], rho, info)
