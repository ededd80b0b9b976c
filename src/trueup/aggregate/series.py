"""Totals of several periods, with mean values that all of them share.

The mean θ_gh of units of true class g predicted h is one for all periods t. Audited values tell it
up to μ_g and the cell's own deviation (`means`), normal both; the totals û_t of all periods tell
more of it:

    û_th | M, θ ~ N(Σ_g M_tgh θ_gh, d_th),   d_th = Σ_g M_tgh σ²_gh.

So θ given the audited values and all û is normal. Given θ the periods are independent. The error of
θ is the same in every period and does not average out in their sum, as it would if each period drew
means of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.aggregate.means import Audited, Means, learn_means
from trueup.aggregate.values import TAU, Part, draw_totals
from trueup.numerics.arrays import Floats

__all__ = ["totals_of_periods"]


def totals_of_periods(
    M: Any,
    u_hat: Floats,
    w_hat: Floats,
    rng: np.random.Generator,
    signed: bool,
    audited: Audited,
) -> Floats:
    """Draw the totals u (R, T, K) given M (R, T, K, L), û and ŵ (T, L).

    For y ≥ 0 every draw has u ≥ 0. Draws have equal weights: M is not learned from û. Weights
    p(û | M) left 1 to 10% of the draws, as a few large values decide û.
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
    expected, squares = M.mean(axis=0).sum(axis=0), w_hat.sum(axis=0)
    means = learn_means(seen, expected, squares, y_bar, tau2, signed, len(M), rng)
    theta = _common(M, u_hat, means, rng)
    u = np.empty(v.shape)
    for t in range(M.shape[1]):
        cells = np.ascontiguousarray(M[:, t], dtype=float)
        part = Part(cells * theta, 0 * cells, cells * means.sigma2, means.m, means.V)
        u[:, t], _ = draw_totals(part, cells, u_hat[t], variance, rng, signed)
    return np.asarray(u * unit)


def _common(M: Any, u_hat: Floats, means: Means, rng: np.random.Generator) -> Floats:
    """Draw θ (R, K, L) given û of all periods.

    θ = c + Gz with z standard normal: K numbers for the classes' means and KL for the cells'.
    """
    R, T, K, L = M.shape
    size = K + K * L
    G = np.zeros((R, K, L, size))
    for g in range(K):
        G[:, g, :, g] = means.slope[:, g] * np.sqrt(means.V[:, g, None])
        for h in range(L):
            G[:, g, h, K + g * L + h] = np.sqrt(means.own[:, g, h])
    centre = means.known + means.slope * means.m[:, :, None]
    precision = np.broadcast_to(np.eye(size), (R, size, size)).copy()
    told = np.zeros((R, size))
    for t in range(T):
        d = np.einsum("rgh,gh->rh", M[:, t], means.sigma2)
        some = M[0, t].sum(axis=0) > 0
        d = np.where(some, d, 1.0)
        F = np.einsum("rgh,rghz->rhz", M[:, t], G) / np.sqrt(d)[:, :, None]
        off = (u_hat[t] - np.einsum("rgh,rgh->rh", M[:, t], centre)) * some / np.sqrt(d)
        precision += np.swapaxes(F, 1, 2) @ F
        told += np.einsum("rhz,rh->rz", F, off)
    root = np.linalg.cholesky(precision)
    half = np.linalg.solve(root, told[:, :, None])
    z = np.linalg.solve(np.swapaxes(root, 1, 2), half + rng.standard_normal((R, size, 1)))
    return np.asarray(centre + np.einsum("rghz,rz->rgh", G, z[:, :, 0]))
