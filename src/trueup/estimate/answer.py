"""What a method returns, and the figures that are made of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.quantiles import figures as group_figures
from trueup.count.names import FIGURES
from trueup.numerics import special
from trueup.numerics.arrays import Floats

ENDS = 0.01
"""Monte Carlo error of an interval's ends, as a share of its half-width, that more draws are taken
for. Figures are printed in steps of at least two Monte Carlo errors (`trueup.text.rounded`), so
that another seed moves an end by a step or two at most; `python studies/seeds.py` shows it."""
MORE_DRAWS, MOST_NUMBERS = (16_000, 64_000), 4_000_000
"""How many are taken instead, and how many numbers these may be with all classes and groups."""
SAMPLERS = (None, "exact", "rejection", "importance", "cells")
"""Samplers that may take more draws by themselves; chains would come to the limit of `seconds`."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method returns: draws to summarise, or figures of its own, or both.

    `beta` (R, K) are the base rates, on each draw, of the units that were not audited; `M`
    (R, K, L) all units of the population by true and predicted class. `cells` (R, K, L·b) is P over
    cells of the value, if groups need it (`Settings.banded`).
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

    def telling(self, warnings: Sequence[str], **more: Any) -> Answer:
        """Return the answer with these warnings besides its own, and more in `info`."""
        every = [*self.info.get("warnings", ()), *warnings]
        return replace(self, info=self.info | more | {"warnings": every})


def normal(
    estimate: Floats, sd: Floats, interval: float, freedom: Floats | None = None, **info: Any
) -> Answer:
    """Return an estimate with a normal interval, or Student's if it has degrees of freedom."""
    end = (1 + interval) / 2
    half = (special.ndtri(end) if freedom is None else special.stdtrit(freedom, end)) * sd
    return Answer(estimate=estimate, sd=sd, lower=estimate - half, upper=estimate + half, info=info)


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """Per group: the columns and labels that tell groups apart, figures (B, K), and draws.

    Totals of periods also have the `units` (R, B, K) that they were drawn with.
    """

    by: tuple[str, ...]
    labels: list[tuple[Hashable, ...]]
    figures: Mapping[str, Floats | None]
    draws: Floats | None
    units: NDArray[Any] | None = None


def summarise(answer: Answer, naive: Floats, interval: float) -> dict[str, Floats | None]:
    """Return the figures of each row; from draws: median, mean, sd and equal-tailed interval."""
    figures: dict[str, Floats | None] = dict.fromkeys(FIGURES)
    figures["naive"] = naive
    if answer.draws is not None:
        tail = (1 - interval) / 2
        lower, median, upper = np.quantile(answer.draws, [tail, 0.5, 1 - tail], axis=0)
        figures |= {"estimate": median, "lower": lower, "upper": upper}
        away = answer.draws - answer.draws[0]  # exactly 0 if all draws are equal
        figures |= {"mean": answer.draws[0] + away.mean(axis=0), "sd": away.std(axis=0, ddof=1)}
    for name in ("estimate", "sd", "lower", "upper"):
        own = getattr(answer, name)
        if own is not None:
            figures[name] = own
    return figures


def figures_of_groups(
    draws: Floats, naive: Floats, interval: float, totals: bool
) -> dict[str, Floats | None]:
    """Return the figures (B, K) of groups from their draws (R, B, K)."""
    return {"naive": naive, **group_figures(draws, interval, discrete=not totals)}


def monte_carlo_errors(draws: Floats, info: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the Monte Carlo standard errors of the medians and of the interval's ends.

    The rank of the p-quantile among `ess` draws has standard deviation √(p(1 − p) ess); the values
    at those ranks bracket it. No variance is needed, and some of these posteriors have none.
    `ess_tails` is the effective size at the ends, where a chain may move more slowly.
    """
    tail, ess = (1 - info["interval"]) / 2, info["ess"]
    errors = {}
    for end, p in (("", 0.5), ("_lower", tail), ("_upper", 1 - tail)):
        size = min(ess, info.get("ess_tails") or ess) if end else ess
        step = np.sqrt(p * (1 - p) / max(size, 1.0))
        low, high = np.quantile(draws, np.clip([p - step, p + step], 0, 1), axis=0)
        errors[f"monte_carlo_error{end}"] = [float(x) for x in (high - low) / 2]
    return errors


def more_draws(
    figures: Mapping[str, Floats | None], info: Mapping[str, Any], totals: bool, numbers: int
) -> int:
    """Return how many draws to take instead, so that intervals can be printed; 0: these will do.

    Wanted is a Monte Carlo error of both ends of at most ENDS of the half-width, for counts half a
    unit if that is more. It falls with the root of the number of draws. `numbers` are in each draw.
    """
    lower, upper = figures["lower"], figures["upper"]
    if lower is None or upper is None or "monte_carlo_error_lower" not in info:
        return 0
    if info.get("sampler") not in SAMPLERS:
        return 0
    error = np.max([info[f"monte_carlo_error_{end}"] for end in ("lower", "upper")], axis=0)
    allowed = np.maximum(ENDS * (upper - lower) / 2, 0.0 if totals else 0.5)
    times = (error[allowed > 0] / allowed[allowed > 0]) ** 2
    cells = info.get("bands", 1) * info.get("audit strata", 1)
    cost = numbers * cells
    wanted = info["draws"] * times.max(initial=0.0)
    if wanted <= 1.5 * info["draws"]:
        return 0
    few, many = MORE_DRAWS
    sizes = [few] if wanted < (few + many) / 2 else [many, few]
    return next((size for size in sizes if size * cost <= MOST_NUMBERS), 0)
