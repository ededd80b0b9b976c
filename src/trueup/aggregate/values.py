"""Totals given how many units of each true class were predicted as each class.

A model of the values. Units of true class g predicted h have mean μ_g + ε_gh and variance σ²_gh,
with μ_g ~ N(ȳ, τ²_g) around the population's mean and ε_gh ~ N(0, ω²_g), the cell's own deviation.
Given what audited values say of both (`means`), what is still open is linear in μ_g: for the M_gh
units of cell (g, h)

    E U_gh = M_gh k_gh + A_gh μ_g,   Var(U_gh | μ_g) = D_gh,   μ_g ~ N(m_g, V_g),

so the totals u (per true class) and û (per predicted class, known) are jointly normal:

    Cov(u, û) = D + (V a)∘A by rows, a = A1,   Var û = S = diag_h(Σ_g D_gh) + Aᵀ diag(V) A.

u given û is normal with a known mean and variance, without an inverse of P. Without audited values
k = 0, A = M and D = σ²M: as τ grows the mean is Q̃û with the rates P̃ = M/v that really occurred.
With equal values u is ȳv exactly, so that totals of y = 1 are the counts. τ keeps a
class of a few units from getting a total that so few units cannot have.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.means import Audited, Means, learn_means
from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.simplex_normal import draw_simplex_normal

# Prior standard deviation of a class's mean value, in population means; never above the spread of
# the values themselves (`python studies/totals.py --only classes --tau 1e6` shows it without).
TAU = 2.0
# The least variance within a class, as a share of the population's.
FLOOR = 0.01
# Below this share, what is left of a variance is rounding.
ROUNDING = 1e-13


class Part(NamedTuple):
    """What the cells' totals are made of, as in the module's docstring: M∘k, A and D, m and V."""

    k: Floats
    A: Floats
    D: Floats
    m: Floats
    V: Floats


def totals_given_allocation(
    M: NDArray[np.int64],
    u_hat: Floats,
    w_hat: Floats,
    rng: Rng,
    signed: bool = False,
    audited: Audited | None = None,
) -> tuple[Floats, Floats]:
    """Draw the totals u (R, K) given M (R, K, K), û and ŵ (Σy² per predicted class), with weights.

    For y ≥ 0 every draw has u ≥ 0 and Σ_g u_g = T, with the log of its weight; `signed` values
    have no bound and equal weights. `audited` values inform the mean of each cell.
    """
    cells: Floats = np.ascontiguousarray(M, dtype=float)
    v, N, even = np.einsum("rgh->rg", cells), cells[0].sum(), np.zeros(len(M))
    if N == 0:
        return np.zeros_like(v), even
    y_bar, y2_bar = u_hat.sum() / N, w_hat.sum() / N
    if not y2_bar > np.finfo(float).tiny:  # all values, or their squares, are 0
        return y_bar * v, even
    # in units of about the values' own size, so that no product of squares overflows; a power of
    # two, which rounds nothing
    unit = 2.0 ** np.round(np.log2(y2_bar) / 2)
    u_hat, w_hat = u_hat / unit, w_hat / unit / unit
    y_bar, y2_bar = u_hat.sum() / N, w_hat.sum() / N
    variance = y2_bar - y_bar**2
    if variance <= 1e-12 * y2_bar:  # all values are equal
        return y_bar * v * unit, even
    tau2 = variance if signed else min(variance, (TAU * y_bar) ** 2)
    if audited is None:
        sigma2 = class_variances(cells, u_hat, w_hat, tau2, signed)
        part = Part(np.zeros_like(cells), cells, sigma2[:, :, None] * cells,
                     np.full_like(v, y_bar), np.full_like(v, tau2))  # fmt: skip
    else:
        expected = cells.mean(axis=0)
        seen = audited.in_units_of(unit)
        means = learn_means(seen, expected, w_hat, y_bar, tau2, signed, len(cells), rng)
        part = _given(cells, means)
    u, log_weight = draw_totals(part, cells, u_hat, variance, rng, signed)
    return u * unit, log_weight


def draw_totals(
    part: Part,
    cells: Floats,
    u_hat: Floats,
    variance: float,
    rng: np.random.Generator,
    signed: bool,
) -> tuple[Floats, Floats]:
    """Draw u given û and the parts of the cells' totals, with weights."""
    v, v_hat = np.einsum("rgh->rg", cells), cells[0].sum(axis=0)
    N, T = v_hat.sum(), u_hat.sum()
    even = np.zeros(len(cells))
    k, A, D, m, V = part
    a = np.einsum("rgh->rg", A)
    B = D + (V * a)[:, :, None] * A
    S = np.swapaxes(A, 1, 2) @ (V[:, :, None] * A)
    diagonal = np.arange(len(v_hat))
    S[:, diagonal, diagonal] += np.einsum("rgh->rh", D) + variance * (v_hat == 0)
    G = np.swapaxes(_solve(S, np.swapaxes(B, 1, 2)), 1, 2)  # B S⁻¹
    centre = k + A * m[:, :, None]
    if signed:  # Matheron's rule: draw the model, then correct it to the û that was seen
        mu = np.sqrt(V)[:, :, None] * rng.standard_normal((*v.shape, 1))
        U = centre + A * mu + np.sqrt(D) * rng.standard_normal(cells.shape)
        miss = u_hat - U.sum(axis=1)
        return np.asarray(np.einsum("rgh->rg", U) + (G @ miss[:, :, None])[..., 0]), even
    mean = np.einsum("rgh->rg", centre)
    mean += (G @ (u_hat - centre.sum(axis=1))[:, :, None])[..., 0]
    mean += (T - np.einsum("rg->r", mean)[:, None]) * v / N  # rounding only
    own = np.einsum("rgh->rg", D) + V * a**2
    cov = -G @ np.swapaxes(B, 1, 2)
    classes = np.arange(v.shape[1])
    cov[:, classes, classes] += own
    free = cov[:, classes, classes] > ROUNDING * own
    if not free.all():
        cov *= free[:, :, None] & free[:, None, :]
    return draw_simplex_normal(mean, cov, T, rng)


def _given(cells: Floats, means: Means) -> Part:
    """The parts of U given the means that audited values leave open, and the class variances."""
    A = cells * means.slope
    D = cells**2 * means.own + cells * means.sigma2
    return Part(cells * means.known, A, D, means.m, means.V)


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
    moved = (variance + tau2 * v)[:, :, None] * (
        M @ _solve(S, np.broadcast_to(off, (len(M), *off.shape)))
    )
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
