"""What a careful statistician would ask before any estimate: `trueup check`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.count.names import Columns
from trueup.count.parts import GroupCounts
from trueup.draws.contingency import plug_in, solve_Q
from trueup.draws.settings import FROM_POPULATION, Settings, make_settings
from trueup.draws.theorem1 import posterior
from trueup.errors import TrueupError
from trueup.estimate.assumptions import (
    Evidence,
    rates_differ,
    rates_follow_value,
    score_as_given,
    score_helps,
    values_differ,
)
from trueup.estimate.cautions import DIFFERENT, correction_warning, labels_to_pay
from trueup.estimate.cell_totals import in_cells
from trueup.estimate.design import DOUBTFUL, design_doubts
from trueup.estimate.methods import estimate
from trueup.estimate.result import Estimate
from trueup.study.sensitivity import MUCH, sensitivity

LARGEST = 10
MOST_NAMED = 5
WEAK = 0.1
ILL_CONDITIONED = 20.0
FEW_EFFECTIVE = 100.0
SAID = ("There is no test unit", "cannot be shown to beat no correction")
"""How warnings begin that findings here say in other words."""


@dataclass(frozen=True)
class Finding:
    """One question, its answer in a number, and whether there is reason to doubt."""

    question: str
    value: Any
    doubt: bool
    words: str


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
        verdict = (
            "Nothing here gives reason to doubt." if not doubts else f"{doubts} to look at (!)."
        )
        return "\n".join([*lines, "", verdict])


def check(
    predictions: Any,
    test_set: Any,
    *,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    score: str | Sequence[str] | None = None,
    id: str | None = None,
    by: str | Sequence[str] | None = None,
    strata: str | Sequence[str] | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    missing: str = "refuse",
    design: str = "random",
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
    units are spread over them like the population, and which have no audited unit.
    """
    from trueup.audit.work_list import read_design
    from trueup.count.gather import gather, gather_groups
    from trueup.count.scores import refuse_with_score
    from trueup.read import open_table, open_units
    from trueup.read.written import check_text, written

    predictions, test_set = (
        written(table, decimal, encoding, text) for table in (predictions, test_set)
    )
    population = open_units(predictions, "predictions", count, squares, value)
    audited = open_table(test_set, "the test set")
    check_text(text, population, audited)
    columns = Columns(predicted, true, value, id, score=score)  # type: ignore[arg-type]
    if columns.score:
        refuse_with_score({"count": count, "design": design, "value": value})
    parts = Columns(by=by, strata=strata)  # type: ignore[arg-type]
    if drawn := read_design(population, audited, columns, design):
        within = drawn[0].by_prediction or drawn[0].within or drawn[0].size
        design = "by_prediction" if within else "random"
        columns = replace(columns, id=columns.id or drawn[0].id)
    inside = design != "shifted" if overlap is None else overlap
    how: dict[str, Any] = {"classes": classes, "missing": missing, "design": design}
    counts = gather(population, audited, columns, overlap=inside, bands=count is None, **how)
    found = None
    if parts.parts:
        columns = replace(columns, value=None, score=(), by=parts.by, strata=parts.strata)
        found = gather_groups(population, audited, columns, overlap=inside, **how)
        if parts.strata:
            counts = replace(counts, within=found.strata.counts)
    largest = population.largest(value, LARGEST) if value and count is None else None
    how = {"design": design, "prior": prior, "overlap": inside, "interval": interval}
    return check_counts(counts, **how, largest=largest, parts=found)


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
) -> Check:
    """Check the bag of counts; `largest` are the population's largest values, if known.

    `warnings` are those of an estimate that is there already; without them it is made, and once
    more under another prior, which may take a while.
    """
    options: dict[str, Any] = {"design": design, "method": "auto", "noise": True, "draws": 4000}
    options |= {"overlap": overlap, "interval": interval, "seed": 0}
    settings = make_settings(counts.K, L=counts.L, classes=counts.classes, prior=prior, **options)
    findings = [*_classes(counts), _prior_weight(counts, settings.prior)]
    if counts.L == counts.K:
        findings += [*_rates(counts), _theta(counts, settings.prior)]
    if design == "random":
        findings += _design(counts, overlap, parts)
    if parts is not None:
        findings += _parts(parts, design)
    findings += _score(counts)
    if counts.totals:
        findings += [*_values(counts, settings), *_concentration(counts, largest)]
    if warnings is None:
        more, warnings = _influence(counts, prior, options)
        findings += more
    return Check((*findings, *_warned(warnings, findings)))


def _classes(counts: Counts) -> list[Finding]:
    audited, seen = counts.n.sum(axis=1), counts.n.sum(axis=0)
    per_class = dict(zip(map(str, counts.classes), audited.tolist(), strict=True))
    shown = ", ".join(f"{label} {units:,}" for label, units in list(per_class.items())[:20])
    words = f"{shown} (of {counts.n.sum():,}; population {counts.N:,})"
    found = [Finding("test units per true class", per_class, False, words)]
    for what, labels, none, why in (
        ("true", counts.classes, audited == 0, "their rates rest on the prior"),
        (
            "predicted",
            counts.predicted,
            (seen == 0) & (counts.v_hat > 0),
            "what their units truly are rests on the prior",
        ),
    ):
        never = [str(labels[g]) for g in np.flatnonzero(none)]
        words = f"{', '.join(never)}: {why}" if never else "none"
        found.append(Finding(f"{what} classes never audited", never, bool(never), words))
    return found


def _prior_weight(counts: Counts, prior: Any) -> Finding:
    if prior.tilt is not None:
        words = f"prior {prior.name!r} cannot be counted in units; see est.sensitivity()"
        return Finding("weight of the prior", None, False, words)
    every, test = prior.alpha.sum(axis=1), counts.n.sum(axis=1)
    g = int((test - every).argmin())
    words = (
        f"most in class {counts.classes[g]!r}: prior {prior.name!r} counts as {every[g]:g} "
        f"unit{'' if every[g] == 1 else 's'} beside {test[g]:,} test units"
    )
    return Finding("weight of the prior", every.tolist(), bool(every[g] > test[g]), words)


def _rates(counts: Counts) -> list[Finding]:
    if (counts.n.sum(axis=1) == 0).any():
        words = "cannot be estimated: a true class has no test unit"
        return [Finding("growth of errors", None, True, words)]
    P = plug_in(counts.n)
    det, condition = float(np.linalg.det(P)), float(np.linalg.cond(P))
    apart = f"{det:.3g}, where 1 is perfect and 0 is not at all (determinant of P̂)"
    found = [Finding("classes told apart", det, det <= 0, apart)]
    if not condition <= 1e12:
        words = "predictions do not tell some classes apart (P̂ is singular)"
        return [*found, Finding("growth of errors", None, True, words)]
    words = f"errors of the rates may be {condition:.3g} times as large in totals (condition of P̂)"
    return [*found, Finding("growth of errors", condition, condition > ILL_CONDITIONED, words)]


def _theta(counts: Counts, prior: Any) -> Finding:
    a = posterior(prior, counts.n).alpha
    beta = solve_Q(a / a.sum(axis=1, keepdims=True), counts.v_hat / counts.N)
    question = "test set and predicted counts"
    if not np.isfinite(beta).all():
        return Finding(question, None, True, "the rates do not tell some classes apart")
    worst = int(beta.argmin())
    if beta[worst] >= 0:
        return Finding(question, float(beta[worst]), False, "agree: every corrected share is ≥ 0")
    words = (
        f"disagree: the share of {counts.classes[worst]!r} would be {beta[worst]:.1%}. The test "
        "set is small for this class, or its error rates are not the population's"
    )
    return Finding(question, float(beta[worst]), True, words)


def _parts(found: GroupCounts, design: str) -> list[Finding]:
    """Whether groups and strata have error rates of their own, and which were never audited."""
    findings = [Finding("the tables", None, True, words) for words in found.warnings]
    for name, part in found.named().items():
        counts, question = part.counts, f"error rates differ by {name}"
        answer = "leave `pooling` at its default, which allows for it"
        if part is found.groups and design not in FROM_POPULATION:
            answer = f"with design {design!r} groups share one set of rates; give `strata`"
        kind = "groups" if part is found.groups else "strata"
        evidence = rates_differ(counts.n, counts.classes, kind)
        if evidence is None:
            words = f"cannot be seen: too few audited units, or all in one of the {kind}"
            findings.append(Finding(question, None, False, words))
        else:
            findings.append(_evidence(question, evidence, answer))
        share = counts.v_hat.sum(axis=1) / counts.v_hat.sum()
        never = np.flatnonzero(counts.n.sum(axis=(1, 2)) == 0)
        shares = {" / ".join(map(str, part.labels[b])): float(share[b]) for b in never}
        shown = ", ".join(f"{b} ({x:.1%})" for b, x in [*shares.items()][:MOST_NAMED])
        words = (
            f"{len(never):,} of {len(share):,}, with {share[never].sum():.1%} of the population: "
            f"{shown}{', …' if len(never) > MOST_NAMED else ''}. Their figures rest on the others"
        )
        words = words if shares else "none"
        findings.append(Finding(f"never audited in {name}", shares, bool(shares), words))
    return findings


def _evidence(question: str, evidence: Evidence, answer: str, bound: float = DOUBTFUL) -> Finding:
    p, seen = evidence.p_value, evidence.p_value < bound
    sign = "no sign of it" if p > WEAK else "no clear sign of it"
    words = f"{evidence.words} (p = {p:.2g}): {answer}" if seen else f"{sign} (p = {p:.2g})"
    return Finding(question, p, seen, words)


def _design(counts: Counts, overlap: bool, parts: GroupCounts | None) -> list[Finding]:
    doubts = design_doubts(counts, overlap, parts.named() if parts else None)
    if not doubts:
        return [Finding("design 'random'", None, False, "cannot be tested with these numbers")]
    found = []
    for doubt in doubts:
        what = "design 'random'" if doubt.what == "predicted classes" else f"random {doubt.what}"
        seen, p = doubt.p_value < DOUBTFUL, f"p = {doubt.p_value:.2g}"
        words = f"{p}: the test set's {doubt.what} look like the population's"
        found.append(Finding(what, doubt.p_value, seen, doubt.words if seen else words))
    return found


def _score(counts: Counts) -> list[Finding]:
    """Whether scores are higher where predictions are right, and how right they are as given."""
    helps, given = score_helps(counts), score_as_given(counts)
    found = []
    if helps is not None:
        p = helps.p_value
        turned = p < DOUBTFUL
        words = f"{helps.words} (p = {p:.2g}): is a high score a sure prediction?"
        told = f"higher scores are right more often (p = {1 - p:.2g})"
        weak = f"no clear sign that higher scores are right more often (p = {1 - p:.2g})"
        words = words if turned else told if 1 - p < WEAK else weak
        found.append(Finding("order of the scores", p, turned, words))
    if given is not None:
        p = given.p_value
        off = "scores are not to be believed as they are; the estimate believes only their order"
        words = f"{given.words} (p = {p:.2g})" + (f": {off}" if p < DOUBTFUL else "")
        found.append(Finding("scores as probabilities", p, False, words))
    return found


def _influence(
    counts: Counts, prior: object, options: dict[str, Any]
) -> tuple[list[Finding], list[str]]:
    """How far the estimate moves under other priors, whether it pays, and what it warns of."""

    def make(prior: object) -> Estimate:
        settings = make_settings(
            counts.K, L=counts.L, classes=counts.classes, prior=prior, **options
        )
        est = estimate(counts, settings, dict)
        return replace(est, asked={"prior": prior}, _again=make)

    try:
        est = make(prior)
        most = sensitivity(est, quick=True).most
    except TrueupError as error:
        return [Finding("prior influence", None, False, str(error).split("\n")[0])], []
    move = abs(most["moves"])
    words = (
        f"under prior {most['prior']!r} the estimate of {most['class']!r} moves by {move:.0%} of "
        "its interval's half-width, the most of all classes"
    )
    n = int(counts.n.sum())
    more = labels_to_pay(est._figures, options["interval"], n)
    pays = "the corrected figures differ from the predicted ones by more than their error"
    pays = pays if more is None else correction_warning(more, n, counts.N)
    found = [Finding("prior influence", move, move > MUCH, words)]
    found.append(Finding("does correcting pay", more, more is not None, pays))
    return found, est.info["warnings"]


def _warned(warnings: Sequence[str], findings: Sequence[Finding]) -> list[Finding]:
    """What `correct` would say of these data, unless a finding says so already."""
    known = [*(f.words.split(" (p = ")[0] for f in findings if f.doubt), *SAID]
    return [
        Finding("`correct` would warn", None, True, words)
        for words in warnings
        if not any(x in words for x in known)
    ]


def _values(counts: Counts, settings: Settings) -> list[Finding]:
    """Whether the audited values keep what methods assume of them, and what `correct` does."""
    within, follow = values_differ(counts), rates_follow_value(counts)
    if in_cells(counts, settings):
        allows = (
            "`correct` takes that into account with its default method; 'constrained' and "
            "'inverse' would not"
        )
        answers = (allows, allows)
    else:
        draw = "draw a test set from this population if you can, or give `strata` of similar size"
        cannot = f"with design {settings.design!r} `correct` cannot take that into account: {draw}"
        answers = (
            cannot,
            f"with design {settings.design!r} `correct` allows for classes whose units are larger, "
            f"but not for errors that depend on the value within a class: {draw}",
        )
    found = []
    if within is not None:
        found.append(_evidence("values differ by prediction", within, answers[0], DIFFERENT))
    if follow is not None:
        found.append(_evidence("true classes depend on the value", follow, answers[1]))
    return found


def _concentration(counts: Counts, largest: Sequence[float] | None) -> list[Finding]:
    assert counts.u_hat is not None
    T, found = float(counts.u_hat.sum()), []
    if counts.w_hat is not None and counts.w_hat.sum() > 0:
        size = T**2 / float(counts.w_hat.sum())
        words = f"the total is worth {size:,.0f} units of equal value, of {counts.N:,}"
        found.append(Finding("effective size T²/Σy²", size, size < FEW_EFFECTIVE, words))
    if largest and T > 0:
        share = sum(largest) / T
        words = f"{share:.1%} of the total is in the {len(largest)} largest units"
        words += "; audit those first" if share > 0.25 else ""
        found.append(Finding("largest units", share, share > 0.25, words))
    if counts.signed:
        words = "some values are negative: totals have no bound at 0"
        found.append(Finding("signed values", True, False, words))
    return found
