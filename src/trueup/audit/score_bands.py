"""Bands of the score as strata of an audit, and how many units to label in each.

Before any label exists, the score itself says where errors are likely. Neyman's rule gives a band
labels by its units times the spread √(p(1 − p)) of being right, p its mean score as a probability.
The score is checked later and not believed now: no band is taken to be surer than SUREST, so that
bands of sure units have enough labels to show that they are not; and no p is below ½, so that units
with lower scores never have fewer labels for it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueup.audit.allocate import BAND, LEAST, Label, allocate_units, whole
from trueup.count.reliability import as_probability, score_scale
from trueup.count.scores import in_score_order, merge_scores, score_classes
from trueup.errors import DataError
from trueup.read.table import Score, Table, Tally, score_of

SUREST = 0.95
BANDS = 5
"""Bands of each predicted class at most; fewer if n is small, so that half of it is left to go
where errors are likely."""
FINENESS = 8


class ScoreBands(NamedTuple):
    """The band that each (predicted class, fine band) is in, and the share wrong by the scores."""

    names: Mapping[Label, str]
    wrong: Mapping[Label, float]


def with_scores(
    population: Table,
    predicted: str,
    score: tuple[str, ...],
    classes: Sequence[Hashable] | None,
) -> Table:
    """Return the table with a column BAND, the fine bands of its score."""
    return population.scored(BAND, Score(score, predicted, score_classes(score, classes), FINENESS))


def bands_for(n: Any, tally: Tally) -> int:
    """How many bands of the score each predicted class has at most when n units are drawn."""
    labels = len({key[0] for key in tally.keys})
    return int(np.clip(whole(n) // (2 * LEAST * labels), 2, BANDS))


def score_bands(tally: Tally, most: int) -> ScoreBands:
    """Return the bands of a tally by predicted class and fine band, those that `correct` makes."""
    fine = in_score_order([key[1] for key in tally.keys])
    scale = score_scale(score_of(fine, FINENESS), tally.units)
    names: dict[Label, str] = {}
    wrong: dict[Label, float] = {}
    for label in dict.fromkeys(key[0] for key in tally.keys):
        mine = [i for i, key in enumerate(tally.keys) if key[0] == label]
        every, at = np.unique(fine[mine], return_inverse=True)
        units = np.bincount(at, tally.units[mine], len(every))
        band = merge_scores(units, most)
        error = 1 - as_probability(score_of(every, FINENESS), scale)
        for b in range(int(band.max()) + 1):
            inside = band == b
            low, high = score_of(every[inside][[0, -1]] + np.array([-0.5, 0.5]), FINENESS)
            name = f"{b + 1}: {low:.3g} to {high:.3g}"
            names |= {tally.keys[mine[i]]: name for i in np.flatnonzero(inside[at])}
            wrong[label, name] = float((units * error)[inside].sum() / units[inside].sum())
    return ScoreBands(names, wrong)


def neyman(n: Any, units: Mapping[Label, int], bands: ScoreBands) -> dict[Any, int]:
    """Spread n labels over the strata by Neyman's rule, from the scores alone."""
    error = np.clip([bands.wrong[label] for label in units], 1 - SUREST, 0.5)
    weights = np.array([*units.values()]) * np.sqrt(error * (1 - error))
    given = allocate_units(whole(n), weights, [*units.values()])
    return dict(zip(units, given.tolist(), strict=True))


def refuse_constant(units: Mapping[Label, int], population: Table, score: tuple[str, ...]) -> None:
    """Refuse a score that makes no bands."""
    if len(units) == len({label[0] for label in units}):
        raise DataError(
            f"The score in {' or '.join(map(repr, score))} of {population.name} must differ "
            "between units of a predicted class to draw by it; all have nearly the same.",
            hint="draw with by_prediction=True (--by-prediction). A probability should be between "
            "0 and 1, not a percentage.",
        )


def why(label: Label, units: int, drawn: int, bands: ScoreBands) -> str:
    """Say why units of a stratum are on the work list."""
    share = bands.wrong[label]
    return (
        f"{drawn:,} of {units:,} units predicted {label[0]} with scores "
        f"{str(label[1]).split(': ')[1]}, which say that {share:.0%} of them are wrong"
    )
