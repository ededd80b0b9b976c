"""From the table's own totals to those of a larger population that it is a random sample of.

The units of the table are n draws z_i from the population, z_i = w_i y_i with survey weights. Each
belongs to one class, so that the sums U_g of the classes have the covariance of n draws with
replacement,

    n/(n − 1) (diag(S) − U Uᵀ/n),   S_g = Σ_{i in g} z_i²,

less the part 1 − n/N of it if the table is n of N units.
"""

from __future__ import annotations

import numpy as np

from trueup.numerics.arrays import Floats, Integers

__all__ = ["class_squares", "resampled"]


def class_squares(U: Floats, M: Integers, v: Integers, u: Floats, w: Floats) -> Floats:
    """Return Σz² of each class (R, K), given its total U (R, K) and units M (R, K, L).

    Those of predicted label h have v, u and w (L,) units, Σz and Σz². A class's values vary about
    its own mean as those of its predictions do about theirs.
    """
    units = np.maximum(v, 1)
    squares, mean = M @ (w / units), M @ (u / units)
    usual = (U > 0) & (mean > 0)
    return np.asarray(squares * np.where(usual, U / np.where(usual, mean, 1.0), 1.0) ** 2)


def resampled(U: Floats, S: Floats, n: int, left: float, rng: np.random.Generator) -> Floats:
    """Add the sampling error of n units to the totals U (R, K); `left` is 1 − n/N.

    Positive totals stay positive: factors are lognormal with the right means and covariances.
    Totals that may be negative get normal errors.
    """
    R, K = U.shape
    share = left * n / max(n - 1, 1)
    positive = bool((U >= 0).all())
    size = np.where(U > 0, U, 1.0) if positive else np.ones((R, K))
    relative = share * (
        np.eye(K) * (S / size**2)[:, None] - (U / size)[:, :, None] * (U / size)[:, None] / n
    )
    if positive:
        relative = np.log1p(np.maximum(relative, 1e-9 - 1.0))
    values, vectors = np.linalg.eigh(relative)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    error = np.einsum("rgk,rk->rg", root, rng.standard_normal((R, K)))
    if not positive:
        return np.asarray(U + error)
    return np.asarray(U * np.exp(error - (root**2).sum(axis=2) / 2))
