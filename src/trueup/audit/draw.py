"""The audit sample to label: `draw`.

The design is in the columns of the work list, so that `correct` needs no `design`: which units had
what probability, out of how many. They survive a spreadsheet.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from trueup.audit.allocate import LEAST, allocate_units
from trueup.audit.work_list import Design, own_columns, stratum_name, units_mark
from trueup.count.names import names
from trueup.errors import DataError, OptionError, TrueupWarning
from trueup.read.table import (
    Table,
    check_value_kind,
    class_kind,
    group_kind,
    lot,
    plain,
    require_columns,
)

Label = tuple[Hashable, ...]
BAND = "trueup band"
MOST = 1_000_000
MOST_SHOWN = 30
"""Columns that a work list shows without being asked."""


@dataclass(frozen=True)
class Bands:
    """Bands of a value: the name of the band that each fine band is in."""

    value: str
    names: Mapping[Any, str]


def draw(
    predictions: Any,
    n: int | Mapping[Any, int],
    *,
    id: str,
    within: str | Sequence[str] | None = None,
    by_prediction: bool = False,
    size: str | None = None,
    allocation: Literal["proportional", "equal"] | None = None,
    predicted: str = "predicted",
    true: str = "true",
    show: str | Sequence[str] | None = None,
    seed: int | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: str | Sequence[str] | None = None,
) -> Any:
    """Draw the units to label, as a table with an empty column for their true class.

    Fill in that column and pass the table to `correct` as the test set: the table records how the
    units were drawn. The same seed draws the same units from a file or any kind of table.

    Parameters
    ----------
    predictions : path or dataframe
        The population, as for `correct`.
    n : int or mapping
        How many units; or how many per stratum, by the label of the stratum (a tuple of labels,
        the predicted class first, where there are several columns).
    id : str
        The column that names each unit once.
    within : str or sequence of str, optional
        Draw within each combination of these columns.
    by_prediction : bool
        Draw within predicted classes; with `within`, within the combinations of both.
    size : str, optional
        Draw with probability proportional to this column, such as turnover; units so large that
        their probability would be above 1 are all taken. Not with `within` or `by_prediction`.
    allocation : {"proportional", "equal"}, optional
        How n is spread over strata, with at least 2 in each. By default "equal" over predicted
        classes and "proportional" to the number of units otherwise.
    predicted, true : str
        The column of the predicted class, and the name of the column to fill in.
    show : str or sequence of str, optional
        Further columns that the auditor needs to see; by default all, if there are up to 30.
    seed : int, optional
        Without one a seed is chosen; it is in the work list.
    decimal, encoding, text : optional
        How files are written, as for `correct`.

    Returns
    -------
    table
        Of the same kind as `predictions`; for files, a pandas, Polars or PyArrow table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> shops = pa.table({"id": [1, 2, 3, 4], "predicted": ["a", "a", "b", "b"]})
    >>> draw(shops, 2, id="id", seed=1).column("probability").to_pylist()
    [0.5, 0.5]
    """
    from trueup.read import open_table
    from trueup.read.written import written

    population = open_table(written(predictions, decimal, encoding, text), "predictions")
    rows = draw_rows(
        population, n, id=id, within=within, by_prediction=by_prediction, size=size,
        allocation=allocation, predicted=predicted, true=true, show=show, seed=seed,
    )  # fmt: skip
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return population.native(columns, blank=(true, predicted))


def draw_rows(
    population: Table,
    n: int | Mapping[Any, int],
    *,
    id: str,
    within: str | Sequence[str] | None = None,
    by_prediction: bool = False,
    size: str | None = None,
    allocation: str | None = None,
    predicted: str = "predicted",
    true: str = "true",
    show: str | Sequence[str] | None = None,
    seed: int | None = None,
    labels: Mapping[Hashable, Hashable] | None = None,
    bands: Bands | None = None,
) -> list[dict[str, Any]]:
    """Return the work list as rows.

    `labels` are the true classes of units of an earlier audit, by id: they come first and count as
    drawn. With `bands` the strata are predicted classes and bands of a value; `n` names them.
    """
    inside = names("within", within)
    kinds = require_columns(population, [predicted, id, *inside, *([size] if size else [])])
    class_kind(population, predicted, kinds)
    for column in inside:
        group_kind(population, column, kinds)
    if allocation not in (None, "proportional", "equal"):
        raise OptionError(
            f'`allocation` must be "proportional" or "equal"; got {allocation!r}.',
            hint="or give n as a mapping from each stratum to its number of units.",
        )
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise OptionError(f"`seed` must be a whole number from 0 to 2**63; got {seed!r}.")
    if common := {id, predicted} & {*inside}:
        raise OptionError(
            f"`within` must name columns that divide the units otherwise; got {common.pop()!r}.",
            hint="`by_prediction` draws within predicted classes; an id has one unit in each.",
        )
    known = dict(labels or {})
    keys = [*([predicted] if by_prediction else []), *inside]
    if size is not None:
        if keys or isinstance(n, Mapping):
            raise OptionError(
                "`size` cannot be combined with strata; got both.",
                hint="draw by size, or within strata of size classes.",
            )
        check_value_kind(population, size, kinds[size])
        chosen, design = _by_size(population, _whole(n), id, predicted, size, seed)
    else:
        table = population
        if bands is not None:
            table, keys = population.banded(BAND, bands.value), [predicted, BAND]
        every = [*dict.fromkeys([*keys, predicted])]
        tally = table.tally(every, None)
        of: dict[Label, Label] = {}
        units: dict[Label, int] = {}
        for key, count in zip(tally.keys, tally.units, strict=True):
            if bands is not None and key[1] not in bands.names:
                continue  # units without a usable value
            key = key[: len(keys)]
            of[key] = band = (key[0], bands.names[key[1]]) if bands else key
            units[band] = units.get(band, 0) + int(count)
        equal = allocation == "equal" or (allocation is None and by_prediction and not inside)
        sizes = _sizes(n, units, keys, equal)
        chosen = _in_strata(table, sizes, units, id, keys, seed, known, of)
        value = bands.value if bands else None
        mark = units_mark(tally, every.index(predicted))
        design = Design(
            id, int(tally.units.sum()), inside, by_prediction, bands=value, predictions=mark
        )
    design = replace(design, n=len(chosen), seed=seed)
    shown = _shown(kinds, show, [id, predicted, *inside, *([size] if size else [])], true)
    found = {
        plain(row[0]): [*map(plain, row[1:])]
        for row in population.rows([id, *shown], id=id, among=list(chosen))
    }
    if len(found) < len(chosen):
        raise DataError(f"Column {id!r} of {population.name} must not change while it is read.")
    names_of = own_columns({id, true, *shown})
    rows = []
    for i in sorted(chosen, key=lambda i: (i not in known, str(chosen[i][0]))):
        stratum, count, probability = chosen[i]
        own = (design.text, stratum, count, probability, seed)
        values = dict(zip(shown, found[i], strict=True))
        rows.append({id: i} | values | {true: known.get(i)} | dict(zip(names_of, own, strict=True)))
    return rows


def _whole(n: object, least: int = 1) -> int:
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not least <= n <= MOST:
        raise OptionError(f"`n` must be a whole number from {least} to {MOST:,}; got {n!r}.")
    return int(n)


def _sizes(
    n: int | Mapping[Any, int], units: Mapping[Label, int], keys: Sequence[str], equal: bool
) -> dict[Label, int]:
    """Return the units to draw in each stratum."""
    if not isinstance(n, Mapping):
        capacity = list(units.values())
        if _whole(n) > sum(capacity):
            raise OptionError(
                f"`n` may be at most the {sum(capacity):,} units that there are; got {n:,}."
            )
        least = sum(min(LEAST, units) for units in capacity) if keys else 1
        if n < least:
            raise OptionError(
                f"`n` must be at least {least:,}, {LEAST} units for each of the {len(capacity):,} "
                f"strata of {list(keys)}; got {n:,}.",
                hint="label more units, or draw within fewer or larger strata: one that is left "
                "out tells nothing of its units.",
            )
        given = allocate_units(n, [1] * len(capacity) if equal else capacity, capacity)
        return dict(zip(units, given.tolist(), strict=True))
    asked = {key if isinstance(key, tuple) else (key,): _whole(m, 0) for key, m in n.items()}
    if not keys or (unknown := [key for key in asked if key not in units]):
        raise OptionError(
            f"`n` must name strata of {list(keys)} that the population has; got "
            f"{list(n)[:5] if not keys else unknown[:5]}.",
            hint=f"the strata are {sorted(units, key=str)[:10]}.",
        )
    for key, m in asked.items():
        if m > units[key]:
            raise OptionError(f"Stratum {key} has {units[key]:,} units; `n` asks for {m:,} of it.")
    return asked


def _in_strata(
    population: Table,
    sizes: Mapping[Label, int],
    units: Mapping[Label, int],
    id: str,
    keys: Sequence[str],
    seed: int,
    known: Mapping[Hashable, Hashable],
    of: Mapping[Label, Label],
) -> dict[Hashable, tuple[str, int, float]]:
    """Return stratum, its units and the probability of each drawn unit; known ones count.

    `of` says which stratum a combination of the keys is in.
    """
    most = max(sizes.values(), default=0) + len(known)
    where: dict[Hashable, Label] = {}
    if known:
        found = population.rows([id, *keys], id=id, among=list(known))
        where = {plain(row[0]): of.get(tuple(map(plain, row[1:])), ()) for row in found}
    lots: dict[Label, list[Hashable]] = {}
    for key, ids in population.lots(id, keys, most, seed).items():
        if key not in of:
            continue
        lots.setdefault(of[key], []).extend(plain(i) for i in ids if plain(i) not in known)
    chosen: dict[Hashable, tuple[str, int, float]] = {}
    for label, m in sizes.items():
        mine = [i for i in known if where.get(i) == label]
        others = sorted(lots.get(label, ()), key=lambda i: lot(seed, i))
        stratum = stratum_name([key.replace(BAND, "value") for key in keys], label)
        drawn = [*mine, *others[: max(m - len(mine), 0)]]
        chosen |= {i: (stratum, units[label], len(drawn) / units[label]) for i in drawn}
        if len(set(drawn)) < len(drawn):
            raise _twice(population, id)
    if not chosen:
        raise OptionError("`n` must ask for at least one unit; got none.")
    return chosen


def _by_size(
    population: Table, n: int, id: str, predicted: str, size: str, seed: int
) -> tuple[dict[Hashable, tuple[str, int, float]], Design]:
    """Return the units drawn in proportion to size, and the design."""
    name = f"{size} (above 0)"
    tally = population.binned(name, size, [0.0]).tally([predicted, name], size)
    if tally.signed:
        raise DataError(
            f"Column {size!r} of {population.name} must be at least 0 to draw by it; some values "
            "are negative.",
            hint="draw within strata of its size.",
        )
    total = float(tally.sums.sum())
    positive = int(sum(u for key, u in zip(tally.keys, tally.units, strict=True) if key[-1]))
    N = int(tally.units.sum())
    if n > positive:
        raise OptionError(
            f"`n` may be at most the {positive:,} units with a size above 0; got {n:,}."
        )
    if positive < N:
        warnings.warn(
            f"{N - positive:,} units have size 0 in {size!r} and cannot be drawn by it. Totals of "
            f"{size!r} do not need them. For counts, draw at random instead.",
            TrueupWarning,
            stacklevel=3,
        )
    certain, rest = 0, total
    for y in population.largest(size, n):
        if (n - certain) * y < rest:
            break
        certain, rest = certain + 1, rest - y
    rate = (n - certain) / rest if certain < n else 0.0
    if certain == n:  # the n largest are the draw
        rate = 1.0 / max(population.largest(size, n)[-1], 1e-300)
    ids = population.lots(id, [], n, seed, (size, rate))[()]
    y_of = {plain(i): float(y) for i, y in population.rows([id], value=size, id=id, among=ids)}
    if len(y_of) < n:
        raise _twice(population, id)
    chosen: dict[Hashable, tuple[str, int, float]] = {}
    for i, y in y_of.items():
        p = min(rate * y, 1.0)
        chosen[i] = ("certainty", certain, 1.0) if p == 1.0 else ("by size", N - certain, p)
    mark = units_mark(tally, 0)
    return chosen, Design(id, N, size=size, total=total, rate=rate, predictions=mark)


def _twice(population: Table, id: str) -> DataError:
    return DataError(
        f"Column {id!r} of {population.name} must name each unit once; a drawn unit comes twice.",
        hint="remove the duplicate rows, or name another column.",
    )


def _shown(
    kinds: Mapping[str, str], show: str | Sequence[str] | None, first: Iterable[str], true: str
) -> list[str]:
    """Return the columns of the work list between the id and the empty one, each once."""
    order = [*first]
    if show is not None:
        wanted = names("show", show)
        if absent := [column for column in wanted if column not in kinds]:
            raise DataError(
                f"`show` must name columns of the predictions; got {absent}.",
                hint=f"there are {list(kinds)[:MOST_SHOWN]}.",
            )
        order += wanted
    elif len(kinds) <= MOST_SHOWN:
        order += [column for column, kind in kinds.items() if kind != "other"]
    return [column for column in dict.fromkeys(order[1:]) if column not in (order[0], true)]
