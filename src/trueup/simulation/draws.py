"""Replications: counts as multinomials and hypergeometrics, totals by finding the errors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.arrays import Integers, Rng
from trueup.simulation.population import Design, Population, largest_remainder

HYPERGEOMETRIC_LIMIT = 10**9
"""NumPy's limit for draws without replacement; above it, with replacement differs by 1e-9 n."""


def _per_prediction(v_hat: Integers, plan: Design) -> Integers:
    """Test units per predicted class, (R, K): as asked, but never more than there are."""
    if plan.per_class is not None:
        return np.minimum(plan.per_class, v_hat)
    return np.minimum(largest_remainder(v_hat, plan.n), v_hat)


def draw_counts(population: Population, plan: Design, R: int, rng: Rng) -> dict[str, Any]:
    """Draw all replications from sufficient statistics: K classes, not N units."""
    v, P, K = population.v, population.P, population.K
    if plan.name in ("random", "by_class"):
        # Whom to audit does not depend on the predictions, so audited units are drawn first.
        if plan.per_class is not None:
            m = np.tile(plan.per_class, (R, 1))
        elif v.sum() >= HYPERGEOMETRIC_LIMIT:
            m = rng.multinomial(plan.n, v / v.sum(), R)
        else:
            m = rng.multivariate_hypergeometric(v, plan.n, R, method="marginals")
        n = rng.multinomial(m, P)
        return {"n": n, "v_hat": (n + rng.multinomial(v - m, P)).sum(axis=1)}
    M = rng.multinomial(np.broadcast_to(v, (R, K)), P)
    if plan.name == "shifted":
        return {"n": _shifted(population, plan, R, rng), "v_hat": M.sum(axis=1)}
    n = np.zeros_like(M)
    left = _per_prediction(M.sum(axis=1), plan)
    for g in range(K):  # hypergeometric, one class after another
        others = M[:, g + 1 :].sum(axis=1)
        take = np.minimum(left, M[:, g])
        some = (left > 0) & (others > 0)
        if v.sum() >= HYPERGEOMETRIC_LIMIT:
            chance = M[:, g] / np.maximum(M[:, g] + others, 1)
            drawn = np.minimum(rng.binomial(left, chance), M[:, g])
        else:
            drawn = rng.hypergeometric(M[:, g], others, np.where(some, left, 0))
        n[:, g] = np.where(some, drawn, take)
        left = left - n[:, g]
    return {"n": n, "v_hat": M.sum(axis=1)}


def _shifted(population: Population, plan: Design, R: int, rng: Rng) -> Integers:
    """Cells (R, K, K) of a test set from elsewhere: other base rates, the same error rates."""
    assert plan.shares is not None
    theta = plan.shares[:, None] * population.P
    cells = rng.multinomial(plan.n, (theta / theta.sum()).ravel(), R)
    return cells.reshape(R, *theta.shape)


def draw_totals(
    population: Population, plan: Design, R: int, rng: Rng, band: Integers | None = None
) -> dict[str, Any]:
    """Draw R replications of a population with values: who was misclassified, who was audited.

    With the `band` of each unit, columns are predicted classes and bands, h·B + b.
    """
    y, K, s = population.y, population.K, population.s
    assert y is not None
    assert s is not None
    N = len(y)
    band, B = (np.zeros(N, np.int64), 1) if band is None else (band, int(band.max()) + 1)
    L = K * B
    s_hat = np.tile(s.astype(np.int16), (R, 1))
    figures = [np.tile(np.bincount(s * B + band, x, L), (R, 1)) for x in (np.ones(N), y, y * y)]
    for r, unit, h in _errors(population, R, rng):
        g = s_hat[r, unit].astype(np.int64)
        s_hat[r, unit] = h
        b = r * L + band[unit]
        for figure, weight in zip(figures, (None, y[unit], y[unit] ** 2), strict=True):
            figure += np.bincount(b + h * B, weight, R * L).reshape(R, L)
            figure -= np.bincount(b + g * B, weight, R * L).reshape(R, L)
    v_hat = figures[0].round().astype(np.int64)
    empty = v_hat == 0  # what is left there is rounding
    result: dict[str, Any] = {
        "v_hat": v_hat,
        "u_hat": np.where(empty, 0.0, figures[1]),
        "w_hat": np.where(empty, 0.0, np.maximum(figures[2], 0.0)),
    }
    if plan.name == "shifted":
        return result | {"n": _shifted(population, plan, R, rng)}
    predicted = v_hat.reshape(R, K, B).sum(axis=2)
    rows, units = _audited(population, plan, s_hat, predicted, rng)
    cell = (rows * K + s[units]) * L + s_hat[rows, units] * B + band[units]
    for name, weight in (("n", None), ("t", y[units]), ("t2", y[units] ** 2)):
        result[name] = np.bincount(cell, weight, R * K * L).reshape(R, K, L)
    return result


def _errors(population: Population, R: int, rng: Rng) -> list[tuple[Integers, Integers, Integers]]:
    """Replication, unit and predicted class of every misclassified unit, class by class."""
    found = []
    for g, row in enumerate(population.P):
        units = np.flatnonzero(population.s == g)
        others = row.copy()
        others[g] = 0.0
        if not len(units) or not others.sum() > 0:
            continue
        place = _bernoulli(1 - row[g], R * len(units), rng)
        r, i = np.divmod(place, len(units))
        edges = np.cumsum(others / others.sum())
        edges[np.flatnonzero(others)[-1] :] = 1.0  # rounding must not reach past the last
        h = np.searchsorted(edges, rng.random(len(place)), side="right")
        found.append((r, units[i], h.astype(np.int64)))
    return found


def _bernoulli(rate: float, trials: int, rng: Rng) -> Integers:
    """The places of the successes among so many Bernoulli trials, by their geometric gaps."""
    if rate <= 0:
        return np.empty(0, np.int64)
    scale = -np.log1p(-min(rate, 1.0)) if rate < 1 else np.inf
    batch = int(trials * rate + 5 * np.sqrt(trials * rate) + 10)
    parts, last = [], -1
    while last < trials:
        gaps = 1 + np.floor(rng.standard_exponential(batch) / scale)
        place = last + np.cumsum(gaps)
        last = int(place[-1])
        parts.append(place)
    places = np.concatenate(parts)
    return places[places < trials].astype(np.int64)


def _audited(
    population: Population, plan: Design, s_hat: NDArray[np.int16], v_hat: Integers, rng: Rng
) -> tuple[Integers, Integers]:
    """Replication and unit of every audited unit."""
    R, N = s_hat.shape
    if plan.name == "random":
        return _distinct(np.full(R, N), np.full(R, plan.n), rng)
    if plan.name == "by_class":
        assert population.s is not None
        order = np.argsort(population.s, kind="stable")[None]
        sizes = np.tile(population.v, (R, 1))
        assert plan.per_class is not None
        wanted = np.tile(plan.per_class, (R, 1))
    else:
        order = np.argsort(s_hat, axis=1, kind="stable")
        sizes, wanted = v_hat, _per_prediction(v_hat, plan)
    start = np.cumsum(sizes, axis=1) - sizes
    rows, units = [], []
    for h in range(population.K):
        r, pick = _distinct(sizes[:, h], wanted[:, h], rng)
        rows.append(r)
        units.append(order[np.minimum(r, len(order) - 1), start[r, h] + pick])
    return np.concatenate(rows), np.concatenate(units)


def _distinct(bound: Integers, size: Integers, rng: Rng) -> tuple[Integers, Integers]:
    """For each b, `size[b]` different numbers below `bound[b]`; as (b, number) pairs.

    Duplicates are drawn again. No step tells one number from another, so every set of that size
    is equally likely.
    """
    rows = np.repeat(np.arange(len(bound)), size)
    pick = np.floor(rng.random(len(rows)) * bound[rows]).astype(np.int64)
    start = np.cumsum(size) - size
    crowded = 2 * size > bound
    for b in np.flatnonzero(crowded & (size > 0)):
        pick[start[b] : start[b] + size[b]] = rng.permutation(bound[b])[: size[b]]
    stride = int(bound.max(initial=1))
    while True:
        key = rows * stride + pick
        order = np.argsort(key, kind="stable")
        key = key[order]
        again = order[1:][key[1:] == key[:-1]]
        if not len(again):
            return rows, pick
        pick[again] = np.floor(rng.random(len(again)) * bound[rows[again]]).astype(np.int64)
