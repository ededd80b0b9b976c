"""Numbers typed into the page: from what it sends to `correct_counts` and back."""

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from trueup.api import correct_counts
from trueup.count.counts import Counts
from trueup.draws.contingency import plug_in, solve_Q
from trueup.errors import DataError, OptionError, TrueupWarning
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Progress
from trueup.present.reproduce import command_line
from trueup.present.sentences import citations, figures
from trueup.present.tables import error_cells, shares, written
from trueup.text import short
from trueup.web.limits import Limits

MATRICES = ("test", "test_sums", "test_squares")
LISTS = ("predicted_counts", "predicted_sums", "predicted_squares")
INFO = (
    "method", "design", "prior", "seed", "draws", "interval", "acceptance", "ess", "rhat",
    "warnings",
)  # fmt: skip
YES_NO, WHOLE = ("true or false", (bool,)), ("a whole number", (int,))
KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "prior": ("a word: perks, jeffreys or uniform", (str,)),
    "overlap": YES_NO,
    "by_prediction": YES_NO,
    "n": WHOLE,
    "decimal": ("a word", (str,)),
    "noise": YES_NO,
    "draws": WHOLE,
    "seed": WHOLE,
    "interval": ("a number", (int, float)),
}
MOST_CONDITION = 1e12
MOST_COPIED = 2000


def names_of(function: Callable[..., Any], *without: str) -> tuple[str, ...]:
    """Return what a function takes: that is what the page may ask for."""
    return tuple(name for name in inspect.signature(function).parameters if name not in without)


KNOWN = names_of(correct_counts, "P", "progress")


def estimate(given: Mapping[str, Any], progress: Progress | None = None) -> Estimate:
    """Check what came and estimate; warnings are in the answer, not on the Python channel."""
    options = options_of(given, KNOWN)
    for name in ("test", "predicted_counts"):
        if not isinstance(given.get(name), list):
            raise DataError(f"`{name}` must be a list of numbers; it is missing.")
    for name in (*MATRICES, *LISTS):
        _check_numbers(name, given.get(name))
    for name in ("classes", "predicted_classes"):
        check_labels(name, given.get(name))
    check_work(given.get("draws", 4000), len(given["test"]))
    with warnings.catch_warnings(action="ignore", category=TrueupWarning):
        return correct_counts(**options, progress=progress)


def answer(est: Estimate) -> dict[str, Any]:
    """Return all that the page shows except the charts."""
    square = not est.counts.columns
    inversion = _inversion(est.counts) if square else None
    return shown(est) | {"inversion": inversion, "command": command_line(est)}


def shown(est: Estimate) -> dict[str, Any]:
    """Return what the page shows of numbers and of files."""
    return {
        "rows": est.rows(),
        "classes": [str(label) for label in est.classes],
        "predicted": [str(label) for label in est.counts.predicted],
        "test": est.counts.n.tolist(),
        "totals": est.counts.totals,
        "info": {name: est.info[name] for name in INFO if name in est.info},
        "written": written(est),
        "accuracy": None if est.M is None else shares(est, est.accuracy()),
        "error_matrix": None if est.M is None else error_cells(est),
        "markdown": est.to_markdown() if len(est.rows()) <= MOST_COPIED else None,
        "headlines": figures(est),
        "sentences": citations(est),
    }


def options_of(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the options that were given, checked: names that we know, types that JSON has."""
    unknown = sorted(set(given) - {*known, "theme"})
    if unknown:
        raise OptionError(f"The page may ask for {list(known)}; got {unknown[:5]}.")
    for name, (words, kinds) in KINDS.items():
        x = given.get(name)
        if x is not None and not (isinstance(x, kinds) and isinstance(x, bool) == (bool in kinds)):
            raise OptionError(f"`{name}` must be {words}; got something else.")
    return {name: given[name] for name in known if given.get(name) is not None}


def _check_numbers(name: str, given: Any) -> None:
    """Refuse what JSON tells from a number, but a conversion would not: true, or "7"."""
    rows = given if name in MATRICES else [given]
    if given is not None and not (
        isinstance(rows, list)
        and all(isinstance(row, list) for row in rows)
        and {type(x) for row in rows for x in row} <= {int, float}
    ):
        what = "a list of rows of numbers" if name in MATRICES else "a list of numbers"
        raise DataError(f"`{name}` must be {what}; got something else.")


def check_labels(name: str, labels: Any) -> None:
    """Refuse what is no list of names, or too long for a table."""
    if labels is None:
        return
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f"`{name}` must be a list of names.")
    longest = max(map(len, labels), default=0)
    if longest > Limits.label:
        raise DataError(
            f"`{name}` may have names of at most {Limits.label} characters; got {longest}."
        )


def check_work(draws: Any, K: int) -> None:
    """Refuse what would fill the memory of a machine that others use too."""
    if isinstance(draws, int) and draws * K * K > Limits.cells:
        raise OptionError(
            f"`draws` times the squared number of classes may be at most {Limits.cells:,} on the "
            f"page; got {draws:,} draws of {K} classes.",
            hint="ask for fewer draws, or use `trueup numbers` or Python.",
        )


def _inversion(counts: Counts) -> dict[str, Any]:
    """Return what Q̂û gives with the test set's own rates, and whether a population can hold it."""
    refused = {"values": None, "permissible": False}
    never = np.flatnonzero(counts.n.sum(axis=1) == 0)
    if len(never):
        label = counts.classes[never[0]]
        return refused | {"words": f"cannot be done: no test unit of “{label}”"}
    P = plug_in(counts.n)
    if not np.linalg.cond(P) < MOST_CONDITION:
        return refused | {"words": "cannot be done: the predictions do not tell classes apart"}
    u = solve_Q(P, counts.naive)
    worst, values = int(u.argmin()), u.tolist()
    if u[worst] >= -1e-9 * abs(counts.naive).sum() or counts.signed:
        return {"values": values, "permissible": True, "words": "possible"}
    words = (
        f"gives {short(values[worst]).replace('-', '−')} for “{counts.classes[worst]}”. "
        "No population can hold a negative number, so it is refused"
    )
    return {"values": values, "permissible": False, "words": words}
