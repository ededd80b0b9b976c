"""Audited units of earlier periods: those that come late, and those that must not count twice."""

from collections.abc import Callable, Collection, Hashable, Sequence
from math import isclose
from typing import Any

import numpy as np

from trueup.count.labels import MOST_NAMED
from trueup.count.matched import ROUNDED, units_of
from trueup.count.names import Columns
from trueup.count.parts import Figures, Label
from trueup.errors import DataError
from trueup.numerics.arrays import Progress
from trueup.read.columns import Kind, plain
from trueup.read.table import Rows, Table
from trueup.text import quoted

Cells = dict[tuple[int, ...], tuple[int, float]]
"""Units and the sum of their values, for each pair of true and predicted class."""
Audit = dict[Label, Cells]
"""The cells of a test set in each period: what a series remembers of it."""
Keep = Callable[[Hashable, Hashable], bool]


class Chosen(Table):
    """The units of a test set with some ids and periods, one by one."""

    def __init__(self, table: Table, columns: Columns, keep: Keep) -> None:
        self.table, self.columns, self.keep, self.name = table, columns, keep, table.name

    def kinds(self) -> dict[str, Kind]:
        """Return the columns and the kind of values that each holds."""
        return self.table.kinds()

    def _rows(
        self, columns: Sequence[str], value: str | None, id: str | None, among: Sequence[Hashable]
    ) -> Rows:
        every = [*dict.fromkeys([str(self.columns.id), *self.columns.by, *columns])]
        at = [every.index(name) for name in columns] + ([len(every)] if value else [])
        rows = self.table.rows(every, value=value, id=id, among=among)
        return [tuple(row[i] for i in at) for row in rows if self.keep(*map(plain, row[:2]))]

    def _grouped(self, keys: Sequence[str], value: str | None, progress: Progress | None) -> Rows:
        values: dict[tuple[Any, ...], list[float]] = {}
        for row in self.rows(keys, value=value):
            y = 0.0 if value is None else plain(row[-1])
            values.setdefault(row[: len(keys)], []).append(np.nan if y is None else float(y))
        found = []
        for key, ys in values.items():
            y = np.array([x for x in ys if np.isfinite(x)])
            least = y.min(initial=np.inf)
            found.append((*key, len(ys), len(ys) - len(y), y.sum(), (y * y).sum(), least))
        return found


def split(
    population: Table, test_set: Table, columns: Columns, periods: Collection[Hashable]
) -> tuple[Table | None, Table | None]:
    """Return the audited units to match with the new table, and the late ones.

    A unit is late if the test set says that it is of a period which the table does not hold, and
    the table has no unit with its id.
    """
    id, by = columns.id, columns.by[0]
    assert id is not None
    if by not in test_set.kinds():
        return test_set, None
    marks = {tuple(map(plain, row)) for row in test_set.rows([id, by])}
    here = {plain(row[0]) for row in units_of(population, id, [i for i, _ in marks], [], None)}

    def is_late(i: Hashable, period: Hashable) -> bool:
        return period is not None and period not in periods and i not in here

    late = [is_late(*mark) for mark in marks]
    return (
        None if late and all(late) else Chosen(test_set, columns, lambda *x: not is_late(*x)),
        Chosen(test_set, columns, is_late) if any(late) else None,
    )


def audit_of(audited: Figures) -> Audit:
    """Return the cells of a test set in each period."""
    found: Audit = {}
    at = zip(*(axis.tolist() for axis in audited.at), strict=True)
    rows = zip(audited.parts, at, audited.units.tolist(), audited.sums.tolist(), strict=True)
    for period, cell, units, total in rows:
        found.setdefault(period, {})[cell] = (units, total)
    return found


def refuse_again(new: Audit, earlier: Sequence[Audit], name: str) -> list[str]:
    """Refuse a test set with the very counts of an earlier one; else warn of periods in both.

    One period is enough: a file to which each month's audited units are appended has the counts of
    the earlier months again. Units have no names here, so that a few in both cannot be seen.
    """
    known = [period for period in new if any(period in audit for audit in earlier)]
    again = [p for p in known if any(_same(new[p], audit.get(p, {})) for audit in earlier)]
    if again:
        raise DataError(
            f"Audited units must not count twice; in {_listed(again)} those of {name} have the "
            "counts of audited units that the series already has.",
            hint="leave out the units of earlier test sets. If these are other units, correct the "
            "whole table again, with all audited units in one test set.",
        )
    if not known:
        return []
    return [
        f"{name} has audited units of {_listed(known)}, where the series already has some. Units "
        "that are in both count twice: leave out those of earlier test sets."
    ]


def _same(one: Cells, other: Cells) -> bool:
    return one.keys() == other.keys() and all(
        units == other[cell][0] and isclose(total, other[cell][1], rel_tol=ROUNDED)
        for cell, (units, total) in one.items()
    )


def _listed(periods: Sequence[Label]) -> str:
    more = len(periods) - MOST_NAMED
    shown = quoted([period[0] for period in periods[:MOST_NAMED]])
    return f"{shown} and {more:,} more" if more > 0 else shown
