"""From the two tables to the small bag of counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.counts import Counts, make_counts
from trueup.errors import ClassError, DataError
from trueup.tables import Table, class_kind, is_missing, require_columns

__all__ = ["gather"]

MOST_NAMED = 5  # how many offenders a message lists


def gather(
    population: Table,
    test_set: Table,
    *,
    predicted: str,
    true: str,
    value: str | None,
    id: str | None,
    overlap: bool,
    classes: Sequence[Hashable] | None,
) -> Counts:
    """Count both tables and check that they fit together."""
    match = id is not None and overlap
    wanted = [predicted, *([value] if value else []), *([id] if match and id else [])]
    population_kinds = require_columns(population, wanted)
    test_kinds = require_columns(test_set, [true, id] if match and id else [true, *wanted])
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

    whole = population.tally([predicted], value)
    if match and id:
        cells = _matched_cells(population, test_set, predicted, true, value, id, test_kinds)
    else:
        tally = test_set.tally([true, predicted], value)
        figures = np.stack([tally.units, tally.sums, tally.squares], axis=1)
        cells = dict(zip(tally.keys, figures, strict=True))
    labels = _classes(classes, [key[0] for key in whole.keys], list(cells), population, test_set)

    position = {label: g for g, label in enumerate(labels)}
    K = len(labels)
    by_predicted = np.zeros((3, K))
    for row, (h,) in enumerate(whole.keys):
        by_predicted[:, position[h]] = whole.units[row], whole.sums[row], whole.squares[row]
    by_cell = np.zeros((3, K, K))
    for (g, h), cell in cells.items():
        by_cell[:, position[g], position[h]] = cell
    if value is None:
        return make_counts(by_cell[0], by_predicted[0], classes=labels)
    signed = whole.least < 0
    return make_counts(by_cell[0], *by_predicted, *by_cell[1:], classes=labels, signed=signed)


def _classes(
    given: Sequence[Hashable] | None,
    in_population: list[Hashable],
    cells: list[tuple[Hashable, ...]],
    population: Table,
    test_set: Table,
) -> list[Hashable]:
    in_test = {label for cell in cells for label in cell}
    if given is not None:
        for name, seen in ((population.name, set(in_population)), (test_set.name, in_test)):
            unknown = sorted(seen - set(given), key=str)
            if unknown:
                raise ClassError(
                    f"{name} holds classes that `classes` does not list: {unknown[:MOST_NAMED]}.",
                    hint=f"add them, or fix the spelling. Listed: {list(given)[:20]}.",
                )
        return list(given)
    for name, seen, other, known in (
        (population.name, set(in_population), test_set.name, in_test),
        (test_set.name, in_test, population.name, set(in_population)),
    ):
        unknown = sorted(seen - known, key=str)
        if unknown:
            raise ClassError(
                f"{name} holds classes that {other} never names: {unknown[:MOST_NAMED]}.",
                hint="list all classes with classes=[...] (--classes), or fix the spelling. "
                f"Known: {sorted(known, key=str)[:20]}.",
            )
    return sorted(in_test)  # type: ignore[type-var]  # labels are of one kind


def _matched_cells(
    population: Table,
    test_set: Table,
    predicted: str,
    true: str,
    value: str | None,
    id: str,
    test_kinds: dict[str, Any],
) -> dict[tuple[Hashable, ...], NDArray[np.float64]]:
    """Take the audited units' prediction and value from the population, by id."""
    has_prediction = predicted in test_kinds
    audited = test_set.rows([id, true, *([predicted] if has_prediction else [])])
    for column, values in zip((id, true), zip(*audited, strict=True), strict=False):
        missing = sum(is_missing(x) for x in values)
        if missing:
            raise DataError(
                f"Column {column!r} of {test_set.name} must have a usable value for every unit; "
                f"{missing:,} rows have none (null).",
                hint="repair or remove those rows, and say so with the published figure.",
            )
    ids = [row[0] for row in audited]
    _refuse_duplicates(ids, id, test_set)
    found = population.rows([id, predicted, *([value] if value else [])], id=id, among=ids)
    _refuse_duplicates([row[0] for row in found], id, population)
    by_id = {row[0]: row[1:] for row in found}
    absent = [i for i in ids if i not in by_id]
    if absent:
        raise DataError(
            f"{len(absent):,} audited units are not in {population.name}; the first is "
            f"{id} = {absent[0]!r}.",
            hint="with overlap=False (--no-overlap) the test set may come from elsewhere.",
        )
    cells: dict[tuple[Hashable, ...], NDArray[np.float64]] = {}
    differ = []
    for i, g, *prediction in audited:
        h, y = by_id[i][0], float(by_id[i][1]) if value else 1.0
        if prediction and prediction[0] != h:
            differ.append(i)
        cells.setdefault((g, h), np.zeros(3))
        cells[g, h] += (1, y, y * y)
    if differ:
        raise DataError(
            f"{len(differ):,} audited units have another predicted class in {test_set.name} than "
            f"in {population.name}; the first is {id} = {differ[0]!r}.",
            hint="use predictions of the same model for both tables.",
        )
    return cells


def _refuse_duplicates(ids: Sequence[Hashable], id: str, table: Table) -> None:
    seen: set[Hashable] = set()
    for i in ids:
        if i in seen:
            raise DataError(
                f"Column {id!r} of {table.name} must name each unit once; {i!r} comes twice.",
                hint="remove the duplicate rows.",
            )
        seen.add(i)
