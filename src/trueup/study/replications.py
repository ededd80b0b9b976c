"""A method's answers to many simulated test sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.draws.settings import make_settings
from trueup.errors import EstimateError
from trueup.estimate.answer import summarise
from trueup.estimate.methods import METHODS
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Bools, Floats, Progress, Rng
from trueup.simulation import Simulation

NAMES = ("estimate", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Outcome:
    """A method's answers: estimates and limits (R, K), NaN where it gave none, and why not.

    If there was an `answer`, `warned` (R,) marks those with a warning about the interval, and
    `unproven` (R,) those that cannot be shown to beat no correction.
    """

    estimate: Floats
    lower: Floats
    upper: Floats
    warned: Bools
    unproven: Bools
    reasons: tuple[str, ...]


def doubted(est: Estimate, beside: tuple[str, ...] = ()) -> bool:
    """Whether a warning says something against the interval.

    That correcting may not pay does not, nor do those that start with one of `beside`.
    """
    said = [warning for warning in est.info["warnings"] if not warning.startswith(beside)]
    return len(said) > unproven(est)


def unproven(est: Estimate) -> bool:
    """Whether the answer says that it cannot be shown to beat no correction."""
    return bool(est.info["unproven"])


def run_method(
    study: Simulation,
    method: str,
    count: int,
    *,
    prior: object = "perks",
    overlap: bool | None = None,
    draws: int = 1000,
    interval: float = 0.95,
    rng: Rng,
    progress: Progress | None = None,
    answer: Callable[..., Estimate] | None = None,
) -> Outcome:
    """Return a method's answers to the first `count` replications.

    By default the method alone is run; `answer`, which is called as `estimate` is, may warn too.
    """
    said = np.zeros((2, count), bool)
    found = np.full((3, count, study.K), np.nan)
    reasons: list[str] = []
    settings = make_settings(
        study.K, classes=study.classes, design=study.design, method=method, prior=prior,
        overlap=overlap, draws=draws, interval=interval, seed=int(rng.integers(2**63)),
    )  # fmt: skip
    for r in range(count):
        counts = study.counts(r)
        try:
            if answer is None:
                own = METHODS[settings.method](counts, settings)
                figures: dict[str, Any] = summarise(own, counts.naive, interval)
            else:
                est = answer(counts, settings)
                figures = {name: [row[name] for row in est.rows()] for name in NAMES}
                said[:, r] = doubted(est), unproven(est)
        except EstimateError as error:
            reasons.append(str(error).split("\n")[0])
        else:
            for k, name in enumerate(NAMES):
                if figures[name] is not None:
                    found[k, r] = figures[name]
        if progress is not None:
            progress((r + 1) / count)
    return Outcome(found[0], found[1], found[2], said[0], said[1], tuple(reasons))
