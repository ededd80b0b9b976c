"""Conjugate priors from what people know: an earlier audit, a range, a belief."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import OptionError
from trueup.numerics.arrays import Floats, as_floats
from trueup.numerics.labels import Labelled, places, read_labels, taken
from trueup.prior.belief import Belief, check_between, recorded
from trueup.prior.dirichlet import NAMED_PRIORS, Concentrations, Dirichlet
from trueup.prior.ranges import match_beta

Labels = list[Hashable]
Rates = tuple[Any, ...]  # alpha, gamma, and a tilt or none


def resolve(
    prior: object,
    K: int,
    labels: Sequence[Hashable] | None = None,
    L: int | None = None,
    joint: bool = False,
) -> Concentrations:
    """Turn what the user gave as ``prior=`` into a prior for K classes and L predicted labels."""
    if isinstance(prior, str) and prior.lower() in NAMED_PRIORS:
        return NAMED_PRIORS[prior.lower()](K, L, joint)
    if isinstance(prior, Dirichlet):
        return prior.for_classes(K, labels, L)
    if isinstance(prior, Belief):
        if L not in (None, K):
            raise OptionError(
                f"Prior {getattr(prior, 'name', prior)!r} needs predicted labels that are the "
                f"classes; got {K} classes and {L} labels.",
                hint="use a named prior, or trueup.Dirichlet with an alpha of that shape.",
            )
        return prior.for_classes(K, labels)
    raise OptionError(
        f"`prior` must be one of {sorted(NAMED_PRIORS)} or made by trueup.prior; got {prior!r}.",
        hint='write prior="jeffreys", prior=trueup.Dirichlet(alpha, gamma), or '
        'prior=trueup.prior.from_range("webshop", recall=(0.80, 0.95)).',
    )


@dataclass(frozen=True, eq=False, repr=False)
class Built(Belief):
    """A prior built on a conjugate one, `rest`, by a rule.

    The rule takes the concentrations of `rest` and the labels, and returns alpha, gamma and, for a
    prior that is not conjugate, the tilt over Dir(alpha). Most rules keep the gamma of `rest`:
    knowing a classifier is not knowing a population.
    """

    rule: Callable[[Concentrations, Labels], Rates]
    rest: object
    name: str
    labels: tuple[Hashable, ...] = ()
    smooth: bool = True
    word: str = ""
    recipe: Any = None

    def for_classes(self, K: int, labels: Sequence[Hashable] | None = None) -> Concentrations:
        """Return the prior written out for K classes, checked."""
        if labels is None:
            labels = self.labels if len(self.labels) == K else range(K)
        known: Labels = list(labels)
        alpha, gamma, *tilt = self.rule(conjugate(self.rest, known, self.name), known)
        return Concentrations(alpha, gamma, self.name, tilt[0] if tilt else None, self.smooth)


@recorded
def from_range(
    cls: Hashable | Mapping[Hashable, tuple[float, float]],
    recall: tuple[float, float] | None = None,
    *,
    probability: float = 0.9,
    rest: object = "jeffreys",
) -> Built:
    """Turn "the recall of `cls` is between 80% and 95%" into a prior.

    The recall Pr(predicted g | true g) gets the Beta distribution with that central interval; what
    is left of the row is shared evenly between the other classes. Other rows have the prior `rest`.

    Parameters
    ----------
    cls : label or mapping
        The class; or a mapping of classes to ranges, for several at once.
    recall : (float, float)
        The range, between 0 and 1.
    probability : float
        How sure the expert is of the range: as much is left out below as above it.
    rest : str or prior
        The prior of the rows that are not named, and of the base rates.

    Examples
    --------
    >>> prior = from_range("webshop", recall=(0.80, 0.95), probability=0.9)
    >>> prior.for_classes(2, ["webshop", "other"]).alpha.round(2)
    array([[41.49,  5.43],
           [ 0.5 ,  0.5 ]])
    """
    ranges = dict(cls) if isinstance(cls, Mapping) else {cls: recall}
    matched = {
        label: match_beta(given, probability, f"recall of {label!r}")
        for label, given in ranges.items()
    }

    def rule(base: Concentrations, labels: Labels) -> tuple[Floats, Floats]:
        alpha = base.alpha.copy()
        for label, (a, b) in matched.items():
            g = _place(label, labels)
            alpha[g] = b / (len(labels) - 1)
            alpha[g, g] = a
        return alpha, base.gamma

    return Built(rule, rest, "from_range", tuple(ranges))


@recorded
def from_counts(
    previous: ArrayLike,
    weight: float | ArrayLike = 0.5,
    *,
    rest: object = "perks",
    base_rates: bool = False,
    classes: Sequence[Hashable] | None = None,
) -> Built:
    """Turn an earlier audit into a prior in which each of its units counts as `weight` units.

    This is the power prior: with weight 1 its units count like today's test units.

    Parameters
    ----------
    previous : (K, K) array_like
        The earlier test set: rows true, columns predicted, classes in the same order as now. If its
        rows and columns have labels (a crosstab), these are the classes, in any order.
    weight : float or (K,) array_like
        From 0 to 1, for all rows or for each true class.
    rest : str or prior
        What was believed before that audit.
    base_rates : bool
        Whether the earlier shares of the true classes still inform those of today. By default they
        do not: populations change sooner than classifiers.
    classes : sequence, optional
        The labels of its rows and columns, if they may be in another order than now.

    Examples
    --------
    >>> from_counts([[40, 10], [2, 48]], weight=0.5).for_classes(2).alpha
    array([[20.5,  5.5],
           [ 1.5, 24.5]])
    """
    found = read_labels(previous, vector=False)
    if any(found.names):
        plainly, names = _by_label(found, classes)
        more: dict[str, Any] = {} if rest == "perks" else {"rest": rest}
        more |= {"base_rates": True} if base_rates else {}
        return from_counts(plainly, _weights(weight, names), **more, classes=names)
    n = _check_counts(previous)
    K = len(n)
    try:
        w = np.broadcast_to(np.asarray(weight, dtype=float), (K,))
    except (TypeError, ValueError):
        raise OptionError(
            f"`weight` must be a number or one for each of {K} classes; got {weight!r}."
        ) from None
    if not ((w >= 0) & (w <= 1)).all():
        raise OptionError(
            f"`weight` must be between 0 (forget it) and 1 (as good as new); got {weight!r}."
        )
    units = w[:, None] * n

    def rule(base: Concentrations, labels: Labels) -> tuple[Floats, Floats]:
        if len(labels) != K:
            raise OptionError(
                f"The earlier test set must have the same {len(labels)} classes; it has {K}.",
                hint="add rows and columns of zeros for new classes, in the order of `classes`.",
            )
        # a crosstab of classes 0 and 1 may be of classes that have names by now
        numbered = classes is not None and [*classes] == [*range(K)] and not {*classes} & {*labels}
        now = arranged(units, None if numbered else classes, labels)
        gamma = base.gamma + (now.sum(axis=1) if base_rates else 0.0)
        return base.alpha + now, gamma

    return Built(rule, rest, "from_counts", tuple(range(K) if classes is None else classes))


@recorded
def diagonal(strength: float, *, rest: object = "perks") -> Built:
    """Believe that the classifier is better than chance: `strength` correct units a row.

    Parameters
    ----------
    strength : float
        How many correctly classified units to add to every row.
    rest : str or prior
        What they are added to.

    Examples
    --------
    >>> diagonal(2).for_classes(2).alpha
    array([[2.5, 0.5],
           [0.5, 2.5]])
    """
    check_between("strength", strength, 0, 1e9)

    def rule(base: Concentrations, labels: Labels) -> tuple[Floats, Floats]:
        return base.alpha + strength * np.eye(len(labels)), base.gamma

    return Built(rule, rest, "diagonal")


@recorded
def per_class(rows: Mapping[Hashable, object], *, rest: object = "jeffreys") -> Built:
    """Take the row of each class named from a prior of its own, and the other rows from `rest`.

    Examples
    --------
    >>> audit = from_counts([[40, 10], [2, 48]], weight=1)
    >>> per_class({"webshop": audit}).for_classes(2, ["webshop", "other"]).alpha
    array([[40.5, 10.5],
           [ 0.5,  0.5]])
    """
    if not isinstance(rows, Mapping):
        raise OptionError(
            f"`rows` must name the class of each prior, as {{class: prior}}; got {rows!r}.",
            hint='write per_class({"webshop": from_counts(…)}).',
        )

    def rule(base: Concentrations, labels: Labels) -> tuple[Floats, Floats]:
        alpha = base.alpha.copy()
        for label, prior in rows.items():
            g = _place(label, labels)
            alpha[g] = conjugate(prior, labels, "per_class").alpha[g]
        return alpha, base.gamma

    return Built(rule, rest, "per_class", tuple(rows))


def arranged(matrix: Floats, classes: Sequence[Hashable] | None, labels: Labels) -> Floats:
    """Return a (K, K) matrix in the order of `labels`; `classes` are those of its rows, if any."""
    if classes is None:
        return matrix
    places = [_place(label, labels) for label in classes]
    if sorted(places) != list(range(len(labels))):
        raise OptionError(
            f"A matrix must name each of the classes {labels[:20]} once; got {list(classes)[:20]}."
        )
    at = np.argsort(places)
    return matrix[np.ix_(at, at)]


def conjugate(prior: object, labels: Labels, name: str) -> Concentrations:
    """Return the concentrations of a conjugate prior; refuse any other."""
    found = resolve(prior, len(labels), labels)
    if found.tilt is not None:
        raise OptionError(
            f"`{name}` must build on a conjugate prior; got {found.name!r}.",
            hint='use "perks", "jeffreys", "uniform" or a trueup.Dirichlet there.',
        )
    return found


def _place(label: Hashable, labels: Labels) -> int:
    if label in labels:
        return labels.index(label)
    spelled = [str(known) for known in labels]  # from the command line every label is a text
    if spelled.count(str(label)) == 1:
        return spelled.index(str(label))
    raise OptionError(
        f"The prior names class {label!r}, which must be one of the classes: {labels[:20]}."
    )


def _by_label(found: Labelled, classes: Sequence[Hashable] | None) -> tuple[Any, Labels]:
    """Return an earlier test set whose rows and columns are in one order, and its classes."""
    rows, columns = found.names
    names: Labels = [*(classes or rows or columns or ())]
    numbers = found.numbers
    for axis, (kind, own) in enumerate((("rows", found.rows), ("columns", found.columns)), -2):
        at = places(f"The {kind} of the earlier test set", own, names)
        numbers = taken(numbers, at, axis)
    return numbers, names


def _weights(weight: Any, names: Labels) -> Any:
    """Return a weight for each class, by label if it has labels."""
    numbers, own, _ = read_labels(weight, vector=True)
    hint = "name each class of the earlier test set once."
    return taken(numbers, places("The labels of `weight`", own, names, hint), 0)


def _check_counts(previous: ArrayLike) -> Floats:
    n = as_floats(previous)
    if n.ndim != 2 or n.shape[0] != n.shape[1] or len(n) < 2:
        raise OptionError(
            f"The earlier test set must be a square matrix; got shape {np.shape(previous)}.",
            hint="rows are true classes, columns predicted ones.",
        )
    if not (np.isfinite(n).all() and (n >= 0).all()):
        raise OptionError("The earlier test set must hold numbers of units, 0 or more.")
    return n
