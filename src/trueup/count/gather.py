"""From the two tables to the small bag of counts, whole and per group and stratum."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from trueup.count.bands import cell_counts, fitting, nearest, one_band, strange_values
from trueup.count.counts import Counts, split
from trueup.count.group_bands import count_group_bands, count_group_strata, group_score_bands
from trueup.count.labels import (
    MOST_NAMED,
    check_columns,
    has_values,
    labels_of,
    like_an_id,
    spelt_alike,
)
from trueup.count.matched import Both
from trueup.count.names import FROM_POPULATION, Columns
from trueup.count.parts import Figures, GroupCounts, assemble, figures_of
from trueup.count.scores import check_score, score_classes
from trueup.errors import DataError, OptionError
from trueup.numerics.arrays import Progress
from trueup.read.aggregated import looks_aggregated
from trueup.read.table import Missing, Score, Table, Tally
from trueup.text import quoted, spelt

BAND, SCORE_BAND = "trueup band", "trueup score band"
"""The columns of fine bands of value and score, while both tables are counted."""


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
    periods: bool = False,
) -> GroupCounts:
    """Count both tables per stratum, group and class, and check that they fit together.

    The population is counted in one group-by of (*strata, *by, predicted). Rows without a usable
    class, stratum or value are refused, or left out and reported; rows without a group are a group
    of their own, labelled None. With `id` (and `overlap`) the audited units' prediction, value,
    group and stratum come from the population. With `bands`, the same scan counts fine bands of the
    value and of the score, and `whole.bands` has cells of them and of audit strata
    (`drawn_within`); strata have none. The whole is then counted in a scan of its own, so that
    groups do not change it, and the bands of groups, while these are few, in one more. `design`
    says whether a label that is never true must be asked about. Groups that are `periods` have
    words of their own where the test set lacks them.
    """
    if missing not in ("refuse", "leave_out"):
        raise OptionError(f'`missing` must be "refuse" or "leave_out"; got {missing!r}.')
    if population.name == test_set.name:  # two files of one name: messages must say which
        name = population.name
        population.name, test_set.name = f"{name} (predictions)", f"{name} (the test set)"
    columns = columns if overlap else replace(columns, id=None)
    value, parts, by, strata = columns.value, columns.parts, columns.by, columns.strata
    absent = check_columns(population, test_set, columns)
    valued = value is not None and has_values(population, test_set, columns)
    test_parts = strata if absent else parts
    score = columns.score if bands else ()
    bands = bands and value is not None and not strata
    within = () if by else columns.drawn_within
    if within:
        parts = test_parts = within
    # rows without a stratum are left out of groups too
    extra = tuple(name for name in columns.drawn_within if by and name not in by)
    kept = len(parts), len(test_parts)  # what stays of the labels in figures
    parts, test_parts = (*parts, *extra), (*test_parts, *extra)
    alone, phase, both = None, 0.0, Both(population, test_set, columns, missing, overlap)
    apart = value is not None or columns.drawn_within or score
    if by and apart and not strata:  # the whole as if nobody had asked for groups
        alone = gather_groups(
            population, test_set, replace(columns, by=()), overlap=overlap, classes=classes,
            missing=missing, bands=bands or bool(score), design=design,
        )  # fmt: skip
    elif bands and value is not None:
        phase = both.phase()
        both = both.made(lambda table: table.banded(BAND, value, phase))
        parts = test_parts = (*parts, BAND)
    fineness = 0
    if score and (alone is None or value is None):
        fineness = 4 if bands and not columns.drawn_bands else 8
        made = Score(score, columns.predicted, score_classes(score, classes), fineness)
        both = both.made(lambda table: table.scored(SCORE_BAND, made))
        parts, test_parts = (*parts, SCORE_BAND), (*test_parts, SCORE_BAND)

    population, test_set = both.population, both.test_set
    whole, audited = both.every(parts, progress), both.audited(test_parts)
    labels, predicted = labels_of(
        classes, (population, test_set), columns, (whole, audited), design
    )
    notes = [*left_out(population, whole), *left_out(test_set, audited), *audited.notes]
    notes += _aggregated(population, whole, audited, overlap)
    notes += spelt_alike("Classes", {*labels, *predicted})
    for i, column in enumerate(parts):
        there = {key[i] for key in whole.keys}
        notes += spelt_alike(f"Labels in {column!r}", there)
        if column in (*columns.parts, *columns.drawn_within):
            notes += like_an_id(column, len(there), int(whole.units.sum()))
    if value is not None and not valued:
        notes.append(_not_valued(test_set, value))
    notes += [note for note in (alone.warnings if alone else ()) if note not in notes]
    if absent and not periods:
        notes.append(_not_placed(test_set, absent, columns, overlap))
    bands = bands and alone is None
    how: Any = {"band": bands, "score": bool(fineness)}
    fine = (
        figures_of(whole, predicted, parts=kept[0], **how),
        figures_of(audited, labels, predicted, parts=kept[1], **how),
    )
    one = alone is None and (bands or within or fineness)
    figures = (fine[0].merged(), fine[1].merged()) if one else fine
    found = assemble(
        *figures,
        labels,
        columns,
        placed=not absent,
        valued=valued,
        signed=whole.signed,
        warnings=notes,
        columns=None if predicted == labels else tuple(predicted),
    )
    if found.whole.columns is not None and columns.parts:
        others = [label for label in predicted if label not in labels]
        raise OptionError(
            f"With groups, strata or periods (here {quoted(columns.parts)}) predicted labels must "
            f"be classes; {quoted(others[:MOST_NAMED])} {'is' if len(others) == 1 else 'are'} not.",
            hint="correct the whole without them, or predict a class for these units too. Add a "
            "label to `classes` only if units can truly be of it.",
        )
    _check_placed(found, population, test_set, overlap=overlap)
    if alone is not None and fineness:
        inside = group_score_bands(
            *fine, found.groups, alone.whole, overlap, columns.drawn_bands,
            design in FROM_POPULATION,
        )  # fmt: skip
        return replace(found, whole=alone.whole, banded=inside)
    if alone is not None:
        several = alone.whole.bands is not None and alone.whole.bands.strata > 1
        count = count_group_strata if several else count_group_bands
        found = replace(found, banded=count(both, found.groups, alone.whole))
    cells = None
    if within:
        cells = _audit_strata(fine, found.whole, columns, notes, overlap, bands)
        if cells is not None and within == columns.others:
            cells = replace(cells, free=("others",))
    elif bands or fineness:
        scored: Any = {"fineness": fineness, "from_population": design in FROM_POPULATION}
        scored["drawn_bands"] = columns.drawn_bands
        audited_cells = fine[1] if overlap or fineness or not bands else nearest(*fine)
        cells = cell_counts(fine[0], audited_cells, found.whole, **scored)
        cells = fitting(cells, overlap)
        if overlap and bands and not fineness and cells is None:  # values that were rounded
            cells = cell_counts(fine[0], nearest(*fine), found.whole, **scored)
            cells = fitting(cells, overlap)
        if fineness and bands and cells is None:  # the audited values differ from the population's
            cells = cell_counts(fine[0].unbanded(), fine[1].unbanded(), found.whole, **scored)
            cells = fitting(cells, overlap)
        if fineness:
            notes += check_score(cells, fine[0], found.whole, score)
            if cells is not None and not columns.drawn_bands:
                cells = replace(cells, free=("scores",))
    if bands and overlap and valued and one_band(cells, found.whole.L):
        notes += strange_values(*fine, test_set.name)
    cells = cells if cells is None else replace(cells, phase=phase)
    return replace(found, whole=alone.whole if alone else replace(found.whole, bands=cells))


def _not_placed(test_set: Table, absent: list[str], columns: Columns, overlap: bool) -> str:
    """Say what it means that the groups of audited units are not known."""
    if not overlap:
        every = "all groups of a stratum" if columns.strata else "all groups"
        return (
            f"One set of error rates is taken for {every}. Whether they differ between groups "
            f"cannot be checked here: the units of {test_set.name} are not in the population, and "
            f"have no column {quoted(absent)}."
        )
    return (
        f"{test_set.name} has no column {quoted(absent)}: its units inform every group, but are "
        "not known exactly in any, and error rates that differ between groups cannot be seen. "
        "Name the `id` column, or add the columns."
    )


def _not_valued(test_set: Table, value: str) -> str:
    """Say what it means that the values of audited units are not known."""
    return (
        f"{test_set.name} has no column {value!r}: how the values of true classes differ is "
        "learned from the predicted totals alone, and audited units are not known exactly. Add the "
        "column if you can."
    )


def _audit_strata(
    fine: tuple[Figures, Figures],
    whole: Counts,
    columns: Columns,
    notes: list[str],
    overlap: bool,
    bands: bool,
) -> Counts | None:
    """Return the cells of audit strata, with bands where the audited values fit into them."""
    names = columns.drawn_within
    strata = "predicted classes" if {*names} <= {*columns.others} else "strata"
    known, audited = ({*figures.parts} for figures in fine)
    if strange := audited - known:
        raise DataError(
            f"The test set has units in {strata} of {quoted(names)} that the population does not "
            f"hold: {_parts(sorted(strange, key=str))}.",
            hint=f"write the {strata} in the same way in both tables.",
        )
    if missing := known - audited:
        notes.append(
            f"No audited unit is in {len(missing):,} of {len(known):,} {strata} of "
            f"{quoted(names)}, such as {_parts([min(missing, key=str)])}: what they hold is taken "
            f"from the other {strata}."
        )
    if bands:
        cells = fitting(cell_counts(*fine, whole), overlap)
        if cells is not None:
            return cells
    found = cell_counts(fine[0].unbanded(), fine[1].unbanded(), whole)
    if found is not None:
        split(found, overlap)  # says which cell holds more audited units than units
    return found


def _parts(labels: Sequence[tuple[Hashable, ...]]) -> str:
    """Write strata or groups, each a tuple of labels, as a sentence lists them."""
    return ", ".join(" / ".join(map(spelt, label)) for label in labels[:MOST_NAMED])


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
            hint=f"`correct` takes such a table with count={column!r} (--count {column}).",
        )
    return [
        f"{words}: if a row stands for many units, `correct` takes it with count={column!r} "
        f"(--count {column}); here each row was one unit."
    ]


def left_out(table: Table, tally: Tally) -> list[str]:
    """Say how many rows were left out, and why."""
    if not tally.rows_left_out:
        return []
    reasons = ", ".join(f"{count:,} in {column!r}" for column, count in tally.left_out.items())
    words = f"Left out {tally.rows_left_out:,} rows of {table.name} without a usable value"
    return [f"{words}: {reasons}." if reasons else f"{words} in the population."]
