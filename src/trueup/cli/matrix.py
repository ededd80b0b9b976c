"""Numbers typed on the command line: ``4,1;2,3``, or a CSV file with a labelled matrix."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from trueup.errors import DataError, FileError

__all__ = ["parse_list", "parse_matrix"]

EXAMPLE = 'write rows with semicolons between them, as "4,1;2,3", or name a CSV file.'


def parse_list(option: str, text: str) -> list[float]:
    """Read ``10,90``.

    Examples
    --------
    >>> parse_list("--predicted-counts", "10, 90")
    [10.0, 90.0]
    """
    return [_number(option, word) for word in text.split(",")]


def parse_matrix(option: str, text: str) -> tuple[list[list[float]], list[str] | None]:
    """Read a matrix, rows true; with the class names if it comes from a labelled file.

    Examples
    --------
    >>> parse_matrix("--test", "4,1;2,3")
    ([[4.0, 1.0], [2.0, 3.0]], None)
    """
    if text.lower().endswith(".csv") or os.path.exists(text):
        return _from_file(option, Path(text))
    rows = [parse_list(option, row) for row in text.strip().strip(";").split(";")]
    return _rectangle(option, rows), None


def _from_file(option: str, path: Path) -> tuple[list[list[float]], list[str] | None]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)]
    except (OSError, ValueError, csv.Error) as error:  # ValueError: bytes that are no text
        reason = getattr(error, "strerror", None) or error
        raise FileError(
            f"{option} must name a readable CSV file; {str(path)!r}: {reason}.", hint=EXAMPLE
        ) from None
    if not rows:
        raise FileError(f"{option}: {str(path)!r} must hold a matrix; the file is empty.")
    labels = None
    if not _is_number(rows[0][-1]):  # a header: predicted classes, with true ones down the side
        columns = rows[0][1:]
        labels = [row[0] for row in rows[1:]]
        if columns != labels:
            raise DataError(
                f"{option}: the rows and the columns of {str(path)!r} must name the same classes "
                f"in the same order; rows {labels}, columns {columns} came.",
                hint="true classes go down the side, predicted classes across the top.",
            )
        rows = [row[1:] for row in rows[1:]]
    return _rectangle(option, [[_number(option, cell) for cell in row] for row in rows]), labels


def _rectangle(option: str, rows: list[list[float]]) -> list[list[float]]:
    if len({len(row) for row in rows}) > 1:
        lengths = [len(row) for row in rows]
        raise DataError(
            f"{option} must have rows of equal length; lengths {lengths} came.", hint=EXAMPLE
        )
    return rows


def _number(option: str, word: str) -> float:
    if not _is_number(word):
        raise DataError(f"{option} must hold numbers; {word.strip()!r} came.", hint=EXAMPLE)
    return float(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
