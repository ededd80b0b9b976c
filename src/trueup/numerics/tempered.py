"""Draws from a density by tempering: from draws of a simpler one, step by step.

Del Moral, Doucet and Jasra (2006): with weights base^(1−τ)·target^τ, τ rises from 0 to 1 as fast as
half of the draws stay effective; after each step draws are resampled and moved by Metropolis steps
whose covariance is that of the draws themselves.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.arrays import Floats, Progress, Rng
from trueup.numerics.weights import effective_size, resample

HALF = 0.5
MOVED = 1.5
"""Metropolis steps go on until each draw has been moved so often on average, or MOST_MOVES."""
MOST_MOVES = 20
LAST, ENOUGH = 80, 0.25
"""After the last resampling they go on until this share of draws is effective, or LAST of them."""
PART = 0.6
"""How far the coordinates move that are standard normal under both densities."""
MOST_STEPS = 60


class Tempered(NamedTuple):
    """Draws (R, d) of the target, the effective number of them, and how many steps it took."""

    x: Floats
    ess: float
    steps: int


def temper(
    x: Floats,
    log_base: Callable[[Floats], Floats],
    log_target: Callable[[Floats], Floats],
    moving: int,
    rng: Rng,
    progress: Progress | None = None,
) -> Tempered:
    """Turn draws `x` (R, d) of the base into draws of the target.

    Neither density needs its constant. The coordinates after the first `moving` must be standard
    normal under the base; densities leave that out.
    """
    R = len(x)
    base, target = log_base(x), log_target(x)
    tau, steps, family = 0.0, 0, np.arange(R)
    while tau < 1.0 and steps < MOST_STEPS:
        gain = target - base
        last, tau = tau, _next(gain, tau)
        kept = resample((tau - last) * gain, R, rng).indices
        x, base, target, family = x[kept], base[kept], target[kept], family[kept]
        steps += 1
        cov = np.atleast_2d(np.cov(x[:, :moving].T)) + 1e-10 * np.eye(moving)
        root = np.linalg.cholesky(cov)
        scale, moves, accepted = 2.38 / np.sqrt(moving), 0, 0.0
        while moves < (LAST if tau == 1.0 else MOST_MOVES) and (
            accepted < MOVED or (tau == 1.0 and _effective(x[:, :moving], family) < ENOUGH * R)
        ):
            new = x.copy()
            if moves % 2 and moving < x.shape[1]:  # keeps the standard normal as it is
                z = rng.standard_normal((R, x.shape[1] - moving))
                new[:, moving:] = np.sqrt(1 - PART**2) * x[:, moving:] + PART * z
            else:
                new[:, :moving] += scale * rng.standard_normal((R, moving)) @ root.T
            new_base, new_target = log_base(new), log_target(new)
            with np.errstate(invalid="ignore"):  # both −inf: outside, and not taken
                ratio = (1 - tau) * (new_base - base) + tau * (new_target - target)
            take = np.log(rng.random(R)) < ratio
            x = np.where(take[:, None], new, x)
            base, target = np.where(take, new_base, base), np.where(take, new_target, target)
            if not (moves % 2 and moving < x.shape[1]):
                accepted += take.mean()
                scale *= np.exp(take.mean() - 0.3)
            moves += 1
        if progress is not None:
            progress(tau)
    return Tempered(x, _effective(x[:, :moving], family), steps)


def _effective(x: Floats, family: NDArray[np.intp]) -> float:
    """How many independent draws these are worth, for the worst coordinate (Lee, Whiteley 2018).

    Draws that descend from one draw of the base may go together: the variance of a mean is that of
    sums over families.
    """
    R = len(x)
    away = x - x.mean(axis=0)
    sums = np.zeros_like(away)
    np.add.at(sums, family, away)
    ratio = (sums**2).sum(axis=0) / np.maximum((away**2).sum(axis=0), 1e-300)
    return float(R / max(ratio.max(), 1.0))


def _next(gain: Floats, tau: float) -> float:
    """The largest τ, up to 1, at which half of the draws are still effective."""
    least = HALF * len(gain)
    if effective_size((1 - tau) * gain) >= least:
        return 1.0
    low, high = tau, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if effective_size((middle - tau) * gain) >= least else (low, middle)
        )
    return max(low, tau + 1e-4)
