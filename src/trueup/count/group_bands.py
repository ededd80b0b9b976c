"""Bands of the value within groups: the whole's own, a few side by side, counted in one scan."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.count.bands import merge_bands
from trueup.count.counts import Counts, split
from trueup.count.matched import Both
from trueup.count.parts import Figures, GroupBands, Parts, sorted_labels
from trueup.count.scores import most_bands, score_bands
from trueup.errors import DataError
from trueup.numerics.arrays import Integers
from trueup.read.table import NEGATIVE, ZERO, Tally

MOST_BANDS, LEAST_BANDS = 8, 2
"""Groups have at most 8 bands: what is left within a band, the whole's own total corrects."""
MOST_COLUMNS = 600
MOST_NUMBERS = 16_000
"""Rates of cells on each draw, K × K × bands, and numbers of all groups on each draw, those times
the groups: with two classes 8 bands for 500 groups, with five classes for 80."""


def count_group_bands(both: Both, groups: Parts, whole: Counts) -> GroupBands | None:
    """Count every group by predicted class and band of the value.

    None if the whole has no bands, if there are too many groups or classes, or if the audited
    values do not fit into the population's cells.
    """
    columns, cells, name = both.columns, whole.bands, "trueup bin"
    value = columns.value
    B, K = len(groups.labels), whole.K
    if cells is None or cells.edges is None or cells.u_hat is None or value is None:
        return None
    most = min(MOST_BANDS, MOST_COLUMNS // K**2, MOST_NUMBERS // (B * K**2))
    if most < LEAST_BANDS:
        return None
    starts = _merged(cells, K, most)
    edges = [cells.edges[i - 1] for i in starts[1:]]
    population, test_set = both.population.binned(name, value, edges), both.test_set
    if groups.placed and columns.id is None:
        test_set = test_set.binned(name, value, edges)
    both, keys = replace(both, population=population, test_set=test_set), [*columns.by, name]
    every, audited = both.every(keys), both.audited(keys) if groups.placed else None
    counts = _counts(every, audited, groups, len(starts))
    try:
        split(counts, both.overlap)
    except DataError:
        return None
    return GroupBands(counts, starts * cells.score_bands, K)


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

    def numbered(tally: Tally) -> Tally:
        """Replace the columns of the stratum by its number, as if it were a band."""
        group, classes = slice(len(columns.by)), slice(len(keys), None)
        found = [stratum[tuple(key[i] for i in at)] for key in tally.keys]
        rows = [(*key[group], j, *key[classes]) for key, j in zip(tally.keys, found, strict=True)]
        return replace(tally, keys=rows)

    every, audited = numbered(every), None if audited is None else numbered(audited)
    J, K = len(labels), whole.K
    size = cells.v_hat.size // K
    counts = _counts(every, audited, groups, J)
    split(counts, both.overlap, [" / ".join(map(str, label)) for label in groups.labels])
    return GroupBands(counts, np.arange(J) * (size // J), K * J, alike=False)


def group_score_bands(
    population: tuple[Figures, Integers],
    audited: tuple[Figures, Integers],
    groups: Parts,
    whole: Counts,
    overlap: bool,
    drawn_bands: int = 0,
) -> GroupBands | None:
    """Put groups into the whole's bands of the score, from figures and their fine bands."""
    cells, (every, fine), (test, seen) = whole.bands, population, audited
    if cells is None or cells.score_bands == 1:
        return None
    B, K = len(groups.labels), whole.K
    most = most_bands(int(test.units.sum()), False, True, drawn_bands)
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


def _counts(every: Tally, audited: Tally | None, groups: Parts, b: int) -> Counts:
    """Put both tallies, by (*by, bin, [true,] predicted), into arrays."""
    counts = groups.counts
    B, K = len(groups.labels), counts.K
    place: dict[Hashable, int] = {label: i for i, label in enumerate(groups.labels)}
    at: dict[Hashable, int] = {label: g for g, label in enumerate(counts.classes)}

    def add(tally: Tally, true: bool) -> list[Any]:
        shape = (B, K, K, b) if true else (B, K, b)
        cut = -3 if true else -2
        found = [np.zeros(shape, x.dtype) for x in (tally.units, tally.sums, tally.squares)]
        for row, key in enumerate(tally.keys):
            where = place.get(key[:cut])
            if where is not None:
                cell: Any = (where, *(at[x] for x in key[cut + 1 :]), key[cut])
                for total, x in zip(found, (tally.units, tally.sums, tally.squares), strict=True):
                    total[cell] += x[row]
        return [x.reshape(*x.shape[:-2], K * b) for x in found]

    v_hat, u_hat, w_hat = add(every, False)
    n, t, t2 = np.zeros((B, K, K * b), np.int64), None, None
    if audited is not None:
        n, t, t2 = add(audited, True)
    if counts.t is None:
        t = t2 = None
    if not counts.totals:
        u_hat = w_hat = None
    return replace(counts, n=n, v_hat=v_hat, u_hat=u_hat, w_hat=w_hat, t=t, t2=t2)
