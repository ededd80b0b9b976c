"""What a group's classes have in common across its predictions: η_b, on the log odds.

Groups of a real classifier differ most in how common a true class is *given* the prediction, in the
same direction whatever the prediction: a region with more fraud has more of it among the units
predicted honest and among those predicted fraud. With η_bg ~ N(0, σ²),

    c̃_gh ∝ m_gh exp(η_bg),

and the audited units of a group in column h count as n_h (κ + 1)/(κ + n_h) multinomial ones, since
the column deviates from c̃_·h by itself (`groups.layer`). Their log likelihood in η is concave;
the posterior is taken to be normal around its mode.
"""

import numpy as np

from trueup.numerics.arrays import Floats, Rng

NEWTON = 4
"""Newton's steps to the mode; each at most 2 in log odds."""


def find_mode(log_m: Floats, n: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Return the mode of η (…, K) and the precision there (…, K, K).

    `log_m` (…, K, H) is the log of the columns that η shifts, `n` (…, K, H) units, as many
    multinomial ones as they count for, and `sigma` (…) the standard deviation of η.
    """
    K = log_m.shape[-2]
    total, seen = n.sum(axis=-2), n.sum(axis=-1)
    prior = (1.0 / sigma**2)[..., None]
    eta = np.zeros(seen.shape)
    every = np.arange(K)
    for step in range(NEWTON + 1):
        x = log_m + eta[..., None]
        x = np.exp(x - x.max(axis=-2, keepdims=True))
        x /= x.sum(axis=-2, keepdims=True)
        weighed = x * total[..., None, :]
        precision = -weighed @ np.swapaxes(x, -1, -2)
        precision[..., every, every] += weighed.sum(axis=-1) + prior
        if step < NEWTON:
            slope = seen - weighed.sum(axis=-1) - eta * prior
            move = np.linalg.solve(precision, slope[..., None])[..., 0]
            eta = eta + np.clip(move, -2.0, 2.0)
    return eta, precision


def draw_common(log_m: Floats, n: Floats, sigma: Floats, rng: Rng) -> Floats:
    """Draw η (…, K) given audited units; the parameters are those of `find_mode`."""
    eta, precision = find_mode(log_m, n, sigma)
    root = np.swapaxes(np.linalg.cholesky(precision), -1, -2)
    z = rng.standard_normal(eta.shape)
    return np.asarray(eta + np.linalg.solve(root, z[..., None])[..., 0])
