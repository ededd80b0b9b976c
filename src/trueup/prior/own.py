"""A user's own log density of P as a prior."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from trueup.errors import OptionError
from trueup.numerics.arrays import Floats
from trueup.prior.belief import recorded
from trueup.prior.dirichlet import Concentrations
from trueup.prior.elicited import Built, Labels, Rates
from trueup.prior.tilted import TINY


@recorded
def log_density(
    function: Callable[..., Any],
    *,
    reference: object = "perks",
    smooth: bool = True,
    name: str = "log_density",
) -> Built:
    """Make a prior of a function that returns the log of its density at P, up to a constant.

    Parameters
    ----------
    function : callable
        Takes one (K, K) array P, rows true, and returns one number; −inf where P is impossible. The
        density is that of the rows' free rates, so a constant is the uniform prior. With a second
        argument, ``f(P, np)``, it receives NumPy or ``jax.numpy``: use its functions rather than
        those of an imported NumPy, and NUTS can be used where weights do not suffice.
    reference : str or prior
        A conjugate prior close to it: draws from its posterior are weighted. Also the prior of the
        base rates.
    smooth : bool
        False for a function with jumps or that JAX cannot differentiate: then chains that need
        no gradient replace NUTS. They are slower, but take any function.
    name : str
        What the result calls it.

    Examples
    --------
    >>> few_false_alarms = log_density(lambda P, np: -0.5 * ((P[1, 0] - 0.02) / 0.01) ** 2)
    >>> few_false_alarms.for_classes(2).name
    'log_density'
    """
    if not callable(function):
        raise OptionError(f"A log density must be a function of P; got {function!r}.")
    takes_module = _arguments(function) >= 2

    def rule(base: Concentrations, labels: Labels) -> Rates:
        K = len(base.gamma)

        def one(P: Any, xp: Any) -> Any:
            return function(P, xp) if takes_module else function(P)

        def tilt(P: Any, xp: Any) -> Any:
            log_reference = ((base.alpha - 1) * xp.log(xp.maximum(P, TINY))).sum((-2, -1))
            if xp is not np:
                return one(P, xp) - log_reference
            flat = P.reshape(-1, K, K)
            values = np.array([_number(one, matrix) for matrix in flat])
            return values.reshape(P.shape[:-2]) - log_reference

        _check_proper(one, K)
        return base.alpha, base.gamma, tilt

    return Built(rule, reference, name, smooth=smooth)


def _arguments(function: Callable[..., Any]) -> int:
    try:
        kinds = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(x.kind in positional and x.default is inspect.Parameter.empty for x in kinds)


def _number(one: Callable[[Any, Any], Any], P: Floats) -> float:
    """Evaluate the function at one P, and say plainly what is wrong with its answer."""
    hint = "it takes one (K, K) array, rows true, and returns the log of the density there."
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(one(P, np), dtype=float)
    except Exception as error:  # whatever a user's function may raise
        raise OptionError(
            f"The log density must return a number for every P; got {type(error).__name__}: "
            f"{error}.",
            hint=hint,
        ) from error
    if value.shape != () or np.isnan(value) or value == np.inf:
        got = f"an array of shape {value.shape}" if value.shape else f"{float(value)}"
        raise OptionError(
            f"The log density must return one number, or −inf where P is impossible; got {got}.",
            hint=hint,
        )
    return float(value)


def _check_proper(one: Callable[[Any, Any], Any], K: int) -> None:
    """Refuse a density that grows like 1/p or faster where a rate goes to 0: it has no integral."""
    for g in range(K):
        for h in range(K):
            steps = []
            for small in (1e-8, 1e-14):
                P = np.full((K, K), 1.0 / K)
                P[g] = (1 - small) / (K - 1)
                P[g, h] = small
                steps.append(_number(one, P))
            if np.isfinite(steps).all() and steps[1] - steps[0] >= 0.999 * np.log(1e6):
                raise OptionError(
                    f"A prior must be proper: this log density grows without bound where P[{g}, "
                    f"{h}] goes to 0, as −log p or faster, so it has no finite integral.",
                    hint="with 0 test units in that cell, the posterior would have none either.",
                )
