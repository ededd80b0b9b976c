"""Each method by name, from the bag of counts to an `Estimate`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trueup import __version__
from trueup.aggregate.allocation import Weighted, rest_aggregates
from trueup.audit.clusters import Clusters
from trueup.count.counts import Counts, split
from trueup.count.reliability import given_probabilities
from trueup.draws.base_rates import columns, draw_beta
from trueup.draws.contingency import solve_Q
from trueup.draws.rates import Rates, rates_of
from trueup.draws.settings import Settings
from trueup.errors import EstimateError
from trueup.estimate import classical
from trueup.estimate.answer import Answer, monte_carlo_errors, summarise
from trueup.estimate.cell_totals import MOST_CLASSES, cell_totals, in_cells, stratified
from trueup.estimate.condition import Drawn, condition
from trueup.estimate.doubts.cautions import alike_values, cautions
from trueup.estimate.doubts.pays import correction_warning, unproven
from trueup.estimate.doubts.values import far_means, hardly_seen
from trueup.estimate.inverse import inverse
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats
from trueup.text import quoted

Method = Callable[[Counts, Settings], Answer]
SHOWN = ("estimate", "sd", "lower", "upper")


def estimate(counts: Counts, settings: Settings) -> Estimate:
    """Run the chosen method; return figures, draws and how they were made."""
    return finish(METHODS[settings.method](counts, settings), counts, settings)


def finish(
    answer: Answer,
    counts: Counts,
    settings: Settings,
    periods: bool = False,
    clusters: Clusters | None = None,
) -> Estimate:
    """Summarise the answer of a method, and record how it was made.

    With `periods` the test set is of some of them: it need not look like the whole. Units of one
    of the `clusters` were drawn together.
    """
    figures = summarise(answer, counts.naive, settings.interval)
    for name, x in figures.items():
        if x is not None and not np.isfinite(x).all():
            raise EstimateError(
                f"The {name} of {settings.method!r} is not a finite number for these data.",
                hint='use method="auto", whose draws are always permissible.',
            )
    info: dict[str, Any] = {
        "method": settings.method,
        "design": settings.design,
        "prior": settings.prior.name,
        "seed": settings.seed,
        "draws": 0 if answer.draws is None else len(answer.draws),
        "interval": settings.interval,
        "noise": settings.noise,
        "overlap": settings.overlap,
        "signed": counts.signed,
        "acceptance": None,
        "ess": None,
        "rhat": None,
        "version": __version__,
    }
    warnings = cautions(counts, settings, periods, clusters)
    half = any(x.startswith(("Half of the total", "Fewer than")) for x in warnings)  # say the same
    told = answer.info.get("warnings", ())
    warnings += [x for x in told if not (half and "larger than nearly all" in x)]
    n = int(counts.n.sum())
    lower, upper = figures["lower"], figures["upper"]
    if alike_values(counts, settings) and lower is not None and upper is not None:
        told = hardly_seen(counts, lower, upper)
        warnings += [told] if told and not any("doubtful" in x for x in warnings) else []
    unsure = unproven(figures, settings.interval, n)
    if unsure:
        warnings.append(correction_warning(n, counts.N))
    info |= answer.info | {"warnings": warnings, "unproven": unsure}
    if answer.draws is not None:
        info["ess"] = float(info["ess"] or len(answer.draws))  # else independent
        info |= monte_carlo_errors(answer.draws, info)
    return Estimate(counts.classes, counts, answer.draws, answer.P, answer.M, info, figures)


def _naive(counts: Counts, settings: Settings) -> Answer:
    return Answer(estimate=counts.naive)


def _bayesian(counts: Counts, settings: Settings) -> Answer:
    """Draws of the rates, and what follows for the counts or totals.

    Without noise `bayes` and `constrained` are steps 2 and 3 of the paper. Otherwise draws are
    permissible and audited units are exact.
    """
    if in_cells(counts, settings):
        answer = cell_totals(counts, settings)
        full = {} if settings.method == "joint" else {"method": "full"}
        return _far(answer.telling([], **full), counts)
    if counts.bands is not None and counts.bands.strata > 1:
        raise EstimateError(
            "A test set drawn within columns (`drawn_within`), or with several `predicted` "
            "columns, needs method 'auto' with noise and a Dirichlet prior, or a classical method; "
            f"got {settings.method!r}, prior {settings.prior.name!r}, noise={settings.noise}.",
            hint="leave out those options, or these columns.",
        )
    if counts.bands is not None and counts.bands.score_bands > 1:
        raise EstimateError(
            "`score` needs method 'auto', a Dirichlet prior, rates that are not given, and for "
            f"this design at most {MOST_CLASSES} classes; got {settings.method!r}, prior "
            f"{settings.prior.name!r} and {counts.K} classes.",
            hint="leave out `score`, or those options.",
        )
    rest, known = split(counts, settings.overlap)
    told: dict[str, Any] = {}
    by_rows = settings.asked == "auto" and settings.method == "constrained"
    if by_rows and settings.P is None and (rest.v_hat == 0).any():
        # a predicted class was audited in full: what is left of Θ_K has no volume
        settings, told = replace(settings, method="full"), {"method": "full"}
    elif settings.method == "constrained" and settings.P is None and not by_rows:
        told = _audited_in_full(counts, rest)
    draw = rates_of(counts, rest, settings)
    paper = not settings.noise and settings.method in ("bayes", "constrained")

    def weighted(size: int) -> Drawn:
        rates = draw(size)
        beta = np.empty((size, 0))
        if paper:
            v = solve_Q(rates.P, counts.v_hat.astype(float))
            u = solve_Q(rates.P, counts.naive) if counts.totals else v
            found = Weighted(u, np.zeros(size), rates.P * v[:, :, None])
        else:
            beta, found = _rest(rates, rest, settings)
        log_weight = found.log_weight + rates.log_weight
        M = found.M if rest is counts or paper else found.M + counts.n
        warnings = [*rates.info.get("warnings", ()), *told.get("warnings", ())]
        info = rates.info | told | ({"warnings": warnings} if warnings else {})
        return Drawn(found.u, rates.P, beta, M, rates.log_weight, log_weight, info)

    answer = condition(weighted, 0.0 if paper else known, settings)
    return answer if paper else _far(answer, counts)


def _audited_in_full(counts: Counts, rest: Counts) -> dict[str, Any]:
    """Warn that the paper's method has no answer where a predicted class was audited in full."""
    full = [counts.predicted[h] for h in np.flatnonzero((rest.v_hat == 0) & (counts.v_hat > 0))]
    if not full or rest is counts:
        return {}
    return {
        "warnings": [
            f"Every unit predicted {quoted(full[:5])} was audited, so that no other unit has this "
            "prediction. Method 'constrained' cannot deal with that: its answer is wrong. Use "
            "method='auto' ('full')."
        ]
    }


def _far(answer: Answer, counts: Counts) -> Answer:
    """Add the warning about a class whose units are far larger than others."""
    if not counts.totals or answer.draws is None or answer.M is None:
        return answer
    return answer.telling(far_means(answer.draws, answer.M.sum(axis=2), counts))


def _rest(rates: Rates, rest: Counts, settings: Settings) -> tuple[Floats, Weighted]:
    """The units that were not audited, given the rates: their base rates, and u."""
    P, c = rates.P, rates.c
    log_weight = np.zeros(len(P))
    if rest.N == 0:
        nothing = Weighted(np.zeros(P.shape[:2]), log_weight, np.zeros(P.shape))
        return np.full(P.shape[:2], 1 / P.shape[1]), nothing
    if c is None:
        beta, log_weight = draw_beta(P, rest.v_hat, settings.rng)
        c = columns(P, beta)
    else:
        beta = c @ (rest.v_hat / rest.N)
    found = rest_aggregates(c, P, rest, settings)
    return beta, found._replace(log_weight=found.log_weight + log_weight)


def _classical(function: Callable[[Counts, Settings], Answer]) -> Method:
    """Make a method of a classical estimator, which compares a class's row with its own column."""

    def method(counts: Counts, settings: Settings) -> Answer:
        if counts.bands is not None and counts.bands.strata > 1:
            return stratified(counts, settings)
        answer = function(counts.squared(), settings)
        figures = {name: getattr(answer, name)[: counts.K] for name in SHOWN}
        assert figures["sd"] is not None
        told = classical.no_width(figures["sd"], counts.classes)
        return replace(answer, **figures).telling(told)

    return method


def _difference(counts: Counts, settings: Settings) -> Answer:
    """PPI++ on predicted classes, or on the scores of their cells where there are some."""
    cells = counts.bands
    if cells is None or cells.score is None:
        return _classical(classical.difference)(counts, settings)
    answer = classical.difference(cells, settings, scores=given_probabilities(counts))
    assert answer.sd is not None
    return answer.telling(classical.no_width(answer.sd, counts.classes), scored=True)


METHODS: dict[str, Method] = {
    "naive": _naive,
    "inverse": inverse,
    "bayes": _bayesian,
    "constrained": _bayesian,
    "joint": _bayesian,
    "full": _bayesian,
    "calibrated": _classical(classical.calibrated),
    "difference": _difference,
    "test_set": _classical(classical.test_set),
}
