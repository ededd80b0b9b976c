"""`correct_counts`: from numbers to an estimate."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.api.labelled import NUMBERS, by_label
from trueup.count.counts import Counts, make_counts
from trueup.draws.settings import DRAWS, SECONDS
from trueup.errors import ClassError, DataError, OptionError
from trueup.estimate.job import OPTIONS, Job, asked_of, run
from trueup.estimate.options import pooled_studies
from trueup.estimate.result import Estimate
from trueup.prior.studies import BETWEEN
from trueup.read.native import local_frame

SAME = 1e-6
"""Relative difference of two sums that may come from rounding."""


def correct_counts(
    test: ArrayLike | None,
    predicted_counts: ArrayLike | Mapping[Hashable, float],
    predicted_sums: ArrayLike | Mapping[Hashable, float] | None = None,
    predicted_squares: ArrayLike | Mapping[Hashable, float] | None = None,
    test_sums: ArrayLike | None = None,
    test_squares: ArrayLike | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    predicted_classes: Sequence[Hashable] | None = None,
    design: str | None = None,
    method: str = "auto",
    prior: object = "perks",
    overlap: bool | None = None,
    noise: bool = True,
    P: ArrayLike | None = None,
    studies: Mapping[Hashable, ArrayLike] | None = None,
    between: float = BETWEEN,
    draws: int | None = DRAWS,
    interval: float = 0.95,
    seed: int | None = None,
    sample_of: float | str | None = None,
    seconds: float = SECONDS,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Correct counts or totals from a matrix of test counts; see `correct` for the other options.

    Labels of pandas and Polars tables count: rows and columns of the test set (`pd.crosstab`) name
    the classes and the predicted labels, and other numbers with labels are put in their order.
    Numbers without labels are taken in the order in which they stand.

    Parameters
    ----------
    test : (K, L) array_like of int, or None
        Test units, rows true and columns predicted. L is K, unless some predicted labels are no
        class ("unknown", finer labels), or some classes are never predicted. None with `studies`
        or `P`: the error rates then come from elsewhere.
    predicted_counts : (L,) array_like of int, or mapping
        Population units per predicted label: in the order of the columns of `test`, or with labels
        (`{label: units}`, `value_counts()`).
    predicted_sums, predicted_squares : (L,) array_like or mapping, optional
        The sum of the value, and of its square, per predicted label. Without sums, units are
        counted; without squares the classification noise of totals cannot be known.
    test_sums, test_squares : (K, L) array_like, optional
        The sum of the value, and of its square, of the test units per cell. With sums, the
        audited part of a total is known exactly.
    classes : sequence, optional
        Names of the rows; by default their labels, or 0, 1, …. With labels, it sets their order.
    predicted_classes : sequence, optional
        Names of the columns, where they are not the classes in their order. `naive` is that of the
        column with the class's own name, and 0 for a class that is never predicted.
    studies : mapping, optional
        Published studies of two classes, instead of a test set of one's own: for each true class a
        row for each study, how many of its units were predicted as each class. Rates differ
        between studies (normal on the logit scale), and those of this population are like one more
        study's. A study of one's own is one of them.
    between : float
        How far rates may differ between studies: the scale of the half-normal prior of their
        standard deviation on the logit scale. 0 takes all studies as one.

    Returns
    -------
    Estimate
        Rows per class.

    Examples
    --------
    The paper's Peculiar Example, where inverting the rates gives −75 webshops of 100:

    >>> est = correct_counts([[4, 1], [2, 3]], [10, 90], classes=["webshop", "other"],
    ...                      design="shifted", seed=1)
    >>> bool((est.draws >= 0).all())
    True
    """
    sample_of = str(sample_of) if sample_of == float("inf") else sample_of
    asked = asked_of("correct_counts", locals())
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    if studies is not None:
        known, classes, design, seed = pooled_studies(asked)
        asked |= {"design": design, "classes": classes, "overlap": None, "seed": seed}
        extra = {"prior": "studies", "studies": known.pop("found")}
    elif between != BETWEEN:
        raise OptionError(f"`between` needs `studies`; got {between:g} alone.")
    elif test is None and P is None:
        raise OptionError(
            "`test` may be None only if the error rates come from elsewhere; got neither `studies` "
            "nor `P`.",
            hint="give the test counts, rows true and columns predicted.",
        )
    design = "random" if design is None else design
    asked |= {"design": design} | by_label(asked)
    classes = asked["classes"]
    counts = make_counts(
        *(asked[name] for name in NUMBERS), classes=classes,
        predicted_classes=asked["predicted_classes"],
    )  # fmt: skip
    if counts.n.ndim > 2:
        raise DataError(
            f"`test` must be one matrix; got an array of shape {counts.n.shape}.",
            hint="for groups or strata use `correct`: count= takes a table of counts.",
        )
    refuse_empty_rows(counts, classes, design, method)
    notes = [*known.pop("notes", ()), *transposed(counts, design), *squared_sums(counts)]
    options = {name: asked[name] for name in OPTIONS} | known
    return run(Job(counts, local_frame, notes, None, asked, options, None, extra), progress)


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


def squared_sums(counts: Counts) -> list[str]:
    """Say so when what should be Σy² of each predicted class is (Σy)².

    They are equal if one unit holds the whole total: of all classes with more than two units, that
    is hardly possible.
    """
    if counts.u_hat is None or counts.w_hat is None:
        return []
    some = (counts.v_hat > 2) & (counts.u_hat != 0)
    u, w = counts.u_hat[some], counts.w_hat[some]
    if not some.any() or not np.allclose(w, u**2, rtol=SAME, atol=0):
        return []
    return [
        "`predicted_squares` looks like the square of the sum, (Σy)²; needed is the sum of the "
        f"squared values, Σy². Here both are {w[0]:,.6g} of predicted class "
        f"{counts.predicted[int(some.argmax())]!r}, as if one of its {counts.v_hat[some][0]:,} "
        "units held the whole total. If none does, intervals are far too wide."
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
