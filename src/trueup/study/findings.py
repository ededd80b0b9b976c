"""The questions of `check`: each a function from the counts to findings, with or without doubt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.count.parts import GroupCounts
from trueup.draws.contingency import plug_in, solve_Q
from trueup.draws.settings import FROM_POPULATION, Settings
from trueup.draws.theorem1 import posterior
from trueup.estimate.cell_totals import in_cells
from trueup.estimate.doubts import Evidence
from trueup.estimate.doubts.cautions import DIFFERENT
from trueup.estimate.doubts.design import DOUBTFUL, design_doubts
from trueup.estimate.doubts.rates import rates_differ, score_as_given, score_helps
from trueup.estimate.doubts.values import rates_follow_value, values_differ
from trueup.text import p_text

MOST_NAMED = 5
WEAK = 0.05
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


def classes(counts: Counts) -> list[Finding]:
    """How many units of each class were audited, and which classes never were."""
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


def prior_weight(counts: Counts, prior: Any) -> Finding:
    """How many units the prior counts as, beside the audited ones."""
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


def rates(counts: Counts) -> list[Finding]:
    """Whether predictions tell the classes apart, and how much errors grow in totals."""
    if (counts.n.sum(axis=1) == 0).any():
        words = "cannot be estimated: a true class has no test unit"
        return [Finding("growth of errors", None, True, words)]
    P = plug_in(counts.n)
    det, condition = float(np.linalg.det(P)), float(np.linalg.cond(P))
    apart, words = "how well the classifier tells classes apart", "1 is perfect, 0 is not at all"
    found = [Finding(apart, det, det <= 0, f"{det:.3g} ({words})")]
    if not condition <= 1e12:
        words = "predictions do not tell some classes apart (P̂ is singular)"
        return [*found, Finding("growth of errors", None, True, words)]
    words = f"an error in the rates may become up to {condition:.3g} times as large in the totals"
    return [*found, Finding("growth of errors", condition, condition > ILL_CONDITIONED, words)]


def theta(counts: Counts, prior: Any) -> Finding:
    """Whether the test set and the predicted counts fit together."""
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


def _leave_out(counts: Counts) -> str:
    """Say what cannot be combined with `strata`."""
    scored = counts.bands is not None and counts.bands.score is not None
    return ", without `score`" if scored else ""


def parts(found: GroupCounts, design: str, whole: Counts) -> list[Finding]:
    """Whether groups and strata have error rates of their own, and which were never audited.

    `whole` is in bands of the score if there is one.
    """
    findings = [Finding("the tables", None, True, words) for words in found.warnings]
    for name, part in found.named().items():
        counts, question = part.counts, f"error rates differ by {name}"
        answer = "leave `pooling` at its default, which allows for it"
        if part is found.groups and design not in FROM_POPULATION:
            answer = f"with design {design!r} groups share one set of rates; give `strata`"
            answer += _leave_out(whole)
        kind = "groups" if part is found.groups else "strata"
        v_hat = counts.v_hat if design == "by_prediction" else None
        evidence = rates_differ(counts.n, counts.classes, kind, v_hat)
        if evidence is None:
            words = f"cannot be seen: too few audited units, or all in one of the {kind}"
            findings.append(Finding(question, None, False, words))
        else:
            findings.append(evidence_of(question, evidence, answer))
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


def evidence_of(question: str, evidence: Evidence, answer: str, bound: float = DOUBTFUL) -> Finding:
    """Say how much a p-value shows; below `bound` with what to do about it."""
    p, seen = evidence.p_value, evidence.p_value < bound
    words = f"no sign of it ({p_text(p)})"
    if p < WEAK:
        words = f"some sign of it ({p_text(p)}; marked only below {bound:g})"
    if seen:
        words = f"{evidence.words} ({p_text(p)}): {answer}"
    return Finding(question, p, seen, words)


def design(counts: Counts, overlap: bool, parts: GroupCounts | None) -> list[Finding]:
    """Whether a test set called random looks like one."""
    doubts = design_doubts(counts, overlap, parts.named() if parts else None)
    if not doubts:
        return [Finding("design 'random'", None, False, "cannot be tested with these numbers")]
    found = []
    several = len(doubts) > 1 or counts.within is not None
    adjusted = ", adjusted for several tests" if several else ""
    for doubt in doubts:
        what = "design 'random'" if doubt.what == "predicted classes" else f"random {doubt.what}"
        seen, p = doubt.p_value < DOUBTFUL, p_text(doubt.p_value)
        words = f"{p}{adjusted}: the test set's {doubt.what} look like the population's"
        found.append(Finding(what, doubt.p_value, seen, doubt.words if seen else words))
    return found


def score(counts: Counts) -> list[Finding]:
    """Whether scores are higher where predictions are right, and how right they are as given."""
    helps, given = score_helps(counts), score_as_given(counts)
    found = []
    if helps is not None:
        p = helps.p_value
        turned = p < DOUBTFUL
        words = f"{helps.words} ({p_text(p)}): is a high score a sure prediction?"
        told = f"higher scores are right more often ({p_text(1 - p)})"
        weak = f"no clear sign that higher scores are right more often ({p_text(1 - p)})"
        words = words if turned else told if 1 - p < WEAK else weak
        found.append(Finding("order of the scores", p, turned, words))
    if given is not None:
        p = given.p_value
        off = "scores are not to be believed as they are; the estimate believes only their order"
        words = f"{given.words} ({p_text(p)})" + (f": {off}" if p < DOUBTFUL else "")
        found.append(Finding("scores as probabilities", p, False, words))
    return found


def agreement(found: GroupCounts) -> Finding:
    """How often further classifiers agree, and how often predictions are right where they do.

    Groups are what the others say.
    """
    labels, counts = found.groups.labels, found.groups.counts
    agree = np.array([[all(x == h for x in label) for h in counts.predicted] for label in labels])
    share = float(counts.v_hat[agree].sum() / counts.N)
    words = f"all agree on {share:.1%} of the units"
    for where, mine in (("there", agree), ("elsewhere", ~agree)):
        n = counts.n * mine[:, None]
        words += (
            f"; {where} {(n * counts.same).sum():,} of {n.sum():,} audited predictions are right"
        )
    return Finding("agreement of the classifiers", share, False, words)


def values(counts: Counts, settings: Settings, allowed: bool = False) -> list[Finding]:
    """Whether the audited values keep what methods assume of them, and what `correct` does.

    `allowed` is of an estimate that is there already, and that does not assume it.
    """
    within, follow = values_differ(counts), rates_follow_value(counts)
    if allowed:
        answers = ("this estimate takes that into account",) * 2
    elif in_cells(counts, settings):
        allows = (
            "`correct` takes that into account with its default method; 'constrained' and "
            "'inverse' would not"
        )
        answers = (allows, allows)
    else:
        draw = "draw a test set from this population if you can, or give `strata` of similar size"
        draw += _leave_out(counts)
        cannot = f"with design {settings.design!r} `correct` cannot take that into account: {draw}"
        answers = (
            cannot,
            f"with design {settings.design!r} `correct` allows for classes whose units are larger, "
            f"but not for errors that depend on the value within a class: {draw}",
        )
    found = []
    if within is not None:
        found.append(evidence_of("values differ by prediction", within, answers[0], DIFFERENT))
    if follow is not None:
        found.append(evidence_of("true classes depend on the value", follow, answers[1]))
    return [replace(finding, doubt=finding.doubt and not allowed) for finding in found]


def concentration(counts: Counts, largest: Sequence[float] | None) -> list[Finding]:
    """Whether a few units hold much of the total."""
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


def warned(warnings: Sequence[str], findings: Sequence[Finding]) -> list[Finding]:
    """What `correct` would say of these data, unless a finding says so already."""
    known = [*(f.words.split(" (p ")[0] for f in findings if f.doubt), *SAID]
    return [
        Finding("`correct` would warn", None, True, words)
        for words in warnings
        if not any(x in words for x in known)
    ]
