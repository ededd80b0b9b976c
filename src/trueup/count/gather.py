"""From the two tables to the small bag of counts, whole and per group and stratum."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.count.bands import banded_counts
from trueup.count.counts import Counts, split
from trueup.count.matched import matched_tally
from trueup.count.names import Columns
from trueup.count.parts import Figures, GroupCounts, assemble
from trueup.errors import ClassError, DataError, OptionError
from trueup.read.aggregated import looks_aggregated
from trueup.read.table import (
    Missing,
    Progress,
    Table,
    Tally,
    class_kind,
    group_kind,
    plain,
    require_columns,
)

__all__ = ["gather", "gather_groups"]

BAND = "trueup band"
"""The column of fine bands, while both tables are counted."""
MOST_NAMED = 5  # how many offenders a message lists


def gather(population: Table, test_set: Table, columns: Columns, **options: Any) -> Counts:
    """Count both tables and check that they fit together; see `gather_groups`."""
    return gather_groups(population, test_set, columns, **options).whole


def gather_groups(
    population: Table,
    test_set: Table,
    columns: Columns,
    *,
    overlap: bool,
    classes: Sequence[Hashable] | None = None,
    missing: Missing = "refuse",
    progress: Progress | None = None,
    bands: bool = False,
) -> GroupCounts:
    """Count both tables per stratum, group and class, and check that they fit together.

    The population is counted in one group-by of (*strata, *by, predicted). Rows without a usable
    class, stratum or value are refused, or left out and reported; rows without a group are a group
    of their own, labelled None. With `id` (and `overlap`) the audited units' prediction, value,
    group and stratum come from the population. With `bands`, the same scan counts fine bands of the
    value, and `whole.bands` has cells of them; groups and strata have none. The whole is then
    counted in a scan of its own, so that groups do not change it.
    """
    if missing not in ("refuse", "leave_out"):
        raise OptionError(f'`missing` must be "refuse" or "leave_out"; got {missing!r}.')
    if population.name == test_set.name:  # two files of one name: messages must say which
        name = population.name
        population.name, test_set.name = f"{name} (predictions)", f"{name} (the test set)"
    columns = columns if overlap else replace(columns, id=None)
    value, parts, by, strata = columns.value, columns.parts, columns.by, columns.strata
    absent = _check_columns(population, test_set, columns)
    test_parts = strata if absent else parts
    bands = bands and value is not None and not strata
    alone = None
    if by and value is not None and not strata:  # the whole as if nobody had asked for groups
        alone = gather_groups(
            population,
            test_set,
            replace(columns, by=()),
            overlap=overlap,
            classes=classes,
            missing=missing,
            bands=bands,
        ).whole
    elif bands and value is not None:
        population = population.banded(BAND, value)
        if columns.id is None:
            test_set = test_set.banded(BAND, value)
        parts = test_parts = (BAND,)

    how: dict[str, Any] = {"missing": missing, "nullable": by}
    whole = population.tally([*parts, columns.predicted], value, progress=progress, **how)
    if columns.id is not None:
        audited = matched_tally(population, test_set, columns, test_parts, missing)
    else:
        keys = [*test_parts, columns.true, columns.predicted]
        audited = test_set.tally(keys, value, **how)
    seen = {key[-1] for key in whole.keys}, {label for key in audited.keys for label in key[-2:]}
    if classes is not None:
        labels = _listed_classes(classes, (population, test_set), seen)
    else:
        orders = [population.order(columns.predicted), test_set.order(columns.true)]
        labels = _common_classes(orders, (population, test_set), seen)
    notes = [*_left_out(population, whole), *_left_out(test_set, audited)]
    notes += _aggregated(population, whole, audited, overlap)
    if absent:
        notes.append(
            f"{test_set.name} has no column {absent}: its units inform every group, but are not "
            "known exactly in any, and error rates that differ between groups cannot be seen. Name "
            "the `id` column, or add the columns."
        )
    figures = _figures(whole, labels, axes=1), _figures(audited, labels, axes=2)
    cells = None
    if bands and alone is None:
        cells = banded_counts(*figures, labels, whole.signed)
        figures = figures[0].merged(), figures[1].merged()
    found = assemble(
        *figures,
        labels,
        strata=strata,
        by=by,
        placed=not absent,
        totals=value is not None,
        signed=whole.signed,
        warnings=notes,
    )
    _check_placed(found, population, test_set, overlap=overlap)
    if cells is not None and _fits(cells, overlap):
        found = replace(found, whole=replace(found.whole, bands=cells))
    if alone is not None:
        found = replace(found, whole=alone)
    return found


def _fits(cells: Counts, overlap: bool) -> bool:
    """Whether each cell holds its audited units: not if their values are not the population's."""
    try:
        split(cells, overlap)
    except DataError:
        return False
    return True


def _figures(tally: Tally, classes: Sequence[Hashable], *, axes: int) -> Figures:
    position = {label: g for g, label in enumerate(classes)}
    at = np.array([[position[label] for label in key[-axes:]] for key in tally.keys], np.int64)
    parts = [key[:-axes] for key in tally.keys]
    return Figures(parts, tuple(at.T), tally.units, tally.sums, tally.squares)


def _check_placed(found: GroupCounts, population: Table, test_set: Table, *, overlap: bool) -> None:
    without = int(found.groups.counts.v_hat[[None in label for label in found.groups.labels]].sum())
    if without:
        found.warnings.append(
            f"Rows of {population.name} without a label in one of {list(found.groups.columns)}: "
            f"{without:,}. They are a group of their own, labelled None; the "
            "rows of the whole, labelled None too, come last."
        )
    if not found.unplaced:
        return
    units, first = sum(found.unplaced.values()), next(iter(found.unplaced))
    words = (
        f"Units of {test_set.name} in groups or strata that {population.name} does not hold: "
        f"{units:,}; the first is in {first}."
    )
    if overlap:
        raise DataError(
            words, hint="with overlap=False (--no-overlap) the test set may come from elsewhere."
        )
    found.warnings.append(words + " They inform the whole, but no group.")


def _check_columns(population: Table, test_set: Table, columns: Columns) -> list[str]:
    """Check columns and their kinds; return the columns of groups that the test set lacks."""
    predicted, true, match = columns.predicted, columns.true, columns.id
    wanted = [predicted, *filter(None, (columns.value, match))]
    kinds = require_columns(population, [*wanted, *columns.parts])
    test_kinds = require_columns(test_set, [true, match] if match else [true, *wanted])
    found = {f"{predicted!r} of {population.name}": class_kind(population, predicted, kinds)}
    for column in (true, predicted):
        if column in test_kinds:
            found[f"{column!r} of {test_set.name}"] = class_kind(test_set, column, test_kinds)
    if len(set(found.values())) > 1:
        listed = "; ".join(f"{column}: {kind}" for column, kind in found.items())
        raise ClassError(
            f"The class columns must hold the same kind of label; {listed}.",
            hint="write the classes in the same way in both tables.",
        )
    for column in columns.parts:
        group_kind(population, column, kinds)
    if match is None:
        require_columns(test_set, columns.strata)
    for column in (*filter(None, [match]), *columns.parts):
        both = {kinds[column], test_kinds.get(column, kinds[column])}
        if len(both) > 1 and not (column == match and both == {"integer", "number"}):
            what = "id" if column == match else "label"
            raise DataError(
                f"Column {column!r} must hold the same kind of {what} in both tables; in "
                f"{population.name} it holds {kinds[column]}, in {test_set.name} "
                f"{test_kinds[column]}.",
                hint=f"write the {what}s in the same way in both tables.",
            )
    return [] if match else [column for column in columns.by if column not in test_kinds]


def _listed_classes(
    given: Sequence[Hashable], tables: tuple[Table, Table], seen: tuple[set[Any], set[Any]]
) -> list[Hashable]:
    listed = [plain(label) for label in given]
    for table, labels in zip(tables, seen, strict=True):
        if unknown := sorted(labels - set(listed), key=str):
            raise ClassError(
                f"{table.name} holds classes that `classes` does not list: {unknown[:MOST_NAMED]}.",
                hint=f"add them, or fix the spelling. Listed: {listed[:20]}.",
            )
    return listed


def _common_classes(
    orders: Sequence[list[Hashable] | None],
    tables: tuple[Table, Table],
    seen: tuple[set[Any], set[Any]],
) -> list[Hashable]:
    """Return the classes in the order of an ordered categorical; otherwise sorted."""
    for here, there in ((0, 1), (1, 0)):
        if unknown := sorted(seen[here] - seen[there], key=str):
            raise ClassError(
                f"{tables[here].name} holds classes that {tables[there].name} never names: "
                f"{unknown[:MOST_NAMED]}.",
                hint="list all classes with classes=[...] (--classes), or fix the spelling. "
                f"Known: {sorted(seen[there], key=str)[:20]}.",
            )
    found = {tuple(x for x in order if x in seen[0]) for order in orders if order}
    if len(found) > 1:
        listed = " and ".join(str(list(order)) for order in sorted(found))
        raise ClassError(
            f"Ordered class columns must have the same order in both tables; got {listed}.",
            hint="list all classes in order with classes=[...].",
        )
    return list(found.pop()) if found else sorted(seen[0])


def _aggregated(population: Table, whole: Tally, audited: Tally, overlap: bool) -> list[str]:
    """Say so when rows seem to stand for many units, or when their values are taken as equal."""
    if not getattr(population, "exact", True):
        return [
            f"The units of a row of {population.name} are taken to have equal values: intervals of "
            "totals are too narrow. Name the column of their sums of squares (squares=, --squares)."
        ]
    rows = int(whole.units.sum())
    column = looks_aggregated(population, rows)
    if column is None:
        return []
    words = f"{population.name} has {rows:,} rows and a column {column!r}"
    if overlap and int(audited.units.sum()) > rows:
        raise DataError(
            f"{words}, but the test set has {int(audited.units.sum()):,} units: each row seems to "
            "stand for many.",
            hint=f"say so with count={column!r} (--count {column}).",
        )
    return [
        f"{words}: if a row stands for many units, say so with count={column!r} (--count "
        f"{column}); here each row was one unit."
    ]


def _left_out(table: Table, tally: Tally) -> list[str]:
    if not tally.rows_left_out:
        return []
    reasons = ", ".join(f"{column!r} of {count:,}" for column, count in tally.left_out.items())
    return [
        f"Rows of {table.name} that were left out: {tally.rows_left_out:,}. No usable value"
        + (f" in {reasons}." if reasons else " for them in the population.")
    ]
