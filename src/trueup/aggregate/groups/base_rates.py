"""Given P: the base rates β_b of each group, for each draw of P.

    π(β) ∝ Π_g β_g^(α_g − 1) Π_h (Σ_g β_g p_gh)^v̂_h,

with α = κμ and what is known of the group besides. Every draw of P has a chain of its own, so
no draw depends on the one before. A move changes one class's share w = β_g and scales
the others, which leaves a density in one dimension,

    w^(α_g − 1) (1 − w)^(Σα − α_g − 1) Π_h (w p_gh + (1 − w) q_h)^v̂_h,   q = the others' prediction.

Beta distributions come close to it (`groups.share`), so that most proposals are accepted, whatever
the group's size; with two classes a proposal is independent of the current state. Data
augmentation, units and rates in turn, is slow where classes are rare or hard to tell apart, and its
binomials cost more than these. Rates are kept as logs: with a small α most would underflow.

Inside, classes come first and draws last, (K, …, G, R): each step then works on long rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.share import TINY, Share, log_fit, log_gamma, log_shares
from trueup.draws.contingency import solve_Q
from trueup.numerics import special

__all__ = ["SWEEPS", "TINY", "base_rates", "draw_rates"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mixture = tuple[Floats, Floats]

SWEEPS = 3
"""Moves of each class; `python studies/group_chains.py` prints how much the start still matters."""

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
    sweeps: int | None = None,
    start: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Draw β (K, G, R) of G groups.

    Parameters
    ----------
    rows : (K, K, R) ndarray
        Draws of P, none of them 0.
    shape : (K, G, R) ndarray
        α: the prior's concentrations and the known units of each true class.
    v_hat : (G, K) ndarray of int
        Units per group and predicted class.
    rng : numpy.random.Generator
        Source of randomness.
    sweeps : int, optional
        How often each class is moved.
    start : two ndarrays, optional
        What `fixed_point` returns near these draws; by default it is found at their mean.
    """
    K = len(rows)
    shape = np.maximum(shape, TINY)
    units = np.ascontiguousarray(v_hat.T, dtype=float)[:, :, None]  # (K, G, 1)
    centre, stretch = start or fixed_point(rows.mean(axis=-1), shape.mean(axis=-1).T, v_hat)
    p = rows[:, :, None, :]
    if K == 2:
        share = Share(p[0], p[1], units, (shape[0], shape[1]), centre[:, :1])
        z = share.move(share.draw(rng), rng, times=sweeps or SWEEPS)
        return np.asarray(np.maximum(np.exp(np.stack(log_shares(z))), TINY))
    # summed without the class itself: a difference would lose small ones
    others = [sum(shape[k] for k in range(K) if k != g) for g in range(K)]
    middle = _follow(centre, stretch, rows, shape, v_hat)
    log_beta = log_gamma(_begin(middle, rows, shape, units, rng), rng)
    for _ in range(sweeps or SWEEPS):
        log_beta -= log_beta.max(axis=0)
        after: list[Mixture | None] = [None]
        for g in range(K - 1, 0, -1):
            after.append(_mix((log_beta[g], p[g]), after[-1]))
        before: Mixture | None = None
        for g in range(K):
            rest, q = _mix(before, after[K - 1 - g])
            share = Share(p[g], q, units, (shape[g], others[g]), middle[g])
            log_beta[g] = share.move(log_beta[g] - rest, rng) + rest
            before = _mix(before, (log_beta[g], p[g]))
    beta = np.exp(log_beta - log_beta.max(axis=0))
    return np.asarray(np.maximum(beta / beta.sum(axis=0), TINY))


def _mix(x: Mixture | None, y: Mixture | None) -> Mixture:
    """Join classes: the log of their sum, and what they predict together."""
    if x is None or y is None:
        one = x or y
        assert one is not None
        return one
    (log_x, p), (log_y, q) = x, y
    to_x, to_y = log_shares(log_x - log_y)
    return log_x - to_x, np.exp(to_x) * p + np.exp(to_y) * q


def _follow(
    centre: Floats, stretch: Floats, rows: Floats, shape: Floats, v_hat: Integers
) -> Floats:
    """Return β (K, G, R) near the mode given each draw of P, from that at the mean of P.

    One step of the expectation map F from the fixed point β̄ at the mean of P, stretched by
    (I − ∂F/∂β)⁻¹, follows the fixed point to first order as P varies (Newton's step).
    """
    beta = centre.T[:, :, None]
    step = _expect(beta, rows, shape, v_hat)
    near = beta + np.einsum("bgk,kbr->gbr", stretch, step - beta)
    return np.maximum(_expect(np.maximum(near, 0.2 * step), rows, shape, v_hat), TINY)


def _begin(
    middle: Floats, rows: Floats, shape: Floats, units: Floats, rng: np.random.Generator
) -> Floats:
    """Choose the Dirichlet distribution (K, G, R) that a chain starts from.

    One around the mode, or all units in one class, with the probability of their masses: as in
    `Share`, but for all classes at once. A group of few units may be at any of these corners, and
    to go from one to another takes several sweeps.
    """
    K, N = len(rows), units.sum(axis=0)
    near = middle * (shape.sum(axis=0) + N)
    log_m = np.log(middle)
    fit = log_fit(np.einsum("kgr,khr->hgr", middle, rows), units)
    corner = np.einsum("khr,hg->kgr", np.log(rows), units[:, :, 0])
    left = 1 - np.exp(corner + N * log_m - fit).sum(axis=0)
    inside = fit + np.log(np.maximum(left, TINY)) + ((shape - near) * log_m).sum(axis=0)
    inside += (special.gammaln(near) - special.gammaln(shape)).sum(axis=0)
    corner += special.gammaln(shape + N) - special.gammaln(shape)
    mass = np.concatenate([corner, inside[None]])
    pick = (mass - np.log(rng.standard_exponential(mass.shape))).argmax(axis=0)
    every = np.arange(K)[:, None, None]
    return np.asarray(np.where(pick == K, near, shape + N * (pick == every)))


def _expect(beta: Floats, rows: Floats, shape: Floats, v_hat: Integers) -> Floats:
    """F(β) = (α + E[M | β]) / total, for each draw: (K, G, R)."""
    gain = np.zeros(shape.shape)
    for h in range(rows.shape[1]):
        pi = np.einsum("kgr,kr->gr", beta, rows[:, h])
        gain += rows[:, h, None, :] * (v_hat[:, h, None] / np.maximum(pi, TINY))
    mapped = shape + beta * gain
    return np.asarray(mapped / mapped.sum(axis=0))


def fixed_point(P: Floats, shape: Floats, v_hat: Integers) -> tuple[Floats, Floats]:
    """β̄ = F(β̄) for each group, given one P, and (I − ∂F/∂β)⁻¹ there.

    F never lowers Σ α log β + Σ v̂ log π, which is concave, but climbs slowly; Newton's step is
    taken where it climbs higher. It may go down: a class that is rare in the prior and
    common in the group has ∂F/∂β > 1 near 0.
    """
    size, units = v_hat.sum(axis=1, keepdims=True), v_hat.T.astype(float)
    total = shape.sum(axis=1) + size[:, 0]

    def height(beta: Floats) -> Floats:
        return np.asarray((shape * np.log(beta)).sum(axis=1) + log_fit((beta @ P).T, units))

    beta = _shares(shape + 0.5 * v_hat + 0.5 * size * _shares(shape))
    for _ in range(FIXED):
        mapped, slope = _map(beta, P, shape, v_hat, total)
        newton = beta + np.linalg.solve(slope, (mapped - beta)[:, :, None])[:, :, 0]
        newton = _shares(np.maximum(newton, 0.2 * mapped))
        beta = np.where((height(newton) > height(mapped))[:, None], newton, mapped)
    _, slope = _map(beta, P, shape, v_hat, total)
    return beta, np.asarray(np.linalg.inv(slope))


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
