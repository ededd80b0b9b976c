"""Importance weights: how many draws they leave, whether to trust them, and resampling.

Vehtari, Simpson, Gelman, Yao and Gabry (2024): above 0.7 a few weights decide the answer, however
many draws there are.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.arrays import Floats, Rng


def effective_size(log_weight: Floats) -> float:
    """Kish's effective number of draws, (Σw)² / Σw²; zero when no weight is positive."""
    top = np.max(log_weight, initial=-np.inf)
    if not np.isfinite(top):
        return 0.0
    weight = np.exp(log_weight - top)
    return float(weight.sum() ** 2 / (weight**2).sum())


class Resampled(NamedTuple):
    """Which draws were kept, and how many independent ones they are worth."""

    indices: NDArray[np.intp]
    ess: float


def resample(log_weight: Floats, size: int, rng: Rng) -> Resampled:
    """Systematic resampling: draw r is kept floor or ceil of size · w_r / Σw times.

    The draws are shuffled first: equal steps through draws that come in a pattern (a chain, a
    grid, two samplers in turn) can match its period and keep one kind only. They are
    shuffled again afterwards, so that copies of one draw do not stand together.

    Examples
    --------
    >>> resample(np.log([0.5, 0.25, 0.25]), 4, np.random.default_rng(1)).ess
    2.6666666666666665
    """
    shuffled = rng.permutation(log_weight.size)
    weight = np.exp(log_weight[shuffled] - np.max(log_weight))
    cumulative = np.cumsum(weight)
    points = (np.arange(size) + rng.random()) * (cumulative[-1] / size)
    place = np.searchsorted(cumulative, points, side="right")
    last = np.flatnonzero(weight)[-1]  # rounding must not reach past the last positive weight
    return Resampled(rng.permutation(shuffled[np.minimum(place, last)]), effective_size(log_weight))


def pareto_k(log_weight: Floats) -> float:
    """Fit a generalised Pareto distribution to the largest weights and return its shape k.

    The fit is that of Zhang and Stephens (2009): an average over a grid of profile likelihoods,
    with the weakly informative prior of Vehtari et al. for few draws. Equal weights give −inf.

    Examples
    --------
    >>> x = np.random.default_rng(1).pareto(2.0, 100_000)  # its tail has k = 1/2
    >>> round(pareto_k(np.log1p(x)), 1)
    0.5
    """
    finite = np.sort(log_weight[np.isfinite(log_weight)])
    R = len(log_weight)
    M = int(np.ceil(min(0.2 * R, 3 * np.sqrt(R))))
    if len(finite) <= max(M, 5):
        return np.inf
    tail = np.exp(finite[-M:] - finite[-1])
    x = tail - np.exp(finite[-M - 1] - finite[-1])
    x = x[x > 0]
    if len(x) < 5:  # a tail of equal weights: no tail
        return -np.inf
    n = len(x)
    grid = np.arange(1, 30 + int(np.sqrt(n)) + 1)
    quartile = x[int(n / 4 + 0.5) - 1]
    if quartile < 1e-200 * x[-1]:  # one weight decides, and b would not be a float
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        b = 1 / x[-1] + (1 - np.sqrt(len(grid) / (grid - 0.5))) / (3 * quartile)
        k = np.log1p(-b[:, None] * x).mean(axis=1)
        profile = n * (np.log(-b / k) - k - 1)
    usable = np.isfinite(profile)  # at b = 0 it is 0/0
    if not usable.any():
        return np.inf
    b, profile = b[usable], profile[usable]
    weight = np.exp(profile - profile.max())
    b_mean = float((b * weight).sum() / weight.sum())
    shape = float(np.log1p(-b_mean * x).mean())
    return (n * shape + 5) / (n + 10)
