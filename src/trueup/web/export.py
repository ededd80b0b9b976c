"""The table as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

__all__ = ["csv_text"]

# A spreadsheet takes a cell that begins so for a formula, or skips the sign and looks at the next.
SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows with a header; text that a spreadsheet would run gets an apostrophe before it.

    Examples
    --------
    >>> csv_text([{"class": "=1+1", "estimate": -2.5}]).splitlines()
    ['class,estimate', "'=1+1,-2.5"]
    """
    text = io.StringIO()
    table = csv.writer(text)  # ends lines with CR LF, so that a CR in a label is quoted
    table.writerow([_safe(name) for name in rows[0]])
    table.writerows([_safe(cell) for cell in row.values()] for row in rows)
    return text.getvalue()


def _safe(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(SIGNS) else cell
