"""A matrix of test counts that may be transposed, or have a row that is no class."""

from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.errors import ClassError


def transposed(counts: Counts, design: str) -> list[str]:
    """Say so when the sums that the design fixes seem to be on the other side of `test`."""
    rows, columns = counts.n.sum(axis=1), counts.n.sum(axis=0)
    fixed = {"by_prediction": (rows, columns), "by_class": (columns, rows)}.get(str(design))
    if fixed is None or not _planned(fixed[0]) or _planned(fixed[1]):
        return []
    side, other = ("rows", "columns") if design == "by_prediction" else ("columns", "rows")
    return [
        f"With design {design!r} the {other} of `test` have the numbers that were planned, but "
        f"here it is the {side} that sum to {fixed[0].tolist()}: is the matrix transposed? Rows "
        "must be true classes and columns predicted ones; error matrices of maps often have it "
        "the other way round."
    ]


def _planned(sums: Any) -> bool:
    """Whether these look like numbers that somebody planned: all equal, or all tens."""
    return bool((sums >= 5).all() and ((sums == sums[0]).all() or (sums % 10 == 0).all()))


def refuse_empty_rows(counts: Counts, named: object, design: str, method: str) -> None:
    """Ask about a class that no test unit has and that nobody named, where the prior decides it."""
    if named is not None or design not in ("by_class", "shifted") or method == "naive":
        return
    for g in np.flatnonzero(counts.n.sum(axis=1) == 0):
        h = min(int(g), counts.L - 1)
        if counts.predicted[h] == counts.classes[g] and counts.n[:, h].any():
            raise ClassError(
                f"No test unit is truly of class {counts.classes[g]!r}, row {g + 1} of `test`, "
                f"though {counts.n[:, h].sum():,} were predicted so: with design {design!r} the "
                "prior alone would say how many there are.",
                hint="if that is a label and no class, leave out its row: `test` may have fewer "
                "rows than columns. If units can truly be of it, name all classes with `classes`.",
            )
