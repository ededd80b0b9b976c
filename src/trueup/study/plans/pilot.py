"""Whether a pilot was drawn as the units that are added to it are."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueup.audit.work_list import recognise
from trueup.draws.settings import FROM_POPULATION
from trueup.errors import DataError, OptionError, TrueupWarning
from trueup.estimate.doubts.design import DOUBTFUL, by_stratum, design_p_value, most_unlike
from trueup.read import open_table
from trueup.study.case import Case
from trueup.text import p_text

WRONG = 0.001
"""Below this p-value a pilot is refused."""
AGAIN = "draw a new list with `draw` (`trueup draw`)"


def refuse_with_next(design: str | None, *, goal: bool, certainty: object, worth: object) -> None:
    """Refuse what the choice of the next units cannot have; `goal` says if a plan is made too."""
    if design is not None and design not in FROM_POPULATION:
        raise OptionError(
            "`next` needs a pilot that was drawn at random or within predicted classes, as the "
            f"units that it adds are; got design {design!r}.",
            hint=f"{AGAIN}; or give `plan` another pilot, one that was drawn so.",
        )
    for name, given in (("certainty", certainty), ("worth", worth)):
        if given and not goal:
            raise OptionError(
                f"`{name}` cannot be combined with `next` alone; got {given!r}.",
                hint=f"leave out `{name}`, or add a goal that it is for: `half_width` or `cv`.",
            )


def doubts_of_pilot(
    case: Case, test_set: Any, named: str | None, within: Sequence[str], overlap: bool
) -> list[str]:
    """Say that a pilot seems not to be what it is taken for: random, or random `within` columns.

    That of a work list is known, and predicted classes of one that was drawn within them, as
    `named`, need not be those of the population.
    """
    counts = case.counts
    if counts is None or named == "by_prediction":
        return []
    if recognise(open_table(test_set, "the test set")) is not None:
        return []
    parts = [counts]
    if within and counts.bands is not None and counts.bands.strata > 1:
        strata = by_stratum(counts)
        parts = [strata.part(j) for j in range(len(strata.n))]
    rng = np.random.default_rng(0)  # the p-value is a fact about the data, not a draw
    tested = [design_p_value(x.n, x.v_hat, overlap=overlap, rng=rng) for x in parts]
    known = [(p, x) for p, x in zip(tested, parts, strict=True) if p is not None]
    if not known:
        return []
    p_value, worst = min(known, key=lambda pair: pair[0])
    p_value = min(1.0, len(known) * p_value)
    if p_value >= DOUBTFUL:
        return []
    sample = f"a random sample of the population ({p_text(p_value)}): {most_unlike(worst)}"
    inside = f" within {', '.join(map(repr, within))}" if within else ""
    hint = (
        "was it drawn within predicted classes? Then say design='by_prediction' (--design "
        "by_prediction). Within columns? Name them in `drawn_within` (--drawn-within). Otherwise "
        f"{AGAIN}."
    )
    if p_value < WRONG:
        raise DataError(
            f"`next` needs a pilot that was drawn at random{inside}; the predicted classes of the "
            f"test set do not look like {sample}.",
            hint=hint,
        )
    words = (
        f"The pilot is taken to be drawn at random{inside}, but its predicted classes do not look "
        f"like {sample}. If it was not, the answer of `correct` with its work list will be wrong: "
        f"{hint}"
    )
    warnings.warn(words, TrueupWarning, stacklevel=4)
    return [words]
