"""Which units to audit next: those that reduce the variance of a total most per label.

Let c = Pr(s = g | ŝ = h) be known from A_h observations, real and invented, and let U_h and W_h be
the sums of y and y² of the units predicted h that were not audited. The total of class g among
these units has the variance

    c(1 − c) · (U_h²/(A_h + 1) + W_h):

the first term is the uncertainty of the rate, the second that of which units they are. The label of
a unit drawn at random adds to A_h and takes an average unit out of U_h and W_h. The label of a
large unit that was chosen says nothing about the rate of the others, but takes its own y out. The
chosen ones are a certainty stratum: the largest of all, whatever their prediction. If more were
taken of one predicted class than of another, the remaining values would depend on the prediction as
well as on the true class, which the model of totals rules out: intervals then covered 72% in a
trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.count.names import Columns
from trueup.errors import OptionError
from trueup.prior import resolve_prior
from trueup.simulation import largest_remainder
from trueup.study.case import Case

__all__ = ["Choice", "choose", "next_units"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RANDOM, LARGEST = "at random", "the largest (certainty stratum)"
MOST_NEXT = 100_000
MOST_TRIALS = 51
"""Sizes of the certainty stratum that are tried: all of them for up to 50 labels."""


@dataclass(frozen=True, eq=False)
class Choice:
    """How many to audit at random and how many of the largest, per predicted class."""

    random: Integers
    largest: Integers
    before: float
    after: float


def choose(
    count: int,
    c: Floats,
    A: Floats,
    units: Integers,
    U: Floats,
    W: Floats,
    top: tuple[Integers, Floats] | None = None,
) -> Choice:
    """Divide labels over the largest units and random ones so that the variance is least.

    Parameters
    ----------
    count : int
        Labels to hand out.
    c, A : (K,) array
        Pr(true class of interest | predicted h) and the observations that it rests on.
    units, U, W : (K,) array
        Units not yet audited, their Σy and Σy².
    top : tuple of arrays, optional
        Predicted class and value of the largest units, in descending order; none for counts.

    Examples
    --------
    Two classes of equal units, one of them perfectly known, and a giant in the other:

    >>> choice = choose(3, np.array([0.5, 0.0]), np.array([10.0, 10.0]), np.array([100, 100]),
    ...                 np.array([199.0, 100.0]), np.array([1e4 + 99, 100.0]),
    ...                 (np.array([0, 0, 1]), np.array([100.0, 1.0, 1.0])))
    >>> choice.random, choice.largest
    (array([2, 0]), array([1, 0]))
    """
    K = len(c)
    count = int(min(count, units.sum()))
    h_top, y_top = (np.empty(0, np.int64), np.empty(0)) if top is None else top
    best: Choice | None = None
    for m in np.unique(np.linspace(0, min(count, len(y_top)), MOST_TRIALS).astype(int)):
        h, y = h_top[:m], y_top[:m]
        certain = np.bincount(h, minlength=K)
        left = [x - np.bincount(h, w, K) for x, w in ((U, y), (W, y * y))]
        at_random, after = _at_random(count - int(m), c, A, units - certain, *left)
        if best is None or after < best.after * (1 - 1e-12):
            before = float((c * (1 - c) * (U**2 / (A + 1) + W)).sum())
            best = Choice(at_random, certain, before, after)
    assert best is not None
    return best


def _at_random(
    count: int, c: Floats, A: Floats, units: Integers, U: Floats, W: Floats
) -> tuple[Integers, float]:
    """Hand out labels one by one, each to the class where the variance falls most."""
    spread, given = c * (1 - c), np.zeros(len(c), np.int64)
    y, y2 = U / np.maximum(units, 1), W / np.maximum(units, 1)

    def variance(k: Integers) -> Floats:
        left = np.maximum(units - k, 0)
        return np.asarray(spread * ((left * y) ** 2 / (A + k + 1) + left * y2))

    now = variance(given)
    then = variance(given + 1)
    for _ in range(count):
        gain = np.where(given < units, now - then, -1.0)
        # where nothing is uncertain, there is nothing to gain: to the largest class
        h = int(gain.argmax()) if gain.max() > 0 else int((units - given).argmax())
        given[h] += 1
        now[h] = then[h]
        left = max(int(units[h] - given[h]) - 1, 0)
        then[h] = spread[h] * ((left * y[h]) ** 2 / (A[h] + given[h] + 2) + left * y2[h])
    return given, float(variance(given).sum())


@dataclass(frozen=True, eq=False)
class _Units:
    """The units that were not audited, as far as a table names them."""

    h: Integers
    y: Floats
    ids: list[Hashable] | None
    group: list[Hashable] | None


def next_units(
    case: Case,
    g: int,
    count: int,
    predictions: Any,
    test_set: Any,
    columns: Columns,
    prior: object,
    rng: np.random.Generator,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the next units to audit for the total of class g, and notes on what they bring."""
    if int(count) != count or not 1 <= count <= MOST_NEXT:
        raise OptionError(f"`next` must be a whole number from 1 to {MOST_NEXT:,}; got {count!r}.")
    n = np.zeros((case.K, case.K)) if case.counts is None else case.counts.n
    alpha = resolve_prior(prior, case.K, case.classes).alpha
    A = (alpha + n).sum(axis=0)
    c = case.c[g] if case.counts is None else (alpha + n)[g] / A
    table = None
    if predictions is not None and (columns.id or columns.by or columns.value):
        table = _unaudited(case, predictions, test_set, columns)
    if table is not None:
        units = np.bincount(table.h, minlength=case.K)
        U, W = (np.asarray(np.bincount(table.h, x, case.K), float) for x in (table.y, table.y**2))
        tops = None
        if columns.value is not None:
            order = np.argsort(-np.abs(table.y), kind="stable")[:count]
            tops = table.h[order], table.y[order]
    else:
        units, tops = np.maximum(case.v_hat - n.sum(axis=0).astype(np.int64), 0), None
        left = units / np.maximum(case.v_hat, 1)
        U, W = (left * x for x in case.sums(rng))
    choice = choose(count, c, A, units, U, W, tops)
    rows = _rows(case, choice, table, rng)
    before, after = np.sqrt([choice.before, choice.after])
    notes = [
        f"They would bring the standard deviation from about {before:,.4g} to {after:,.4g}. That "
        "is an approximate formula; a plan with `half_width` simulates the method itself."
    ]
    if choice.largest.any():
        notes.append(
            "The largest units are chosen, not drawn: they say nothing about the error rates of "
            "the others. Take them out of both tables before `correct`, and add their values to "
            "the totals of their true classes afterwards."
        )
    if case.totals and tops is None:
        notes.append("To name the largest units, a plan needs a table and `value`.")
    return rows, notes


def _unaudited(case: Case, predictions: Any, test_set: Any, columns: Columns) -> _Units:
    """Read the units that may be chosen: their ids are needed, so this is one row per unit."""
    from trueup.read import open_table
    from trueup.read.table import is_missing, require_columns

    population = open_table(predictions, "predictions")
    names = [columns.predicted, *([columns.id] if columns.id else []), *columns.by]
    require_columns(population, names)
    rows = population.rows(names, value=columns.value)
    if test_set is not None and columns.id:
        audited = open_table(test_set, "the test set")
        require_columns(audited, [columns.id])
        known = {row[0] for row in audited.rows([columns.id])}
        rows = [row for row in rows if row[1] not in known]
    place = {label: h for h, label in enumerate(case.classes)}
    y = np.ones(len(rows))
    if columns.value:
        y = np.array([np.nan if is_missing(row[-1]) else float(row[-1]) for row in rows])
    usable = [i for i, row in enumerate(rows) if row[0] in place and np.isfinite(y[i])]
    rows = [rows[i] for i in usable]
    first = 2 if columns.id else 1
    groups = [row[first : first + len(columns.by)] for row in rows]
    return _Units(
        np.array([place[row[0]] for row in rows], dtype=np.int64),
        y[usable],
        [row[1] for row in rows] if columns.id else None,
        [group[0] if len(group) == 1 else group for group in groups] if columns.by else None,
    )


def _rows(
    case: Case, choice: Choice, table: _Units | None, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return a row per predicted class, way of choosing and group."""
    rows: list[dict[str, Any]] = []
    for h, label in enumerate(case.classes):
        many, few = int(choice.random[h]), int(choice.largest[h])
        if table is None:
            rows += [_row(label, None, RANDOM, many)] if many else []
            continue
        members = np.flatnonzero(table.h == h)
        order = members[np.argsort(-np.abs(table.y[members]), kind="stable")]
        rows += _spread(label, LARGEST, order[:few], table)
        rest = order[few:]
        if table.ids is not None and many:
            rows += _spread(label, RANDOM, rng.choice(rest, many, replace=False), table)
        elif many:  # at random within the predicted class: in proportion to the groups
            sizes = Counter([None] if table.group is None else [table.group[i] for i in rest])
            shares = largest_remainder(list(sizes.values()), many).tolist()
            rows += [_row(label, g, RANDOM, k) for g, k in zip(sizes, shares, strict=True) if k]
    return rows


def _spread(label: Hashable, chosen: str, units: Integers, table: _Units) -> list[dict[str, Any]]:
    """Return one row for each group that the units fall in."""
    groups: dict[Hashable, list[int]] = {}
    for i in units:
        groups.setdefault(None if table.group is None else table.group[i], []).append(int(i))
    ids, y = table.ids, np.abs(table.y)
    return [
        _row(label, group, chosen, len(at))
        | {
            "at_least": float(y[at].min()) if chosen == LARGEST else None,
            "ids": None if ids is None else [ids[i] for i in at],
        }
        for group, at in groups.items()
    ]


def _row(label: Hashable, group: Hashable, chosen: str, units: int) -> dict[str, Any]:
    names = {"predicted": label, "group": group, "chosen": chosen, "units": units}
    return names | {"at_least": None, "ids": None}
