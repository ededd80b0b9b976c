"""The bag of counts, split over groups and strata."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.count.counts import Counts, make_counts
from trueup.count.names import Columns, check_classes
from trueup.numerics.arrays import Floats, Integers
from trueup.read.table import Tally

Label = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Figures:
    """A group-by in numbers: for each of its rows a part, its classes, units, Σy and Σy².

    And, if these were counted, the fine bands of its value and of its score.
    """

    parts: list[Label]
    at: tuple[Integers, ...]
    units: Integers
    sums: Floats
    squares: Floats
    band: Integers | None = None
    score: Integers | None = None

    def added(self, at: tuple[Integers, ...], shape: tuple[int, ...]) -> list[Any]:
        """Add up units, Σy and Σy² at these places of an array; one below 0 is no place.

        The order of rows differs from one scan to the next: the least is added first, so that the
        last digit of a sum does not.
        """
        placed, found = np.flatnonzero(at[0] >= 0), []
        for x in (self.units, self.sums, self.squares):
            total = np.zeros(shape, x.dtype)
            order = placed[np.argsort(x[placed], kind="stable")]
            np.add.at(total, tuple(axis[order] for axis in at), x[order])
            found.append(total)
        return found

    def unbanded(self) -> Figures:
        """Return the figures without the bands of the value."""
        return replace(self, band=None)

    def merged(self) -> Figures:
        """Return the figures of the whole, in one part, each sum rounded once."""
        rows: dict[tuple[int, ...], list[int]] = {}
        for i, key in enumerate(zip(*(axis.tolist() for axis in self.at), strict=True)):
            rows.setdefault(key, []).append(i)
        at = tuple(np.array(axis, dtype=np.int64) for axis in zip(*rows, strict=True))
        units = np.array([self.units[row].sum() for row in rows.values()], dtype=np.int64)
        sums, squares = (
            np.array([math.fsum(x[row]) for row in rows.values()])
            for x in (self.sums, self.squares)
        )
        return Figures([()] * len(rows), at, units, sums, squares)


@dataclass(frozen=True, eq=False)
class Parts:
    """Counts of B parts of the population."""

    columns: tuple[str, ...]  # whose labels tell the parts apart
    labels: list[Label]  # a label of each column per part; rows without one have None
    counts: Counts  # parts stand on the first axis
    placed: bool  # whether the test units are known to be in these parts; if not, `counts` has none


@dataclass(frozen=True, eq=False)
class GroupBands:
    """Counts of groups by cell (B, L·b), and the first band of the whole in each of the b bands.

    Bands of the value belong to one label. Audit strata (`drawn_within`) that cut through groups
    and bands of the score are `labels` of their own, K times as many as there are of them; audited
    units are `alike` those of their group, but not where strata cut through it. Where the values of
    groups are on different levels, bands are `relative` to them: these are the cells of the whole
    in such bands. The whole's bands need not stand side by side: `pieces` are those that `starts`
    counts, and `weight` (L, pieces) is the part of its units that each holds.
    """

    counts: Counts
    starts: Integers
    labels: int
    alike: bool = True
    relative: Counts | None = None
    pieces: Integers | None = None
    weight: Floats | None = None

    def merged(self, theta: Floats) -> Floats:
        """Add up the whole's cells (…, L, bands) to those of groups (…, L·b)."""
        if self.pieces is not None:
            theta = theta[..., self.pieces]
        if self.weight is not None:
            theta = theta * self.weight
        found = np.add.reduceat(theta, self.starts, axis=-1)
        return np.asarray(found.reshape(*found.shape[:-2], -1))


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Both tables in numbers: the whole, and its parts.

    Without `by` there is one group, without `strata` one stratum, with label ``()``. The test units
    of strata are there even where those of groups are not.
    """

    whole: Counts  # the sums over all parts
    cells: Parts  # a part per combination of stratum and group that the population holds
    groups: Parts  # the sums of `cells` over strata
    strata: Parts  # the sums of `cells` over groups
    group: Integers  # (C,) which group and which stratum each cell is in
    stratum: Integers
    unplaced: dict[Label, int]  # audited units in parts that the population lacks: in `whole` only
    warnings: list[str]  # what the user should know about these tables
    banded: GroupBands | None = None  # the groups once more, by cell of the value

    def named(self) -> dict[str, Parts]:
        """Return the groups and the strata that hold audited units, by the names of columns."""
        both = (part for part in (self.groups, self.strata) if part.columns and part.placed)
        return {", ".join(map(repr, part.columns)): part for part in both}


def assemble(
    population: Figures,
    audited: Figures,
    classes: Sequence[Hashable],
    names: Columns,
    *,
    placed: bool,
    valued: bool,
    signed: bool,
    warnings: list[str],
    columns: tuple[Hashable, ...] | None = None,
) -> GroupCounts:
    """Put the figures of both tables into arrays; `columns` are predicted labels, if not classes.

    The population's parts are (*strata, *by); so are those of the audited units when they are
    `placed` in groups, otherwise (*strata). Their values are known if they are `valued`.
    """
    strata, by, totals = names.strata, names.by, names.value is not None
    K, S, L = len(classes), len(strata), len(columns or classes)
    check_classes(tuple(classes), K)
    cells = sorted_labels(population.parts)

    def parts(of: tuple[str, ...], take: slice, test: bool) -> tuple[Parts, dict[Label, int]]:
        """Sum over all columns but those taken."""
        labels = sorted_labels({label[take] for label in cells})
        index = {label: b for b, label in enumerate(labels)}
        b = np.array([index[label[take]] for label in population.parts])
        v_hat, *sums = population.added((b, *population.at), (len(labels), L))
        n = np.zeros((len(labels), K, L), dtype=np.int64)
        test_sums: list[Floats | None] = [None, None]
        lost: dict[Label, int] = {}
        if test:
            b = np.array([index.get(label[take], -1) for label in audited.parts], dtype=np.int64)
            for row in np.flatnonzero(b < 0):
                label = audited.parts[row]
                lost[label] = lost.get(label, 0) + int(audited.units[row])
            n, *known = audited.added((b, *audited.at), n.shape)
            test_sums = known if valued else test_sums
        u_hat, w_hat, t, t2 = [*sums, *test_sums] if totals else [None] * 4
        figures = (n, v_hat, u_hat, w_hat, t, t2)
        counts = Counts(tuple(classes), *figures, signed, columns=columns)
        return Parts(of, labels, counts, test), lost

    def whole() -> Counts:
        """Sum over everything, each sum rounded once."""
        n, *known = audited.added(audited.at, (K, L))
        test_sums = known if valued else [None, None]
        rows = [np.flatnonzero(population.at[0] == h) for h in range(L)]
        v_hat = [population.units[row].sum() for row in rows]
        if not totals:
            return make_counts(n, v_hat, classes=classes, predicted_classes=columns)
        sums = ([math.fsum(x[row]) for row in rows] for x in (population.sums, population.squares))
        figures = (n, v_hat, *sums, *test_sums)
        return make_counts(*figures, classes=classes, predicted_classes=columns, signed=signed)

    by_stratum, lost = parts(strata, slice(0, S), True)
    by_group, _ = parts(by, slice(S, None), placed)
    by_cell, lost_cells = parts((*strata, *by), slice(0, None), placed)
    group_of = {label: b for b, label in enumerate(by_group.labels)}
    stratum_of = {label: b for b, label in enumerate(by_stratum.labels)}
    return GroupCounts(
        whole=whole(),
        cells=by_cell,
        groups=by_group,
        strata=by_stratum,
        group=np.array([group_of[label[S:]] for label in cells], dtype=np.int64),
        stratum=np.array([stratum_of[label[:S]] for label in cells], dtype=np.int64),
        unplaced=lost_cells if placed else lost,
        warnings=warnings,
    )


def figures_of(
    tally: Tally,
    *axes: Sequence[Hashable],
    parts: int = 1,
    band: bool = False,
    score: bool = False,
) -> Figures:
    """Return the rows of a tally in numbers.

    Its last keys are in these lists of labels, those before them a fine `band` of the value and one
    of the `score`, if it has them; of the others the first `parts` say in which part a row is.
    """
    place = [{label: g for g, label in enumerate(labels)} for labels in axes]
    keys = [key[-len(axes) :] for key in tally.keys]
    at = np.array([[p[x] for p, x in zip(place, key, strict=True)] for key in keys], np.int64)
    last = -len(axes) - 1
    fine = [
        np.array([key[i] for key in tally.keys], np.int64) if some else None
        for i, some in ((last - score, band), (last, score))
    ]
    found = tally.units, tally.sums, tally.squares
    return Figures([key[:parts] for key in tally.keys], tuple(at.T), *found, *fine)


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Sort labels, None last; dates and times may be mixed."""
    return sorted(set(labels), key=lambda label: [_order(x) for x in label])


def _order(x: Hashable) -> tuple[bool, Hashable]:
    return (x is None, x.isoformat() if isinstance(x, datetime.date) else "" if x is None else x)
