"""Priors that are not conjugate: Dirichlet rows times a factor, the tilt.

Every proper prior of P is one: its density over that of the Dirichlets. So draws from the conjugate
posterior need no more than weights, where those do not differ too much, and the same function is
the target of NUTS where they do. A tilt is written once for NumPy and for JAX, ``tilt(P, np)``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.errors import OptionError
from trueup.numerics import special
from trueup.prior.belief import Belief, call, picklable
from trueup.prior.dirichlet import Concentrations
from trueup.prior.elicited import conjugate, diagonal

__all__ = [
    "Tilted",
    "even_errors",
    "hierarchical",
    "inside",
    "logistic_normal",
    "ordered",
    "robust",
    "size_of",
    "symmetric",
    "truncated",
]

Floats = NDArray[np.float64]
Tilt = Callable[[Any, Any], Any]
TINY = 1e-300
# Standard deviations of logits between classes, in units of their scale: equal steps of the log, in
# which the integrand is smooth. Below is 0.4% of the half-normal, above nothing.
TAU_GRID = np.geomspace(0.005, 12.0, 90)


@dataclass(frozen=True, eq=False, repr=False)
class Tilted(Belief):
    """A conjugate prior `rest` times a factor.

    `make` takes the concentrations of `rest` and the labels, and gives alpha and the tilt over
    Dir(alpha).
    """

    make: Callable[[Concentrations, list[Hashable]], tuple[Floats, Tilt]]
    rest: object
    name: str
    made: str
    smooth: bool = True
    word: str = ""
    recipe: Any = None

    def for_classes(self, K: int, labels: Sequence[Hashable] | None = None) -> Concentrations:
        """Give the prior written out for K classes, checked."""
        known: list[Hashable] = list(range(K) if labels is None else labels)
        base = conjugate(self.rest, known, self.name)
        alpha, tilt = self.make(base, known)
        return Concentrations(alpha, base.gamma, self.name, tilt, self.smooth)


@picklable
def logistic_normal(*, error: float = 0.1, sd: float = 1.0, rest: object = "perks") -> Tilted:
    """Log odds log(p_gh / p_gg) of each error, normal around an expected error rate.

    Parameters
    ----------
    error : float
        The error rate in the middle of the belief: 1 − recall, shared between other classes.
    sd : float
        Standard deviation of the log odds: with 1, odds may be e² ≈ 7 times as large or small.
    rest : str or prior
        The prior of the base rates.
    """
    inside("error", error, 0, 1)
    inside("sd", sd, 0, 100)

    def make(base: Concentrations, labels: list[Hashable]) -> tuple[Floats, Tilt]:
        K = len(base.gamma)
        middle = np.log(error / (K - 1) / (1 - error))
        alpha = even_errors(K, error) * size_of(error / (K - 1), 1 - error, sd**2)

        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            odds = log_p - np.einsum("...gg->...g", log_p)[..., None]
            far = ((odds - middle) / sd) ** 2 * (1 - np.eye(K))
            return (-0.5 * far - alpha * log_p).sum((-2, -1))  # the density has 1/Π p_gh too

        return alpha, tilt

    made = call("logistic_normal", error=error, sd=sd, rest=rest)
    return Tilted(make, rest, "logistic_normal", made)


@picklable
def truncated(
    rest: object = "jeffreys",
    *,
    recall: tuple[float, float] | None = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = 1.0,
) -> Tilted:
    """Cut a conjugate prior off: rates outside these bounds are impossible.

    Parameters
    ----------
    rest : str or prior
        The prior that is cut off.
    recall : (float, float), optional
        Bounds of every p_gg, as (0.5, 1).
    lower, upper : array_like
        Bounds of every rate: numbers or (K, K) arrays.
    """

    def make(base: Concentrations, labels: list[Hashable]) -> tuple[Floats, Tilt]:
        K = len(base.gamma)
        low, high = (_bounds(name, x, K) for name, x in (("lower", lower), ("upper", upper)))
        if recall is not None:
            at = np.arange(K)
            try:
                least, most = (float(x) for x in recall)
            except (TypeError, ValueError):
                raise OptionError(f"`recall` must be two numbers; {recall!r} came.") from None
            low[at, at] = np.maximum(low[at, at], least)
            high[at, at] = np.minimum(high[at, at], most)
        possible = (low < high).all() and (low.sum(1) < 1).all() and (high.sum(1) > 1).all()
        if not possible:
            raise OptionError(
                "The bounds of the prior must leave room in every row: lower < upper, and rates "
                "that sum to 1 in between; they do not.",
                hint="rows are true classes; each row of rates sums to 1.",
            )

        def tilt(P: Any, np: Any) -> Any:
            fine = (np.clip(P, low, high) == P).all((-2, -1))
            return np.where(fine, 0.0, -np.inf)

        return base.alpha, tilt

    made = call("truncated", rest, recall=recall, lower=lower, upper=upper)
    return Tilted(make, rest, "truncated", made, smooth=False)


@picklable
def ordered(rest: object = "perks") -> Tilted:
    """Classes in order (small, medium, large): rates fall away from the diagonal in every row."""

    def make(base: Concentrations, labels: list[Hashable]) -> tuple[Floats, Tilt]:
        K = len(base.gamma)

        def tilt(P: Any, np: Any) -> Any:
            fine = True
            for g in range(K):
                falls = P[..., g, g:-1] >= P[..., g, g + 1 :] if g < K - 1 else None
                rises = P[..., g, :g] <= P[..., g, 1 : g + 1] if g > 0 else None
                for side in (falls, rises):
                    if side is not None:
                        fine = fine & side.all(-1)
            return np.where(fine, 0.0, -np.inf)

        return base.alpha, tilt

    return Tilted(make, rest, "ordered", call("ordered", rest), smooth=False)


@picklable
def symmetric(sd: float = 0.3, *, rest: object = None) -> Tilted:
    """Believe that g is taken for h about as often as h for g.

    The difference of log p_gh and log p_hg is normal around 0 with this standard deviation, on top
    of a prior that by default is uniform with two correctly classified units added to every row:
    one with peaks where rates are 0 would leave nothing but those.
    """
    rest = diagonal(2, rest="uniform") if rest is None else rest
    inside("sd", sd, 0, 100)

    def make(base: Concentrations, labels: list[Hashable]) -> tuple[Floats, Tilt]:
        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            difference = log_p - np.swapaxes(log_p, -1, -2)
            return -0.25 * ((difference / sd) ** 2).sum((-2, -1))  # each pair is there twice

        return base.alpha, tilt

    return Tilted(make, rest, "symmetric", call("symmetric", sd, rest=rest))


@picklable
def hierarchical(
    *, error: float = 0.15, sd: float = 1.0, between: float = 0.5, rest: object = "perks"
) -> Tilted:
    """Classes whose recalls are alike, as far as the data say so.

    The logit of each p_gg is normal around a common μ with standard deviation τ; μ is normal
    around the logit of 1 − `error` with standard deviation `sd`, and τ is half-normal with scale
    `between`. The rest of a row is shared out uniformly. μ is integrated exactly, τ on a grid.
    """
    inside("error", error, 0, 1)
    inside("sd", sd, 0, 100)
    inside("between", between, 0, 2)
    tau = between * TAU_GRID
    log_prior = -0.5 * TAU_GRID**2 + np.log(tau)  # dτ = τ d log τ
    middle = np.log((1 - error) / error)

    def make(base: Concentrations, labels: list[Hashable]) -> tuple[Floats, Tilt]:
        K = len(base.gamma)
        # of K logits: K − 1 contrasts with variance τ², and their mean with sd² + τ²/K
        spread = sd**2 + tau**2 / K
        constant = log_prior - (K - 1) * np.log(tau) - 0.5 * np.log(spread)
        size = size_of(error, 1 - error, sd**2 + between**2)
        alpha = even_errors(K, error) * size

        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            log_hit = np.einsum("...gg->...g", log_p)
            off = P * (1 - np.eye(K))
            log_miss = np.log(np.maximum(off.sum(-1), TINY))
            logit = log_hit - log_miss
            mean = logit.mean(-1)
            within = ((logit - mean[..., None]) ** 2).sum(-1)
            terms = (
                constant
                - 0.5 * within[..., None] / tau**2
                - 0.5 * (mean[..., None] - middle) ** 2 / spread
            )
            top = terms.max(-1)
            marginal = top + np.log(np.exp(terms - top[..., None]).sum(-1))
            jacobian = -(log_hit + log_miss).sum(-1) - (K - 2) * log_miss.sum(-1)
            return marginal + jacobian - ((alpha - 1) * log_p).sum((-2, -1))

        return alpha, tilt

    made = call("hierarchical", error=error, sd=sd, between=between, rest=rest)
    return Tilted(make, rest, "hierarchical", made)


@picklable
def robust(prior: object, weight: float = 0.8, *, rest: object = "jeffreys") -> Tilted:
    """Mix a prior with a vague one, row by row, in case it is wrong.

    Each row follows `prior` with probability `weight` and `rest` otherwise; test units that
    contradict `prior` move the row to `rest`.
    """
    inside("weight", weight, 0, 1)

    def make(base: Concentrations, labels: list[Hashable]) -> tuple[Floats, Tilt]:
        mine = conjugate(prior, labels, "robust").alpha
        constant = _log_constant(mine) - _log_constant(base.alpha)

        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            ratio = constant + ((mine - base.alpha) * log_p).sum(-1)
            return np.logaddexp(np.log(weight) + ratio, np.log1p(-weight)).sum(-1)

        return base.alpha, tilt

    return Tilted(make, rest, "robust", call("robust", prior, weight, rest=rest))


def _log_constant(alpha: Floats) -> Floats:
    return np.asarray(special.gammaln(alpha.sum(axis=1)) - special.gammaln(alpha).sum(axis=1))


def even_errors(K: int, error: float) -> Floats:
    """P with this error rate in every row, shared evenly between the other classes."""
    return np.where(np.eye(K, dtype=bool), 1 - error, error / (K - 1))


def size_of(small: float, large: float, variance: float) -> float:
    """The size of a Dirichlet whose log odds of two rates with these means have this variance."""
    low, high = np.log(1e-3), np.log(1e9)
    for _ in range(60):
        size = np.exp((low + high) / 2)
        if special.polygamma(1, size * small) + special.polygamma(1, size * large) > variance:
            low = np.log(size)
        else:
            high = np.log(size)
    return float(size)


def inside(name: str, x: object, low: float, high: float) -> None:
    """Refuse a number that is not between these."""
    if not (isinstance(x, int | float) and low < x < high):
        raise OptionError(f"`{name}` must be a number between {low} and {high}; {x!r} came.")


def _bounds(name: str, given: ArrayLike, K: int) -> Floats:
    try:
        return np.broadcast_to(np.asarray(given, dtype=float), (K, K)).copy()
    except (TypeError, ValueError):
        raise OptionError(
            f"`{name}` must be a number or an array of shape {(K, K)}; {given!r} came."
        ) from None
