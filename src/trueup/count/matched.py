"""Audited units whose prediction, value and group come from the population, by id."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

import numpy as np

from trueup.count.labels import has_values
from trueup.count.names import Columns
from trueup.errors import DataError
from trueup.numerics.arrays import Progress
from trueup.read.columns import check_value_kind, empty_table, plain, refuse_missing
from trueup.read.table import Missing, Rows, Table, Tally

NUMBERS = ("integer", "number")
ROUNDED = 1e-3
"""Values that differ by less than this, relative to their size, were rounded."""
ELSEWHERE = "with overlap=False (--no-overlap) the test set may come from elsewhere."


@dataclass(frozen=True, eq=False)
class Both:
    """The two tables, and how they are counted."""

    population: Table
    test_set: Table
    columns: Columns
    missing: Missing
    overlap: bool

    @property
    def _how(self) -> dict[str, Any]:
        return {"missing": self.missing, "nullable": self.columns.nullable}

    def every(self, parts: Sequence[str], progress: Progress | None = None) -> Tally:
        """Tally the population by (*parts, predicted)."""
        keys = [*parts, self.columns.predicted]
        return self.population.tally(keys, self.columns.value, progress=progress, **self._how)

    def audited(self, parts: Sequence[str]) -> Tally:
        """Tally the test set by (*parts, true, predicted)."""
        columns = self.columns
        if columns.id is not None:
            return matched_tally(self.population, self.test_set, columns, parts, self.missing)
        keys = [*parts, columns.true, columns.predicted]
        valued = has_values(self.population, self.test_set, columns)
        return self.test_set.tally(keys, columns.value if valued else None, **self._how)

    def made(self, make: Callable[[Table], Table], placed: bool = True) -> Both:
        """Return the tables with a column that we make; the test set's may be the population's."""
        own = placed and self.columns.id is None
        test_set = make(self.test_set) if own else self.test_set
        return replace(self, population=make(self.population), test_set=test_set)

    def phase(self) -> float:
        """Where the fine bands of the value begin: with the audited values, whatever their unit.

        It is the fraction of 4 log2 of their root mean square. So bands of values in thousands hold
        the same units as those of values in single ones, and totals scale exactly. A test set that
        was drawn within bands keeps them.
        """
        columns, value = self.columns, self.columns.value
        assert value is not None
        if columns.phase is not None:
            return columns.phase
        check_value_kind(self.population, value, self.population.kinds()[value])
        if columns.id is None or self.test_set.kinds().get(value, "other") in NUMBERS:
            found = self.test_set.tally([columns.true], value, missing="leave_out")
            size = np.sqrt(found.squares.sum() / found.units.sum())
        else:
            ids = [plain(row[0]) for row in self.test_set.rows([columns.id])]
            rows = units_of(self.population, columns.id, ids, [], value)
            values = np.abs([float(y) for _, y in rows if y is not None])
            values = values[np.isfinite(values)]
            most = values.max(initial=0.0)  # squares may be too large for a float
            size = most * np.sqrt(np.mean((values / most) ** 2)) if most else 0.0
        return float(4.0 * np.log2(size) % 1.0) if size > 0.0 else 0.0


def matched_tally(
    population: Table,
    test_set: Table,
    columns: Columns,
    parts: Sequence[str],
    missing: Missing,
    hint: str = ELSEWHERE,
) -> Tally:
    """Tally the test set by (*parts, true, predicted), all but `true` from the population.

    `hint` is for units that the population does not hold.
    """
    id, true, predicted, value = columns.id, columns.true, columns.predicted, columns.value
    assert id is not None
    has_prediction = predicted in test_set.kinds()
    said = _said_twice(population, test_set, columns)
    own = [id, true, *([predicted] if has_prediction else [])]
    audited = [tuple(map(plain, row)) for row in test_set.rows([*own, *said])]
    if not audited:
        raise empty_table(test_set)
    left_out: dict[str, int] = {}
    for position, column in enumerate((id, true)):
        nulls = sum(row[position] is None for row in audited)
        if nulls and missing == "refuse":
            refuse_missing(test_set, column, nulls)
        if nulls:
            left_out[column] = nulls
    usable = [row for row in audited if row[0] is not None and row[1] is not None]
    ids = [row[0] for row in usable]
    _refuse_duplicates(ids, id, test_set)
    more = [column for column in said if column not in (*parts, value)]
    found = units_of(population, id, ids, [*more, *parts, predicted], value)
    by_id = _by_id(found, ids, id, population, hint, with_value=value is not None)
    known = [*more, *parts, predicted, value]
    notes = _contradictions(
        said, {row[0]: row[len(own) :] for row in usable}, by_id, known, (id, test_set, population)
    )
    by_id = {i: labels[len(more) :] for i, labels in by_id.items()}

    wanted = [h for h, column in enumerate([*parts, predicted]) if column not in columns.nullable]
    cells: dict[tuple[Hashable, ...], list[float]] = {}
    differ = []
    for i, g, *prediction in usable:
        *part, h, y = by_id[i]
        if has_prediction and None not in (prediction[0], h) and prediction[0] != h:
            differ.append(i)
        # rows that the population's tally leaves out are left out here too
        if np.isfinite(y) and all((*part, h)[position] is not None for position in wanted):
            cells.setdefault((*part, g, h), []).append(y)
    if differ:
        raise DataError(
            f"{units_are(len(differ), 'have')} another predicted class in {test_set.name} than "
            f"in {population.name}; the first is {id} = {differ[0]!r}.",
            hint="use predictions of the same model for both tables.",
        )
    if not cells:
        raise DataError(
            f"{test_set.name} must hold at least one usable unit; {population.name} has no usable "
            "value for any of them.",
            hint="are these the right columns?",
        )
    values = [np.array(cell) for cell in cells.values()]
    units = np.array([len(y) for y in values], dtype=np.int64)
    return Tally(
        keys=list(cells),
        units=units,
        sums=np.array([y.sum() for y in values]),
        squares=np.array([(y * y).sum() for y in values]),
        signed=any((y < 0).any() for y in values),
        left_out=left_out,
        rows_left_out=len(audited) - int(units.sum()),
        notes=notes,
    )


def _said_twice(population: Table, test_set: Table, columns: Columns) -> list[str]:
    """Return the columns that the test set has too, in a form that can be compared."""
    mine, theirs = test_set.kinds(), population.kinds()
    value = [] if columns.value is None else [columns.value]
    every = dict.fromkeys([*columns.parts, *columns.drawn_within, *columns.score, *value])
    return [
        name
        for name in every
        if name in mine
        and (mine[name] == theirs.get(name) or {mine[name], theirs.get(name)} <= {*NUMBERS})
    ]


def _contradictions(
    said: Sequence[str],
    audited: Mapping[Hashable, tuple[Any, ...]],
    by_id: Mapping[Hashable, tuple[Any, ...]],
    known: Sequence[str | None],
    where: tuple[str, Table, Table],
) -> list[str]:
    """Say which audited units have other labels or values in the test set than in the population.

    `audited` has the columns `said` of each unit, and `by_id` the population's `known` ones.
    """
    id, test_set, population = where
    notes = []
    for at, column in enumerate(said):
        own = known.index(column)
        differ = [i for i, row in audited.items() if _differ(row[at], by_id[i][own])]
        if differ:
            notes.append(
                f"{units_are(len(differ), 'have')} another {column!r} in {test_set.name} than in "
                f"{population.name}; the first is {id} = {differ[0]!r}. What {population.name} has "
                "was used."
            )
    return notes


def _differ(a: Any, b: Any) -> bool:
    """Whether two labels or values differ; a missing one contradicts nothing."""
    if a is None or b is None or b != b:
        return False
    if isinstance(a, float) or isinstance(b, float):
        return not isclose(a, b, rel_tol=ROUNDED)
    return bool(a != b)


def units_of(
    population: Table, id: str, ids: Sequence[Any], columns: Sequence[str], value: str | None
) -> Rows:
    """Return id, columns and value of the population's units with these ids, None left out.

    Ids are written as the population has them: pandas writes 7.0 for 7 in a column with a gap.
    """
    kind, among = population.kinds()[id], [i for i in ids if i is not None]
    if kind == "number":
        among = [float(i) for i in among]
    if kind == "integer":
        among = [int(i) for i in among if i == int(i)]
    return population.rows([id, *columns], value=value, id=id, among=among)


def _by_id(
    found: Sequence[tuple[Any, ...]],
    ids: Sequence[Hashable],
    id: str,
    population: Table,
    hint: str,
    *,
    with_value: bool,
) -> dict[Hashable, tuple[Any, ...]]:
    """Return the labels of each audited unit and its value (1 when units are counted)."""
    by_id = {}
    for row in found:
        i, *labels = map(plain, row)
        y = labels.pop() if with_value else 1.0
        by_id[i] = (*labels, np.nan if y is None else float(y))
    _refuse_duplicates([plain(row[0]) for row in found], id, population)
    absent = [i for i in ids if i not in by_id]
    if absent:
        raise DataError(
            f"{units_are(len(absent), 'are')} not in {population.name}; the first is "
            f"{id} = {absent[0]!r}.",
            hint=hint,
        )
    return by_id


def units_are(number: int, verb: str) -> str:
    """Write how many audited units are or have something.

    Examples
    --------
    >>> units_are(1, "are"), units_are(2, "have")
    ('1 audited unit is', '2 audited units have')
    """
    one = {"are": "is", "have": "has"}[verb]
    return f"1 audited unit {one}" if number == 1 else f"{number:,} audited units {verb}"


def _refuse_duplicates(ids: Sequence[Hashable], id: str, table: Table) -> None:
    seen: set[Hashable] = set()
    twice = [i for i in ids if i in seen or seen.add(i)]  # type: ignore[func-returns-value]
    if twice:
        raise DataError(
            f"Column {id!r} of {table.name} must name each unit once; {twice[0]!r} comes more than "
            f"once ({len(twice):,} duplicate rows in all).",
            hint="remove the duplicate rows.",
        )
