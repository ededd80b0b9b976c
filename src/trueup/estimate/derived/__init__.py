"""What people publish besides totals, from joint draws: shares, differences, ranks, accuracies.

Draws come first, (R, K) or (R, G, K). Each answer is computed draw by draw and summed up last, so
that what the parts of a ratio or a difference share (the same P, the same total) is accounted for.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.numerics.arrays import Floats


class Figure(NamedTuple):
    """A posterior median with its equal-tailed interval, each of the shape of one draw."""

    estimate: Floats
    lower: Floats
    upper: Floats


def summarise_draws(draws: ArrayLike, interval: float = 0.95) -> Figure:
    """Return median and equal-tailed interval over the first axis.

    A draw that is not defined (0/0: the share of a class in a group without value) is left out;
    where none is defined the figures are NaN.

    Examples
    --------
    >>> summarise_draws(np.arange(101.0)).estimate
    array(50.)
    """
    x = np.asarray(draws, float)
    tail = (1 - interval) / 2
    levels = [0.5, tail, 1 - tail]
    defined = ~np.isnan(x)
    if defined.all():
        return Figure(*(np.asarray(q) for q in np.quantile(x, levels, axis=0)))
    figures = np.full((3, *x.shape[1:]), np.nan)
    some = defined.any(axis=0)
    figures[:, some] = np.nanquantile(x[:, some], levels, axis=0)
    return Figure(*figures)


class Spread(NamedTuple):
    """The mean, standard deviation and equal-tailed interval of draws, each of one draw's shape."""

    mean: Floats
    sd: Floats
    lower: Floats
    upper: Floats


def spread(draws: Floats, interval: float = 0.95) -> Spread:
    """Summarise over the first axis; undefined draws (NaN) are left out, NaN where all are."""
    many = (~np.isnan(draws)).sum(axis=0)
    mean = divide(np.nansum(draws, axis=0), many)
    squares = np.nansum((draws - mean) ** 2, axis=0)
    sd = np.sqrt(divide(squares, np.maximum(many - 1, 0)))
    return Spread(mean, sd, *summarise_draws(draws, interval)[1:])


def at(figures: Any, *place: int) -> dict[str, float | None]:
    """Return the figures at one place of their arrays; what does not exist (0/0) is None."""
    every: Mapping[str, Any] = figures if isinstance(figures, Mapping) else figures._asdict()
    return {
        name: float(y) if x is not None and np.isfinite(y := x[place]) else None
        for name, x in every.items()
    }


def accuracies(M: NDArray[Any], column: Sequence[int | None]) -> dict[str, Floats]:
    """Recall, precision and F1 per class (R, K) and the overall accuracy (R,), draw by draw.

    `M` (R, K, L) are the population's units by true and predicted class, and ``column[g]`` is
    where class g is predicted, None if it never is: then its recall is 0 and it has no precision.

    Examples
    --------
    >>> found = accuracies(np.array([[[6, 2], [1, 11]]]), [0, 1])
    >>> found["recall"], found["precision"], found["accuracy"]
    (array([[0.75      , 0.91666667]]), array([[0.85714286, 0.84615385]]), array([0.85]))
    """
    at = np.array([-1 if h is None else h for h in column])
    named = at >= 0
    right = np.where(named, M[:, np.arange(len(at)), at], 0)
    true, predicted = M.sum(axis=2), np.where(named, M.sum(axis=1)[:, at], 0)
    return {
        "recall": divide(right, true),
        "precision": divide(right, predicted),
        "f1": divide(2 * right, true + predicted),
        "accuracy": divide(right.sum(axis=1), M.sum(axis=(1, 2))),
    }


def shares(draws: Floats) -> Floats:
    """The share of each class within its group (or within the whole, for draws (R, K))."""
    return divide(draws, draws.sum(axis=-1, keepdims=True))


def ranks(draws: Floats) -> Floats:
    """The rank of each group among the groups, per class (R, G, K): 1 is the largest.

    Groups that tie on a draw get the mean of the ranks they take up.
    """
    smaller = np.sort(draws, axis=1)
    R, G, K = draws.shape
    found = np.empty((R, G, K))
    for r in range(R):  # a search for each draw: memory stays at the size of the draws
        for g in range(K):
            left = np.searchsorted(smaller[r, :, g], draws[r, :, g], side="left")
            right = np.searchsorted(smaller[r, :, g], draws[r, :, g], side="right")
            found[r, :, g] = G - (left + right - 1) / 2
    return found


def probability_above(draws: Floats, threshold: ArrayLike) -> Floats:
    """Pr(u > t) for each group and class: the share of draws above the threshold.

    Examples
    --------
    >>> float(probability_above(np.array([1.0, 2.0, 3.0, 4.0]), 3))
    0.25
    """
    return np.asarray((draws > np.asarray(threshold)).mean(axis=0))


def divide(x: NDArray[Any], by: NDArray[Any]) -> Floats:
    """Divide; 0/0 is NaN, and growth from 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(x / by)
