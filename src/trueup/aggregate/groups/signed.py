"""Values that may be negative: what they say of their units' classes, cell by cell.

A cell is the n units of group b predicted h, of mean ȳ. One unit of known value y, or two, say
which class they are likely to be: a unit belongs to g in proportion to β_g p_gh exp(θ_g + λ_g x),
where x = y − m is how far it is from the mean of all units predicted h. If values are normal with
the same variance in each class that is Bayes' rule.

Only Σy and Σy² of a cell are known. A cell of two units *is* two known values; one of up to SMALL
is taken for two halves with the same mean and variance. In larger cells all units have the cell's
mean for y, and how values differ within them is left to `values.split_signed`. Of the distance
d = ȳ − m of a cell, the part k = σ²/(σ² + nω²) counts: values have variance σ² within cells, and
groups have levels of variance ω² (estimated as by Paule and Mandel 1982). In a cell of many units
another level of y is the group's, not the class's.

θ and λ are solved for on each draw: over all cells predicted h, the share of class g must be c_gh
and the covariance of being g with y must be c_gh(r_g − Σ_k c_kh r_k), or the part 1/n of it that is
between large cells. Totals over groups then match the ungrouped totals, whatever y's distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.allocate import Tilt
from trueup.aggregate.groups.base_rates import TINY

__all__ = ["Halves", "halve"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALL = 5
"""Cells of up to this many units are two halves of known value."""
# Kinds of cells for which θ and λ are solved, and Newton's steps for it.
BINS = 60
STEPS = 12
# The steepest slope, in standard deviations of x; a step is at most 1.
MOST = 6.0
# Variances are told apart from the groups' levels with so many units beyond the first of a cell.
FREE = 10
# Distances below this share of √(Σy²/N) are rounding.
NONE = 1e-9


@dataclass(frozen=True, eq=False)
class Halves:
    """Cells in halves, (B, 2K): units, Σy and Σy² of first halves by class, then of second ones.

    Cells of one unit, and large ones, are a first half. `tilt` is as in `allocate_groups`, and
    `stretch` (2K, R) as in `split_signed`.
    """

    v_hat: Integers
    u_hat: Floats
    w_hat: Floats | None
    tilt: Tilt
    stretch: Floats


def halve(
    P: Floats, beta: Floats, means: Floats, v_hat: Integers, u_hat: Floats, w_hat: Floats | None
) -> Halves:
    """Return small cells as two halves, and what their values say about classes.

    Parameters
    ----------
    P, beta, means : (R, K, K), (R, K) and (R, K) ndarray
        Draws of the contingency matrix, and the population's base rates and mean values on each.
    v_hat, u_hat, w_hat : (B, K) ndarray
        Units, Σy and Σy² per group and predicted class. Without Σy² values say
        nothing about classes.
    """
    (R, K), B = means.shape, len(v_hat)
    stretch = np.ones((2 * K, R))
    if w_hat is None:
        return Halves(v_hat, u_hat, None, [], stretch)
    n = np.maximum(v_hat, 1)
    mean = u_hat / n
    variance = np.maximum(w_hat / n - mean**2, 0.0)
    small = (v_hat > 1) & (v_hat <= SMALL)
    second = np.where(small, v_hat // 2, 0)
    first = v_hat - second
    sd = np.where(small, np.sqrt(variance), 0.0)
    # how far each half is from the mean of its cell: the variance of both together is the cell's
    units = np.stack([first, second])
    other = np.sqrt(units[::-1] / np.maximum(units, 1))
    apart = np.stack([sd * other[0], -sd * other[1]])
    values = mean + apart
    squares = np.where(small, units * values**2, [w_hat, np.zeros_like(w_hat)])

    c = np.maximum(P, TINY) * np.maximum(beta, TINY)[:, :, None]
    c /= c.sum(axis=1, keepdims=True)
    x, s = np.zeros((2, 2, B, K)), np.zeros((2, K, K, R))
    for h in range(K):
        here = _Cells(v_hat[:, h], units[..., h], mean[:, h], variance[:, h], apart[..., h])
        away = means - np.einsum("rg,rg->r", c[:, :, h], means)[:, None]
        x[..., h], s[:, :, h] = _tilt(here, c[:, :, h].T, (c[:, :, h] * away).T)
        stretch[h] = _stretch(here, np.sqrt((c[:, :, h] * away**2).sum(axis=1)))
    both = x.transpose(0, 2, 1, 3).reshape(2, B, 2 * K)
    tilt = list(zip(both, np.concatenate([s, s], axis=2), strict=True))
    count, total, square = (np.hstack(list(y)) for y in (units, units * values, squares))
    return Halves(count, total, square, tilt, stretch)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of one predicted class: (B,), and (2, B) of their halves."""

    n: Integers
    units: Integers
    mean: Floats
    variance: Floats
    apart: Floats


def _tilt(cells: _Cells, c: Floats, between: Floats) -> tuple[Floats, Floats]:
    """What halves say (2, 2, B), and θ and λ (2, K, R); `between` is c(r − r̄)."""
    n, some = np.maximum(cells.n, 1), cells.n > 0
    N = max(cells.n.sum(), 1)
    m = (cells.n * cells.mean).sum() / N
    d = np.where(some, cells.mean - m, 0.0)
    away = d + cells.apart
    scale = np.sqrt((cells.units * away**2).sum() / N)
    size = np.sqrt((cells.n * (cells.variance + cells.mean**2)).sum() / N)
    if some.sum() < 2 or not scale > NONE * size:
        return np.zeros((2, *away.shape)), np.zeros((2, *c.shape))
    k = np.zeros(len(n))
    k[some] = _own(cells.n[some], d[some], (cells.n * cells.variance)[some].sum())
    halved = (cells.n > 1) & (cells.n <= SMALL)
    # the variance of what a half says, which θ goes with, and what it says
    spread = np.where(halved, 1 - 1 / n, 0.0) + k / n
    x = np.stack([np.broadcast_to(spread, away.shape), (k * d + cells.apart) / scale])
    told = np.where(halved, n, 1)[some].sum() / N
    use = cells.units > 0
    kinds = _kinds(cells.units[use].astype(float), x[:, use], away[use] / scale)
    return x, _solve(c, between * (told / scale), *kinds)


def _stretch(cells: _Cells, apart: Floats) -> Floats:
    """γ (R,) for which Σ_b n_b min(γ, sd_b/apart) = Σ_b n_b over large cells, or as near as can be.

    `apart` is how far the classes' means are from each other. Cells whose values hardly differ
    cannot show that; then the others show the more.
    """
    large = cells.n > SMALL
    if not large.any():
        return np.ones_like(apart)
    sd, n = np.sqrt(cells.variance[large]), cells.n[large]
    order = np.argsort(sd)
    sd, n = np.r_[0.0, sd[order]], n[order]
    shown = np.cumsum(np.diff(sd) * np.cumsum(n[::-1])[::-1])  # Σ n min(γ apart, sd) at each sd
    limit = np.interp(apart * n.sum(), np.r_[0.0, shown], sd)
    return np.asarray(np.maximum(limit / np.where(apart > 0, apart, np.inf), 1.0))


def _own(n: Integers, d: Floats, squares: float) -> Floats:
    """k of each cell, with ω² such that Σ_b d_b²/(σ²/n_b + ω²) = B − 1, or 0 if none is."""
    free = (n - 1).sum()
    if free < FREE or not squares > 0:
        return np.ones(len(n))
    variance = squares / free
    low, high = 0.0, float((d**2).sum())
    for _ in range(60):
        level = (low + high) / 2
        more = (d**2 / (variance / n + level)).sum() > len(n) - 1
        low, high = (level, high) if more else (low, level)
    return np.asarray(variance / (variance + n * high))


def _kinds(n: Floats, x: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares of units (J,), what they say (2, J) and distances (J,) of about BINS kinds."""
    order = np.argsort(x[1], kind="stable")
    n, x, d = n[order], x[:, order], d[order]
    weight = np.cumsum(n * (1 + np.abs(d)))
    _, kind = np.unique((BINS * weight / weight[-1]).astype(int), return_inverse=True)
    units = np.bincount(kind, n)
    means = [np.bincount(kind, n * y) / units for y in (*x, d)]
    return units / n.sum(), np.stack(means[:2]), means[2]


def _solve(c: Floats, goal: Floats, share: Floats, x: Floats, d: Floats) -> Floats:
    """θ and λ (2, K, R) for which class g has c units and the covariance `goal` with d.

    Newton's steps for each class alone, which are those for all where cells are alike.
    """
    at = np.zeros((2, *c.shape))
    for _ in range(STEPS):
        score = at[0][..., None] * x[0] + at[1][..., None] * x[1]  # (K, R, J)
        pi = c[..., None] * np.exp(score - score.max(axis=0))
        pi *= share / pi.sum(axis=0)
        miss = np.stack([c - pi.sum(axis=-1), goal - pi @ d])
        slope = np.stack([pi @ x[0], pi @ x[1], pi @ (x[0] * d), pi @ (x[1] * d)])
        det = slope[0] * slope[3] - slope[1] * slope[2]
        sound = det > NONE * slope[0] * slope[3]
        step = np.stack(
            [slope[3] * miss[0] - slope[1] * miss[1], slope[0] * miss[1] - slope[2] * miss[0]]
        ) / np.where(sound, det, 1.0)
        step = np.where(sound, np.clip(step, -1.0, 1.0), 0.0)
        at = np.clip(at + step, -MOST, MOST)
        if np.abs(step).max() < 1e-3:
            break
    return at
