"""`correct`: from two tables to an estimate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal

from numpy.typing import ArrayLike

from trueup.count.names import Columns
from trueup.draws.settings import (
    DRAWS,
    FROM_POPULATION,
    POOLINGS,
    SECONDS,
    check_options,
    one_of,
)
from trueup.estimate.job import OPTIONS, Job, asked_of, run
from trueup.estimate.options import (
    inverse_weights,
    refuse_list_with_period,
    refuse_together,
    refuse_with_period,
    refuse_with_probability,
)
from trueup.estimate.result import Estimate
from trueup.prior import Regression


def correct(
    predictions: Any,
    test_set: Any,
    *,
    predicted: str | Sequence[str] = "predicted",
    true: str = "true",
    value: str | None = None,
    score: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    period: str | None = None,
    panel: float | None = 0.0,
    drift: float | None = 0.0,
    strata: str | Sequence[str] | None = None,
    drawn_within: str | Sequence[str] | None = None,
    pooling: Literal["partial", "none", "complete"] = "partial",
    id: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    missing: Literal["refuse", "leave_out"] = "refuse",
    design: str | None = None,
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
    executor: Any = None,
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
        The class columns: `predicted` in both tables, `true` in the test set. Several predicted
        columns are several classifiers: the first is the prediction that is corrected, and what
        the others say tells where it errs. For the designs "random" and "by_prediction".
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
    drift : float
        With `period`: how far a recall, the share of a class that is predicted right, may move in
        one period, as a standard deviation (0.005 is half a point). Intervals then grow with the
        time since the audit. By default error rates move only if audits show it.
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
        How the test set was drawn: at random from the population (the default), within predicted
        classes, within true classes, or from another period or population. A work list of `draw`
        contains its design, and columns that it was drawn within.
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
        (by size, say). Where they are known of every unit, error rates are learned in bands of
        them: if they rise with `value`, if `predictions` has the column too and units are
        counted, or with a work list that `draw` drew by size. ``info["weighted_difference"]`` is a
        check. Elsewhere the method is "difference", weighted (Hájek), with Student's interval of
        as many units as the weights are worth.
    cluster : str, optional
        Column of the test set: which units were drawn together (documents of one author, pixels of
        one block). The test set then counts as fewer units: those of each predicted class divided
        by its design effect. That of the whole is in ``info["design_effect"]``; with `probability`
        it is how many times the clusters make the variance, added up over classes.
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
    executor : concurrent.futures.Executor or a session of Spark, optional
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
    asked = asked_of("correct", locals())
    named, design = design, "random" if design is None else design
    asked |= {"design": design, "panel": panel or 0.0, "drift": drift or 0.0}
    from trueup.audit.work_list import absent_units, by_score, read_design
    from trueup.count.gather import gather_groups
    from trueup.count.made_columns import bin_tables, weigh
    from trueup.count.scores import refuse_with_score
    from trueup.read import open_table, open_units
    from trueup.read.formats.written import check_text, written

    check_options(
        design=design, method=method, draws=draws, interval=interval, seed=seed, seconds=seconds
    )
    one_of("pooling", pooling, POOLINGS)
    refuse_with_period(asked)
    by = by if period is None else period
    columns = Columns(predicted, true, value, id, by, strata, drawn_within, score)  # type: ignore[arg-type]
    asked["predicted"] = (
        [columns.predicted, *columns.others] if columns.others else columns.predicted
    )
    refuse_together(asked, columns)
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
    check_text(text, population, audited)
    notes: list[str] = []
    stratum = chances = size = None  # the audit's strata, probabilities, and what decided them
    classical = method in ("difference", "test_set")
    if drawn := read_design(population, audited, columns, named):
        how, size = drawn[0], drawn[0].size
        if how.stratified:
            refuse_list_with_period(period, audited.name, how.words)
        notes += absent_units(how, audited, columns.true)
        design = "by_prediction" if how.by_prediction or size else "random"
        columns = replace(columns, id=columns.id or how.id, phase=how.begin)
        if size and method != "naive":
            chances = drawn[1]
            if size != value or method not in ("auto", "joint"):
                probability = probability or chances
        elif classical and (how.score or (how.within and how.by_prediction)):  # strata are of both
            probability, stratum = probability or drawn[1], drawn[2]
            columns = replace(columns, drawn_within=())
        elif how.score and method != "naive":
            columns, classes = by_score(how, columns, classes)
            asked["score"] = columns.score
            refuse_with_score(asked | {"design": design})
        else:
            columns = replace(columns, drawn_within=how.within)
        asked |= {"design": design, "id": columns.id, "probability": probability}
        asked |= {"drawn_within": columns.drawn_within or None}
        asked |= {"drawn_by_size": size} if size else {}
        asked |= {"drawn": how.words} if how.stratified else {}
    # error rates differ by what the other classifiers say: cells like those of audit strata
    columns = replace(columns, drawn_within=(*columns.drawn_within, *columns.others))
    if probability is not None:
        refuse_with_probability(method, design, asked)
        chances = probability
        size = size or (probability if probability in population.kinds() else None)
    # units are counted in bands of what decided their probabilities
    counted = chances and size and not (classical or value or weight or count)
    extra: dict[str, Any] = {}
    if weight is not None:
        population, audited, columns, weights = weigh(population, audited, columns, weight)
        extra = {"effective_size": weights.effective}
        notes += inverse_weights(weight, weights, asked)
    if isinstance(prior, Regression):
        population, audited, prior = bin_tables(population, audited, prior, id, missing)
        columns = replace(columns, strata=(prior.bin_name,))
    # in cells, or to see whether values differ between the predictions of a class
    banded = direct or method in ("auto", "full", "constrained", "bayes", "inverse")
    found = gather_groups(
        population,
        audited,
        replace(columns, value=size) if counted else columns,
        overlap=design != "shifted" if overlap is None else overlap,
        classes=classes,
        missing=missing,
        progress=progress,
        bands=(banded or bool(columns.drawn_within or columns.score))
        and count is None
        and (not period or bool(columns.score)),
        design=design,
        periods=period is not None,
    )
    if counted:
        found = replace(found, whole=found.whole.counted())
    if columns.strata and pooling != "complete":  # strata have rates of their own
        found = replace(found, whole=replace(found.whole, within=found.strata.counts))
    if columns.score:
        from trueup.estimate.doubts.rates import score_warning

        found.warnings.extend(score_warning(found.whole))
    if design == "random" and columns.parts and period is None and not columns.drawn_within:
        from trueup.estimate.doubts.design import DOUBTFUL, design_doubts

        inside = design != "shifted" if overlap is None else overlap
        doubts = design_doubts(found.whole, inside, found.named())
        found.warnings.extend(
            doubt.words for doubt in doubts if doubt.part and doubt.p_value < DOUBTFUL
        )
    options = {name: asked[name] for name in OPTIONS} | {"prior": prior}
    parts = (found, pooling, keep_draws) if columns.parts else None
    units = None
    if cluster is not None or (chances is not None and parts is None):
        from trueup.audit.units import by_value, read_units, without_weights

        labels = found.whole.squared().classes
        units = read_units(population, audited, columns, labels, chances, cluster, stratum)
        units = without_weights(units) if method == "auto" and stratum is None else units
        if units.pi is not None:
            if not (counted or size == value or by_value(units)):
                found = replace(found, whole=replace(found.whole, bands=None))
            asked |= {"drawn_by_size": chances} if found.whole.bands is not None else {}
    notes = [*found.warnings, *notes]
    job = Job(found.whole, population.native, notes, parts, asked, options, units, extra)
    return run(job, progress, executor)
