"""Bands of the value within groups: the whole's own, a few side by side, counted in one scan."""

from bisect import bisect_right
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueup.count.bands import cell_counts, fitting, lowest, merge_bands, merged
from trueup.count.counts import Counts, split
from trueup.count.matched import Both
from trueup.count.parts import Figures, GroupBands, Label, Parts, figures_of, sorted_labels
from trueup.count.scores import most_bands, score_bands
from trueup.errors import DataError
from trueup.numerics.arrays import Floats, Integers
from trueup.numerics.levels import find_levels
from trueup.read.table import NEGATIVE, ZERO, Tally

MOST_BANDS, LEAST_BANDS = 8, 2
"""Groups have at most 8 bands: what is left within a band, the whole's own total corrects."""
MOST_COLUMNS = 600
MOST_NUMBERS = 16_000
"""Rates of cells on each draw, K × K × bands, and numbers of all groups on each draw, those times
the groups: with two classes 8 bands for 500 groups, with five classes for 80."""


def count_group_bands(both: Both, groups: Parts, whole: Counts) -> GroupBands | None:
    """Count every group by predicted class and band of the value.

    Where the values of groups are on different levels, bands are of the value relative to them.
    None if the whole has no bands, if there are too many groups or classes, or if the audited
    values do not fit into the population's cells. Every group is in one audit stratum; where the
    whole has several, and bands in each, those of groups are made of pieces of them.
    """
    columns, cells, name = both.columns, whole.bands, "trueup band"
    value = columns.value
    B, K = len(groups.labels), whole.K
    if cells is None or cells.edges is None or cells.u_hat is None or value is None:
        return None
    most = min(MOST_BANDS, MOST_COLUMNS // K**2, MOST_NUMBERS // (B * K**2))
    if most < LEAST_BANDS:
        return None
    banded = both.made(lambda table: table.banded(name, value, cells.phase), groups.placed)
    tables = Tables(banded, groups, name)
    every, audited = tables.every, tables.audited
    level = every.levels(B) if audited is not None else np.zeros(B, np.int64)
    found, seen = every, audited
    if level.any() and audited is not None:
        found, seen = every.above(level), audited.above(level)
    own, pieces, moved = cells, Pieces(), False
    if cells.strata > 1:
        edges = found.edges(most)
        pieces = found.pieces(every.inside(cells.edges), edges, (K, cells.v_hat.size // K))
        every, audited = found, seen
    else:
        if level.any() and seen is not None:
            relative = cell_counts(found.alone(), seen.alone(), whole)
            relative = fitting(relative, both.overlap)
            if relative is not None and relative.edges is not None:
                every, audited, own, moved = found, seen, relative, True
        assert own.edges is not None
        starts = _merged(own, K, most)
        edges = np.array([own.edges[0][i - 1] for i in starts[1:]])
        pieces = Pieces(starts * own.score_bands)
    every, audited = every.binned(edges), None if audited is None else audited.binned(edges)
    counts = _counts(every, audited, groups, len(edges) + 1)
    try:
        split(counts, both.overlap)
    except DataError:
        return None
    return GroupBands(counts, labels=K, relative=own if moved else None, **pieces._asdict())


def count_group_strata(both: Both, groups: Parts, whole: Counts) -> GroupBands | None:
    """Count every group by predicted class and by the audit strata that cut through groups.

    The audited units of a group and predicted class that are in one stratum are a random sample of
    it. So strata within which a group lies as a whole are no labels of their own.
    """
    columns, cells = both.columns, whole.bands
    within = [i for i, name in enumerate(columns.drawn_within) if name not in columns.by]
    if not within:
        return count_group_bands(both, groups, whole)
    assert cells is not None
    tables = Tables(both, groups)
    every, audited = tables.every, tables.audited
    cut = [tuple(label[i] for i in within) for label in tables.strata]
    labels = sorted_labels(cut)
    label = np.array([labels.index(x) for x in cut])
    every = every._replace(band=label[every.stratum])
    if len({*zip(every.group.tolist(), every.band.tolist(), strict=True)}) == len(groups.labels):
        return count_group_bands(both, groups, whole)
    J, K = len(labels), whole.K
    known = None if audited is None else audited._replace(band=label[audited.stratum])
    counts = _counts(every, known, groups, J)
    split(counts, both.overlap, [" / ".join(map(str, label)) for label in groups.labels])
    each = np.repeat(label, cells.v_hat.size // (K * len(label)))  # the label of each of its bands
    pieces = np.argsort(each, kind="stable")
    starts = np.searchsorted(each[pieces], np.arange(J))
    return GroupBands(counts, starts, K * J, alike=False, pieces=pieces)


def group_score_bands(
    population: Figures,
    audited: Figures,
    groups: Parts,
    whole: Counts,
    overlap: bool,
    drawn_bands: int = 0,
    from_population: bool = True,
) -> GroupBands | None:
    """Put groups into the whole's bands of the score, from figures and their fine bands."""
    cells = whole.bands
    if cells is None or cells.score_bands == 1:
        return None
    B, K = len(groups.labels), whole.K
    most = most_bands(int(audited.units.sum()), False, from_population, drawn_bands)
    band, own, S = score_bands(population, audited, K, most)
    place = {label: i for i, label in enumerate(groups.labels)}

    def add(figures: Figures, cell: Integers) -> Integers:
        rows = (K,) if len(figures.at) == 2 else ()
        at = np.array([place.get(part, -1) for part in figures.parts], dtype=np.int64)
        found = figures.added((at, *figures.at, cell), (B, *rows, K, S))[0]
        return np.asarray(found.reshape(B, *rows, K * S))

    n = add(audited, own) if groups.placed else np.zeros((B, K, K * S), np.int64)
    counts = replace(groups.counts, n=n, v_hat=add(population, band))
    split(counts, overlap)
    return GroupBands(counts, np.arange(S), K * S)


def _merged(cells: Counts, K: int, most: int) -> Integers:
    """Merge the whole's bands into at most about `most`; return the first band of each."""
    assert cells.u_hat is not None
    S = cells.score_bands
    units, sums = (x.reshape(K, -1, S).sum(axis=(0, 2)) for x in (cells.v_hat, cells.u_hat))
    i = np.arange(len(units))
    codes = np.where(sums < 0, NEGATIVE + i, np.where(sums == 0, ZERO, i))
    band = merge_bands(codes, units, sums, most)
    return np.flatnonzero(np.diff(band, prepend=-1))


class Pieces(NamedTuple):
    """How the whole's bands make up those of groups; see `GroupBands`."""

    starts: Integers = np.zeros(1, np.int64)
    pieces: Integers | None = None
    weight: Floats | None = None


class Rows(NamedTuple):
    """A group-by of groups: for each row its group, its audit stratum and its band.

    The group is below 0 if the population does not have it.
    """

    group: Integers
    stratum: Integers
    band: Integers
    figures: Figures

    def levels(self, B: int) -> Integers:
        """Return the fine bands by which values of each group lie above those of all.

        A unit of a dear region is not large because of its class. All are 0 where values are
        negative, or levels do not differ.
        """
        found = np.zeros(B, np.int64)
        rows = np.flatnonzero(self.band != ZERO)
        if B > 1 and len(rows) and not (self.band > NEGATIVE // 2).any():
            each = (self.group, self.figures.at[-1], self.band, self.figures.units)
            some = find_levels(*(x[rows] for x in each))
            found[: len(some)] = some
        return found

    def above(self, level: Integers) -> "Rows":
        """Return the rows with bands of the value relative to the level of their group."""
        moved = self.band - np.append(level, 0)[self.group]
        return self._replace(band=np.where(self.band == ZERO, ZERO, moved))

    def alone(self) -> Figures:
        """Return the rows as those of the whole, with bands."""
        return replace(self.figures, parts=[()] * len(self.band), band=self.band)

    def values(self) -> Floats:
        """Return the value above which the fine band of each row begins."""
        begin = {band: lowest(band) for band in np.unique(self.band).tolist()}
        return np.array([begin[band] for band in self.band.tolist()])

    def binned(self, edges: Floats) -> "Rows":
        """Return the rows with the number of edges that a fine band is above."""
        return self._replace(band=np.searchsorted(edges, self.values(), side="right"))

    def inside(self, edges: tuple[tuple[float, ...], ...]) -> Integers:
        """Return the cell of each row in its predicted class: strata, and bands of each."""
        B, values = 1 + max(map(len, edges)), self.values()
        each = zip(self.stratum.tolist(), values.tolist(), strict=True)
        return np.array([j * B + bisect_right(edges[j], y) for j, y in each], dtype=np.int64)

    def edges(self, most: int) -> Floats:
        """Return the least values of all bands but the first, of at most about `most`."""
        return np.array(merged(self.band, self.figures.units, self.figures.sums, most)[1])

    def pieces(self, cell: Integers, edges: Floats, shape: tuple[int, int]) -> Pieces:
        """Cut the whole's cells, that of each row, at the edges: (predicted class, cells).

        A cell's units are alike, so a piece has its part of them whatever their true class.
        """
        band, size = self.binned(edges).band, shape[1]
        which, at = np.unique(band * size + cell, return_inverse=True)
        units = np.zeros((shape[0], len(which)))
        np.add.at(units, (self.figures.at[-1], at), self.figures.units)
        every = np.zeros(shape)
        np.add.at(every, (self.figures.at[-1], cell), self.figures.units)
        weight = units / np.maximum(every[:, which % size], 1)
        starts = np.searchsorted(which // size, np.arange(len(edges) + 1))
        return Pieces(starts, which % size, weight)


class Tables:
    """Both tables in rows by group, audit stratum and, with its name, band of the value."""

    def __init__(self, both: Both, groups: Parts, band: str | None = None) -> None:
        columns = both.columns
        keys = [*dict.fromkeys((*columns.by, *columns.drawn_within))]  # a group may be a stratum
        self.groups, self.at = groups, [keys.index(name) for name in columns.drawn_within]
        self.parts = len(keys)
        keys += [band] if band else []
        every = both.every(keys)
        self.strata = sorted_labels(map(self._stratum, every.keys))
        self.every = self._rows(every, band is not None)
        self.audited = None
        if groups.placed:
            self.audited = self._rows(both.audited(keys), band is not None)

    def _stratum(self, key: Label) -> Label:
        return tuple(key[i] for i in self.at)

    def _rows(self, tally: Tally, banded: bool) -> Rows:
        """Return a tally by (*by, *strata, [band,] [true,] predicted) in numbers."""
        groups, B = self.groups, len(self.groups.columns)
        axes = [groups.counts.classes] * (len(tally.keys[0]) - self.parts - banded)
        figures = figures_of(tally, *axes, parts=self.parts, band=banded)
        place: dict[Label, int] = {label: i for i, label in enumerate(groups.labels)}
        strata: dict[Label, int] = {label: j for j, label in enumerate(self.strata)}
        group = np.array([place.get(part[:B], -1) for part in figures.parts], dtype=np.int64)
        stratum = np.array([strata[self._stratum(x)] for x in figures.parts], dtype=np.int64)
        band = np.zeros_like(group) if figures.band is None else figures.band
        return Rows(group, stratum, band, figures)


def _counts(every: Rows, audited: Rows | None, groups: Parts, b: int) -> Counts:
    """Put both tables into arrays, with b bands side by side in each predicted class."""
    counts = groups.counts
    B, K = len(groups.labels), counts.K

    def add(rows: Rows) -> list[Any]:
        axes = rows.figures.at
        found = rows.figures.added((rows.group, *axes, rows.band), (B, *[K] * len(axes), b))
        return [x.reshape(*x.shape[:-2], K * b) for x in found]

    none = [np.zeros((B, K, K * b), np.int64), None, None]
    return counts.holding(add(every), none if audited is None else add(audited))
