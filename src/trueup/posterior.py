"""Theorem 1: the likelihood of the test set, and the posterior of P and β for conjugate priors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup import special
from trueup.prior import Concentrations

__all__ = ["draw_dirichlet", "log_likelihood", "posterior"]

Floats = NDArray[np.float64]

# Below this shape NumPy's gamma draws underflow to 0 often enough for a row of zeros:
# Pr(X < 1e-308) is about 10^(-308·shape), 1e-31 at 0.1.
SMALL_SHAPE = 0.1


def log_likelihood(n: ArrayLike, P: ArrayLike, beta: ArrayLike) -> Floats:
    """log Π_gh (p_gh β_g)^n_gh, the first half of Theorem 1."""
    theta = np.asarray(P, float) * np.asarray(beta, float)[..., :, None]
    return np.asarray(special.xlogy(np.asarray(n), theta).sum(axis=(-2, -1)))


def posterior(prior: Concentrations, n: ArrayLike) -> Concentrations:
    """Rows p_g ~ Dir(alpha_gh + n_gh) and β ~ Dir(gamma_g + n_g·), independent (Theorem 1).

    Examples
    --------
    >>> from trueup.prior import uniform
    >>> after = posterior(uniform(2), [[4, 1], [2, 3]])
    >>> after.alpha
    array([[5., 2.],
           [3., 4.]])
    >>> after.gamma
    array([6., 6.])
    """
    n = np.asarray(n)
    return Concentrations(prior.alpha + n, prior.gamma + n.sum(axis=1), prior.name)


def draw_dirichlet(a: ArrayLike, size: int, rng: np.random.Generator) -> Floats:
    """Draw (size, …, K) from Dir(a), one distribution for each row of `a` (…, K)."""
    a = np.asarray(a, float)
    shape = (size, *a.shape)
    if a.min() >= SMALL_SHAPE:
        x = rng.standard_gamma(a, size=shape)
    else:  # X ~ Gamma(a) is Gamma(a + 1)·U^(1/a): stay in logs until the largest is divided out
        log_x = np.log(rng.standard_gamma(a + 1, size=shape)) - rng.standard_exponential(shape) / a
        x = np.exp(log_x - log_x.max(axis=-1, keepdims=True))
    x /= np.einsum("...h->...", x)[..., None]  # twice as fast as x.sum() over a short axis
    return x
