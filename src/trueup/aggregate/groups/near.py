"""Where a group's base rates lie, found once, at the mean of P: what all its proposals share.

With a total that has no part in the data, λ = β times a gamma variable of the sum of all
concentrations, the rates are free of each other's sum:

    log π(λ) = Σ_g (α_g log λ_g − λ_g) + Σ_h v̂_h log Σ_g λ_g p_gh      as a density of x = log λ.

At its mode m its curvature is J = diag α + C diag(v̂) Cᵀ, where c_gh is the share of class g among
the units predicted h.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers

TINY = 1e-100
"""A rate of 0 would leave a predicted unit without any class; three of these have a product > 0."""
WIDER = 0.9
"""The proposal has this part of the target's curvature."""
BULK = 25.0
"""With as much curvature no class is empty: 5 standard deviations."""
LEAST = 0.05
"""Least weight of each part of a mixture."""
FEW = 100
"""Units of a group that may all be in one class; with two classes of any group."""
STEPS = 8
"""Steps to the mode."""
RIDGE = 1e-6
"""Without units or a prior to tell classes apart there would be no Newton step."""


class Near(NamedTuple):
    """What the proposals of G groups share.

    `order` (K,) of the classes: those with a small α depend on no other and are the last. In that
    order: `log_m` (G, K), the mode; `inverse` (G, K, K) of the curvature; `U` (G, K, K), how
    classes depend on those after them, from its Cholesky factor; `part` (G, K) of the curvature
    that U leaves, and `second` (G, K), Σ v̂ c²; `weight` (G, K), the probability that a group has
    units of a class, and `log_rate` (G, K), how fast the density falls if it has none; the
    probabilities `corners` (G, K) that all units are in one class, and `inside` (G,) of the rest.
    """

    order: NDArray[np.intp]
    log_m: Floats
    inverse: Floats
    U: Floats
    part: Floats
    second: Floats
    weight: Floats
    log_rate: Floats
    corners: Floats
    inside: Floats

    def of(self, some: NDArray[np.intp] | slice) -> Near:
        """Return the same for some groups."""
        return Near(self.order, *(x[some] for x in self[1:]))

    def to(self, kind: type) -> Near:
        """Return the same in single or double precision."""
        return Near(self.order, *(x.astype(kind) for x in self[1:]))


def find_near(P: Floats, alpha: Floats, v_hat: Integers) -> Near:
    """Find the modes given P (K, L), α (G, K) and v̂ (G, L), and the masses around them."""
    order = np.argsort(-alpha.mean(axis=0))
    P, alpha, v = P[order], np.maximum(alpha[:, order], TINY), v_hat.astype(float)
    N = v.sum(axis=1)
    m = np.maximum(_mode(P, alpha, v) * (alpha.sum(axis=1) + N)[:, None], TINY)
    pi, T = m @ P, P.T
    ratio = v / pi
    first, second = m * (ratio @ T), m**2 * ((ratio / pi) @ T**2)
    third = m**3 * ((ratio / pi**2) @ T**3)
    c = m[:, :, None] * P / pi[:, None]
    J, every = (c * v[:, None]) @ c.swapaxes(1, 2), np.arange(len(P))
    own = second + alpha
    J[:, every, every] = own * (1 + RIDGE) + TINY
    lower = np.linalg.cholesky(J)
    left = lower[:, every, every]
    U = np.linalg.inv((lower / left[:, None]).swapaxes(1, 2)) - np.eye(len(P))
    part = left**2 / np.maximum(own, TINY)
    s = gamma_shape(alpha, second, part)
    log_m, gamma_a = np.log(m), special.gammaln(alpha)
    weight, log_rate = weigh_empty(alpha, log_m, part, (first, second, third))
    # the target is a sum over where units belong: what corners leave of it at the mode
    corner, fit = v @ np.log(T), (v * np.log(pi)).sum(axis=1)
    beyond = 1 - np.exp(np.minimum(corner + N[:, None] * log_m - fit[:, None], 0.0)).sum(axis=1)
    middle = (alpha * log_m - m - s * np.log(s) + special.gammaln(s) + s).sum(axis=1) + fit
    middle += np.log(np.maximum(beyond, TINY))
    corner += special.gammaln(alpha + N[:, None]) - gamma_a + gamma_a.sum(axis=1)[:, None]
    top = np.maximum(corner.max(axis=1), middle)
    corner, inside = np.exp(corner - top[:, None]), np.exp(middle - top)
    rest = (1 - 2 * LEAST) / (inside + corner.sum(axis=1))
    inside = 2 * LEAST + inside * rest
    corners = corner * rest[:, None]
    inverse = np.linalg.inv(J)
    return Near(order, log_m, inverse, U, part, second, weight, log_rate, corners, inside)


def gamma_shape(alpha: Floats, second: Floats, part: Floats) -> Floats:
    """Shape of the gamma variable that has the curvature that U leaves, or a little less."""
    return np.maximum(WIDER * part * (alpha + second), np.minimum(alpha, 1.0))


def weigh_empty(
    alpha: Floats, log_m: Floats, part: Floats, sums: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the probability that a group has units of a class, and the log rate if it has none.

    `sums` are Σ v̂ c, Σ v̂ c² and Σ v̂ c³ at the mode m.
    """
    first, second, third = sums
    s, m, least = gamma_shape(alpha, second, part), np.exp(log_m), np.finfo(log_m.dtype).tiny
    # without the class: its likelihood Σ v log(1 − c), how fast that falls, the masses of both
    none = -(first + second / 2 + third / 3 + _tail(second, third))
    falls = np.maximum(1 - (first + second + third) / m, np.sqrt(second + 2 * third) / m)
    log_rate = np.log(np.clip(falls, least, 1.0))
    weight = np.full(s.shape, 1 - LEAST, s.dtype)
    if alpha.shape[-1] > 2:  # of two classes, without one all units are in the other: a corner
        mass = alpha * log_m - m + s - s * np.log(s) + special.gammaln(s)
        mass += np.log(np.maximum(-np.expm1(none), least))
        odds = np.exp(np.minimum(none + special.gammaln(alpha) - alpha * log_rate - mass, 80.0))
        weight = LEAST + (1 - 2 * LEAST) / (1 + odds)
    bulk = (part * (alpha + second) >= BULK) | (alpha >= 1)
    return np.where(bulk, np.ones((), s.dtype), weight), log_rate


def _mode(P: Floats, alpha: Floats, v: Floats) -> Floats:
    """β̄ = F(β̄) (G, K), the expectation map's fixed point, for each group.

    F never lowers Σ α log β + Σ v̂ log π, which is concave, but climbs slowly; Newton's step is
    taken where it climbs higher. It may go down: a class that is rare in the prior and
    common in the group has ∂F/∂β > 1 near 0.
    """
    N = v.sum(axis=1, keepdims=True)
    total = alpha.sum(axis=1, keepdims=True) + N
    diagonal = np.arange(len(P))

    def height(beta: Floats) -> Floats:
        return np.asarray((alpha * np.log(beta)).sum(axis=1) + (v * np.log(beta @ P)).sum(axis=1))

    beta = shares(alpha + 0.5 * v @ (P / P.sum(axis=0)).T + 0.5 * N * shares(alpha))
    for _ in range(STEPS):
        pi = beta @ P
        ratio = v / pi / total
        mapped = alpha / total + beta * (ratio @ P.T)
        slope = beta[:, :, None] * ((P * (ratio / pi)[:, None]) @ P.T)
        # 1 − Σ v̂ p/π where β = F(β), and never negative, as the curvature of a concave function
        slope[:, diagonal, diagonal] += np.maximum(alpha / total / beta, RIDGE)
        newton = beta + np.linalg.solve(slope, (mapped - beta)[:, :, None])[:, :, 0]
        newton = shares(np.maximum(newton, 0.2 * mapped))
        beta = np.where((height(newton) > height(mapped))[:, None], newton, mapped)
    return beta


def _tail(second: Floats, third: Floats) -> Floats:
    """Σ v̂ (−log(1 − c) − c − c²/2 − c³/3), as if all c were Σ v̂ c³ / Σ v̂ c²."""
    kind = np.finfo(second.dtype)
    c = np.minimum(third / np.maximum(second, kind.tiny), 1.0)
    log_left = np.log(np.maximum(1 - c - 4 * kind.eps, kind.tiny))  # what is left may be rounding
    some = c > 0.05  # below, a difference would lose it
    cubed = np.where(some, c, 1.0) ** 3
    far = -log_left - c - c**2 / 2 - c**3 / 3
    return np.asarray(third * np.where(some, far / cubed, c / 4))


def shares(x: Floats) -> Floats:
    """Scale x to sum to 1 over the last axis."""
    return np.asarray(x / (x @ np.ones((x.shape[-1], 1), x.dtype)))
