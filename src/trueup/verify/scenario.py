"""A scenario: a population with a known truth, audited and corrected again and again.

Every answer comes from the public `correct`, as a user would call it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb
import numpy as np

from trueup.api import correct
from trueup.errors import EstimateError
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats, Rng
from trueup.study.replications import doubted, unproven
from trueup.verify.populations import Units
from trueup.verify.tally import Tally, tally

DRAWS = 1000
Correct = Callable[..., Estimate]


class Observed(NamedTuple):
    """One answer, per figure: the part of intervals that hold the truth, and relative errors."""

    inside: Floats
    error: Floats
    naive: Floats
    warned: bool
    unproven: bool


@dataclass(frozen=True)
class Scenario:
    """`replicate(rng, correct, **factors)` returns what was observed once."""

    section: str
    replicate: Callable[..., Observed]
    factors: dict[str, Any]
    replications: int
    seconds: float  # of one replication, roughly

    def __str__(self) -> str:
        return " ".join(f"{name}={level}" for name, level in self.factors.items())


def run_scenario(scenario: Scenario, seed: int, answer: Correct = correct) -> Tally:
    """Observe as often as the scenario says; a test puts a broken `answer` in."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(scenario.replications):
        try:
            found.append(scenario.replicate(rng, answer, **scenario.factors))
        except EstimateError:
            continue
    inside, error, naive = (
        np.array([x[k] for x in found]) if found else np.zeros((0, 1)) for k in range(3)
    )
    warned, unproven = (np.array([x[k] for x in found], bool) for k in (3, 4))
    refused = scenario.replications - len(found)
    return tally(scenario, refused, inside, warned, unproven, error, naive)


def table(units: Units) -> Any:
    """Return a table that `correct` reads wherever trueup is installed."""
    columns = {name: x for name, x in units.items() if x.ndim == 1}  # noqa: F841  (DuckDB finds it)
    return duckdb.sql("SELECT * FROM columns")


def ask(
    answer: Correct, rng: Rng, units: Units, test: Any, figure: str, **options: Any
) -> tuple[Any, Floats]:
    """Correct; return the estimate and the truth, (K,) or per group or period (B, K).

    `test` is which units were audited, or the columns of a test set.
    """
    s = units["true"]
    K = int(s.max()) + 1
    own = options.get("by") or options.get("period")
    group = np.zeros(len(s), int) if own is None else units[own]
    weight = units["y"] if figure == "totals" else None
    truth = np.bincount(group * K + s, weight).reshape(-1, K).astype(float)
    if not isinstance(test, dict):
        test = {name: x[test] for name, x in units.items()}
    est = answer(
        table({name: x for name, x in units.items() if name != "true"}), table(test),
        value="y" if figure == "totals" else None, classes=list(range(K)), draws=DRAWS,
        seed=int(rng.integers(2**63)), **options,
    )  # fmt: skip
    return est, truth[0] if own is None else truth


def whole(est: Any) -> Mapping[str, Floats]:
    """Return the figures of the whole population, (K,) each."""
    rows = est.rows()[-len(est.classes) :]
    return {k: np.array([row[k] for row in rows]) for k in ("naive", "estimate", "lower", "upper")}


def observe(
    est: Any, *parts: tuple[Mapping[str, Any], Floats], beside: tuple[str, ...] = ()
) -> Observed:
    """Compare figures with their truth; warnings that start with `beside` are no excuse.

    Classes (K,) are a figure each. Groups or periods (B, K) share a test set, so that together they
    are one observation of coverage. Figures without a naive one say nothing of errors.
    """
    found: list[list[Floats]] = [[], [], []]
    for figures, truth in parts:
        scale = np.abs(truth).sum()
        slack = 1e-9 * scale
        inside = (figures["lower"] <= truth + slack) & (truth - slack <= figures["upper"])
        compared = [
            figures[name] if "naive" in figures else truth for name in ("estimate", "naive")
        ]
        each = [inside.astype(float), *(((x - truth) / scale) ** 2 for x in compared)]
        for k, x in enumerate(each):
            x = x if truth.ndim == 1 else np.atleast_1d(x.mean())
            found[k].append(x if k == 0 else np.sqrt(x))
    inside, error, naive = (np.concatenate(x) for x in found)
    return Observed(inside, error, naive, doubted(est, beside), unproven(est))
