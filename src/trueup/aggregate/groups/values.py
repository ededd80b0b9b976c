"""Values of groups that may be negative and are not in bands: normal, without bounds."""

import numpy as np

from trueup.numerics.arrays import Floats, Integers, Rng


def mean_values(u: Floats, beta: Floats, N: int, squares: float | None = None) -> Floats:
    """The population's mean value per true class, r_g = u_g / (N β_g), on each draw (R, K).

    With `squares`, Σy² over the population, no mean exceeds what it allows: u_g² ≤ v_g Σy².
    """
    v = np.maximum(N * beta, np.finfo(float).tiny)
    r = u / v
    if squares is None:
        return np.asarray(r)
    most = np.sqrt(squares / v)
    return np.asarray(np.clip(r, -most, most))


def split_signed(
    M: Integers, means: Floats, v: Integers, u: Floats, w: Floats | None, rng: Rng
) -> Floats:
    """Draw the totals (K, r, B) of groups given their units M (K, r, L, B).

    Within a cell the classes' mean values r_g (`means`, (r, K)) enter as differences: class g has
    M_g(ȳ + r_g − Σ_k M_k r_k/v) on average. The differences are held to the variance that the cell
    has; the rest of the variance is noise, which sums to 0 over classes.
    """
    n = np.maximum(v, 1)
    share = M / n
    r = means.T[:, :, None, None]
    away = r - (share * r).sum(axis=0)
    noise: Floats | float = 0.0
    if w is not None:
        variance = np.maximum(w / n - (u / n) ** 2, 0.0)
        between = (share * away**2).sum(axis=0)
        more = between > variance
        shrink = np.sqrt(np.where(more, variance / np.where(more, between, 1.0), 1.0))
        away = away * shrink
        within = np.maximum(variance - shrink**2 * between, 0.0)
        z = np.sqrt(share) * rng.standard_normal(share.shape)
        scale = np.sqrt(within * n * (n / np.maximum(n - 1, 1)))
        noise = np.where(n > 1, scale * (z - share * z.sum(axis=0)), 0.0)
    return np.asarray((share * (u + n * away) + noise).sum(axis=2))
