"""Numbers as people write them, words in a row, and columns that line up."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence


def short(x: float) -> str:
    """Write a number without digits that nobody reads.

    Examples
    --------
    >>> short(1234.5), short(0.12345)
    ('1,234', '0.123')
    """
    return f"{x:,.0f}" if 99.95 <= abs(x) < 1e9 else f"{x:.3g}"


def rounded(x: float, half: float | None, whole: bool) -> str:
    """Write a figure with two digits of the half-width of its interval, if that is known.

    Examples
    --------
    >>> rounded(812_345.6, 36_100.0, False), rounded(0.12345, 0.021, False), rounded(5.2, 0.3, True)
    ('812,000', '0.123', '5')
    """
    if half is None or half <= 0 or not math.isfinite(half):
        return f"{x:,.0f}" if whole or abs(x) >= 100 else f"{x:.3g}"
    digits = math.floor(math.log10(half)) - 1
    if whole:
        digits = max(digits, 0)
    near = round(x, -digits) + 0.0  # no minus zero
    return f"{near:,.{max(-digits, 0)}f}"


def alike(values: Iterable[float | None]) -> Callable[[float | None], str]:
    """Return the function that writes these numbers alike, and a dash for None.

    Examples
    --------
    >>> [*map(alike([250.0, 2.5, None]), [250.0, 2.5, None])], alike([250, 3])(3)
    (['250.0', '2.5', '–'], '3')
    """
    known = [x for x in values if x is not None]
    largest = max(map(abs, known), default=0.0)
    places = 0 if all(x == round(x) for x in known) else decimals(known)
    pattern = "{:.4g}" if largest >= 1e15 or 0 < largest < 0.01 else f"{{:,.{places}f}}"
    return lambda x: "–" if x is None else re.sub(r"^-(?=[0.,]*$)", "", pattern.format(x))


def decimals(values: Iterable[float]) -> int:
    """Return how many decimals a column of numbers needs, by the largest of them."""
    largest = max(map(abs, values), default=0.0)
    return 0 if largest >= 10_000 else 1 if largest >= 100 else 3


def percent(share: float) -> str:
    """Write a probability that somebody chose.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * share:g}%"


def listed(words: Sequence[str]) -> str:
    """Write words as a sentence lists them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def aligned(table: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the rows as lines: the columns in `left` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (x.ljust(width) if i in left else x.rjust(width) for i, (x, width) in cells)
        lines.append("  ".join(padded).rstrip())
    return lines
