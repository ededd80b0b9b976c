"""The row walk: Metropolis moves of one row of P at a time, inside Θ_K(v̂).

Θ_K(v̂) is the set of P whose rows, K points of the simplex, have ρ = v̂/N in their convex hull:
ρ = Pᵀβ with β ≥ 0. Row g is replaced by p'; written in the old rows, p' = Σ_k z_k p_k with
z = Qp', Q = (Pᵀ)⁻¹. Then ρ has the new weights β'_g = β_g / z_g and β'_k = β_k − β'_g z_k, and
det P' = z_g det P. So "is P' still in Θ_K, and what is its determinant" costs K² operations, and
an accepted move changes Q by one pivot. A proposal in detailed balance with Dir(a_g) is accepted

- under `constrained` (rows Dir(a_g) cut off outside Θ_K) when β' ≥ 0, and that is all;
- under `full` with probability min(1, |z_g|⁻¹ Π (β'_k/β_k)^(γ_k − 1)) when β' ≥ 0.

Only z_g > 0 can keep β' ≥ 0, so these moves keep the sign of det P. Θ_K has two components, one
for each sign; exchanging two rows (swaps.py) leads from one to the other inside Θ_K.

Arrays have the chains last, (K, K, C), so that each step is one pass over contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trueup.draws.contingency import solve_Q
from trueup.numerics.dirichlet import dirichlet

__all__ = ["State", "Target", "move_rho", "move_row", "start", "tidy"]

Floats = NDArray[np.float64]

TRIES = 8
PIVOT = 1e-10
"""Moves with z_g or 1/z_g below this are refused, both ways: Q would lose its last digits."""


@dataclass(frozen=True)
class Target:
    """What to draw from: rows Dir(a), ρ = v̂/N fixed (`gamma` None) or v̂ ~ Mult(N, Pᵀβ)."""

    a: Floats
    v_hat: Floats
    gamma: Floats | None = None

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.v_hat)


@dataclass
class State:
    """C chains at once: P and log P (K, K, C), Q = (Pᵀ)⁻¹ (K, K, C), β and ρ (K, C)."""

    P: Floats
    log_P: Floats
    Q: Floats
    beta: Floats
    rho: Floats

    def __post_init__(self) -> None:
        # room for the pivot: allocating it costs more than writing into it
        self.pivot = np.empty_like(self.Q)
        self.log_det = np.zeros(self.beta.shape[1])


def start(target: Target, chains: int, rng: np.random.Generator) -> State:
    """Start in Θ_K: columns c_·h ~ Dir(a_·h), ρ given, and p_gh = c_gh ρ_h / β_g with β = cρ.

    Where that P is singular to the last digits (α near zero), a blend of the identity and ρ in
    every row takes its place; its base rates are ρ.
    """
    K = target.K
    if target.gamma is None:
        rho = np.repeat((target.v_hat / target.v_hat.sum())[:, None], chains, axis=1)
    else:
        rho, _ = dirichlet(target.v_hat + 1.0, chains, rng)
    _, log_c = dirichlet(np.ascontiguousarray(target.a.T), chains, rng)
    log_P = log_c.transpose(1, 0, 2) + np.log(rho)
    log_P -= log_P.max(axis=1, keepdims=True)
    log_P -= np.log(np.exp(log_P).sum(axis=1, keepdims=True))
    singular = log_det(np.exp(log_P)) < -20.0 * K
    blend = np.log(0.5 * np.eye(K)[:, :, None] + 0.5 * rho)
    log_P = np.where(singular, blend, log_P)
    if target.gamma is None:
        # better: draws of the posterior itself, as far as a few tries find them
        P, log_rows = dirichlet(target.a, TRIES * chains, rng)
        inside = np.flatnonzero(permissible(P, rho[:, 0]))[:chains]
        log_P[:, :, : len(inside)] = log_rows[:, :, inside]
    state = State(np.exp(log_P), log_P, np.zeros((K, K, chains)), np.zeros_like(rho), rho)
    tidy(state, replace(target, gamma=None))
    return state


def log_det(P: Floats) -> Floats:
    """Compute log |det P| of each chain; −inf where singular to the last digit."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.linalg.slogdet(np.moveaxis(P, -1, 0))[1])


def permissible(P: Floats, rho: Floats) -> NDArray[np.bool_]:
    """Which of many P (K, K, B) are well inside Θ_K."""
    regular = log_det(P) > -20.0 * len(rho)
    P = np.where(regular[:, None, None], np.moveaxis(P, -1, 0), np.eye(len(rho)))
    return np.asarray(regular & (solve_Q(P, rho).min(axis=1) > 0.0))


def tidy(state: State, target: Target) -> None:
    """Recompute Q, and β from ρ or (`full`) ρ from β, before rounding errors add up.

    Under `full` P may be singular to the last digits: such a chain has Q = 0, with which every move
    that needs Q is refused, and is left to the moves of free.py.
    """
    A = np.moveaxis(state.P, -1, 0).swapaxes(1, 2)
    state.log_det[...] = log_det(state.P)
    regular = state.log_det > (-np.inf if target.gamma is None else floor(target.K))
    Q = np.moveaxis(np.linalg.inv(np.where(regular[:, None, None], A, np.eye(A.shape[1]))), 0, -1)
    if target.gamma is None:
        np.copyto(state.Q, Q, where=regular)
        beta = np.maximum(np.einsum("ghc,hc->gc", state.Q, state.rho), 0.0)
        total = np.maximum(beta.sum(axis=0), np.finfo(float).tiny)
        np.copyto(state.beta, beta / total, where=regular)
    else:
        state.Q[...] = Q * regular
        state.log_det[~regular] = -np.inf
        state.beta /= state.beta.sum(axis=0)
        state.rho[...] = np.einsum("ghc,gc->hc", state.P, state.beta)


def floor(K: int) -> float:
    """Log |det P| below which Q is no longer trusted: well below what K unlike rows have."""
    return -21.0 - 2.0 * K


def move_row(
    state: State, g: int, p: Floats, log_p: Floats, target: Target, rng: np.random.Generator
) -> int:
    """Move row g to the proposal p (K, C) where that stays in Θ_K; return in how many chains."""
    z = np.einsum("khc,hc->kc", state.Q, p)
    inside = (z[g] > PIVOT) & (z[g] < 1.0 / PIVOT)
    z_g = np.where(inside, z[g], 1.0)
    w = z / z_g
    beta = state.beta - state.beta[g] * w
    beta[g] = state.beta[g] / z_g
    inside &= beta.min(axis=0) >= 0.0
    if target.gamma is not None:
        log_ratio = log_gamma_ratio(beta, state.beta, target.gamma) - np.log(z_g)
        inside &= log_ratio > -rng.standard_exponential(inside.shape)
        inside &= state.log_det + np.log(z_g) > floor(target.K)
        state.log_det += inside * np.log(z_g)
    w[g] = 1.0 - 1.0 / z_g
    w *= inside
    np.multiply(w[:, None], state.Q[g], out=state.pivot)
    state.Q -= state.pivot
    np.copyto(state.beta, beta, where=inside)
    np.copyto(state.P[g], p, where=inside)
    np.copyto(state.log_P[g], log_p, where=inside)
    return int(np.count_nonzero(inside))


def log_gamma_ratio(new: Floats, old: Floats, gamma: Floats | None) -> Floats:
    """Compute Σ_k (γ_k − 1) log(β'_k / β_k); outside Θ_K any number, which is not used."""
    if gamma is None or np.all(gamma == 1.0):
        return np.zeros(new.shape[1:])
    tiny = np.finfo(float).tiny
    ratio = np.log(np.maximum(new, tiny) / np.maximum(old, tiny))
    return np.asarray(np.einsum("k,kc->c", gamma - 1.0, ratio))


def move_rho(state: State, rho: Floats, target: Target, rng: np.random.Generator) -> int:
    """Move ρ to a proposal from Dir(v̂ + 1), with P fixed (`full` only)."""
    beta = np.einsum("khc,hc->kc", state.Q, rho)
    inside = (beta.min(axis=0) >= 0.0) & (beta.max(axis=0) > 0.0)
    log_ratio = log_gamma_ratio(beta, state.beta, target.gamma)
    inside &= log_ratio > -rng.standard_exponential(inside.shape)
    np.copyto(state.rho, rho, where=inside)
    np.copyto(state.beta, beta, where=inside)
    return int(np.count_nonzero(inside))
