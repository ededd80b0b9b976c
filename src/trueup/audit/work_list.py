"""How a work list says in its own columns how it was drawn, and how that is read back."""

import hashlib
import json
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.audit.allocate import BAND
from trueup.audit.score_bands import score_bands, with_scores
from trueup.count.names import Columns
from trueup.errors import DataError, OptionError
from trueup.read.columns import plain
from trueup.read.table import Table, Tally

OWN = ("drawn", "stratum", "units", "probability", "seed")
"""The design of each unit: the draw, its stratum, the stratum's units, probability, and seed."""
MARK = "trueup draw "
NUMBERS = ("integer", "number")
DIGITS, SHOWN_WHOLE = 1e-5, 10**11
"""What spreadsheets leave: five digits of a probability, and whole numbers below this."""


@dataclass(frozen=True)
class Design:
    """How a work list was drawn, and out of what.

    `total` and `rate` are the sum of the size and the probability per unit of it; `bands` the
    column of the value whose bands are strata and `phase` where its fine bands begin
    (`Table.banded`); `score` the columns of the score, `score_bands` how many its bands may be and
    `classes` whose they are; `predictions` the mark of the units per predicted class.
    """

    id: str
    population: int
    within: tuple[str, ...] = ()
    by_prediction: bool = False
    size: str | None = None
    total: float | None = None
    bands: str | None = None
    phase: float = 0.0
    score: tuple[str, ...] = ()
    score_bands: int = 0
    classes: tuple[Hashable, ...] = ()
    rate: float | None = None
    predictions: str | None = None
    n: int | None = None
    seed: int | None = None

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
        if banded := self.bands or " or ".join(self.score):
            return f"within predicted classes and bands of {banded!r}"
        inside = [*(["predicted classes"] if self.by_prediction else []), *map(repr, self.within)]
        return f"within {', '.join(inside)}" if inside else "at random"

    @property
    def begin(self) -> float | None:
        """Where the fine bands begin that units were drawn within; None if there are none."""
        return self.phase if self.bands else None

    @property
    def stratified(self) -> bool:
        """Whether units were drawn within more than predicted classes, or by size."""
        return bool(self.within or self.size or self.bands or self.score)


def stratum_name(keys: Sequence[str], label: Sequence[Hashable]) -> str:
    """Return a stratum as the work list names it."""
    return ", ".join(f"{key}={x}" for key, x in zip(keys, label, strict=True)) or "all"


def units_mark(tally: Tally, at: int) -> str:
    """Return a mark of the units per predicted class, which is key number `at` of the tally."""
    units: dict[str, int] = {}
    for key, count in zip(tally.keys, tally.units, strict=True):
        units[str(key[at])] = units.get(str(key[at]), 0) + int(count)
    return hashlib.sha256(json.dumps(sorted(units.items())).encode()).hexdigest()[:12]


def own_columns(taken: Collection[str]) -> list[str]:
    """Return the names of the design's columns, and that of the reason a unit is drawn for."""
    return [name if name not in taken else f"trueup_{name}" for name in (*OWN, "why")]


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
    population: Table, test_set: Table, columns: Columns, asked: str | None
) -> tuple[Design, str, str] | None:
    """Return how a work list was drawn, and its columns of probabilities and strata, or None.

    Refuse one whose population has changed since, or that contradicts what is `asked` for: a
    design that was named, or `drawn_within`.
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
        tuples = {name: tuple(said.get(name, ())) for name in ("within", "score", "classes")}
        design = Design(**said | tuples)
    except (ValueError, TypeError):
        raise _changed(test_set, name) from None
    known = "by_prediction" if design.by_prediction or design.size else "random"
    wrong: dict[str, Any] = {"design": asked} if asked not in (None, known) else {}
    if columns.drawn_within and {*columns.drawn_within} != {*design.within}:
        wrong["drawn_within"] = [*columns.drawn_within]
    if design.score and columns.score not in ((), design.score):
        wrong["score"] = [*columns.score]
    for option, given in wrong.items():
        raise OptionError(
            f"{test_set.name} says that it was drawn {design.words}; got {option}={given!r}.",
            hint=f"leave out `{option}`; or take the column {name!r} out of the table.",
        )
    others = [option for option in ("strata", "score") if getattr(columns, option)]
    if design.within and others:
        raise OptionError(
            f"`{others[0]}` cannot be combined yet with a test set that was drawn within columns; "
            f"{test_set.name} was drawn {design.words}.",
            hint=f"leave out `{others[0]}`.",
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


def by_score(
    design: Design, columns: Columns, classes: Sequence[Hashable] | None
) -> tuple[Columns, Sequence[Hashable] | None]:
    """Return columns and classes of a list drawn by score: its bands are those of the estimate."""
    if columns.by and columns.value is not None:
        raise OptionError(
            f"Totals of groups (`by`) cannot use a test set that was drawn {design.words} yet.",
            hint="leave out `by` for totals, or `value` for groups.",
        )
    if columns.others:
        raise OptionError(
            f"Several `predicted` columns cannot use a test set that was drawn {design.words} yet.",
            hint=f"name one predicted column, {columns.predicted!r}.",
        )
    columns = replace(columns, score=design.score, drawn_bands=design.score_bands)
    return columns, (design.classes or None) if classes is None else classes


def absent_units(design: Design, test_set: Table, true: str) -> list[str]:
    """Say that units which were drawn are not in the list any more, or were not labelled."""
    column = true if true in test_set.kinds() else design.id  # its absence is refused elsewhere
    rows = [plain(row[0]) for row in test_set.rows([column])]
    labelled = sum(label is not None for label in rows)
    absent = 0 if design.n is None else design.n - labelled
    if absent <= 0:
        return []
    where = test_set.name + (f", or have no {true!r} there" if labelled < len(rows) else "")
    return [
        f"{absent:,} of {design.n:,} drawn units are missing from {where}. If they are missing "
        "because of what they are (hard to label, say), the answer is wrong: audit them too."
    ]


def _check_population(
    population: Table, test_set: Table, columns: Columns, design: Design, own: dict[str, str]
) -> None:
    """Refuse a population that is not the one the units were drawn from, or a changed list."""
    by_prediction = design.by_prediction and not design.bands
    keys = [*([columns.predicted] if by_prediction else []), *design.within]
    every, table = [*dict.fromkeys([*keys, columns.predicted])], population
    if design.score:
        table = with_scores(population, columns.predicted, design.score, design.classes)
        every = [columns.predicted, BAND]
    now = table.tally(every, design.size)
    names = score_bands(now, design.score_bands).names if design.score else None
    N, change = int(now.units.sum()), ""
    here: dict[str, int] = {}
    for key, units in zip(now.keys, now.units, strict=True):
        stratum = stratum_name(keys, key[: len(keys)])
        stratum += f", score={names[key]}" if names else ""
        here[stratum] = here.get(stratum, 0) + int(units)
    same = all(population.kinds()[key] == test_set.kinds().get(key) for key in keys)
    strata = _check_rows(test_set, design, own, keys if same and not names else [])
    if design.population != N:
        change = f"it has {N:,} units and had {design.population:,} then"
    elif design.total is not None and not np.isclose(now.sums.sum(), design.total, rtol=1e-9):
        total = f"{now.sums.sum():,.6g} and was {design.total:,.6g}"
        change = f"the sum of {design.size!r} is {total}"
    elif not (design.bands or design.size):
        for stratum, units in strata.items():
            if here.get(stratum, 0) != units:
                change = f"{stratum} has {here.get(stratum, 0):,} units and had {units:,} then"
                break
    elif design.rate is not None:
        change = _other_sizes(population, test_set, design, own["probability"])
    mark = units_mark(now, every.index(columns.predicted))
    if not change and design.predictions not in (None, mark):
        change = "its predicted classes have other numbers of units than then"
    if change:
        raise DataError(
            f"{population.name} must be the population that {test_set.name} was drawn from; "
            f"{change}.",
            hint="use the table that was drawn from, or draw again from the new one.",
        )


def _check_rows(
    test_set: Table, design: Design, own: dict[str, str], keys: Sequence[str]
) -> dict[str, int]:
    """Refuse rows whose stratum, units, probability or seed are not as drawn.

    `keys` are the columns of the strata, if they can be compared. Return the units of each stratum.
    """
    columns = [own[x] for x in ("stratum", "units", "probability", "seed")]
    found: dict[str, tuple[int, float, int]] = {}
    given = test_set.kinds()[own["probability"]] in NUMBERS  # not 0,05 as text
    for row in test_set.rows([*columns, *keys]):
        stratum, units, p, seed, *label = map(plain, row)
        comparable = all(isinstance(x, str | int) for x in label)  # a date may look different
        if keys and comparable and stratum != stratum_name(keys, label):
            raise _changed(test_set, own["stratum"])
        if design.seed and design.seed < SHOWN_WHOLE and seed != design.seed:
            raise _changed(test_set, own["seed"])
        if stratum is None or not isinstance(units, int | float) or p is None:
            raise _changed(test_set, own["probability" if p is None else "units"])
        before = found.get(stratum, (int(units), p, 0))
        if before[0] != units:
            raise _changed(test_set, own["units"])
        if given and not design.size and not np.isclose(before[1], p, rtol=DIGITS, atol=0):
            raise _changed(test_set, own["probability"])
        found[stratum] = (int(units), p, before[2] + 1)
    if given and not design.size:
        m = np.array([units * p for units, p, _ in found.values()])
        many = np.array([rows for *_, rows in found.values()])
        whole = np.abs(m - np.rint(m)) <= DIGITS * (m + 1)
        too_many = design.n is not None and np.rint(m).sum() > design.n * (1 + DIGITS)
        if too_many or not whole.all():
            raise _changed(test_set, own["probability"])
        for stratum, rows, drawn in zip(found, many, np.rint(m), strict=True):
            if rows > drawn:
                raise DataError(
                    f"{test_set.name} must have drawn units only, each once; by column "
                    f"{own['probability']!r}, {drawn:,.0f} were drawn in stratum {stratum!r}, and "
                    f"it has {rows:,}.",
                    hint="take out rows that were doubled or added; or copy the column from the "
                    "original work list.",
                )
    return {stratum: units for stratum, (units, *_) in found.items()}


def _other_sizes(population: Table, test_set: Table, design: Design, probability: str) -> str:
    """Say which unit has not the size that it was drawn with; nothing if all have."""
    kinds = test_set.kinds()
    if kinds[probability] not in NUMBERS or kinds[design.id] != population.kinds()[design.id]:
        return ""
    assert design.rate is not None
    said: dict[Any, Any] = {plain(i): plain(p) for i, p in test_set.rows([design.id, probability])}
    for i, y in population.rows([design.id], value=design.size, id=design.id, among=list(said)):
        p = min(design.rate * float(y), 1.0)
        if not np.isclose(said[plain(i)], p, rtol=DIGITS, atol=0):
            return (
                f"by its {design.size!r}, unit {plain(i)} has the probability {p:.6g} there and "
                f"{said[plain(i)]:.6g} in the list"
            )
    return ""


def _changed(test_set: Table, column: str) -> DataError:
    return DataError(
        f"Column {column!r} of {test_set.name} must be what `draw` wrote; it was changed.",
        hint="copy it from the original work list.",
    )
