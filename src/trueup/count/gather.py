"""From the two tables to the small bag of counts, whole and per group and stratum."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.count.bands import cell_counts, in_order
from trueup.count.counts import Counts, a_list, split
from trueup.count.group_bands import count_group_bands
from trueup.count.matched import matched_tally
from trueup.count.names import Columns
from trueup.count.parts import Figures, GroupCounts, assemble
from trueup.count.scores import FROM_POPULATION, check_score, score_classes, without_value
from trueup.errors import ClassError, DataError, OptionError
from trueup.read.aggregated import looks_aggregated
from trueup.read.table import (
    Missing,
    Progress,
    Score,
    Table,
    Tally,
    class_kind,
    group_kind,
    plain,
    require_columns,
)
from trueup.text import quoted

BAND, SCORE_BAND = "trueup band", "trueup score band"
"""The columns of fine bands of value and score, while both tables are counted."""
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
    design: str = "random",
) -> GroupCounts:
    """Count both tables per stratum, group and class, and check that they fit together.

    The population is counted in one group-by of (*strata, *by, predicted). Rows without a usable
    class, stratum or value are refused, or left out and reported; rows without a group are a group
    of their own, labelled None. With `id` (and `overlap`) the audited units' prediction, value,
    group and stratum come from the population. With `bands`, the same scan counts fine bands of the
    value and of the score, and `whole.bands` has cells of them and of audit strata
    (`drawn_within`); strata have none. The whole is then counted in a scan of its own, so that
    groups do not change it, and the bands of groups, while these are few, in one more. `design`
    says whether a label that is never true must be asked about.
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
    score = columns.score if bands else ()
    bands = bands and value is not None and not strata
    if columns.drawn_within:
        parts = test_parts = columns.drawn_within
    alone = None
    if by and value is not None and not strata:  # the whole as if nobody had asked for groups
        alone = gather(
            population, test_set, replace(columns, by=()), overlap=overlap, classes=classes,
            missing=missing, bands=bands, design=design,
        )  # fmt: skip
    elif bands and value is not None:
        population = population.banded(BAND, value)
        if columns.id is None:
            test_set = test_set.banded(BAND, value)
        parts = test_parts = (*parts, BAND)
    fineness = 0
    if score:
        fineness = 4 if bands else 8
        made = Score(score, columns.predicted, score_classes(score, classes), fineness)
        population = population.scored(SCORE_BAND, made)
        if columns.id is None:
            test_set = test_set.scored(SCORE_BAND, made)
        parts = test_parts = (*parts, SCORE_BAND)

    how: dict[str, Any] = {"missing": missing, "nullable": by}
    whole = population.tally([*parts, columns.predicted], value, progress=progress, **how)
    if columns.id is not None:
        audited = matched_tally(population, test_set, columns, test_parts, missing)
    else:
        keys = [*test_parts, columns.true, columns.predicted]
        audited = test_set.tally(keys, value, **how)
    labels, predicted = _labels(classes, (population, test_set), columns, (whole, audited), design)
    notes = [*_left_out(population, whole), *_left_out(test_set, audited)]
    notes += _aggregated(population, whole, audited, overlap)
    if absent:
        notes.append(
            f"{test_set.name} has no column {quoted(absent)}: its units inform every group, but "
            "are not known exactly in any, and error rates that differ between groups cannot be "
            "seen. Name the `id` column, or add the columns."
        )
    fine = _figures(whole, predicted), _figures(audited, labels, predicted)
    bands = bands and alone is None
    figures = fine
    if bands or columns.drawn_within or score:
        figures = fine[0].merged(), fine[1].merged()
    found = assemble(
        *figures,
        labels,
        columns,
        placed=not absent,
        signed=whole.signed,
        warnings=notes,
        columns=None if predicted == labels else tuple(predicted),
    )
    if found.whole.columns is not None and columns.parts:
        raise OptionError(
            "`by` and `strata` need predicted labels that are the classes; got "
            f"{list(found.whole.columns)[:MOST_NAMED]} for {labels[:MOST_NAMED]}.",
            hint="list every predicted label in `classes`, or leave `by` and `strata` out.",
        )
    _check_placed(found, population, test_set, overlap=overlap)
    if alone is not None:
        inside = count_group_bands(
            population, test_set, columns, found.groups, alone, missing=missing, overlap=overlap
        )
        found = replace(found, banded=inside)
    cells = None
    if columns.drawn_within:
        cells = _audit_strata(fine, found.whole, columns.drawn_within, notes, overlap, bands)
    elif bands or score:
        scored: Any = {"fineness": fineness, "from_population": design in FROM_POPULATION}
        audited_cells = fine[1] if overlap or score or not bands else _nearest(*fine)
        cells = cell_counts(fine[0], audited_cells, found.whole, banded=bands, **scored)
        cells = _fitting(cells, overlap)
        if score and bands and cells is None:  # the audited values are not those of the population
            tables = without_value(fine[0]), without_value(fine[1])
            cells = _fitting(cell_counts(*tables, found.whole, banded=False, **scored), overlap)
        if score:
            notes += check_score(cells, fine[0], found.whole, score)
    return replace(found, whole=alone or replace(found.whole, bands=cells))


def _fitting(cells: Counts | None, overlap: bool) -> Counts | None:
    """Return cells that hold their audited units: not if values are not the population's."""
    try:
        if cells is not None:
            split(cells, overlap)
    except DataError:
        return None
    return cells


def _nearest(population: Figures, audited: Figures) -> Figures:
    """Put audited units from elsewhere into the nearest of the population's fine bands."""
    known, seen = ({int(part[-1]) for part in x.parts} for x in (population, audited))  # type: ignore[call-overload]
    every = in_order(np.array(sorted(known | seen))).tolist()
    at = np.array([i for i, band in enumerate(every) if band in known])
    to = {band: every[at[np.abs(at - i).argmin()]] for i, band in enumerate(every)}
    parts = [(*part[:-1], to[int(part[-1])]) for part in audited.parts]  # type: ignore[call-overload]
    return replace(audited, parts=parts)


def _audit_strata(
    fine: tuple[Figures, Figures],
    whole: Counts,
    names: tuple[str, ...],
    notes: list[str],
    overlap: bool,
    bands: bool,
) -> Counts | None:
    """Return the cells of audit strata, with bands where the audited values fit into them."""
    known, audited = ({part[: len(names)] for part in figures.parts} for figures in fine)
    if strange := audited - known:
        raise DataError(
            f"The test set has units in strata of {quoted(names)} that the population does not "
            f"hold: {_parts(sorted(strange, key=str))}.",
            hint="write the strata in the same way in both tables.",
        )
    if missing := known - audited:
        notes.append(
            f"No audited unit is in {len(missing):,} of {len(known):,} strata of {quoted(names)}, "
            f"such as {_parts([min(missing, key=str)])}: what they hold is taken from the other "
            "strata."
        )
    if bands:
        cells = _fitting(cell_counts(*fine, whole, banded=True), overlap)
        if cells is not None:
            return cells
        rows = [replace(x, parts=[part[:-1] for part in x.parts]) for x in fine]
        fine = (rows[0], rows[1])
    found = cell_counts(*fine, whole, banded=False)
    if found is not None:
        split(found, overlap)  # says which cell holds more audited units than units
    return found


def _parts(labels: Sequence[tuple[Hashable, ...]]) -> str:
    """Write strata or groups, each a tuple of labels, as a sentence lists them."""
    return ", ".join(" / ".join(map(repr, label)) for label in labels[:MOST_NAMED])


def _figures(tally: Tally, *axes: Sequence[Hashable]) -> Figures:
    """The rows of a tally in numbers; its last keys are in these lists of labels."""
    place = [{label: g for g, label in enumerate(labels)} for labels in axes]
    keys = [key[-len(axes) :] for key in tally.keys]
    at = np.array([[p[x] for p, x in zip(place, key, strict=True)] for key in keys], np.int64)
    parts = [key[: -len(axes)] for key in tally.keys]
    return Figures(parts, tuple(at.T), tally.units, tally.sums, tally.squares)


def _check_placed(found: GroupCounts, population: Table, test_set: Table, *, overlap: bool) -> None:
    without = int(found.groups.counts.v_hat[[None in label for label in found.groups.labels]].sum())
    if without:
        found.warnings.append(
            f"Rows of {population.name} without a label in one of {quoted(found.groups.columns)}: "
            f"{without:,}. They are a group of their own, labelled None; the "
            "rows of the whole, labelled None too, come last."
        )
    if not found.unplaced:
        return
    units, first = sum(found.unplaced.values()), next(iter(found.unplaced))
    words = (
        f"Units of {test_set.name} in groups or strata that {population.name} does not hold: "
        f"{units:,}; the first is in {_parts([first])}."
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
    parts = (*columns.parts, *columns.drawn_within)
    kinds = require_columns(population, [*wanted, *parts])
    test_kinds = require_columns(test_set, [true, match] if match else [true, *wanted])
    require_columns(population, columns.score)
    if match is None and (absent := [x for x in columns.score if x not in test_kinds]):
        raise DataError(
            f"{test_set.name} must have the score too; it has no column {absent[0]!r}.",
            hint="add the column, or name the `id` column: scores then come from the population.",
        )
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
    for column in parts:
        group_kind(population, column, kinds)
    if match is None:
        require_columns(test_set, (*columns.strata, *columns.drawn_within))
    for column in (*filter(None, [match]), *parts):
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


def _labels(
    given: Sequence[Hashable] | None,
    tables: tuple[Table, Table],
    columns: Columns,
    tallies: tuple[Tally, Tally],
    design: str,
) -> tuple[list[Hashable], list[Hashable]]:
    """Return the classes, and the predicted labels: the classes unless `given` leaves some out."""
    whole, audited = tallies
    seen = {key[-1] for key in whole.keys}, {label for key in audited.keys for label in key[-2:]}
    if given is None:
        orders = [tables[0].order(columns.predicted), tables[1].order(columns.true)]
        labels = _common_classes(orders, tables, seen)
        _refuse_untrue(seen[0] - {key[-2] for key in audited.keys}, labels, tables[1], design)
        return labels, labels
    listed = [plain(label) for label in a_list("classes", given)]
    true = {key[-2] for key in audited.keys}
    if unknown := sorted(true - set(listed), key=str):
        raise ClassError(
            f"{tables[1].name} holds true classes that `classes` does not list: "
            f"{quoted(unknown[:MOST_NAMED])}.",
            hint=f"add them, or fix the spelling. Listed: {listed[:20]}.",
        )
    if not seen[0] & set(listed):
        raise ClassError(
            f"`classes` must name some of the predicted classes of {tables[0].name}; it holds "
            f"{quoted(sorted(seen[0], key=str)[:MOST_NAMED])}.",
            hint=f"fix the spelling. Listed: {listed[:20]}.",
        )
    return listed, [*listed, *sorted((seen[0] | seen[1]) - set(listed), key=str)]


def _refuse_untrue(never: set[Any], labels: list[Hashable], test_set: Table, design: str) -> None:
    """Ask about predicted labels that no audited unit has as truth, where the answer is at stake.

    A test set drawn within true classes, or elsewhere, says nothing of the share of a class that
    it lacks: the class would get whatever the prior allows.
    """
    if design not in ("by_class", "shifted") or not never:
        return
    named = sorted(never, key=str)
    rest = [label for label in labels if label not in never]
    raise ClassError(
        f"No unit of {test_set.name} is truly {quoted(named[:MOST_NAMED])}, so that a test set "
        f"with design {design!r} says nothing of how many there are.",
        hint=f"if that is no class but a label such as 'unknown', list the others: classes="
        f"{rest[:20]}; if units can truly be of it, audit some, or list all classes to go on.",
    )


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
                f"{quoted(unknown[:MOST_NAMED])}.",
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
