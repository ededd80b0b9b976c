"""Groups whose values lie on levels of their own, as prices of regions or sizes of firms do.

A level is the median over units of how far the middle unit of their label lies above the middle of
that label in all groups. A middle unit hardly depends on how many others have the wrong label.
"""

from __future__ import annotations

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers

SURE = 0.01
"""Levels that differ as much by chance in fewer than this part of cases are believed."""
ASTRAY = 0.02
"""Groups that cut the range of values into pieces are classes of the value itself, and a level says
nothing then: at most this part of their units lies beyond the cuts."""


def find_levels(group: Integers, label: Integers, band: Integers, units: Integers) -> Integers:
    """Return how many bands the values of each group lie above those of all, (B,).

    Each row of a group-by has a group, a label, a band of the logarithm of the value, and units.
    All are 0 where levels do not differ beyond chance, and where groups are classes of the value.
    """
    B, L = int(group.max()) + 1, int(label.max()) + 1
    none = np.zeros(B, np.int64)
    order = np.lexsort((band, group * L + label))
    cells, first = np.unique((group * L + label)[order], return_index=True)
    middle, many, spread = np.zeros((B, L)), np.zeros((B, L)), 0.0
    for at, rows in zip(cells, np.split(order, first[1:]), strict=True):
        n = units[rows]
        middle[at // L, at % L], many[at // L, at % L] = _middle(band[rows], n), n.sum()
        spread += float((n * (band[rows] - (n * band[rows]).sum() / n.sum()) ** 2).sum())
    centre = np.array([_median(middle[:, h], many[:, h]) for h in range(L)])
    level = np.array([_median(middle[b] - centre, many[b]) for b in range(B)])
    variance = spread / max(many.sum(), 1) + 1 / 12
    error = np.pi / 2 * variance / np.maximum(many.max(axis=1), 1)  # of the middle of n normals
    placed = many.any(axis=1)
    level, weight = np.where(placed, level, 0.0), np.where(placed, 1 / error, 0.0)
    level = level - (weight * level).sum() / weight.sum()
    chance = (weight * level**2).sum()
    free = int(placed.sum()) - 1
    if free < 1 or special.chdtrc(free, chance) > SURE:
        return none
    # the variance between groups (DerSimonian and Laird 1986); small groups keep to the mean
    between = (chance - free) / (weight.sum() - (weight**2).sum() / weight.sum())
    if cut_the_values(group, band, units):
        return none
    return np.asarray(np.round(level * between / (between + error)).astype(np.int64))


def cut_the_values(group: Integers, band: Integers, units: Integers) -> bool:
    """Return whether groups, in the order of their values, are pieces of one distribution.

    Between neighbours hardly a unit is on the wrong side of the best cut, and at the cut there are
    as many units as elsewhere. Levels far apart leave hardly any there.
    """
    first = int(band.min())
    many = np.zeros((int(group.max()) + 1, int(band.max()) - first + 1))
    np.add.at(many, (group, band - first), units)
    many = many[many.any(axis=1)]
    mean = many @ np.arange(many.shape[1]) / many.sum(axis=1)
    many = many[np.argsort(mean)]
    up = many.cumsum(axis=1)
    size = up[:, -1:]
    # units of the lower one above a band, and of the higher one below it
    wrong = (size - up)[:-1] + (up - many)[1:]
    both = many[:-1] + many[1:]
    cut = np.where(wrong == wrong.min(axis=1, keepdims=True), both, np.inf).argmin(axis=1)
    pairs = np.arange(len(cut))
    width = 1 + ((up > 0.05 * size) & (up < 0.95 * size)).sum(axis=1)
    usual = 0.9 * size[:, 0] / width
    there = both[pairs, cut].sum() > 0.5 * np.minimum(usual[:-1], usual[1:]).sum()
    return bool(there and wrong[pairs, cut].sum() <= ASTRAY * size.sum())


def _middle(band: Integers, units: Integers) -> float:
    """The median of values in bands, which are in order: within a band, values are even."""
    up = np.cumsum(units)
    i = int(np.searchsorted(up, 0.5 * up[-1]))
    return float(band[i] + (0.5 * up[-1] - up[i] + units[i]) / units[i] - 0.5)


def _median(x: Floats, weight: Floats) -> float:
    """The weighted median; 0 without weight."""
    order = np.argsort(x, kind="stable")
    up = np.cumsum(weight[order])
    return float(x[order[np.searchsorted(up, 0.5 * up[-1])]]) if up[-1] > 0 else 0.0
