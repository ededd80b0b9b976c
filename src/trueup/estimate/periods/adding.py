"""A new month for a series: counted by itself, and added to the counts of the earlier ones."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.audit.work_list import recognise
from trueup.count.gather import figures_of, left_out
from trueup.count.labels import MOST_NAMED, check_columns
from trueup.count.matched import matched_tally
from trueup.count.names import Columns
from trueup.count.parts import Figures, GroupCounts, assemble
from trueup.errors import ClassError, DataError, OptionError
from trueup.estimate.job import Job, asked_of, run
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Progress
from trueup.read import open_table, open_units
from trueup.read.columns import class_kind, group_kind, require_columns
from trueup.read.formats.written import written
from trueup.read.table import Table, Tally
from trueup.text import quoted


def add_periods(
    est: Estimate, predictions: Any, test_set: Any = None, *, progress: Progress | None = None
) -> Estimate:
    """Return the series with the periods of one more table, and of its audited units if any.

    It is what the whole table would give with the same seed: the counts of a period are all that
    its table tells.
    """
    asked, job = est.asked, est._again
    if asked.get("period") is None or not isinstance(job, Job) or job.parts is None:
        raise OptionError(
            "Periods can be added to a series only: an estimate with `period`, all of its classes "
            "and a prior by name or Dirichlet.",
            hint="make it by correct(…, period=…), and add to it before `combine`.",
        )
    found, pooling, keep = job.parts
    old = found.groups
    if predictions is None and test_set is None:
        raise OptionError("`add` needs a table of new periods, or a test set; got neither.")
    if test_set is not None and not old.placed:
        raise OptionError(
            "The test set of this series is from elsewhere (design='shifted'), and was used as a "
            "whole; another cannot be added.",
            hint="correct the whole table with both test sets in one.",
        )
    columns = Columns(*(asked[name] for name in ("predicted", "true", "value", "id", "period")))
    files = [asked[name] for name in ("decimal", "encoding", "text")]
    population = audited = None
    if predictions is not None:
        source = written(predictions, *files)
        aggregated = asked["count"], asked["squares"], columns.value
        population = open_units(source, "predictions", *aggregated)
    if test_set is not None:
        audited = open_table(written(test_set, *files), "the test set")
        if (name := recognise(audited)) is not None:
            raise OptionError(
                f"A work list cannot be added to a series; {audited.name} has the column {name!r}, "
                "which says how it was drawn.",
                hint=f"if it was drawn at random from one period, take {name!r} out of it.",
            )
    tables = (population, audited)
    counted = _counted(population, audited, columns, asked, progress)
    new = [
        _figures(tally, table, axes, est.classes)
        for tally, table, axes in zip(counted, tables, (1, 2), strict=True)
    ]
    if twice := {*new[0].parts} & {*old.labels}:
        shown = [label[0] for label in sorted(twice, key=str)[:MOST_NAMED]]
        raise DataError(
            f"{population and population.name} must hold new periods only; the series already has "
            f"{quoted(shown)}.",
            hint="leave them out; if they were revised, correct the whole table again.",
        )
    both = [_joined(*pair) for pair in zip(_counts(found), new, strict=True)]
    notes = [
        note
        for table, tally in zip(tables, counted, strict=True)
        if table is not None and tally is not None
        for note in left_out(table, tally)
    ]
    signed = est.counts.signed or (counted[0] is not None and counted[0].signed)
    merged = assemble(
        both[0], both[1], est.classes, columns, placed=old.placed, signed=signed, warnings=notes
    )
    if merged.unplaced:
        raise DataError(
            f"Audited units must be in periods of the series; {audited and audited.name} has "
            f"{sum(merged.unplaced.values()):,} in others, such as "
            f"{next(iter(merged.unplaced))[0]!r}.",
            hint="add the table of that period first, or together with its test set.",
        )
    given = {"predictions": predictions, "test_set": test_set}
    told = asked_of("correct", given)
    pair = [None if x is None else told[name] for name, x in given.items()]
    job = replace(
        job,
        counts=merged.whole,
        parts=(merged, pooling, keep),
        notes=[*job.notes, *notes],
        asked=asked | {"added": [*asked.get("added", ()), pair]},
    )
    return run(job, progress)


def _counted(
    population: Table | None,
    audited: Table | None,
    columns: Columns,
    asked: dict[str, Any],
    progress: Progress | None,
) -> tuple[Tally | None, Tally | None]:
    """Tally the tables that there are, per period and class."""
    by, predicted, value = columns.by, columns.predicted, columns.value
    overlap = asked["design"] != "shifted" if asked["overlap"] is None else asked["overlap"]
    match = columns.id if overlap and population is not None else None
    how: dict[str, Any] = {"missing": asked["missing"], "nullable": columns.nullable}
    whole = None
    for table, wanted in ((population, ()), (audited, () if match else (columns.true,))):
        if table is None or (table is audited and match):
            continue
        kinds = require_columns(table, [*wanted, predicted, *by, *filter(None, [value])])
        for name in (*wanted, predicted):
            class_kind(table, name, kinds)
        group_kind(table, by[0], kinds)
    if population is not None:
        whole = population.tally([*by, predicted], value, progress=progress, **how)
    if audited is None:
        return whole, None
    if match is not None and population is not None:
        check_columns(population, audited, columns)
        return whole, matched_tally(population, audited, columns, by, asked["missing"])
    return whole, audited.tally([*by, columns.true, predicted], value, **how)


def _figures(
    tally: Tally | None, table: Table | None, axes: int, classes: Sequence[Hashable]
) -> Figures:
    """Put a tally into numbers; its labels must be classes of the series."""
    if tally is None or table is None:
        none = np.zeros(0)
        return Figures([], (none.astype(int),) * axes, none.astype(int), none, none)
    seen = {label for key in tally.keys for label in key[-axes:]}
    if strange := sorted(seen - {*classes}, key=str):
        raise ClassError(
            f"{table.name} must hold the classes of the series only; it also holds "
            f"{quoted(strange[:MOST_NAMED])}.",
            hint="fix the spelling, or correct the whole table again. The series has "
            f"{list(classes[:20])}.",
        )
    return figures_of(tally, *[classes] * axes)


def _counts(found: GroupCounts) -> tuple[Figures, Figures]:
    """Return the counts of a series as they came out of the tables."""
    parts, c = found.groups, found.groups.counts
    if not parts.placed:  # the test set has no periods
        c = replace(c, n=found.whole.n[None])
    figures = []
    arrays: Any = ((c.v_hat, c.u_hat, c.w_hat), (c.n, c.t, c.t2))
    for (units, sums, squares), placed in zip(arrays, (True, parts.placed), strict=True):
        b, *at = np.nonzero(units)
        labels = [parts.labels[i] if placed else () for i in b]
        more = (np.zeros(len(b)) if x is None else x[(b, *at)] for x in (sums, squares))
        figures.append(Figures(labels, tuple(at), units[(b, *at)], *more))
    return figures[0], figures[1]


def _joined(one: Figures, other: Figures) -> Figures:
    at = tuple(np.concatenate(pair) for pair in zip(one.at, other.at, strict=True))
    sums = (
        np.concatenate([getattr(x, name) for x in (one, other)])
        for name in ("units", "sums", "squares")
    )
    return Figures([*one.parts, *other.parts], at, *sums)
