"""From the two tables to the small bag of counts, whole and per group and stratum."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.count.matched import check_id_kinds, matched_tally
from trueup.count.names import Columns
from trueup.count.parts import Figures, GroupCounts, assemble
from trueup.errors import ClassError, DataError, OptionError
from trueup.read.table import (
    Kind,
    Missing,
    Progress,
    Table,
    Tally,
    class_kind,
    group_kind,
    require_columns,
)

__all__ = ["gather", "gather_groups"]

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
) -> GroupCounts:
    """Count both tables per stratum, group and class, and check that they fit together.

    The population is counted in one group-by of (*strata, *by, predicted). Rows without a usable
    class, stratum or value are refused, or left out and reported; rows without a group are a group
    of their own, labelled None. With `id` (and `overlap`) the audited units' prediction, value,
    group and stratum come from the population.

    Raises
    ------
    DataError
        When a table, or the two together, cannot be what the user says.
    """
    if missing not in ("refuse", "leave_out"):
        raise OptionError(f'`missing` must be "refuse" or "leave_out"; {missing!r} came.')
    if population.name == test_set.name:  # two files of one name: messages must tell which
        name = population.name
        population.name, test_set.name = f"{name} (predictions)", f"{name} (the test set)"
    columns = columns if overlap else replace(columns, id=None)
    value, parts, by, strata = columns.value, columns.parts, columns.by, columns.strata
    kinds, test_kinds = _check_kinds(population, test_set, columns)
    placed = [c for c in parts if columns.id is not None or c in test_kinds]
    _check_strata(population, test_set, strata, placed, kinds, test_kinds)
    place_groups = set(by) <= set(placed)
    test_parts = parts if place_groups else strata

    options: dict[str, Any] = {"missing": missing, "nullable": by}
    whole = population.tally([*parts, columns.predicted], value, progress=progress, **options)
    if columns.id is not None:
        audited = matched_tally(population, test_set, columns, test_parts, missing)
    else:
        keys = [*test_parts, columns.true, columns.predicted]
        audited = test_set.tally(keys, value, **options)
    labels = _classes(
        classes,
        {key[-1] for key in whole.keys},
        {label for key in audited.keys for label in key[-2:]},
        population,
        test_set,
    )
    notes = [*_left_out(population, whole), *_left_out(test_set, audited)]
    if by and not place_groups:
        absent = [column for column in by if column not in placed]
        notes.append(
            f"{test_set.name} has no column {absent}: its units inform every group, but are not "
            "known exactly in any. Give `id`, or add the columns."
        )
    found = assemble(
        _figures(whole, labels, axes=1),
        _figures(audited, labels, axes=2),
        labels,
        strata=strata,
        by=by,
        placed=place_groups,
        totals=value is not None,
        signed=whole.signed,
        warnings=notes,
    )
    _check_placed(found, population, test_set, overlap=overlap)
    return found


def _figures(tally: Tally, classes: Sequence[Hashable], *, axes: int) -> Figures:
    position = {label: g for g, label in enumerate(classes)}
    at = np.array([[position[label] for label in key[-axes:]] for key in tally.keys], np.int64)
    parts = [key[:-axes] for key in tally.keys]
    return Figures(parts, tuple(at.T), tally.units, tally.sums, tally.squares)


def _check_placed(found: GroupCounts, population: Table, test_set: Table, *, overlap: bool) -> None:
    without = int(found.groups.v_hat_b[[None in label for label in found.groups.labels]].sum())
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


def _check_kinds(
    population: Table, test_set: Table, columns: Columns
) -> tuple[dict[str, Kind], dict[str, Kind]]:
    predicted, true, value, match = columns.predicted, columns.true, columns.value, columns.id
    wanted = [predicted, *([value] if value else []), *([match] if match else [])]
    population_kinds = require_columns(population, [*wanted, *columns.parts])
    test_kinds = require_columns(test_set, [true, match] if match else [true, *wanted])
    kinds = {
        (population.name, predicted): class_kind(
            population, predicted, population_kinds[predicted]
        ),
        (test_set.name, true): class_kind(test_set, true, test_kinds[true]),
    }
    if predicted in test_kinds:
        kinds[test_set.name, predicted] = class_kind(test_set, predicted, test_kinds[predicted])
    if len(set(kinds.values())) > 1:
        listed = "; ".join(
            f"{column!r} of {name}: {kind}" for (name, column), kind in kinds.items()
        )
        raise ClassError(
            f"The class columns must hold the same kind of label; {listed}.",
            hint="write the classes in the same way in both tables.",
        )
    if match:
        check_id_kinds(population, test_set, match)
    for column in columns.parts:
        group_kind(population, column, population_kinds[column])
    return population_kinds, test_kinds


def _check_strata(
    population: Table,
    test_set: Table,
    strata: Sequence[str],
    placed: Sequence[str],
    kinds: dict[str, Kind],
    test_kinds: dict[str, Kind],
) -> None:
    require_columns(test_set, [column for column in strata if column not in placed])
    for column in placed:
        if column in test_kinds and test_kinds[column] != kinds[column]:
            raise DataError(
                f"Column {column!r} must hold the same kind of label in both tables; in "
                f"{population.name} it holds {kinds[column]}, in {test_set.name} "
                f"{test_kinds[column]}.",
                hint="write the labels in the same way in both tables.",
            )


def _classes(
    given: Sequence[Hashable] | None,
    in_population: set[Hashable],
    in_test: set[Hashable],
    population: Table,
    test_set: Table,
) -> list[Hashable]:
    if given is not None:
        for name, seen in ((population.name, in_population), (test_set.name, in_test)):
            unknown = sorted(seen - set(given), key=str)
            if unknown:
                raise ClassError(
                    f"{name} holds classes that `classes` does not list: {unknown[:MOST_NAMED]}.",
                    hint=f"add them, or fix the spelling. Listed: {list(given)[:20]}.",
                )
        return list(given)
    for name, seen, other, known in (
        (population.name, in_population, test_set.name, in_test),
        (test_set.name, in_test, population.name, in_population),
    ):
        unknown = sorted(seen - known, key=str)
        if unknown:
            raise ClassError(
                f"{name} holds classes that {other} never names: {unknown[:MOST_NAMED]}.",
                hint="list all classes with classes=[...] (--classes), or fix the spelling. "
                f"Known: {sorted(known, key=str)[:20]}.",
            )
    return sorted(in_test)  # type: ignore[type-var]  # labels are of one kind


def _left_out(table: Table, tally: Tally) -> list[str]:
    if not tally.rows_left_out:
        return []
    reasons = ", ".join(f"{column!r} of {count:,}" for column, count in tally.left_out.items())
    return [
        f"Rows of {table.name} that were left out: {tally.rows_left_out:,}. No usable value"
        + (f" in {reasons}." if reasons else " for them in the population.")
    ]
