"""Theorem 1: the likelihood of the test set, and the posterior of P and β for conjugate priors."""

import numpy as np
from numpy.typing import ArrayLike

from trueup.numerics import special
from trueup.numerics.arrays import Floats
from trueup.prior import Concentrations


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
