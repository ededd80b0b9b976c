"""Bands of value and score: from the fine bands of one scan to the few that cells are made of."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.count.counts import Counts, split
from trueup.count.parts import Figures, sorted_labels
from trueup.count.scores import in_score_order, most_bands, score_bands
from trueup.errors import DataError
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers
from trueup.read.table import LEAST_VALUE, NEGATIVE, ZERO, score_of

MOST_CLASSES = 20
"""Learning the columns takes 3 s of processor time at 15 classes and 15 s at 20."""
MOST_BANDS, MOST_CELLS, LEAST_BANDS, FEWEST = 24, 60, 8, 12
"""24 bands, or with many classes 60/K, but at least 8; within J audit strata 60/KJ, but at least 12
of each. Class and value still go together within a band that is too wide: with 16 bands for two
classes where class means differ a hundredfold, with 4 in eight strata where they differ twofold."""

SCORED_BANDS = 12
"""Bands of the value at most, when the score has bands too."""


def cell_counts(
    population: Figures,
    audited: Figures,
    whole: Counts,
    *,
    fineness: int = 0,
    from_population: bool = True,
    drawn_bands: int = 0,
) -> Counts | None:
    """Return the counts by cell: L·J·B·S columns, those of one predicted label side by side.

    A part of the figures is an audit stratum (none without `drawn_within`). Its fine bands of the
    value, if it has any, are merged within each stratum, and with a `fineness` those of the score
    within each predicted label (`read.table`).
    None if the audited units do not fit into the population's cells, as when their values differ
    from the population's, if there is only one cell per label, or with bands and many classes.
    """
    K, L, banded = whole.K, whole.L, population.band is not None
    if (banded or fineness) and K > MOST_CLASSES:
        return None
    score, S = None, 1
    s, own = (np.zeros(len(x.parts), dtype=np.int64) for x in (population, audited))
    if fineness:
        most = most_bands(int(audited.units.sum()), banded, from_population, drawn_bands)
        s, own, S = score_bands(population, audited, L, most)
        score = score_of(in_score_order(population.score), fineness)
    strata = {label: j for j, label in enumerate(sorted_labels(population.parts))}
    J = len(strata)
    at = np.array([strata[label] for label in population.parts], dtype=np.int64)
    where = np.array([strata.get(x, -1) for x in audited.parts], dtype=np.int64)
    if (where < 0).any():
        return None
    cell, seen, B, edges = at * 0, where * 0, 1, None
    if banded:
        most = int(np.clip(MOST_CELLS // (K * J), LEAST_BANDS if J == 1 else FEWEST, MOST_BANDS))
        most = min(most, SCORED_BANDS) if fineness else most
        cell, seen, B, edges = _bands(population, audited, at, where, J, most)
    if J * B * S == 1 or (seen < 0).any() or (own < 0).any():
        return None

    def add(figures: Figures, *rest: Integers) -> list[Any]:
        rows = (K,) if len(figures.at) == 2 else ()
        found = figures.added((*figures.at, *rest), (*rows, L, J, B, S))
        return [x.reshape(*rows, L * J * B * S) for x in found]

    found = whole.holding(add(population, at, cell, s), add(audited, where, seen, own))
    if score is not None:
        each = np.asarray(population.units * np.clip(score, -1e200, 1e200), dtype=np.float64)
        weighed = replace(population, sums=each)
        score = add(weighed, at, cell, s)[1] / np.maximum(found.v_hat, 1)
    return replace(found, bands=None, strata=J, score=score, score_bands=S, edges=edges)


def fitting(cells: Counts | None, overlap: bool) -> Counts | None:
    """Return cells that hold their audited units: not if values are not the population's."""
    try:
        if cells is not None:
            split(cells, overlap)
    except DataError:
        return None
    return cells


def one_band(cells: Counts | None, L: int) -> bool:
    """Whether cells do not distinguish values."""
    return cells is None or cells.v_hat.size == L * cells.strata * cells.score_bands


def strange_values(population: Figures, audited: Figures, name: str) -> list[str]:
    """Say how many audited units have values that too few units of the population have."""
    left: Counter[tuple[Any, ...]] = Counter()
    for figures, sign in ((population, 1), (audited, -1)):
        bands = np.zeros(len(figures.parts)) if figures.band is None else figures.band
        each = (figures.at[-1].tolist(), figures.parts, bands.tolist(), figures.units.tolist())
        for *cell, units in zip(*each, strict=True):
            left[tuple(cell)] += sign * units
    strange = -sum(min(x, 0) for x in left.values())
    if not strange:
        return []
    return [
        f"{strange:,} of {int(audited.units.sum()):,} units of {name} have values that no unit of "
        "the population is left to have, so it is not learned how errors depend on the value. Are "
        "both tables in the same unit, and rounded alike? If these units are not in the "
        "population, say overlap=False (--no-overlap)."
    ]


def nearest(population: Figures, audited: Figures) -> Figures:
    """Put audited units from elsewhere into the nearest of the population's fine bands."""
    assert population.band is not None
    assert audited.band is not None
    known, seen = ({*x.tolist()} for x in (population.band, audited.band))
    every = in_order(np.array(sorted(known | seen))).tolist()
    at = np.array([i for i, band in enumerate(every) if band in known])
    to = {band: every[at[np.abs(at - i).argmin()]] for i, band in enumerate(every)}
    return replace(audited, band=np.array([to[x] for x in audited.band.tolist()], np.int64))


def _bands(
    population: Figures, audited: Figures, at: Integers, where: Integers, J: int, most: int
) -> tuple[Integers, Integers, int, tuple[tuple[float, ...], ...]]:
    """Merge fine bands within each stratum: the band of every row of either table, B, and edges.

    The edges are the lowest values of all bands but the first, for each stratum.
    """
    assert population.band is not None
    assert audited.band is not None
    cell, seen, edges = np.zeros_like(at), np.full_like(where, -1), []
    for j in range(J):
        mine, own = at == j, where == j
        figures = (population.band[mine], population.units[mine], population.sums[mine])
        band_of, begin = merged(*figures, most)
        edges.append(begin)
        cell[mine] = [band_of[fine] for fine in population.band[mine].tolist()]
        seen[own] = [band_of.get(fine, -1) for fine in audited.band[own].tolist()]
    return cell, seen, int(cell.max()) + 1, tuple(edges)


def merged(
    fine: Integers, units: Integers, sums: Floats, most: int
) -> tuple[dict[int, int], tuple[float, ...]]:
    """Merge the fine bands of some rows: the band of each, in order, and where bands begin."""
    every = in_order(np.unique(fine))
    place = {band: i for i, band in enumerate(every.tolist())}
    i = np.array([place[band] for band in fine.tolist()], dtype=np.int64)
    count, total = (np.bincount(i, x, len(every)) for x in (units, sums))
    band = merge_bands(every, count.astype(np.int64), total.astype(float), most)
    edges = tuple(lowest(x) for x in every[np.flatnonzero(np.diff(band)) + 1].tolist())
    return dict(zip(every.tolist(), band.tolist(), strict=True)), edges


def lowest(fine: int) -> float:
    """Return the value above which a fine band without a phase begins; see `read.table`.

    With a phase it is that value but for a factor, and orders bands all the same.
    """
    if fine > NEGATIVE // 2:
        return -float(2.0 ** ((fine - NEGATIVE + 0.5) / 4.0))
    return -LEAST_VALUE if fine == ZERO else float(2.0 ** ((fine - 0.5) / 4.0))


def in_order(bands: Integers) -> Integers:
    """Sort fine bands by the values in them."""
    negative = bands > NEGATIVE // 2
    size = np.where(negative, bands - NEGATIVE, bands)
    return np.asarray(bands[np.lexsort((np.where(negative, -size, size), ~negative))])


def merge_bands(fine: Integers, units: Integers, sums: Floats, most: int) -> Integers:
    """Merge fine bands, in the order of their values, into bands: the band (F,) of each.

    Cuts are at equal parts of a weight: one third each the fine band's part of Σ√|y|, of the
    units and of the number of fine bands. The first puts bands where the money is, the second
    where the units are; the third keeps a band's values within a factor, so that a class of small
    units does not vanish in the lowest band. No band has values of two signs, and zero is its own.
    """
    root = np.sqrt(units) * np.sqrt(np.abs(sums))
    weight = root / max(float(root.sum()), 1e-300) + units / units.sum() + 1.0 / len(fine)
    weight = np.where(fine == ZERO, 0.0, weight)
    band, start = np.zeros(len(fine), dtype=np.int64), 0
    negative = fine > NEGATIVE // 2
    for own in (negative, fine == ZERO, ~negative & (fine != ZERO)):
        if not own.any():
            continue
        part, inside = weight[own].sum(), np.zeros(int(own.sum()), dtype=np.int64)
        if part > 0:
            B = max(1, round(most * part / weight.sum()))
            middle = (np.cumsum(weight[own]) - weight[own] / 2) / part
            cut = np.minimum(middle * B, B - 1).astype(np.int64)
            inside = np.unique(cut, return_inverse=True)[1]
        band[own] = start + inside
        start += int(inside.max()) + 1
    return band


def scores(v_hat: Integers, u_hat: Floats) -> Floats:
    """Return the score of each cell: the log of its mean value, standardised over the units.

    `v_hat` and `u_hat` (H, …) are units and Σy, predicted labels first; cells that differ in those
    alone have one score, so that scores have the shape (…). Zero scores as a value e times smaller
    than the least positive cell's. Where some values are negative, the score is the normal score of
    the cell's middle rank.
    """
    units, total = v_hat.sum(axis=0), u_hat.sum(axis=0)
    p = units / units.sum()
    if (total < 0).any():
        order = np.argsort((total / np.maximum(units, 1)).ravel(), kind="stable")
        rank = np.empty(p.size)
        rank[order] = np.cumsum(p.ravel()[order]) - p.ravel()[order] / 2
        z = np.asarray(special.ndtri(np.clip(rank.reshape(p.shape), 1e-9, 1 - 1e-9)))
    else:
        z = np.log(np.where(total > 0, total, 1.0)) - np.log(np.where(total > 0, units, 1.0))
        least = np.where(total > 0, z, np.inf).min()
        z = np.where(total > 0, z, least - 1.0 if np.isfinite(least) else 0.0)
    z = np.where(units > 0, z, 0.0)
    z = z - (p * z).sum()
    sd = np.sqrt((p * z**2).sum())
    return np.asarray(z / sd if sd > 0 else z)
