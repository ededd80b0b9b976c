"""What a prior believes of the recall of every class, in words and a small picture."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numpy as np

from trueup.errors import OptionError
from trueup.numerics import special
from trueup.numerics.arrays import Rng
from trueup.text import aligned

if TYPE_CHECKING:
    from trueup.prior.dirichlet import Concentrations

P = ParamSpec("P")
B = TypeVar("B")

BARS = " ▁▂▃▄▅▆▇█"
BINS = 25
DRAWS = 40_000


class Belief:
    """What all priors can do: say what they believe of given classes, and how they were made."""

    labels: tuple[Hashable, ...] = ()  # classes that it names itself
    word: str = ""  # how the command line spells it
    recipe: Any = None  # the call that made it, to make it again; see `recorded`

    def __reduce__(self) -> Any:
        if self.recipe is None:
            return super().__reduce__()
        return _remade, (self.recipe, self.word)

    def __repr__(self) -> str:
        if self.recipe is None:
            return f"<prior {type(self).__name__}>"
        function, arguments, options = self.recipe
        return f"trueup.prior.{call(function.__name__, *arguments, **options)}"

    def __str__(self) -> str:
        """Say what it believes of the classes that it names or, if it names none, of two."""
        named = list(self.labels)
        return self.describe(named + ["any other class"] * (len(named) == 1) if named else 2)

    def for_classes(self, K: int, labels: Sequence[Hashable] | None = None) -> Concentrations:
        """Return the prior written out for K classes, checked."""
        raise NotImplementedError

    def describe(self, classes: int | Sequence[Hashable] = 2) -> str:
        """Say what this prior believes of each class's recall Pr(predicted g | true g).

        Parameters
        ----------
        classes : int or sequence
            How many classes there are, or their labels.

        Examples
        --------
        >>> from trueup.prior import Dirichlet
        >>> print(Dirichlet([[8, 2], [1, 9]]).describe(["webshop", "other"]))
        Prior 'dirichlet': what it believes before any test unit is seen.
        recall of  invented units  mean  90% between  from 0 to 1
        webshop                10   80%  57% and 96%  |       ▁▁▁▁▁▁▂▂▃▄▅▆▇███▇▃|
        other                  10   90%  72% and 99%  |            ▁▁▁▁▁▁▁▂▂▃▅▆█|
        """
        labels = list(range(classes)) if isinstance(classes, int) else list(classes)
        prior = self.for_classes(len(labels), labels)
        lines = [["recall of", "invented units", "mean", "90% between", "from 0 to 1" + " " * 16]]
        for label, row in zip(labels, recalls(prior), strict=True):
            low, high = row["lower"], row["upper"]
            picture = "|" + "".join(_bar(x) for x in row["heights"]) + "|"
            units = "–" if row["units"] is None else f"{row['units']:.3g}"
            lines.append(
                [str(label), units, f"{row['mean']:.0%}", f"{low:.0%} and {high:.0%}", picture]
            )
        title = f"Prior {prior.name!r}: what it believes before any test unit is seen."
        return "\n".join([title, *aligned(lines)])

    def plot(self, classes: int | Sequence[Hashable] = 2) -> Any:
        """Draw the prior of each class's recall as an Altair chart (the extra ``plot``)."""
        from importlib import import_module

        return import_module("trueup.present.plots.priors").prior_chart(self, classes)


def recorded(function: Callable[P, B]) -> Callable[P, B]:
    """Let a function's priors remember the call: printing shows it, and pickling repeats it."""

    @wraps(function)
    def made(*arguments: P.args, **options: P.kwargs) -> B:
        found: Any = function(*arguments, **options)
        return cast("B", replace(found, recipe=found.recipe or (made, arguments, options)))

    return made


def _remade(recipe: tuple[Callable[..., Any], tuple[Any, ...], Any], word: str) -> Any:
    function, arguments, options = recipe
    return replace(function(*arguments, **options), word=word)


def call(function: str, *arguments: object, **options: object) -> str:
    """Write the call that makes a prior.

    Examples
    --------
    >>> call("diagonal", 2.0, rest="perks")
    "diagonal(2.0, rest='perks')"
    """
    words = [_word(x) for x in arguments] + [f"{name}={_word(x)}" for name, x in options.items()]
    return f"{function}({', '.join(words)})"


def _word(x: object) -> str:
    if hasattr(x, "__array__"):
        return repr(np.asarray(x).tolist())
    return getattr(x, "__name__", repr(x)) if callable(x) else repr(x)


def check_between(name: str, x: object, low: float, high: float) -> None:
    """Refuse what is not a number between these, the ends left out."""
    if not (isinstance(x, int | float) and low < x < high):
        raise OptionError(f"`{name}` must be a number between {low:g} and {high:g}; got {x!r}.")


def recalls(prior: Concentrations) -> list[dict[str, Any]]:
    """Return what a prior believes of each p_gg: mean, central 90% interval and a histogram."""
    tail = 0.05
    edges = np.linspace(0.0, 1.0, BINS + 1)
    found = []
    if prior.tilt is None:
        a = np.diagonal(prior.alpha)
        total = prior.alpha.sum(axis=1)
        for g in range(len(a)):
            b = total[g] - a[g]
            lower, upper = (float(special.betaincinv(a[g], b, q)) for q in (tail, 1 - tail))
            mass = np.diff(special.betainc(a[g], b, edges))
            found.append(_recall(a[g] / total[g], lower, upper, mass, float(total[g])))
        return found
    P = prior_draws(prior, DRAWS, np.random.default_rng(0))
    for g in range(P.shape[1]):
        x = P[:, g, g]
        lower, upper = (float(q) for q in np.quantile(x, [tail, 1 - tail]))
        mass = np.histogram(x, edges)[0] / len(x)
        found.append(_recall(float(x.mean()), lower, upper, mass, None))
    return found


def prior_draws(prior: Concentrations, size: int, rng: Rng) -> Any:
    """Draw P (size, K, K) from the prior itself; one with a tilt by weighted resampling."""
    P = np.stack([rng.dirichlet(row, size) for row in prior.alpha], axis=1)
    if prior.tilt is None:
        return P
    log_weight = prior.tilt(P, np)
    if not np.isfinite(log_weight).any():
        raise OptionError(
            f"Prior {prior.name!r} must allow some P; none of {size:,} draws is allowed."
        )
    weight = np.exp(log_weight - log_weight.max())
    return P[rng.choice(size, size, p=weight / weight.sum())]


def _recall(mean: float, lower: float, upper: float, mass: Any, units: float | None) -> Any:
    heights = mass / max(float(mass.max()), 1e-300)
    return {"mean": mean, "lower": lower, "upper": upper, "heights": heights, "units": units}


def _bar(height: float) -> str:
    return BARS[min(int(np.ceil(height * (len(BARS) - 1) - 0.02)), len(BARS) - 1)]
