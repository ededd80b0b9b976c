"""The classification error model, many replications at once: `simulate`.

A population has known true classes; each replication predicts a class for every unit with the
error rates P and audits a test set. Counts need no units at all: units of one class and stratum
are alike, so a replication is a few multinomial and hypergeometric numbers whatever N is. Totals
need to know which units were misclassified. Their places among all units of a class, replication
after replication, are a Bernoulli process, so the gaps between them are geometric: the cost is
that of the errors, not of the units. Both are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from trueup.counts import Counts
from trueup.errors import DataError, OptionError
from trueup.settings import DESIGNS

__all__ = ["Simulation", "largest_remainder", "lognormal", "simulate"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rates = Callable[[Floats], Floats]
Values = Callable[[Integers], Floats]

CELLS_AT_ONCE = 20_000_000
"""Predictions (replications × units) held in memory at a time."""
HYPERGEOMETRIC_LIMIT = 10**9
"""NumPy draws without replacement up to here; beyond it, with replacement is the same to 1e-9 n."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """R replications of both tables, in numbers; replications come first.

    Attributes
    ----------
    classes : tuple
        The K class labels.
    design : str
        How the test sets were drawn.
    v, u : (K,) array
        The truth: units per true class, and their total value (None when units are counted).
    n : (R, K, K) int
        Test units; rows true, columns predicted.
    v_hat, u_hat, w_hat : (R, K) array
        Units, Σy and Σy² per predicted class; the last two None when units are counted.
    t, t2 : (R, K, K) array or None
        Σy and Σy² of the test units per cell; None for a test set from elsewhere.
    signed : bool
        Whether some value is negative.
    seed : int
        What makes it the same again.
    """

    classes: tuple[Hashable, ...]
    design: str
    v: Integers
    u: Floats | None
    n: Integers
    v_hat: Integers
    u_hat: Floats | None
    w_hat: Floats | None
    t: Floats | None
    t2: Floats | None
    signed: bool
    seed: int

    def __len__(self) -> int:
        return len(self.n)

    @property
    def truth(self) -> Floats:
        """What every estimate is after: u, or v when units are counted."""
        return self.v.astype(float) if self.u is None else self.u

    def counts(self, r: int) -> Counts:
        """Give replication r as the bag of counts that every method takes."""

        def of(x: Any) -> Any:
            return None if x is None else x[r]

        return Counts(
            self.classes,
            self.n[r],
            self.v_hat[r],
            of(self.u_hat),
            of(self.w_hat),
            of(self.t),
            of(self.t2),
            self.signed,
        )


@dataclass(frozen=True, eq=False)
class _Population:
    """Units in J types (stratum × class) that are alike, with their values if they have any."""

    K: int
    size: Integers  # (J,) units per type
    group: Integers  # (J,) true class of each type
    rows: Floats  # (J, K) Pr(ŝ = h) of each type
    type_of: Integers | None  # (N,)
    y: Floats | None  # (N,)
    own: Floats | None  # (N, K) Pr(ŝ = h) of each unit, where it depends on y

    @property
    def v(self) -> Integers:
        return np.bincount(self.group, self.size, self.K).astype(np.int64)

    @property
    def s(self) -> Integers:
        assert self.type_of is not None
        return self.group[self.type_of]


@dataclass(frozen=True, eq=False)
class _Design:
    """How many units are audited, of which classes."""

    name: str
    n: int
    per_class: Integers | None  # by_prediction: None is in proportion to v̂
    shares: Floats | None  # shifted


def simulate(
    P: ArrayLike | Rates,
    *,
    n: ArrayLike,
    N: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    true: ArrayLike | None = None,
    values: ArrayLike | Values | None = None,
    strata: ArrayLike | None = None,
    design: str = "random",
    test_base_rates: ArrayLike | None = None,
    classes: Sequence[Hashable] | None = None,
    replications: int = 1000,
    seed: int | None = None,
) -> Simulation:
    """Draw predictions and test sets from the classification error model, for a known truth.

    Parameters
    ----------
    P : (K, K) or (S, K, K) array_like, or callable
        Error rates, rows true; one matrix, one for each stratum, or a function that gives
        (m, K, K) rates for m values.
    n : int or (K,) array_like
        Test units in all; or per predicted class (``design="by_prediction"``) or true class
        (``"by_class"``). One number is spread in proportion to the classes there: for
        ``"by_class"`` these are the fixed class counts of the paper's Table 1.
    N, base_rates : int and (K,) array_like
        A population by its size and the shares of its true classes; (S,) and (S, K) for strata.
    true : (N,) array_like of int
        Or the true class, 0 to K − 1, of each of its units; the population is the same in every
        replication.
    values : float, (N,) array_like or callable, optional
        The values to total. One number is the spread of a lognormal distribution with mean 1;
        a function gets the true classes of the units; see `lognormal`. Without it units are
        counted, at a cost that does not depend on N.
    strata : (N,) array_like of int, optional
        The stratum of each unit, with `true` and one P for each stratum.
    design : {"random", "by_prediction", "by_class", "shifted"}
        How the test set is drawn. "shifted" is one from elsewhere, with `test_base_rates`.
    test_base_rates : (K,) array_like, optional
        Shares of the true classes where a shifted test set comes from; equal shares by default.
    classes : sequence, optional
        Names of the classes.
    replications : int
        How many.
    seed : int, optional
        The same seed gives the same replications.

    Examples
    --------
    A million units cost no more than a thousand:

    >>> study = simulate([[0.9, 0.1], [0.2, 0.8]], n=100, N=1_000_000, base_rates=[0.3, 0.7],
    ...                  replications=500, seed=1)
    >>> study.n.shape, study.v
    ((500, 2, 2), array([300000, 700000]))
    >>> (study.v_hat.mean(axis=0) / 1e6).round(2)  # Pᵀβ
    array([0.41, 0.59])
    """
    population = _population(P, N, base_rates, true, values, strata)
    K = population.K
    labels = tuple(range(K)) if classes is None else tuple(classes)
    if len(labels) != K:
        raise DataError(f"`classes` must name each of the {K} classes; {len(labels)} names came.")
    if int(replications) != replications or replications < 1:
        raise OptionError(f"`replications` must be a whole number of at least 1; {replications!r}.")
    plan = _design(design, n, test_base_rates, population)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    rng = np.random.Generator(np.random.SFC64(seed))
    if population.y is None:
        figures = _count(population, plan, int(replications), rng)
        u = None
    else:
        step = max(1, CELLS_AT_ONCE // len(population.y))
        parts = [
            _total(population, plan, min(step, int(replications) - start), rng)
            for start in range(0, int(replications), step)
        ]
        figures = {
            name: None if x is None else np.concatenate([part[name] for part in parts])
            for name, x in parts[0].items()
        }
        u = np.asarray(np.bincount(population.s, population.y, K), float)
    return Simulation(
        classes=labels,
        design=design,
        v=population.v,
        u=u,
        signed=population.y is not None and bool((population.y < 0).any()),
        seed=seed,
        **figures,
    )


def lognormal(sigma: float, means: ArrayLike = 1.0) -> Values:
    """Give values whose logarithm has standard deviation `sigma`, with a mean per true class.

    They are quantiles, not draws: the population is the same for every seed.

    Examples
    --------
    >>> y = lognormal(1.5, [1, 3])(np.array([0, 0, 1, 1, 1]))
    >>> float(y[:2].mean().round(9)), float(y[2:].mean().round(9))
    (1.0, 3.0)
    """
    if not sigma >= 0:
        raise OptionError(f"The spread of the values must be at least 0; {sigma!r} came.")

    def values(s: Integers) -> Floats:
        mean = np.broadcast_to(np.asarray(means, float), (int(s.max()) + 1,))
        y = np.empty(len(s))
        for g in np.unique(s):
            units = np.flatnonzero(s == g)
            grown = np.exp(sigma * ndtri((np.arange(len(units)) + 0.5) / len(units)))
            y[units] = mean[g] * grown * len(units) / grown.sum()
        return y

    return values


def largest_remainder(shares: ArrayLike, total: int) -> Integers:
    """Round shares to whole numbers that add up to `total` (Hamilton's method), over the last axis.

    Examples
    --------
    >>> largest_remainder([0.075, 0.925], 50)
    array([ 4, 46])
    """
    shares = np.asarray(shares, float)
    exact = total * shares / shares.sum(axis=-1, keepdims=True)
    whole = np.floor(exact + 1e-9)
    missing = (total - whole.sum(axis=-1)).astype(np.int64)
    rank = np.argsort(np.argsort(-(exact - whole), axis=-1, kind="stable"), axis=-1)
    return np.asarray(whole + (rank < missing[..., None]), dtype=np.int64)


def _population(
    P: ArrayLike | Rates,
    N: ArrayLike | None,
    base_rates: ArrayLike | None,
    true: ArrayLike | None,
    values: ArrayLike | Values | None,
    strata: ArrayLike | None,
) -> _Population:
    rates = None if callable(P) else _rates(P)
    if true is None:
        if N is None or base_rates is None:
            raise DataError(
                "A population needs `N` and `base_rates`, or the class of each unit in `true`."
            )
        beta = _shares("base_rates", base_rates)
        sizes = np.atleast_1d(np.asarray(N))
        if rates is not None and rates.ndim == 3:
            beta = np.broadcast_to(beta, rates.shape[:2])
        if beta.ndim == 1:
            beta = beta[None]
        if len(sizes) != len(beta) or (sizes < 1).any() or (sizes != np.floor(sizes)).any():
            raise DataError(
                f"`N` must be a whole number of at least 1 for each of the {len(beta)} strata; "
                f"{N!r} came."
            )
        cells = np.stack([largest_remainder(b, int(m)) for b, m in zip(beta, sizes, strict=True)])
        S, K = cells.shape
        type_of = None if values is None else np.repeat(np.arange(S * K), cells.ravel())
    else:
        s = _labels("true", true)
        K = rates.shape[-1] if rates is not None else int(s.max()) + 1
        stratum = np.zeros_like(s) if strata is None else _labels("strata", strata)
        S = int(stratum.max()) + 1 if rates is None or rates.ndim == 2 else len(rates)
        if s.max() >= K or stratum.max() >= S or s.shape != stratum.shape:
            raise DataError(
                f"`true` must hold classes 0 to {K - 1} and `strata` 0 to {S - 1}, one of each per "
                "unit."
            )
        type_of = stratum * K + s
        cells = np.bincount(type_of, minlength=S * K).reshape(S, K)
        type_of = None if values is None else type_of
    if rates is not None and (rates.shape[-1] != K or (rates.ndim == 3 and len(rates) != S)):
        raise DataError(f"`P` has shape {rates.shape}, which does not fit {K} classes, {S} strata.")
    group = np.tile(np.arange(K), S)
    y = own = None
    if values is not None:
        assert type_of is not None
        y = _values(values, group[type_of])
    if rates is None:
        if y is None or type_of is None:
            raise DataError("Error rates that depend on the value need `values`.")
        all_rows = np.asarray(cast(Rates, P)(y), float)
        if all_rows.shape != (len(y), K, K) or not np.allclose(all_rows.sum(axis=2), 1):
            raise DataError(
                f"`P` must give rates of shape {(len(y), K, K)} with rows that sum to 1."
            )
        own = all_rows[np.arange(len(y)), group[type_of]]
        rows = np.ones((S * K, K)) / K  # not used: each unit has its own
    else:
        rows = np.broadcast_to(rates, (S, K, K)).reshape(S * K, K)
    return _Population(K, cells.ravel().astype(np.int64), group, rows, type_of, y, own)


def _values(values: ArrayLike | Values, s: Integers) -> Floats:
    if callable(values):
        y = np.asarray(values(s), float)
    else:
        y = np.asarray(values, float)
        if y.ndim == 0:
            y = lognormal(float(y))(s)
    if y.shape != s.shape or not np.isfinite(y).all():
        raise DataError(f"`values` must be {len(s):,} finite numbers, one per unit.")
    return y


def _rates(P: object) -> Floats:
    rates = np.asarray(P, float)
    if rates.ndim not in (2, 3) or rates.shape[-1] != rates.shape[-2] or rates.shape[-1] < 2:
        raise DataError(f"`P` must be square, rows true, with 2 classes or more; {rates.shape}.")
    if not (rates >= 0).all() or not np.allclose(rates.sum(axis=-1), 1, atol=1e-6):
        raise DataError(
            "Every row of `P` must hold probabilities that sum to 1.",
            hint="row g has Pr(predicted h | true g); is it transposed?",
        )
    return np.asarray(rates / rates.sum(axis=-1, keepdims=True))


def _shares(name: str, given: ArrayLike) -> Floats:
    shares = np.asarray(given, float)
    if not np.isfinite(shares).all() or (shares < 0).any() or not (shares.sum(axis=-1) > 0).all():
        raise DataError(f"`{name}` must be shares of at least 0; {given!r} came.")
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _labels(name: str, given: ArrayLike) -> Integers:
    labels = np.asarray(given)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iub" or labels.min() < 0:
        raise DataError(f"`{name}` must hold a whole number of at least 0 for each unit.")
    return labels.astype(np.int64)


def _design(
    design: str, n: ArrayLike, test_base_rates: ArrayLike | None, population: _Population
) -> _Design:
    if design not in DESIGNS:
        raise OptionError(f"`design` must be one of {list(DESIGNS)}; {design!r} came.")
    size = np.asarray(n)
    K, v, N = population.K, population.v, int(population.size.sum())
    if (size < 0).any() or (size != np.floor(size)).any() or size.shape not in ((), (K,)):
        raise OptionError(f"`n` must be a whole number, or one for each of {K} classes; {n!r}.")
    if size.ndim and design not in ("by_prediction", "by_class"):
        raise OptionError(f"`n` per class needs design 'by_prediction' or 'by_class'; {design!r}.")
    size = size.astype(np.int64)
    total = int(size.sum())
    if design != "shifted" and total > N:
        raise OptionError(f"`n` may be at most the {N:,} units of the population; {total:,} came.")
    if design == "by_class":
        per_class = size if size.ndim else largest_remainder(v, total)
        if (per_class > v).any():
            raise OptionError(f"`n` may be at most {v.tolist()}, the units per class; {n!r} came.")
        return _Design(design, total, per_class, None)
    shares = None
    if design == "shifted":
        shares = _shares(
            "test_base_rates", np.full(K, 1 / K) if test_base_rates is None else test_base_rates
        )
        if shares.shape != (K,):
            raise OptionError(f"`test_base_rates` must be {K} shares; {test_base_rates!r} came.")
        if (shares[v == 0] > 0).any():
            raise OptionError("`test_base_rates` must be 0 where the population has no units.")
    return _Design(design, total, size if size.ndim else None, shares)


def _without_replacement(
    colours: Integers, size: int, R: int, rng: np.random.Generator
) -> Integers:
    N = int(colours.sum())
    if N >= HYPERGEOMETRIC_LIMIT:
        return rng.multinomial(size, colours / N, R)
    return rng.multivariate_hypergeometric(colours, size, R, method="marginals")


def _per_prediction(v_hat: Integers, plan: _Design) -> Integers:
    """Test units per predicted class, (R, K): as asked, but never more than there are."""
    if plan.per_class is not None:
        return np.minimum(plan.per_class, v_hat)
    return np.minimum(largest_remainder(v_hat, plan.n), v_hat)


def _count(
    population: _Population, plan: _Design, R: int, rng: np.random.Generator
) -> dict[str, Any]:
    """All replications from sufficient statistics; J types, not N units."""
    size, rows, group, K = population.size, population.rows, population.group, population.K
    J = len(size)
    if plan.name in ("random", "by_class"):
        # Whom to audit does not depend on the predictions, so audited units are drawn first.
        if plan.name == "random":
            m = _without_replacement(size, plan.n, R, rng)
        else:
            assert plan.per_class is not None
            m = np.zeros((R, J), np.int64)
            for g in range(K):
                m[:, group == g] = _without_replacement(
                    size[group == g], int(plan.per_class[g]), R, rng
                )
        cells = rng.multinomial(m, rows)
        M = cells + rng.multinomial(size - m, rows)
    else:
        M = rng.multinomial(np.broadcast_to(size, (R, J)), rows)
        if plan.name == "shifted":
            cells = _shifted(population, plan, R, rng)
        else:
            cells = np.zeros_like(M)
            left = _per_prediction(M.sum(axis=1), plan)
            for j in range(J):  # hypergeometric, one type after another
                others = M[:, j + 1 :].sum(axis=1)
                take = np.minimum(left, M[:, j])
                some = (left > 0) & (others > 0)
                if size.sum() >= HYPERGEOMETRIC_LIMIT:
                    chance = M[:, j] / np.maximum(M[:, j] + others, 1)
                    drawn = np.minimum(rng.binomial(left, chance), M[:, j])
                else:
                    drawn = rng.hypergeometric(M[:, j], others, np.where(some, left, 0))
                cells[:, j] = np.where(some, drawn, take)
                left = left - cells[:, j]
    n = np.zeros((R, K, K), np.int64)
    for j in range(J):
        n[:, group[j]] += cells[:, j]
    return {
        "n": n,
        "v_hat": M.sum(axis=1),
        "u_hat": None,
        "w_hat": None,
        "t": None,
        "t2": None,
    }


def _shifted(population: _Population, plan: _Design, R: int, rng: np.random.Generator) -> Integers:
    """Cells (R, J, K) of a test set from elsewhere: other base rates, the same error rates."""
    assert plan.shares is not None
    within = population.size / np.maximum(population.v, 1)[population.group]
    theta = (plan.shares[population.group] * within)[:, None] * population.rows
    cells = rng.multinomial(plan.n, (theta / theta.sum()).ravel(), R)
    return cells.reshape(R, *theta.shape)


def _total(
    population: _Population, plan: _Design, R: int, rng: np.random.Generator
) -> dict[str, Any]:
    """R replications of a population with values: who was misclassified, and who was audited."""
    y, K, s = population.y, population.K, population.s
    assert y is not None
    N = len(y)
    s_hat = np.tile(s.astype(np.int16), (R, 1))
    figures = [np.tile(np.bincount(s, x, K), (R, 1)) for x in (np.ones(N), y, y * y)]
    for r, unit, h in _errors(population, R, rng):
        g = s_hat[r, unit].astype(np.int64)
        s_hat[r, unit] = h
        for figure, weight in zip(figures, (None, y[unit], y[unit] ** 2), strict=True):
            figure += np.bincount(r * K + h, weight, R * K).reshape(R, K)
            figure -= np.bincount(r * K + g, weight, R * K).reshape(R, K)
    v_hat = figures[0].round().astype(np.int64)
    empty = v_hat == 0  # what is left there is rounding
    result: dict[str, Any] = {
        "v_hat": v_hat,
        "u_hat": np.where(empty, 0.0, figures[1]),
        "w_hat": np.where(empty, 0.0, np.maximum(figures[2], 0.0)),
    }
    if plan.name == "shifted":
        n = _shifted_units(population, plan, R, rng)
        return result | {"n": n, "t": None, "t2": None}
    rows, units = _audited(population, plan, s_hat, v_hat, rng)
    cell = (rows * K + s[units]) * K + s_hat[rows, units]
    for name, weight in (("n", None), ("t", y[units]), ("t2", y[units] ** 2)):
        result[name] = np.bincount(cell, weight, R * K * K).reshape(R, K, K)
    return result


def _errors(
    population: _Population, R: int, rng: np.random.Generator
) -> list[tuple[Integers, Integers, Integers]]:
    """Replication, unit and predicted class of every misclassified unit, type by type."""
    assert population.type_of is not None
    found = []
    for j, g in enumerate(population.group):
        units = np.flatnonzero(population.type_of == j)
        if not len(units):
            continue
        own = None if population.own is None else population.own[units]
        rate = 1 - population.rows[j, g] if own is None else float((1 - own[:, g]).max())
        place = _bernoulli(rate, R * len(units), rng)
        r, i = np.divmod(place, len(units))
        if own is None:
            others = population.rows[j].copy()
            others[g] = 0.0
            if not others.sum() > 0:
                continue
            edges = np.cumsum(others / others.sum())
            edges[np.flatnonzero(others)[-1] :] = 1.0  # rounding must not reach past the last
            h = np.searchsorted(edges, rng.random(len(place)), side="right")
        else:  # thinned to the unit's own rate
            kept = rng.random(len(place)) * rate < 1 - own[i, g]
            r, i = r[kept], i[kept]
            others = own[i].copy()
            others[:, g] = 0.0
            edges = np.cumsum(others / others.sum(axis=1, keepdims=True), axis=1)
            h = (rng.random((len(i), 1)) >= edges[:, :-1]).sum(axis=1)
        found.append((r, units[i], h.astype(np.int64)))
    return found


def _bernoulli(rate: float, trials: int, rng: np.random.Generator) -> Integers:
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


def _shifted_units(
    population: _Population, plan: _Design, R: int, rng: np.random.Generator
) -> Integers:
    """The cells of a test set from elsewhere; where rates depend on y, its units are like ours."""
    K, group = population.K, population.group
    n = np.zeros((R, K, K), np.int64)
    if population.own is None:
        cells = _shifted(population, plan, R, rng)
        for j in range(len(group)):
            n[:, group[j]] += cells[:, j]
        return n
    assert plan.shares is not None
    s = population.s
    per_class = rng.multinomial(plan.n, plan.shares, R)
    for g in range(K):
        units = np.flatnonzero(s == g)
        rows = np.repeat(np.arange(R), per_class[:, g])
        edges = population.own[units[rng.integers(0, max(len(units), 1), len(rows))]].cumsum(axis=1)
        h = (rng.random((len(rows), 1)) >= edges[:, :-1]).sum(axis=1)
        n[:, g] = np.bincount(rows * K + h, minlength=R * K).reshape(R, K)
    return n


def _audited(
    population: _Population,
    plan: _Design,
    s_hat: NDArray[np.int16],
    v_hat: Integers,
    rng: np.random.Generator,
) -> tuple[Integers, Integers]:
    """Replication and unit of every audited unit."""
    R, N = s_hat.shape
    if plan.name == "random":
        return _distinct(np.full(R, N), np.full(R, plan.n), rng)
    if plan.name == "by_class":
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


def _distinct(
    bound: Integers, size: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
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
