"""Audited units that a series has already must not count twice."""

from collections.abc import Sequence
from math import isclose

from trueup.count.labels import MOST_NAMED
from trueup.count.matched import ROUNDED
from trueup.count.parts import Figures, Label
from trueup.errors import DataError
from trueup.text import quoted

Cells = dict[tuple[int, ...], tuple[int, float]]
"""Units and the sum of their values, for each pair of true and predicted class."""
Audit = dict[Label, Cells]
"""The cells of a test set in each period: what a series remembers of it."""


def audit_of(audited: Figures) -> Audit:
    """Return the cells of a test set in each period."""
    found: Audit = {}
    at = zip(*(axis.tolist() for axis in audited.at), strict=True)
    rows = zip(audited.parts, at, audited.units.tolist(), audited.sums.tolist(), strict=True)
    for period, cell, units, total in rows:
        found.setdefault(period, {})[cell] = (units, total)
    return found


def refuse_again(new: Audit, earlier: Sequence[Audit], name: str) -> list[str]:
    """Refuse a test set with the very counts of an earlier one; else warn of periods in both.

    One period is enough: a file to which each month's audited units are appended has the counts of
    the earlier months again. Units have no names here, so that a few in both cannot be seen.
    """
    known = [period for period in new if any(period in audit for audit in earlier)]
    again = [p for p in known if any(_same(new[p], audit.get(p, {})) for audit in earlier)]
    if again:
        raise DataError(
            f"Audited units must not count twice; in {_listed(again)} those of {name} have the "
            "counts of audited units that the series already has.",
            hint="leave out the units of earlier test sets. If these are other units, correct the "
            "whole table again, with all audited units in one test set.",
        )
    if not known:
        return []
    return [
        f"{name} has audited units of {_listed(known)}, where the series already has some. Units "
        "that are in both count twice: leave out those of earlier test sets."
    ]


def _same(one: Cells, other: Cells) -> bool:
    return one.keys() == other.keys() and all(
        units == other[cell][0] and isclose(total, other[cell][1], rel_tol=ROUNDED)
        for cell, (units, total) in one.items()
    )


def _listed(periods: Sequence[Label]) -> str:
    more = len(periods) - MOST_NAMED
    shown = quoted([period[0] for period in periods[:MOST_NAMED]])
    return f"{shown} and {more:,} more" if more > 0 else shown
