"""Labels that matrices and vectors carry: numbers are put in the order of the classes by them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueup.count.names import a_list, predicted_labels
from trueup.errors import ClassError
from trueup.numerics.arrays import as_floats
from trueup.read.columns import plain

NUMBERS = (
    "test", "predicted_counts", "predicted_sums", "predicted_squares", "test_sums", "test_squares",
)  # fmt: skip
"""What `correct_counts` takes, in its order."""
MATRICES = ("test", "test_sums", "test_squares", "P")
VECTORS = ("predicted_counts", "predicted_sums", "predicted_squares")
LACKING = (
    "a label that one of them lacks has 0 units: add it there, with "
    "reindex(…, fill_value=0). Plain lists of numbers have no labels."
)
RENAMED = "to give other names to the same classes use set_axis(…), or drop the labels: to_numpy()."
UNNAMED = "say whose numbers those of `test` are: classes=[…], in the order of its rows."

Labels = list[Hashable]


class Labelled(NamedTuple):
    """Numbers, with the labels of their rows and columns if they have any.

    A `range` is of those that pandas numbered: positions.
    """

    numbers: Any
    rows: Labels | range | None = None
    columns: Labels | range | None = None

    @property
    def names(self) -> tuple[Labels | None, Labels | None]:
        """The labels that somebody gave."""
        rows, columns = (None if isinstance(x, range) else x for x in self[1:])
        return rows, columns


def by_label(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the matrices and vectors in one order, with `classes` and `predicted_classes`.

    Rows of `test` (without it, of `P`) name the classes, its columns the predicted labels; the
    others are put in that order. Numbers without labels stay as they are.
    """
    read = {name: _labelled(asked[name], name in VECTORS) for name in (*MATRICES, *VECTORS)}
    test = read["P" if asked["test"] is None else "test"]
    _refuse_totals(read["test"])
    K, L = (0, 0, *_shape(test.numbers))[-2:]
    across, classes = (_named(name, asked[name]) for name in ("predicted_classes", "classes"))
    down, side = test.names
    across = across or (None if asked["test"] is None else side)
    classes = classes or down or (side if K == L else None)
    if across and classes:
        across = _as_known(across, classes)
    named = bool(across or classes)
    rows = classes or [*range(K)]
    L = L or len(rows)
    columns = across or (rows and [*(predicted_labels(None, tuple(rows), L) or rows)])

    found: dict[str, Any] = {}
    for name, (numbers, *own) in read.items():
        if name in VECTORS:
            at = _places(f"The labels of `{name}`", own[0], columns, named)
            found[name] = _taken(numbers, at, 0)
        else:
            over = _places(f"The rows of `{name}`", own[0], rows, named)
            wanted = rows if name == "P" else columns
            at = _places(f"The columns of `{name}`", own[1], wanted, named)
            found[name] = _taken(_taken(numbers, over, -2), at, -1)
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


def _labelled(given: Any, vector: bool) -> Labelled:
    """Read the labels of a pandas object, of a table whose first column has them, or of a dict."""
    if vector and isinstance(given, Mapping):
        return Labelled([*given.values()], [*map(plain, given)])
    index = getattr(given, "index", None)
    names = getattr(given, "column_names", None) or getattr(given, "columns", None)
    if callable(index):  # the method of a list
        index = None
    if index is None and names is None:
        return Labelled(given)
    numbers = np.asarray(given)
    rows, columns = _own(index), _own(names)
    if index is None and numbers.ndim == 2:  # Polars and PyArrow have no index
        text = all(isinstance(x, str) for x in numbers[:, 0])
        if numbers.shape[1] > 1 and (text or (vector and numbers.shape[1] == 2)):
            rows, numbers = [*map(plain, numbers[:, 0])], numbers[:, 1:]
            columns = columns and columns[1:]
    if vector:
        columns = None
        numbers = numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers
    return Labelled(numbers.tolist(), rows, columns)


def _own(names: Any) -> Labels | range | None:
    """Return labels, or positions: those that pandas and Polars number."""
    if names is None:
        return None
    labels = [*map(plain, names)]
    if labels == [f"column_{i}" for i in range(len(labels))]:
        return None
    if type(names).__name__ == "RangeIndex" and labels == [*range(len(labels))]:
        return range(len(labels))
    return labels


def _as_known(labels: Sequence[Hashable], known: Sequence[Hashable]) -> Labels:
    """Return labels as they are known: Polars' column "0" is the class 0."""
    by_text = {str(x): x for x in known}
    return [x if x in known else by_text.get(str(x), x) for x in labels]


def _places(what: str, own: Labels | range | None, wanted: Labels, named: bool) -> list[int] | None:
    """Return where each wanted label stands; None keeps numbers in their order."""
    if own is None or not wanted:  # no matrix: refused where numbers are checked
        return None
    known = _as_known(own, wanted)
    if len(known) == len(wanted) and {*known} == {*wanted}:
        if isinstance(own, range) and known != wanted:
            raise ClassError(
                f"{what} must be labels or positions; got 0 to {len(known) - 1} in this order, and "
                f"the classes are {wanted[:20]}.",
                hint="name them with set_axis(…), or drop the index with to_numpy().",
            )
        return [known.index(x) for x in wanted]
    if isinstance(own, range) or (all(type(x) is int for x in own) and own == [*range(len(own))]):
        return None  # positions
    hint = LACKING if {*known} & {*wanted} else RENAMED
    raise ClassError(
        f"{what} must be {wanted[:20]} in any order; got {own[:20]}.",
        hint=hint if named else UNNAMED,
    )


def _taken(numbers: Any, at: list[int] | None, axis: int) -> Any:
    if at is None:
        return numbers
    values = np.asarray(numbers)
    return values.take(at, axis=axis).tolist() if values.ndim >= abs(axis) else numbers
