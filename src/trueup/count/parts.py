"""The bag of counts, split over groups and strata."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.count.counts import Counts, check_classes, make_counts
from trueup.numerics.arrays import Floats, Integers

Label = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Figures:
    """A group-by in numbers: for each of its rows a part, its classes, units, Σy and Σy²."""

    parts: list[Label]
    at: tuple[Integers, ...]
    units: Integers
    sums: Floats
    squares: Floats

    def merged(self) -> Figures:
        """Return the figures of the whole, in one part, each sum rounded once."""
        rows: dict[tuple[int, ...], list[int]] = {}
        for i, key in enumerate(zip(*(axis.tolist() for axis in self.at), strict=True)):
            rows.setdefault(key, []).append(i)
        at = tuple(np.array(axis, dtype=np.int64) for axis in zip(*rows, strict=True))
        units = np.array([self.units[row].sum() for row in rows.values()], dtype=np.int64)
        sums, squares = (
            np.array([math.fsum(x[row]) for row in rows.values()])
            for x in (self.sums, self.squares)
        )
        return Figures([()] * len(rows), at, units, sums, squares)


@dataclass(frozen=True, eq=False)
class Parts:
    """Counts of B parts of the population.

    Attributes
    ----------
    columns : tuple of str
        The columns whose labels tell the parts apart.
    labels : list of tuple
        A label of each column per part; None is a label of its own, that of rows without one.
    counts : Counts
        The parts stand on the first axis.
    placed : bool
        Whether the test units are known to be in these parts; if not, `counts` has none.
    """

    columns: tuple[str, ...]
    labels: list[Label]
    counts: Counts
    placed: bool


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Both tables in numbers: the whole, and its parts.

    Attributes
    ----------
    whole : Counts
        The sums over all parts.
    cells : Parts
        A part per combination of stratum and group that the population holds.
    groups : Parts
        A part per group: the sums of `cells` over strata. Without `by`, one with label ``()``.
    strata : Parts
        A part per stratum: the sums of `cells` over groups. Without `strata`, one with label
        ``()``. Its test units are there even where those of groups are not.
    group, stratum : (C,) int
        Which group and which stratum each cell is in.
    unplaced : dict
        Audited units in strata or groups that the population does not hold, by label: they are in
        `whole` only.
    warnings : list of str
        What the user should know about these tables.
    """

    whole: Counts
    cells: Parts
    groups: Parts
    strata: Parts
    group: Integers
    stratum: Integers
    unplaced: dict[Label, int]
    warnings: list[str]


def assemble(
    population: Figures,
    audited: Figures,
    classes: Sequence[Hashable],
    *,
    strata: tuple[str, ...],
    by: tuple[str, ...],
    placed: bool,
    totals: bool,
    signed: bool,
    warnings: list[str],
    columns: tuple[Hashable, ...] | None = None,
) -> GroupCounts:
    """Put the figures of both tables into arrays; `columns` are predicted labels, if not classes.

    The population's parts are (*strata, *by); so are those of the audited units when they are
    `placed` in groups, otherwise (*strata).
    """
    K, S, L = len(classes), len(strata), len(columns or classes)
    check_classes(tuple(classes), K)
    cells = sorted_labels(population.parts)

    def parts(names: tuple[str, ...], take: slice, test: bool) -> tuple[Parts, dict[Label, int]]:
        """Sum over all columns but those taken."""
        labels = sorted_labels({label[take] for label in cells})
        index = {label: b for b, label in enumerate(labels)}
        b = np.array([index[label[take]] for label in population.parts])
        v_hat, *sums = _add(population, b, (len(labels), L))
        n = np.zeros((len(labels), K, L), dtype=np.int64)
        test_sums: list[Floats | None] = [None, None]
        lost: dict[Label, int] = {}
        if test:
            b = np.array([index.get(label[take], -1) for label in audited.parts], dtype=np.int64)
            for row in np.flatnonzero(b < 0):
                label = audited.parts[row]
                lost[label] = lost.get(label, 0) + int(audited.units[row])
            n, *test_sums = _add(audited, b, n.shape)
        u_hat, w_hat, t, t2 = [*sums, *test_sums] if totals else [None] * 4
        figures = (n, v_hat, u_hat, w_hat, t, t2)
        counts = Counts(tuple(classes), *figures, signed, columns=columns)
        return Parts(names, labels, counts, test), lost

    by_stratum, lost = parts(strata, slice(0, S), True)
    by_group, _ = parts(by, slice(S, None), placed)
    by_cell, lost_cells = parts((*strata, *by), slice(0, None), placed)
    group_of = {label: b for b, label in enumerate(by_group.labels)}
    stratum_of = {label: b for b, label in enumerate(by_stratum.labels)}
    return GroupCounts(
        whole=_whole(population, audited, classes, columns, totals=totals, signed=signed),
        cells=by_cell,
        groups=by_group,
        strata=by_stratum,
        group=np.array([group_of[label[S:]] for label in cells], dtype=np.int64),
        stratum=np.array([stratum_of[label[:S]] for label in cells], dtype=np.int64),
        unplaced=lost_cells if placed else lost,
        warnings=warnings,
    )


def _add(figures: Figures, b: Integers, shape: tuple[int, ...]) -> tuple[Integers, Floats, Floats]:
    placed = b >= 0
    at = (b[placed], *(axis[placed] for axis in figures.at))
    units = np.zeros(shape, dtype=np.int64)
    sums, squares = np.zeros(shape), np.zeros(shape)
    np.add.at(units, at, figures.units[placed])
    np.add.at(sums, at, figures.sums[placed])
    np.add.at(squares, at, figures.squares[placed])
    return units, sums, squares


def _whole(
    population: Figures,
    audited: Figures,
    classes: Sequence[Hashable],
    columns: tuple[Hashable, ...] | None,
    *,
    totals: bool,
    signed: bool,
) -> Counts:
    K, L = len(classes), len(columns or classes)
    everything = np.zeros(len(audited.units), dtype=np.int64)
    n, t, t2 = _add(audited, everything, (1, K, L))
    v_hat = np.zeros(L, dtype=np.int64)
    np.add.at(v_hat, population.at[0], population.units)
    if not totals:
        return make_counts(n[0], v_hat, classes=classes, predicted_classes=columns)
    rows = [np.flatnonzero(population.at[0] == h) for h in range(L)]
    u_hat = [math.fsum(population.sums[row]) for row in rows]
    w_hat = [math.fsum(population.squares[row]) for row in rows]
    figures = (n[0], v_hat, u_hat, w_hat, t[0], t2[0])
    return make_counts(*figures, classes=classes, predicted_classes=columns, signed=signed)


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Sort labels, None last; dates and times may be mixed."""
    return sorted(set(labels), key=lambda label: [_order(x) for x in label])


def _order(x: Hashable) -> tuple[bool, Hashable]:
    return (x is None, x.isoformat() if isinstance(x, datetime.date) else "" if x is None else x)
