"""Options that go together, and those that do not; methods and rates that options stand for."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from trueup.count.made_columns import Weights
from trueup.count.names import Columns
from trueup.count.scores import refuse_with_others, refuse_with_score
from trueup.draws.settings import FROM_POPULATION, check_options
from trueup.errors import OptionError
from trueup.estimate.doubts.chance import chance_warning
from trueup.estimate.doubts.own_rates import without
from trueup.numerics.arrays import fresh_seed
from trueup.prior import Regression
from trueup.prior.studies import draw_from_studies

STUDY_DRAWS = 64_000
NOT_WITH_PERIOD = ("by", "strata", "drawn_within", "probability", "cluster", "sample_of")


NOT_WITH_WEIGHT = (
    "by", "strata", "period", "count", "probability", "cluster", "sample_of",
)  # fmt: skip
PARTS = ("by", "strata", "period")


def refuse_with_period(asked: Mapping[str, Any]) -> None:
    """Refuse what a series of periods cannot have, before its column stands in for `by`."""
    given = [name for name in NOT_WITH_PERIOD if asked.get(name)]
    for name in ("panel", "drift"):
        if asked.get(name) and asked["period"] is None:
            got = f"{asked[name]:g} alone"
            raise OptionError(f"`{name}` needs `period`, the column of periods; got {got}.")
    if asked["period"] is not None and given:
        raise OptionError(
            f"`period` cannot be combined with `{given[0]}` yet.",
            hint=f"leave out `{given[0]}`, or correct each part as tables of its own.",
        )


def refuse_list_with_period(period: str | None, name: str, words: str) -> None:
    """Refuse a series from a work list whose design a series does not know."""
    if period is not None:
        raise OptionError(
            f"`period` cannot be combined yet with a test set drawn {words}, as {name} was.",
            hint=f"take periods as groups: by={period!r} (--by {period}).",
        )


def refuse_together(asked: dict[str, Any], columns: Columns) -> None:
    """Refuse options of `correct` that would contradict or ignore each other."""
    regression, design = isinstance(asked["prior"], Regression), asked["design"]
    given = [name for name in NOT_WITH_WEIGHT if asked[name]]
    if asked["weight"] is not None and given:
        apart = f", or correct each part of `{given[0]}` by itself" if given[0] in PARTS else ""
        raise OptionError(
            f"`weight` cannot be combined with `{given[0]}`.",
            hint=f"leave out one of them{apart}.",
        )
    if asked["sample_of"] is not None and columns.by:
        raise OptionError(
            "`sample_of` cannot be combined with `by`.",
            hint="leave out one of them, or correct each group by itself, as a table of its own.",
        )
    _refuse_pooling(asked, columns)
    if columns.score and not columns.others:
        refuse_with_score(asked)
    if columns.others:
        refuse_with_others(asked, columns)
    if (columns.score or columns.others) and regression:
        raise OptionError(
            "`score` and several `predicted` columns cannot be combined with prior 'regression', "
            "which has strata of its own.",
            hint="leave them out, or use a Dirichlet prior.",
        )
    refuse_drawn_within(columns, design, regression)
    classical = asked["method"] in ("difference", "test_set")
    if columns.drawn_within and design == "by_prediction" and classical:
        raise OptionError(
            f"Method {asked['method']!r} with `drawn_within` needs units drawn at random within "
            "its strata; got design 'by_prediction'.",
            hint="use method='calibrated', which takes predicted classes in them as strata.",
        )
    if asked["count"] is not None and columns.id is not None:
        raise OptionError(
            "`id` cannot be combined with `count`: a row that stands for many units has no id.",
            hint="leave out `id`; the test set then needs the predicted class itself.",
        )
    if asked["cluster"] is not None and columns.parts:
        got = "strata" if columns.strata else "by"
        raise OptionError(
            f"`cluster` cannot be combined with `by` or `strata`; got `{got}`.",
            hint="leave out one of them.",
        )
    if regression and columns.strata:
        raise OptionError("Prior 'regression' makes strata of its own; leave out `strata`.")


def refuse_drawn_within(columns: Columns, design: str, regression: bool) -> None:
    """Refuse audit strata of a test set that was not drawn within them."""
    if columns.drawn_within and (design not in FROM_POPULATION or regression):
        raise OptionError(
            "`drawn_within` needs a test set drawn from the population, design 'random' or "
            f"'by_prediction', and no prior 'regression'; got {design!r}.",
            hint="leave out `drawn_within`, or correct each stratum by itself.",
        )


def _refuse_pooling(asked: Mapping[str, Any], columns: Columns) -> None:
    """Refuse `pooling` where nothing would be pooled, or not otherwise than by default."""
    pooling = asked["pooling"]
    strata = bool(columns.strata) or isinstance(asked["prior"], Regression)
    groups = asked["by"] and pooling == "complete"
    if pooling == "partial" or strata or groups:
        return
    with_ = [f"`{name}`" for name in ("by", "period", "drawn_within") if asked[name]]
    raise OptionError(
        "`pooling` is how far strata, or groups, share their error rates: 'complete' needs "
        f"`strata` or `by`, and 'none' `strata`; got {pooling!r} with "
        f"{' and '.join(with_) or 'neither'}.",
        hint="leave out `pooling`.",
    )


def inverse_weights(name: str, weights: Weights, asked: Mapping[str, Any]) -> list[str]:
    """Warn of weights that are probably the probabilities whose inverse they should be."""
    if not weights.probable:
        return []
    other = ""
    if asked["design"] in FROM_POPULATION:
        other = (
            " If they are those with which the audited units were drawn from this table, give "
            f"probability={name!r} (--probability) instead of `weight`{without(asked)}."
        )
    return [
        f"The weights in column {name!r} are all at most 1, so that {weights.units:,} units stand "
        f"for {weights.total:,.6g} of a larger population. They look like probabilities. If they "
        "are those with which the units of this table were drawn from the larger population, the "
        f"weight is 1 divided by them.{other}"
    ]


def refuse_with_probability(method: str, design: str, asked: Mapping[str, Any]) -> None:
    """Refuse what units with probabilities of their own cannot have."""
    wrong = [f"method {method!r}"] if method not in ("auto", "difference", "test_set") else []
    wrong += [f"design {design!r}"] if design not in FROM_POPULATION else []
    wrong += [f"`{name}`" for name in ("by", "strata", "score", "sample_of") if asked.get(name)]
    wrong += ["`P`"] if asked.get("P") is not None else []
    if wrong:
        what = f"A test set drawn {asked['drawn']}" if "drawn" in asked else "`probability`"
        raise OptionError(
            f"{what} needs design 'random' or 'by_prediction', the method 'auto', 'difference' or "
            f"'test_set', and no `by`, `strata`, `score`, `sample_of` or `P`; got "
            f"{', '.join(wrong)}.",
            hint="draw by size with `draw`, and total the column that it was drawn by (`value`).",
        )


def pooled_studies(
    asked: Mapping[str, Any],
) -> tuple[dict[str, Any], list[Hashable], str, int]:
    """Return the options that studies stand for, the classes, the design and the seed."""
    studies, design, prior, seed = (asked[x] for x in ("studies", "design", "prior", "seed"))
    for name in ("test", "P", "predicted_classes"):
        if asked[name] is not None:
            raise OptionError(
                f"`studies` takes the place of `{name}`; got both.",
                hint="a test set of your own is one of the studies: give it there, with test=None.",
            )
    if not (isinstance(prior, str) and prior.lower() == "perks"):  # the default
        raise OptionError(
            "`studies` takes the place of `prior`; got both.",
            hint="leave out `prior`: `between` is what is assumed before any study.",
        )
    if design is not None:
        check_options(design=design)
    if design in FROM_POPULATION:
        raise OptionError(
            "`studies` are of units whose true class was known, design 'by_class' or 'shifted'; "
            f"got {design!r}.",
            hint="leave out `design`.",
        )
    check_options(seed=seed)
    if seed is None:
        seed = fresh_seed()
    rng = np.random.default_rng([seed, 4])
    drawn, labels, found = draw_from_studies(
        studies, asked["classes"], asked["between"], STUDY_DRAWS, rng
    )
    design = "by_class" if design is None else design
    units = np.stack([np.atleast_2d(studies[g]).sum(axis=0) for g in labels])
    known = {"P": drawn, "design": design, "overlap": False, "seed": seed, "found": found}
    known["notes"] = chance_warning(units, labels)
    return known, labels, design, seed
