"""How many units to label if `draw` draws them by score, from the scores alone.

In a stratum with N units, of which n are labelled, the class of interest has a share p by the
scores, as `draw` takes them: no prediction is surer than 95% or less sure than a coin. The variance
of the stratified estimator is Σ N(N − n)p(1 − p)/n. Beside it: labels drawn within predicted
classes.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from trueup.audit.allocate import BAND, allocate_units
from trueup.audit.score_bands import SUREST, bands_for, refuse_constant, score_bands, with_scores
from trueup.count.names import Columns
from trueup.errors import OptionError
from trueup.numerics.arrays import Floats, Integers
from trueup.read import open_table
from trueup.read.columns import class_kind, require_columns
from trueup.read.table import Tally
from trueup.study.case import place
from trueup.study.plans.next_units import label_costs
from trueup.study.plans.result import Plan

BY_SCORE = "by score"
NOT_WITH_SCORE = (
    "test_set", "next", "certainty", "P", "base_rates", "N", "value", "values",
)  # fmt: skip
NOTE = (
    "This takes the scores at their word, from 50% to 95% right; labels will show how right they "
    "are. Draw the units with `trueup draw --score`."
)


class Strata(NamedTuple):
    """Strata: their predicted class h (S,), units N (S,) and shares p (S, K) of true classes."""

    h: Integers
    N: Floats
    p: Floats


def plan_by_score(predictions: Any, columns: Columns, asked: Mapping[str, Any]) -> Plan:
    """Find the number of labels at which the half-width is reached, for each allocation.

    `asked` are the options of `plan`.
    """
    if given := [name for name in NOT_WITH_SCORE if asked[name] is not None]:
        raise OptionError(
            f"`score` plans for counts before any label exists; got `{given[0]}` too.",
            hint=f"leave out `score` or `{given[0]}`.",
        )
    classes, interval, cost, cv = (asked[x] for x in ("classes", "interval", "cost", "cv"))
    population = open_table(predictions, "predictions")
    kinds = require_columns(population, [columns.predicted, *columns.score])
    class_kind(population, columns.predicted, kinds)
    table = with_scores(population, columns.predicted, columns.score, classes)
    tally = table.tally([columns.predicted, BAND], None)
    labels = sorted({key[0] for key in tally.keys}, key=str) if classes is None else [*classes]
    banded = {most: _strata(tally, most, labels) for most in range(2, bands_for(10**6, tally) + 1)}
    finest = banded[max(banded)]
    named: dict[Any, int] = {
        (h, i): int(N) for i, (h, N) in enumerate(zip(finest.h, finest.N, strict=True))
    }
    refuse_constant(named, population, columns.score)
    sizes = finest.N @ finest.p
    g, prices, units = (
        place(labels, sizes, asked["interest"]),
        label_costs(cost, labels),
        int(finest.N.sum()),
    )
    truth, z = float(sizes[g]), float(ndtri((1 + interval) / 2))
    target = float(asked["half_width"] or 0.0) if cv is None else cv * z * truth

    def spread(name: str, n: int) -> tuple[float, list[int]]:
        """The half-width with n labels, and how many each predicted class has."""
        strata = banded[bands_for(n, tally)] if name == BY_SCORE else _merged(finest)
        p = strata.p[:, g]
        right = strata.p[np.arange(len(p)), strata.h]
        deviation = np.sqrt(right * (1 - right)) if name == BY_SCORE else np.sqrt(p * (1 - p))
        weight = {"proportional": strata.N, "equal": np.ones(len(p))}.get(
            name, strata.N * deviation / np.sqrt(prices[strata.h])
        )
        m = allocate_units(n, weight, strata.N.astype(int))
        variance = strata.N * (strata.N - m) * p * (1 - p) / np.maximum(m, 1e-9)
        each = np.bincount(strata.h, m, len(labels)).astype(int)
        return z * float(np.sqrt(variance.sum())), each.tolist()

    rows, curve = [], []
    for name in (BY_SCORE, *asked["allocations"]):
        low, high = 1, units
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if spread(name, middle)[0] <= target else (middle + 1, high)
        half, each = spread(name, high)
        row = {"allocation": name, "n": high, "more": high, "per_class": each, "most": units}
        row |= {"half_width": half, "error": None, "cv": half / z / truth}
        rows.append(row | {"cost": float(np.dot(each, prices)), "certainty": 0})
        for n in np.unique(np.geomspace(min(20, units), units, 7).astype(int)):
            point = {"allocation": name, "n": int(n), "half_width": spread(name, int(n))[0]}
            curve.append(point | {"error": None, "grid": True})
    info = {
        "design": "by_prediction", "totals": False, "N": units, "truth": truth, "certainty": 0,
        "interval": interval, "cost": cost, "seed": None, "notes": [NOTE],
    }  # fmt: skip
    return Plan(tuple(labels), labels[g], target, curve, [], info, rows)


def _strata(tally: Tally, most: int, labels: Sequence[Hashable]) -> Strata:
    """The strata of `draw`, with `most` bands of the score in each predicted class."""
    bands, K = score_bands(tally, most), len(labels)
    units: dict[tuple[Hashable, ...], float] = {}
    for key, count in zip(tally.keys, tally.units, strict=True):
        label = (key[0], bands.names[key])
        units[label] = units.get(label, 0.0) + float(count)
    h = np.array([labels.index(label[0]) for label in units])
    N = np.array([*units.values()], dtype=float)
    wrong = np.clip([bands.wrong[label] for label in units], 1 - SUREST, 0.5)
    share = np.bincount(h, N, K) + 1e-9  # what is wrong is spread by the predicted classes
    p = np.where(np.arange(K) == h[:, None], 0.0, share)
    p = wrong[:, None] * p / p.sum(axis=1, keepdims=True)
    p[np.arange(len(h)), h] = 1 - wrong
    return Strata(h, N.astype(float), p)


def _merged(strata: Strata) -> Strata:
    """The same with one stratum for each predicted class."""
    h, at = np.unique(strata.h, return_inverse=True)
    N = np.asarray(np.bincount(at, strata.N), dtype=float)
    p = np.stack([np.bincount(at, strata.N * x) / N for x in strata.p.T], axis=1)
    return Strata(h, N, p)
