"""Labels that matrices and vectors carry: numbers are put in the order of the classes by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.count.names import a_list, predicted_labels
from trueup.errors import ClassError
from trueup.numerics.arrays import as_floats
from trueup.numerics.labels import (
    Labelled,
    Labels,
    as_known,
    places,
    plain,
    read_labels,
    taken,
)

NUMBERS = (
    "test", "predicted_counts", "predicted_sums", "predicted_squares", "test_sums", "test_squares",
)  # fmt: skip
"""What `correct_counts` takes, in its order."""
MATRICES = ("test", "test_sums", "test_squares", "P")
VECTORS = ("predicted_counts", "predicted_sums", "predicted_squares")
UNNAMED = "say whose numbers those of `test` are: classes=[…], in the order of its rows."


def by_label(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the matrices and vectors in one order, with `classes` and `predicted_classes`.

    Rows of `test` (without it, of `P`) name the classes, its columns the predicted labels; the
    others are put in that order. Numbers without labels stay as they are.
    """
    read = {name: read_labels(asked[name], name in VECTORS) for name in (*MATRICES, *VECTORS)}
    test = read["P" if asked["test"] is None else "test"]
    _refuse_totals(read["test"])
    K, L = (0, 0, *_shape(test.numbers))[-2:]
    across, classes = (_named(name, asked[name]) for name in ("predicted_classes", "classes"))
    down, side = test.names
    across = across or (None if asked["test"] is None else side)
    classes = classes or down or (side if K == L else None)
    if across and classes:
        across = as_known(across, classes)
    unnamed = "" if across or classes else UNNAMED
    rows = classes or [*range(K)]
    L = L or len(rows)
    columns = across or (rows and [*(predicted_labels(None, tuple(rows), L) or rows)])

    found: dict[str, Any] = {}
    for name, (numbers, *own) in read.items():
        if name in VECTORS:
            at = places(f"The labels of `{name}`", own[0], columns, unnamed)
            found[name] = taken(numbers, at, 0)
        else:
            over = places(f"The rows of `{name}`", own[0], rows, unnamed)
            wanted = rows if name == "P" else columns
            at = places(f"The columns of `{name}`", own[1], wanted, unnamed)
            found[name] = taken(taken(numbers, over, -2), at, -1)
    found["classes"] = asked["classes"] if asked["classes"] is not None else classes
    found["predicted_classes"] = asked["predicted_classes"]
    if found["predicted_classes"] is None and across != classes:
        found["predicted_classes"] = across
    return found


def _refuse_totals(test: Labelled) -> None:
    """Refuse a crosstab with margins: its last row and column would be a class."""
    shape = _shape(test.numbers)
    if not any(test.names) or len(shape) != 2 or min(shape) < 3:
        return
    n = as_floats(test.numbers)
    if not n.any() or not all((x[:-1].sum(axis=0) == x[-1]).all() for x in (n, n.T)):
        return
    raise ClassError(
        "`test` must hold the classes only; its last row and column are the sums of the others.",
        hint="leave them out: pd.crosstab without margins.",
    )


def _named(name: str, labels: Any) -> Labels | None:
    return None if labels is None else [*map(plain, a_list(name, labels))]


def _shape(numbers: Any) -> tuple[int, ...]:
    try:
        return np.shape(numbers)
    except ValueError:  # rows of different lengths: refused where numbers are checked
        return ()
