"""Way 1, numbers: from what the page sends to `correct_counts` and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from trueup.api import correct_counts
from trueup.errors import DataError, OptionError, TrueupWarning
from trueup.estimate.result import Estimate
from trueup.web.limits import Limits
from trueup.web.words import command, headlines, inversion, sentences

__all__ = ["INFO", "answer", "estimate", "options_of", "whole"]

NUMBERS = (
    "test",
    "predicted_counts",
    "predicted_sums",
    "predicted_squares",
    "test_sums",
    "classes",
)
OPTIONS = ("design", "method", "prior", "overlap", "noise", "draws", "interval", "seed")
INFO = (
    "method",
    "design",
    "prior",
    "seed",
    "draws",
    "interval",
    "overlap",
    "noise",
    "acceptance",
    "ess",
    "rhat",
    "warnings",
)
YES_NO, WHOLE, NUMBER = "true or false", "a whole number", "a number"
KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "prior": ("a word: perks, jeffreys or uniform", (str,)),
    "overlap": (YES_NO, (bool,)),
    "noise": (YES_NO, (bool,)),
    "draws": (WHOLE, (int,)),
    "seed": (WHOLE, (int,)),
    "interval": (NUMBER, (int, float)),
}
Progress = Callable[[float], None]


def estimate(given: Mapping[str, Any], progress: Progress | None = None) -> Estimate:
    """Check what came and estimate; warnings are in the answer, not on the Python channel."""
    known_only(given, (*NUMBERS, *OPTIONS, "theme"))
    for name in ("test", "predicted_counts"):
        if not isinstance(given.get(name), list):
            raise DataError(f"`{name}` must be a list of numbers; it is missing.")
    for name in NUMBERS[:-1]:
        check_numbers(name, given.get(name))
    check_labels(given.get("classes"))
    check_work(given.get("draws", 4000), len(given["test"]))
    numbers = {name: given[name] for name in NUMBERS if given.get(name) is not None}
    with warnings.catch_warnings(action="ignore", category=TrueupWarning):
        return correct_counts(**numbers, **options_of(given, OPTIONS), progress=progress)


def answer(est: Estimate, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give all that the page shows except the charts."""
    return whole(est) | {
        "inversion": inversion(est.counts),
        "command": command(given, est.info["seed"]),
    }


def whole(est: Estimate) -> dict[str, Any]:
    """Give rows, info and sentences: what both ways in show."""
    info = {name: est.info[name] for name in INFO if name in est.info}
    return {
        "rows": est.rows(),
        "classes": [str(label) for label in est.classes],
        "test": est.counts.n.tolist(),
        "totals": est.counts.totals,
        "info": info,
        "headlines": headlines(est),
        "sentences": sentences(est),
    }


def options_of(given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Take the options that were given, of the type they have; None is what it is by default."""
    for name, (words, kinds) in KINDS.items():
        x = given.get(name)
        if x is not None and not (isinstance(x, kinds) and isinstance(x, bool) == (bool in kinds)):
            raise OptionError(f"`{name}` must be {words}; something else came.")
    return {name: given[name] for name in names if given.get(name) is not None}


def known_only(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a word that would be ignored."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise OptionError(f"The page may ask for {list(known)}; {unknown[:5]} came.")


def check_numbers(name: str, given: Any) -> None:
    """Refuse what JSON tells from a number, but a conversion would not: true, or "7"."""
    matrix = name in ("test", "test_sums")
    rows = given if matrix else [given]
    if given is not None and not (
        isinstance(rows, list)
        and all(isinstance(row, list) for row in rows)
        and {type(x) for row in rows for x in row} <= {int, float}
    ):
        what = "a list of rows of numbers" if matrix else "a list of numbers"
        raise DataError(f"`{name}` must be {what}; something else came.")


def check_labels(labels: Any) -> None:
    """Class names are text of a length that a page can show."""
    if labels is None:
        return
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError("`classes` must be a list of names.")
    longest = max(map(len, labels), default=0)
    if longest > Limits.label:
        raise DataError(
            f"`classes` may have names of at most {Limits.label} characters; {longest} came."
        )


def check_work(draws: Any, K: int) -> None:
    """Refuse what would fill the memory of a machine that others use too."""
    if isinstance(draws, int) and draws * K * K > Limits.cells:
        raise OptionError(
            f"`draws` times the squared number of classes may be at most {Limits.cells:,} on the "
            f"page; {draws:,} draws of {K} classes came.",
            hint="ask for fewer draws, or use `trueup numbers` or Python.",
        )
