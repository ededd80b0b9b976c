"""Values that rise and fall from period to period: prices, seasons.

In period t units of true class g have values f_tg times as large as on average:

    f_tg = 1 + φ_t + ψ_tg,   φ_t ~ N(0, common²),   ψ_tg ~ N(0, own²).

Predicted totals û_th ~ N(Σ_g M_tgh θ_gh f_tg, d_th) tell the level of each period, and how far
levels move is learned from all of them, by EM with the expected M. A moving share of a class with
large values is not taken for a level: M has the shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueup.aggregate.means import Means
from trueup.numerics.arrays import Floats, Rng

STEPS = 40
"""Of EM; variances that are not 0 change by less than 1% afterwards."""
FLOATS = 8_000_000
"""In an array at once; with 15 classes 4,000 draws would take 2 GB."""
START = 0.05
"""The first guess of both standard deviations."""


class Levels(NamedTuple):
    """Levels f (T, K) as expected, and the variances of φ and ψ."""

    f: Floats
    common: float
    own: float


def find_levels(M: Floats, u_hat: Floats, means: Means) -> Levels:
    """Learn the levels from the expected M (T, K, L), û (T, L) and what audited values say."""
    T, K, _ = M.shape
    mean = Means._make([*(x.mean(axis=0)[None] for x in means[:-1]), means.sigma2])
    found = Levels(np.ones((T, K)), START**2, START**2)
    d = np.einsum("tgh,gh->th", M, means.sigma2)
    d = np.where(M.sum(axis=1) > 0, d, 1.0)
    theta = mean.known[0] + mean.slope[0] * mean.m[0][:, None]
    for _ in range(STEPS):
        theta = draw_theta(M[None], u_hat, d[None], mean, found, theta)[0]
        A = np.swapaxes(M * theta, 1, 2)  # (T, L, K)
        prior = found.common * np.ones((K, K)) + found.own * np.eye(K)
        gain = np.swapaxes(np.linalg.solve(covariance(A, d, found), A @ prior), 1, 2)
        off = (gain @ (u_hat - A.sum(axis=2))[:, :, None])[:, :, 0]
        V = prior - gain @ A @ prior
        square = np.einsum("tg,th->gh", off, off) / T + V.mean(axis=0)
        along = float(square.sum() / K)  # K common² + own²
        own = float((np.trace(square) - along) / (K - 1))
        found = Levels(1.0 + off, max((along - own) / K, 1e-12), max(own, 1e-12))
    return found


def covariance(A: Floats, d: Floats, levels: Levels) -> Floats:
    """Covariance (…, L, L) of û given θ: of units d (…, L) and of levels, for A = Mθ (…, L, K)."""
    a = A.sum(axis=-1)
    S = levels.common * a[..., :, None] * a[..., None, :]
    S = S + levels.own * A @ np.swapaxes(A, -1, -2)
    places = np.arange(a.shape[-1])
    S[..., places, places] += d
    return np.asarray(S)


def draw_theta(
    M: Floats,
    u_hat: Floats,
    d: Floats,
    means: Means,
    levels: Levels,
    near: Floats,
    rng: Rng | None = None,
) -> Floats:
    """Draw θ (R, K, L), or return its mean, given M (R, T, K, L), d (R, T, L) and û of all periods.

    θ_gh = c_gh + a_gh x_g + b_gh z_gh with x and z standard normal, of the classes' means and the
    cells' own. The variance of levels is taken at a θ `near` (K, L), so that all is linear in x, z.
    """
    R, T, K, L = M.shape
    size = K + K * L
    most = max(1, FLOATS // size**2)
    if most < R:
        parts = [slice(i, i + most) for i in range(0, R, most)]
        each = [Means._make([*(x[i] for x in means[:-1]), means.sigma2]) for i in parts]
        found = [
            draw_theta(M[i], u_hat, d[i], mine, levels, near, rng)
            for i, mine in zip(parts, each, strict=True)
        ]
        return np.concatenate(found)
    centre = means.known + means.slope * means.m[:, :, None]
    of_class, of_cell = means.slope * np.sqrt(means.V)[:, :, None], np.sqrt(means.own)
    own = np.arange(K * L).reshape(K, L) + K  # the places of z
    precision = np.broadcast_to(np.eye(size), (R, size, size)).copy()
    told = np.zeros((R, size))
    for t in range(T):
        some = M[0, t].sum(axis=0) > 0
        A = np.swapaxes(M[:, t] * near, 1, 2)
        root = np.linalg.cholesky(covariance(A, d[:, t], levels))
        F = np.zeros((R, L, size))
        F[:, :, :K] = np.swapaxes(M[:, t] * of_class, 1, 2)
        for h in range(L):
            F[:, h, own[:, h]] = M[:, t, :, h] * of_cell[:, :, h]
        F = np.linalg.solve(root, F)
        off = (u_hat[t] - np.einsum("rgh,rgh->rh", M[:, t], centre)) * some
        off = np.linalg.solve(root, off[:, :, None])
        precision += np.swapaxes(F, 1, 2) @ F
        told += (np.swapaxes(F, 1, 2) @ off)[:, :, 0]
    root = np.linalg.cholesky(precision)
    half = np.linalg.solve(root, told[:, :, None])
    if rng is not None:
        half = half + rng.standard_normal((R, size, 1))
    z = np.linalg.solve(np.swapaxes(root, 1, 2), half)[:, :, 0]
    return np.asarray(centre + of_class * z[:, :K, None] + of_cell * z[:, K:].reshape(R, K, L))
