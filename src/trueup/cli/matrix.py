"""Numbers typed on the command line: ``4,1;2,3``, or a file with a labelled matrix."""

import csv
import os
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from trueup.errors import ClassError, DataError, FileError

EXAMPLE = 'write rows with semicolons between them, as "4,1;2,3", or name a CSV file.'
LIST = "write the numbers themselves, with commas between them, as 10,90."
TOTALS = {"total", "totals", "sum", "grand total"}


class Matrix(NamedTuple):
    """A matrix that an option gave, with the names of its rows and columns if it has any.

    `columns` are the predicted labels, where they are not the classes.
    """

    option: str
    rows: list[list[float]]
    labels: list[str] | None
    columns: list[str] | None = None

    def in_order(
        self, labels: Sequence[Hashable] | None, columns: Sequence[Hashable] | None = None
    ) -> list[list[float]]:
        """Return the rows in the order of `labels`, and columns of `columns`, if it has its own."""
        if self.labels is None or labels is None:
            return self.rows
        rows = self._places(labels, self.labels, "--classes")
        own = self.columns or self.labels
        across = self._places(columns or labels, own, "--predicted-classes")
        shape = {len(self.rows), *(len(row) - len(own) + len(rows) for row in self.rows)}
        if shape != {len(rows)}:
            raise DataError(
                f"{self.option} must have a row for each of {self.labels[:20]} with a number for "
                f"each of {own[:20]}; got {len(self.rows)} rows of "
                f"{sorted({len(row) for row in self.rows})} numbers.",
                hint="look for a missing or an extra cell in the file.",
            )
        return [[self.rows[g][h] for h in across] for g in rows]

    def _places(self, wanted: Sequence[Hashable], own: list[str], option: str) -> list[int]:
        names = [str(label) for label in wanted]
        if sorted(names) != sorted(own):
            raise ClassError(
                f"{self.option} must have the classes {names[:20]}; its file has {own[:20]}.",
                hint=f"{option} sets their order; to rename a class, change the file.",
            )
        return [own.index(label) for label in names]


def parse_list(option: str, text: str, hint: str = LIST) -> list[float]:
    """Read ``10,90``.

    Examples
    --------
    >>> parse_list("--predicted-counts", "10, 90")
    [10.0, 90.0]
    """
    return [_number(option, word, hint) for word in text.split(",")]


def parse_matrix(option: str, text: str) -> Matrix:
    """Read a matrix, rows true, from the text itself or from a file.

    Examples
    --------
    >>> parse_matrix("--test", "4,1;2,3").rows
    [[4.0, 1.0], [2.0, 3.0]]
    """
    if text.lower().endswith((".csv", ".tsv", ".txt")) or os.path.exists(text):
        found = _from_file(option, text)
    else:
        rows = [parse_list(option, row, EXAMPLE) for row in text.strip().strip(";").split(";")]
        found = Matrix(option, rows, None)
    lengths = [len(row) for row in found.rows]
    if len(set(lengths)) > 1:
        raise DataError(f"{option} must have rows of equal length; got {lengths}.", hint=EXAMPLE)
    if _ends_in_totals(found.rows):
        raise _with_totals(option, "its last row and column are the sums of the others")
    return found


def by_class(studies: Matrix) -> tuple[dict[str, list[list[float]]], list[str]]:
    """Return the studies of each true class, and the classes in the order of the columns."""
    if studies.labels is None:
        raise DataError(
            f"{studies.option} must name a CSV file whose first column is the true class of each "
            "study; got numbers without labels.",
            hint="its header names the predicted classes, as in: true,infected,free",
        )
    columns = studies.columns or studies.labels
    unknown = [label for label in studies.labels if label not in columns]
    if unknown:
        raise ClassError(
            f"{studies.option} must have true classes that are among its columns {columns[:5]}; "
            f"got {unknown[0]!r}.",
            hint="true classes go down the side, predicted classes across the top.",
        )
    rows = [*zip(studies.labels, studies.rows, strict=True)]
    return {g: [row for label, row in rows if label == g] for g in columns}, columns


def in_columns_order(classes: str | None, columns: list[str]) -> str:
    """Return `--classes`, which must be as the columns are: numbers are in that order."""
    if classes is not None and [word.strip() for word in classes.split(",")] != columns:
        raise ClassError(
            f"--classes must be in the order of the columns of --studies, {','.join(columns)}; got "
            f"{classes}.",
            hint="leave out --classes: the file names them.",
        )
    return ",".join(columns)


def _from_file(option: str, path: str) -> Matrix:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            delimiter = max(",;\t", key=first.count)
            cells = csv.reader(file, delimiter=delimiter)
            rows = [[cell.strip() for cell in row] for row in cells if any(row)]
    except (OSError, ValueError, csv.Error) as error:  # ValueError: bytes that are no text
        reason = getattr(error, "strerror", None) or error
        raise FileError(
            f"{option} must name a readable CSV file; {path!r}: {reason}.", hint=EXAMPLE
        ) from None
    if not rows:
        raise FileError(f"{option}: {path!r} must hold a matrix; the file is empty.")
    labels = columns = None
    if not _is_number(rows[0][-1]):  # a header: predicted classes, with true ones down the side
        columns, labels = rows[0][1:], [row[0] for row in rows[1:]]
        totals = [label for label in (*labels, *columns) if label.casefold() in TOTALS]
        if totals:
            raise _with_totals(option, f"{path!r} has a row or column {totals[0]!r}")
        if columns != labels and sorted(columns) == sorted(labels):
            raise DataError(
                f"{option}: the rows and the columns of {path!r} must name the same classes "
                f"in the same order; got rows {labels}, columns {columns}.",
                hint="true classes go down the side, predicted classes across the top.",
            )
        columns = None if columns == labels else columns
        rows = [row[1:] for row in rows[1:]]
    elif not _is_number(rows[0][0]):
        raise DataError(
            f"{option}: the first line of {path!r} must name the predicted classes; got "
            f"{','.join(rows[0])!r}.",
            hint="put a header above it, as in: true,infected,free. Its own lines begin with the "
            "true class.",
        )
    numbers = [[_number(option, x, EXAMPLE) for x in row] for row in rows]
    return Matrix(option, numbers, labels, columns)


def _ends_in_totals(rows: list[list[float]]) -> bool:
    """Whether the last row and the last column of three or more are the sums of the others."""
    return (
        len(rows) > 2
        and len(rows) == len(rows[0])
        and any(map(any, rows))
        and all(sum(row[:-1]) == row[-1] for row in rows)
        and all(sum(column[:-1]) == column[-1] for column in zip(*rows, strict=True))
    )


def _with_totals(option: str, what: str) -> DataError:
    return DataError(
        f"{option} must hold the classes only; {what}.",
        hint="leave out the row and the column of totals.",
    )


def _number(option: str, word: str, hint: str) -> float:
    if not _is_number(word):
        raise DataError(f"{option} must hold numbers; got {word.strip()!r}.", hint=hint)
    return float(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
