"""Step two of the paper as it stands: draw from the posterior, keep what falls in Θ_K(v̂)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.draws import Draws, Progress
from trueup.errors import EstimateError
from trueup.numerics.dirichlet import dirichlet

__all__ = ["draw_rejection", "propose", "solve"]

Floats = NDArray[np.float64]


def solve(P: Floats, rho: Floats) -> Floats:
    """Weights β with Pᵀβ = ρ for P (B, K, K); NaN where P is singular to the last digit."""
    A = P.swapaxes(-1, -2)
    b = np.broadcast_to(rho[..., None], (*P.shape[:-1], 1))
    try:
        beta = np.linalg.solve(A, b)[..., 0]
    except np.linalg.LinAlgError:
        singular = ~np.isfinite(np.linalg.slogdet(A)[1])
        beta = np.linalg.solve(np.where(singular[:, None, None], np.eye(P.shape[-1]), A), b)[..., 0]
        beta[singular] = np.nan
    return np.asarray(beta)


def propose(a: Floats, rho: Floats, batch: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw `batch` matrices with Dirichlet rows; return those in Θ_K and their base rates."""
    P = np.moveaxis(dirichlet(a, batch, rng)[0], -1, 0)
    beta = solve(P, rho)
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
