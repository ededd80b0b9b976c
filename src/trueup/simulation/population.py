"""What is simulated: a population of units in true classes, and its audit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueup.draws.settings import DESIGNS, one_of
from trueup.errors import DataError, OptionError
from trueup.numerics.arrays import Floats, Integers

Values = Callable[[Integers], Floats]


@dataclass(frozen=True, eq=False)
class Population:
    """Error rates P (K, K), units per true class v (K,), and with values s and y (N,) of units."""

    P: Floats
    v: Integers
    s: Integers | None
    y: Floats | None

    @property
    def K(self) -> int:
        """The number of classes."""
        return len(self.v)


@dataclass(frozen=True, eq=False)
class Design:
    """How many units are audited, of which classes."""

    name: str
    n: int
    per_class: Integers | None  # by_prediction: None is in proportion to v̂
    shares: Floats | None  # shifted


def lognormal(sigma: float, means: ArrayLike = 1.0) -> Values:
    """Return values whose logarithm has standard deviation `sigma`, with a mean per true class.

    They are quantiles, not draws: the population is the same for every seed.

    Examples
    --------
    >>> y = lognormal(1.5, [1, 3])(np.array([0, 0, 1, 1, 1]))
    >>> float(y[:2].mean().round(9)), float(y[2:].mean().round(9))
    (1.0, 3.0)
    """
    if not sigma >= 0:
        raise OptionError(f"The spread of the values must be at least 0; got {sigma!r}.")

    def values(s: Integers) -> Floats:
        mean = np.broadcast_to(np.asarray(means, float), (int(s.max()) + 1,))
        y = np.empty(len(s))
        for g in np.unique(s):
            units = np.flatnonzero(s == g)
            grown = np.exp(sigma * ndtri((np.arange(len(units)) + 0.5) / len(units)))
            y[units] = mean[g] * grown * len(units) / grown.sum()
        return y

    return values


def largest_remainder(shares: ArrayLike, total: int) -> Integers:
    """Round shares to whole numbers that add up to `total` (Hamilton's method), over the last axis.

    Examples
    --------
    >>> largest_remainder([0.075, 0.925], 50)
    array([ 4, 46])
    """
    shares = np.asarray(shares, float)
    exact = total * shares / shares.sum(axis=-1, keepdims=True)
    whole = np.floor(exact + 1e-9)
    missing = (total - whole.sum(axis=-1)).astype(np.int64)
    rank = np.argsort(np.argsort(-(exact - whole), axis=-1, kind="stable"), axis=-1)
    return np.asarray(whole + (rank < missing[..., None]), dtype=np.int64)


def make_population(
    P: ArrayLike,
    N: ArrayLike | None,
    base_rates: ArrayLike | None,
    true: ArrayLike | None,
    values: ArrayLike | Values | None,
) -> Population:
    """Check what the user gave."""
    rates = _rates(P)
    K, s = len(rates), None
    if true is not None:
        s = _labels("true", true)
        if s.max() >= K:
            raise DataError(f"`true` must hold classes 0 to {K - 1}; got {s.max()}.")
        v = np.bincount(s, minlength=K)
    elif N is None or base_rates is None:
        raise DataError(
            "A population needs `N` and `base_rates`, or the class of each unit in `true`."
        )
    else:
        beta, size = _shares("base_rates", base_rates), np.asarray(N)
        if beta.shape != (K,):
            raise DataError(f"`P` has shape {rates.shape}, which does not fit {beta.shape} shares.")
        if size.shape != () or size < 1 or size != np.floor(size):
            raise DataError(f"`N` must be a whole number of at least 1; got {N!r}.")
        v = largest_remainder(beta, int(size))
    if values is None:
        return Population(rates, v, None, None)
    s = np.repeat(np.arange(K), v) if s is None else s
    return Population(rates, v, s, _values(values, s))


def _values(values: ArrayLike | Values, s: Integers) -> Floats:
    y = np.asarray(values(s) if callable(values) else values, float)
    if y.ndim == 0:
        y = lognormal(float(y))(s)
    if y.shape != s.shape or not np.isfinite(y).all():
        raise DataError(f"`values` must be {len(s):,} finite numbers, one per unit.")
    return y


def _rates(P: object) -> Floats:
    rates = np.asarray(P, float)
    if rates.ndim != 2 or rates.shape[0] != rates.shape[1] or len(rates) < 2:
        raise DataError(f"`P` must be square, rows true, of at least 2 classes; got {rates.shape}.")
    if not (rates >= 0).all() or not np.allclose(rates.sum(axis=1), 1, atol=1e-6):
        raise DataError(
            "Every row of `P` must hold probabilities that sum to 1.",
            hint="row g has Pr(predicted h | true g); is it transposed?",
        )
    return np.asarray(rates / rates.sum(axis=1, keepdims=True))


def _shares(name: str, given: ArrayLike) -> Floats:
    shares = np.asarray(given, float)
    if not np.isfinite(shares).all() or (shares < 0).any() or not (shares.sum(axis=-1) > 0).all():
        bad = [x for x in shares.ravel().tolist() if not 0 <= x < np.inf]
        raise DataError(f"`{name}` must be shares of at least 0; got {[*bad, 'only 0'][0]}.")
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _labels(name: str, given: ArrayLike) -> Integers:
    labels = np.asarray(given)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iub" or labels.min() < 0:
        raise DataError(f"`{name}` must hold a whole number of at least 0 for each unit.")
    return labels.astype(np.int64)


def make_design(
    design: str, n: ArrayLike, test_base_rates: ArrayLike | None, population: Population
) -> Design:
    """Check how the test set is to be drawn."""
    one_of("design", design, DESIGNS)
    size = np.asarray(n)
    K, v, N = population.K, population.v, int(population.v.sum())
    if (size < 0).any() or (size != np.floor(size)).any() or size.shape not in ((), (K,)):
        raise OptionError(f"`n` must be a whole number, or one for each of {K} classes; got {n!r}.")
    if size.ndim and design not in ("by_prediction", "by_class"):
        raise OptionError(f"`n` per class needs design by_prediction or by_class; got {design!r}.")
    size = size.astype(np.int64)
    total = int(size.sum())
    if design != "shifted" and total > N:
        raise OptionError(f"`n` may be at most the {N:,} units of the population; got {total:,}.")
    if design == "by_class":
        per_class = size if size.ndim else largest_remainder(v, total)
        if (per_class > v).any():
            raise OptionError(f"`n` may be at most {v.tolist()}, the units per class; got {n!r}.")
        return Design(design, total, per_class, None)
    shares = None
    if design == "shifted":
        shares = _shares(
            "test_base_rates", np.full(K, 1 / K) if test_base_rates is None else test_base_rates
        )
        if shares.shape != (K,):
            raise OptionError(f"`test_base_rates` must be {K} shares; got {test_base_rates!r}.")
        if (shares[v == 0] > 0).any():
            raise OptionError("`test_base_rates` must be 0 where the population has no units.")
    return Design(design, total, size if size.ndim else None, shares)
