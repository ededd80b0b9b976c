"""A population like the paper's: 18,939 companies, 7.5% webshops, heavy-tailed turnover.

The tax returns themselves are not public. The paper's Table 1 pins down the moments: the bias of
"None" is 0.05(T − 2u₁) = 195.3e6 and its variance 0.0475·Σy² = 3.7e15, which fit u₁ ≈ 0.52e9,
T ≈ 4.95e9 and Σy² ≈ 7.8e16 (and not the 12.2e9 of the paper's text).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from trueup.numerics.arrays import Floats, Integers, Rng

N, BASE_RATE, ERROR_RATE = 18_939, 0.075, 0.05
TOTAL, WEBSHOP_TOTAL, SQUARES = 4.95e9, 0.52e9, 3.7e15 / (ERROR_RATE * (1 - ERROR_RATE))
WEBSHOP, OTHER = 0, 1  # rows and columns: the class of interest first


@dataclass(frozen=True, eq=False)
class Webshops:
    """The true class s (0 is webshop) and the turnover y of each company."""

    s: Integers
    y: Floats


def webshops() -> Webshops:
    """Make the population: lognormal quantiles, scaled so that the moments are exactly right.

    Examples
    --------
    >>> population = webshops()
    >>> len(population.y), int((population.s == WEBSHOP).sum())
    (18939, 1420)
    >>> f"{population.y.sum():.4e} {(population.y**2).sum():.4e}"
    '4.9500e+09 7.7895e+16'
    """
    sizes = (round(BASE_RATE * N), N - round(BASE_RATE * N))
    totals = (WEBSHOP_TOTAL, TOTAL - WEBSHOP_TOTAL)
    z = [ndtri((np.arange(size) + 0.5) / size) for size in sizes]

    def values(sigma: float) -> Floats:
        grown = [np.exp(sigma * x) for x in z]
        return np.concatenate([t * x / x.sum() for x, t in zip(grown, totals, strict=True)])

    low, high = 0.0, 5.0
    while high - low > 1e-15 * high:  # Σy² grows with the spread
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if (values(middle) ** 2).sum() < SQUARES else (low, middle)
    return Webshops(np.repeat([WEBSHOP, OTHER], sizes), values(high))


def predict(s: Integers, rng: Rng) -> Integers:
    """Draw predicted classes with p = q = 0.05, as the paper's simulation does."""
    return np.asarray(np.where(rng.random(len(s)) < ERROR_RATE, 1 - s, s))
