"""Moves of `full` in its own coordinates (P, β), where nothing is cut off.

The posterior is Π Dir(p_g; a_g) · Dir(β; γ) · Π_h ρ_h^(v̂_h) with ρ = Pᵀβ. A row, or β, is proposed
in detailed balance with its Dirichlet and accepted by the likelihood of v̂ alone. With few units
that likelihood is flat and these moves go far; with many, those of `rows` do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.rows import PIVOT, State, Target, floor, tidy
from trueup.numerics.dirichlet import refresh

__all__ = ["move_freely"]

Floats = NDArray[np.float64]

TINY = np.finfo(float).tiny


def move_freely(state: State, r: float, target: Target, rng: np.random.Generator) -> None:
    """Propose once for β and once for every row with β fixed, keeping the part r of each."""
    if target.gamma is None:
        return
    log_beta = np.log(np.maximum(state.beta, TINY))
    beta = refresh(log_beta[None], target.gamma[None], np.array([r]), rng)[0][0]
    rho = np.einsum("ghc,gc->hc", state.P, beta)
    kept = likelier(rho, state, target, rng)
    np.copyto(state.beta, beta, where=kept)
    np.copyto(state.rho, rho, where=kept)
    P, log_P = refresh(state.log_P, target.a, np.full(target.K, r), rng)
    for g in range(target.K):
        rho = np.maximum(state.rho + state.beta[g] * (P[g] - state.P[g]), 0.0)
        z = np.einsum("khc,hc->kc", state.Q, P[g])
        kept = likelier(rho, state, target, rng)
        size = np.abs(z[g])
        pivots = kept & (size > PIVOT) & (size < 1.0 / PIVOT)
        z_g = np.where(pivots, z[g], 1.0)
        state.log_det += np.log(np.abs(z_g))
        w = z / z_g
        w[g] = 1.0 - 1.0 / z_g
        w *= pivots
        np.multiply(w[:, None], state.Q[g], out=state.pivot)
        state.Q -= state.pivot
        lost = (kept & ~pivots) | (state.log_det < floor(target.K))
        if lost.any():
            state.Q[:, :, lost], state.log_det[lost] = 0.0, -np.inf
        np.copyto(state.rho, rho, where=kept)
        np.copyto(state.P[g], P[g], where=kept)
        np.copyto(state.log_P[g], log_P[g], where=kept)
    if np.isneginf(state.log_det).any():
        tidy(state, target)


def likelier(
    rho: Floats, state: State, target: Target, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Accept by Π (ρ'_h / ρ_h)^(v̂_h)."""
    ratio = np.log(np.maximum(rho, TINY)) - np.log(np.maximum(state.rho, TINY))
    log_ratio = np.einsum("h,hc->c", target.v_hat, ratio)
    return np.asarray(log_ratio > -rng.standard_exponential(log_ratio.shape))
