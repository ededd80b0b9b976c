"""Labels as plain Python values, and those that a matrix or a vector carries with it."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueup.errors import ClassError

LACKING = (
    "a label that one of them lacks has 0 units: add it there, with "
    "reindex(…, fill_value=0). Plain lists of numbers have no labels."
)
RENAMED = "to give other names to the same classes use set_axis(…), or drop the labels: to_numpy()."

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


def plain(label: Any) -> Any:
    """Return a label as a plain Python value, so that labels of different libraries are equal.

    NumPy's scalars become Python's, every library's null becomes None, and a time at midnight
    becomes a date: pandas has no type for dates.
    """
    if is_missing(label):
        return None
    if isinstance(label, np.datetime64):
        label = label.astype("datetime64[us]").item()
    elif isinstance(label, np.generic):
        label = label.item()
    elif hasattr(label, "to_pydatetime"):
        label = label.to_pydatetime(warn=False)
    if isinstance(label, datetime.datetime) and label.time() == datetime.time.min:
        return label.date()
    return label


def is_missing(value: object) -> bool:
    """Whether a label is null, in any library's spelling."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | np.datetime64) and bool(value != value)


def read_labels(given: Any, vector: bool) -> Labelled:
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


def as_known(labels: Sequence[Hashable], known: Sequence[Hashable]) -> Labels:
    """Return labels as they are known: Polars' column "0" is the class 0."""
    by_text = {str(x): x for x in known}
    return [x if x in known else by_text.get(str(x), x) for x in labels]


def places(
    what: str, own: Labels | range | None, wanted: Labels, hint: str = ""
) -> list[int] | None:
    """Return where each wanted label stands; None keeps numbers in their order.

    `hint` takes the place of what is usually to be done about other labels.
    """
    if own is None or not wanted:  # no matrix: refused where numbers are checked
        return None
    known = as_known(own, wanted)
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
    usual = LACKING if {*known} & {*wanted} else RENAMED
    raise ClassError(
        f"{what} must be {wanted[:20]} in any order; got {own[:20]}.",
        hint=hint or usual,
    )


def taken(numbers: Any, at: list[int] | None, axis: int) -> Any:
    """Return what stands at these places; None leaves numbers in their order."""
    if at is None:
        return numbers
    values = np.asarray(numbers)
    return values.take(at, axis=axis).tolist() if values.ndim >= abs(axis) else numbers
