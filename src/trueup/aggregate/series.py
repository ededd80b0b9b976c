"""Totals of several periods, with mean values that all of them share, up to a level.

Units of true class g predicted h have the mean θ_gh f_tg in period t (f: see `levels`). Audited
values tell θ up to μ_g and the cell's own deviation (`means`), normal both; the totals û_t of all
periods tell more of it:

    û_th | M, θ, f ~ N(Σ_g M_tgh θ_gh f_tg, d_th),   d_th = Σ_g M_tgh σ²_gh.

So θ given the audited values and all û is normal. Given θ the periods are independent. The error of
θ is the same in every period and does not average out in their sum, as it would if each period drew
means of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.aggregate.levels import Levels, covariance, draw_theta, find_levels
from trueup.aggregate.means import Audited, learn_means
from trueup.aggregate.values import TAU, Part, draw_totals
from trueup.numerics.arrays import Floats, Rng

__all__ = ["totals_of_periods"]
LEAST = 0.02
"""The lowest level of a period, as the normal distribution allows negative ones."""


def totals_of_periods(
    M: Any, u_hat: Floats, w_hat: Floats, rng: Rng, signed: bool, audited: Audited
) -> Floats:
    """Draw the totals u (R, T, K) given M (R, T, K, L), û and ŵ (T, L).

    `audited` has the periods as its first axis. For y ≥ 0 every draw has u ≥ 0. Draws have equal
    weights: M is not learned from û. Weights p(û | M) left 1 to 10% of the draws, as a few large
    values decide û.
    """
    v = M.sum(axis=3)
    N, y2 = v[0].sum(), w_hat.sum()
    if N == 0 or not y2 / N > np.finfo(float).tiny:
        return np.zeros(v.shape)
    unit = 2.0 ** np.round(np.log2(y2 / N) / 2)  # as in `values`: no product of squares overflows
    u_hat, w_hat, seen = u_hat / unit, w_hat / unit / unit, audited.in_units_of(unit)
    y_bar, y2_bar = u_hat.sum() / N, w_hat.sum() / N
    variance = y2_bar - y_bar**2
    if variance <= 1e-12 * y2_bar:  # all values are equal
        return np.asarray(y_bar * v * unit)
    tau2 = variance if signed else min(variance, (TAU * y_bar) ** 2)
    expected, K = M.mean(axis=0), v.shape[2]
    levels = Levels(np.repeat(_of_predictions(M, u_hat)[:, None], K, axis=1), 0.0, 0.0)
    for last in (False, True):
        level = levels.f.mean(axis=1)
        flat = _deflated(seen, np.maximum(levels.f, LEAST))
        squares = (w_hat / np.maximum(level, LEAST)[:, None] ** 2).sum(axis=0)
        means = learn_means(flat, expected.sum(axis=0), squares, y_bar, tau2, signed, len(M), rng)
        if not last:
            near = (means.known + means.slope * means.m[:, :, None]).mean(axis=0)
            levels = find_levels(expected, u_hat, means)
    d = np.einsum("rtgh,gh->rth", M, means.sigma2) * np.maximum(level, LEAST)[:, None] ** 2
    d = np.where(M[:1].sum(axis=2) > 0, d, 1.0)
    theta = draw_theta(M, u_hat, d, means, levels, near, rng)
    u = np.empty(v.shape)
    for t in range(M.shape[1]):
        cells = np.ascontiguousarray(M[:, t], dtype=float)
        f = _common_level(cells * theta, u_hat[t], d[:, t], levels, rng)[:, None, None]
        own = np.full((len(M), K), levels.own)
        part = Part(
            cells * theta * f, cells * theta, cells * means.sigma2 * f**2, np.zeros_like(own), own
        )
        u[:, t], _ = draw_totals(part, cells, u_hat[t], variance, rng, signed)
    return np.asarray(u * unit)


def _of_predictions(M: Any, u_hat: Floats) -> Floats:
    """Levels (T,) with which every predicted class would have the same mean in all periods."""
    v_hat = M[0].sum(axis=1)
    mean = u_hat.sum(axis=0) / np.maximum(v_hat.sum(axis=0), 1)
    expected = v_hat @ mean
    sure = (np.abs(expected) > 1e-9 * np.abs(u_hat).sum()) & (u_hat.sum(axis=1) * expected > 0)
    return np.asarray(np.where(sure, u_hat.sum(axis=1) / np.where(sure, expected, 1.0), 1.0))


def _deflated(audited: Audited, f: Floats) -> Audited:
    """The audited values of all periods, as they would be at the mean level."""
    t2 = None if audited.t2 is None else (audited.t2 / f[:, :, None] ** 2).sum(axis=0)
    return Audited(audited.n.sum(axis=0), (audited.t / f[:, :, None]).sum(axis=0), t2)


def _common_level(A: Floats, u_hat: Floats, d: Floats, levels: Levels, rng: Rng) -> Floats:
    """Draw 1 + φ (R,) of a period given its û, for A = Mθ (R, K, L)."""
    A = np.swapaxes(A, 1, 2)
    a = A.sum(axis=2)
    S = covariance(A, d, levels._replace(common=0.0))
    weight = np.linalg.solve(S, a[:, :, None])[:, :, 0]
    precision = 1.0 / levels.common + (weight * a).sum(axis=1)
    mean = 1.0 + (weight * (u_hat - a)).sum(axis=1) / precision
    drawn = mean + rng.standard_normal(len(A)) / np.sqrt(precision)
    return np.asarray(np.maximum(drawn, LEAST))
