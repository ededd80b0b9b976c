"""The row walk: Metropolis moves of one row of P at a time, inside Θ_K(v̂).

Θ_K(v̂) is the set of P whose rows, K points of the simplex, have ρ = v̂/N in their convex hull:
ρ = Pᵀβ with β ≥ 0. Row g is replaced by p'; written in the old rows, p' = Σ_k z_k p_k with
z = Qp', Q = (Pᵀ)⁻¹. Then ρ has the new weights β'_g = β_g / z_g and β'_k = β_k − β'_g z_k, and
det P' = z_g det P. So "is P' still in Θ_K, and what is its determinant" costs K² operations, and
an accepted move changes Q by one pivot. A proposal in detailed balance with Dir(a_g) is accepted

- under `constrained` (rows Dir(a_g) cut off outside Θ_K) when β' ≥ 0, and that is all;
- under `full` with probability min(1, |z_g|⁻¹ Π (β'_k/β_k)^(γ_k − 1)) when β' ≥ 0.

Only z_g > 0 can keep β' ≥ 0, so these moves keep the sign of det P. Θ_K has two components, one
for each sign; exchanging two rows leads from one to the other and never leaves Θ_K.

Arrays have the chains last, (K, K, C), so that each step is one pass over contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueup.samplers.gammas import dirichlet, refresh

__all__ = ["State", "Target", "move_rho", "move_row", "start", "swap_rows", "tidy"]

Floats = NDArray[np.float64]


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


def start(target: Target, chains: int, rng: np.random.Generator) -> State:
    """Start in Θ_K: columns c_·h ~ Dir(a_·h), ρ given, and p_gh = c_gh ρ_h / β_g with β = cρ."""
    a, K = target.a, target.K
    if target.gamma is None:
        rho = np.repeat((target.v_hat / target.v_hat.sum())[:, None], chains, axis=1)
    else:
        rho, _ = dirichlet(target.v_hat + 1.0, chains, rng)
    _, log_c = dirichlet(np.ascontiguousarray(a.T), chains, rng)
    log_P = log_c.transpose(1, 0, 2) + np.log(rho)
    log_P -= log_P.max(axis=1, keepdims=True)
    log_P -= np.log(np.exp(log_P).sum(axis=1, keepdims=True))
    state = State(np.exp(log_P), log_P, np.empty((K, K, chains)), np.empty_like(rho), rho)
    tidy(state)
    return state


def tidy(state: State) -> None:
    """Compute Q and β from P again, against rounding errors that the pivots add up."""
    chains_first = np.moveaxis(state.P, -1, 0)
    state.Q[...] = np.moveaxis(np.linalg.inv(chains_first.swapaxes(1, 2)), 0, -1)
    state.beta[...] = np.maximum(np.einsum("ghc,hc->gc", state.Q, state.rho), 0.0)


def move_row(state: State, g: int, r: float, target: Target, rng: np.random.Generator) -> int:
    """Propose a new row g in every chain, keep those still in Θ_K; return how many were kept."""
    p, log_p = refresh(state.log_P[g], target.a[g], r, rng)
    z = np.einsum("khc,hc->kc", state.Q, p)
    inside = z[g] > 0.0
    z_g = np.where(inside, z[g], 1.0)
    w = z / z_g
    beta = state.beta - state.beta[g] * w
    beta[g] = state.beta[g] / z_g
    inside &= beta.min(axis=0) >= 0.0
    if target.gamma is not None:
        log_ratio = -np.log(z_g) + log_gamma_ratio(beta, state.beta, target.gamma)
        inside &= log_ratio > -rng.standard_exponential(inside.shape)
    w[g] = 1.0 - 1.0 / z_g
    w *= inside
    state.Q -= w[:, None] * state.Q[g]
    np.copyto(state.beta, beta, where=inside)
    np.copyto(state.P[g], p, where=inside)
    np.copyto(state.log_P[g], log_p, where=inside)
    return int(np.count_nonzero(inside))


def log_gamma_ratio(new: Floats, old: Floats, gamma: Floats) -> Floats:
    """Compute Σ_k (γ_k − 1) log(β'_k / β_k); −inf outside Θ_K, where it is not used."""
    if np.all(gamma == 1.0):
        return np.zeros(new.shape[1:])
    tiny = np.finfo(float).tiny
    ratio = np.log(np.maximum(new, tiny) / np.maximum(old, tiny))
    return np.asarray(np.einsum("k,kc->c", gamma - 1.0, ratio))


def move_rho(state: State, r: float, target: Target, rng: np.random.Generator) -> int:
    """Propose ρ' from Dir(v̂ + 1) with P fixed (`full` only); return how many were kept."""
    assert target.gamma is not None
    rho, _ = refresh(np.log(state.rho), target.v_hat + 1.0, r, rng)
    beta = np.einsum("khc,hc->kc", state.Q, rho)
    inside = beta.min(axis=0) >= 0.0
    log_ratio = log_gamma_ratio(beta, state.beta, target.gamma)
    inside &= log_ratio > -rng.standard_exponential(inside.shape)
    np.copyto(state.rho, rho, where=inside)
    np.copyto(state.beta, beta, where=inside)
    return int(np.count_nonzero(inside))


def swap_rows(state: State, g: int, k: int, target: Target, rng: np.random.Generator) -> int:
    """Propose to exchange rows g and k: the hull is the same, only the densities differ."""
    d = (target.a[g] - target.a[k])[:, None]
    log_ratio = (d * (state.log_P[k] - state.log_P[g])).sum(axis=0)
    if target.gamma is not None:
        beta = state.beta[[g, k]]
        log_ratio += log_gamma_ratio(beta[::-1], beta, target.gamma[[g, k]])
    swap = log_ratio > -rng.standard_exponential(log_ratio.shape)
    for x in (state.P, state.log_P, state.Q, state.beta):
        x[[g, k]] = np.where(swap, x[[k, g]], x[[g, k]])
    return int(np.count_nonzero(swap))


def move_column(state: State, h: int, r: float, target: Target, rng: np.random.Generator) -> int:
    tiny = 1e-300
    a = target.a
    b = np.maximum(state.beta, tiny)
    log_b = np.log(b)
    log_c = state.log_P[:, h] + log_b - np.log(state.rho[h])
    c, log_c = refresh(log_c, a[:, h], r, rng)
    # theta^{-T} = Q / beta ; y = theta^{-1} theta'_h
    iT = state.Q / b[:, None]
    th = c * state.rho[h]
    y = np.einsum("gjc,gc->jc", iT, th)
    beta = np.maximum(b + th - state.P[:, h] * b, tiny)
    y_h = y[h]
    log_nb = np.log(beta)
    d = log_nb - log_b
    if target.gamma is None:
        ratio = np.log(np.abs(y_h) + tiny) - np.einsum("g,gc->c", a.sum(1), d)
    else:
        ratio = np.einsum("g,gc->c", target.gamma - a.sum(1), d)
    ok = (ratio > -rng.standard_exponential(ratio.shape)) & (y_h != 0)
    yh = np.where(ok, y_h, 1.0)
    w = y / yh
    w[h] = 1 - 1 / yh
    w *= ok
    new = (iT - w * iT[:, h][:, None]) * beta[:, None]
    np.copyto(state.Q, new, where=ok)
    d *= ok
    lp = state.log_P - d[:, None]
    lp[:, h] = np.where(ok, log_c + np.log(state.rho[h]) - log_nb, state.log_P[:, h])
    state.log_P[...] = lp
    np.copyto(state.P, np.exp(lp), where=ok)
    np.copyto(state.beta, beta, where=ok)
    return int(np.count_nonzero(ok))


def informed_swap(state: State, target: Target, rng: np.random.Generator) -> int:
    a, K = target.a, target.K
    C = state.beta.shape[1]
    L = (a @ state.log_P.transpose(1, 0, 2).reshape(K, -1)).reshape(K, K, C)
    gi, ki = np.triu_indices(K, 1)
    def ratios(L, lb):
        d = L[np.arange(K), np.arange(K)]
        t = L[gi, ki] + L[ki, gi] - d[gi] - d[ki]
        if target.gamma is not None:
            t += (target.gamma[gi] - target.gamma[ki])[:, None] * (lb[ki] - lb[gi])
        w = np.minimum(np.exp(np.minimum(t, 50.0)), 1e30)
        return w / (1 + w)
    lb = np.log(np.maximum(state.beta, 1e-300)) if target.gamma is not None else None
    cum = np.cumsum(ratios(L, lb), axis=0)
    Z = cum[-1]
    m = np.minimum((cum < rng.random(C) * Z).sum(0), len(gi) - 1)
    g, k = gi[m], ki[m]
    c = np.arange(C)
    L2 = L.copy()
    L2[:, g, c], L2[:, k, c] = L[:, k, c], L[:, g, c]
    if lb is not None:
        lb = lb.copy()
        lb[g, c], lb[k, c] = lb[k, c], lb[g, c]
    Z2 = ratios(L2, lb).sum(0)
    ok = np.flatnonzero(rng.random(C) * Z2 < Z)
    g, k = g[ok], k[ok]
    for x in (state.P, state.log_P, state.Q):
        x[g, :, ok], x[k, :, ok] = x[k, :, ok], x[g, :, ok]
    x = state.beta
    x[g, ok], x[k, ok] = x[k, ok], x[g, ok]
    return len(ok)
