"""Given P: the base rates β_b of each group, for each draw of P.

    π(β) ∝ Π_g β_g^(α_g − 1) Π_h (Σ_g β_g p_gh)^v̂_h,

with α = κμ and what is known of the group besides. Every draw of P has a chain of its own, so no
draw depends on the one before. A chain proposes all rates of a group at once, from a distribution
close to π that does not depend on where the chain is (`groups.proposal`), and accepts by the rule
of Metropolis and Hastings: 40–90% with up to 15 classes, whatever the group's size. Data
augmentation, units and rates in turn, is slow where classes are rare or hard to tell apart, and its
binomials cost more than these. Rates are drawn as logs: with a small α most would underflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.proposal import FEW, TINY, Near, Proposal
from trueup.draws.contingency import solve_Q

__all__ = ["MOVES", "TINY", "base_rates", "draw_rates"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOVES = 4
"""Proposals after the first; `python studies/group_chains.py` prints how much the start matters."""

# Steps to the mode at the mean of P.
FIXED = 8
# Without units or a prior to tell classes apart there would be no Newton step.
RIDGE = 1e-6


def draw_rates(
    rows: Floats,
    shape: Floats,
    v_hat: Integers,
    rng: np.random.Generator,
    *,
    moves: int | None = None,
    start: Near | None = None,
) -> Floats:
    """Draw β (K, G, R) of G groups.

    Parameters
    ----------
    rows : (K, L, R) ndarray
        Draws of P, none of them 0.
    shape : (K, G, R) ndarray
        α: the prior's concentrations and the known units of each true class.
    v_hat : (G, L) ndarray of int
        Units per group and predicted class.
    rng : numpy.random.Generator
        Source of randomness.
    moves : int, optional
        How many proposals there are after the first.
    start : Near, optional
        What `fixed_point` returns near these draws; by default it is found at their mean.
    """
    shape = np.maximum(shape, TINY)
    start = start or fixed_point(rows.mean(axis=-1), shape.mean(axis=-1).T, v_hat)
    order = start.order
    P, alpha = np.ascontiguousarray(rows[order].transpose(2, 0, 1)), shape[order].transpose(2, 1, 0)
    beta, few = np.empty((len(shape), *shape.shape[:0:-1])), v_hat.sum(axis=1) <= FEW  # (K, R, G)
    for some in (few, ~few):
        if some.any():
            own = np.ascontiguousarray(alpha[:, some])
            v, near = v_hat[some].astype(float), start.of(some)
            x = _chain(Proposal(P, own, v, near), moves or MOVES, rng)
            x = np.exp(x - x.max(axis=2, keepdims=True))
            at = np.ix_(order, np.arange(len(P)), np.flatnonzero(some))
            beta[at] = np.maximum(_shares(x), TINY).transpose(2, 0, 1)
    return beta.swapaxes(1, 2)


def _chain(proposal: Proposal, moves: int, rng: np.random.Generator) -> Floats:
    """Propose and accept; return x = log λ (R, G, K)."""
    x, weight = proposal.draw(rng)
    for _ in range(moves):
        new, there = proposal.draw(rng)
        accept = -rng.standard_exponential(weight.shape) < there - weight
        weight = np.where(accept, there, weight)
        x = np.where(accept[..., None], new, x)
    return x


def fixed_point(P: Floats, shape: Floats, v_hat: Integers) -> Near:
    """β̄ = F(β̄) for each group, given one P, and how to propose near it.

    F never lowers Σ α log β + Σ v̂ log π, which is concave, but climbs slowly; Newton's step is
    taken where it climbs higher. It may go down: a class that is rare in the prior and
    common in the group has ∂F/∂β > 1 near 0.
    """
    size = v_hat.sum(axis=1, keepdims=True)
    total = shape.sum(axis=1) + size[:, 0]

    def height(beta: Floats) -> Floats:
        return np.asarray(
            (shape * np.log(beta)).sum(axis=1) + (v_hat * np.log(beta @ P)).sum(axis=1)
        )

    beta = _shares(shape + 0.5 * v_hat + 0.5 * size * _shares(shape))
    for _ in range(FIXED):
        mapped, slope = _map(beta, P, shape, v_hat, total)
        newton = beta + np.linalg.solve(slope, (mapped - beta)[:, :, None])[:, :, 0]
        newton = _shares(np.maximum(newton, 0.2 * mapped))
        beta = np.where((height(newton) > height(mapped))[:, None], newton, mapped)
    order = np.argsort(-shape.mean(axis=0))
    beta, P, shape = beta[:, order], P[order], shape[:, order]
    c = beta[:, :, None] * P / (beta @ P)[:, None]
    curve = (c * v_hat[:, None]) @ c.swapaxes(1, 2)
    every = np.arange(len(P))
    own = curve[:, every, every] + shape
    curve[:, every, every] = own * (1 + RIDGE) + TINY
    lower = np.linalg.cholesky(curve)
    left = lower[:, every, every]
    U = np.linalg.inv((lower / left[:, None]).swapaxes(1, 2)) - np.eye(len(P))
    return Near(order, beta, U, left**2 / np.maximum(own, TINY))


def _map(
    beta: Floats, P: Floats, shape: Floats, v_hat: Integers, total: Floats
) -> tuple[Floats, Floats]:
    """F(β) (G, K) and I − ∂F/∂β (G, K, K)."""
    ratio = v_hat / (beta @ P) / total[:, None]  # v̂_h / π_h, per unit
    gain = ratio @ P.T
    mapped = shape / total[:, None] + beta * gain
    curve = np.einsum("bh,gh,kh->bgk", ratio / (beta @ P), P, P)
    slope = beta[:, :, None] * curve
    diagonal = np.arange(len(P))
    # 1 − gain where β = F(β), and never negative, as the curvature of a concave function
    slope[:, diagonal, diagonal] += np.maximum(shape / total[:, None] / beta, RIDGE)
    return mapped, slope


def _shares(x: Floats) -> Floats:
    return np.asarray(x / x.sum(axis=-1, keepdims=True))


def base_rates(P: Floats, v_hat: Integers, *, steps: int = 200) -> Floats:
    """The population's base rates β (R, K) that make v̂ most likely given each draw of P.

    For P in Θ_K(v̂) they are Qv̂/N; for others the nearest in likelihood, never negative. The
    expectation map, started from Qv̂ where that is permissible.
    """
    N = v_hat.sum()
    beta = solve_Q(P, v_hat / N)
    inside = np.isfinite(beta).all(axis=1) & (beta > 0).all(axis=1)
    outside = ~inside
    if outside.any():
        K = P.shape[1]
        x, rows = np.full((int(outside.sum()), K), 1.0 / K), np.maximum(P[outside], TINY)
        for _ in range(steps):
            pi = np.einsum("rg,rgh->rh", x, rows)
            x = x * np.einsum("rgh,rh->rg", rows, v_hat / N / pi)
        beta[outside] = _shares(np.maximum(x, TINY))
    return _shares(beta)
