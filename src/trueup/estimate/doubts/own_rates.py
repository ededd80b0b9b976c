"""Error rates of their own for groups, or units of some size: advice that works when it is typed.

`strata` cannot be combined with everything that may have been asked for, so what has to be left
out is named with it. Without it there are tables for each part.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.draws.settings import Settings
from trueup.text import listed

NEVER = ("period", "weight", "probability", "cluster")
"""Options with which there are no strata, and without which the question would be another."""
INSTEAD = ("score", "P")
"""Options with which there are no strata, but that can be left out."""
APART = "correct units of similar size as tables of their own"


def given(asked: Mapping[str, Any], option: str) -> bool:
    """Whether an option is there, be it as an array."""
    x = asked.get(option)
    return x is not None and (not isinstance(x, str | Sequence) or len(x) > 0)


def without(asked: Mapping[str, Any]) -> str:
    """Say what to leave out with `strata`.

    Examples
    --------
    >>> without({"score": "p", "P": None, "predicted": ["a", "b"]})
    ', without `score` and a second `predicted` column'
    """
    names = [f"`{option}`" for option in INSTEAD if given(asked, option)]
    if not isinstance(asked.get("predicted", ""), str) and len(asked["predicted"]) > 1:
        names.append("a second `predicted` column")
    return f", without {listed(names)}" if names else ""


def compare_groups(asked: Mapping[str, Any], by: Sequence[str], more: str) -> str:
    """Say how to correct each group from its own audited units, or to audit `more`.

    A work list that was drawn within columns cannot be cut up while it says of which population it
    is; from one that was drawn by score no score can be left out.
    """
    listed_score = given(asked, "score") and asked.get("drawn")
    if listed_score:
        return f"Audit more {more}"
    within = asked.get("drawn_within")
    if not within:
        how = f'strata={[*by]} and pooling="none" (--strata, --pooling){without(asked)}'
        return f"Compare with {how}; or audit more {more}"
    how = "each group corrected as a table of its own"
    if asked.get("drawn"):
        how += f", with drawn_within={[*within]}"
        how += f" and design={asked['design']!r}" if asked.get("design") != "random" else ""
        how += " and without the column 'drawn' of the work list"
    return f"Compare with {how}; or audit more {more}"


def strata_of_groups(settings: Settings, by: Sequence[str]) -> str:
    """Say how groups get rates of their own with a test set that was not drawn from their units."""
    asked = settings.call
    before, alone = asked.get("strata") or (), settings.strata_alone
    names = dict.fromkeys((*([before] if isinstance(before, str) else before), *by))
    how = f"Give strata={[*names]} (--strata)"
    how += ' with pooling="none"' if alone else ""
    if not alone and asked.get("pooling") == "complete":
        how += ", without pooling='complete'"
    return how + without(asked)


def strata_of_size(settings: Settings) -> str:
    """Say how units of other sizes get error rates of their own."""
    asked = settings.call
    if asked.get("function") == "correct_counts" or settings.regression is not None:
        return APART
    if any(given(asked, option) for option in ("drawn_within", *NEVER)):
        return APART
    how = "give `strata` of units of similar size"
    how += ' with pooling="none"' if settings.strata_alone else ""
    how += " with method='auto'" if settings.method == "inverse" else ""
    return how + without(asked)
