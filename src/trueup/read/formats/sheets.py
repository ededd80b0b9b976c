"""Sheets of Excel and LibreOffice: the first one of a file, with a header in its first row."""

import datetime
import os
from typing import Any

from trueup.errors import DataError, FileError, optional
from trueup.read.frames import FrameTable
from trueup.read.native import local_frame
from trueup.read.table import Table


def sheet_table(path: str) -> Table:
    """Read a sheet into a dataframe; cells keep their kinds, and text columns are text."""
    name = os.path.basename(path)
    if not os.path.isfile(os.path.expanduser(path)):
        raise FileError(
            f"The path {str(path)!r} must exist; nothing is there.",
            hint="check the spelling and the folder you are in.",
        )
    words = "Excel and LibreOffice sheets need python-calamine, which is not installed."
    hint = "pip install trueup[excel], or save the sheet as CSV."
    calamine = optional("python_calamine", words, hint, FileError)
    try:
        sheet = calamine.CalamineWorkbook.from_path(os.path.expanduser(path)).get_sheet_by_index(0)
        rows = sheet.to_python(skip_empty_area=True)
    except (calamine.CalamineError, OSError) as error:
        raise FileError(
            f"{name} must be a readable sheet; {str(error).splitlines()[0]}",
            hint="is the file complete, and not protected by a password?",
        ) from None
    if len(rows) < 2:
        raise FileError(f"The first sheet of {name} must hold a header and units; it is empty.")
    header = [str(cell).strip() for cell in rows[0]]
    if len({*header}) < len(header) or "" in header:
        raise FileError(
            f"The first row of {name} must name each column once; got {header[:10]}.",
            hint="delete titles above the header, and empty columns.",
        )
    text = getattr(path, "text", ())
    columns = {
        column: _column([row[i] for row in rows[1:]], column, name, column in text)
        for i, column in enumerate(header)
    }
    return FrameTable(local_frame(columns), name)


def _column(cells: list[Any], column: str, table: str, text: bool) -> list[Any]:
    """Return a column of one kind: whole numbers are whole, and an empty cell is None."""
    cells = [None if isinstance(cell, str) and not cell.strip() else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if text or (str in kinds and len(kinds) == 1):
        return [None if cell is None else _word(cell) for cell in cells]
    if kinds <= {int, float}:
        whole = all(cell is None or float(cell).is_integer() for cell in cells)
        return [None if cell is None else int(cell) if whole else float(cell) for cell in cells]
    if len(kinds) == 1 or kinds <= {datetime.date, datetime.datetime}:
        return cells
    raise DataError(
        f"Column {column!r} of {table} must hold cells of one kind; it has "
        f"{sorted(kind.__name__ for kind in kinds)}.",
        hint=f"format the column as numbers or as text; or read it as text: text={column!r} "
        f"(--text {column}).",
    )


def _word(cell: Any) -> str:
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
