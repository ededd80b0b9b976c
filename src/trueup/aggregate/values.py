"""Totals given how many units of each true class were predicted as each class.

A model of the values: within true class g they have mean μ_g and variance σ²_g, whatever the
prediction, and μ_g ~ N(ȳ, τ²) around the population's mean. With M_gh units of class g predicted
h, the totals u (per true class) and û (per predicted class, known) are jointly normal:

    E u = ȳv,   Cov(u, û) = b∘M by rows,   Var û = S = diag_h(Σ_g σ²_g M_gh) + τ² MᵀM,

with v = M1 and b_g = σ²_g + τ²v_g. So u given û is normal with a known mean and variance, which
needs no inverse of P: as τ grows it becomes Q̃û with the rates P̃ = M/v that really occurred, and
with equal values it is ȳv exactly, so that totals of y = 1 are the counts. τ keeps a class of a
handful of units from being given a fortune that its few units cannot have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.simplex_normal import draw_simplex_normal

__all__ = ["class_variances", "totals_given_allocation", "var_u_hat"]

Floats = NDArray[np.float64]

# Prior standard deviation of a class's mean value, in population means; never above the spread of
# the values themselves (`python studies/totals.py --only classes --tau 1e6` shows it without).
TAU = 2.0
# The least variance within a class, as a share of the population's.
FLOOR = 0.01
# Below this share, what is left of a variance is rounding.
ROUNDING = 1e-13


def totals_given_allocation(
    M: NDArray[np.int64],
    u_hat: Floats,
    w_hat: Floats,
    rng: np.random.Generator,
    signed: bool = False,
) -> tuple[Floats, Floats]:
    """Draw the totals u (R, K) given M (R, K, K), û and ŵ (Σy² per predicted class), with weights.

    For y ≥ 0 every draw has u ≥ 0 and Σ_g u_g = T, with the log of its weight; `signed` values
    have no bound and equal weights.
    """
    cells: Floats = np.ascontiguousarray(M, dtype=float)
    v, v_hat = np.einsum("rgh->rg", cells), cells[0].sum(axis=0)
    N, T = v_hat.sum(), u_hat.sum()
    even = np.zeros(len(M))
    if N == 0:
        return np.zeros_like(v), even
    y_bar, y2_bar = T / N, w_hat.sum() / N
    if not y2_bar > np.finfo(float).tiny:  # values of nothing, or whose squares are
        return y_bar * v, even
    # in units of about the values' own size, so that no product of squares overflows; a power of
    # two, which rounds nothing
    unit = 2.0 ** np.round(np.log2(y2_bar) / 2)
    u, log_weight = _scaled(cells, u_hat / unit, w_hat / unit / unit, rng, signed)
    return u * unit, log_weight


def _scaled(
    cells: Floats, u_hat: Floats, w_hat: Floats, rng: np.random.Generator, signed: bool
) -> tuple[Floats, Floats]:
    """Draw totals of values whose mean square is about 1."""
    v, v_hat = np.einsum("rgh->rg", cells), cells[0].sum(axis=0)
    N, T = v_hat.sum(), u_hat.sum()
    even = np.zeros(len(cells))
    y_bar, y2_bar = T / N, w_hat.sum() / N
    variance = y2_bar - y_bar**2
    if variance <= 1e-12 * y2_bar:  # all values are equal
        return y_bar * v, even
    tau2 = variance if signed else min(variance, (TAU * y_bar) ** 2)
    sigma2 = class_variances(cells, u_hat, w_hat, tau2, signed)

    b = sigma2 + tau2 * v
    B = b[:, :, None] * cells
    S = var_u_hat(cells, sigma2, tau2, variance)
    G = np.swapaxes(_solve(S, np.swapaxes(B, 1, 2)), 1, 2)  # B S⁻¹
    if signed:  # Matheron's rule: draw the model, then correct it to the û that was seen
        mu = y_bar + np.sqrt(tau2) * rng.standard_normal((*v.shape, 1))
        U = cells * mu + np.sqrt(cells * sigma2[:, :, None]) * rng.standard_normal(cells.shape)
        miss = u_hat - U.sum(axis=1)
        return np.asarray(np.einsum("rgh->rg", U) + (G @ miss[:, :, None])[..., 0]), even
    mean = y_bar * v + G @ (u_hat - y_bar * v_hat)
    mean += (T - np.einsum("rg->r", mean)[:, None]) * v / N  # rounding only
    cov = -G @ np.swapaxes(B, 1, 2)
    diagonal = np.arange(len(v_hat))
    cov[:, diagonal, diagonal] += b * v
    free = cov[:, diagonal, diagonal] > ROUNDING * b * v
    if not free.all():
        cov *= free[:, :, None] & free[:, None, :]
    return draw_simplex_normal(mean, cov, T, rng)


def class_variances(M: Floats, u_hat: Floats, w_hat: Floats, tau2: float, signed: bool) -> Floats:
    """σ²_g (R, K): the variance of y within each true class, from û and ŵ given M.

    The same model with one variance for all classes says what u and W (Σy² per true class) are
    likely to be; then σ²_g = (W_g − u_g²/v_g)/(v_g − 1).
    """
    v, v_hat = np.einsum("rgh->rg", M), M[0].sum(axis=0)
    N, T = v_hat.sum(), u_hat.sum()
    y_bar, y2_bar = T / N, w_hat.sum() / N
    variance = y2_bar - y_bar**2
    off = np.column_stack([u_hat - y_bar * v_hat, w_hat - y2_bar * v_hat])
    S = var_u_hat(M, np.full_like(v, variance), tau2, variance)
    moved = (variance + tau2 * v)[:, :, None] * (M @ _solve(S, np.broadcast_to(off, (*v.shape, 2))))
    u = y_bar * v + moved[..., 0]
    u = u if signed else np.clip(u, 0.0, T)
    W = np.clip(y2_bar * v + moved[..., 1], 0.0, w_hat.sum())
    within = (W - u**2 / np.maximum(v, 1)) / np.maximum(v - 1, 1)
    return np.asarray(np.maximum(within, FLOOR * variance))


def var_u_hat(M: Floats, sigma2: Floats, tau2: float, empty: float) -> Floats:
    """Var(û | M) = diag_h(Σ_g σ²_g M_gh) + τ²MᵀM; `empty` stands where no unit is predicted h."""
    S = tau2 * (np.swapaxes(M, 1, 2) @ M)
    diagonal = np.arange(M.shape[-1])
    no_units = empty * (M[0].sum(axis=0) == 0)
    S[:, diagonal, diagonal] += np.einsum("rg,rgh->rh", sigma2, M) + no_units
    return np.asarray(S)


def _solve(S: Floats, X: Floats) -> Floats:
    """S⁻¹X for a stack of positive definite matrices; Cramer's rule for two classes, for speed."""
    if S.shape[-1] != 2:
        return np.asarray(np.linalg.solve(S, X), dtype=np.float64)
    a, b, d = S[:, 0, 0, None], S[:, 0, 1, None], S[:, 1, 1, None]
    det = a * d - b * b
    return np.stack([(d * X[:, 0] - b * X[:, 1]) / det, (a * X[:, 1] - b * X[:, 0]) / det], axis=1)
