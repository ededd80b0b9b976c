"""The audited units one by one: their inclusion probabilities and clusters, and what these change.

A unit is seen through a = y·1[s=g] and f = y·1[ŝ=g] for each class g, with y = 1 for counts.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.count.matched import units_of
from trueup.count.names import Columns
from trueup.errors import DataError
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers
from trueup.read.columns import check_value_kind, plain, refuse_missing, require_columns
from trueup.read.table import Table

LEAST_CLUSTERS = 3
ROUNDED = 1e-3
"""Relative difference of two probabilities that may come from rounding."""
APART = 0.01
"""How seldom two answers should differ as much by chance, before it is said that they do."""
UNEQUAL, FEW = 4.5, 4.0
"""Units for each one that they are worth, and units that a class is worth. Where most test sets
are beyond the first or below the second, 95% intervals covered 84% to 95%; elsewhere 93% to 99%,
but 84% and 90% with 50 and 100 units where small ones err most (`python studies/unequal.py`)."""


@dataclass(frozen=True, eq=False)
class Units:
    """True class, predicted class, value, probability, cluster and stratum of audited units."""

    g: Integers
    h: Integers
    y: Floats
    pi: Floats | None = None
    cluster: Integers | None = None
    stratum: Integers | None = None


def read_units(
    population: Table,
    test_set: Table,
    columns: Columns,
    classes: Sequence[Hashable],
    probability: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
) -> Units:
    """Read the audited units; with an `id`, prediction and value come from the population.

    `classes` are all labels of either kind, true classes first.
    """
    kinds = require_columns(test_set, [x for x in (probability, cluster) if x])
    if probability:
        check_value_kind(test_set, probability, kinds[probability])
    own = [columns.id] if columns.id else [columns.predicted]
    extra = [x for x in (probability, cluster, stratum) if x]
    value = columns.value if columns.id is None else None
    rows = [[*map(plain, row)] for row in test_set.rows([columns.true, *own, *extra], value=value)]
    rows = [row for row in rows if row[0] is not None and row[1] is not None]
    if columns.id:
        ids = [row[1] for row in rows]
        found = units_of(population, columns.id, ids, [columns.predicted], columns.value)
        by_id = {plain(row[0]): [*map(plain, row[1:])] for row in found}
        rows = [[row[0], by_id[row[1]][0], *row[2:], *by_id[row[1]][1:]] for row in rows]
    place = {label: k for k, label in enumerate(classes)}
    y = np.array([1.0 if columns.value is None else float(row[-1]) for row in rows])
    return Units(
        np.array([place[row[0]] for row in rows]),
        np.array([place[row[1]] for row in rows]),
        y,
        None if probability is None else _probabilities(rows, 2, probability, test_set),
        None if cluster is None else _clusters(rows, 2 + bool(probability), cluster, test_set),
        None if stratum is None else _numbered([row[1 + len(extra)] for row in rows]),
    )


def _numbered(labels: Sequence[Any]) -> Integers:
    place: dict[Any, int] = {}
    return np.array([place.setdefault(label, len(place)) for label in labels])


def _probabilities(rows: list[list[Any]], at: int, column: str, table: Table) -> Floats:
    if nulls := sum(row[at] is None for row in rows):
        refuse_missing(table, column, nulls, needed=True)
    pi = np.array([float(row[at]) for row in rows])
    bad = ~((pi > 0) & (pi <= 1))
    if bad.any():
        raise DataError(
            f"Column {column!r} of {table.name} must hold inclusion probabilities above 0 and at "
            f"most 1; got {pi[bad][0]:g}.",
            hint="weights are not probabilities: give 1/weight. A unit that could not be drawn "
            "says nothing of the others.",
        )
    return pi


def _clusters(rows: list[list[Any]], at: int, column: str, table: Table) -> Integers:
    if nulls := sum(row[at] is None for row in rows):
        refuse_missing(table, column, nulls, needed=True)
    found = _numbered([row[at] for row in rows])
    if len(set(found)) < LEAST_CLUSTERS:
        raise DataError(
            f"Column {column!r} of {table.name} must name at least {LEAST_CLUSTERS} clusters; "
            f"got {len(set(found))}.",
            hint="what differs between clusters cannot be learned from so few.",
        )
    return found


def weighted_difference(
    units: Units, u_hat: Floats, N: int, lam: float = 1.0
) -> tuple[Floats, Floats]:
    """λû + N Σ w(a − λf)/Σw with w = 1/π, and its variance: Hájek's difference estimator.

    λ = 0 is the expansion of the test set alone. With e = (a − λf) − its weighted mean, the
    variance is m/(m − 1) Σ (1 − π)(we − B)² in each stratum, B the mean of we weighted by 1 − π
    (Hájek 1964; Särndal, Swensson and Wretman 1992, 5.7 and 6.3), times (N/Σw)². With equal
    probabilities in each stratum it is that of stratified sampling (Cochran 1977, 5.6). Units drawn
    for certain (π = 1) add nothing. With a `cluster`, its sum stands in for its units.
    """
    assert units.pi is not None
    mean, parts = _deviations(units, len(u_hat), lam)
    variance = sum(z.shape[1] / max(z.shape[1] - 1, 1) * (z**2).sum(axis=1) for z in parts)
    return lam * u_hat + N * mean, (N / (1 / units.pi).sum()) ** 2 * variance


def _deviations(units: Units, K: int, lam: float) -> tuple[Floats, list[Floats]]:
    """The weighted mean (K,) of a − λf, and √(1 − π)(we − B) of each stratum's units (K, m)."""
    assert units.pi is not None
    w, side = 1 / units.pi, np.arange(K)[:, None]
    d = units.y * ((units.g == side).astype(float) - lam * (units.h == side))
    mean = (w * d).sum(axis=1) / w.sum()
    e, left, parts = w * (d - mean[:, None]), 1 - units.pi, []
    stratum = np.zeros(len(w), np.int64) if units.stratum is None else units.stratum
    for j in np.unique(stratum):
        mine = stratum == j
        part = left[mine]
        alone = mine.sum() == 1  # nothing to compare with: its distance from the mean of all
        weighted = (part * e[:, mine]).sum(axis=1) / max(float(part.sum()), 1e-300)
        B = 0.0 * mean if alone else weighted
        z = np.sqrt(part) * (e[:, mine] - B[:, None])
        parts.append(summed(z, None if units.cluster is None else units.cluster[mine]))
    return mean, parts


def summed(z: Floats, cluster: Integers | None) -> Floats:
    """Add up units (K, m) that are in one cluster."""
    if cluster is None:
        return z
    at = np.unique(cluster, return_inverse=True)[1]
    return np.stack([np.bincount(at, row) for row in z])


def by_value(units: Units) -> bool:
    """Whether probabilities rise (or fall) with the value and with nothing else.

    Bands of the value are then bands of the probability.
    """
    assert units.pi is not None
    order = np.lexsort((units.pi, units.y))
    y, pi = units.y[order], units.pi[order]
    step = np.diff(pi)
    step[np.abs(step) <= ROUNDED * pi[1:]] = 0.0
    same = np.diff(y) == 0
    return bool(not step[same].any() and ((step >= 0).all() or (step <= 0).all()))


def without_weights(units: Units) -> Units:
    """Leave out probabilities that are the same for all units: they say nothing."""
    alike = units.pi is not None and units.pi.max() <= (1 + ROUNDED) * units.pi.min()
    return replace(units, pi=None) if alike else units


def kish(weight: Floats) -> float:
    """(Σw)²/Σw²: how many units of equal weight would tell as much; 0 without any."""
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0 else 0.0


def freedom(units: Units, K: int, lam: float = 1.0) -> Floats:
    """Degrees of freedom (K,) of the variances of `weighted_difference`, at least 1.

    Those of a chi-square that varies as much as Σz² does (Satterthwaite 1946):
    2/(Σz⁴/(Σz²)² − 1/m), where m errors among many units have about 2m. At most as many as Kish's
    number of units in each stratum, or of its clusters, less one: with equal probabilities n − 1.
    Units drawn for certain do not count. With the latter alone, 95% intervals of counts covered
    89% where units were drawn by size and small ones misclassified most (`trueup verify`).
    """
    assert units.pi is not None
    w = np.where(units.pi < 1, 1 / units.pi, 0.0)
    stratum = np.zeros(len(w), np.int64) if units.stratum is None else units.stratum
    most = 0.0
    for j in np.unique(stratum):
        mine = w[stratum == j]
        if units.cluster is not None:
            mine = np.bincount(units.cluster[stratum == j], mine)
        most += max(kish(mine) - 1, 0.0)
    z2 = np.concatenate(_deviations(units, K, lam)[1], axis=1) ** 2
    return satterthwaite(z2, most)


def satterthwaite(z2: Floats, most: float) -> Floats:
    """2/(Σz⁴/(Σz²)² − 1/m) for each row of z² (K, m), at least 1 and at most `most`."""
    total = z2.sum(axis=1)
    part = z2 / np.maximum(total, 1e-300)[:, None]
    uneven = (part**2).sum(axis=1) - 1 / max(int((z2 > 0).any(axis=0).sum()), 1)
    found = np.where(total > 0, 2 / np.maximum(uneven, 1e-9), most)
    return np.asarray(np.maximum(np.minimum(found, most), 1.0))


def few_behind(units: Units, classes: Sequence[Hashable]) -> list[str]:
    """Say that too few units decide a figure, as the weights of the others are far smaller."""
    assert units.pi is not None
    part = np.where(units.pi < 1, np.abs(units.y) / units.pi, 0.0)
    size, worth = int((part > 0).sum()), kish(part)
    found = []
    if size > UNEQUAL * worth:
        found.append(
            f"The weights 1/probability are so unequal that the {size:,} audited units tell no "
            f"more than {worth:.0f} of equal weight would: a few of them decide the figures, and "
            "the intervals are too narrow. Audit more of the units that had small probabilities."
        )
    every = [kish(part[units.g == g]) for g in range(len(classes))]
    partly = [
        (units.pi[units.g == g] < 1).any() or not (units.g == g).any() for g in range(len(classes))
    ]
    named = [c for c, k, p in zip(classes, every, partly, strict=True) if k < FEW and p]
    if named:
        found.append(
            f"With their weights, the audited units of true class {named[:5]} count as fewer than "
            f"{FEW:.0f}: the interval may be too narrow. Audit more units, first those that are "
            "likely to be of that class."
        )
    return found


def apart(
    units: Units, estimate: Floats, weighted: Floats, variance: Floats, classes: Sequence[Hashable]
) -> list[str]:
    """Say that the weighted estimator, which needs no model, finds another figure."""
    K = len(classes)
    t = special.stdtrit(freedom(units, K), 1 - APART / (2 * K)) * np.sqrt(variance)
    away = np.abs(estimate - weighted)
    if not (away > np.maximum(t, 1e-9 * np.abs(weighted).sum())).any() or not (variance > 0).all():
        return []
    g = int((away / np.maximum(t, 1e-300)).argmax())
    return [
        f"Weighted by 1/probability, the audited units say {weighted[g]:,.4g} for {classes[g]!r} "
        f"(sd {np.sqrt(variance[g]):,.2g}) where this answer is {estimate[g]:,.4g}: among units "
        "that are seldom drawn, errors may differ from what the others show. Audit more of those, "
        "or use method='difference', which needs no model."
    ]
