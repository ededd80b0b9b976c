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
Mixture = tuple[Floats, Floats]

SWEEPS = 4
TIMES = 3
"""Moves of each class, and with two classes of the one share there is; what is left of the start
is printed by `python studies/group_chains.py`."""

# A rate that underflowed to 0 would leave a predicted unit without any class: 0/0. The product of
# three of these is still a positive float.
TINY = 1e-100
# Least weight of a tail's proposal, and the weight of one with this many times the variance.
LEAST = 0.02
WIDE = 0.1
LONG = 10.0
NEWTON = 4
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
    K = len(rows)
    shape = np.maximum(shape, TINY)
    # summed without the class itself: a difference would lose small ones
    others = [sum(shape[k] for k in range(K) if k != g) for g in range(K)]
    units = np.ascontiguousarray(v_hat.T, dtype=float)[:, :, None]  # (K, G, 1)
    centre, stretch = _fixed_point(rows.mean(axis=-1), shape.mean(axis=-1).T, v_hat)
    p = rows[:, :, None, :]
    if K == 2:
        share = _Share(p[0], p[1], units, (shape[0], shape[1]), centre[:, :1])
        z = share.move(share.draw(rng), rng, times=sweeps or TIMES)
        return np.asarray(np.maximum(np.exp(np.stack(_log_shares(z))), TINY))
    middle = _follow(centre, stretch, rows, shape, v_hat)
    log_beta = _log_gamma(middle * (shape.sum(axis=0) + units.sum(axis=0)), rng)
    for _ in range(sweeps or SWEEPS):
        log_beta -= log_beta.max(axis=0)
        after: list[Mixture | None] = [None]
        for g in range(K - 1, 0, -1):
            after.append(_mix((log_beta[g], p[g]), after[-1]))
        before: Mixture | None = None
        for g in range(K):
            rest, q = _mix(before, after[K - 1 - g])
            share = _Share(p[g], q, units, (shape[g], others[g]), middle[g])
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
    to_x, to_y = _log_shares(log_x - log_y)
    return log_x - to_x, np.exp(to_x) * p + np.exp(to_y) * q


class _Share:
    """One class's share w given the others' proportions: its density, and one to propose from.

    Both are densities of z = logit w, which reaches places that w as a float cannot. The proposal
    knows nothing of where the chain is. It mixes four beta distributions: one with the target's
    mode and curvature; one wider; and one for each tail, α log w at 0 and (Σα − α) log(1 − w) at
    1, with all units of the other classes or all of this one. So the target over the proposal is
    bounded, and no chain stays in a tail for long.

    Parameters
    ----------
    p, q : (K, 1 or G, R) ndarray
        Predictions of the class and of the others.
    units : (K, G, 1) ndarray
        Units per predicted class.
    prior : two (G, R) ndarray
        α of the class and the sum of the others'.
    guess : (G, R) ndarray
        Where to begin the search for the mode.
    """

    def __init__(
        self, p: Floats, q: Floats, units: Floats, prior: tuple[Floats, Floats], guess: Floats
    ) -> None:
        self.p, self.q, self.units, self.prior = p, q, units, prior
        alpha, other = prior
        N = units.sum(axis=0)
        z, a, b = self._fit(guess, N)
        self.a = [a, np.maximum(a / LONG, np.minimum(alpha, 1)), alpha, alpha + N]
        self.b = [b, np.maximum(b / LONG, np.minimum(other, 1)), other + N, other]
        norm = [_log_beta(a, b) for a, b in zip(self.a, self.b, strict=True)]
        # The target is a sum over where the units belong, so the tails' are parts of it. The first
        # stands for what they leave of the target at its mode.
        log_w, log_v = _log_shares(z)
        at_mode = self._log_target(log_w, log_v)
        zero, one = _log_fit(q, units), _log_fit(p, units)
        left = np.exp(zero + alpha * log_w + (other + N) * log_v - at_mode)
        left = 1 - left - np.exp(one + (alpha + N) * log_w + other * log_v - at_mode)
        laplace = at_mode - a * log_w - b * log_v + norm[0]
        mass = [laplace + np.log(np.maximum(left, TINY)), zero + norm[2], one + norm[3]]
        top = np.maximum(np.maximum(mass[0], mass[1]), mass[2])
        mass = [np.exp(m - top) for m in mass]
        scale = (1 - WIDE - 3 * LEAST) / (mass[0] + mass[1] + mass[2])
        fit, zero, one = (LEAST + scale * m for m in mass)
        self.steps = [fit, fit + WIDE, fit + WIDE + zero]  # cumulative weights
        self.height = [np.log(x) - y for x, y in zip((fit, WIDE, zero, one), norm, strict=True)]

    def move(self, z: Floats, rng: np.random.Generator, times: int = 1) -> Floats:
        """Propose a new z and accept it by Metropolis and Hastings' rule, some times."""
        weight = self._log_weight(z)
        for _ in range(times):
            new = self.draw(rng)
            there = self._log_weight(new)
            accept = -rng.standard_exponential(z.shape) < there - weight
            z, weight = np.where(accept, new, z), np.where(accept, there, weight)
        return z

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw z from the proposal."""
        pick = rng.random(self.a[0].shape)
        a, b = self.a[3], self.b[3]
        for i in (2, 1, 0):
            here = pick < self.steps[i]
            a, b = np.where(here, self.a[i], a), np.where(here, self.b[i], b)
        return _log_gamma(a, rng) - _log_gamma(b, rng)

    def _log_weight(self, z: Floats) -> Floats:
        """Log of target over proposal, but for a constant."""
        log_w, log_v = _log_shares(z)
        part = [
            c + a * log_w + b * log_v for a, b, c in zip(self.a, self.b, self.height, strict=True)
        ]
        top = np.maximum(np.maximum(part[0], part[1]), np.maximum(part[2], part[3]))
        total = np.exp(part[0] - top)
        for x in part[1:]:
            total += np.exp(x - top)
        return np.asarray(self._log_target(log_w, log_v) - top - np.log(total))

    def _log_target(self, log_w: Floats, log_v: Floats) -> Floats:
        alpha, other = self.prior
        pi = np.exp(log_w) * self.p + np.exp(log_v) * self.q
        return np.asarray(alpha * log_w + other * log_v + _log_fit(pi, self.units))

    def _fit(self, guess: Floats, N: Floats) -> tuple[Floats, Floats, Floats]:
        """Give the mode in z, and (a, b) of the beta distribution with it and its curvature.

        Σα log β + Σ v̂ log π is concave in w, so there is one mode, and the slope's sign says on
        which side of it one is: Newton's step is taken unless it leaves what is left, else that is
        halved.
        """
        alpha, other = self.prior
        total = alpha + other + N
        apart, both = self.p - self.q, self.p * self.q
        low, high = np.log(alpha / (other + N)), np.log((alpha + N) / other)
        z = np.clip(np.log(guess / np.maximum(1 - guess, TINY)), low, high)
        for step in range(NEWTON + 1):
            log_w, log_v = _log_shares(z)
            w, v = np.exp(log_w), np.exp(log_v)
            pull, unsure = np.zeros(z.shape), np.zeros(z.shape)
            for h, n in enumerate(self.units):
                inverse = 1 / (w * self.p[h] + v * self.q[h])
                each = n * inverse
                pull += each * apart[h]
                unsure += each * inverse * both[h]
            if step == NEWTON:
                break
            slope = alpha * v - other * w + w * v * pull
            rises = slope > 0
            low, high = np.where(rises, z, low), np.where(rises, high, z)
            new = z + slope / (w * v * np.maximum(total - unsure, 0.05 * total))
            z = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        s = np.maximum(total - unsure, np.minimum(alpha + other, 0.01 * total))
        return z, np.maximum(s * w, np.minimum(alpha, 1)), np.maximum(s * v, np.minimum(other, 1))


def _log_shares(z: Floats) -> tuple[Floats, Floats]:
    """Log w and log(1 − w) for z = logit w."""
    near = np.log1p(np.exp(-np.abs(z)))
    return np.minimum(z, 0.0) - near, np.minimum(-z, 0.0) - near


def _log_gamma(a: Floats, rng: np.random.Generator) -> Floats:
    """Draw the log of gamma variables: those of a small a are below the least float."""
    small = a < 1
    x = np.log(rng.standard_gamma(a + small))
    less = a[small]
    x[small] -= rng.standard_exponential(less.shape) / less  # Γ(a) is Γ(a + 1) U^(1/a)
    return np.asarray(x)


def _log_beta(a: Floats, b: Floats) -> Floats:
    return np.asarray(special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b))


def _log_fit(pi: Floats, units: Floats) -> Floats:
    return np.asarray((np.log(pi) * units).sum(axis=0))


def _follow(
    centre: Floats, stretch: Floats, rows: Floats, shape: Floats, v_hat: Integers
) -> Floats:
    """Give β (K, G, R) near the mode given each draw of P, from that at the mean of P.

    One step of the expectation map F from the fixed point β̄ at the mean of P, stretched by
    (I − ∂F/∂β)⁻¹, follows the fixed point to first order as P varies (Newton's step).
    """
    beta = centre.T[:, :, None]
    step = _expect(beta, rows, shape, v_hat)
    near = beta + np.einsum("bgk,kbr->gbr", stretch, step - beta)
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
    """β̄ = F(β̄) for each group, given one P, and (I − ∂F/∂β)⁻¹ there.

    F never lowers Σ α log β + Σ v̂ log π, which is concave, but climbs slowly; Newton's step is
    taken where it climbs higher. It may go the wrong way: a class that is rare in the prior and
    common in the group has ∂F/∂β > 1 near 0.
    """
    size, units = v_hat.sum(axis=1, keepdims=True), v_hat.T.astype(float)
    total = shape.sum(axis=1) + size[:, 0]

    def height(beta: Floats) -> Floats:
        return np.asarray((shape * np.log(beta)).sum(axis=1) + _log_fit((beta @ P).T, units))

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
