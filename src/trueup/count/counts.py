"""The small bag of counts that every estimator takes, and the one place where it is checked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueup.count.names import a_list, check_classes, predicted_labels
from trueup.errors import DataError
from trueup.numerics.arrays import Bools, Floats, Integers
from trueup.read.columns import plain

Array = TypeVar("Array", Floats, Integers)

ARRAYS = ("n", "v_hat", "u_hat", "w_hat", "t", "t2")
# Counts are integers to the end; beyond this a float could not hold them exactly.
MOST_UNITS = 2**53
# Beyond this, products of squared sums overflow a float.
MOST_VALUE = 1e100


@dataclass(frozen=True, eq=False)
class Counts:
    """Both tables in numbers. Rows are true classes, columns predicted ones.

    Parts of a population (groups, strata) stand on axes of their own before these.
    """

    classes: tuple[Hashable, ...]  # the K class labels, H in the paper
    n: Integers  # (…, K, L) test units with true class g and predicted label h
    v_hat: Integers  # (…, L) population units per predicted label
    u_hat: Floats | None = None  # (…, L) Σy per predicted label; None when units are counted
    w_hat: Floats | None = None  # (…, L) Σy² per predicted label, for the classification noise
    t: Floats | None = None  # (…, K, L) Σy and Σy² of the test units, for audited units and
    t2: Floats | None = None  # classical variances
    signed: bool = False  # whether some y is negative: then totals have no bound at 0
    bands: Counts | None = None  # by cell: predicted label, audit stratum, bands; L·J·B·S columns
    columns: tuple[Hashable, ...] | None = None  # the L predicted labels, if not the classes
    strata: int = 1  # J, the audit strata (`drawn_within`) that the cells of `bands` distinguish
    score: Floats | None = None  # (L·J·B·S,) mean score of each cell of `bands`, if it has any
    score_bands: int = 1  # S, bands of the score within each predicted label and band of the value
    within: Counts | None = None  # of strata: the test set may have any number of units in each
    # of `bands`: the least value of all bands but the first, in each audit stratum, but for a
    # factor: fine bands begin at a `phase` (`Table.banded`)
    edges: tuple[tuple[float, ...], ...] | None = None
    phase: float = 0.0
    free: tuple[
        str, ...
    ] = ()  # of `bands`: what a random test set has at random, "scores", "others"

    @property
    def K(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def predicted(self) -> tuple[Hashable, ...]:
        """The L predicted labels, in the order of the columns."""
        return self.classes if self.columns is None else self.columns

    @property
    def L(self) -> int:
        """The number of predicted labels."""
        return len(self.predicted)

    @property
    def N(self) -> int:
        """The number of units in the population."""
        return int(self.v_hat.sum())

    @property
    def same(self) -> Bools:
        """Whether a predicted label is the class, (K, L)."""
        return np.array([[g == h for h in self.predicted] for g in self.classes])

    @property
    def right(self) -> int:
        """How many test units were predicted right."""
        return int(self.n[self.same].sum())

    @property
    def totals(self) -> bool:
        """Whether a value is totalled, rather than units counted."""
        return self.u_hat is not None

    @property
    def naive(self) -> Floats:
        """û, or v̂ when units are counted, per class; 0 for a class that is never a prediction."""
        found = self.v_hat.astype(float) if self.u_hat is None else self.u_hat
        if self.columns is None:
            return found
        at = [self.columns.index(g) if g in self.columns else -1 for g in self.classes]
        return np.where(np.array(at) < 0, 0.0, found[..., at])

    def squared(self) -> Counts:
        """Return the counts with a row and a column for every label, classes first: zeros if new.

        Classical estimators compare a class's row with its own column.
        """
        if self.columns is None:
            return self
        labels = (*self.classes, *(h for h in self.columns if h not in self.classes))
        at = [labels.index(h) for h in self.columns]

        def wide(x: Any, rows: bool) -> Any:
            if x is None:
                return None
            found = np.zeros((len(labels), len(labels)) if rows else len(labels), x.dtype)
            found[(slice(self.K), at) if rows else at] = x
            return found

        arrays: Any = {name: wide(getattr(self, name), name in ("n", "t", "t2")) for name in ARRAYS}
        return replace(self, classes=labels, columns=None, bands=None, **arrays)

    def holding(self, population: Sequence[Any], audited: Sequence[Any]) -> Counts:
        """Return the counts with other units, Σy and Σy² of both tables, as far as it has sums."""
        v_hat, *sums = population
        n, *test_sums = audited if self.t is not None else (audited[0], None, None)
        u_hat, w_hat, t, t2 = [*sums, *test_sums] if self.totals else [None] * 4
        return replace(self, n=n, v_hat=v_hat, u_hat=u_hat, w_hat=w_hat, t=t, t2=t2)

    def counted(self) -> Counts:
        """Return the counts without the values, which may still be those of the bands."""
        return replace(self, u_hat=None, w_hat=None, t=None, t2=None, signed=False)

    def unscored(self) -> Counts:
        """Return cells without bands of the score: added up over them."""
        return self if self.score_bands == 1 else self.coarser(self.score_bands)

    def coarser(self, many: int) -> Counts:
        """Return cells of which each is so many that stand side by side, added up."""
        added = self.changed(lambda x: x.reshape(*x.shape[:-1], -1, many).sum(axis=-1))
        return replace(self, **added, score=None, score_bands=1)

    def part(self, which: Any) -> Counts:
        """Return one part, or some of them."""
        found = self.changed(lambda x: x[which])
        return Counts(self.classes, **found, signed=self.signed, columns=self.columns)

    def changed(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """Return every array, changed; None stays None."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {name: None if x is None else change(x) for name, x in arrays.items()}


def split(
    counts: Counts, overlap: bool, labels: Sequence[Hashable] | None = None
) -> tuple[Counts, Floats]:
    """Return the units to correct, and the known counts or totals (…, K) of the audited ones.

    Audited units that are in the population (`overlap`) are known exactly. Totals also need their
    values, `t`; without those nothing is taken out. `labels` name the parts in messages.
    """
    if not overlap or (counts.totals and counts.t is None):
        return counts, np.zeros((*counts.v_hat.shape[:-1], counts.K))
    known = counts.n if counts.t is None else counts.t
    return _rest(counts, labels), known.sum(axis=-1).astype(float)


def _rest(counts: Counts, labels: Sequence[Hashable] | None) -> Counts:
    """The population without the audited units."""
    audited = counts.n.sum(axis=-2)
    outside = audited > counts.v_hat
    if outside.any():
        at = tuple(np.argwhere(outside)[0])
        raise DataError(
            f"The test set has {audited[at]:,} units predicted {_predicted(counts, at)!r}"
            f"{_part_name(at, labels)}, but the population only {counts.v_hat[at]:,}: the audited "
            "units cannot all be in it.",
            hint="with overlap=False (--no-overlap) the test set may come from elsewhere.",
        )
    v_hat = counts.v_hat - audited
    if counts.u_hat is None or counts.t is None:
        return replace(counts, v_hat=v_hat)
    u_hat = counts.u_hat - counts.t.sum(axis=-2)
    w_hat = None
    if counts.w_hat is not None:
        if counts.t2 is None:  # the audited units' share of the squares, as of the units
            w_hat = counts.w_hat * v_hat / np.maximum(counts.v_hat, 1)
        else:
            w_hat = counts.w_hat - counts.t2.sum(axis=-2)
        w_hat = np.maximum(w_hat, u_hat**2 / np.maximum(v_hat, 1))  # no less than equal values
    scale = np.abs(counts.u_hat).max()
    if not counts.signed and (u_hat < -1e-9 * scale).any():
        at = np.unravel_index(int(u_hat.argmin()), u_hat.shape)
        raise DataError(
            f"The values of the test units predicted {_predicted(counts, at)!r}"
            f"{_part_name(at, labels)} sum to {counts.t.sum(axis=-2)[at]:g}, more than "
            f"{counts.u_hat[at]:g}, the sum over the whole population.",
            hint="is the value (with `weight`, the weight) the same in both tables? Otherwise "
            "overlap=False (--no-overlap).",
        )
    empty = v_hat == 0  # the remainder is rounding
    u_hat = np.where(empty, 0.0, u_hat if counts.signed else np.maximum(u_hat, 0.0))
    w_hat = None if w_hat is None else np.where(empty, 0.0, np.maximum(w_hat, 0.0))
    return replace(counts, v_hat=v_hat, u_hat=u_hat, w_hat=w_hat)


def _predicted(counts: Counts, at: tuple[Any, ...]) -> Hashable:
    """The predicted label of a column, which may be one of its cells."""
    label: Hashable = counts.predicted[int(at[-1]) * counts.L // counts.n.shape[-1]]
    return label


def _part_name(at: tuple[Any, ...], labels: Sequence[Hashable] | None) -> str:
    """Name the part that a message is about; the whole needs no name."""
    if len(at) == 1:
        return ""
    return f" in part {at[0]}" if labels is None else f" in {labels[at[0]]!r}"


def make_counts(
    n: ArrayLike | None,
    v_hat: ArrayLike,
    u_hat: ArrayLike | None = None,
    w_hat: ArrayLike | None = None,
    t: ArrayLike | None = None,
    t2: ArrayLike | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    predicted_classes: Sequence[Hashable] | None = None,
    signed: bool | None = None,
) -> Counts:
    """Check the arrays and put them together; every message names the user's argument.

    Parts may stand on axes before those of `Counts`. `n` is None without a test set.
    """
    if n is None:
        n = np.zeros((*np.shape(v_hat), np.shape(v_hat)[-1]))
    n = _whole("test", n)
    if n.ndim < 2:
        raise DataError(
            "`test` must be a matrix, one row for each true class and one column for each "
            f"predicted label; got shape {n.shape}.",
            hint="rows are true classes, columns predicted ones.",
        )
    K, L = n.shape[-2:]
    shape = (*n.shape[:-2], L)
    labels = tuple(range(K)) if classes is None else tuple(map(plain, a_list("classes", classes)))
    check_classes(labels, K)
    columns = predicted_labels(predicted_classes, labels, L)
    v_hat = _shaped("predicted_counts", _whole("predicted_counts", v_hat), shape)
    if v_hat.sum() == 0:
        raise DataError("The population must have at least one unit; `predicted_counts` sums to 0.")

    if u_hat is None and any(x is not None for x in (w_hat, t, t2)):
        raise DataError(
            "`predicted_squares` and `test_sums` need `predicted_sums`, which is missing.",
            hint="give predicted_sums, the sum of the value per predicted class.",
        )
    u_hat = _values("predicted_sums", u_hat, shape)
    w_hat = _values("predicted_squares", w_hat, shape)
    t, t2 = _values("test_sums", t, n.shape), _values("test_squares", t2, n.shape)
    if signed is None:  # sums alone cannot show every negative value, but they show some
        signed = any(x is not None and bool((x < 0).any()) for x in (u_hat, t))
    _check_sums(n, v_hat, u_hat, w_hat, t, t2)
    if columns is not None and set(columns) == set(labels):  # the classes in another order
        at = [columns.index(g) for g in labels]
        given = dict(zip(ARRAYS, (n, v_hat, u_hat, w_hat, t, t2), strict=True))
        ordered: Any = {name: None if x is None else x[..., at] for name, x in given.items()}
        return Counts(labels, signed=signed, **ordered)
    return Counts(labels, n, v_hat, u_hat, w_hat, t, t2, signed, columns=columns)


def _check_sums(
    n: Integers,
    v_hat: Integers,
    u_hat: Floats | None,
    w_hat: Floats | None,
    t: Floats | None,
    t2: Floats | None,
) -> None:
    """Refuse sums that no values could have: Cauchy–Schwarz, and sums over no units."""
    for sums, squares, units, names in (
        (u_hat, w_hat, v_hat, ("predicted_sums", "predicted_squares", "predicted_counts")),
        (t, t2, n, ("test_sums", "test_squares", "test")),
    ):
        for x, name, most in ((sums, names[0], MOST_VALUE), (squares, names[1], MOST_VALUE**2)):
            if x is not None and (np.abs(x) > most).any():
                raise DataError(
                    f"`{name}` may be at most {most:g} in size; got {np.abs(x).max():g}.",
                    hint="give the value in a larger unit.",
                )
            if x is not None and (x[units == 0] != 0).any():
                raise DataError(f"`{name}` must be 0 where `{names[2]}` is 0: a sum of no values.")
        if squares is None:
            continue
        if (squares < 0).any():
            raise DataError(f"`{names[1]}` is a sum of squares and must not be negative.")
        if sums is not None and (sums**2 > squares * units * (1 + 1e-9)).any():
            raise DataError(
                f"`{names[1]}` is too small for `{names[0]}`: (Σy)² is at most the number of units "
                "times Σy².",
                hint="give the sum of the squared values, not the square of the sum.",
            )


def _whole(name: str, given: ArrayLike) -> Integers:
    values = _real(name, given)
    if (values < 0).any() or (values != np.floor(values)).any():
        bad = values[(values < 0) | (values != np.floor(values))].flat[0]
        raise DataError(
            f"`{name}` must hold counts, whole numbers of at least 0; got {bad:g}.",
            hint="weights or shares are not counts: give the number of units.",
        )
    if values.max() > MOST_UNITS or values.sum() > MOST_UNITS:  # the sum of floats may overflow
        raise DataError(f"`{name}` may count at most {MOST_UNITS:,} units; got {values.max():g}.")
    return values.astype(np.int64)


def _real(name: str, given: ArrayLike) -> Floats:
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"`{name}` must hold numbers only; got {given!r}.") from None
    if values.size == 0:
        raise DataError(f"`{name}` must not be empty.")
    if not np.isfinite(values).all():
        raise DataError(
            f"`{name}` must hold finite numbers; got {values[~np.isfinite(values)].flat[0]}.",
            hint="remove or repair the units with a missing or infinite value first.",
        )
    return values


def _values(name: str, given: ArrayLike | None, shape: tuple[int, ...]) -> Floats | None:
    return None if given is None else _shaped(name, _real(name, given), shape)


def _shaped(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    if values.shape != shape:
        hint = "give one number for each column of `test`, in that order."
        if values.ndim > len(shape):
            hint = "for groups or strata use `correct`: count= takes a table of counts."
        raise DataError(
            f"`{name}` must have shape {shape}, to fit `test`; got {values.shape}.", hint=hint
        )
    return values
