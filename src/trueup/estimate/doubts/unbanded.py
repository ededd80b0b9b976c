"""What audited values say where totals are drawn without bands of the value."""

from trueup.count.counts import Counts
from trueup.estimate.doubts.values import values_differ
from trueup.text import p_text

LEAST, DIFFERENT = 8, 0.003
"""Audited errors that a class needs to be compared, and the p-value below which its values differ:
large values make the normal p-value too small. With lognormal values (σ from 1 to 2), 100 to 300
audited units and 5 to 15% errors, the warning came for nothing in at most 2% of test sets; where
errors rose with the value, in 92 to 100% of those of 300, and intervals covered 84 to 89%."""


def without_bands(counts: Counts, periods: bool) -> str | None:
    """Say that wrongly predicted units differ in value, where `joint` has no bands of it.

    So it is in periods, in strata with rates of their own, and where the population is given in
    sums. Strata of units of similar size are no way out: from sums they covered 77 to 87%.
    """
    if not counts.totals or counts.bands is not None:
        return None
    evidence = values_differ(counts, LEAST)
    if evidence is None or evidence.p_value >= DIFFERENT:
        return None
    where = "Where the population is given in sums"
    hint = "Give the units one by one (a row for each, without `count`)."
    if counts.within is not None:
        where = "With `strata`"
        hint = "Leave out `strata`, and give the units one by one (a row for each)."
    if periods:
        where = "With `period`"
        hint = "Correct each audited period by itself, without `period`."
    return (
        f"{where}, totals assume that errors do not depend on the value within a class; here "
        f"{evidence.words} ({p_text(evidence.p_value)}), and the intervals may be too narrow. "
        f"{hint}"
    )
