"""Which warnings still hold for classes that were combined."""

import re
from collections.abc import Hashable, Sequence
from typing import Any

from trueup.count.counts import Counts
from trueup.estimate.doubts.cautions import FEW
from trueup.estimate.doubts.pays import PAYS, correction_warning, unproven
from trueup.numerics.arrays import Floats
from trueup.text import spelt

SINGLE = ("There is no test unit of true class", f"Fewer than {FEW} test units have true class")
"""How warnings of single classes begin."""


def said_of_combined(
    info: dict[str, Any],
    old: Sequence[Hashable],
    counts: Counts,
    figures: dict[str, Floats | None],
    parts: Sequence[Sequence[int]],
) -> dict[str, Any]:
    """Return the warnings that hold for combined classes, and whether correcting them pays."""
    told, n = after_combine(info["warnings"], old, counts, parts), int(counts.n.sum())
    asked = info.get("unproven") is not None
    unsure = asked and unproven(figures, info["interval"], n)
    return {
        "warnings": told + ([correction_warning(n, counts.N)] if unsure else []),
        "unproven": unsure,
    }


def after_combine(
    warnings: list[str], old: Sequence[Hashable], counts: Counts, parts: Sequence[Sequence[int]]
) -> list[str]:
    """Leave out what is said of old classes and does not hold for what they became.

    `counts` are those of the new classes, and `parts` the old classes that each is made of.
    """
    audited = counts.n.sum(axis=-1)
    mended = {
        spelt(old[g])
        for part, units in zip(parts, audited, strict=True)
        if len(part) > 1 and units >= FEW
        for g in part
    }
    others = {*map(spelt, old)} - mended

    def holds(words: str) -> bool:
        if words.startswith(PAYS):
            return False
        label = words.split(":")[0].partition(" true class ")[2]
        named = [x for x in re.split(r", | and ", label) if x]
        single = words.startswith(SINGLE) and named
        return not single or not {*named} <= mended or bool({*named} & others)

    return [words for words in warnings if holds(words)]
