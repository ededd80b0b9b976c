"""Numbers as people write them, words in a row, and columns that line up."""

import datetime
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence

LARGE = 1e15
"""From here on, and below its inverse, numbers are written with an exponent."""

SEEDS = 2
"""Monte Carlo errors in a printed step; two seeds rarely print figures more than a step apart."""

# Control characters, direction marks, lone surrogates and what is no character.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def short(x: float) -> str:
    """Write a number without digits that nobody reads.

    Examples
    --------
    >>> short(1234.5), short(0.12345)
    ('1,234', '0.123')
    """
    return f"{x:,.0f}" if 99.95 <= abs(x) < LARGE else f"{x:.3g}"


def rounded(x: float, half: float | None, whole: bool, error: float | None = None) -> str:
    """Write a figure with two digits of the half-width of its interval, if that is known.

    Steps are of 1, 2 or 5 units of a digit, and of at least two Monte Carlo errors, so that
    another seed rarely changes the figure by more than one step. Whole numbers have no decimals.

    Examples
    --------
    >>> rounded(812_345.6, 36_100.0, False), rounded(0.12345, 0.021, False), rounded(5.2, 0.3, True)
    ('812,000', '0.123', '5')
    >>> rounded(813_345.6, 36_100.0, False, error=800.0)
    '814,000'
    """
    if abs(x) >= LARGE or 0 < abs(x) < 1 / LARGE:
        return f"{x:.3g}"
    if half is None or half <= 0 or not math.isfinite(half):
        return f"{x:,.0f}" if whole or abs(x) >= 100 or x == 0 else f"{x:.3g}"
    first = math.floor(math.log10(half))
    least = min(SEEDS * (error or 0.0), 10.0**first)
    digits = range(max(first - 1, 0 if whole else -15), 309)
    step, last = next((n, k) for k in digits for n in (1, 2, 5) if n * 10.0**k >= least)
    near = round(round(x / step, -last) * step, -last) + 0.0  # no minus zero
    return f"{near:,.{max(-last, 0)}f}"


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


def p_text(p: float) -> str:
    """Write a p-value, without digits of what is as good as impossible.

    Examples
    --------
    >>> p_text(0.0213), p_text(3e-319)
    ('p = 0.021', 'p < 0.001')
    """
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def listed(words: Sequence[str]) -> str:
    """Write words as a sentence lists them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def quoted(labels: Iterable[object]) -> str:
    """Write labels as a sentence lists them.

    Examples
    --------
    >>> print(quoted(["a", 1, datetime.date(2024, 12, 1)]))
    'a', 1 and 2024-12-01
    """
    return listed([*map(spelt, labels)])


def spelt(label: object) -> str:
    """Write a label so that its end is seen: text in quotes, dates as people write them."""
    return str(label) if isinstance(label, datetime.date) else repr(label)


def aligned(table: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return the rows as lines: the columns in `left` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (x.ljust(width) if i in left else x.rjust(width) for i, (x, width) in cells)
        lines.append("  ".join(padded).rstrip())
    return lines


def shown(found: re.Match[str]) -> str:
    """Write a character that cannot be seen by its number."""
    return ascii(found[0])[1:-1]
