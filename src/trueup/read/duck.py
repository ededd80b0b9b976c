"""Tables that DuckDB counts, in SQL of our own: see `relations.py` and `files.py`."""

from __future__ import annotations

import copy
import datetime
import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from trueup.numerics.arrays import Progress
from trueup.read.columns import Kind, as_text, refuse_missing
from trueup.read.table import (
    ABOVE,
    BELOW,
    CONTRADICTS,
    LEAST_VALUE,
    NEGATIVE,
    NEGATIVE_SCORE,
    NO_BAND,
    TIE,
    BySize,
    Lots,
    Rows,
    Score,
    Table,
    least_value,
)

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM"}
TICK = 0.2  # seconds between looks at the progress of a query


class DuckTable(Table):
    """A table of units that DuckDB can put in a FROM clause; see `RelationTable`, `FileTable`."""

    _made: Mapping[str, tuple[tuple[str, ...], str]] = {}  # columns that we make: sources, SQL

    def binned(self, name: str, column: str, edges: Sequence[float]) -> DuckTable:
        """Count the edges below a value in SQL."""
        x = self._number(column)
        if self.kinds()[column] not in ("number", "integer", "boolean"):
            x = f"TRY_CAST({identifier(column)} AS DOUBLE)"
        above = " + ".join(f"({x} > {literal(float(edge))})::BIGINT" for edge in edges) or "0"
        return self._with(name, (column,), f"(CASE WHEN ({x} - {x}) = 0 THEN {above} END)")

    def _banded(self, name: str, value: str, phase: float) -> DuckTable:
        y = self._number(value)
        size = f"4 * log2(abs({y}) + {least_value(phase)}::DOUBLE) - {phase}::DOUBLE"
        size = f"TRY_CAST({size} AS SMALLINT)"
        band = f"coalesce({size} + ({y} < 0)::SMALLINT * {NEGATIVE}::SMALLINT, {NO_BAND})"
        return self._with(name, self._sources(value), band)

    def _weighted(self, name: str, value: str, weight: str) -> DuckTable:
        return self._with(
            name, (value, weight), f"({self._number(value)} * {self._number(weight)})"
        )

    def _scored(self, name: str, score: Score) -> DuckTable:
        numbers = [f"({self._number(column)})" for column in score.columns]
        x, sources, wrong = numbers[0], score.columns, ""
        if len(numbers) > 1:
            label = f"{self._column(score.predicted)}::VARCHAR"
            if self.kinds()[score.predicted] != "text":
                label = f"lower(trim({label}))"
            pairs = zip(score.classes, numbers, strict=True)
            cases = " ".join(f"WHEN {quoted(as_text(g))} THEN {y}" for g, y in pairs)
            most = f"greatest({', '.join(numbers)})"
            x, sources = f"(CASE {label} {cases} ELSE {most} END)", (*sources, score.predicted)
            wrong = f" + CASE WHEN {x} < {most} - {TIE} THEN {CONTRADICTS} ELSE 0 END"
        large, small, tiny = 4 * score.fineness, score.fineness, f"{LEAST_VALUE}::DOUBLE"
        every = f"({' + '.join(numbers)})"  # finite if each of them is
        band = (  # DuckDB computes x, and one logarithm of it, once; most are probabilities
            f"CASE WHEN ({every} - {every}) = 0 AND {x} BETWEEN 0 AND 1 "
            f"THEN {small} * log2(({x} + {tiny}) / (1 - {x} + {tiny})) "
            f"WHEN NOT coalesce(({every} - {every}) = 0, false) THEN NULL "
            f"WHEN {x} <= -1 THEN {BELOW} - {large} * log2(-{x}) "
            f"WHEN {x} < 0 THEN {NEGATIVE_SCORE} - {small} * log2(-{x} + {tiny}) "
            f"ELSE {ABOVE} + {large} * log2({x}) END"
        )
        return self._with(name, sources, f"(({band})::INTEGER{wrong})")

    def _with(self, name: str, sources: tuple[str, ...], sql: str) -> DuckTable:
        table = copy.copy(self)
        table._made = {**self._made, name: (sources, sql)}
        return table

    def _column(self, column: str) -> str:
        """Return a column in SQL, or the expression of a column that we make."""
        return self._made[column][1] if column in self._made else identifier(column)

    def _number(self, column: str) -> str:
        """Return a column of values in SQL, as a double."""
        return self._made[column][1] if column in self._made else f"{identifier(column)}::DOUBLE"

    def _sources(self, column: str) -> tuple[str, ...]:
        return self._made[column][0] if column in self._made else (column,)

    def _from(self, columns: Sequence[str], value: str | None) -> str:
        """Return the FROM clause; a column that we make is read as its sources."""
        sources = [x for column in columns for x in self._sources(column)]
        if value is not None:
            value, *others = self._sources(value)
            sources += others
        return self._source([*dict.fromkeys(sources)], value)

    def _query(self, sql: str, progress: Progress | None = None) -> Rows:
        raise NotImplementedError

    def _types(self) -> dict[str, str]:
        """Return DuckDB's type of every column."""
        raise NotImplementedError

    def _source(self, columns: Sequence[str], value: str | None) -> str:
        """Return the FROM clause for a query of these columns and this value."""
        raise NotImplementedError

    def _labels(self, rows: Rows, columns: Sequence[str]) -> Rows:
        """Return the rows with the labels of these leading columns as their own kind."""
        return rows

    def kinds(self) -> dict[str, Kind]:
        """Return the columns and the kind of values that each holds."""
        found: dict[str, Kind] = {n: kind_of(kind) for n, kind in self._types().items()}
        return found | dict.fromkeys(self._made, "integer")

    def tally_sql(self, keys: Sequence[str], value: str | None, *, careful: bool = False) -> str:
        """Return the query of `tally`; the `careful` one counts and skips unusable values."""
        labels = [f"{self._column(key)} AS key_{i}" for i, key in enumerate(keys)]
        groups = ", ".join(f"key_{i}" for i in range(len(keys)))
        source = self._from(keys, value)
        if value is None:
            figures, columns = "count(*), 0, 0, 0, 0", labels
        else:
            y = self._number(value)
            # Whole numbers and decimals add up exactly (128 bits); doubles with Kahan's fsum.
            kind = self._types().get(value, "DOUBLE").removeprefix("U").split("(")[0]
            exact = kind in INTEGERS - {"HUGEINT", "BIGNUM"} or kind == "DECIMAL"
            columns = [*labels, f"{y} AS y", f"{identifier(value) if exact else y} AS x"]
            # y - y is 0 for finite values only, and no statistics of a file can say otherwise:
            # DuckDB 2.0 trusts those that pyarrow writes, which leave NaN out.
            ok = " FILTER ((y - y) = 0)" if careful else ""
            usable = f"count(*){ok}" if careful else "count(y)"
            total = f"(sum(x){ok})::DOUBLE" if exact else f"fsum(x){ok}"
            figures = f"count(*), count(*) - {usable}, {total}, sum(y * y){ok}, min(y){ok}"
        return (
            f"SELECT {groups}, {figures} FROM (SELECT {', '.join(columns)} FROM {source}) "
            f"GROUP BY {groups}"
        )

    def _grouped(self, keys: Sequence[str], value: str | None, progress: Progress | None) -> Rows:
        rows = self._query(self.tally_sql(keys, value), progress)
        figures = np.array([row[len(keys) + 2 :] for row in rows if row[-1] is not None], float)
        if value is not None and not np.isfinite(figures).all():  # NaN shows in every sum
            rows = self._query(self.tally_sql(keys, value, careful=True), progress)
        return self._labels(rows, keys)

    def _rows(
        self, columns: Sequence[str], value: str | None, id: str | None, among: Sequence[Hashable]
    ) -> Rows:
        chosen = [*map(self._column, columns), *([self._number(value)] if value else [])]
        source = self._from([column for column in columns if column != id], value)
        sql = f"SELECT {', '.join(chosen)} FROM {source}"
        if id is not None:
            sql += f" WHERE {identifier(id)} IN ({', '.join(map(literal, among)) or 'NULL'})"
        return self._labels(self._query(sql), columns)

    def lots(
        self, id: str, keys: Sequence[str], most: int, seed: int, by: BySize | None = None
    ) -> Lots:
        """Draw lots in one scan, which keeps no more than `most` units of each combination."""
        rank = f"((md5_number_lower(concat('{seed}:', {identifier(id)})) >> 11) + 0.5) / {2**53}.0"
        where, columns = "", [self._column(key) for key in keys]
        size = None
        if by is not None:
            size, rate = by
            y = self._number(size)
            p = f"least({rate!r}::DOUBLE * {y}, 1.0)"
            rank = f"(({rank}) / (1 - ({rank}))) * (1 - {p}) / {p}"
            where = f" WHERE {y} > 0"
        labels = "".join(f"{column}, " for column in columns)
        groups = f" GROUP BY {', '.join(columns)}" if columns else ""
        rows = self._query(
            f"SELECT {labels}count(*) - count({identifier(id)}), "
            f"min_by({identifier(id)}, {rank}, {most}) FROM {self._from(keys, size)}{where}{groups}"
        )
        if nulls := sum(row[-2] for row in rows):
            refuse_missing(self, id, nulls, needed=True)
        return {row[:-2]: row[-1] for row in self._labels(rows, keys)}

    def largest(self, value: str, count: int) -> list[float]:
        """Return the `count` largest values."""
        values = f"SELECT {self._number(value)} AS y FROM {self._from([], value)}"
        sql = f"SELECT y FROM ({values}) WHERE (y - y) = 0 ORDER BY y DESC LIMIT {count}"
        return [row[0] for row in self._query(sql)]


def run_with_progress(connection: Any, sql: str, progress: Progress | None) -> Rows:
    """Run a query in a thread and report its progress from this one; Ctrl-C stops the query."""
    if progress is None:
        return connection.execute(sql).fetchall()  # type: ignore[no-any-return]
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(connection.execute(sql).fetchall())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(TICK)
            percent = connection.query_progress()  # -1 before the scan and after it
            if percent > 0 and thread.is_alive():
                progress(min(percent / 100, 1.0))
    except BaseException:
        connection.interrupt()
        thread.join()
        raise
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]  # type: ignore[no-any-return]


def first_line(error: BaseException) -> str:
    """Return the first line of a library's message."""
    return str(error).strip().splitlines()[0]


def reason(error: BaseException) -> str:
    """Return DuckDB's first line, and for an error in a CSV line what is wrong with it."""
    first, *more = [line.strip() for line in str(error).strip().splitlines()]
    if "CSV Error on Line" not in first:
        return first
    after = [line for line in more if line and not line.startswith("Original Line")]
    return f"{first.split(': ')[-2]}: {first.split(': ')[-1]}. {after[0]}" if after else first


def identifier(column: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a value in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    if isinstance(value, datetime.date):
        kind = "TIMESTAMP" if isinstance(value, datetime.datetime) else "DATE"
        return f"'{value.isoformat()}'::{kind}"
    return quoted(str(value))


def quoted(text: str | Sequence[str]) -> str:
    """Return a text in SQL, or a list of them."""
    if isinstance(text, str):
        return "'" + text.replace("'", "''") + "'"
    return f"[{', '.join(map(quoted, text))}]"


def kind_of(duckdb_type: str) -> Kind:
    """Return the kind of values that a type of DuckDB holds."""
    kind = duckdb_type.removeprefix("U").split("(")[0]
    if kind in INTEGERS:
        return "integer"
    if kind in ("FLOAT", "DOUBLE", "DECIMAL"):
        return "number"
    if kind == "BOOLEAN":
        return "boolean"
    if kind in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return "date"
    return "text" if kind in ("VARCHAR", "ENUM") else "other"
