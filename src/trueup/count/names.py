"""Columns that the user names: one, several or none."""

from __future__ import annotations

from typing import Any

from trueup.errors import OptionError

__all__ = ["FIGURES", "check_names", "group_names", "names_of"]

FIGURES = ("naive", "estimate", "mean", "sd", "lower", "upper")
TAKEN = ("class", *FIGURES)
"""Columns of every answer."""


def check_names(**given: Any) -> None:
    """Refuse what cannot be the name of one column; None is none."""
    for option, name in given.items():
        if name is not None and (not isinstance(name, str) or not name):
            raise OptionError(f"`{option}` must be the name of a column; {name!r} came.")


def names_of(option: str, given: Any) -> tuple[str, ...]:
    """Give the columns that an option names: one or several, or none."""
    if given is None:
        return ()
    try:
        names = (given,) if isinstance(given, str) else tuple(given)
    except TypeError:
        names = (given,)
    for name in names:
        if not isinstance(name, str) or not name:
            raise OptionError(f"`{option}` must name a column, or several; {given!r} came.")
    return names


def group_names(given: Any) -> tuple[str, ...]:
    """Give the columns of `by`; one that is called like a column of the answer would be lost."""
    names = names_of("by", given)
    for name in names:
        if name.casefold() in TAKEN:
            raise OptionError(
                f"`by` must name columns that the answer does not have itself; {name!r} came.",
                hint=f"rename that column; the answer's own are {list(TAKEN)}.",
            )
    return names
