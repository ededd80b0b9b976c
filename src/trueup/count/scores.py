"""Bands of the score within each predicted label, and what is wrong or strange about a score."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.count.names import FROM_POPULATION, Columns
from trueup.count.parts import Figures
from trueup.errors import DataError, OptionError
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers
from trueup.read.columns import plain
from trueup.read.table import CONTRADICTS

NOT_WITH_SCORE = (
    "strata", "period", "drawn_within", "probability", "cluster", "count", "P",
)  # fmt: skip
WITH_SCORE = {"random": ("auto", "joint", "difference"), "shifted": ("auto", "full")}
MOST_CLASSES = 20
LEAST, MOST = 4, 20
"""Bands of the score: twice the cube root of the number of audited units, within these."""
ELSEWHERE = 4
"""Bands of the score for a test set drawn within true classes, or elsewhere."""
BESIDE_VALUE = 5
"""Bands of the score beside bands of the value."""


def refuse_with_others(asked: Mapping[str, Any], columns: Columns) -> None:
    """Refuse options of `correct` with which further classifiers would be ignored."""
    if columns.score:
        raise OptionError(
            "`score` cannot be combined with several `predicted` columns yet.",
            hint="leave out `score`, or name one predicted column.",
        )
    if asked["design"] not in FROM_POPULATION:
        raise OptionError(
            "Several `predicted` columns need design 'random' or 'by_prediction'; got "
            f"{asked['design']!r}.",
            hint="name one predicted column.",
        )
    asked = {**asked, "drawn_within": None}  # which goes together with them
    refuse_with_score(asked, "a second `predicted` column", ("auto", "joint"))


def refuse_with_score(
    asked: Mapping[str, Any], what: str = "`score`", methods: Sequence[str] = ()
) -> None:
    """Refuse options of `correct` with which a score would be ignored."""
    series = what == "`score`" and asked.get("period") is not None
    for name in NOT_WITH_SCORE:
        given = None if series and name == "period" else asked.get(name)
        if given is not None and len(np.atleast_1d(np.asarray(given, dtype=object))):
            raise OptionError(
                f"{what[0].upper() + what[1:]} cannot be combined with `{name}` yet.",
                hint=f"leave out {what}, or `{name}`.",
            )
    design = asked["design"]
    if series and asked["value"] is not None:
        raise OptionError(
            "`score` with `period` counts units; got `value` too.",
            hint="leave out `score` for totals.",
        )
    methods = methods or WITH_SCORE["random" if design in FROM_POPULATION else "shifted"]
    if asked.get("method", "auto") not in methods:
        raise OptionError(
            f"Method {asked['method']!r} cannot use {what}; with design {design!r} these can:"
            f" {', '.join(map(repr, methods))}.",
            hint=f"leave out {what}, or use method='auto'.",
        )
    if design not in FROM_POPULATION and asked.get("by"):
        raise OptionError(
            f"`score` with `by` needs design 'random' or 'by_prediction'; got {design!r}.",
            hint="leave out `score`, or `by`.",
        )
    if design == "shifted" and asked["value"] is not None:
        raise OptionError(
            "`score` cannot be combined with `value` for design 'shifted': values of a class may "
            "differ from those of the test set.",
            hint="leave out `score` for totals; counts can have it.",
        )
    if not asked.get("noise", True):
        raise OptionError(
            f"{what[0].upper() + what[1:]} needs noise=True; got False.", hint=f"leave out {what}."
        )


def score_classes(
    score: tuple[str, ...], classes: Sequence[Hashable] | None
) -> tuple[Hashable, ...]:
    """Return the class that each column of scores belongs to; none if there is one column."""
    if len(score) == 1:
        return ()
    if classes is None or len(classes) != len(score):
        named = "no `classes`" if classes is None else f"{len(classes)} `classes`"
        raise OptionError(
            "`score` must name one column, or one for each class in the order of `classes`; got "
            f"{len(score)} columns and {named}.",
            hint="list all classes with classes=[...] (--classes), in the order of the columns.",
        )
    return tuple(plain(label) for label in classes)


def check_score(
    cells: Counts | None, fine: Figures, whole: Counts, score: tuple[str, ...]
) -> list[str]:
    """Refuse a score that cannot be used, and say what is strange about one that can."""
    named = " or ".join(map(repr, score))
    if whole.K > MOST_CLASSES:
        raise OptionError(
            f"`score` can be used with up to {MOST_CLASSES} classes; got {whole.K}.",
            hint="leave it out, or combine classes.",
        )
    assert fine.score is not None
    labelled = set(zip(fine.at[-1].tolist(), fine.score.tolist(), strict=True))
    if len(labelled) == len(set(fine.at[-1].tolist())):
        return [
            f"All units of a predicted class have nearly the same score in {named}: it tells "
            "nothing, and is not used. A probability should be between 0 and 1, not a percentage."
        ]
    if cells is None:
        raise DataError(
            f"The audited units must have the scores that they have in the population; by {named}, "
            "some bands hold more audited units than the population has there.",
            hint="use scores of the same model for both tables, name the `id` column, or set "
            "overlap=False (--no-overlap) if the test set comes from elsewhere.",
        )
    against = fine.score > CONTRADICTS // 2
    share = float(fine.units[against].sum() / fine.units.sum())
    if share == 0:
        return []
    return [
        f"In {share:.1%} of the units another class has a higher score than the predicted one "
        f"({named}). That is right if classes are predicted with a threshold or with costs; "
        "otherwise, are the columns in the order of `classes`?"
    ]


def in_score_order(bands: Any) -> Integers:
    """Return fine bands as numbers in the order of their scores: without the contradictions."""
    fine = np.array(bands, dtype=np.int64)
    return np.where(fine > CONTRADICTS // 2, fine - CONTRADICTS, fine)


def most_bands(n: int, banded: bool, from_population: bool, drawn: int = 0) -> int:
    """How many bands of the score: the more audited units, the more; fewer beside a value.

    If the test set was `drawn` within so many, those.

    A test set drawn within true classes, or elsewhere, must tell how each class is spread over all
    cells, so that it needs more units for as many bands.
    """
    if drawn or not from_population:
        return drawn or ELSEWHERE
    if banded:
        return BESIDE_VALUE
    return int(np.clip(round(2 * n ** (1 / 3)), LEAST, MOST))


def score_bands(
    population: Figures, audited: Figures, L: int, most: int
) -> tuple[Integers, Integers, int]:
    """Merge fine bands of the score within each predicted label, and place audited units there."""
    fine, test = (in_score_order(x.score) for x in (population, audited))
    band, own = np.zeros_like(fine), np.full_like(test, -1)
    for h in range(L):
        mine, seen = population.at[-1] == h, audited.at[-1] == h
        every, i = np.unique(fine[mine], return_inverse=True)
        if not len(every):
            continue
        cut = merge_scores(np.bincount(i, population.units[mine], len(every)), most)
        band[mine] = cut[i]
        # a test set from elsewhere may have scores that the population lacks: the nearest band
        place = np.clip(np.searchsorted(every, test[seen]), 0, len(every) - 1)
        own[seen] = cut[place]
    return band, own, int(band.max()) + 1


def merge_scores(units: Any, most: int) -> Integers:
    """Merge fine bands of the score, in their order, into at most `most`: the band of each.

    Cuts are at equal parts of a weight, half of it the units and half the number of fine bands:
    the many sure units share bands, and the unsure ones, where the errors are, have their own.
    """
    weight = units / units.sum() + 1.0 / len(units)
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    cut = np.minimum(middle * most, most - 1).astype(np.int64)
    return np.asarray(np.unique(cut, return_inverse=True)[1])


def score_ranks(v_hat: Integers) -> Floats:
    """Return the normal score (L, S) of each band of the score, by its middle rank in its label.

    `v_hat` (L, S) are units. Ranks do not change if the score is stretched, shifted or bent: only
    its order is believed. Standardised over the units of each label.
    """
    units = np.maximum(v_hat.sum(axis=1, keepdims=True), 1)
    p = v_hat / units
    rank = np.cumsum(p, axis=1) - p / 2
    z = np.where(v_hat > 0, special.ndtri(np.clip(rank, 1e-9, 1 - 1e-9)), 0.0)
    z = z - (p * z).sum(axis=1, keepdims=True)
    sd = np.sqrt((p * z**2).sum(axis=1, keepdims=True))
    return np.asarray(np.where(v_hat > 0, z / np.where(sd > 0, sd, 1.0), 0.0))
