"""Errors as the page shows them: what is wrong, one hint, and the field it belongs to."""

from __future__ import annotations

import re
from typing import Any

from trueup.errors import FileError, TrueupError

__all__ = ["APOLOGY", "problem"]

LONGEST = 600
FIELDS = (
    "test",
    "predicted_counts",
    "predicted_sums",
    "predicted_squares",
    "test_sums",
    "classes",
    "design",
    "method",
    "prior",
    "interval",
    "draws",
    "overlap",
    "noise",
    "seed",
    "predicted",
    "true",
    "value",
    "by",
    "strata",
    "id",
)
APOLOGY: dict[str, Any] = {
    "error": "Something went wrong here that is not your fault. We are sorry.",
    "hint": "the window in which `trueup serve` runs says more; please report it.",
    "field": None,
}


def problem(error: TrueupError) -> dict[str, Any]:
    """Give the parts of a message; its first argument in backticks is the field.

    Examples
    --------
    >>> problem(TrueupError("`seed` must be whole; 1.5 came.", hint="write 1."))
    {'error': '`seed` must be whole; 1.5 came.', 'hint': 'write 1.', 'field': 'seed'}
    """
    words, _, hint = str(error).partition("\n\nHint: ")
    named = [name for name in re.findall(r"`(\w+)`", words) if name in FIELDS]
    field = named[0] if named and not isinstance(error, FileError) else None
    return {"error": _cut(words), "hint": _cut(hint) or None, "field": field}


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
