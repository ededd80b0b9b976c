"""Step two of the paper: draw from the posterior, keep what falls in Θ_K(v̂)."""

import numpy as np

from trueup.draws.contingency import solve_Q
from trueup.draws.samplers.draws import Draws, Progress
from trueup.errors import EstimateError
from trueup.numerics.arrays import Floats
from trueup.numerics.dirichlet import SMALL_SHAPE, dirichlet

PILOT = 1024
"""Proposals after which the acceptance is first known ..."""
LONG_PILOT = 500_000
"""... and numbers (proposals × K²) before rejection is given up, for few classes."""


def propose(a: Floats, rho: Floats, batch: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw `batch` matrices with Dirichlet rows; return those in Θ_K and their base rates."""
    if a.sum(axis=1).min() < SMALL_SHAPE:
        X = dirichlet(a, batch, rng)[0]  # gammas of such a row may all be too small for a number
    else:
        X = rng.standard_gamma(a[:, :, None], size=(*a.shape, batch))
    X = np.moveaxis(X, -1, 0)
    # the constraint does not depend on the scale of a row: divide only what is kept
    weight = solve_Q(X, rho)
    keep = np.all(weight >= 0.0, axis=1)
    X, weight = X[keep], weight[keep]
    total = X.sum(axis=2)
    return X / total[:, :, None], weight * total


def draw_rejection(
    a: Floats,
    v_hat: Floats,
    size: int,
    rng: np.random.Generator,
    *,
    max_proposals: int,
    max_work: float = np.inf,
    progress: Progress | None = None,
) -> Draws | None:
    """Draw until `size` are kept; None as soon as that would take more than `max_work` numbers.

    That is judged by the acceptance so far, never by the clock. After `max_proposals` it is an
    error. All of v̂ must be positive.
    """
    rho = v_hat / v_hat.sum()
    K = len(rho)
    most = max(2_000_000 // (K * K), 1)
    batch = min(PILOT, most)
    kept: list[tuple[Floats, Floats]] = []
    found = proposed = 0
    while found < size and proposed < max_proposals:
        kept.append(propose(a, rho, batch, rng))
        found += len(kept[-1][1])
        proposed += batch
        rate = max(found, 0.5) / proposed
        if size * K**2 / rate > max_work:
            if proposed * K**2 >= LONG_PILOT or not np.isfinite(max_work):
                return None
            batch = min(max(LONG_PILOT // K**2 - proposed, 256), most)
            continue
        batch = int(np.clip(1.03 * (size - found) / rate + 64, 256, most))
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
