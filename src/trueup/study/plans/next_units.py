"""Which units to audit next, from a pilot or from assumed rates; `audit.advise` has the model."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import ndtri

from trueup.aggregate.cells import draw_cells
from trueup.audit.advise import Advice, Known, advise, dirichlet_columns
from trueup.audit.draw import Bands, draw_rows
from trueup.audit.value_bands import band_names
from trueup.audit.work_list import recognise
from trueup.count.bands import scores
from trueup.count.counts import Counts, split
from trueup.count.names import Columns
from trueup.draws.cells.columns import CHAINS, learn_columns
from trueup.draws.cells.frame import frame
from trueup.draws.settings import Settings
from trueup.errors import OptionError
from trueup.estimate.methods import estimate
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.prior import Concentrations
from trueup.read import open_table
from trueup.read.columns import plain, require_columns
from trueup.read.table import Table
from trueup.study.case import Case
from trueup.text import short

RANDOM, ALL = "at random", "all of them"
FUTURES = 16
"""Outcomes of the labels that are simulated, to say how wide the interval will be."""
WARM_UP, SWEEPS = 60, 100


def known_columns(
    counts: Counts, prior: Concentrations, overlap: bool, wanted: Sequence[int], seed: int
) -> tuple[Known, Floats]:
    """Return what a pilot says of the cells, and FUTURES draws (F, K, L) of their columns.

    For counts that is exact; for totals from draws, as `correct` makes them.
    """
    g, rng = list(wanted), np.random.Generator(np.random.SFC64(seed))
    cells = counts if counts.bands is None else counts.bands
    rest, _ = split(cells, overlap)
    u = rest.v_hat.astype(float) if rest.u_hat is None else rest.u_hat
    w = rest.v_hat.astype(float) if rest.w_hat is None else rest.w_hat
    if counts.bands is None:
        a = prior.alpha + counts.n
        c = np.swapaxes(draw_dirichlet(a.T, FUTURES, rng), 1, 2)
        return dirichlet_columns(a, g, rest.v_hat, u, w), c
    assert cells.u_hat is not None
    K = counts.K
    n, v_hat = cells.n.reshape(K, K, -1), cells.v_hat.reshape(K, -1)
    z = scores(v_hat, cells.u_hat.reshape(K, -1))
    known = frame(n, v_hat, z)
    states = learn_columns(n, known, prior.alpha, rng)
    next(islice(states, WARM_UP, None))
    c = np.concatenate([draw_cells(state, n, rng, known.over) for state in islice(states, SWEEPS)])
    c = c.reshape(CHAINS * SWEEPS, K, -1)
    mean = c[:, g].mean(axis=0)
    off = c[:, g] - mean
    cov = np.einsum("rgl,rgm->glm", off, off) / len(c)
    spread = (c[:, g] * (1 - c[:, g])).mean(axis=0)
    return Known(mean, cov, spread, rest.v_hat, u, w), c[:: len(c) // FUTURES][:FUTURES]


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
    alpha, K = settings.prior.alpha, case.K
    population = None if tables[0] is None else open_table(tables[0], "predictions")
    bands: dict[Any, str] = {}
    if case.counts is None:
        sums = case.sums(np.random.Generator(np.random.SFC64(settings.seed)))
        a = np.maximum(case.c, 1e-9) * alpha.sum(axis=0)  # as sure as the prior alone
        known = dirichlet_columns(a, list(wanted), case.v_hat, *sums)
        futures = np.empty((0, K, K))
    else:
        known, futures = known_columns(
            case.counts, settings.prior, settings.overlap, wanted, settings.seed
        )
        if case.counts.bands is not None and population is not None:
            bands = band_names(population, columns, K, case.counts.bands.phase)
    names: list[str | None] = [*dict.fromkeys(bands.values())] or [None]
    cells = [(label, name) for label in case.classes for name in names]
    prices = np.repeat(label_costs(cost, case.classes), len(names))
    figures = known.mean @ known.u
    scale = np.maximum(figures, 1e-300) * (1.0 if goals is None else np.array(goals))
    advice = advise(count, known, scale, prices)
    rows: list[dict[str, Any]] = [
        {
            "predicted": cells[i][0],
            "values": cells[i][1],
            "chosen": ALL if advice.labels[i] == known.v[i] else RANDOM,
            "units": int(advice.labels[i]),
            "ids": None,
        }
        for i in np.flatnonzero(advice.labels)
    ]
    notes, promised = _promise(case, wanted, advice, known, futures, settings, goals)
    if population is None or columns.id is None:
        return Next(rows, notes, None, None, promised)
    made = _work_list(case, cells, advice, population, tables[1], columns, bands, settings.seed)
    stratum = "trueup_stratum" if "trueup_stratum" in made[0] else "stratum"
    for row in rows:
        at = (row["predicted"], row["values"]) if bands else (row["predicted"],)
        text = ", ".join(f"{k}={x}" for k, x in zip((columns.predicted, "value"), at, strict=False))
        new = (unit for unit in made if unit[columns.true] is None and unit[stratum] == text)
        row["ids"] = [unit[columns.id] for unit in new]
    return Next(rows, notes, made, population.native, promised)


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


def _promise(
    case: Case,
    wanted: Sequence[int],
    advice: Advice,
    known: Known,
    futures: Floats,
    settings: Settings,
    goals: Sequence[float] | None,
) -> tuple[list[str], list[float] | None]:
    """Say how wide the intervals are today, and how wide they will be: labels are simulated.

    The median of the futures: in a few of them a label shows what the pilot could not, and the
    mean, which these decide, would be wider than most intervals turn out.
    """
    if case.counts is None:
        sd = np.sqrt(np.stack([advice.before, advice.after], axis=1))
        return [
            f"They would bring the standard deviation of {case.classes[g]!r} from about "
            f"{short(sd[i][0])} to {short(sd[i][1])}, if the assumed rates hold."
            for i, g in enumerate(wanted)
        ], None

    def halves(counts: Counts) -> Floats:
        rows = estimate(counts, settings).rows()
        return np.array([(rows[g]["upper"] - rows[g]["lower"]) / 2 for g in wanted])

    now = halves(case.counts)
    then = np.median(
        [halves(_after(case.counts, advice.labels, c, known, settings.rng)) for c in futures],
        axis=0,
    )
    words = [
        f"The {settings.interval:.0%} interval of {case.classes[g]!r} is ± {short(a)} now, and "
        f"will be about ± {short(b)} with these labels"
        for g, a, b in zip(wanted, now, then, strict=True)
    ]
    ends = ["."] * len(words)
    if goals is not None:
        level = known.mean @ known.u + split(case.counts, settings.overlap)[1][[*wanted]]
        cvs = then / ndtri((1 + settings.interval) / 2) / np.maximum(level, 1e-300)
        each = zip(cvs, goals, strict=True)
        ends = [f": a CV of {x:.1%}, where {goal:.1%} is wanted." for x, goal in each]
    return [a + b for a, b in zip(words, ends, strict=True)], [float(x) for x in then]


def _after(counts: Counts, labels: Integers, c: Floats, known: Known, rng: Rng) -> Counts:
    """Return the counts with labels whose true classes are drawn from columns c (K, L)."""
    cells = counts if counts.bands is None else counts.bands
    X = rng.multinomial(labels, (c / c.sum(axis=0)).T).T
    units = np.maximum(known.v, 1)
    more: dict[str, Any] = {"n": cells.n + X}
    if cells.t is not None and cells.t2 is not None:
        more |= {"t": cells.t + X * known.u / units, "t2": cells.t2 + X * known.w / units}
    if counts.bands is None:
        return replace(counts, **more)
    K = counts.K
    whole = {name: x.reshape(K, K, -1).sum(axis=2) for name, x in more.items()}
    return replace(counts, **whole, bands=replace(cells, **more))


def _work_list(
    case: Case,
    cells: Sequence[tuple[Hashable, str | None]],
    advice: Advice,
    population: Table,
    test_set: Any,
    columns: Columns,
    bands: Mapping[Any, str],
    seed: int,
) -> list[dict[str, Any]]:
    """Draw the units: those of the pilot come first, with their labels."""
    labels, audited, phase = {}, np.zeros(len(cells), np.int64), 0.0
    assert columns.id is not None
    if case.counts is not None:
        table = open_table(test_set, "the test set")
        recognise(table)
        require_columns(table, [columns.id, columns.true])
        labels = {plain(i): plain(s) for i, s in table.rows([columns.id, columns.true])}
        cell_counts = case.counts if case.counts.bands is None else case.counts.bands
        audited, phase = cell_counts.n.sum(axis=0), cell_counts.phase
    wanted = advice.labels + audited
    sizes = {
        (label if name is None else (label, name)): int(m)
        for (label, name), m in zip(cells, wanted, strict=True)
        if m
    }
    return draw_rows(
        population, sizes, id=columns.id, by_prediction=True, predicted=columns.predicted,
        true=columns.true, seed=seed, labels=labels,
        bands=Bands(str(columns.value), bands, phase) if bands else None,
    )  # fmt: skip
