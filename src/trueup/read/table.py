"""What trueup asks of a table: a group-by, a few rows by id, and the largest values.

A table is a file (`files.py`), a DuckDB relation (`duck.py`) or a dataframe (`frames.py`). All
return the same `Tally`; nothing larger reaches the rest of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueup.errors import DataError
from trueup.numerics.arrays import Progress
from trueup.read.columns import (
    KIND_WORDS,
    Kind,
    check_value_kind,
    empty_table,
    plain,
    refuse_missing,
    require_columns,
)
from trueup.read.formats.written import unescaped
from trueup.read.native import local_frame

LEAST_VALUE = 1e-300
ZERO, NEGATIVE, NO_BAND = -3986, 16_384, -32_768
"""Fine bands: that of values below LEAST_VALUE, what a minus sign adds, and that of no value."""
BELOW, NEGATIVE_SCORE, ABOVE, CONTRADICTS = -60_000, -30_000, 30_000, 400_000
"""Fine bands of a score: where those of scores up to -1, of negative ones and of scores above 1
begin, and what is added if another class has a higher score than the predicted one."""
TIE = 1e-9

Missing = Literal["refuse", "leave_out"]
Rows = list[tuple[Any, ...]]
Lots = dict[tuple[Hashable, ...], list[Hashable]]
BySize = tuple[str, float]
"""Lots by size: the column of sizes, and the rate that makes a probability of a size."""


@dataclass(frozen=True, eq=False)
class Tally:
    """The group-by: units, Σy and Σy² for each combination of the keys.

    `signed` says whether any value is negative; `left_out` how many rows had no usable value per
    column, and `rows_left_out` how many rows that were in all; `notes` what else users should know.
    """

    keys: list[tuple[Hashable, ...]]
    units: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    signed: bool
    left_out: dict[str, int] = field(default_factory=dict)
    rows_left_out: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Score:
    """The column of the confidence in the predicted class, or one column for each of `classes`.

    `fineness` is the number of fine bands for each doubling of the odds.
    """

    columns: tuple[str, ...]
    predicted: str
    classes: tuple[Hashable, ...] = ()
    fineness: int = 8


class Table:
    """A table of units that can be counted where it is. An engine fills in what raises here."""

    name: str
    made: Mapping[str, str] = {}  # columns that we make, and what messages call them
    work_list = False  # whether `draw` wrote it: text like a formula then has an apostrophe

    def kinds(self) -> dict[str, Kind]:
        """Return the columns and the kind of values that each holds."""
        raise NotImplementedError

    def says(self, column: str) -> str:
        """Return what a column holds, in words; the type's own name for what is no known kind."""
        return KIND_WORDS[self.kinds()[column]]

    def as_text(self, column: str) -> str:
        """Say how the user makes a column text."""
        return f"make {column!r} text: astype(str) in pandas, cast(pl.String) in Polars"

    def order(self, column: str) -> list[Hashable] | None:
        """Return the labels in the order that the column's own type gives them, if it does."""
        return None

    def tally(
        self,
        keys: Sequence[str],
        value: str | None,
        *,
        nullable: Collection[str] = (),
        missing: Missing = "refuse",
        progress: Progress | None = None,
    ) -> Tally:
        """Count units and total `value` per combination of `keys`.

        Null is a label of its own in the `nullable` keys; elsewhere it is `missing`.
        """
        if value is not None:
            check_value_kind(self, value, self.kinds()[value])
        rows = self._own(self._grouped(keys, value, progress))
        return make_tally(self, keys, value, rows, nullable=nullable, missing=missing)

    def _grouped(self, keys: Sequence[str], value: str | None, progress: Progress | None) -> Rows:
        """Group by the keys: rows of (*keys, units, unusable values, Σy, Σy², least y)."""
        raise NotImplementedError

    def rows(
        self,
        columns: Sequence[str],
        *,
        value: str | None = None,
        id: str | None = None,
        among: Sequence[Hashable] = (),
    ) -> Rows:
        """Return these columns, then the value: of every unit, or of the ids `among`."""
        return self._own(self._rows(columns, value, id, among))

    def _own(self, rows: Rows) -> Rows:
        """Return the rows with the labels that the population has."""
        return [tuple(map(unescaped, row)) for row in rows] if self.work_list else rows

    def _rows(
        self, columns: Sequence[str], value: str | None, id: str | None, among: Sequence[Hashable]
    ) -> Rows:
        raise NotImplementedError

    def largest(self, value: str, count: int) -> list[float]:
        """Return the `count` largest values."""
        raise NotImplementedError

    def lots(
        self, id: str, keys: Sequence[str], most: int, seed: int, by: BySize | None = None
    ) -> Lots:
        """Draw lots: the ids of the `most` lowest units per combination of `keys`; see `lot`.

        From the rows: no engine but DuckDB has the number that a lot is.
        """
        from trueup.read.lots import lowest

        return lowest(self, id, keys, most, seed, by)

    def binned(self, name: str, column: str, edges: Sequence[float]) -> Table:
        """Return the table with a column of bins: how many of the edges a value is above."""
        raise NotImplementedError

    def banded(self, name: str, value: str, phase: float = 0.0) -> Table:
        """Return the table with a column of fine bands of its value: a fourth of an octave each.

        4 log2|y| − `phase` to the nearest whole number, plus NEGATIVE for a negative value. Values
        of 0 have a band of their own, ZERO, and unusable values NO_BAND. Edges are where hardly any
        value lies (without a phase at odd eighths of an octave), so that engines whose logarithms
        differ in the last digit agree.
        """
        check_value_kind(self, value, self.kinds()[value])
        table = self._banded(name, value, phase)
        table.work_list = self.work_list
        return table

    def _banded(self, name: str, value: str, phase: float) -> Table:
        raise NotImplementedError

    def weighted(self, name: str, value: str, weight: str) -> Table:
        """Return the table with a column of the value times the weight."""
        kinds = require_columns(self, (value, weight))
        for column in (value, weight):
            check_value_kind(self, column, kinds[column])
        return self._weighted(name, value, weight)

    def _weighted(self, name: str, value: str, weight: str) -> Table:
        raise NotImplementedError

    def scored(self, name: str, score: Score) -> Table:
        """Return the table with a column of fine bands of its score, in the order of the scores.

        Scores from 0 to 1 by their log odds, as probabilities need; negative ones above -1 by the
        log of their size, as log-probabilities need; others by their size; null for unusable ones.
        """
        kinds = require_columns(self, score.columns)
        for column in score.columns:
            if kinds[column] not in ("number", "integer", "boolean"):
                raise DataError(
                    f"Column {column!r} of {self.name} must hold numbers to be a score; it holds "
                    f"{KIND_WORDS[kinds[column]]}.",
                    hint="a probability, a margin or a log-probability: higher is more sure.",
                )
        table = self._scored(name, score)
        table.made = {**self.made, name: " or ".join(score.columns)}
        table.work_list = self.work_list
        return table

    def _scored(self, name: str, score: Score) -> Table:
        raise NotImplementedError

    @property
    def native(self) -> Callable[..., Any]:
        """The function that makes a dataframe of the user's own kind; it can be pickled."""
        return local_frame


def least_value(phase: float) -> float:
    """Return what is added to a value before its logarithm, so that 0 is in the band ZERO."""
    return float(LEAST_VALUE * 2.0 ** (phase / 4.0))


def score_of(band: NDArray[np.int64], fineness: int = 8) -> NDArray[np.float64]:
    """Return the score in the middle of each fine band.

    Examples
    --------
    >>> score_of(np.array([0, 25, -29947, 30051])).round(3)
    array([ 0.5  ,  0.897, -0.01 ,  3.018])
    """
    large, most = 4.0 * fineness, 996.0 * fineness + 1
    exponent = np.select(
        [band <= BELOW, band < -most, band <= most],
        [(BELOW - band) / large, (NEGATIVE_SCORE - band) / fineness, band / fineness],
        (band - ABOVE) / large,
    )
    size = 2.0 ** np.clip(exponent, -1000.0, 1000.0)
    score = np.where(band < -most, -size, np.where(band <= most, size / (1.0 + size), size))
    return np.asarray(score)


def make_tally(
    table: Table,
    keys: Sequence[str],
    value: str | None,
    rows: Sequence[tuple[Any, ...]],
    *,
    nullable: Collection[str],
    missing: Missing,
) -> Tally:
    """Check the rows (*keys, units, unusable values, Σy, Σy², least y) of a group-by."""
    k, columns = len(keys), list(zip(*rows, strict=True))
    units, bad = (
        np.array([int(x or 0) for x in columns[i]] if rows else [], np.int64) for i in (k, k + 1)
    )
    if not units.sum():
        raise empty_table(table)
    sums, squares, least = (
        np.array([float(x or 0) for x in columns[i]]) for i in range(k + 2, k + 5)
    )
    labels = [_plain_column(column) for column in columns[:k]]
    left_out: dict[str, int] = {}
    null = np.zeros(len(rows), dtype=bool)
    for key, column in zip(keys, labels, strict=True):
        if key not in nullable and None in column:
            here = np.array([label is None for label in column])
            named = table.made.get(key, key)
            left_out[named], null = int(units[here].sum()), null | here
    if value is not None and bad.any():
        left_out[value] = int(bad.sum())
    if int(units.sum()) in left_out.values():
        empty = next(name for name, rows in left_out.items() if rows == units.sum())
        raise DataError(
            f"None of the {units.sum():,} units of {table.name} has a usable value in column "
            f"{empty!r} yet: fill it in."
        )
    if left_out and missing == "refuse":
        refuse_missing(table, *next(iter(left_out.items())))
    keep = ~null & (units > bad)
    place: dict[tuple[Hashable, ...], int] = {}  # two spellings may be one label
    cells = [label for label, kept in zip(zip(*labels, strict=True), keep, strict=True) if kept]
    at = np.array([place.setdefault(label, len(place)) for label in cells], np.int64)
    if not cells:
        raise DataError(
            f"{table.name} must hold at least one usable unit; every row lacks a value in one of "
            f"{list(left_out)}.",
            hint="are these the right columns?",
        )
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        raise DataError(
            f"Column {value!r} of {table.name} must hold values whose squares can be added up; "
            "some are too large for that.",
            hint="write the value in larger units, such as millions.",
        )

    def added(x: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros(len(place), x.dtype)
        np.add.at(total, at, x[keep])
        return total

    return Tally(
        keys=list(place),
        units=added(units - bad),
        sums=added(sums),
        squares=added(squares),
        signed=bool((least[~null] < 0).any()),
        left_out=left_out,
        rows_left_out=int(units[null].sum() + bad[~null].sum()),
    )


def _plain_column(column: Sequence[Any]) -> Sequence[Any]:
    if {*map(type, column)} <= {str, int, bool, type(None)}:
        return column
    return [plain(label) for label in column]
