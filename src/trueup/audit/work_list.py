"""How a work list says in its own columns how it was drawn, and how that is read back."""

import json
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from trueup.count.names import Columns
from trueup.errors import DataError, OptionError
from trueup.read.table import Table, plain

OWN = ("drawn", "stratum", "units", "probability", "seed")
"""The design of each unit: the draw, its stratum, the stratum's units, probability, and seed."""
MARK = "trueup draw "


@dataclass(frozen=True)
class Design:
    """How a work list was drawn, out of how many units, and for `size` out of what total."""

    id: str
    population: int
    within: tuple[str, ...] = ()
    by_prediction: bool = False
    size: str | None = None
    total: float | None = None
    bands: str | None = None

    @property
    def text(self) -> str:
        """The design as one cell of a table."""
        said = {name: x for name, x in vars(self).items() if x}
        return MARK + json.dumps(said, ensure_ascii=False)

    @property
    def words(self) -> str:
        """The design as users name it."""
        if self.size:
            return f"by size of {self.size!r}"
        if self.bands:
            return f"within predicted classes and bands of {self.bands!r}"
        inside = [*(["predicted classes"] if self.by_prediction else []), *map(repr, self.within)]
        return f"within {', '.join(inside)}" if inside else "at random"


def own_columns(taken: Collection[str]) -> list[str]:
    """Return the names of the design's columns, apart from names that the table has already."""
    return [name if name not in taken else f"trueup_{name}" for name in OWN]


def recognise(test_set: Table) -> str | None:
    """Return the column in which a work list says how it was drawn, and mark the table as one."""
    kinds = test_set.kinds()
    for name in ("trueup_drawn", "drawn"):
        if kinds.get(name) == "text":
            texts = {plain(row[0]) for row in test_set.rows([name])} - {None}
            if texts and all(str(text).startswith(MARK) for text in texts):
                test_set.work_list = True
                return name
    return None


def read_design(
    population: Table, test_set: Table, columns: Columns, asked: str
) -> tuple[Design, str, str] | None:
    """Return how a work list was drawn, and its columns of probabilities and strata, or None.

    Refuse one whose population has changed since, or that contradicts the design `asked` for.
    """
    kinds, name = test_set.kinds(), recognise(test_set)
    if name is None:
        return None
    texts = {plain(row[0]) for row in test_set.rows([name])}
    if len(texts) > 1:
        texts -= {None}
        raise DataError(
            f"The rows of {test_set.name} must come from one draw, or none; column {name!r} names "
            f"{len(texts)} and some rows may have none.",
            hint="correct with one work list; or take out its column and name the design yourself.",
        )
    try:
        said = json.loads(texts.pop().removeprefix(MARK))
        design = Design(**said | {"within": tuple(said.get("within", ()))})
    except (ValueError, TypeError):
        raise DataError(
            f"Column {name!r} of {test_set.name} must be what `draw` wrote; it was changed.",
            hint="copy it from the original work list.",
        ) from None
    if asked not in ("random", "by_prediction" if design.by_prediction else "random"):
        raise OptionError(
            f"{test_set.name} says that it was drawn {design.words}; got design={asked!r}.",
            hint=f"leave out `design`; or take the column {name!r} out of the table.",
        )
    own = {x: f"trueup_{x}" if f"trueup_{x}" in kinds else x for x in OWN} | {"drawn": name}
    if absent := [x for x in (design.id, *own.values()) if x not in kinds]:
        raise DataError(
            f"{test_set.name} must have the columns that `draw` wrote; {absent} are missing.",
            hint=f"copy them from the original work list, or take out {name!r}.",
        )
    if design.bands and columns.value != design.bands:
        raise OptionError(
            f"{test_set.name} was drawn {design.words}, for its totals; got value="
            f"{columns.value!r}.",
            hint=f"correct totals with value={design.bands!r}; for other figures draw at random.",
        )
    _check_population(population, test_set, columns, design, own)
    return design, own["probability"], own["stratum"]


def _check_population(
    population: Table, test_set: Table, columns: Columns, design: Design, own: dict[str, str]
) -> None:
    """Refuse a population that is not the one the units were drawn from."""
    keys = [*([columns.predicted] if design.by_prediction else []), *design.within]
    now = population.tally(keys or [columns.predicted], design.size)
    N, changes = int(now.units.sum()), []
    if design.population != N:
        changes.append(f"it has {N:,} units and had {design.population:,} then")
    elif design.total is not None and not np.isclose(now.sums.sum(), design.total, rtol=1e-9):
        total = f"{now.sums.sum():,.6g} and was {design.total:,.6g}"
        changes.append(f"the sum of {design.size!r} is {total}")
    elif keys and not design.bands and set(keys) <= set(test_set.kinds()):
        here = {key: int(units) for key, units in zip(now.keys, now.units, strict=True)}
        for *label, units in test_set.rows([*keys, own["units"]]):
            key = tuple(map(plain, label))
            if here.get(key, 0) != int(units):
                names = ", ".join(map(str, key))
                changes.append(f"{names} has {here.get(key, 0):,} units and had {units:,} then")
                break
    if changes:
        raise DataError(
            f"{population.name} must be the population that {test_set.name} was drawn from; "
            f"{changes[0]}.",
            hint="use the table that was drawn from, or draw again from the new one.",
        )
