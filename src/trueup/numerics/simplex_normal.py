"""Draws of a normal vector held to a simplex: u ≥ 0 and Σ_g u_g = T, with exact weights.

The totals of K classes, given the contingency matrix, are normal on the plane Σ_g u_g = T, and for
y ≥ 0 none of them is negative. The sequential method of Geweke, Hajivassiliou and Keane draws the
classes one after another from truncated univariate normals. Each draw comes with the product of
the normalisers as its weight: an unbiased estimate of Pr(u ≥ 0), exact for K = 2. Resampling the
pairs (P_r, u_r) by these weights conditions the *joint* posterior on u ≥ 0; a matrix P that makes
permissible totals unlikely loses weight, as it should.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Rng

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_SQRT2 = np.sqrt(2.0)
_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)

# Conditional variances below this share of the class's own variance are rounding: cov has rank
# K − 1 at most, and the pivots of a singular matrix come out at about K·eps of its diagonal.
_SINGULAR = 1e-12

# A bound may be missed by this share of T before a class without variance counts as outside:
# solving with P leaves that much rounding in the mean.
_ROUNDING = 1e-9

# Φ(−8.5) is 1e-17: bounds that far out cannot be told from none in floating point.
_FAR = 8.5

# Below this width × slope the density on [a, b] is flat to 1e-5, and log φ(midpoint) + log(b − a)
# is exact to 1e-11, where the difference of two distribution functions has lost as much.
_FLAT = 1e-5


def draw_truncated_normal(a: Floats, b: Floats, rng: Rng) -> tuple[Floats, Floats]:
    """Draw standard normals held to [a, b], elementwise; return them and log(Φ(b) − Φ(a)).

    The bounds a < b are finite; the logarithm is accurate far out in either tail.
    """
    if a.max(initial=-np.inf) < -_FAR and b.min(initial=np.inf) > _FAR:
        return rng.standard_normal(a.shape), np.zeros(a.shape)
    # Work on the side where both tails are the smaller ones: mirror intervals right of zero.
    mirrored = a + b > 0.0
    low = np.where(mirrored, -b, a)
    high = np.where(mirrored, -a, b)
    uniform = rng.random(low.shape)

    mass_low = special.ndtr(low)
    mass = special.ndtr(high) - mass_low
    z = special.ndtri(mass_low + uniform * mass)
    with np.errstate(divide="ignore"):
        log_mass = np.log(mass)

    tail = high < -5.0
    if tail.any():
        x, y = low[tail], high[tail]
        log_high = special.log_ndtr(y)
        # Φ(low) / Φ(high), from Φ(x) = erfcx(−x/√2) exp(−x²/2) / 2.
        scaled = special.erfcx(-x / _SQRT2) / special.erfcx(-y / _SQRT2)
        ratio = scaled * np.exp(0.5 * (y - x) * (y + x))
        with np.errstate(divide="ignore"):
            log_mass[tail] = log_high + np.log1p(-ratio)
        share = ratio + uniform[tail] * (1.0 - ratio)
        z[tail] = special.ndtri_exp(log_high + np.log(share + 1e-300))
    width = high - low
    middle = 0.5 * (low + high)
    flat = width * (1.0 + np.abs(middle)) < _FLAT
    if flat.any():
        log_mass[flat] = np.log(width[flat]) - 0.5 * middle[flat] ** 2 - _LOG_SQRT_2PI
        z[flat] = low[flat] + uniform[flat] * width[flat]
    z = np.clip(z, low, high)
    return np.where(mirrored, -z, z), log_mass


def draw_simplex_normal(
    mean: Floats, cov: Floats, total: ArrayLike, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw u_r ~ N(mean_r, cov_r) held to u ≥ 0, Σ_g u_g = T, with importance weights.

    The rows of `mean` (R, K) have sum T, `total`; those of `cov` (R, K, K) have sum 0. Return u
    (R, K) and log weights (R,). The weights have mean Pr(u_r ≥ 0), exactly so for K = 2, and are 0
    where a class without variance lies outside [0, T].

    The classes are taken in one order for all draws: those nearest to their bound first, since
    their bounds matter most, and the largest last, as the remainder. With cov = L Lᵀ in that
    order, class j given those before it is normal with mean m_j + Σ_{i<j} L_ji z_i and standard
    deviation L_jj, held to [0, T − Σ_{i<j} u_i]; the upper bound is what u ≥ 0 of all later
    classes implies.
    """
    n_draws, K = mean.shape
    T = np.broadcast_to(np.asarray(total, dtype=np.float64), (n_draws,))
    log_weight = np.zeros(n_draws)
    variance = np.einsum("rgg->rg", cov)
    order = _most_constrained_first(mean, variance)
    u = np.empty_like(mean)
    remainder = T.copy()
    rounding = _ROUNDING * T
    L = np.zeros((K - 1, K - 1, n_draws))  # draws last: each step then works on whole rows
    z = np.zeros((K - 1, n_draws))
    for j, g in enumerate(order[:-1]):
        centre = mean[:, g] + np.einsum("ir,ir->r", L[j, :j], z[:j])
        pivot = variance[:, g] - np.einsum("ir,ir->r", L[j, :j], L[j, :j])
        spread = pivot > _SINGULAR * variance[:, g]
        sd = np.sqrt(np.where(spread, pivot, 1.0))

        a = -centre / sd
        b = (remainder - centre) / sd
        outside = (centre < -rounding) | (centre > remainder + rounding)
        fixed = ~spread | (a >= b)  # a >= b: nothing is left for this class, u_g = 0
        z_j, log_mass = draw_truncated_normal(
            np.where(fixed, -1.0, a), np.where(fixed, 1.0, b), rng
        )
        log_weight += np.where(fixed, np.where(outside & ~spread, -np.inf, 0.0), log_mass)
        draw = np.where(fixed, centre, centre + sd * z_j)
        u[:, g] = np.minimum(np.maximum(draw, 0.0), remainder)
        remainder = remainder - u[:, g]

        z[j] = np.where(spread, (u[:, g] - centre) / sd, 0.0)
        L[j, j] = np.where(spread, sd, 0.0)
        for k in range(j + 1, K - 1):
            below = cov[:, order[k], g] - np.einsum("ir,ir->r", L[k, :j], L[j, :j])
            L[k, j] = np.where(spread, below / sd, 0.0)
    u[:, order[-1]] = remainder
    return u, log_weight


def _most_constrained_first(mean: Floats, variance: Floats) -> NDArray[np.intp]:
    """Order classes by how many standard deviations lie below their mean, the largest last."""
    centre = mean.mean(axis=0)
    sd = np.sqrt(np.maximum(variance.mean(axis=0), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(sd > 0.0, centre / sd, -np.inf)
    room[np.argmax(centre)] = np.inf
    return np.argsort(room, kind="stable")
