"""Columns and labels of the two tables: whether they fit together, and the classes they name."""

import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from trueup.count.names import Columns, a_list, refuse_twice
from trueup.errors import ClassError, DataError
from trueup.read.columns import class_kind, group_kind, plain, require_columns
from trueup.read.table import Table, Tally
from trueup.text import quoted

MOST_NAMED = 5
"""How many offenders a message lists."""
MANY = 1_000
"""Groups of fewer than two units each, beyond which a column looks like an id."""
UNSURE = (
    "If a label says that nobody could tell ('cannot tell'), empty its cells and leave these units "
    "out with missing='leave_out' (--missing leave_out)."
)


def check_columns(population: Table, test_set: Table, columns: Columns) -> list[str]:
    """Check columns and their kinds; return the columns of groups that the test set lacks."""
    predicted, true, match = columns.predicted, columns.true, columns.id
    wanted = [predicted, *columns.others, *filter(None, (columns.value, match))]
    parts = (*columns.parts, *columns.drawn_within)
    swapped = true in population.kinds() and true not in test_set.kinds()
    ask = "are the two tables in the wrong order? If not: " * swapped
    kinds = require_columns(population, [*wanted, *parts], ask)
    known = [x for x in wanted if x != columns.value or has_values(population, test_set, columns)]
    test_kinds = require_columns(test_set, [true, match] if match else [true, *known], ask)
    require_columns(population, columns.score)
    if match is None and (absent := [x for x in columns.score if x not in test_kinds]):
        raise DataError(
            f"{test_set.name} must have the score too; it has no column {absent[0]!r}.",
            hint="add the column, or name the `id` column: scores then come from the population.",
        )
    every = (predicted, *columns.others)
    found = [(x, population, class_kind(population, x, kinds)) for x in every]
    found += [
        (x, test_set, class_kind(test_set, x, test_kinds))
        for x in (true, *every)
        if x in test_kinds
    ]
    if len({kind for *_, kind in found}) > 1:
        listed = "; ".join(f"{column!r} of {table.name}: {kind}" for column, table, kind in found)
        other = [table.as_text(column) for column, table, kind in found if kind != "text"]
        as_text = f" Codes? Then {other[0]}." if len(other) < len(found) else ""
        raise ClassError(
            f"The class columns must hold the same kind of label; {listed}.",
            hint=f"write the classes in the same way in both tables.{as_text}",
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


def has_values(population: Table, test_set: Table, columns: Columns) -> bool:
    """Whether the values of audited units are known; beside an aggregated table they need not be.

    Other tables must have them, or an id: a column that was forgotten would cost precision.
    """
    aggregated = hasattr(population, "exact")
    return columns.id is not None or not aggregated or columns.value in test_set.kinds()


def spelt_alike(what: str, labels: Iterable[Hashable]) -> list[str]:
    """Warn of labels that differ in spaces or in upper and lower case only.

    Examples
    --------
    >>> spelt_alike("Classes", ["b", "a ", "A", 1])[0].split(".")[0]
    "Classes that differ only in spaces or in upper and lower case: 'A' and 'a '"
    """
    found: dict[str, set[str]] = {}
    for label in labels:
        if isinstance(label, str):
            found.setdefault(" ".join(label.split()).casefold(), set()).add(label)
    pairs = [quoted(sorted(x)[:MOST_NAMED]) for x in found.values() if len(x) > 1]
    if not pairs:
        return []
    more = f", and {len(pairs) - MOST_NAMED:,} more" if len(pairs) > MOST_NAMED else ""
    return [
        f"{what} that differ only in spaces or in upper and lower case: "
        f"{'; '.join(sorted(pairs)[:MOST_NAMED])}{more}. Each counts by itself here: if they mean "
        "the same, write them in the same way."
    ]


def like_an_id(column: str, groups: int, N: int) -> list[str]:
    """Warn of a column in which nearly every unit is a group of its own."""
    if groups <= MANY or 2 * groups <= N:
        return []
    return [
        f"Column {column!r} divides the {N:,} units into {groups:,} groups: nearly every unit is a "
        "group of its own. Is it an id? Then name a column that says which group a unit is in."
    ]


def labels_of(
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
        labels = _common_classes(orders, tables, seen, {key[-2] for key in audited.keys})
        _refuse_untrue(seen[0] - {key[-2] for key in audited.keys}, labels, tables[1], design)
        return labels, labels
    listed = [plain(label) for label in a_list("classes", given)]
    refuse_twice("classes", listed)
    true = {key[-2] for key in audited.keys}
    if unknown := sorted(true - set(listed), key=str):
        raise ClassError(
            f"{tables[1].name} holds true classes that `classes` does not list: "
            f"{quoted(unknown[:MOST_NAMED])}.",
            hint=_look_alike(unknown, listed)
            or f"add them, or fix the spelling. Listed: {listed[:20]}. {UNSURE}",
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


def _look_alike(unknown: Iterable[Any], known: Iterable[Any]) -> str | None:
    """Say how labels differ that look the same, or that were read in another encoding."""
    here, there = ([x for x in labels if isinstance(x, str)] for labels in (unknown, known))
    forms = {unicodedata.normalize("NFC", x) for x in there}
    if same := [x for x in here if unicodedata.normalize("NFC", x) in forms]:
        return (
            f"{same[0]!r} is in both tables, in two Unicode forms (an accent is part of its letter "
            "or a character of its own). Write both in one: .str.normalize('NFC') in pandas, or "
            "unicodedata.normalize('NFC', label)."
        )
    for label in (*here, *there):
        meant = _in_utf8(label)
        if meant != label and (meant is None or label in here or meant in here):
            like = f" for {meant!r}" if meant else ""
            return (
                f"{label!r} looks like text{like} that was read in another encoding than it was "
                "written in. `encoding` (--encoding) holds for both files: save both in UTF-8, and "
                "leave it out."
            )
    return None


def _in_utf8(label: str) -> str | None:
    """Return what a label says if UTF-8 was read as windows-1252; None if that cannot be known.

    Examples
    --------
    >>> _in_utf8("rÃ©admis"), _in_utf8("réadmis"), _in_utf8("NÃO")
    ('réadmis', 'réadmis', 'NÃO')
    """
    if "\ufffd" in label:
        return None
    try:
        return label.encode("windows-1252").decode("utf-8")
    except UnicodeError:
        return label


def _common_classes(
    orders: Sequence[list[Hashable] | None],
    tables: tuple[Table, Table],
    seen: tuple[set[Any], set[Any]],
    true: set[Any],
) -> list[Hashable]:
    """Return the classes in the order of an ordered categorical; otherwise sorted."""
    for here, there in ((0, 1), (1, 0)):
        if unknown := sorted(seen[here] - seen[there], key=str):
            unsure = f" {UNSURE}" if here and true & {*unknown} else ""
            unsure += " An empty text is no class: make it null." * ("" in unknown)
            raise ClassError(
                f"{tables[here].name} holds classes that {tables[there].name} never names: "
                f"{quoted(unknown[:MOST_NAMED])}.",
                hint=_look_alike(unknown, seen[there])
                or "list all classes with classes=[...] (--classes), or fix the spelling. "
                f"Known: {sorted(seen[there], key=str)[:20]}.{unsure}",
            )
    found = {tuple(x for x in order if x in seen[0]) for order in orders if order}
    if len(found) > 1:
        listed = " and ".join(str(list(order)) for order in sorted(found))
        raise ClassError(
            f"Ordered class columns must have the same order in both tables; got {listed}.",
            hint="list all classes in order with classes=[...].",
        )
    return list(found.pop()) if found else sorted(seen[0])
