"""Bands of the value within groups: the whole's own, a few side by side, counted in one scan."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueup.count.bands import cell_counts, fitting, lowest, merge_bands
from trueup.count.counts import Counts, split
from trueup.count.matched import Both
from trueup.count.parts import Figures, GroupBands, Parts, sorted_labels
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
    values do not fit into the population's cells.
    """
    columns, cells, name = both.columns, whole.bands, "trueup band"
    value = columns.value
    B, K = len(groups.labels), whole.K
    if cells is None or cells.edges is None or cells.u_hat is None or value is None:
        return None
    most = min(MOST_BANDS, MOST_COLUMNS // K**2, MOST_NUMBERS // (B * K**2))
    if most < LEAST_BANDS:
        return None
    population, test_set = both.population.banded(name, value), both.test_set
    if groups.placed and columns.id is None:
        test_set = test_set.banded(name, value)
    both, keys = replace(both, population=population, test_set=test_set), [*columns.by, name]
    every, audited = _rows(both.every(keys), groups), None
    found, own, moved = every, cells, False
    if groups.placed:
        audited = seen = _rows(both.audited(keys), groups)
        level = every.levels(B)
        if level.any():
            found, seen = every.above(level), audited.above(level)
            cells = cell_counts(found.alone(), seen.alone(), whole, banded=True)
            cells = fitting(cells, both.overlap)
            moved = cells is not None and cells.edges is not None
    if moved and cells is not None:
        every, audited, own = found, seen, cells
    assert own.edges is not None
    starts = _merged(own, K, most)
    edges = np.array([own.edges[i - 1] for i in starts[1:]])
    every, audited = every.binned(edges), None if audited is None else audited.binned(edges)
    counts = _counts(every, audited, groups, len(starts))
    try:
        split(counts, both.overlap)
    except DataError:
        return None
    return GroupBands(counts, starts * own.score_bands, K, relative=own if moved else None)


def count_group_strata(both: Both, groups: Parts, whole: Counts) -> GroupBands:
    """Count every group by predicted class and audit stratum."""
    columns, cells = both.columns, whole.bands
    within = columns.drawn_within
    assert cells is not None
    keys = [*dict.fromkeys((*columns.by, *within))]  # a group may be a stratum
    every, audited = both.every(keys), both.audited(keys) if groups.placed else None
    at = [keys.index(name) for name in within]
    labels = sorted_labels(tuple(key[i] for i in at) for key in every.keys)
    stratum = {label: j for j, label in enumerate(labels)}

    def numbered(tally: Tally) -> Rows:
        """Replace the columns of the stratum by its number, as if it were a band."""
        group, classes = slice(len(columns.by)), slice(len(keys), None)
        found = [stratum[tuple(key[i] for i in at)] for key in tally.keys]
        rows = [(*key[group], j, *key[classes]) for key, j in zip(tally.keys, found, strict=True)]
        return _rows(replace(tally, keys=rows), groups)

    J, K = len(labels), whole.K
    size = cells.v_hat.size // K
    known = None if audited is None else numbered(audited)
    counts = _counts(numbered(every), known, groups, J)
    split(counts, both.overlap, [" / ".join(map(str, label)) for label in groups.labels])
    return GroupBands(counts, np.arange(J) * (size // J), K * J, alike=False)


def group_score_bands(
    population: tuple[Figures, Integers],
    audited: tuple[Figures, Integers],
    groups: Parts,
    whole: Counts,
    overlap: bool,
    drawn_bands: int = 0,
    from_population: bool = True,
) -> GroupBands | None:
    """Put groups into the whole's bands of the score, from figures and their fine bands."""
    cells, (every, fine), (test, seen) = whole.bands, population, audited
    if cells is None or cells.score_bands == 1:
        return None
    B, K = len(groups.labels), whole.K
    most = most_bands(int(test.units.sum()), False, from_population, drawn_bands)
    band, own, S = score_bands(every, fine, test, seen, K, most)
    place = {label: i for i, label in enumerate(groups.labels)}

    def add(figures: Figures, cell: Integers) -> Integers:
        rows = (K,) if len(figures.at) == 2 else ()
        at = np.array([place.get(part, -1) for part in figures.parts], dtype=np.int64)
        found = figures.added((at, *figures.at, cell), (B, *rows, K, S))[0]
        return np.asarray(found.reshape(B, *rows, K * S))

    n = add(test, own) if groups.placed else np.zeros((B, K, K * S), np.int64)
    counts = replace(groups.counts, n=n, v_hat=add(every, band))
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


class Rows(NamedTuple):
    """A group-by of groups: for each row its group, below 0 if it has none, and its band."""

    group: Integers
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
        return replace(self.figures, parts=[(int(band),) for band in self.band])

    def binned(self, edges: Floats) -> "Rows":
        """Return the rows with the number of edges that a fine band is above."""
        begin = {band: lowest(band) for band in np.unique(self.band).tolist()}
        values = np.array([begin[band] for band in self.band.tolist()])
        return self._replace(band=np.searchsorted(edges, values, side="right"))


def _rows(tally: Tally, groups: Parts) -> Rows:
    """Return a tally by (*by, band, [true,] predicted) in numbers."""
    place: dict[Hashable, int] = {label: i for i, label in enumerate(groups.labels)}
    at: dict[Hashable, int] = {label: g for g, label in enumerate(groups.counts.classes)}
    B = len(groups.columns)
    group = np.array([place.get(key[:B], -1) for key in tally.keys], dtype=np.int64)
    band = np.array([key[B] for key in tally.keys], dtype=np.int64)
    classes = np.array([[at[x] for x in key[B + 1 :]] for key in tally.keys], dtype=np.int64)
    figures = Figures([()] * len(group), tuple(classes.T), tally.units, tally.sums, tally.squares)
    return Rows(group, band, figures)


def _counts(every: Rows, audited: Rows | None, groups: Parts, b: int) -> Counts:
    """Put both tables into arrays, with b bands side by side in each predicted class."""
    counts = groups.counts
    B, K = len(groups.labels), counts.K

    def add(rows: Rows) -> list[Any]:
        axes = rows.figures.at
        found = rows.figures.added((rows.group, *axes, rows.band), (B, *[K] * len(axes), b))
        return [x.reshape(*x.shape[:-2], K * b) for x in found]

    v_hat, u_hat, w_hat = add(every)
    n, t, t2 = np.zeros((B, K, K * b), np.int64), None, None
    if audited is not None:
        n, t, t2 = add(audited)
    if counts.t is None:
        t = t2 = None
    if not counts.totals:
        u_hat = w_hat = None
    return replace(counts, n=n, v_hat=v_hat, u_hat=u_hat, w_hat=w_hat, t=t, t2=t2)
