"""Rates of all classes of a group at once: a distribution close to theirs, to propose from.

With a total that has no part in the data, λ = β times a gamma variable of the sum of all
concentrations, the rates are free of each other's sum:

    log π(λ) = Σ_g (α_g log λ_g − λ_g) + Σ_h v̂_h log Σ_g λ_g p_gh      as a density of x = log λ.

Near its mode m its curvature is J = diag α + C diag(v̂) Cᵀ, where c_gh is the share of class g among
the units predicted h. The proposal is log λ_k = log m_k + ε_k + Σ_{g>k} U_kg (λ_g/m_g − 1 without
the others' part): U, from the Cholesky factor of J, carries how classes depend on each other, and
the ε_g are independent. Each e^ε is a mixture of a gamma variable with the curvature that U leaves,
and one with α_g alone, for no unit of that class, as rare classes have. A group of few units may
also have all of them in one class, whichever: its proposal mixes these corners in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics import special

__all__ = ["TINY", "Near", "Proposal"]

Floats = NDArray[np.float64]

TINY = 1e-100
"""A rate of 0 would leave a predicted unit without any class; three of these have a product > 0."""
WIDER = 0.85
"""The proposal has this part of the target's curvature."""
BULK = 25.0
"""With as much curvature no class is empty: 5 standard deviations."""
LEAST = 0.05
"""Least weight of each part of a mixture."""
MOST = 3.0
"""A rate moves the others' until it is this many times its mode."""
STEPS = 5
FAR = 1.5
"""Steps to the mode, and how far one may go up in log λ."""
FEW = 100
"""Units of a group that may all be in one class; with two classes of any group."""


class Near(NamedTuple):
    """What a group's proposals have in common, found once, at the mean of P.

    The order of the classes, (K,): those with a small α depend on no other and are the last. In
    that order, the mode β̄ (G, K), U (G, K, K), and the part of each class's curvature that U leaves
    (G, K).
    """

    order: NDArray[np.intp]
    centre: Floats
    U: Floats
    part: Floats

    def of(self, some: NDArray[np.bool_]) -> Near:
        """Return the same for some groups."""
        return Near(self.order, *(x[some] for x in self[1:]))


class Proposal:
    """Proposals for R draws of P and G groups.

    Parameters
    ----------
    P : (R, K, L) ndarray
        Draws of P, none of them 0.
    alpha : (R, G, K) ndarray
        The concentrations.
    v : (G, L) ndarray
        Units per predicted class.
    near : Near
        What they have in common.
    """

    def __init__(self, P: Floats, alpha: Floats, v: Floats, near: Near) -> None:
        self.P, self.alpha, self.v, self.U = P, alpha, v, near.U
        self.N = v.sum(axis=1)
        m, first, second, third = _find_mode(P, alpha, v, near.centre)
        curve = near.part * (alpha + second)
        s = np.maximum(WIDER * curve, np.minimum(alpha, 1.0))
        self.m, self.log_m, self.s, self.log_s = m, np.log(m), s, np.log(s)
        gamma_s, self.gamma_a = special.gammaln(s), special.gammaln(alpha)
        # without the class: its likelihood Σ v log(1 − c), how fast that falls, the masses of both
        none = -(first + second / 2 + third / 3 + _tail(second, third))
        falls = np.maximum(1 - (first + second + third) / m, np.sqrt(second + 2 * third) / m)
        self.rate = np.clip(falls, TINY, 1.0)
        log_rate = np.log(self.rate)
        mass = alpha * self.log_m - m + s - s * self.log_s + gamma_s
        mass += np.log(np.maximum(-np.expm1(none), TINY))
        odds = np.exp(np.minimum(none + self.gamma_a - alpha * log_rate - mass, 300.0))
        weight = LEAST + (1 - 2 * LEAST) / (1 + odds)
        if alpha.shape[2] == 2:  # without one class all units are in the other: a corner
            weight = np.full(alpha.shape, 1 - LEAST)
        self.weight = np.where((curve < BULK) & (alpha < 1), weight, 1.0)
        self.height = s * self.log_s - gamma_s + np.log(self.weight)
        with np.errstate(divide="ignore"):
            self.empty = np.log1p(-self.weight) - self.gamma_a + alpha * (log_rate + self.log_m)
        self.apart = self.log_m + log_rate
        self.corners: Floats | None = None
        if alpha.shape[2] == 2 or self.N.max(initial=0) <= FEW:
            self._add_corners()

    def _add_corners(self) -> None:
        """Weigh "all units in class k" (R, G, K), and the rest (R, G), by their masses."""
        more = special.gammaln(self.alpha + self.N[:, None]) - self.gamma_a
        corner = self.v @ np.log(self.P.swapaxes(1, 2))
        fit = _sum(self.v * np.log(self.m @ self.P))
        # the target is a sum over where units belong: what corners leave of it at the mode
        left = 1 - _sum(np.exp(corner + self.N[:, None] * self.log_m - fit[..., None]))
        middle = self.log_target(self.log_m) - _sum(self.height - np.log(self.weight) - self.s)
        middle += np.log(np.maximum(left, TINY))
        corner += more + self._norm()[..., None]
        top = np.maximum(corner.max(axis=2), middle)
        corner, inside = np.exp(corner - top[..., None]), np.exp(middle - top)
        total = inside + corner.sum(axis=2)
        self.inside = 2 * LEAST + (1 - 2 * LEAST) * inside / total
        rest = (1 - 2 * LEAST) / total
        self.corners = corner * rest[..., None]
        self.log_corners = np.log(np.maximum(self.corners, TINY)) - more

    def _norm(self) -> Floats:
        return np.asarray(self.gamma_a.sum(axis=2))

    def log_target(self, x: Floats) -> Floats:
        """Log density (R, G) at x = log λ (R, G, K)."""
        lam = np.exp(x)
        pi = np.maximum(lam @ self.P, TINY)
        return _sum(self.alpha * x - lam) + _sum(self.v * np.log(pi))

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw x = log λ, and the log (R, G) of target over proposal there."""
        some = rng.random(self.weight.shape) < self.weight
        eps = log_gamma(np.where(some, self.s, self.alpha), rng)
        eps -= np.where(some, self.log_s, self.apart)
        ratio = np.exp(eps)
        x = eps + self.log_m
        x += np.einsum("bkg,rbg->rbk", self.U, np.minimum(ratio, MOST) - 1)
        if self.corners is None:
            return x, self.log_target(x) - self._log_free(eps, ratio)
        up = np.cumsum(self.corners, axis=2)
        pick = (rng.random(self.inside.shape) * (self.inside + up[..., -1]))[..., None]
        one = (pick < up) & (pick >= up - self.corners)
        at_corner = one.any(axis=2)
        r, g = np.nonzero(at_corner)
        there = self.alpha[r, g] + self.N[g, None] * one[r, g]
        x[r, g] = log_gamma(there, rng)
        eps, ratio = self._undo(x, eps, ratio, r, g)
        free = np.log(self.inside) + self._log_free(eps, ratio)
        common = _sum(self.alpha * x - np.exp(x)) - self._norm()
        high = self.N[:, None] * x + self.log_corners
        top = high.max(axis=2)
        corner = common + top + np.log(_sum(np.exp(high - top[..., None])))
        most = np.maximum(free, corner)
        log_q = most + np.log(np.exp(free - most) + np.exp(corner - most))
        return x, self.log_target(x) - log_q

    def _undo(
        self, x: Floats, eps: Floats, ratio: Floats, r: NDArray[np.intp], g: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """ε and e^ε of draws that came from a corner."""
        e = x[r, g] - self.log_m[r, g]
        for k in range(e.shape[1] - 1, 0, -1):
            apart = np.minimum(np.exp(np.minimum(e[:, k], 50.0)), MOST) - 1
            e[:, :k] -= self.U[g, :k, k] * apart[:, None]
        eps[r, g] = e
        ratio[r, g] = np.exp(np.minimum(e, 50.0))
        return eps, ratio

    def _log_free(self, eps: Floats, ratio: Floats) -> Floats:
        """Log density of the mixtures of all classes."""
        full = self.height + self.s * (eps - ratio)
        empty = self.empty + self.alpha * eps - self.m * self.rate * ratio
        return _sum(np.maximum(full, empty) + np.log(1 + np.exp(-np.abs(full - empty))))


def _find_mode(
    P: Floats, alpha: Floats, v: Floats, beta: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return λ (R, G, K) near the mode, and Σ v̂ c, Σ v̂ c² and Σ v̂ c³ there.

    Newton's steps in log λ, for each class by itself, from β (G, K), where the mode is for other P.
    """
    m = beta * (alpha.sum(axis=2) + v.sum(axis=1))[..., None]
    T = P.swapaxes(1, 2)
    square = T**2
    for step in range(STEPS + 1):
        pi = np.maximum(m @ P, TINY)
        one = v / pi
        two = one / pi
        first, second = m * (one @ T), m**2 * (two @ square)
        if step < STEPS:
            slope = alpha + first - m
            move = slope / (alpha + second + np.maximum(-slope, 0.0))
            m = np.maximum(m * np.exp(np.minimum(move, FAR)), TINY)
    return m, first, second, m**3 * ((two / pi) @ (square * T))


def _tail(second: Floats, third: Floats) -> Floats:
    """Σ v̂ (−log(1 − c) − c − c²/2 − c³/3), as if all c were Σ v̂ c³ / Σ v̂ c²."""
    c = np.minimum(third / np.maximum(second, TINY), 1.0)
    log_left = np.log(np.maximum(1 - c, TINY))
    some = c > 0.05  # below, a difference would lose it
    cubed = np.where(some, c, 1.0) ** 3
    far = -log_left - c - c**2 / 2 - c**3 / 3
    return np.asarray(third * np.where(some, far / cubed, c / 4))


def log_gamma(a: Floats, rng: np.random.Generator) -> Floats:
    """Draw the log of gamma variables: those of a small a are below the least float."""
    small = a < 1
    x = np.log(rng.standard_gamma(a + small))
    less = a[small]
    x[small] -= rng.standard_exponential(less.shape) / less  # Γ(a) is Γ(a + 1) U^(1/a)
    return np.asarray(x)


def _sum(x: Floats) -> Floats:
    """Sum over the last axis, which is short."""
    return np.asarray(x @ np.ones(x.shape[-1]))
