"""Small text: numbers as people write them, and columns that line up."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["aligned", "short"]


def short(x: float) -> str:
    """Write a number without digits that nobody reads.

    Examples
    --------
    >>> short(1234.5), short(0.12345)
    ('1,234', '0.123')
    """
    return f"{x:,.0f}" if 99.95 <= abs(x) < 1e9 else f"{x:.3g}"


def aligned(table: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the rows as lines: the columns in `left` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (x.ljust(width) if i in left else x.rjust(width) for i, (x, width) in cells)
        lines.append("  ".join(padded).rstrip())
    return lines
