"""Two rows redrawn together: across matrices that one row at a time cannot pass.

With p'_g = Σ z_i p_i and p'_k = Σ y_i p_i (z = Qp'_g, y = Qp'_k) and D = z_g y_k − z_k y_g,
det P' = D det P, the new rows of Q are Q'_g = (y_k Q_g − y_g Q_k)/D, Q'_k = (z_g Q_k − z_k Q_g)/D
and Q'_i = Q_i − z_i Q'_g − y_i Q'_k; β' = Q'ρ follows the same pattern. Only P' has to be in Θ_K,
not the matrices between, and D may be negative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.rows import PIVOT, State, Target, floor, log_gamma_ratio
from trueup.numerics.dirichlet import dirichlet

__all__ = ["move_pair"]

Floats = NDArray[np.float64]


def move_pair(state: State, g: int, k: int, target: Target, rng: np.random.Generator) -> int:
    """Propose fresh rows g and k at once; return in how many chains they were accepted."""
    P, log_P = dirichlet(target.a[[g, k]], state.beta.shape[1], rng)
    z = np.einsum("khc,hc->kc", state.Q, P[0])
    y = np.einsum("khc,hc->kc", state.Q, P[1])
    D = z[g] * y[k] - z[k] * y[g]
    kept = (np.abs(D) > PIVOT) & (np.abs(D) < 1.0 / PIVOT)
    D = np.where(kept, D, 1.0)

    def pivot(x: Floats) -> Floats:
        """Turn Q into Q', or β into β'."""
        x_g, x_k = (y[k] * x[g] - y[g] * x[k]) / D, (z[g] * x[k] - z[k] * x[g]) / D
        wide = (slice(None),) + (None,) * (x.ndim - 2)
        new = x - z[wide] * x_g - y[wide] * x_k
        new[g], new[k] = x_g, x_k
        return np.asarray(new)

    beta = pivot(state.beta)
    kept &= beta.min(axis=0) >= 0.0
    if target.gamma is not None:
        log_ratio = log_gamma_ratio(beta, state.beta, target.gamma) - np.log(np.abs(D))
        kept &= log_ratio > -rng.standard_exponential(kept.shape)
        kept &= state.log_det + np.log(np.abs(D)) > floor(target.K)
        state.log_det += kept * np.log(np.abs(D))
    if kept.any():
        np.copyto(state.Q, pivot(state.Q), where=kept)
        np.copyto(state.beta, beta, where=kept)
        for row, p, log_p in ((g, P[0], log_P[0]), (k, P[1], log_P[1])):
            np.copyto(state.P[row], p, where=kept)
            np.copyto(state.log_P[row], log_p, where=kept)
    return int(np.count_nonzero(kept))
