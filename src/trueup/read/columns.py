"""What the columns of a table hold: their kinds, their labels, and what is refused."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from trueup.errors import DataError
from trueup.numerics.labels import is_missing as is_missing
from trueup.numerics.labels import plain as plain

if TYPE_CHECKING:
    from trueup.read.table import Table

Kind = Literal["text", "integer", "boolean", "number", "date", "other"]
LABELS: tuple[Kind, ...] = ("text", "integer", "boolean")
KIND_WORDS = {
    "text": "text",
    "integer": "whole numbers",
    "boolean": "true/false",
    "number": "decimal numbers",
    "date": "dates",
    "other": "something else",
}


def require_columns(table: Table, columns: Sequence[str], ask: str = "") -> dict[str, Kind]:
    """Check that the columns exist; the message lists near names, after what the hint must ask."""
    kinds = table.kinds()
    for column in columns:
        if column not in kinds:
            folded = {str(name).casefold(): name for name in kinds}
            found = difflib.get_close_matches(column.casefold(), folded, n=3, cutoff=0.6)
            near = [folded[name] for name in found]
            raise DataError(
                f"{table.name} must have a column {column!r}; its columns are {list(kinds)}.",
                hint=ask
                + (
                    f"did you mean {' or '.join(map(repr, near))}?"
                    if near
                    else "name the column that holds it."
                ),
            )
    return kinds


def class_kind(table: Table, column: str, kinds: dict[str, Kind]) -> Kind:
    """Check that a column can hold classes, and return its kind."""
    return _label_kind(table, column, kinds[column], LABELS, "classes")


def group_kind(table: Table, column: str, kinds: dict[str, Kind]) -> Kind:
    """Check that a column can hold groups, which may be dates too, and return its kind."""
    return _label_kind(table, column, kinds[column], (*LABELS, "date"), "groups")


def _label_kind(table: Table, column: str, kind: Kind, known: Collection[Kind], what: str) -> Kind:
    if kind not in known:
        *most, last = (KIND_WORDS[k] for k in known)
        hint, holds = "cast it to text or to whole numbers first.", table.says(column)
        if "period[" in holds:
            hint = f"{table.as_text(column)}, or dates: .dt.to_timestamp()."
        if kind == "number":
            hint = (
                f"is it a score or an amount? Name the column that holds the {what} themselves. "
                f"Codes, such as 47.91? Then {table.as_text(column)}. "
                "(In pandas, a missing value turns whole numbers into decimals: "
                "use astype('Int64').)"
            )
        raise DataError(
            f"Column {column!r} of {table.name} must hold {what} as {', '.join(most)} or {last}; "
            f"it holds {holds}.",
            hint=hint,
        )
    return kind


def check_value_kind(table: Table, column: str, kind: Kind) -> None:
    """Check that a column can be totalled."""
    if kind not in ("number", "integer", "boolean"):
        mark = (
            ' If it is: does a comma in it set off decimals, decimal="," (--decimal ,), or '
            'thousands, decimal="." (--decimal .)? A currency sign? Clean it.'
        )
        raise DataError(
            f"Column {column!r} of {table.name} must hold numbers; it holds {KIND_WORDS[kind]}.",
            hint="is it the right column?" + mark * (kind == "text"),
        )


def empty_table(table: Table) -> DataError:
    """Make the error for a table without rows."""
    return DataError(
        f"{table.name} must hold at least one unit; it is empty.",
        hint="check the path, or the filter that made the table.",
    )


def refuse_missing(table: Table, column: str, count: int, *, needed: bool = False) -> None:
    """Refuse a column with missing values; one that is `needed` is never left out."""
    hint = "repair those rows. "
    hint += (
        "They cannot be left out by `missing`; those that do not belong there, take out yourself."
        if needed
        else "`correct`, `check`, `compare` and `plan` can leave them out: "
        'missing="leave_out" (--missing leave_out).'
    )
    raise DataError(
        f"Column {column!r} of {table.name} must have a usable value for every unit; "
        f"{count:,} {'row has' if count == 1 else 'rows have'} none (null, NaN or infinite).",
        hint=hint,
    )


def as_text(label: Hashable) -> str:
    """Return a label as a database writes it."""
    return str(label).lower() if isinstance(label, bool) else str(label)
