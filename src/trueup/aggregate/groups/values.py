"""Given how a group's units fall: how its value falls, cell by cell, always within its bounds.

A cell, the v̂_bh units of group b predicted h, has a known total û_bh. A unit of value in it
belongs to class g with probability c_gh r_g / Σ_k c_kh r_k, where r_g is the mean value of class g,
and M_g of the v̂ units are allocated with these probabilities. If any M_g units were as likely as
any others, their sum would have mean û M_g/v̂ and variance M_g(v̂ − M_g)/(v̂ − 1) · σ², with σ² the
variance of y in the cell. As shares of û that is

    mean f_g = M_g/v̂,    covariance (diag f − f fᵀ) · CV²/(v̂ − 1),    CV = σ/ȳ,

the moments of a Dirichlet with concentration s = (v̂ − 1)/CV² − 1. Since CV² ≤ v̂ − 1, with
equality when one unit has the whole value, s ≥ 0 always: the shares are drawn from that Dirichlet,
so each is at least 0 and they add up. One unit with all the value goes to one class; equal values
leave f.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.allocate import log_ratios

__all__ = ["split_signed", "split_totals", "value_power"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A share of variance below this is rounding in Σy² − (Σy)²/v̂.
NONE = 1e-9
MOST_POWER = 3.0
# Below this shape, gamma draws underflow to 0 too often: they are made in logs.
SMALL_SHAPE = 0.1


def value_power(v_hat: Integers, u_hat: Floats, w_hat: Floats | None) -> Floats:
    """How much the classes' mean values r_g count in each cell (B, K): the power of r_g.

    In a large cell, value belongs to class g in proportion to c_g r_g: the power is 1. A cell that
    is one unit of known value y says more. If log y is normal with variance σ² around a mean that
    differs by class, a unit of value y belongs to g in proportion to c_g r_g^x, where
    x = 1 + log(y/y₀)/σ² and y₀ = √(Σy²/v̂) over the population. In between, the cell's own
    √(Σy²/v̂) stands for y and its pull is divided by the number of units that its value is spread
    over, (Σy)²/Σy²: in large cells another level of y is the group's, not the class's. The power
    is held to [0, MOST_POWER].
    """
    if w_hat is None:
        return np.ones(v_hat.shape)
    N, U, W = (x.sum(axis=0) for x in (v_hat, u_hat, w_hat))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.log(N * W / U**2)
        level = 0.5 * np.log((w_hat / v_hat) / (W / N))
        spread_over = u_hat**2 / w_hat
        power = 1.0 + level / (variance * spread_over)
    usable = (w_hat > 0) & (u_hat > 0) & (variance > NONE)
    return np.where(usable, np.clip(np.where(usable, power, 1.0), 0.0, MOST_POWER), 1.0)


def split_totals(
    M: Integers,
    tilt: tuple[Floats, Floats],
    u_hat: Floats,
    w_hat: Floats | None,
    rng: np.random.Generator,
) -> Floats:
    """Draw the totals u (K, G, R) of each true class, y ≥ 0, given the allocation M.

    Parameters
    ----------
    M : (K, K, G, R) ndarray of int
        Units of G groups by true and predicted class, allocated by value.
    tilt : (G, K) and (R, K) ndarray
        The powers and mean values with which they were allocated.
    u_hat, w_hat : (G, K) ndarray
        Σy and Σy² per group and predicted class. Without Σy², which units went where adds no
        noise.
    rng : numpy.random.Generator
        Source of randomness.
    """
    K, _, G, R = M.shape
    log_r = log_ratios(tilt[1])
    u = np.zeros((K, G, R))
    for h in range(K):
        n = M[:, h, :, 0].sum(axis=0)
        share = M[:, h] / np.maximum(n, 1)[:, None]
        if w_hat is not None:
            by_square = share * np.exp(tilt[0][:, h, None] * log_r[:, None, :])
            share = _scatter(share, by_square, n, u_hat[:, h], w_hat[:, h], rng)
        u += share * u_hat[:, h, None]
    return u


def _scatter(
    share: Floats,
    by_square: Floats,
    n: Integers,
    u_hat: Floats,
    w_hat: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Draw the shares of value (K, G, R) around the shares of units allocated by value.

    Σy over class g has variance Σ_i y_i² π_i(1 − π_i) with π_i = Pr(s_i = g): where classes differ
    in value, that is Σy² ω(1 − ω) with ω the shares by *squared* value, rather than f(1 − f).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        cv2 = np.where(u_hat > 0, n * w_hat / u_hat**2 - 1.0, 0.0)[:, None]
        omega = by_square / by_square.sum(axis=0)
        factor = (1.0 - (omega**2).sum(axis=0)) / (1.0 - (share**2).sum(axis=0))
    factor = np.where(np.isfinite(factor) & (cv2 > NONE), factor, 1.0)
    most = np.maximum(n - 1.0, 0.0)[:, None]
    cv2 = np.minimum(factor * (1.0 + cv2) - 1.0, most)
    noisy = cv2 > NONE
    size = most / np.where(noisy, cv2, 1.0) - 1.0
    drawn = _dirichlet(np.maximum(size, 1e-9) * share, rng)
    return np.asarray(np.where(noisy, drawn, share))


def _dirichlet(shape: Floats, rng: np.random.Generator) -> Floats:
    """Draw Dir(shape) along the first axis; a shape of 0 gives 0."""
    x = rng.standard_gamma(shape)
    small = shape.max(axis=0) < SMALL_SHAPE
    if small.any():
        low = shape[:, small]
        with np.errstate(divide="ignore"):
            log_x = np.log(rng.standard_gamma(low + 1.0))
            log_x -= rng.standard_exponential(low.shape) / low
        top = log_x.max(axis=0)  # minus infinity in a cell without units
        x[:, small] = np.exp(log_x - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(x / np.maximum(x.sum(axis=0), np.finfo(float).tiny))


def split_signed(
    M: Integers,
    means: Floats,
    u_hat: Floats,
    w_hat: Floats | None,
    rng: np.random.Generator,
    stretch: Floats | None = None,
) -> Floats:
    """Draw the totals u (K, G, R) of values that may be negative: normal, without bounds.

    Shares of value mean nothing here, so M (K, H, G, R) is allocated by unit, given what values
    say of classes (`groups.signed`). Within a cell the mean values r_g (`means`, (R, K)) enter as
    differences: class g has M_g(ȳ + r_g − Σ_k M_k r_k/v̂) on average, where the differences are held
    to the variance that the cell has, and are up to `stretch` (H, R) times as large where it has
    more, so that they average to the required class differences. Half-cells have no spread.
    """
    K, H, G, R = M.shape
    u = np.zeros((K, G, R))
    for h in range(H):
        n = np.maximum(M[:, h, :, 0].sum(axis=0), 1)[:, None]
        share = M[:, h] / n
        away = means.T[:, None, :] - np.einsum("kgr,rk->gr", share, means)
        noise: Floats | float = 0.0
        if w_hat is not None:
            variance = np.maximum(w_hat[:, h, None] / n - (u_hat[:, h, None] / n) ** 2, 0.0)
            between = (share * away**2).sum(axis=0)
            most = 1.0 if stretch is None else stretch[h] ** 2
            more = most * between > variance  # only these are divided by
            shrink = np.sqrt(np.where(more, variance / np.where(more, between, 1.0), most))
            away *= shrink
            within = np.maximum(variance - shrink**2 * between, 0.0)
            z = np.sqrt(share) * rng.standard_normal(share.shape)
            scale = np.sqrt(within * n * (n / np.maximum(n - 1, 1)))
            noise = np.where(n > 1, scale * (z - share * z.sum(axis=0)), 0.0)
        u += share * (u_hat[:, h, None] + n * away) + noise
    return u
