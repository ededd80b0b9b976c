"""A new month for a series: counted by itself, and added to the counts of the earlier ones."""

import datetime
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.audit.work_list import recognise
from trueup.count.gather import left_out
from trueup.count.labels import MOST_NAMED, check_columns
from trueup.count.matched import matched_tally
from trueup.count.names import Columns
from trueup.count.parts import Figures, GroupCounts, assemble, figures_of
from trueup.errors import ClassError, DataError, OptionError, TrueupError
from trueup.estimate.job import Job, asked_of, run
from trueup.estimate.periods.late import audit_of, refuse_again, split
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Progress
from trueup.read import open_table, open_units
from trueup.read.columns import class_kind, group_kind, require_columns
from trueup.read.formats.written import written
from trueup.read.table import Table, Tally
from trueup.text import quoted, spelt

NOT_HERE = re.compile(r".*--\w|did you mean|name the column")
"""Hints that name options, or columns to name: `add` has none."""
AS_THE_SERIES = "`add` takes columns and options from the series; change the table instead."
SUMS = ("units", "sums", "squares")


def add_periods(
    est: Estimate,
    predictions: Any,
    test_set: Any = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Estimate:
    """Return the series with the periods of one more table, and of its audited units if any.

    It is what the whole table would give with the same seed: the counts of a period are all that
    its table tells.
    """
    if options:
        raise OptionError(
            f"`add` takes tables, and all else from the series; got {quoted([*options])}.",
            hint="to change columns or options, correct the whole table again.",
        )
    try:
        return _longer(est, predictions, test_set, progress)
    except TrueupError as error:
        hint = error.hint or ""
        if NOT_HERE.match(hint) is None:
            raise
        kept = f"{hint} " if hint.endswith("?") else ""
        raise type(error)(error.problem, hint=kept + AS_THE_SERIES) from None


def _longer(est: Estimate, predictions: Any, test_set: Any, progress: Progress | None) -> Estimate:
    asked, job = est.asked, est._again
    if asked.get("period") is None or not isinstance(job, Job) or job.parts is None:
        raise OptionError(
            "Periods can be added to a series only: an estimate with `period`, all of its classes "
            "and a prior by name or Dirichlet.",
            hint="make it by correct(…, period=…), and add to it before `combine`.",
        )
    if asked.get("score"):
        raise OptionError(
            "A series with a score cannot be added to: its bands are those of all its periods.",
            hint="correct the whole table again, or make the series without `score`.",
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
    for table, figures in zip(tables, new, strict=True):
        if table is not None:
            _refuse_other_labels(table, columns.by[0], figures, old.labels)
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
        for note in (*left_out(table, tally), *tally.notes)
    ]
    audits = asked.get("audits") or [audit_of(_counts(found)[1])]
    if audited is not None:
        audit = audit_of(new[1])
        notes += refuse_again(audit, audits, audited.name)
        audits = [*audits, audit]
    signed = est.counts.signed or (counted[0] is not None and counted[0].signed)
    merged = assemble(
        both[0], both[1], est.classes, columns, placed=old.placed, signed=signed, warnings=notes,
        valued=est.counts.t is not None,
    )  # fmt: skip
    if merged.unplaced:
        raise DataError(
            f"Audited units must be in periods of the series; {audited and audited.name} has "
            f"{sum(merged.unplaced.values()):,} in others, such as "
            f"{spelt(next(iter(merged.unplaced))[0])}.",
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
        asked=asked | {"added": [*asked.get("added", ()), pair], "audits": audits},
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
    by, true, predicted, value = columns.by, columns.true, columns.predicted, columns.value
    how: dict[str, Any] = {"missing": asked["missing"], "nullable": columns.nullable}

    def own(table: Table, classes: list[str]) -> Tally:
        """Tally a table by its own columns."""
        kinds = require_columns(table, [*classes, *by, *filter(None, [value])])
        for name in classes:
            class_kind(table, name, kinds)
        group_kind(table, by[0], kinds)
        bar = progress if table is population else None
        return table.tally([*by, *classes], value, progress=bar, **how)

    whole = None if population is None else own(population, [predicted])
    if audited is None:
        return whole, None
    overlap = asked["design"] != "shifted" if asked["overlap"] is None else asked["overlap"]
    if whole is None or population is None or not overlap or columns.id not in audited.kinds():
        return whole, own(audited, [true, predicted])
    check_columns(population, audited, columns)
    here, late = split(population, audited, columns, {key[0] for key in whole.keys})
    found = [] if late is None else [own(late, [true, predicted])]
    if here is not None:
        needed = quoted([*by, predicted, *filter(None, [value])])
        hint = f"units of earlier periods need the columns {needed} in the test set."
        found.append(matched_tally(population, here, columns, by, asked["missing"], hint))
    return whole, _together(found)


def _together(tallies: Sequence[Tally]) -> Tally:
    """Join tallies of different units."""
    sums: Any = {name: np.concatenate([getattr(x, name) for x in tallies]) for name in SUMS}
    return Tally(
        [key for x in tallies for key in x.keys],
        **sums,
        signed=any(x.signed for x in tallies),
        left_out=sum((Counter(x.left_out) for x in tallies), Counter()),
        rows_left_out=sum(x.rows_left_out for x in tallies),
        notes=[note for x in tallies for note in x.notes],
    )


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


def _refuse_other_labels(
    table: Table, column: str, figures: Figures, known: Sequence[tuple[Hashable, ...]]
) -> None:
    """Refuse periods of another kind than those of the series: they cannot be put in one order."""
    (one,) = known[0]
    for (label,) in figures.parts:
        if label is not None and type(label) is not type(one):
            hints = {
                str: f"write text such as {spelt(one)}.",
                int: f"write whole numbers such as {spelt(one)}.",
                datetime.date: f"write dates such as {one}; pd.to_datetime makes them of text.",
            }
            raise DataError(
                f"Column {column!r} of {table.name} must label periods as the series does, with "
                f"{_kind(one)} such as {spelt(one)}; got {_kind(label)}, {spelt(label)}.",
                hint=hints.get(type(one)),
            )


def _kind(label: Hashable) -> str:
    """Say in words what kind of label it is."""
    words = {str: "text", int: "whole numbers", datetime.date: "dates", bool: "true/false"}
    return words.get(type(label), "dates with a time")


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
        y, y2 = (np.zeros(len(b)) if x is None else x[(b, *at)] for x in (sums, squares))
        figures.append(Figures(labels, tuple(at), units[(b, *at)], y, y2))
    return figures[0], figures[1]


def _joined(one: Figures, other: Figures) -> Figures:
    at = tuple(np.concatenate(pair) for pair in zip(one.at, other.at, strict=True))
    each: list[Any] = [np.concatenate([getattr(x, name) for x in (one, other)]) for name in SUMS]
    return Figures([*one.parts, *other.parts], at, *each)
