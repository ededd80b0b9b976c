"""The columns and classes that the user names, checked once."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from trueup.errors import ClassError, OptionError
from trueup.read.columns import plain

FIGURES = ("naive", "estimate", "mean", "sd", "lower", "upper")
FROM_POPULATION = ("random", "by_prediction")
"""Designs of a test set that shows the base rates too."""
TAKEN = ("class", "part", *FIGURES)
"""Columns of every answer."""
ONE_COLUMN = (
    "predicted", "true", "value", "id", "period", "weight", "probability", "cluster", "count",
    "squares", "size",
)  # fmt: skip
"""Options that name one column; several classifiers have several of `predicted`."""
NUMBERS = ("half_width", "cv", "cost", "worth", "panel", "drift", "between")
WHOLE = ("next", "certainty", "replications", "N")
"""Options that are numbers, and whole ones; their limits are checked where they are used."""
TRUE_FALSE = ("noise", "overlap", "keep_draws")
LISTS = ("classes", "predicted_classes", "allocations", "methods")
SHARES = ("P", "base_rates", "test_base_rates")
ALWAYS = (
    "predicted", "true", "cost", "between", "certainty", "replications", "allocations",
)  # fmt: skip
"""Options that are not None where they were not given."""
# Above this, (draws, K, K) arrays no longer fit in an ordinary machine: 4,000 draws take 8 GB.
MOST_CLASSES = 500


@dataclass(frozen=True)
class Columns:
    """What each column of the two tables is for; see `correct`.

    `by`, `strata`, `drawn_within` and `score` may be given as one name, several or None, and are
    tuples afterwards. `predicted` may name several columns: the first is the prediction, `others`
    those of further classifiers. `drawn_bands`: how many bands of the score the test set was drawn
    within; `phase`: where the fine bands of the value begin that it was drawn within.

    Examples
    --------
    >>> Columns(by="region").by, Columns(strata=None).strata
    (('region',), ())
    """

    predicted: str = "predicted"
    true: str = "true"
    value: str | None = None
    id: str | None = None
    by: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    drawn_within: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    drawn_bands: int = 0
    phase: float | None = None
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.predicted
        if given and not isinstance(given, str):
            first, *others = names("predicted", given)
            object.__setattr__(self, "predicted", first)
            object.__setattr__(self, "others", tuple(others))
        for option in ("predicted", "true", "value", "id"):
            name = getattr(self, option)
            if name is not None or option not in ("value", "id"):
                _one_column(option, name)
        for option in ("by", "strata", "drawn_within", "score"):
            object.__setattr__(self, option, names(option, getattr(self, option)))
        for option in ("by", "strata", "drawn_within"):
            if self.id in getattr(self, option):
                raise OptionError(
                    f"`{option}` must name groups of units; {self.id!r} names single units.",
                    hint="name the column that says which group a unit is in.",
                )
        self._refuse_classes()
        if self.drawn_within and self.strata:
            raise OptionError(
                "`drawn_within` cannot be combined with `strata`: its columns are strata already.",
                hint="name the columns of both in `drawn_within`.",
            )
        if self.true in (self.predicted, *self.others):
            raise OptionError(
                "`predicted` and `true` must be two columns, so that errors can be seen; got "
                f"{self.true!r} for both.",
                hint="name the column that auditors filled in: true= (--true).",
            )
        for name in self.by:
            if name.casefold() in TAKEN:
                raise OptionError(
                    f"`by` and `period` must not name a column that the answer has; got {name!r}.",
                    hint=f"rename that column; the answer's own are {list(TAKEN)}.",
                )

    def _refuse_classes(self) -> None:
        """Refuse parts that are the classes themselves.

        With one predicted class in each group, error rates of groups mean nothing: with design
        "by_class" 95% intervals covered 73%. The error matrix has the same figures for any design.
        """
        for option in ("by", "strata", "drawn_within"):
            if self.true in getattr(self, option):
                raise OptionError(
                    f"`{option}` must name a column that is known of every unit; {self.true!r} is "
                    "the true class, which audited units alone have.",
                    hint="leave it out; for a test set drawn within true classes give "
                    "design='by_class' (--design).",
                )
        for option in ("by", "strata"):
            if self.predicted in getattr(self, option):
                raise OptionError(
                    f"`{option}` must name a column other than the predicted class; got "
                    f"{self.predicted!r}.",
                    hint="leave it out: `est.error_matrix()` has the share of the population in "
                    "each predicted and true class.",
                )

    @property
    def nullable(self) -> tuple[str, ...]:
        """Columns in which a row may have no label: groups, unless they are audit strata too."""
        return tuple(name for name in self.by if name not in self.drawn_within)

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns that divide the population: strata first, then groups."""
        return (*self.strata, *self.by)


def names(option: str, given: Any) -> tuple[str, ...]:
    """Return one name, several or None as a tuple of names."""
    if given is None:
        return ()
    several = isinstance(given, Iterable) and not isinstance(given, str)
    found = tuple(given) if several else (given,)
    if not all(map(_is_name, found)):
        raise OptionError(f"`{option}` must name a column, or several; got {given!r}.")
    if twice := [name for i, name in enumerate(found) if name in found[:i]]:
        raise OptionError(f"`{option}` must name each column once; got {twice[0]!r} twice.")
    return found


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def check_given(given: Mapping[str, Any], *, classifiers: bool = False) -> None:
    """Refuse options of the wrong kind, by their names: what is no column, number or list.

    The functions that users call do this first. An option that was not given is None, but for
    those that always are. There may be several `classifiers`.

    Examples
    --------
    >>> check_given({"weight": "w", "next": 20, "cost": {"a": 2.0}, "half_width": None})
    """
    for option, x in given.items():
        if x is None and option not in ALWAYS:
            continue
        if option in ONE_COLUMN and not (classifiers and option == "predicted"):
            _one_column(option, x)
        elif option in WHOLE and not (_is_number(x) and x == x // 1):
            _refuse_number(option, "a whole number", x)
        elif option in NUMBERS:
            each = x.values() if isinstance(x, Mapping) and option in ("cv", "cost") else [x]
            if not all(map(_is_number, each)):
                _refuse_number(option, "a number", x)
        elif option in TRUE_FALSE and not isinstance(x, bool | np.bool_):
            raise OptionError(
                f"`{option}` must be True or False; got {x!r}.",
                hint="write it without quotes." if isinstance(x, str) else None,
            )
        elif option in LISTS:
            a_list(option, x)
        elif option == "text":
            names(option, x)
        elif option == "score" and isinstance(x, list) and not x:
            raise OptionError(
                "`score` must name a column, or one for each class; got [].",
                hint="leave it out if there is no score.",
            )
        elif option in SHARES:
            try:
                np.asarray(x, dtype=float)
            except (TypeError, ValueError):
                raise OptionError(
                    f"`{option}` must hold numbers only; got {x!r}.",
                    hint="shares between 0 and 1, such as 0.9.",
                ) from None


def _one_column(option: str, name: object) -> None:
    if not _is_name(name):
        several = isinstance(name, Iterable) and not isinstance(name, str)
        raise OptionError(
            f"`{option}` must be the name of a column; got {name!r}.",
            hint="name one column, without brackets." if several else "column names are text.",
        )


def _is_number(x: object) -> bool:
    return isinstance(x, Real) and not isinstance(x, bool)


def _refuse_number(option: str, what: str, x: object) -> None:
    hint = "round it." if _is_number(x) else "give the number itself."
    hint = "write it without quotes." if isinstance(x, str) else hint
    raise OptionError(f"`{option}` must be {what}; got {x!r}.", hint=hint)


def predicted_labels(
    given: Sequence[Hashable] | None, classes: tuple[Hashable, ...], L: int
) -> tuple[Hashable, ...] | None:
    """Return the labels of the columns, or None if they are the classes.

    Without names, columns are the classes in their order; what goes beyond is no class.
    """
    if given is None:
        more = tuple(f"column {h + 1}" for h in range(len(classes), L))
        return None if len(classes) == L else (classes + more)[:L]
    labels = tuple(map(plain, a_list("predicted_classes", given)))
    _check_names("predicted_classes", labels, L, "columns of `test`")
    if L > MOST_CLASSES:
        raise ClassError(f"There may be at most {MOST_CLASSES} predicted labels; got {L}.")
    return None if labels == classes else labels


def check_classes(classes: tuple[Hashable, ...], K: int) -> None:
    """Refuse labels that are too few, too many or the same; before K × K arrays are made."""
    _check_names("classes", classes, K, "rows of the matrix")
    if K < 2:
        raise ClassError(
            f"There must be at least two classes; got {K}: {list(classes)}.",
            hint="with one class there is nothing to misclassify: the total is already right.",
        )
    if K > MOST_CLASSES:
        raise ClassError(
            f"There may be at most {MOST_CLASSES} classes; got {K}.",
            hint="is that column really a class? An id or a value gives one class per unit.",
        )


def a_list(name: str, labels: Sequence[Hashable]) -> Sequence[Hashable]:
    """Return labels that are a list; a text would be one class for each letter."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise OptionError(
            f"`{name}` must be a list; got {labels!r}.",
            hint=f"in brackets, even if it is one: {name}=[{labels!r}].",
        )
    return labels


def _check_names(option: str, labels: tuple[Hashable, ...], size: int, what: str) -> None:
    if len(labels) != size:
        raise ClassError(
            f"`{option}` must name each of the {size} {what}; got {len(labels)} names."
        )
    refuse_twice(option, labels)


def refuse_twice(option: str, labels: Sequence[Hashable]) -> None:
    """Refuse labels of which some are the same."""
    if len(set(labels)) != len(labels):
        twice = sorted({str(c) for c in labels if labels.count(c) > 1})
        raise ClassError(f"`{option}` must differ from each other; got {twice} more than once.")
