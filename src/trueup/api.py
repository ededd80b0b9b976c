"""The two functions that users call: `correct` for tables, `correct_counts` for numbers."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trueup.count.counts import Counts, make_counts
from trueup.count.names import Columns
from trueup.count.parts import GroupCounts
from trueup.draws.settings import (
    DRAWS,
    FROM_POPULATION,
    POOLINGS,
    SECONDS,
    Settings,
    check_options,
    make_settings,
    one_of,
)
from trueup.errors import ClassError, OptionError, TrueupWarning
from trueup.estimate.answer import more_draws
from trueup.estimate.result import Estimate
from trueup.prior import Regression
from trueup.prior.studies import BETWEEN, draw_from_studies
from trueup.read.native import local_frame

STUDY_DRAWS = 64_000
# What `make_settings` takes, of either function.
OPTIONS = (
    "design", "method", "prior", "overlap", "noise", "P", "draws", "interval", "seed", "seconds",
)  # fmt: skip


def correct(
    predictions: Any,
    test_set: Any,
    *,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    score: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    period: str | None = None,
    panel: float = 0.0,
    strata: str | Sequence[str] | None = None,
    drawn_within: str | Sequence[str] | None = None,
    pooling: Literal["partial", "none", "complete"] = "partial",
    id: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    missing: Literal["refuse", "leave_out"] = "refuse",
    design: str = "random",
    method: str = "auto",
    prior: object = "perks",
    noise: bool = True,
    P: ArrayLike | None = None,
    draws: int | None = DRAWS,
    interval: float = 0.95,
    seed: int | None = None,
    sample_of: float | str | None = None,
    weight: str | None = None,
    probability: str | None = None,
    cluster: str | None = None,
    seconds: float = SECONDS,
    count: str | None = None,
    squares: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: str | Sequence[str] | None = None,
    keep_draws: bool | None = None,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Correct the totals of a table whose classes were predicted, with a small test set.

    Parameters
    ----------
    predictions, test_set : path or dataframe
        The population with a predicted class per unit, and the audited units with both classes.
        The path of a CSV, Parquet or Arrow file, or a folder or glob of them; or a table of pandas,
        Polars, PyArrow, DuckDB, Ibis, Dask or Spark, which its own engine counts.
    predicted, true : str
        The class columns: `predicted` in both tables, `true` in the test set.
    value : str, optional
        The numeric column to total; by default units are counted.
    score : str or sequence of str, optional
        Column, in both tables, of the classifier's confidence in the predicted class: a
        probability, a margin, a log-probability; any number, higher is more sure. Or one column for
        each class, in the order of `classes`. Only the order of the scores within a predicted
        class is used; how right they are is learned from the test set.
    by : str or sequence of str, optional
        Column or columns: report per group, a group for each combination of labels. Groups add up
        to the whole, which is the same as without them. Base rates may differ between groups as
        far as the data show; so may error rates, if the group of each audited unit is known.
    period : str, optional
        Column with the period of each unit, in both tables: report per period. The test set is of
        one period or several, and `design` is how it was drawn within them. Base rates change from
        period to period as far as the data show. So do error rates if two periods or more were
        audited; otherwise they are assumed to be the same in all. Labels are years, quarters
        (2024-Q1), months (2024-03), weeks (2024-W07), days or numbers.
    panel : float
        With `period`: the share of units that are in the next period too, with the same class and
        the same prediction. Their errors then stay the same, and intervals of changes are
        narrower. By default units are taken to be new in each period.
    strata : str or sequence of str, optional
        Column or columns by which error rates differ: each stratum has its own rates.
    drawn_within : str or sequence of str, optional
        Column or columns, known for every unit, within which the test set was drawn (audit strata:
        region, size class). The answer then holds however many units were drawn from each
        stratum; a stratum that was audited completely is known exactly. For the designs
        "random" and "by_prediction".
    pooling : {"partial", "none", "complete"}
        How far strata, or groups, share their error rates: as far as the data show, not at all
        (strata only), or the same rates for all.
    id : str, optional
        The unit's id in both tables. Then the test set needs neither `predicted` nor `value`:
        they come from the population.
    overlap : bool, optional
        Whether the audited units are in the population, so that their part is known exactly.
        By default yes, except for ``design="shifted"``.
    classes : sequence, optional
        All classes that units can truly have, in order; by default those seen in the tables,
        sorted, or in the order of an ordered categorical or enum. Predicted labels that are not
        listed ("unknown", an abstention) are no class: their units are shared out between the
        classes.
    missing : {"refuse", "leave_out"}
        What to do with rows without a usable class or value (null, NaN or infinite). Those left out
        are counted in ``info["warnings"]``.
    design : {"random", "by_prediction", "by_class", "shifted"}
        How the test set was drawn: at random from the population, within predicted classes,
        within true classes, or from another period or population. A work list of `draw`
        contains its design.
    method : str
        "auto" is "joint" for the first two designs and "constrained" for the others; for totals of
        "by_class" tables it is "full". Also "naive", "inverse", "bayes", "calibrated",
        "difference" and "test_set".
    prior : str or prior
        "perks" (the default), "jeffreys", "uniform", ``Dirichlet(alpha, gamma)``, or one made by
        ``trueup.prior``: from an earlier audit, an expert's range, or any log density.
    noise : bool
        Whether the interval allows for chance in which units are misclassified. Without it
        "bayes" and "constrained" are exactly the paper's three steps; `by` requires it.
    P : (K, K) or (R, K, K) array_like, optional
        Error rates that are known, or draws of them from elsewhere: rows true, columns predicted,
        in the order of `classes`. The test set is then not used for them, and the method is
        "constrained", "bayes" or "full".
    draws : int or None
        The number of draws. None takes 4,000, and more if the Monte Carlo error of an interval's
        ends would show in the printed digits, up to 64,000 (fewer with many classes or groups, or
        where draws are slow). ``info["draws"]`` says how many were taken.
    interval : float
        The probability of the equal-tailed interval.
    seed : int, optional
        The same seed gives the same numbers; without one a seed is chosen and reported.
    sample_of : int or inf, optional
        If the table is itself a random sample (people tested, documents drawn): the size of the
        population that it was drawn from. The interval then includes the sampling error.
        With inf, figures are shares of that population times the table's own size.
    weight : str, optional
        Column, in both tables, of survey weights: how many units of a larger population each unit
        of the table stands for. Figures are then those of that population: the sum of the weights,
        or of weight times `value`. The interval includes the sampling error of units drawn
        independently with those weights; clusters and strata of the survey are not known.
        ``info["effective_size"]`` is how many units with equal weights would tell as much.
    probability : str, optional
        Column of the test set: the probability with which each unit was drawn, where these differ
        (by size, say). The method is then "difference", weighted (Hájek), with Student's interval
        of as many units as the weights are worth; "joint" if they are
        proportional to `value`, as in a work list that `draw` drew by size.
    cluster : str, optional
        Column of the test set: which units were drawn together (documents of one author, pixels of
        one block). The test set then counts as fewer units: its size divided by the design effect,
        which is in ``info["design_effect"]``.
    seconds : float
        Time limit for Markov chains, where a method needs them. If it is too short, a warning
        gives R-hat, and the draws depend on the machine.
    count, squares : str, optional
        Columns of a population that is already aggregated: how many units a row stands for, and
        the sum of their squared values. `value` is then the sum of their values. The test set has
        a row for each audited unit.
    decimal, encoding, text : optional
        How files are written: the decimal mark, "," or "." (numbers that may be either are refused
        without it); the encoding of CSV files, such as "windows-1252"; columns whose numbers are
        codes, to be read as text.
    keep_draws : bool, optional
        Whether to keep the draws of every group; by default if they take at most 200 MB.
    executor : concurrent.futures.Executor, optional
        Where to draw groups, such as Dask's ``client.get_executor()``; by default threads here. The
        numbers are the same.
    progress : callable, optional
        Called with the fraction done during long work: of reading a file, then of drawing.

    Returns
    -------
    Estimate
        Rows per class; ``print`` it, or see ``rows()``, ``table``, ``draws`` and ``info``.
    """
    sample_of = str(sample_of) if sample_of == float("inf") else sample_of
    asked = _asked("correct", locals())
    from trueup.audit.work_list import read_design
    from trueup.count.bins import bin_tables
    from trueup.count.gather import gather_groups
    from trueup.count.scores import refuse_with_score
    from trueup.count.weights import weigh
    from trueup.read import open_table, open_units
    from trueup.read.written import written

    check_options(
        design=design, method=method, draws=draws, interval=interval, seed=seed, seconds=seconds
    )
    one_of("pooling", pooling, POOLINGS)
    if period is not None:
        others = ("by", "strata", "drawn_within", "count", "probability", "cluster", "sample_of")
        if given := [name for name in others if asked[name]]:
            raise OptionError(
                f"`period` cannot be combined with `{given[0]}` yet.",
                hint="leave it out, or correct each of its groups by itself.",
            )
        by = period
    columns = Columns(predicted, true, value, id, by, strata, drawn_within, score)  # type: ignore[arg-type]
    if columns.score:
        refuse_with_score(asked)
        if isinstance(prior, Regression):
            raise OptionError(
                "`score` cannot be combined with prior 'regression', which has strata of its own.",
                hint="leave out `score`, or use a Dirichlet prior.",
            )
    if columns.drawn_within and (
        design in ("by_class", "shifted") or isinstance(prior, Regression)
    ):
        raise OptionError(
            "`drawn_within` needs a test set drawn from the population, design 'random' or "
            f"'by_prediction', and no prior 'regression'; got {design!r}.",
            hint="leave out `drawn_within`, or correct each stratum by itself.",
        )
    # What the answer needs takes as long to load as DuckDB takes to read millions of rows: both at
    # once. np.quantile needs numpy.ma; draws that need no chain and no groups need no SciPy.
    direct = method in ("auto", "joint") and design in FROM_POPULATION
    needed = ["trueup.estimate.methods", "numpy.random", "numpy.ma"]
    needed += [] if direct and not (by or strata) else ["scipy.special"]
    threading.Thread(target=lambda: [*map(import_module, needed)], daemon=True).start()
    predictions, test_set = (
        written(table, decimal, encoding, text) for table in (predictions, test_set)
    )
    population, audited = (
        open_units(predictions, "predictions", count, squares, value),
        open_table(test_set, "the test set"),
    )
    if count is not None and id is not None:
        raise OptionError(
            "`id` cannot be combined with `count`: a row that stands for many units has no id.",
            hint="leave out `id`; the test set then needs the predicted class itself.",
        )
    notes: list[str] = []
    stratum = None
    if drawn := read_design(population, audited, columns, design):
        size = drawn[0].size
        design = "by_prediction" if drawn[0].by_prediction or size else "random"
        columns = replace(columns, id=columns.id or drawn[0].id)
        if drawn[0].within or (size and (size != value or method not in ("auto", "joint"))):
            probability = probability or drawn[1]
            stratum = None if size else drawn[2]
        asked |= {"design": design, "id": columns.id, "probability": probability}
    if probability is not None:
        method, said = _weighted(method, design, probability, by or strata)
        notes += said
        direct, asked["method"] = False, method
    if weight is not None:
        population, audited, columns, effective = weigh(population, audited, columns, weight, asked)
    if cluster is not None and (by or strata):
        raise OptionError("`cluster` cannot be combined with `by` or `strata`; got both.")
    if isinstance(prior, Regression):
        if strata:
            raise OptionError("Prior 'regression' makes strata of its own; leave out `strata`.")
        population, audited, prior = bin_tables(population, audited, prior, id, missing)
        columns = replace(columns, strata=(prior.bin_name,))
    # in cells, or to see whether values differ between the predictions of a class
    banded = direct or method in ("auto", "full", "constrained", "bayes", "inverse")
    found = gather_groups(
        population,
        audited,
        columns,
        overlap=design != "shifted" if overlap is None else overlap,
        classes=classes,
        missing=missing,
        progress=progress,
        bands=(banded or bool(columns.drawn_within or columns.score))
        and count is None
        and not period,
        design=design,
    )
    if columns.strata and pooling != "complete":  # strata have rates of their own
        found = replace(found, whole=replace(found.whole, within=found.strata.counts))
    if design == "random" and columns.parts and period is None:
        from trueup.estimate.design import DOUBTFUL, design_doubts

        inside = design != "shifted" if overlap is None else overlap
        doubts = design_doubts(found.whole, inside, found.named())
        found.warnings.extend(
            doubt.words for doubt in doubts if doubt.part and doubt.p_value < DOUBTFUL
        )
    options = {name: asked[name] for name in OPTIONS} | {"prior": prior}
    parts = (found, pooling, keep_draws) if columns.parts else None
    units = None
    if probability is not None or cluster is not None:
        from trueup.audit.units import read_units

        labels = found.whole.classes
        units = read_units(population, audited, columns, labels, probability, cluster, stratum)
    notes = [*found.warnings, *notes]
    job = _Job(found.whole, population.native, notes, parts, asked, options, units)
    if weight is not None:
        job = replace(job, extra={"effective_size": effective})
    return _run(job, progress, executor)


def _weighted(method: str, design: str, probability: str, parts: object) -> tuple[str, list[str]]:
    """Return the method for units with probabilities of their own, and what to say of it."""
    if method not in ("auto", "difference", "test_set") or design not in FROM_POPULATION or parts:
        raise OptionError(
            "`probability` needs a test set drawn from the population, the method 'auto', "
            "'difference' or 'test_set', and no groups or strata; got "
            f"{method!r} and design {design!r}.",
            hint="draw by size with `draw`, and total the column that it was drawn by.",
        )
    said = (
        f"The units were drawn with unequal probabilities ({probability!r}), so each has the "
        "weight 1/probability (the weighted difference estimator). This method has no draws."
    )
    return ("difference", [said]) if method == "auto" else (method, [])


def correct_counts(
    test: ArrayLike | None,
    predicted_counts: ArrayLike,
    predicted_sums: ArrayLike | None = None,
    predicted_squares: ArrayLike | None = None,
    test_sums: ArrayLike | None = None,
    test_squares: ArrayLike | None = None,
    *,
    classes: Sequence[Hashable] | None = None,
    predicted_classes: Sequence[Hashable] | None = None,
    design: str = "random",
    method: str = "auto",
    prior: object = "perks",
    overlap: bool | None = None,
    noise: bool = True,
    P: ArrayLike | None = None,
    studies: Mapping[Hashable, ArrayLike] | None = None,
    between: float = BETWEEN,
    draws: int | None = DRAWS,
    interval: float = 0.95,
    seed: int | None = None,
    sample_of: float | str | None = None,
    seconds: float = SECONDS,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Correct counts or totals from a matrix of test counts; see `correct` for the other options.

    Parameters
    ----------
    test : (K, L) array_like of int, or None
        Test units, rows true and columns predicted. L is K, unless some predicted labels are no
        class ("unknown", finer labels), or some classes are never predicted. None with `studies`
        or `P`: the error rates then come from elsewhere.
    predicted_counts : (L,) array_like of int
        Population units per predicted label.
    predicted_sums, predicted_squares : (L,) array_like, optional
        The sum of the value, and of its square, per predicted label. Without sums, units are
        counted; without squares the classification noise of totals cannot be known.
    test_sums, test_squares : (K, L) array_like, optional
        The sum of the value, and of its square, of the test units per cell. With sums, the
        audited part of a total is known exactly.
    classes : sequence, optional
        Names of the rows; by default 0, 1, ….
    predicted_classes : sequence, optional
        Names of the columns, where they are not the classes in their order. `naive` is that of the
        column with the class's own name, and 0 for a class that is never predicted.
    studies : mapping, optional
        Published studies of two classes, instead of a test set of one's own: for each true class a
        row for each study, how many of its units were predicted as each class. Rates differ
        between studies (normal on the logit scale), and those of this population are like one more
        study's. A study of one's own is one of them.
    between : float
        How far rates may differ between studies: the scale of the half-normal prior of their
        standard deviation on the logit scale. 0 takes all studies as one.

    Returns
    -------
    Estimate
        Rows per class.

    Examples
    --------
    The paper's Peculiar Example, where inverting the rates gives −75 webshops of 100:

    >>> est = correct_counts([[4, 1], [2, 3]], [10, 90], classes=["webshop", "other"],
    ...                      design="shifted", seed=1)
    >>> bool((est.draws >= 0).all())
    True
    """
    sample_of = str(sample_of) if sample_of == float("inf") else sample_of
    asked = _asked("correct_counts", locals())
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    if studies is not None:
        known, classes, design, seed = _pooled(
            test, P, studies, between, classes, predicted_classes, design, seed
        )
        asked |= {"design": design, "classes": classes, "overlap": None, "seed": seed}
        extra = {"prior": "studies", "studies": known.pop("found")}
    elif test is None and P is None:
        raise OptionError(
            "`test` may be None only if the error rates come from elsewhere; got neither `studies` "
            "nor `P`.",
            hint="give the test counts, rows true and columns predicted.",
        )
    counts = make_counts(
        test, predicted_counts, predicted_sums, predicted_squares, test_sums, test_squares,
        classes=classes, predicted_classes=predicted_classes,
    )  # fmt: skip
    _refuse_empty_rows(counts, classes, design, method)
    options = {name: asked[name] for name in OPTIONS} | known
    notes = _transposed(counts, design)
    return _run(_Job(counts, local_frame, notes, None, asked, options, None, extra), progress)


def _pooled(
    test: object,
    P: object,
    studies: object,
    between: float,
    classes: Sequence[Hashable] | None,
    predicted_classes: Sequence[Hashable] | None,
    design: str,
    seed: int | None,
) -> tuple[dict[str, Any], list[Hashable], str, int]:
    """Return the options that studies stand for, the classes, the design and the seed."""
    for name, given in (("test", test), ("P", P), ("predicted_classes", predicted_classes)):
        if given is not None:
            raise OptionError(
                f"`studies` takes the place of `{name}`; got both.",
                hint="a test set of your own is one of the studies: give it there, with test=None.",
            )
    check_options(design=design, method="auto", draws=None, interval=0.95, seed=seed)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    rng = np.random.default_rng([seed, 4])
    drawn, labels, found = draw_from_studies(studies, classes, between, STUDY_DRAWS, rng)
    # known cases were chosen as such; a design of one's own test set does not exist
    design = "by_class" if design == "random" else design
    known = {"P": drawn, "design": design, "overlap": False, "seed": seed, "found": found}
    return known, labels, design, seed


def _transposed(counts: Counts, design: str) -> list[str]:
    """Say so when the sums that the design fixes seem to be on the other side of `test`."""
    rows, columns = counts.n.sum(axis=1), counts.n.sum(axis=0)
    fixed = {"by_prediction": (rows, columns), "by_class": (columns, rows)}.get(str(design))
    if fixed is None or not _planned(fixed[0]) or _planned(fixed[1]):
        return []
    side, other = ("rows", "columns") if design == "by_prediction" else ("columns", "rows")
    return [
        f"With design {design!r} the {other} of `test` have the numbers that were planned, but "
        f"here it is the {side} that sum to {fixed[0].tolist()}: is the matrix transposed? Rows "
        "must be true classes and columns predicted ones; error matrices of maps often have it "
        "the other way round."
    ]


def _planned(sums: Any) -> bool:
    """Whether these look like numbers that somebody planned: all equal, or all tens."""
    return bool((sums >= 5).all() and ((sums == sums[0]).all() or (sums % 10 == 0).all()))


def _refuse_empty_rows(counts: Counts, named: object, design: str, method: str) -> None:
    """Ask about a class that no test unit has and that nobody named, where the prior decides it."""
    if named is not None or design not in ("by_class", "shifted") or method == "naive":
        return
    for g in np.flatnonzero(counts.n.sum(axis=1) == 0):
        h = min(int(g), counts.L - 1)
        if counts.predicted[h] == counts.classes[g] and counts.n[:, h].any():
            raise ClassError(
                f"No test unit is truly of class {counts.classes[g]!r}, row {g + 1} of `test`, "
                f"though {counts.n[:, h].sum():,} were predicted so: with design {design!r} the "
                "prior alone would say how many there are.",
                hint="if that is a label and no class, leave out its row: `test` may have fewer "
                "rows than columns. If units can truly be of it, name all classes with `classes`.",
            )


def _asked(function: str, given: dict[str, Any]) -> dict[str, Any]:
    """What was asked, to reproduce it: files by path, other tables by their kind."""
    tables = {}
    for name in ("predictions", "test_set"):
        if name in given:
            x = given[name]
            kind = f"{type(x).__module__.split('.')[0]}.{type(x).__name__}"
            tables[name] = str(x) if isinstance(x, str | PathLike) else f"<{kind}>"
    options = {name: x for name, x in given.items() if name not in ("progress", "executor")}
    return {"function": function} | options | tables


@dataclass(frozen=True, eq=False)
class _Job:
    """What an estimate is made of. Plain data rather than a closure, so that it can be pickled."""

    counts: Counts
    native: Callable[[dict[str, list[Any]]], Any]
    notes: Sequence[str]
    parts: tuple[GroupCounts, str, bool | None] | None
    asked: dict[str, Any]
    options: dict[str, Any]
    units: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # for `info`

    def __call__(
        self,
        *,
        progress: Callable[[float], None] | None = None,
        executor: Executor | None = None,
        **changes: Any,
    ) -> Estimate:
        options = self.options | changes
        counts = self.counts
        started = time.process_time()
        make = partial(
            make_settings, counts.K, L=counts.L, classes=counts.classes, progress=progress,
            executor=executor,
        )  # fmt: skip
        settings = make(**options)
        result = self._answer(settings)
        if options["draws"] is None:
            parts = max(counts.L, 1 if result.groups is None else len(result.groups.labels))
            more = more_draws(result._figures, result.info, counts.totals, counts.K * parts)
            seconds = (time.process_time() - started) * more / settings.draws
            if more and seconds < settings.seconds:
                result = self._answer(make(**options | {"draws": more, "seed": settings.seed}))
        asked = self.asked | changes
        larger, weight = asked.get("sample_of"), asked.get("weight")
        if larger is not None or weight is not None:
            from trueup.estimate.methods import of_larger

            size = None if larger is None else _larger(larger)
            result = of_larger(result, size, settings.seed)
        given = self.asked["classes"]
        notes = [*self.notes, *_alphabetical(options["prior"], given, self.counts.classes)]
        result.info["warnings"][:0] = notes
        result.info.update(self.extra)
        again = replace(
            self, asked=self.asked | changes, options={**options, "seed": settings.seed}
        )
        return replace(result, asked=again.asked, _again=again)

    def _answer(self, settings: Settings) -> Estimate:
        if self.units is not None:
            from trueup.estimate.methods import estimate_units

            return estimate_units(self.counts, self.units, settings, self.native)
        if self.parts is None:
            from trueup.estimate.methods import estimate

            return estimate(self.counts, settings, self.native)
        if self.asked.get("period") is not None:
            from trueup.estimate.periods.estimate import estimate_periods

            return estimate_periods(self.parts[0], settings, self.native, self.asked["panel"])
        from trueup.estimate.grouped import estimate_parts

        found, pooling, keep = self.parts
        return estimate_parts(found, settings, self.native, pooling=pooling, keep=keep)


def _larger(given: object) -> float:
    try:
        size = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        size = 0.5
    if not size >= 1 or (size != float("inf") and size != int(size)):
        raise OptionError(f"`sample_of` must be a whole number of units, or inf; got {given!r}.")
    return size


def _alphabetical(prior: object, given: object, classes: Sequence[Hashable]) -> list[str]:
    """Warn of a prior for ordered classes whose order is no more than the alphabet's."""
    text = len(classes) > 2 and all(isinstance(label, str) for label in classes)
    sure = given is not None or getattr(prior, "name", "") != "ordered" or not text
    if sure or list(classes) != sorted(classes, key=str):
        return []
    return [
        f"Prior 'ordered' takes the classes in alphabetical order, {list(classes)}. If that is "
        "not their order, the answer is wrong: list them in order with classes=[...] (--classes)."
    ]


def _run(
    job: _Job, progress: Callable[[float], None] | None, executor: Executor | None = None
) -> Estimate:
    result = job(progress=progress, executor=executor)
    for text in result.info["warnings"]:
        warnings.warn(text, TrueupWarning, stacklevel=3)
    return result
