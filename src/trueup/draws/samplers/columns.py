"""The column move: another way through the same set, for classes with hardly any test units.

In the coordinates c_gh = β_g p_gh / ρ_h = Pr(true g | predicted h) the set Θ_K is a product of K
simplices, the columns of c, and with θ = c diag(ρ) the density is Π c^(a−1) times

- Π β_g^(−a_g·) |det θ| under `constrained`;
- Π β_g^(γ_g − a_g·) under `full`.

A proposal for column h in detailed balance with Dir(a_·h) never leaves Θ_K; it is accepted by the
ratio of those factors, with det θ' / det θ = y_h, y = θ⁻¹θ'_h. All rows of P change at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.rows import PIVOT, State, Target, floor
from trueup.numerics.dirichlet import refresh

__all__ = ["move_column"]

Floats = NDArray[np.float64]

TINY = 1e-12
"""Chains with a β_g below this stay where they are, and none goes there by a column."""


def move_column(state: State, h: int, r: float, target: Target, rng: np.random.Generator) -> int:
    """Move column h of c, keeping the part r of it; return in how many chains it was accepted."""
    old = np.maximum(state.beta, TINY)
    log_old, log_rho = np.log(old), np.log(state.rho[h])
    log_c = state.log_P[:, h] + log_old - log_rho
    c, log_c = refresh(log_c[None], target.a[None, :, h], np.array([r]), rng)
    theta_h = c[0] * state.rho[h]
    new = np.maximum(old * (1.0 - state.P[:, h]), 0.0) + theta_h
    new = np.maximum(new, TINY)
    log_new = np.log(new)
    change = log_new - log_old
    # θ⁻ᵀ = diag(1/β) Q
    np.divide(state.Q, old[:, None], out=state.pivot)
    y = np.einsum("gjc,gc->jc", state.pivot, theta_h)
    size = np.abs(y[h])
    regular = (size > PIVOT) & (size < 1.0 / PIVOT)
    regular &= (new.min(axis=0) > TINY) & (old.min(axis=0) > TINY)
    y_h = np.where(regular, y[h], 1.0)
    y *= regular
    power = target.a.sum(axis=1)
    if target.gamma is None:
        log_ratio = np.log(np.abs(y_h)) - np.einsum("g,gc->c", power, change)
    else:
        log_ratio = np.einsum("g,gc->c", target.gamma - power, change)
    kept = regular & (log_ratio > -rng.standard_exponential(regular.shape))
    if target.gamma is not None:
        log_det = state.log_det + np.log(np.abs(y_h)) - change.sum(axis=0)
        kept &= log_det > floor(target.K)
        np.copyto(state.log_det, log_det, where=kept)
    w = y / y_h
    w[h] = 1.0 - 1.0 / y_h
    state.pivot -= w * state.pivot[:, h][:, None]
    state.pivot *= new[:, None]
    np.copyto(state.Q, state.pivot, where=kept)
    log_P = state.log_P - change[:, None]
    log_P[:, h] = log_c[0] + log_rho - log_new
    np.copyto(state.log_P, log_P, where=kept)
    np.copyto(state.P, np.exp(log_P), where=kept)
    np.copyto(state.beta, new, where=kept)
    return int(np.count_nonzero(kept))
