"""CSV files: how lines are read, decided here and not by DuckDB's guesses.

DuckDB looks at the first 20,480 lines of a file to find out how it is written, and silently applies
that to the rest. So nothing that could change a figure is left to it: the quote is a double quote,
dates are ISO dates, labels are read as text and converted in `as_label`, and lines above the header
may be a title but not data.
"""

import csv
import datetime
import gzip
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from trueup.errors import DataError, FileError
from trueup.read.columns import KIND_WORDS, Kind
from trueup.read.duck import kind_of

OPTIONS = (
    "header=true, quote='\"', escape='\"', dateformat='%Y-%m-%d', "
    "timestampformat='%Y-%m-%d %H:%M:%S'"
)
SAMPLE = 20_480
"""Lines by which DuckDB decides what a column holds."""
MOST_ABOVE = 20
"""Lines above the header that may be a title or notes."""


def plain_types(types: dict[str, str], spelled: dict[str, bool]) -> dict[str, str]:
    """Return DuckDB's types, but text for its guesses: yes and no, times of day, time zones.

    `spelled` says of each BOOLEAN column whether all its labels are the words true or false.
    """
    return {
        name: "VARCHAR" if kind_of(kind) == "other" or not spelled.get(name, True) else kind
        for name, kind in types.items()
    }


def as_label(text: Any, kind: Kind, column: str, table: str) -> Any:
    """Convert a label to the kind that its column holds, or refuse it."""
    if not isinstance(text, str) or kind == "text":
        return text
    word = text.strip()
    if not word:
        return None
    try:
        if kind == "integer" and str(int(word)) == word:
            return int(word)
        if kind == "boolean" and word.lower() in ("true", "false"):
            return word.lower() == "true"
        if kind == "date":
            return (datetime.date if len(word) == 10 else datetime.datetime).fromisoformat(word)
    except ValueError:
        pass
    raise DataError(
        f"Column {column!r} of {table} must hold labels of one kind; it begins with "
        f"{KIND_WORDS[kind]}, but {text!r} comes later.",
        hint=f"correct that line, or read the column as text: text={column!r} (--text {column}).",
    )


def check_lines_above(
    files: Sequence[str], skipped: int, delimiter: str, names: Sequence[str], table: str
) -> None:
    """Refuse lines above the header that are not a title: another header, or rows of a table."""
    if not skipped:
        return
    if len(files) > 1:
        raise FileError(
            f"The files of {table} must begin with their header; {os.path.basename(files[0])} has "
            f"{skipped:,} lines above it.",
            hint="remove those lines from every file.",
        )
    lines = [line for _, line in islice(_lines(files[0], delimiter), skipped)]
    second = [i for i, line in enumerate(lines, 1) if len({*line} & {*names}) > 1]
    if second or skipped > MOST_ABOVE:
        what = (
            f"line {second[0]:,} looks like one, and line {skipped + 1:,} like another"
            if second
            else f"the first line that has as many fields as the rest is line {skipped + 1:,}"
        )
        raise FileError(
            f"{table} must be one table with one header; {what}.",
            hint="were files with different columns joined together? They need the same columns.",
        )


def check_header(
    file: str, skipped: int, names: Sequence[str], delimiter: str, table: str
) -> set[str]:
    """Return the names that a header has twice; refuse a file whose lines are not all as long.

    DuckDB then takes each line as one column; or, where it sees that first, it names the line.
    """
    sign = next((x for x in ",;\t|" if len(names) == 1 and x in names[0]), delimiter)
    lines = islice(_lines(file, sign), skipped, None)
    header = next(lines, (0, []))[1]
    for at, line in lines if len(names) == 1 < len(header) else ():
        if line and len(line) != len(header):
            raise FileError(
                f"{table} must have as many fields in each line as in its header, {len(header)}; "
                f"line {at:,} has {len(line)}.",
                hint="look for a separator too many or too few, or a quote that is not closed.",
            )
    return {name for name in header if name and header.count(name) > 1}


def _lines(path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Return the lines of a local file, with their numbers; of an address, which is far, none."""
    if os.path.isfile(path):
        opener: Any = gzip.open if path.lower().endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8", errors="replace", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            yield from ((reader.line_num, line) for line in reader)
