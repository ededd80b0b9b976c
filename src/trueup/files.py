"""Tables in files: CSV and Parquet, counted by DuckDB where they lie."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trueup.errors import FileError
from trueup.tables import Kind, Tally, check_value_kind, make_tally

if TYPE_CHECKING:
    import duckdb

__all__ = ["FileTable"]

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}


class FileTable:
    """A CSV or Parquet file (or a glob of them) as a table of units."""

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path) or path
        self._path = path
        ending = path.lower().removesuffix(".gz").rsplit(".", 1)[-1]
        quoted = path.replace("'", "''")
        if ending in ("parquet", "pq"):
            # without can_have_nan, DuckDB 2.0 trusts statistics that pyarrow writes without NaN
            self._from = f"read_parquet('{quoted}', can_have_nan=true)"
        elif ending in ("csv", "tsv", "txt"):
            self._from = f"read_csv('{quoted}', header=true)"
        else:
            raise FileError(
                f"A table must be a CSV or a Parquet file; {self.name!r} came.",
                hint="rename it to end in .csv or .parquet, or pass a dataframe.",
            )

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        return connection

    def _query(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        import duckdb

        try:
            return self._connection.execute(sql, list(parameters)).fetchall()
        except duckdb.Error as error:
            if "No files found" in str(error):
                raise FileError(
                    f"The file {self._path!r} must exist; nothing is there.",
                    hint="check the spelling and the folder you are in.",
                ) from None
            first = str(error).strip().splitlines()[0]
            raise FileError(
                f"{self.name} must be a readable table; DuckDB says: {first}",
                hint="open it and check its header and the lines named.",
            ) from None

    def kinds(self) -> dict[str, Kind]:
        """Give the columns and what kind of values each holds."""
        if os.path.isfile(self._path) and os.path.getsize(self._path) == 0:
            raise FileError(f"{self.name} must hold a table; the file is empty.")
        return {name: _kind(kind) for name, kind, *_ in self._query(f"DESCRIBE FROM {self._from}")}

    def tally(self, keys: Sequence[str], value: str | None) -> Tally:
        """Count units and total `value` per combination of `keys`; refuse missing values."""
        columns = ", ".join(_name(key) for key in keys)
        if value is None:
            sql = f"SELECT {columns}, count(*), 0, 0, 0, 0 FROM {self._from} GROUP BY ALL"
        else:
            check_value_kind(self, value, self.kinds()[value])
            # fsum is Kahan's sum: the order of a billion rows does not show in the total
            sql = f"""
                SELECT {columns}, count(*), count_if(y IS NULL OR NOT isfinite(y)),
                    coalesce(fsum(y) FILTER (isfinite(y)), 0),
                    coalesce(fsum(y * y) FILTER (isfinite(y)), 0),
                    coalesce(min(y), 0)
                FROM (SELECT {columns}, {_name(value)}::DOUBLE AS y FROM {self._from})
                GROUP BY ALL"""
        return make_tally(self, keys, value, self._query(sql + " ORDER BY ALL"))

    def rows(
        self, columns: Sequence[str], *, id: str | None = None, among: Sequence[Hashable] = ()
    ) -> list[tuple[Any, ...]]:
        """Give these columns of every unit, or of the units whose `id` is `among` those given."""
        sql = f"SELECT {', '.join(_name(column) for column in columns)} FROM {self._from}"
        if id is None:
            return self._query(sql)
        return self._query(f"{sql} WHERE {_name(id)} IN (SELECT unnest(?))", [list(among)])

    def largest(self, value: str, count: int) -> list[float]:
        """Give the `count` largest values."""
        sql = f"SELECT {_name(value)}::DOUBLE AS y FROM {self._from} ORDER BY y DESC LIMIT {count}"
        return [row[0] for row in self._query(sql)]

    def native(self, columns: dict[str, list[Any]]) -> Any:
        """Make a local dataframe: pandas, Polars or PyArrow, whichever is installed."""
        from trueup.frames import local_frame

        return local_frame(columns)


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _kind(duckdb_type: str) -> Kind:
    kind = duckdb_type.removeprefix("U").split("(")[0]
    if kind in INTEGERS:
        return "integer"
    if kind in ("FLOAT", "DOUBLE", "DECIMAL"):
        return "number"
    if kind == "BOOLEAN":
        return "boolean"
    return "text" if kind in ("VARCHAR", "ENUM") else "other"
