"""Tables in files: CSV, Parquet and Arrow, alone or many, streamed through DuckDB."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trueup.arrow_files import arrow_dataset, check_batches
from trueup.duck import DuckTable, first_line, run_with_progress
from trueup.errors import DataError, FileError
from trueup.tables import Progress

if TYPE_CHECKING:
    import duckdb

__all__ = ["FileTable"]

FORMATS = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}


class FileTable(DuckTable):
    """A file, a glob or a folder of files as a table of units."""

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path.rstrip("/\\")) or path
        self._path = path
        pattern = any(sign in path for sign in "*?[") and not os.path.isfile(path)
        self._many = pattern or os.path.isdir(path)
        self._format, self._patterns = _find(path, self.name)
        self._checked: set[str] = set()
        self._seen = _states(self._patterns)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(":memory:trueup")  # one engine for all of our connections
        connection.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false")
        if self._format == "arrow":
            connection.register("trueup_arrow", arrow_dataset(self._path, self._patterns))
        return connection

    def _query(self, sql: str, progress: Progress | None = None) -> list[tuple[Any, ...]]:
        import duckdb

        if progress is not None:  # measured, but not printed: that is the caller's
            self._connection.execute(
                "SET enable_progress_bar_print = false; SET enable_progress_bar = true"
            )
        try:
            rows = run_with_progress(self._connection, sql, progress)
        except duckdb.Error as error:
            self._check_unchanged()
            raise self._explained(error) from None
        self._check_unchanged()
        return rows

    def _check_unchanged(self) -> None:
        """Refuse files that were written to since they were opened: counts of two halves."""
        now = _states(self._patterns)
        if now != self._seen:
            changed = sorted({os.path.basename(file) for file, *_ in now ^ self._seen})
            raise FileError(
                f"{self.name} must stay as it is while it is read; it changed: {changed[:5]}.",
                hint="wait until it is written, or read a copy.",
            )

    def _explained(self, error: duckdb.Error) -> FileError:
        message = str(error)
        if "No files found" in message:
            what = "match at least one file; none does" if self._many else "exist; nothing is there"
            return FileError(
                f"The path {self._path!r} must {what}.",
                hint="check the spelling and the folder you are in.",
            )
        mismatch = "schema mismatch" in message.lower()
        if self._many and self._format == "csv" and (mismatch or "COLUMN_TYPES" in message):
            return self._mismatch(self._lacking())
        if mismatch:
            return self._mismatch(message.split("\n")[0].split("schema mismatch in glob: ")[-1])
        return FileError(
            f"{self.name} must be a readable table; DuckDB says: {first_line(error)}",
            hint="is the file whole? Open it and check its header and the lines named."
            if self._format == "csv"
            else "is the file whole? A copy or download that was cut off looks like this.",
        )

    def _mismatch(self, words: str) -> FileError:
        return FileError(
            f"The files of {self._path!r} must have the same columns of the same type; "
            f"{words.strip()}",
            hint="name only files of one layout, or write them again with one.",
        )

    def _lacking(self) -> str:
        """Say which CSV file lacks a column that the first one has."""
        for pattern in self._patterns:
            for (file,) in self._query(f"SELECT file FROM glob({_quote(pattern)}) ORDER BY file"):
                names = {row[0] for row in self._query(f"DESCRIBE FROM read_csv({_quote(file)})")}
                for column in self._described:
                    if column not in names:
                        return f"{os.path.basename(file)} has no column {column!r}."
        return "they have not."

    @cached_property
    def _described(self) -> dict[str, str]:
        if os.path.isfile(self._path) and os.path.getsize(self._path) == 0:
            raise FileError(f"{self.name} must hold a table; the file is empty.")
        rows = self._query(f"DESCRIBE FROM {self._reader()}")
        return {name: kind for name, kind, *_ in rows}

    def _types(self) -> dict[str, str]:
        return self._described

    def _reader(self, types: dict[str, str] | None = None) -> str:
        paths = "[" + ", ".join(map(_quote, self._patterns)) + "]"
        if self._format == "arrow":
            return "trueup_arrow"
        if self._format == "parquet":
            # without can_have_nan, DuckDB 2.0 trusts statistics that pyarrow writes without NaN
            return f"read_parquet({paths}, can_have_nan=true)"
        listed = ", ".join(f"{_quote(name)}: '{kind}'" for name, kind in (types or {}).items())
        options = f", types={{{listed}}}" if listed else ""
        # of many files the first decides: the others may have the same columns in another order
        options += ", files_to_sniff=1" if self._many else ""
        return f"read_csv({paths}, header=true{options})"

    def _source(self, columns: Sequence[str], value: str | None) -> str:
        """Give the reader, with types that no later line can change.

        DuckDB decides a CSV column's type by its first 20,480 lines, and then rounds a decimal in a
        column of whole numbers without a word. So values are read as decimals from the start, and
        labels as text, which `_labels` reads as the numbers that they are.
        """
        used = [*columns, *([value] if value else [])]
        if self._format == "parquet" and self._many:
            self._check_types(used)
        if self._format == "arrow":
            self._check_batches(used)
        if self._format != "csv":
            return self._reader()
        whole = [name for name, kind in self.kinds().items() if kind == "integer"]
        types = {name: "VARCHAR" for name in columns if name in whole}
        return self._reader(types | ({value: "DOUBLE"} if value in whole else {}))

    def _labels(self, rows: list[tuple[Any, ...]], columns: Sequence[str]) -> list[tuple[Any, ...]]:
        if self._format != "csv":
            return rows
        kinds = self.kinds()
        whole = [i for i, column in enumerate(columns) if kinds[column] == "integer"]
        if not whole:
            return rows
        mended = []
        for row in rows:
            cells = list(row)
            for i in whole:
                cells[i] = self._whole(columns[i], cells[i])
            mended.append(tuple(cells))
        return mended

    def _whole(self, column: str, text: str | int | None) -> int | None:
        try:
            return None if text is None or text == "" else int(text)
        except ValueError:
            raise DataError(
                f"Column {column!r} of {self.name} must hold labels of one kind; it begins with "
                f"whole numbers, but {text!r} comes later.",
                hint="correct that line, or write every label as text that is no number.",
            ) from None

    def _check_types(self, columns: Sequence[str]) -> None:
        """Refuse files in which a column has another type: DuckDB would cast it, and round."""
        wanted = [column for column in columns if column not in self._checked]
        if not wanted:
            return
        paths = "[" + ", ".join(map(_quote, self._patterns)) + "]"
        rows = self._query(
            "SELECT name, type || coalesce(' ' || logical_type, ''), min(file_name), "
            f"count(DISTINCT file_name) FROM parquet_schema({paths}) "
            f"WHERE name IN ({', '.join(map(_quote, wanted))}) GROUP BY ALL ORDER BY ALL"
        )
        for column in wanted:
            kinds = [row for row in rows if row[0] == column]
            if len(kinds) > 1:
                words = " and ".join(f"{row[1]} in {os.path.basename(row[2])}" for row in kinds[:2])
                raise self._mismatch(f"{column!r} is {words}.")
        self._checked.update(wanted)

    def _check_batches(self, columns: Sequence[str]) -> None:
        """Refuse Arrow data that are broken, each column once."""
        wanted = [column for column in columns if column not in self._checked]
        if wanted:
            check_batches(self._patterns, wanted, self.name)
        self._checked.update(wanted)

    def native(self, columns: dict[str, list[Any]]) -> Any:
        """Make a local dataframe: pandas, Polars or PyArrow, whichever is installed."""
        from trueup.local_frames import local_frame

        return local_frame(columns)


def _states(patterns: list[str]) -> set[tuple[str, int, int]]:
    """Size and time of every file; a path that is not a local file has none."""
    found = set()
    for pattern in patterns:
        for file in [pattern] if os.path.isfile(pattern) else glob.glob(pattern, recursive=True):
            with contextlib.suppress(OSError):
                state = os.stat(file)
                found.add((file, state.st_size, state.st_mtime_ns))
    return found


def _find(path: str, name: str) -> tuple[str, list[str]]:
    """Give the format of a path and the patterns that DuckDB shall read."""
    if os.path.isdir(path):
        inside = [
            file.lower()
            for _, _, files in os.walk(path)
            for file in files
            if not file.startswith((".", "_"))
        ]
        endings = {
            ending: known
            for known, listed in FORMATS.items()
            for ending in listed
            if any(file.endswith(ending) for file in inside)
        }
        if not endings:
            raise FileError(
                f"The folder {path!r} must hold CSV, Parquet or Arrow files; none is there.",
                hint="give the folder that holds the files themselves, or a glob.",
            )
        if len(set(endings.values())) > 1:
            raise FileError(
                f"The folder {path!r} must hold files of one format; it holds {sorted(endings)}.",
                hint=f"give a glob, such as {os.path.join(path, '*' + min(endings))!r}.",
            )
        patterns = [os.path.join(path, "**", f"*{ending}") for ending in sorted(endings)]
        return next(iter(endings.values())), patterns
    for known, listed in FORMATS.items():
        if path.lower().endswith(listed):
            return known, [path]
    raise FileError(
        f"A table must be a CSV, a Parquet or an Arrow file; {name!r} came.",
        hint="rename it to end in .csv, .parquet or .arrow, or pass a dataframe.",
    )


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
