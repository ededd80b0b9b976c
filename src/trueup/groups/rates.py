"""Given P: the base rates β_b of each group, for each draw of P.

    π(β) ∝ Π_g β_g^(α_g − 1) Π_h (Σ_g β_g p_gh)^v̂_h,

with α = κμ and what is known of the group besides. Every draw of P has a chain of its own, so
nothing of one draw of P lingers in the next. A move changes one class's share w = β_g and scales
the others, which leaves a density in one dimension,

    w^(α_g − 1) (1 − w)^(Σα − α_g − 1) Π_h (w p_gh + (1 − w) q_h)^v̂_h,   q = the others' prediction.

A beta distribution with its mode and its curvature on the logit scale comes close, so that most
proposals from it are accepted, whatever the group's size; with two classes an accepted one owes
nothing to what was before it. Data augmentation, units and rates in turn, is slow where classes are
rare or hard to tell apart, and its binomials cost more than these.

Inside, classes come first and draws last, (K, …, G, R): each step then works on long rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup import special
from trueup.contingency import solve_Q

__all__ = ["SWEEPS", "TINY", "base_rates", "draw_rates"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SWEEPS = 3
"""Moves of each class, of two classes two; `python studies/group_chains.py` prints what is left of
the start."""

# A rate that underflowed to 0 would leave a predicted unit without any class: 0/0. The product of
# three of these is still a positive float.
TINY = 1e-100
# The share of proposals with longer tails than the fitted ones: with this many times the variance,
# or, where a class has so few units, with the wall at 0 or 1 that the prior has.
WIDE = 0.4
LONG = 10.0
FEW = 10.0
NEWTON = 3
# Shares outside of this are not distinguished when the mode is sought.
LEAST = 1e-9


def draw_rates(
    rows: Floats,
    shape: Floats,
    v_hat: Integers,
    rng: np.random.Generator,
    *,
    sweeps: int | None = None,
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
    """
    K, _, R = rows.shape
    if sweeps is None:
        sweeps = SWEEPS if K > 2 else 2
    size = shape.sum(axis=0)
    total = size + v_hat.sum(axis=1)[:, None]
    middle = _start(rows, shape, v_hat)
    # modes are sought from here and, in turn, from above: a rare class may have one at 0 as well
    above = np.maximum(middle, (shape + v_hat.T[:, :, None]) / total)
    beta = np.maximum(rng.standard_gamma(middle * total), TINY)
    # a last column of ones, so that the sum over classes of β_g p_gh ends with that of β_g
    joined = np.concatenate([rows, np.ones((K, 1, R))], axis=1)[:, :, None, :]
    units = np.ascontiguousarray(v_hat.T, dtype=float)  # (K, G)
    log_fit = np.zeros(0)
    for sweep in range(sweeps):
        beta /= beta.sum(axis=0)
        after = [np.zeros((K + 1, 1, 1))]
        for g in range(K - 1, -1, -1):
            after.append(after[-1] + beta[g] * joined[g])
        if not log_fit.size:
            log_fit = _log_fit(after[-1][:-1], units)
        before: Floats = np.zeros((K + 1, 1, 1))
        for g in range(K if K > 2 else 1):
            rest = before + after[K - 1 - g]
            others = np.maximum(rest[-1], TINY)
            beta[g], log_fit = _move(
                beta[g] / others,
                (joined[g, :-1], rest[:-1] / others, units),
                (shape[g], size),
                (middle if sweep % 2 else above)[g],
                log_fit,
                rng,
            )
            beta[g] = np.maximum(beta[g] * others, TINY)
            before = before + beta[g] * joined[g]
    return np.asarray(beta)


def _move(
    odds: Floats,
    cell: tuple[Floats, Floats, Floats],
    prior: tuple[Floats, Floats],
    guess: Floats,
    log_fit: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Propose w / (1 − w) of one class; the odds and the log likelihood come back."""
    p, q, units = cell
    alpha, size = prior
    a, b = _fitted_beta(guess, cell, prior)
    # besides, a proposal with longer tails: up to the wall, where few units keep the class from it
    near_0, few = a < b, np.minimum(a, b) < FEW
    a_wide = np.where(few, np.where(near_0, np.minimum(a, alpha), a), a / LONG)
    b_wide = np.where(few, np.where(near_0, b, np.minimum(b, size - alpha)), b / LONG)
    lift = np.log(WIDE / (1 - WIDE)) + _log_beta(a, b) - _log_beta(a_wide, b_wide)

    def log_weight(odds: Floats) -> Floats:
        """Prior over proposal, but for constants: the mixture of both."""
        of, rest = np.log(odds), np.log1p(odds)
        fitted = a * of - (a + b) * rest
        wide = a_wide * of - (a_wide + b_wide) * rest + lift
        # log(e^x + e^y), several times as fast as np.logaddexp
        either = np.maximum(fitted, wide) + np.log1p(np.exp(-np.abs(fitted - wide)))
        return np.asarray(alpha * of - size * rest - either)

    far = rng.random(odds.shape) < WIDE
    above = rng.standard_gamma(np.where(far, a_wide, a))
    below = rng.standard_gamma(np.where(far, b_wide, b))
    new = np.maximum(above, TINY) / np.maximum(below, TINY)
    fit = _log_fit(new * p + q, units) - units.sum(axis=0)[:, None] * np.log1p(new)
    gain = fit - log_fit + log_weight(new) - log_weight(odds)
    accept = -rng.standard_exponential(odds.shape) < gain
    return np.where(accept, new, odds), np.where(accept, fit, log_fit)


def _log_beta(a: Floats, b: Floats) -> Floats:
    return np.asarray(special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b))


def _fitted_beta(
    guess: Floats, cell: tuple[Floats, Floats, Floats], prior: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Give (a, b) of the beta distribution with the mode and the curvature in logit w.

    The mode solves α_g + Σ_h v̂_h t_h = (Σα + N) w with t_h = w p_gh / (w p_gh + (1 − w) q_h). The
    search begins at a guess, never at the present w: the proposal must not know it.
    """
    p, q, units = cell
    alpha, size = prior
    total = size + units.sum(axis=0)[:, None]
    w = np.clip(guess, LEAST, 1 - LEAST)
    for step in range(NEWTON + 1):
        part = w * p
        t = part / (part + (1 - w) * q)
        mine = np.einsum("hgr,hg->gr", t, units)
        unsure = mine - np.einsum("hgr,hgr,hg->gr", t, t, units)
        spread = w * (1 - w)
        if step == NEWTON:
            break
        slope = alpha + mine - total * w
        curve = np.maximum(total * spread - unsure, 0.05 * total * spread)
        z = np.log(w / (1 - w)) + np.clip(slope / curve, -2.0, 2.0)
        w = np.clip(1 / (1 + np.exp(-z)), LEAST, 1 - LEAST)
    s = np.maximum(total - unsure / spread, np.minimum(size, 0.01 * total))
    return s * w, s * (1 - w)


def _log_fit(pi: Floats, units: Floats) -> Floats:
    return np.asarray(np.einsum("hgr,hg->gr", np.log(pi), units))


def _start(rows: Floats, shape: Floats, v_hat: Integers) -> Floats:
    """Give β (K, G, R) near the posterior's mean given each draw of P.

    One step of the expectation map F from the fixed point β̄ at the mean of P, stretched by
    (I − ∂F/∂β)⁻¹, follows the fixed point to first order as P varies (Newton's step).
    """
    centre, stretch = _fixed_point(rows.mean(axis=-1), shape.mean(axis=-1).T, v_hat)
    step = _expect(centre.T[:, :, None], rows, shape, v_hat)
    near = centre.T[:, :, None] + np.einsum("bgk,kbr->gbr", stretch, step - centre.T[:, :, None])
    return np.maximum(_expect(np.maximum(near, 0.2 * step), rows, shape, v_hat), TINY)


def _expect(beta: Floats, rows: Floats, shape: Floats, v_hat: Integers) -> Floats:
    """F(β) = (α + E[M | β]) / total, for each draw: (K, G, R)."""
    gain = np.zeros(shape.shape)
    for h in range(rows.shape[1]):
        pi = np.einsum("kgr,kr->gr", beta, rows[:, h])
        gain += rows[:, h, None, :] * (v_hat[:, h, None] / np.maximum(pi, TINY))
    mapped = shape + beta * gain
    return np.asarray(mapped / mapped.sum(axis=0))


def _fixed_point(P: Floats, shape: Floats, v_hat: Integers) -> tuple[Floats, Floats]:
    """β̄ = F(β̄) for each group, given one P, and (I − ∂F/∂β)⁻¹ there."""
    total = shape.sum(axis=1) + v_hat.sum(axis=1)
    beta = (shape + v_hat.sum(axis=1, keepdims=True) * _shares(shape)) / total[:, None]
    for step in range(15):
        mapped, slope = _map(beta, P, shape, v_hat, total)
        if step % 3 < 2:  # plain steps are slow and safe; every third is Newton's
            beta = mapped
            continue
        newton = beta + np.linalg.solve(slope, (mapped - beta)[:, :, None])[:, :, 0]
        beta = _shares(np.maximum(newton, 0.2 * mapped))
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
    slope[:, diagonal, diagonal] += 1.0 - gain
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
