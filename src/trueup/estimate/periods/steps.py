"""How far base rates step from one period to the next: a usual step σ, and jumps.

The step to period t has variance σ²λ_t(I + 11ᵀ), 1/λ_t ~ Gamma(ν/2)/(ν/2), so that it has Student's
t distribution: one jump is neither smoothed away nor makes the other steps look large. Given P, the
periods' data are taken as normal around a path that follows each period closely. Then the path x
given (σ, λ) is normal, 1/λ given x is gamma, and σ given λ is drawn on a grid, x integrated out: a
Gibbs sampler, of several chains side by side.
"""

import numpy as np

from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.base_rate_walk import WIDE, information, sides, solve, wander

__all__ = ["draw_steps"]

USUAL = 0.2
"""Scale of the half-Cauchy prior of σ, the usual step of log odds over one period."""
STEPS = np.exp(np.linspace(np.log(0.003), np.log(1.0), 11))
"""Grid of σ."""
NU = 1.5
"""Degrees of freedom of the steps: with fewer a jump is smoothed less (`studies/jumps.py`), with
more less is lost where shares move evenly (`studies/periods.py`, seasonal)."""
LARGEST = 5.0
"""No step has a larger standard deviation: where predictions say that a class is absent, any step
away fits as well, and they would grow until numbers fail."""
SWEEPS, WARM_UP = 30, 10
CHAINS, FEW, WORK = 60, 8, 1e5
"""Chains, fewer where there are many periods and classes: chains times T(K − 1)² that take less
time than the paths themselves. At least FEW."""


def draw_steps(
    P: Floats, v: Floats, a: Floats, gaps: Floats, size: int, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw σ (size,) and λ (size, T − 1), given one P of some after the other.

    P (R, K, L) or (R, T, K, L), v (T, L), a (T, K) and `gaps` (T − 1,) are as in `find_path`.
    """
    P = P[: int(np.clip(WORK / v.shape[0] / (a.shape[1] - 1) ** 2, FEW, CHAINS))]
    F, b = information(P, v, a, gaps)
    C, T, k = b.shape
    both: Floats = np.linalg.inv(np.eye(k) + 1.0).astype(np.float64)
    F[:, 0] += both / WIDE**2
    log_prior = np.log(STEPS) - np.log1p((STEPS / USUAL) ** 2)  # half-Cauchy, on a grid of log σ
    lam = np.ones((C, T - 1))
    grid, each = np.tile(STEPS, C), np.repeat(np.arange(C), len(STEPS))
    kept = []
    for sweep in range(SWEEPS):
        mean, log_det, _, _ = _paths(F[each], b[each], both, grid, (gaps * lam)[each])
        fit = -k * (T - 1) * np.log(grid) - 0.5 * log_det + 0.5 * (mean * b[each]).sum(axis=(1, 2))
        noisy = fit.reshape(C, -1) + log_prior + rng.gumbel(size=(C, len(STEPS)))
        sigma = STEPS[noisy.argmax(axis=1)]
        mean, _, cover, ahead = _paths(F, b, both, sigma, gaps * lam)
        jump = np.diff(mean + wander(cover, ahead, rng), axis=1)
        size2 = np.einsum("cti,ij,ctj->ct", jump, both, jump) / (gaps * sigma[:, None] ** 2)
        lam = (NU + size2) / 2 / rng.standard_gamma((NU + k) / 2, size2.shape)
        lam = np.minimum(lam, (LARGEST / sigma[:, None]) ** 2)
        if sweep >= WARM_UP:
            kept.append((sigma, lam))
    sigma, lam = (np.concatenate(x) for x in zip(*kept, strict=True))
    some = rng.permutation(np.resize(rng.permutation(len(sigma)), size))
    return sigma[some], lam[some]


def _paths(
    F: Floats, b: Floats, both: Floats, sigma: Floats, gaps: Floats
) -> tuple[Floats, Floats, list[Floats], list[Floats]]:
    """Solve for the mean of each path, given σ (R,) and the gaps times λ (R, T − 1)."""
    step = both / (sigma**2)[:, None, None]
    return solve(F + sides(gaps)[..., None, None] * step[:, None], step, gaps, b)
