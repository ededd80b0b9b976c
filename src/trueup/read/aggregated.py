"""A population that is already aggregated: a row stands for many units."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.errors import DataError, OptionError
from trueup.read.columns import check_value_kind, plain, refuse_missing, require_columns
from trueup.read.table import Table, Tally

COUNTS = ("count", "counts", "n", "units", "number", "frequency", "freq", "anzahl", "aantal")
FEW_ROWS = 2_000


class AggregatedTable:
    """A table with a column of counts; its value is the sum over the units of a row.

    Each figure of a tally is a sum over the rows, so it works on the table of any engine.
    """

    def __init__(
        self, table: Table, count: str | None, squares: str | None, value: str | None
    ) -> None:
        if count is None:
            raise OptionError("`squares` needs `count`, the column of units per row; got none.")
        self._table, self._count, self._squares = table, count, squares
        self.name = table.name
        kinds = require_columns(table, [x for x in (count, squares, value) if x])
        if squares and value is None:
            raise OptionError("`squares` needs `value`, the column of sums; got none.")
        for column in (count, *([squares] if squares else [])):
            check_value_kind(table, column, kinds[column])
        numbers = [plain(row[0]) for row in table.rows([], value=count)]
        if nulls := sum(x is None for x in numbers):
            refuse_missing(table, count, nulls, needed=True)
        for x in map(float, numbers):
            if not (x >= 0 and x == np.floor(x)):
                raise DataError(
                    f"Column {count!r} of {table.name} must hold counts, whole numbers of at "
                    f"least 0; got {x:g}.",
                    hint="weights and shares are not counts: give the number of units.",
                )
        for x, y in table.rows([count], value=value) if value else ():
            if float(x) == 0 and plain(y):
                raise DataError(
                    f"Rows of {table.name} with 0 units in {count!r} must have a sum of 0 in "
                    f"{value!r}; got {float(y):g}.",
                    hint="a sum of no values is 0: correct the count or the sum.",
                )
        self.exact = squares is not None or value is None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not before __init__ has run, as when a copy is made
            raise AttributeError(name)
        return getattr(self._table, name)

    def binned(self, name: str, column: str, edges: Sequence[float]) -> AggregatedTable:
        """Return the table with a column of bins of a column that all units of a row share."""
        table = copy.copy(self)
        table._table = self._table.binned(name, column, edges)
        return table

    def tally(
        self, keys: Sequence[str], value: str | None, progress: Any = None, **options: Any
    ) -> Tally:
        """Add up counts, sums and squares per combination of `keys`.

        Without squares, the units of a row are taken to have equal values.
        """
        counted = self._table.tally(keys, self._count, progress=progress, **options)
        units = np.rint(counted.sums).astype(np.int64)
        if not units.sum():
            raise DataError(f"Column {self._count!r} of {self.name} must count at least one unit.")
        if value is None:
            zero = np.zeros(len(units))
            return replace(counted, units=units, sums=zero, squares=zero)
        found = self._table.tally(keys, value, **options)
        at = {key: i for i, key in enumerate(found.keys)}
        order = [at[key] for key in counted.keys if key in at]
        keep = [i for i, key in enumerate(counted.keys) if key in at]
        squares = self._squares_of(keys, value, found.keys, options)
        return Tally(
            [counted.keys[i] for i in keep],
            units[keep],
            found.sums[order],
            squares[order],
            found.signed,
            found.left_out,
            found.rows_left_out,
        )

    def _squares_of(
        self, keys: Sequence[str], value: str, wanted: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        if self._squares is not None:
            found = self._table.tally(keys, self._squares, **options)
            of = dict(zip(found.keys, found.sums, strict=True))
            return np.array([of.get(key, 0.0) for key in wanted])
        squares: dict[tuple[Hashable, ...], float] = {}
        columns = [*keys, self._count]
        for *label, count, y in self._table.rows(columns, value=value):
            if plain(y) is not None and float(count or 0) > 0:
                key = tuple(map(plain, label))
                squares[key] = squares.get(key, 0.0) + float(y) ** 2 / float(count)
        return np.array([squares.get(key, 0.0) for key in wanted])


def looks_aggregated(table: Table, rows: int) -> str | None:
    """Return the column that seems to say how many units a row stands for, of a short table."""
    if rows > FEW_ROWS or hasattr(table, "exact"):
        return None
    for column, kind in table.kinds().items():
        if kind == "integer" and column.casefold() in COUNTS:
            numbers = [plain(row[0]) for row in table.rows([], value=column)]
            if sum(float(x or 0) for x in numbers) > 3 * rows:
                return column
    return None
