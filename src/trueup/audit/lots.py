"""Which units are drawn: how many in each stratum, and by lot; or in proportion to their size."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from trueup.audit.allocate import LEAST, Label, allocate_units, whole
from trueup.audit.work_list import Design, stratum_name, units_mark
from trueup.errors import DataError, OptionError, TrueupWarning
from trueup.read.columns import plain
from trueup.read.lots import lot
from trueup.read.table import Table

MOST_NAMED = 5


def sizes_of(
    n: int | Mapping[Any, int], units: Mapping[Label, int], keys: Sequence[str], equal: bool
) -> dict[Label, int]:
    """Return the units to draw in each stratum."""
    if not isinstance(n, Mapping):
        capacity = list(units.values())
        if whole(n) > sum(capacity):
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
    asked = {key if isinstance(key, tuple) else (key,): whole(m, 0) for key, m in n.items()}
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


def warn_of_few(
    sizes: Mapping[Label, int], units: Mapping[Label, int], keys: Sequence[str]
) -> None:
    """Warn of numbers per stratum that leave some of the strata to the prior."""
    few = [label for label, m in units.items() if sizes.get(label, 0) < min(LEAST, m)]
    if few and keys:
        shown = "; ".join(stratum_name(keys, label) for label in few[:MOST_NAMED])
        more = f"; and {len(few) - MOST_NAMED:,} more" if len(few) > MOST_NAMED else ""
        warnings.warn(
            f"`n` asks for fewer than {LEAST} units of some strata, so that hardly more than the "
            f"prior will say what their {sum(units[label] for label in few):,} units truly are: "
            f"{shown}{more}. Ask for {LEAST} or more of every stratum.",
            TrueupWarning,
            stacklevel=4,
        )


def in_strata(
    population: Table,
    sizes: Mapping[Label, int],
    units: Mapping[Label, int],
    id: str,
    named: tuple[Sequence[str], Sequence[str]],
    seed: int,
    known: Mapping[Hashable, Hashable],
    of: Mapping[Label, Label],
) -> dict[Hashable, tuple[str, int, float]]:
    """Return stratum, its units and the probability of each drawn unit; known ones count.

    `named` are the keys, and what the work list calls them; `of` says which stratum a combination
    of the keys is in.
    """
    keys, shown = named
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
        stratum = stratum_name(shown, label)
        drawn = [*mine, *others[: max(m - len(mine), 0)]]
        chosen |= {i: (stratum, units[label], len(drawn) / units[label]) for i in drawn}
        if len(set(drawn)) < len(drawn):
            raise _twice(population, id)
    if not chosen:
        raise OptionError("`n` must ask for at least one unit; got none.")
    return chosen


def by_size(
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
