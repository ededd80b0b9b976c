"""Rates of all classes of a group at once: a distribution close to theirs, to propose from.

The proposal for x = log λ (`groups.near`) on a draw of P is x_k = log m_k + ε_k + Σ_{g>k} U_kg
(e^ε_g − 1): U carries how classes depend on each other, and the ε_g are independent. m is the mode
on that draw; the rest is the same for all draws but for α. Each e^ε is a mixture of a gamma
variable with the curvature that U leaves, and one with α_g alone, for no unit of that class, as
rare classes have. A group of few units may also have all of them in one class, whichever: its
proposal mixes these corners in.
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.near import FEW, Near, gamma_shape, weigh_empty
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Rng

MOST = 3.0
"""A rate moves the others' until it is this many times its mode."""
STEPS = 3
FAR = 1.5
"""Steps of each class by itself to the mode, and how far one may go up in log λ."""


class Proposal:
    """Proposals for R draws of P and G groups.

    `P` (R, K, L) are draws, none of them 0, with classes in the order of `near`; `alpha` (R, G or
    1, K) the concentrations, and `v` (G, L) units per predicted class.
    """

    def __init__(self, P: Floats, alpha: Floats, v: Floats, near: Near) -> None:
        self.P, self.alpha, self.v, self.near = P, alpha, v, near
        self.N, self.UT, self.least = v.sum(axis=1), near.U.swapaxes(1, 2), np.finfo(P.dtype).tiny
        few = bool(self.N.max(initial=0) <= FEW)
        self.log_m, self.pi, sums = _find_mode(P, alpha, v, near, 1 if few else STEPS, not few)
        weight, log_rate, log_m, second = near.weight, near.log_rate, near.log_m, near.second
        if sums is not None:  # in large groups, whether a class has units depends on P
            weight, log_rate = weigh_empty(alpha, self.log_m, near.part, sums)
            log_m, second = self.log_m, sums[1]
        self.s = s = gamma_shape(alpha, second, near.part)
        self.log_s, self.gamma_a, self.weight = np.log(s), special.gammaln(alpha), weight
        self.apart = log_m + log_rate
        self.falls = np.exp(self.apart)
        self.height = s * self.log_s - special.gammaln(s) + np.log(weight)
        with np.errstate(divide="ignore"):
            self.empty = np.log1p(-weight) - self.gamma_a + alpha * self.apart
        self.cornered = few or s.shape[2] == 2
        if self.cornered:
            more = special.gammaln(alpha + self.N[:, None]) - self.gamma_a
            norm = self.gamma_a.sum(axis=2)
            self.log_corners = np.log(np.maximum(near.corners, self.least)) - more - norm[..., None]

    def draw(self, rng: Rng) -> tuple[Floats, Floats, Floats]:
        """Draw ε (R, G, K); return it, x = log λ, and the log of target over proposal (R, G)."""
        some = rng.random(self.s.shape, self.P.dtype) < self.weight
        eps = log_gamma(np.where(some, self.s, self.alpha), rng)
        eps -= np.where(some, self.log_s, self.apart)
        if self.cornered:
            up = np.cumsum(self.near.corners, axis=1)
            pick = rng.random(eps.shape[:2], self.P.dtype) * (self.near.inside + up[:, -1])
            r, g = np.nonzero(pick < up[:, -1])
            if len(r):
                one = np.arange(eps.shape[2]) == (pick[r, g, None] >= up[g]).sum(axis=1)[:, None]
                alpha = np.broadcast_to(self.alpha, eps.shape)[r, g]
                eps[r, g] = self._undo(log_gamma(alpha + self.N[g, None] * one, rng), r, g)
        return eps, *self.weigh(eps)

    def find(self, log_beta: Floats, rng: Rng) -> tuple[Floats, Floats, Floats]:
        """Return the same as `draw` for rates β (R, G, K), with a total that is drawn."""
        total = np.broadcast_to(_sum(self.alpha) + self.N, log_beta.shape[:2])
        x = log_beta + log_gamma(total, rng)[..., None]
        r, g = np.indices(total.shape).reshape(2, -1)
        eps = self._undo(x[r, g], r, g).reshape(x.shape)
        return eps, *self.weigh(eps)

    def weigh(self, eps: Floats) -> tuple[Floats, Floats]:
        """Return x and the log of target over proposal at ε, wherever that came from."""
        ratio = np.exp(eps)
        x = eps + self.log_m
        x += _times(np.minimum(ratio, MOST) - 1, self.UT)
        lam = np.exp(x)
        own = _sum(self.alpha * x - lam)
        target = own + _sum(self.v * np.log(np.maximum(lam @ self.P / self.pi, self.least)))
        full = self.height + self.s * (eps - ratio)
        empty = self.empty + self.alpha * eps - self.falls * ratio
        free = _sum(np.maximum(full, empty))
        free += _sum(np.log(1 + np.exp(-np.abs(full - empty))))
        if not self.cornered:
            return x, target - free
        free += np.log(self.near.inside)
        high = self.N[:, None] * x + self.log_corners
        top = largest(high)
        corner = own + top + np.log(_sum(np.exp(high - top[..., None])))
        most = np.maximum(free, corner)
        return x, target - most - np.log(np.exp(free - most) + np.exp(corner - most))

    def _undo(self, x: Floats, r: NDArray[np.intp], g: NDArray[np.intp]) -> Floats:
        """ε of x that came from elsewhere: a corner, or where a chain is."""
        e = x - self.log_m[r, g]
        for k in range(e.shape[1] - 1, 0, -1):
            apart = np.minimum(np.exp(np.minimum(e[:, k], 50.0)), MOST) - 1
            e[:, :k] -= self.near.U[g, :k, k] * apart[:, None]
        return np.asarray(np.minimum(e, 50.0))


def _find_mode(
    P: Floats, alpha: Floats, v: Floats, near: Near, steps: int, more: bool
) -> tuple[Floats, Floats, tuple[Floats, Floats, Floats] | None]:
    """Return log λ (R, G, K) near the mode, π there, and with `more` Σ v̂ c, Σ v̂ c² and Σ v̂ c³.

    From the mode at the mean of P, Newton's steps in log λ. The first, of all classes, is with the
    curvature there; the others are of each class by itself.
    """
    T, least = P.swapaxes(1, 2), np.finfo(P.dtype).tiny
    square = T**2
    total = _sum(alpha) + v.sum(axis=1)  # of λ at the mode, whatever α was when `near` was found
    start = near.log_m + np.log(total / _sum(np.exp(near.log_m)))[..., None]
    m = np.exp(start)
    slope = alpha + m * ((v / np.maximum(m @ P, least)) @ T) - m
    x = start + np.clip(_times(slope, near.inverse), -FAR, FAR)
    for step in range(steps + 1):
        m = np.exp(x)
        pi = np.maximum(m @ P, least)
        if step == steps and not more:
            return x, pi, None
        one = v / pi
        two = one / pi
        first, second = m * (one @ T), m**2 * (two @ square)
        if step < steps:
            slope = alpha + first - m
            x += np.minimum(slope / (alpha + second + np.maximum(-slope, 0.0)), FAR)
            np.maximum(x, np.log(least), out=x)
    return x, pi, (first, second, m**3 * ((two / pi) @ (square * T)))


def log_gamma(a: Floats, rng: Rng) -> Floats:
    """Draw the log of gamma variables: those of a small a are below the least float."""
    small = a < 1
    x = rng.standard_gamma(a + small, dtype=a.dtype)  # of short floats one in millions is 0
    x = np.log(np.maximum(x, np.finfo(a.dtype).tiny))
    x -= rng.standard_exponential(a.shape, a.dtype) / a * small  # Γ(a) is Γ(a + 1) U^(1/a)
    return np.asarray(x)


def _times(x: Floats, A: Floats) -> Floats:
    """Multiply x (R, G, K) with each group's own matrix A (G, K, K)."""
    if x.shape[2] > 3:
        return (x.swapaxes(0, 1) @ A).swapaxes(0, 1)
    return np.asarray(sum(x[..., g, None] * A[:, g] for g in range(x.shape[2])))


def largest(x: Floats) -> Floats:
    """Return the largest along the last axis, which is short."""
    return np.asarray(reduce(np.maximum, (x[..., k] for k in range(x.shape[-1]))))


def _sum(x: Floats) -> Floats:
    """Sum over the last axis, which is short."""
    return np.asarray(x @ np.ones(x.shape[-1], x.dtype))
