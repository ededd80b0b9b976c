"""How a file is written: its decimal mark, its encoding, and columns that are text.

Nothing here guesses: a number that could be read in two ways is refused until the user says how.
"""

import codecs
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

from trueup.errors import FileError, OptionError

NUMBERS = {
    ",": r"[+-]?(\d+|[1-9]\d{0,2}([. ]\d{3})+)?(,\d+)?([eE][+-]?\d+)?",
    ".": r"[+-]?(\d+|[1-9]\d{0,2}([, ]\d{3})+)?(\.\d*)?([eE][+-]?\d+)?",
}
"""Numbers with this decimal mark; thousands may be set apart by the other mark or a space."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet takes text that begins so for a formula, or skips a sign and looks at the next."""


class Written(str):
    """The path of a file, and how the file is written."""

    decimal: str | None
    encoding: str | None
    text: tuple[str, ...]


def written(
    source: Any, decimal: str | None, encoding: str | None, text: str | Sequence[str] | None
) -> Any:
    """Return a path that knows how its file is written; other tables unchanged."""
    if decimal not in (None, ",", "."):
        raise OptionError(f"`decimal` must be ',' or '.'; got {decimal!r}.")
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except (LookupError, TypeError):
            raise OptionError(
                f"`encoding` must be one that Python knows; got {encoding!r}.",
                hint="'windows-1252' for old files of Excel, 'utf-16', 'latin-1'.",
            ) from None
    if not isinstance(source, str | os.PathLike) or not (decimal or encoding or text):
        return source
    path = Written(os.fspath(source))
    path.decimal, path.encoding = decimal, encoding
    path.text = (text,) if isinstance(text, str) else tuple(text or ())
    return path


def escaped(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: text like a formula gets an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip("'").startswith(FORMULA) else cell


def unescaped(cell: Any) -> Any:
    """Return a cell without the apostrophe of `escaped`.

    Examples
    --------
    >>> [unescaped(escaped(x)) for x in ("=1", "'=1", "'n", -1)], unescaped("'=1")
    (['=1', "'=1", "'n", -1], '=1')
    """
    own = isinstance(cell, str) and cell[:1] == "'" and cell.lstrip("'").startswith(FORMULA)
    return cell[1:] if own else cell


def check_text(text: str | Sequence[str] | None, *tables: Any) -> None:
    """Refuse a column of `text` that no table has."""
    for name in (text,) if isinstance(text, str) else text or ():
        if not any(name in table.kinds() for table in tables):
            raise OptionError(f"`text` must name columns of the tables; neither has {name!r}.")


def first_bytes(path: str) -> bytes:
    """Return the two bytes that a UTF-16 file begins with; none of what is not a local file."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read(2)


def number_sql(column: str, decimal: str) -> str:
    """Return the SQL that reads a text as a number, or stops the query at one that is none."""
    other = "." if decimal == "," else ","
    word = f"trim({column})"
    digits = f"replace(replace(replace({word}, '{other}', ''), ' ', ''), ',', '.')"
    return (
        f"(CASE WHEN {column} IS NULL OR {word} = '' THEN NULL "
        f"WHEN regexp_full_match({word}, '{NUMBERS[decimal]}') THEN {digits}::DOUBLE "
        f"ELSE error('not a number with the decimal mark {decimal}: ' || {column}) END)"
    )


def recoded(files: Sequence[str], encoding: str, name: str, owner: object) -> list[str]:
    """Return copies of the files in UTF-8, which are deleted with their owner."""
    folder = tempfile.mkdtemp(prefix="trueup-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    made = []
    for i, file in enumerate(files):
        if file.lower().endswith(".gz") or "://" in file:
            raise FileError(
                f"{name} must be a plain local file to be read as {encoding}.",
                hint="unpack or download it first.",
            )
        made.append(os.path.join(folder, f"{i}-{os.path.basename(file)}"))
        try:
            with (
                open(file, encoding=encoding, newline="") as old,
                open(made[-1], "w", encoding="utf-8", newline="") as new,
            ):
                shutil.copyfileobj(old, new)
        except UnicodeError as error:
            raise FileError(
                f"{name} must be written in {encoding}; {error.__class__.__name__} at byte "
                f"{getattr(error, 'start', 0):,}.",
                hint="name the encoding that it was saved in: 'utf-8', 'windows-1252', 'utf-16'.",
            ) from None
    return made
