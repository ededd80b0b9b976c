"""The number of test units for a wanted half-width, found by simulation."""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from trueup.audit.allocate import LEAST, allocate_units
from trueup.draws.settings import FROM_POPULATION, make_settings
from trueup.errors import EstimateError, OptionError
from trueup.estimate.methods import METHODS
from trueup.numerics.arrays import Floats, Integers, Progress, Rng
from trueup.study.case import Case
from trueup.study.replications import run_method

GRID = 7
"""Points of the curve, from a handful of units to the most that may be labelled."""
ROUGH = 20
"""Test sets for each of them; the answer itself takes `replications`."""
NEAR = 0.03
"""The search ends when the half-width is this near to the target ..."""
MOST_STEPS = 5
"""... or after this many steps."""
MOST = 100_000
"""Nobody labels more than this: the curve ends here."""
CHAINS = ("chain", "nuts", "pair walk")
"""Samplers that take a tenth of a second and more for an answer, not a thousandth. A plan asks for
up to 640 answers per allocation, so with these it takes fewer test sets, and its ± is larger:"""
FEW_ROUGH, FEWER, FEWEST = 3, 10, 10
"""this many for a point of the curve, and for the answer a tenth of `replications`, at least 10."""


@dataclass(frozen=True, eq=False)
class Search:
    """The number of test units for a wanted half-width, under one allocation.

    `options` are those of `run_method`; `points` are the points of the curve found so far.
    """

    case: Case
    truths: list[Case]
    g: int
    allocation: str
    options: dict[str, Any]
    rng: Rng
    prices: Floats | float = 1.0
    points: list[dict[str, Any]] = field(default_factory=list)

    def per_class(self, n: int, truth: Case | None = None) -> Integers | None:
        """Return the test units per predicted or true class; None where chance decides it.

        Those of true classes are at most as many as there are in one of the `truths`.
        """
        case = self.case
        if case.design == "by_class":
            v = np.floor(case.N * (truth or case).beta).astype(np.int64)
            return allocate_units(n, np.ones(case.K) if self.allocation == "equal" else v, v)
        if case.design != "by_prediction":
            return None
        weights = case.v_hat.astype(float)
        if self.allocation == "equal":
            weights = np.ones(case.K)
        elif self.allocation == "neyman":
            c = case.c[self.g]
            weights = np.abs(self._sums[0]) * np.sqrt(c * (1 - c) / self.prices)
        return allocate_units(n, weights, case.v_hat)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        return self.case.sums(self.rng)

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The least and the most units that the curve is drawn for."""
        share = {"shifted": np.inf, "by_class": 0.95}.get(self.case.design, 1.0)
        most = int(min(self.case.N * share, MOST))
        return min(max(LEAST * self.case.K, 20), most), most

    @property
    def _inside(self) -> bool:
        """Whether the audited units are in the population, and may be all of it."""
        return self.case.design in FROM_POPULATION and self.options["overlap"] is not False

    @cached_property
    def by_chains(self) -> bool:
        """Whether the method needs chains for a test set at either end of the curve."""
        rng = np.random.default_rng(0)  # so that asking does not change the plan
        for n in self._ends:
            per_class = self.per_class(n, self.truths[0])
            study = self.truths[0].simulate(n if per_class is None else per_class, 1, rng)
            settings = make_settings(
                study.K, classes=study.classes, design=study.design, seed=0,
                **self.options,
            )  # fmt: skip
            with suppress(EstimateError):
                info = METHODS[settings.method](study.counts(0), settings).info
                if info.get("sampler") in CHAINS:
                    return True
        return False

    def solve(self, target: float, replications: int, progress: Progress) -> dict[str, Any]:
        """Find the n whose expected half-width is the target; the curve is in `points`."""
        first, most = self._ends
        rough = ROUGH
        if self.by_chains:
            rough, replications = FEW_ROUGH, max(replications // FEWER, FEWEST)
        grid = np.unique(np.geomspace(first, most, GRID).round().astype(int))
        for k, size in enumerate(grid):
            self._measure(int(size), rough, on_grid=True)
            progress((k + 1) / (2 * len(grid)))
        if not self.points:
            raise OptionError(
                f"A plan needs a method with intervals; got {self.options['method']!r}, which has "
                "none for this case.",
                hint='use method="auto".',
            )
        row: dict[str, Any] = {"allocation": self.allocation, "most": most}
        n = self._crossing(target)
        if n is None and most == self.case.N and self._inside:  # every unit is then known
            per_class = self.per_class(most)
            units = None if per_class is None else per_class.tolist()
            exact = {"n": most, "per_class": units, "half_width": 0.0, "error": 0.0}
            return row | exact | {"more": max(most - self.case.audited, 0)}
        if n is None:
            last = {key: self.points[-1][key] for key in ("half_width", "error")}
            return row | {"n": None, "more": None, "per_class": None} | last
        for step in range(MOST_STEPS):
            half = self._measure(n, replications, on_grid=False)
            progress((1 + (step + 1) / MOST_STEPS) / 2)
            better = self._crossing(target)
            if better is None or better == n or abs(half / target - 1) <= NEAR:
                break
            n = better
        best = min(
            (point for point in self.points if not point["grid"]),
            key=lambda point: abs(point["half_width"] / target - 1),
        )
        n = int(best["n"])
        per_class = self.per_class(n)
        return row | {
            "n": n,
            "more": max(n - self.case.audited, 0),
            "per_class": None if per_class is None else per_class.tolist(),
            "half_width": best["half_width"],
            "error": best["error"],
        }

    def _measure(self, n: int, replications: int, *, on_grid: bool) -> float:
        """Add the expected half-width at n to the curve, with its Monte Carlo error."""
        truths = self.truths[:replications]
        share = max(1, replications // len(truths))
        halves = []
        for truth in truths:
            per_class = self.per_class(n, truth)
            study = truth.simulate(n if per_class is None else per_class, share, self.rng)
            outcome = run_method(study, count=share, rng=self.rng, **self.options)
            halves.append((outcome.upper - outcome.lower)[:, self.g] / 2)
        half = np.concatenate(halves)
        half = half[np.isfinite(half)]
        if len(half) < 2:
            return float("inf")
        mean, error = float(half.mean()), float(half.std(ddof=1) / np.sqrt(len(half)))
        point = {"allocation": self.allocation, "n": n, "half_width": mean, "error": error}
        self.points.append(point | {"grid": on_grid})
        self.points.sort(key=lambda point: int(point["n"]))
        return mean

    def _crossing(self, target: float) -> int | None:
        """Return the n where the curve falls to the target; None when it never does.

        Half-widths fall as n^(−1/2) at first and as (N − n)^(1/2) at the end, so the curve is
        nearly a line in the logarithm of n/(N − n).
        """
        ceiling = np.inf if self.case.design == "shifted" else self.case.N + 1.0
        n = np.array([point["n"] for point in self.points], float)
        half = np.array([max(point["half_width"], 1e-300) for point in self.points])
        if half.min() > target:
            return None
        k = int((half <= target).argmax())
        if k == 0:
            return int(n[0])
        x = np.log(n / (1 - n / ceiling))
        part = np.log(half[k - 1] / target) / np.log(half[k - 1] / half[k])
        at = np.exp(x[k - 1] + part * (x[k] - x[k - 1]))
        return int(np.clip(np.ceil(at / (1 + at / ceiling)), n[k - 1], n[k]))
