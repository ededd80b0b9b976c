"""What trueup asks of a table: a group-by, a few rows by id, and the largest values.

A table is a file (`files.py`) or a dataframe (`frames.py`); both give the same `Tally`, and
nothing larger than that ever reaches the rest of the package.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from trueup.errors import DataError

__all__ = ["Kind", "Table", "Tally", "class_kind", "is_missing", "require_columns"]

Kind = Literal["text", "integer", "boolean", "number", "other"]


@dataclass(frozen=True, eq=False)
class Tally:
    """The group-by: units, Σy, Σy² and the least y for each combination of the keys."""

    keys: list[tuple[Hashable, ...]]
    units: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    least: float


class Table(Protocol):
    """A table of units that can be counted where it is."""

    name: str

    def kinds(self) -> dict[str, Kind]:
        """Give the columns and what kind of values each holds."""

    def tally(self, keys: Sequence[str], value: str | None) -> Tally:
        """Count units and total `value` per combination of `keys`; refuse missing values."""

    def rows(
        self, columns: Sequence[str], *, id: str | None = None, among: Sequence[Hashable] = ()
    ) -> list[tuple[Any, ...]]:
        """Give these columns of every unit, or of the units whose `id` is `among` those given."""

    def largest(self, value: str, count: int) -> list[float]:
        """Give the `count` largest values."""

    def native(self, columns: dict[str, list[Any]]) -> Any:
        """Make a dataframe of the user's own kind from columns."""


def require_columns(table: Table, columns: Sequence[str]) -> dict[str, Kind]:
    """Check that the columns exist; the message lists near names."""
    kinds = table.kinds()
    for column in columns:
        if column not in kinds:
            near = difflib.get_close_matches(column, kinds, n=3, cutoff=0.5)
            raise DataError(
                f"{table.name} must have a column {column!r}; its columns are {list(kinds)}.",
                hint=f"did you mean {near[0]!r}?" if near else "name the column that holds it.",
            )
    return kinds


def class_kind(table: Table, column: str, kind: Kind) -> Kind:
    """Check that a column can hold classes, and give its kind."""
    if kind not in ("text", "integer", "boolean"):
        raise DataError(
            f"Column {column!r} of {table.name} must hold classes as text, whole numbers or "
            f"true/false; it holds {'decimal numbers' if kind == 'number' else 'something else'}.",
            hint="cast it to text or to whole numbers first.",
        )
    return kind


def check_value_kind(table: Table, column: str, kind: Kind) -> None:
    """Check that a column can be totalled."""
    if kind not in ("number", "integer", "boolean"):
        raise DataError(
            f"Column {column!r} of {table.name} must hold numbers to total; it holds {kind}.",
            hint="is a decimal comma or a currency sign in it? Clean it, or leave out `value`.",
        )


def make_tally(
    table: Table, keys: Sequence[str], value: str | None, rows: Sequence[tuple[Any, ...]]
) -> Tally:
    """Check the rows (*keys, units, unusable values, Σy, Σy², least y) of a group-by."""
    if not rows or not sum(row[len(keys)] for row in rows):
        raise DataError(
            f"{table.name} must hold at least one unit; it is empty.",
            hint="check the path, or the filter that made the table.",
        )
    for position, key in enumerate(keys):
        missing = sum(row[len(keys)] for row in rows if is_missing(row[position]))
        if missing:
            _refuse_missing(table, key, int(missing))
    unusable = sum(int(row[len(keys) + 1] or 0) for row in rows)
    if value is not None and unusable:
        _refuse_missing(table, value, unusable)
    units, _, sums, squares, least = zip(*(row[len(keys) :] for row in rows), strict=True)
    return Tally(
        keys=[tuple(_plain(label) for label in row[: len(keys)]) for row in rows],
        units=np.array(units, dtype=np.int64),
        sums=np.array(sums, dtype=float),
        squares=np.array(squares, dtype=float),
        least=float(min(least)),
    )


def _refuse_missing(table: Table, column: str, count: int) -> None:
    raise DataError(
        f"Column {column!r} of {table.name} must have a usable value for every unit; "
        f"{count:,} {'row has' if count == 1 else 'rows have'} none (null, NaN or infinite).",
        hint="repair or remove those rows, and say so with the published figure.",
    )


def _plain(label: Any) -> Any:
    """Give Python's own value of a NumPy scalar, so that labels print as one expects."""
    return label.item() if isinstance(label, np.generic) else label


def is_missing(value: object) -> bool:
    """Whether a label is null, in any library's spelling."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or value != value
