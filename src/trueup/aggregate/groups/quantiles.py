"""Figures of groups from their draws: median, mean, sd and an equal-tailed interval.

Small groups have counts such as 0, 1 or 2, and quantiles of so few values are too coarse: the
median of a count that is 0 with probability 0.51 is 0, and an interval for 95% often holds 99.8%.
Counts are therefore summed up by mid-quantiles, which interpolate the mid-distribution function
Pr(X < k) + Pr(X = k)/2 (Ma, Genton and Parzen 2011). For large counts they are ordinary quantiles.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.arrays import Floats


def figures(draws: Floats, interval: float, *, discrete: bool) -> dict[str, Floats]:
    """Median (`estimate`), mean, sd, lower and upper, (G, K) each, of draws (R, G, K)."""
    tail = (1 - interval) / 2
    levels = (0.5, tail, 1 - tail)
    if discrete:
        median, lower, upper = mid_quantiles(draws, levels)
    else:
        median, lower, upper = np.quantile(draws, levels, axis=0)
    spread = {"mean": draws.mean(axis=0), "sd": draws.std(axis=0, ddof=1)}
    return {"estimate": median, **spread, "lower": lower, "upper": upper}


def mid_quantiles(draws: Floats, levels: Sequence[float]) -> list[Floats]:
    """Mid-quantiles along the first axis, one array for each level.

    Examples
    --------
    A count that is 0 or 1 with the same probability:

    >>> [float(x) for x in mid_quantiles(np.array([0.0, 0, 1, 1]), [0.25, 0.5, 0.9])]
    [0.0, 0.5, 1.0]
    """
    x = np.sort(np.moveaxis(draws, 0, -1), axis=-1)
    R = x.shape[-1]
    answers = []
    for level in levels:
        here = x[..., min(int(level * R), R - 1)]
        middle, below, above = _mid_rank(x, here)
        low = middle >= level * R  # then interpolate with the value below, else with that above
        other = np.where(low, _at(x, below - 1), _at(x, above))
        outer, _, _ = _mid_rank(x, other)
        apart = np.where(outer == middle, 1.0, outer - middle)
        answers.append(here + (other - here) * np.clip((level * R - middle) / apart, 0.0, 1.0))
    return answers


def _mid_rank(x: Floats, value: Floats) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """R times the mid-distribution function at `value`, and how many are below, and at most it."""
    below = np.count_nonzero(x < value[..., None], axis=-1)
    above = np.count_nonzero(x <= value[..., None], axis=-1)
    return np.asarray((below + above) / 2), np.asarray(below), np.asarray(above)


def _at(x: Floats, rank: NDArray[np.intp]) -> Floats:
    """The value with that rank, or the nearest there is."""
    rank = np.clip(rank, 0, x.shape[-1] - 1)
    return np.asarray(np.take_along_axis(x, rank[..., None], axis=-1)[..., 0])
