"""When periods are, from their labels: years, quarters, months, weeks, days or numbers."""

import datetime
import re
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from trueup.errors import DataError
from trueup.numerics.arrays import Floats
from trueup.text import spelt


def _months(year: str, month: str) -> float:
    return 12.0 * int(year) + int(month)


def _days(*parts: str) -> float:
    return float(datetime.date(*map(int, parts)).toordinal())


def _weeks(year: str, week: str) -> float:
    return datetime.date.fromisocalendar(int(year), int(week), 1).toordinal() / 7


FORMS: tuple[tuple[str, Callable[..., float]], ...] = (
    (r"(\d{4})[-/.]?(0[1-9]|1[0-2])", _months),
    (r"(\d{4})[- ]?Q([1-4])", lambda year, quarter: 4.0 * int(year) + int(quarter)),
    (r"(\d{4})[- ]?W(\d{2})", _weeks),
    (r"(\d{4})-(\d{2})-(\d{2})", _days),
    (r"[-+]?\d{1,15}", float),
)


MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip


def when(labels: Sequence[Hashable]) -> Floats:
    """Return when each period is, in periods: 1 is the least distance between two of them.

    Examples
    --------
    >>> when(["2024-11", "2024-12", "2025-02"])
    array([0., 1., 3.])
    """
    if any(label is None for label in labels):
        raise DataError(
            "Every unit must have a period; some rows have none.",
            hint="fill the column in, or leave those rows out of both tables.",
        )
    at = _dates(labels) if all(isinstance(x, datetime.date) for x in labels) else _texts(labels)
    if len(at) < 2:
        raise DataError(
            f"`period` needs two periods or more; got {_some(labels)}.",
            hint="leave it out: a single period is a table like any other.",
        )
    steps = np.diff(np.sort(at))
    if not steps.all():
        raise DataError(f"Two labels are the same period; got {_some(labels)}.")
    return np.asarray((at - at.min()) / steps.min())


def _dates(labels: Sequence[Hashable]) -> Floats:
    """Days, or months where every label is on the same day of its month."""
    found = [x for x in labels if isinstance(x, datetime.date)]
    if len({x.day for x in found}) == 1 and len(found) > 1:
        return np.array([12.0 * x.year + x.month for x in found])
    return np.array([float(x.toordinal()) for x in found])


def _texts(labels: Sequence[Hashable]) -> Floats:
    texts = [
        str(int(x)) if isinstance(x, float) and x.is_integer() else str(x).strip() for x in labels
    ]
    for form, read in FORMS:
        found = [re.fullmatch(form, text, re.IGNORECASE) for text in texts]
        if all(found):
            try:
                return np.array([read(*(m.groups() or (m[0],))) for m in found if m])
            except ValueError:
                continue
    as_month = next(filter(None, map(_as_month, texts)), "")
    raise DataError(
        f"`period` must have labels that can be put in order; got {_some(labels)}.",
        hint=as_month
        + "write years, quarters, months, weeks or days as 2024, 2024-Q1, 2024-03, 2024-W07 or "
        "2024-03-31, or number the periods.",
    )


def _as_month(text: str) -> str:
    """Return how to write a month that is written in another way, as the beginning of a hint.

    Examples
    --------
    >>> _as_month("2023-8"), _as_month("Nov 2023"), _as_month("2023-11")
    ('for 2023-8 write 2023-08; ', 'for Nov 2023 write 2023-11; ', '')
    """
    words = sorted(re.split(r"[-/. ]+", text), key=len)
    year = next((word for word in words if re.fullmatch(r"\d{4}", word)), None)
    if len(words) != 2 or year is None or re.fullmatch(FORMS[0][0], text):
        return ""
    month = next(word for word in words if word is not year)
    if not month.isdigit():
        names = [name for name in MONTHS if name.startswith(month.lower())]
        if len(names) != 1:
            return ""
        month = str(MONTHS.index(names[0]) + 1)
    return f"for {text} write {year}-{int(month):02d}; " if 1 <= int(month) <= 12 else ""


def _some(labels: Sequence[Hashable]) -> str:
    return ", ".join(map(spelt, labels[:5])) + (" …" if len(labels) > 5 else "")
