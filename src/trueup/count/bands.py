"""Bands of the value: from the fine bands of one scan to the few that cells are made of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts
from trueup.count.parts import Figures
from trueup.numerics import special
from trueup.read.table import NEGATIVE, ZERO

__all__ = ["banded_counts", "merge_bands", "scores"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_CLASSES = 20
"""Learning the columns takes 3 s of processor time at 15 classes and 15 s at 20."""
MOST_BANDS, MOST_CELLS, LEAST_BANDS = 24, 60, 8
"""24 bands, or with many classes 60/K, but at least 8. With 16 for two classes, class and value
still go together within a band where class means differ a hundredfold."""


def banded_counts(
    population: Figures, audited: Figures, classes: Sequence[Hashable], signed: bool
) -> Counts | None:
    """Return the counts by cell: K·B columns, the bands of one predicted class side by side.

    The parts of the figures are fine bands (`read.table.fine_bands`). None if the audited units
    do not fit into the population's cells, as when their values differ from the population's, if
    all values are in one band, or with many classes.
    """
    K = len(classes)
    if K > MOST_CLASSES:
        return None
    fine = np.array([part[0] for part in population.parts], dtype=object).astype(np.int64)
    every = in_order(np.unique(fine))
    place = {int(band): i for i, band in enumerate(every)}
    at = np.array([place[int(band)] for band in fine], dtype=np.int64)
    units = np.bincount(at, population.units, len(every)).astype(np.int64)
    sums = np.bincount(at, population.sums, len(every)).astype(float)
    most = int(np.clip(MOST_CELLS // K, LEAST_BANDS, MOST_BANDS))
    band_of = merge_bands(every, units, sums, most)
    B = int(band_of.max()) + 1
    seen = np.array([part[0] for part in audited.parts], dtype=object).astype(np.int64)
    where = np.array([place.get(int(band), -1) for band in seen], dtype=np.int64)
    if B == 1 or (where < 0).any():
        return None

    def add(figures: Figures, band: Integers, shape: tuple[int, ...]) -> list[Any]:
        index = (*figures.at, band)
        found = []
        for x in (figures.units, figures.sums, figures.squares):
            total = np.zeros((*shape, B), x.dtype)
            np.add.at(total, index, x)
            found.append(total.reshape(*shape[:-1], K * B))
        return found

    v_hat, u_hat, w_hat = add(population, band_of[at], (K,))
    n, t, t2 = add(audited, band_of[where], (K, K))
    return Counts(tuple(classes), n, v_hat, u_hat, w_hat, t, t2, signed)


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
    """Return the score (B,) of each band: the log of its mean value, standardised over the units.

    `v_hat` and `u_hat` (H, B) are units and Σy. Zero scores as the least positive band. Where some
    values are negative, the score is the normal score of the band's middle rank.
    """
    units, total = v_hat.sum(axis=0), u_hat.sum(axis=0)
    p = units / units.sum()
    if (total < 0).any():
        z = np.asarray(special.ndtri(np.clip(np.cumsum(p) - p / 2, 1e-9, 1 - 1e-9)))
    else:
        z = np.log(np.where(total > 0, total, 1.0)) - np.log(np.where(total > 0, units, 1.0))
        least = np.where(total > 0, z, np.inf).min()
        z = np.where(total > 0, z, least if np.isfinite(least) else 0.0)
    z = np.where(units > 0, z, 0.0)
    z = z - (p * z).sum()
    sd = np.sqrt((p * z**2).sum())
    return np.asarray(z / sd if sd > 0 else z)
