"""Priors that are not conjugate: Dirichlet rows times a factor, the tilt.

Every proper prior of P can be written so: the tilt is its density over that of the Dirichlets.
Draws from the conjugate posterior then need only weights; where these differ too much, the same
function is the target of NUTS. A tilt is written once for NumPy and for JAX, ``tilt(P, np)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import OptionError
from trueup.numerics import special
from trueup.numerics.arrays import Floats
from trueup.prior.belief import check_between, recorded
from trueup.prior.dirichlet import Concentrations
from trueup.prior.elicited import Built, Labels, Rates, conjugate, diagonal

TINY = 1e-300
# Standard deviations of logits between classes, in units of their scale: equal steps of the log, in
# which the integrand is smooth. 0.4% of the half-normal lies below the grid, nothing above it.
TAU_GRID = np.geomspace(0.005, 12.0, 90)


@recorded
def logistic_normal(*, error: float = 0.1, sd: float = 1.0, rest: object = "perks") -> Built:
    """Let the log odds log(p_gh / p_gg) of each error be normal around an expected error rate.

    Parameters
    ----------
    error : float
        The error rate in the middle of the belief: 1 − recall, shared between other classes.
    sd : float
        Standard deviation of the log odds: with 1, odds may be e² ≈ 7 times as large or small.
    rest : str or prior
        The prior of the base rates.
    """
    check_between("error", error, 0, 1)
    check_between("sd", sd, 0, 100)

    def rule(base: Concentrations, labels: Labels) -> Rates:
        K = len(base.gamma)
        middle = np.log(error / (K - 1) / (1 - error))
        alpha = even_errors(K, error) * size_of(error / (K - 1), 1 - error, sd**2)

        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            odds = log_p - np.einsum("...gg->...g", log_p)[..., None]
            far = ((odds - middle) / sd) ** 2 * (1 - np.eye(K))
            return (-0.5 * far - alpha * log_p).sum((-2, -1))  # the density has 1/Π p_gh too

        return alpha, base.gamma, tilt

    return Built(rule, rest, "logistic_normal")


@recorded
def truncated(
    rest: object = "jeffreys",
    *,
    recall: tuple[float, float] | None = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = 1.0,
) -> Built:
    """Truncate a conjugate prior: rates outside these bounds are impossible.

    Parameters
    ----------
    rest : str or prior
        The prior that is truncated.
    recall : (float, float), optional
        Bounds of every p_gg, such as (0.5, 1).
    lower, upper : array_like
        Bounds of every rate: numbers or (K, K) arrays.
    """

    def rule(base: Concentrations, labels: Labels) -> Rates:
        K = len(base.gamma)
        low, high = (_bounds(name, x, K) for name, x in (("lower", lower), ("upper", upper)))
        if recall is not None:
            at = np.arange(K)
            try:
                least, most = (float(x) for x in recall)
            except (TypeError, ValueError):
                raise OptionError(f"`recall` must be two numbers; got {recall!r}.") from None
            low[at, at] = np.maximum(low[at, at], least)
            high[at, at] = np.minimum(high[at, at], most)
        possible = (low < high).all() and (low.sum(1) < 1).all() and (high.sum(1) > 1).all()
        if not possible:
            raise OptionError(
                "The bounds of the prior must leave room in every row: lower < upper, and rates "
                "in between that sum to 1; got bounds that do not.",
                hint="rows are true classes; each row of rates sums to 1.",
            )

        def tilt(P: Any, np: Any) -> Any:
            fine = (np.clip(P, low, high) == P).all((-2, -1))
            return np.where(fine, 0.0, -np.inf)

        return base.alpha, base.gamma, tilt

    return Built(rule, rest, "truncated", smooth=False)


@recorded
def ordered(rest: object = "perks") -> Built:
    """Take the classes to be ordered: rates fall away from the diagonal in every row."""

    def rule(base: Concentrations, labels: Labels) -> Rates:
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

        return base.alpha, base.gamma, tilt

    return Built(rule, rest, "ordered", smooth=False)


@recorded
def symmetric(sd: float = 0.3, *, rest: object = None) -> Built:
    """Believe that g is taken for h about as often as h for g.

    The difference of log p_gh and log p_hg is normal around 0 with this standard deviation, on top
    of a prior that by default is uniform with two correctly classified units added to every row. A
    prior with peaks where rates are 0 would put all its weight there.
    """
    rest = diagonal(2, rest="uniform") if rest is None else rest
    check_between("sd", sd, 0, 100)

    def rule(base: Concentrations, labels: Labels) -> Rates:
        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            difference = log_p - np.swapaxes(log_p, -1, -2)
            return -0.25 * ((difference / sd) ** 2).sum((-2, -1))  # each pair is there twice

        return base.alpha, base.gamma, tilt

    return Built(rule, rest, "symmetric")


@recorded
def hierarchical(
    *, error: float = 0.15, sd: float = 1.0, between: float = 0.5, rest: object = "perks"
) -> Built:
    """Let classes have similar recalls, as far as the data support it.

    The logit of each p_gg is normal around a common μ with standard deviation τ; μ is normal
    around the logit of 1 − `error` with standard deviation `sd`, and τ is half-normal with scale
    `between`. The rest of a row is shared out uniformly. μ is integrated exactly, τ on a grid.
    """
    check_between("error", error, 0, 1)
    check_between("sd", sd, 0, 100)
    check_between("between", between, 0, 2)
    tau = between * TAU_GRID
    log_prior = -0.5 * TAU_GRID**2 + np.log(tau)  # dτ = τ d log τ
    middle = np.log((1 - error) / error)

    def rule(base: Concentrations, labels: Labels) -> Rates:
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

        return alpha, base.gamma, tilt

    return Built(rule, rest, "hierarchical")


@recorded
def robust(prior: object, weight: float = 0.8, *, rest: object = "jeffreys") -> Built:
    """Mix a prior with a vague one, row by row, in case it is wrong.

    Each row follows `prior` with probability `weight` and `rest` otherwise; test units that
    contradict `prior` move the row to `rest`.
    """
    check_between("weight", weight, 0, 1)

    def rule(base: Concentrations, labels: Labels) -> Rates:
        mine = conjugate(prior, labels, "robust").alpha
        constant = _log_constant(mine) - _log_constant(base.alpha)

        def tilt(P: Any, np: Any) -> Any:
            log_p = np.log(np.maximum(P, TINY))
            ratio = constant + ((mine - base.alpha) * log_p).sum(-1)
            return np.logaddexp(np.log(weight) + ratio, np.log1p(-weight)).sum(-1)

        return base.alpha, base.gamma, tilt

    return Built(rule, rest, "robust")


def _log_constant(alpha: Floats) -> Floats:
    return np.asarray(special.gammaln(alpha.sum(axis=1)) - special.gammaln(alpha).sum(axis=1))


def even_errors(K: int, error: float) -> Floats:
    """Return P with this error rate in every row, shared evenly between the other classes."""
    return np.where(np.eye(K, dtype=bool), 1 - error, error / (K - 1))


def size_of(small: float, large: float, variance: float) -> float:
    """Return the size of a Dirichlet whose log odds of these rates have this variance."""
    low, high = np.log(1e-3), np.log(1e9)
    for _ in range(60):
        size = np.exp((low + high) / 2)
        if special.polygamma(1, size * small) + special.polygamma(1, size * large) > variance:
            low = np.log(size)
        else:
            high = np.log(size)
    return float(size)


def _bounds(name: str, given: ArrayLike, K: int) -> Floats:
    try:
        return np.broadcast_to(np.asarray(given, dtype=float), (K, K)).copy()
    except (TypeError, ValueError):
        raise OptionError(
            f"`{name}` must be a number or an array of shape {(K, K)}; got {given!r}."
        ) from None
