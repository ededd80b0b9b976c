"""Which units to audit next, from a pilot or from assumed rates; `audit.advise` has the model."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from trueup.aggregate.cells import draw_cells
from trueup.audit.advise import Advice, Known, advise, dirichlet_columns
from trueup.audit.draw import Bands, draw_rows
from trueup.audit.value_bands import band_names
from trueup.audit.work_list import recognise, stratum_name
from trueup.count.counts import Counts, split
from trueup.count.names import Columns
from trueup.count.parts import sorted_labels
from trueup.draws.cells.columns import CHAINS, learn_columns
from trueup.draws.settings import Settings
from trueup.errors import OptionError
from trueup.estimate.cell_totals import arrange
from trueup.numerics.arrays import Floats
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.read import open_table
from trueup.read.columns import plain, require_columns
from trueup.read.table import Table
from trueup.study.case import Case
from trueup.study.plans.promise import Lots, expected, promise

RANDOM, ALL = "at random", "all of them"
FUTURES = 16
"""Outcomes of the labels that are simulated, to say how wide the interval will be."""
WARM_UP, SWEEPS = 60, 100


def known_columns(
    counts: Counts, settings: Settings, wanted: Sequence[int], lots: Lots
) -> tuple[Known, Floats]:
    """Return what a pilot says of the cells, and FUTURES draws (F, K, L) of their columns.

    For counts that is exact; for totals and within strata from draws, as `correct` makes them. The
    bands of a predicted class in a stratum are one lot.
    """
    g = list(wanted)
    if counts.bands is None:
        rng = settings.rng
        rest, _ = split(counts, settings.overlap)
        units = rest.v_hat.astype(float)
        a = settings.prior.alpha + counts.n
        c = np.swapaxes(draw_dirichlet(a.T, FUTURES, rng), 1, 2)
        return dirichlet_columns(a, g, rest.v_hat, units, units), c
    cells = arrange(counts, settings)
    states = learn_columns(cells.n, cells.basis, settings.prior.alpha, settings.rng)
    next(islice(states, WARM_UP, None))
    drawn = (draw_cells(x, cells.n, settings.rng, cells.basis.over) for x in states)
    c = np.concatenate([*islice(drawn, SWEEPS)]).reshape(CHAINS * SWEEPS, counts.K, -1)
    mean = c[:, g].mean(axis=0)
    off = c[:, g] - mean
    cov = np.einsum("rgl,rgm->glm", off, off, optimize=True) / len(c)
    spread = (c[:, g] * (1 - c[:, g])).mean(axis=0)
    lot = np.repeat(np.arange(len(lots.keys)), cells.v.size // len(lots.keys))
    group = None if lots.group is None else lots.group[lot]
    known = Known(mean, cov, spread, cells.v.ravel(), cells.u.ravel(), cells.w.ravel(), lot, group)
    return known, c[:: len(c) // FUTURES][:FUTURES]


@dataclass(frozen=True, eq=False)
class Next:
    """The advice in rows, notes on what it brings, and the work list, if units have ids."""

    rows: list[dict[str, Any]]
    notes: list[str]
    work_list: list[dict[str, Any]] | None
    native: Any = None
    promised: list[float] | None = None


def next_units(
    case: Case,
    wanted: Sequence[int],
    count: int,
    tables: tuple[Any, Any],
    columns: Columns,
    settings: Settings,
    cost: Mapping[Any, float] | float,
    goals: Sequence[float] | None = None,
) -> Next:
    """Return which units to audit next, for the figures of the `wanted` classes.

    `goals` are the coefficients of variation wanted of each; without them the largest decides.
    """
    K = case.K
    population = None if tables[0] is None else open_table(tables[0], "predictions")
    bands: dict[Any, str] = {}
    lots = Lots([(label, (), None) for label in case.classes], None, [])
    if case.counts is None:
        sums = case.sums(np.random.Generator(np.random.SFC64(settings.seed)))
        # as sure as the prior alone
        a = np.maximum(case.c, 1e-9) * settings.prior.alpha.sum(axis=0)
        known = dirichlet_columns(a, list(wanted), case.v_hat, *sums)
        futures = np.empty((0, K, K))
    else:
        assert population is not None
        if case.strata:
            lots = _strata(case, population, columns.by)
        elif case.counts.bands is not None:
            bands = band_names(population, columns, K, case.counts.bands.phase)
            names = [*dict.fromkeys(bands.values())]
            lots = Lots([(h, (), name) for h in case.classes for name in names], None, [])
        known, futures = known_columns(case.counts, settings, wanted, lots)
    price_of = dict(zip(case.classes, label_costs(cost, case.classes), strict=True))
    prices = np.array([price_of[label] for label, *_ in lots.keys])
    figures = (known.mean * known.u) @ known.groups.T
    if case.counts is not None and settings.overlap:
        cells = case.counts if case.counts.bands is None else case.counts.bands
        audited = cells.t if cells.totals else cells.n
        figures += 0.0 if audited is None else audited[[*wanted]] @ known.groups.T
    wish = np.ones(len(wanted)) if goals is None else np.array(goals)
    advice = advise(count, known, np.maximum(figures, 1e-300) * wish[:, None], prices)
    units = known.parts.astype(bool) @ known.v
    rows: list[dict[str, Any]] = [
        {
            "predicted": lots.keys[i][0],
            **dict(zip(case.strata, lots.keys[i][1], strict=True)),
            "values": lots.keys[i][2],
            "chosen": ALL if advice.labels[i] == units[i] else RANDOM,
            "units": int(advice.labels[i]),
            "ids": None,
        }
        for i in np.flatnonzero(advice.labels)
    ]
    if case.counts is None or lots.groups:
        notes, promised = expected(case, wanted, advice, figures, lots), None
    else:
        notes, promised = promise(case, wanted, advice, known, futures, settings, goals)
    if population is None or columns.id is None:
        return Next(rows, notes, None, None, promised)
    made = _work_list(case, lots, advice, population, tables[1], columns, bands, settings.seed)
    stratum = "trueup_stratum" if "trueup_stratum" in made[0] else "stratum"
    shown = [columns.predicted, *case.strata, *(["value"] if bands else [])]
    for row in rows:
        at = (row["predicted"], *(row[name] for name in case.strata), row["values"])
        text = stratum_name(shown, at[: len(shown)])
        new = (unit for unit in made if unit[columns.true] is None and unit[stratum] == text)
        row["ids"] = [unit[columns.id] for unit in new]
    return Next(rows, notes, made, population.native, promised)


def _strata(case: Case, population: Table, by: Sequence[str]) -> Lots:
    """Return the lots of predicted classes in strata, and which group each is in."""
    tally = population.tally(case.strata, None, missing="leave_out")
    labels = sorted_labels(tally.keys)
    keys: list[Any] = [(h, label, None) for h in case.classes for label in labels]
    if not by:
        return Lots(keys, None, [])
    place = [case.strata.index(name) for name in by]
    of = [tuple(label[i] for i in place) for _, label, _ in keys]
    groups = [*dict.fromkeys(of)]
    return Lots(keys, np.array([groups.index(x) for x in of]), groups)


def label_costs(cost: Mapping[Any, float] | float, classes: Sequence[Hashable]) -> Floats:
    """Return what a label costs in each predicted class."""
    if not isinstance(cost, Mapping):
        return np.full(len(classes), float(cost))
    by_name = {str(label): float(x) for label, x in cost.items()}
    if strange := sorted(set(by_name) - {str(label) for label in classes}):
        raise OptionError(f"`cost` must name classes of {list(classes)}; got {strange}.")
    return np.array([by_name.get(str(label), 1.0) for label in classes])


def positions(case: Case, interest: Any) -> list[int]:
    """Return the places of the classes of interest, of which there may be one or several."""
    several = isinstance(interest, Sequence) and not isinstance(interest, str)
    return [case.position(x) for x in interest] if several else [case.position(interest)]


def _work_list(
    case: Case,
    lots: Lots,
    advice: Advice,
    population: Table,
    test_set: Any,
    columns: Columns,
    bands: Mapping[Any, str],
    seed: int,
) -> list[dict[str, Any]]:
    """Draw the units: those of the pilot come first, with their labels."""
    labels, audited, phase = {}, np.zeros(len(lots.keys), np.int64), 0.0
    assert columns.id is not None
    if case.counts is not None:
        table = open_table(test_set, "the test set")
        recognise(table)
        require_columns(table, [columns.id, columns.true])
        labels = {plain(i): plain(s) for i, s in table.rows([columns.id, columns.true])}
        cells = case.counts if case.counts.bands is None else case.counts.bands
        audited = cells.n.sum(axis=0).reshape(len(lots.keys), -1).sum(axis=1)
        phase = cells.phase
    sizes = {
        (label, *stratum) if band is None else (label, band): int(m)
        for (label, stratum, band), m in zip(lots.keys, advice.labels + audited, strict=True)
        if m
    }
    return draw_rows(
        population, sizes, id=columns.id, by_prediction=True, predicted=columns.predicted,
        true=columns.true, seed=seed, labels=labels, within=case.strata,
        bands=Bands(str(columns.value), bands, phase) if bands else None,
    )  # fmt: skip
