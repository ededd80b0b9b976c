"""Late audited units: of earlier periods, in one test set with those of a new table."""

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import numpy as np

from trueup.count.matched import written_as
from trueup.count.names import Columns
from trueup.numerics.arrays import Progress
from trueup.read.columns import Kind, plain
from trueup.read.table import Rows, Table

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
    among = written_as([i for i, _ in marks if i is not None], population.kinds()[id])
    here = {plain(row[0]) for row in population.rows([id], id=id, among=among)}

    def is_late(i: Hashable, period: Hashable) -> bool:
        return period is not None and period not in periods and i not in here

    late = [is_late(*mark) for mark in marks]
    return (
        None if late and all(late) else Chosen(test_set, columns, lambda *x: not is_late(*x)),
        Chosen(test_set, columns, is_late) if any(late) else None,
    )
