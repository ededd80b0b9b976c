"""Tables in files: CSV, Parquet and Arrow, alone or many, streamed through DuckDB."""

import contextlib
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat

import duckdb

from trueup.errors import FileError
from trueup.numerics.arrays import Progress
from trueup.read.columns import empty_table
from trueup.read.duck import DuckTable, identifier, kind_of, quoted, reason, run_with_progress
from trueup.read.formats.binary_files import (
    CUT_OFF,
    arrow_dataset,
    check_batches,
    layouts_sql,
    types_of,
)
from trueup.read.formats.csv_files import (
    OPTIONS,
    SAMPLE,
    as_label,
    check_header,
    check_lines_above,
    plain_types,
)
from trueup.read.formats.written import NUMBERS, first_bytes, number_sql, recoded
from trueup.read.paths import find
from trueup.read.table import Rows

LINES = "open the file and check its header and the lines named."
NOT_UTF_8 = (
    'name its encoding: encoding="windows-1252" (--encoding windows-1252) for files that Excel '
    "wrote as plain CSV."
)


class FileTable(DuckTable):
    """A file, a glob or a folder of files as a table of units."""

    _marked: Collection[str] = ()  # columns of numbers with the user's own decimal mark
    _twice: Collection[str] = ()  # names of more than one column
    _delimiter = ","

    def as_text(self, column: str) -> str:
        """Name the option: this file is read by us."""
        return f"say so with text={column!r} (--text {column})"

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path.rstrip("/\\")) or path
        self._path = path
        self._found = find(path)
        self._format, self._many = self._found.format, self._found.many
        self._checked: set[str] = set()
        self._seen = self._found.states()
        self._decimal: str | None = getattr(path, "decimal", None)
        self._text: tuple[str, ...] = getattr(path, "text", ())
        encoding = getattr(path, "encoding", None)
        if encoding is not None and self._format == "csv":
            files = recoded(self._found.files, encoding, self.name, self)
            self._found = replace(self._found, files=files)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(":memory:trueup")  # one engine for all of our connections
        connection.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false")
        if self._format == "arrow":
            connection.register("trueup_arrow", arrow_dataset(self._found.files, self.name))
        return connection

    def _query(self, sql: str, progress: Progress | None = None) -> Rows:
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
        """Refuse files that changed since they were opened."""
        now: set[tuple[str, int, int]] = set()
        with contextlib.suppress(OSError, FileError):  # a file that is gone has no state
            now = find(self._path).states()
        if now != self._seen:
            changed = sorted({os.path.basename(file) for file, *_ in now ^ self._seen})
            raise FileError(
                f"{self.name} must not change while it is read; these files did: {changed[:5]}.",
                hint="wait until they are written, or read a copy.",
            )

    def _explained(self, error: duckdb.Error) -> FileError:
        message = str(error)
        mismatch = "schema mismatch" in message.lower()
        if self._many and self._format == "csv" and (mismatch or "COLUMN_TYPES" in message):
            return self._mismatch(self._lacking())
        if mismatch:
            return self._mismatch(message.split("\n")[0].split("schema mismatch in glob: ")[-1])
        hint = CUT_OFF if self._format != "csv" else NOT_UTF_8 if "utf-8" in message else LINES
        if hint == NOT_UTF_8 and first_bytes(self._found.files[0]) in (b"\xff\xfe", b"\xfe\xff"):
            hint = 'name its encoding: encoding="utf-16" (--encoding utf-16).'
        return FileError(
            f"{self.name} must be a readable table; DuckDB says: {reason(error)}", hint=hint
        )

    def _mismatch(self, words: str) -> FileError:
        return FileError(
            f"The files of {self._path!r} must have the same columns of the same type; "
            f"{words.strip()}",
            hint="name only files with the same columns.",
        )

    def _lacking(self) -> str:
        """Say which CSV file lacks a column that the first one has."""
        first: set[str] = set()
        for file, pattern in zip(self._found.files, self._found.patterns(), strict=True):
            reader = f"read_csv({quoted(pattern)}, {OPTIONS}, hive_partitioning=false)"
            here = {row[0] for row in self._query(f"DESCRIBE FROM {reader}")}
            first = first or here
            if first - here:
                return f"{os.path.basename(file)} has no column {min(first - here)!r}."
        return "they have not."

    @cached_property
    def _described(self) -> dict[str, str]:
        if not self._many and {size for _, size, _ in self._seen} == {0}:
            raise FileError(f"{self.name} must hold a table; the file is empty.")
        types = {name: kind for name, kind, *_ in self._query(f"DESCRIBE FROM {self._reader()}")}
        return self._plain(types) if self._format == "csv" else types

    def _plain(self, types: dict[str, str]) -> dict[str, str]:
        """Check how a CSV file begins; return its columns' types without DuckDB's guesses."""
        first = quoted(self._found.patterns()[0])
        ((skipped, delimiter),) = self._query(
            f"SELECT SkipRows, Delimiter FROM sniff_csv({first}, {OPTIONS})"
        )
        files, names = self._found.files, list(types)
        self._twice = check_header(files[0], skipped, names, delimiter, self.name)
        check_lines_above(files, skipped, delimiter, names, self.name)
        guessed = [name for name, kind in types.items() if kind == "BOOLEAN"]
        reader = self._reader(dict.fromkeys(guessed, "VARCHAR"))
        tests = [f"bool_and(lower({identifier(name)}) IN ('true', 'false'))" for name in guessed]
        ((rows, *words),) = self._query(
            f"SELECT {', '.join(['count(*)', *tests])} FROM (FROM {reader} LIMIT {SAMPLE})"
        )
        if not rows:
            raise empty_table(self)
        self._delimiter = delimiter
        types = plain_types(types, dict(zip(guessed, words, strict=True)))
        types |= dict.fromkeys((name for name in self._text if name in types), "VARCHAR")
        return types if self._decimal is None else self._with_numbers(types, self._decimal)

    def _with_numbers(self, types: dict[str, str], decimal: str) -> dict[str, str]:
        """Return the types with DOUBLE where every text is a number with this decimal mark."""
        kinds = {name: kind_of(kind) for name, kind in types.items() if name not in self._text}
        maybe = [name for name, kind in kinds.items() if kind in ("text", "number")]
        if not maybe:
            return types
        tests = [
            f"coalesce(bool_and(regexp_full_match(trim({identifier(name)}), "
            f"'{NUMBERS[decimal]}')), false)"
            for name in maybe
        ]
        reader = self._reader(dict.fromkeys(maybe, "VARCHAR"))
        (found,) = self._query(f"SELECT {', '.join(tests)} FROM (FROM {reader} LIMIT {SAMPLE})")
        self._marked = {name for name, yes in zip(maybe, found, strict=True) if yes}
        return types | dict.fromkeys(self._marked, "DOUBLE")

    def _column(self, column: str) -> str:
        marked = column in self.kinds() and column in self._marked
        return self._number(column) if marked else super()._column(column)

    def _number(self, column: str) -> str:
        if self._decimal is not None and column in self.kinds() and column in self._marked:
            return number_sql(identifier(column), self._decimal)
        return super()._number(column)

    def _check_thousands(self, column: str) -> None:
        """Refuse marks that may set thousands apart: commas between commas, points elsewhere."""
        mark = {None: ".", ",": ","}.get(self._decimal)
        if self.kinds().get(column) not in ("number", "integer") or column in self._checked:
            return
        if mark is None or (mark == ",") != (self._delimiter == ","):
            return
        self._checked.add(column)
        x = f"trim({identifier(column)})"
        ((yes, no, first),) = self._query(
            f"SELECT count(*) FILTER (m), count(*) FILTER (NOT m AND contains(x, '{mark}')), "
            f"min(x) FILTER (m) FROM (SELECT {x} AS x, "
            f"regexp_full_match({x}, '[+-]?[1-9]\\d{{0,2}}([{mark}]\\d{{3}})+') AS m "
            f"FROM {self._reader({column: 'VARCHAR'})})"
        )
        if yes and not no:
            raise FileError(
                f"Numbers in column {column!r} of {self.name} must have one meaning; {first} may "
                f"be {first.replace(mark, '')} or a number with decimals ({yes:,} such values).",
                hint='say which: decimal="," (--decimal ,) if the point sets thousands apart, '
                'decimal="." if it is the decimal point.'
                if mark == "."
                else 'decimal="." (--decimal .) if the comma sets thousands apart; if it is the '
                "decimal comma, save the file with semicolons between the columns.",
            )

    def _types(self) -> dict[str, str]:
        return self._described

    def _reader(self, types: dict[str, str] | None = None) -> str:
        paths = quoted(self._found.patterns())
        if self._format == "arrow":
            return "trueup_arrow"
        if self._format == "parquet":
            # without can_have_nan, DuckDB 2.0 trusts statistics that pyarrow writes without NaN
            return f"read_parquet({paths}, can_have_nan=true)"
        listed = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in (types or {}).items())
        options = f", types={{{listed}}}" if listed else ""
        # of many files the first decides: the others may have the same columns in another order
        options += ", files_to_sniff=1" if self._many else ""
        return f"read_csv({paths}, {OPTIONS}{options})"

    def _source(self, columns: Sequence[str], value: str | None) -> str:
        """Return the reader, with types that no later line can change.

        DuckDB decides a CSV column's type by its first 20,480 lines, and then silently rounds a
        decimal in a column of whole numbers. So values are read as decimals from the start, and
        labels as text, which `_labels` converts.
        """
        used = [*columns, *([value] if value else [])]
        if self._format != "csv":
            self._check_columns([column for column in used if column not in self._checked])
            return self._reader()
        kinds, partitions = self.kinds(), self._found.partitions()
        for name in used:
            if name in self._twice:
                raise FileError(
                    f"{self.name} must have one column {name!r}; it has several of that name.",
                    hint="rename or remove all but one.",
                )
            if name == value or kinds[name] == "number":
                self._check_thousands(name)
        types = {name: "VARCHAR" for name in columns if kinds[name] != "number"}
        types |= {value: "DOUBLE"} if value and kinds[value] == "integer" else {}
        types |= {name: "VARCHAR" for name in used if name in self._marked}
        return self._reader({name: x for name, x in types.items() if name not in partitions})

    def _labels(self, rows: Rows, columns: Sequence[str]) -> Rows:
        if self._format != "csv":
            return rows
        kinds = [self.kinds()[column] for column in columns]
        if {*kinds} <= {"text"}:
            return rows
        return [
            (*map(as_label, row, kinds, columns, repeat(self.name)), *row[len(columns) :])
            for row in rows
        ]

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Refuse broken Arrow data, and Parquet files whose types differ: DuckDB would round."""
        self._checked.update(columns)
        if columns and self._format == "arrow":
            check_batches(self._found.files, columns, self.name)
        if not columns or self._format == "arrow" or not self._many:
            return
        (first, *others) = self._query(layouts_sql(self._found.patterns()))
        types = types_of(first[0])
        for schema, file in others:
            here = types_of(schema)
            for column in columns:
                if column in types and here.get(column, types[column]) != types[column]:
                    raise self._mismatch(
                        f"{column!r} is {types[column]} in {os.path.basename(first[1])} and "
                        f"{here[column]} in {os.path.basename(file)}."
                    )
