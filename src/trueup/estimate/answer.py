"""What a method returns, and the figures that are made of it."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.count.names import FIGURES
from trueup.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method returns: draws to summarise, or figures of its own, or both.

    `beta` (R, K) are the base rates, on each draw, of the units that were not audited; `M`
    (R, K, L) all units of the population by true and predicted class. `cells` (R, K, L·b) is P over
    cells of the value, if groups need it (`Settings.starts`).
    """

    draws: Floats | None = None
    P: Floats | None = None
    beta: Floats | None = None
    M: NDArray[Any] | None = None
    cells: Floats | None = None
    estimate: Floats | None = None
    sd: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """Per group: the columns and labels that tell groups apart, figures (B, K), and draws."""

    by: tuple[str, ...]
    labels: list[tuple[Hashable, ...]]
    figures: dict[str, Floats | None]
    draws: Floats | None


def summarise(answer: Answer, naive: Floats, interval: float) -> dict[str, Floats | None]:
    """Return the figures of each row; from draws: median, mean, sd and equal-tailed interval."""
    figures: dict[str, Floats | None] = dict.fromkeys(FIGURES)
    figures["naive"] = naive
    if answer.draws is not None:
        tail = (1 - interval) / 2
        lower, median, upper = np.quantile(answer.draws, [tail, 0.5, 1 - tail], axis=0)
        figures |= {"estimate": median, "lower": lower, "upper": upper}
        figures |= {"mean": answer.draws.mean(axis=0), "sd": answer.draws.std(axis=0, ddof=1)}
    for name in ("estimate", "sd", "lower", "upper"):
        own = getattr(answer, name)
        if own is not None:
            figures[name] = own
    return figures


def monte_carlo_errors(draws: Floats, ess: float, interval: float) -> dict[str, list[float]]:
    """Return the Monte Carlo standard errors of the medians and of the interval's ends.

    The rank of the p-quantile among `ess` draws has standard deviation √(p(1 − p) ess); the values
    at those ranks bracket it. No variance is needed, and some of these posteriors have none.
    """
    tail = (1 - interval) / 2
    errors = {}
    for end, p in (("", 0.5), ("_lower", tail), ("_upper", 1 - tail)):
        step = np.sqrt(p * (1 - p) / max(ess, 1.0))
        low, high = np.quantile(draws, np.clip([p - step, p + step], 0, 1), axis=0)
        errors[f"monte_carlo_error{end}"] = [float(x) for x in (high - low) / 2]
    return errors
