"""Classification noise: which units were misclassified is random too (Theorem 2, with values)."""

import numpy as np

from trueup.numerics.arrays import Floats, Rng


def noise_covariance(P: Floats, W: Floats) -> Floats:
    """Var(û | s) = Σ_g W_g (diag p_g − p_g p_gᵀ), with W_g = Σy² over the units of true class g.

    With y = 1, W = v and this is N² times Theorem 2. `P` is (…, K, K) and `W` (…, K).
    """
    WP = W[..., :, None] * P
    covariance = -np.einsum("...gh,...gk->...hk", WP, P)
    diagonal = np.arange(P.shape[-1])
    covariance[..., diagonal, diagonal] += WP.sum(axis=-2)
    return np.asarray(covariance)


def classification_noise(P: Floats, W: Floats, rng: Rng) -> Floats:
    """Draw N(0, Σ_g W_g (diag p_g − p_g p_gᵀ)) for each of the R rows of `W` (R, K).

    Each class' term is √W_g (√p_g∘z − p_g (√p_g·z)) with z standard normal: no matrix is factored.
    """
    root = np.sqrt(P)
    z = root * rng.standard_normal((len(W), *P.shape[-2:]))
    noise = z - P * z.sum(axis=-1, keepdims=True)
    return np.asarray((np.sqrt(W)[..., None] * noise).sum(axis=-2))
