"""What a careful statistician would ask before any estimate: `trueup check`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueup.count.counts import Counts
from trueup.count.names import Columns, check_given
from trueup.count.parts import GroupCounts
from trueup.draws.settings import make_settings
from trueup.errors import TrueupError
from trueup.estimate.doubts.design import by_stratum
from trueup.estimate.doubts.pays import correction_warning
from trueup.estimate.from_units import estimate_units
from trueup.estimate.methods import estimate
from trueup.estimate.options import (
    refuse_drawn_within,
    refuse_list_with_period,
    refuse_with_period,
)
from trueup.estimate.result import Estimate
from trueup.prior import Regression
from trueup.study import findings as ask
from trueup.study.check_periods import check_periods
from trueup.study.findings import Finding
from trueup.study.sensitivity import MUCH, sensitivity

LARGEST = 10


@dataclass(frozen=True)
class Check:
    """All findings; `print` it, or see ``rows()``."""

    findings: tuple[Finding, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per finding: question, value, doubt, words."""
        return [dict(vars(finding)) for finding in self.findings]

    @property
    def doubts(self) -> list[str]:
        """The findings that need attention, in words."""
        return [finding.words for finding in self.findings if finding.doubt]

    def __str__(self) -> str:
        lines = [f"{'!' if f.doubt else ' '} {f.question}: {f.words}" for f in self.findings]
        doubts = len(self.doubts)
        verdict = "Nothing here gives reason to doubt."
        if doubts:
            verdict = f"{doubts} finding{'' if doubts == 1 else 's'} to look at, marked with !."
        return "\n".join([*lines, "", verdict])


def check(
    predictions: Any,
    test_set: Any,
    *,
    predicted: str | Sequence[str] = "predicted",
    true: str = "true",
    value: str | None = None,
    score: str | Sequence[str] | None = None,
    id: str | None = None,
    by: str | Sequence[str] | None = None,
    strata: str | Sequence[str] | None = None,
    period: str | None = None,
    drawn_within: str | Sequence[str] | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    missing: str = "refuse",
    design: str | None = None,
    prior: object = "perks",
    interval: float = 0.95,
    count: str | None = None,
    squares: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: str | Sequence[str] | None = None,
) -> Check:
    """Report what is wrong or doubtful in these tables, before any estimate; see `correct`.

    With `by` or `strata`, also report whether error rates differ between them, whether the audited
    units are spread over them like the population, and which have no audited unit. A test set drawn
    within columns (`drawn_within`) need only look like the population within each of their strata.
    With `period`, report whether audits agree, and which periods are unlike the audited ones.
    """
    check_given(locals(), classifiers=True)
    from trueup.audit.units import by_value, read_units
    from trueup.audit.work_list import absent_units, by_score, read_design
    from trueup.count.gather import gather_groups
    from trueup.count.scores import refuse_with_others, refuse_with_score
    from trueup.read import open_table, open_units
    from trueup.read.formats.written import check_text, written

    predictions, test_set = (
        written(table, decimal, encoding, text) for table in (predictions, test_set)
    )
    population = open_units(predictions, "predictions", count, squares, value)
    audited = open_table(test_set, "the test set")
    check_text(text, population, audited)
    columns = Columns(predicted, true, value, id, drawn_within=drawn_within, score=score)  # type: ignore[arg-type]
    asked: dict[str, Any] = {"count": count, "design": design or "random", "value": value}
    asked["drawn_within"] = columns.drawn_within
    asked["period"] = period
    refuse_with_period(asked | {"by": by, "strata": strata})
    if columns.others:
        refuse_with_others(asked, columns)
    elif columns.score:
        refuse_with_score(asked)
    parts = Columns(predicted, true, by=by, strata=strata, drawn_within=drawn_within)  # type: ignore[arg-type]
    absent: list[str] = []
    size = units = None
    if drawn := read_design(population, audited, columns, design):
        absent = absent_units(drawn[0], audited, columns.true)
        if drawn[0].stratified:
            refuse_list_with_period(period, audited.name, drawn[0].words)
        size = drawn[0].size
        design = "by_prediction" if drawn[0].by_prediction or size else "random"
        columns = replace(columns, id=columns.id or drawn[0].id, phase=drawn[0].begin)
        columns = replace(columns, drawn_within=drawn[0].within)
        if drawn[0].score:
            columns, classes = by_score(drawn[0], columns, classes)
    design = design or "random"
    refuse_drawn_within(columns, design, regression=isinstance(prior, Regression))
    inside = design != "shifted" if overlap is None else overlap
    how: dict[str, Any] = {"classes": classes, "missing": missing, "design": design}
    found: GroupCounts | None = None
    if period is not None:
        series = replace(columns, by=(period,))
        scored = bool(columns.score)
        found = gather_groups(population, audited, series, overlap=inside, bands=scored, **how)
        options: Any = {"design": design, "prior": prior, "interval": interval}
        return Check(tuple(check_periods(found, overlap=inside, **options)))
    within = bool(columns.drawn_within)
    if value is None:
        columns = replace(columns, drawn_within=(*columns.drawn_within, *columns.others))
    valued = replace(columns, value=value or size)  # units drawn by size are counted in its bands
    tables = gather_groups(population, audited, valued, overlap=inside, bands=count is None, **how)
    counts = tables.whole
    if drawn and size:
        counts = counts if value else counts.counted()
        units = read_units(population, audited, columns, counts.squared().classes, drawn[1])
        if value not in (None, size) and not by_value(units):
            counts = replace(counts, bands=None)
    if within and counts.bands is not None and counts.bands.strata > 1:
        counts = replace(counts, within=by_stratum(counts))
    if parts.parts:
        whole = replace(columns, value=None, score=(), others=(), drawn_within=())
        columns = replace(whole, by=parts.by, strata=parts.strata)
        found = gather_groups(population, audited, columns, overlap=inside, **how)
        if parts.strata:
            counts = replace(counts, within=found.strata.counts)
    largest = population.largest(value, LARGEST) if value and count is None else None
    agreement = []
    if columns.others:
        patterns = replace(columns, value=None, by=columns.others, strata=(), others=())
        by_others = gather_groups(population, audited, patterns, overlap=inside, **how)
        agreement = [ask.agreement(by_others)]
    how = {"design": design, "prior": prior, "overlap": inside, "interval": interval}
    made = check_counts(counts, **how, largest=largest, parts=found, units=units)
    told = [Finding("the work list", None, True, words) for words in absent]
    known = found.warnings if found else ()
    told += [Finding("the tables", None, True, x) for x in tables.warnings if x not in known]
    return Check((*told, *made.findings, *agreement))


def check_counts(
    counts: Counts,
    *,
    design: str,
    prior: object,
    overlap: bool,
    interval: float,
    largest: Sequence[float] | None = None,
    warnings: Sequence[str] | None = None,
    parts: GroupCounts | None = None,
    allowed: bool = False,
    units: Any = None,
) -> Check:
    """Check the bag of counts; `largest` are the population's largest values, if known.

    `warnings` are those of an estimate that is there already; without them it is made, and once
    more under another prior, which may take a while. `allowed` says that that estimate allows error
    rates to depend on the value. `units` are those of a test set drawn by size.
    """
    options: Any = {"design": design, "overlap": overlap, "interval": interval, "seed": 0}
    settings = make_settings(counts.K, L=counts.L, classes=counts.classes, prior=prior, **options)
    findings = [*ask.classes(counts), ask.prior_weight(counts, settings.prior)]
    if counts.L == counts.K:
        findings += [*ask.rates(counts), ask.theta(counts, settings.prior)]
    if design == "random":  # groups need not look random where strata were audited differently
        stratified = counts.within is not None and not (parts and parts.strata.columns)
        findings += ask.design(counts, overlap, None if stratified else parts)
    if parts is not None:
        findings += ask.parts(parts, design, counts)
    findings += ask.score(counts)
    if counts.totals:
        findings += [*ask.values(counts, settings, allowed), *ask.concentration(counts, largest)]
    if warnings is None:
        more, warnings = _influence(counts, prior, options, units)
        findings += more
    return Check((*findings, *ask.warned(warnings, findings)))


def _influence(
    counts: Counts, prior: object, options: dict[str, Any], units: Any
) -> tuple[list[Finding], list[str]]:
    """How far the estimate moves under other priors, whether it pays, and what it warns of."""

    def make(prior: object) -> Estimate:
        settings = make_settings(
            counts.K, L=counts.L, classes=counts.classes, prior=prior, **options
        )
        if units is None:
            est = estimate(counts, settings)
        else:
            est = estimate_units(counts, units, settings)
        return replace(est, asked={"prior": prior}, _again=make)

    question = "prior influence"
    try:
        est = make(prior)
    except TrueupError as error:
        return [Finding(question, None, False, str(error).split("\n")[0])], []
    try:
        most = sensitivity(est, quick=True).most
        move = abs(most["moves"])
        words = (
            f"under prior {most['prior']!r} the estimate of {most['class']!r} moves by {move:.0%} "
            "of its interval's half-width, the most of all classes"
        )
        influence = Finding(question, move, move > MUCH, words)
    except TrueupError as error:
        influence = Finding(question, None, False, str(error).split("\n")[0])
    unsure = est.info["unproven"]
    pays = "the corrected figures differ from the predicted ones by more than their error"
    if unsure:
        pays = correction_warning(int(counts.n.sum()), counts.N)
    pay = Finding("does correcting pay", not unsure, unsure, pays)
    return [influence, pay], est.info["warnings"]
