"""The number of test units for a wanted half-width, by simulating and looking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.simulation import largest_remainder
from trueup.study.case import Situation
from trueup.study.compare import run_method

__all__ = ["Search", "allocate_units"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GRID = 7
"""Points of the curve, from a handful of units to the most that may be labelled."""
ROUGH = 20
"""Test sets for each of them; the plan itself takes `replications`."""
NEAR = 0.03
"""The search ends when the half-width is this near to the wanted one ..."""
MOST_STEPS = 5
"""... or after this many steps."""
LEAST = 2
"""Units to label at least in each predicted class, so that none is left to the prior alone."""
MOST = 100_000
"""Nobody labels more than this; the curve ends here."""


def allocate_units(n: int, weights: ArrayLike, capacity: ArrayLike, least: int = LEAST) -> Integers:
    """Spread n units over classes by weight, at least `least` in each and never more than exist.

    Examples
    --------
    >>> allocate_units(100, [1, 1, 2], [10, 500, 500])
    array([10, 30, 60])
    """
    capacity = np.asarray(capacity, np.int64)
    weight = np.asarray(weights, float)
    weight = weight if weight.sum() > 0 else np.ones_like(weight)
    n = int(min(n, capacity.sum()))
    given = np.minimum(least, capacity)
    if given.sum() >= n:
        few = np.minimum(largest_remainder(np.maximum(capacity, 1e-9), n), capacity)
        return np.asarray(few, np.int64)
    floor = given.copy()
    settled = np.zeros(len(weight), bool)
    while (free := ~settled).any():  # classes at a bound are settled; the rest share what is left
        left = n - int(given[settled].sum())
        shares = weight[free] if weight[free].sum() > 0 else capacity[free].astype(float)
        wanted = left * shares / shares.sum()
        high, low = wanted > capacity[free], wanted < floor[free]
        if not (low.any() or high.any()):
            given[free] = largest_remainder(shares, left)
            break
        places = np.flatnonzero(free)[high if high.any() else low]
        given[places] = (capacity if high.any() else floor)[places]
        settled[places] = True
    given = np.clip(given, floor, capacity)
    while given.sum() != n:  # rounding, and the rare case of floors after ceilings
        step = 1 if given.sum() < n else -1
        room = (capacity - given) if step > 0 else (given - floor)
        given[int(np.where(room > 0, weight + 1e-12 * room, -1).argmax())] += step
    return np.asarray(given, np.int64)


class Search:
    """The number of test units for a wanted half-width, under one allocation."""

    def __init__(
        self,
        case: Situation,
        truths: list[Situation],
        g: int,
        allocation: str,
        options: dict[str, Any],
        rng: np.random.Generator,
    ) -> None:
        self._case, self._truths = case, truths
        self._g, self._allocation = g, allocation
        self._options, self._rng = options, rng
        self._sums = case.sums(rng)

    def per_class(self, n: int) -> Integers | None:
        """Give the test units per predicted class; None where the design leaves them to chance."""
        case = self._case
        if case.design != "by_prediction":
            return None
        weights = case.v_hat.astype(float)
        if self._allocation == "equal":
            weights = np.ones(case.K)
        elif self._allocation == "neyman":
            c = case.c[self._g]
            weights = np.abs(self._sums[0]) * np.sqrt(c * (1 - c))
        return allocate_units(n, weights, case.v_hat)

    def measure(self, n: int, replications: int) -> tuple[float, float]:
        """Give the expected half-width at n, and its Monte Carlo error."""
        rng, truths = self._rng, self._truths
        per_class = self.per_class(n)
        size: ArrayLike = n if per_class is None else per_class
        share = max(1, replications // len(truths))
        halves = []
        for truth in truths:
            study = truth.simulate(size, share, rng)
            outcome = run_method(study, count=share, rng=rng, **self._options)
            halves.append((outcome.upper - outcome.lower)[:, self._g] / 2)
        half = np.concatenate(halves)
        half = half[np.isfinite(half)]
        if len(half) < 2:
            return np.inf, np.inf
        return float(half.mean()), float(half.std(ddof=1) / np.sqrt(len(half)))

    def solve(
        self, target: float, replications: int, progress: Callable[[float], None]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Find the n whose expected half-width is the target, and the curve on the way."""
        case = self._case
        work, done = GRID * ROUGH + 3 * replications, 0
        most = MOST if case.design == "shifted" else min(case.N, MOST)
        if case.design == "by_class":
            most = min(most, int(case.N * 0.95))
        first = min(max(LEAST * case.K, 20), most)
        grid = np.unique(np.geomspace(first, most, GRID).round().astype(int))
        points: list[dict[str, Any]] = []

        def add(n: int, size: int, on_grid: bool) -> tuple[float, float]:
            nonlocal done
            half, error = self.measure(n, size)
            done += size
            progress(min(done / work, 1.0))
            if np.isfinite(half):
                points.append(
                    {
                        "allocation": self._allocation, "n": n, "half_width": half,
                        "error": error, "grid": on_grid,
                    }
                )  # fmt: skip
            return half, error

        for n in grid:
            add(int(n), ROUGH, True)
        n = self._crossing(points, target)
        row: dict[str, Any] = {"allocation": self._allocation, "most": most}
        if n is None:
            last = points[-1]
            return row | {
                "n": None, "more": None, "per_class": None, "half_width": last["half_width"],
                "error": last["error"],
            }, points  # fmt: skip
        for _step in range(MOST_STEPS):
            half, _ = add(n, replications, False)
            better = self._crossing(points, target)
            if better is None or better == n or abs(half / target - 1) <= NEAR:
                break
            n = better
        best = min(
            (point for point in points if not point["grid"]),
            key=lambda point: abs(point["half_width"] / target - 1),
        )
        n = int(best["n"])
        per_class = self.per_class(n)
        points.sort(key=lambda point: point["n"])
        return row | {
            "n": n,
            "more": max(n - case.audited, 0),
            "per_class": None if per_class is None else per_class.tolist(),
            "half_width": best["half_width"],
            "error": best["error"],
        }, points

    def _crossing(self, points: list[dict[str, Any]], target: float) -> int | None:
        """Where the curve through the points falls to the target; None when it never does.

        Half-widths fall as n^(−1/2) at first and as (N − n)^(1/2) at the end, so the curve is
        nearly a line in the logarithm of n/(N − n).
        """
        case = self._case
        ceiling = np.inf if case.design == "shifted" else case.N + 1.0
        found = sorted(points, key=lambda point: int(point["n"]))
        n = np.array([point["n"] for point in found], float)
        half = np.array([max(point["half_width"], 1e-300) for point in found])
        if half.min() > target:
            return None
        below = half <= target
        k = int(below.argmax())
        if k == 0:
            return int(n[0])
        x = np.log(n / (1 - n / ceiling))
        part = np.log(half[k - 1] / target) / np.log(half[k - 1] / half[k])
        at = np.exp(x[k - 1] + part * (x[k] - x[k - 1]))
        return int(np.clip(np.ceil(at / (1 + at / ceiling)), n[k - 1], n[k]))
