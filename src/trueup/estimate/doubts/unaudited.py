"""Classes of which no unit was audited, true or predicted: the prior speaks for them."""

from collections.abc import Hashable

import numpy as np

from trueup.count.counts import Counts
from trueup.draws.settings import Settings
from trueup.text import quoted, spelt

MOST_NAMED = 5
MATERIAL = 0.01
"""The share of the units or of the total from which an unaudited predicted class is named."""


def unaudited(counts: Counts, settings: Settings) -> list[str]:
    """Name the true and the predicted classes of which the test set has no unit."""
    found = []
    empty = [counts.classes[g] for g in np.flatnonzero(counts.n.sum(axis=1) == 0)]
    if empty and settings.P is None:
        found.append(
            f"There is no test unit of true class {quoted(empty)}: the answer rests on the prior."
            + _no_class(counts, empty)
        )
    never = [h for h in (counts.columns or ()) if h not in counts.classes]
    never = [h for h in never if counts.n[:, counts.predicted.index(h)].sum() == 0]
    if never:
        found.append(
            f"There is no test unit with the predicted label {quoted(never[:MOST_NAMED])}, which "
            "is not a class: only the prior says what its units truly are. Is it spelt as in the "
            "test set?"
        )
    if settings.method == "joint" and settings.from_population and settings.P is None:
        found += _left_out(counts)
    return found


def _left_out(counts: Counts) -> list[str]:
    """Say how much of the population was predicted as classes that nobody audited."""
    units = counts.v_hat / counts.N
    total = np.zeros_like(units)
    if counts.u_hat is not None and np.abs(counts.u_hat).sum() > 0:
        total = np.abs(counts.u_hat) / np.abs(counts.u_hat).sum()
    mine = (counts.n.sum(axis=0) == 0) & (np.maximum(units, total) > MATERIAL)
    mine &= np.array([h in counts.classes for h in counts.predicted])
    named = [counts.predicted[h] for h in np.flatnonzero(mine)]
    if not named:
        return []
    more = f" or one of {len(named) - MOST_NAMED} more classes" if len(named) > MOST_NAMED else ""
    of_total = f" and {total[mine].sum():.0%} of the total" if counts.totals else ""
    return [
        f"No audited unit was predicted {' or '.join(map(spelt, named[:MOST_NAMED]))}{more}: "
        f"{units[mine].sum():.0%} of all units{of_total} rest on the prior alone. Audit some of "
        "the units that were predicted so."
    ]


def _no_class(counts: Counts, empty: list[Hashable]) -> str:
    """Name the way out if a predicted label was taken for a class that no audited unit has."""
    seen = [
        g for g in empty if g in counts.predicted and counts.n[:, counts.predicted.index(g)].any()
    ]
    if not seen:
        return ""
    it, named = "it" if len(seen) == 1 else "them", " or ".join(map(repr, seen[:MOST_NAMED]))
    return (
        f" If no unit can truly be {named} (a label such as 'unknown'), leave {it} out of "
        f"`classes` and keep {it} among the predicted labels."
    )
