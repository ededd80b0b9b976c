"""What to ask of a series before it is published: `check` with `period`."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.count.parts import GroupCounts
from trueup.draws.settings import make_settings
from trueup.estimate.doubts.design import DOUBTFUL, design_doubts
from trueup.estimate.periods.estimate import LIKELY, audits_differ, estimate_periods, in_order
from trueup.numerics.arrays import Integers
from trueup.study import findings as ask
from trueup.study.findings import Finding
from trueup.text import p_text

DRAWS = 1000
LARGER = 1.1
"""Mean values that differ by this factor between periods matter to totals."""


def check_periods(
    found: GroupCounts, *, design: str, prior: object, overlap: bool, interval: float
) -> list[Finding]:
    """Ask what the audited periods show, whether they agree, and which periods are unlike them."""
    whole = found.whole
    options: Any = {"design": design, "overlap": overlap, "interval": interval, "seed": 0}
    settings = make_settings(
        whole.K, L=whole.L, classes=whole.classes, prior=prior, draws=DRAWS, **options
    )
    counts, _, order = in_order(found, settings)
    labels = [found.groups.labels[t][0] for t in order]
    audits = np.flatnonzero(counts.n.any(axis=(1, 2)))
    findings = [*ask.classes(whole), ask.prior_weight(whole, settings.prior)]
    if whole.L == whole.K:
        findings += ask.rates(whole)
    if found.groups.placed:
        findings.append(_audited(counts, audits, labels))
        if design == "random":
            findings.append(_design(counts, audits, overlap))
        findings.append(_agree(counts, design))
        findings.append(_predictions(counts, audits, labels))
    findings += ask.score(whole)
    if counts.totals:
        findings.append(_values(counts, labels))
        findings += ask.concentration(whole, None)
    told = estimate_periods(found, settings).info["warnings"]
    return [*findings, *ask.warned(told, findings)]


def _audited(counts: Counts, audits: Integers, labels: Sequence[Hashable]) -> Finding:
    units = {str(labels[t]): int(counts.n[t].sum()) for t in audits}
    shown = ", ".join(f"{label} {n:,}" for label, n in [*units.items()][:20])
    later = len(labels) - 1 - int(audits[-1])
    after = f"; {later} later period{'' if later == 1 else 's'} not audited" if later else ""
    return Finding("audited periods", units, False, f"{shown}{after}")


def _design(counts: Counts, audits: Integers, overlap: bool) -> Finding:
    """Whether audited units look like random ones of their period; what does not is warned of."""
    found = [doubt for t in audits for doubt in design_doubts(counts.part(t), overlap)]
    if not found:
        return Finding("design 'random'", None, False, "cannot be tested with these numbers")
    p = min(1.0, len(found) * min(doubt.p_value for doubt in found))
    words = f"audited units look like the predictions of their period ({p_text(p)})"
    if p < DOUBTFUL:
        words = f"audited units do not look like those of their period ({p_text(p)}): see below"
    return Finding("design 'random'", p, p < DOUBTFUL, words)


def _agree(counts: Counts, design: str) -> Finding:
    """Whether audits show the same error rates."""
    question = "error rates differ by period"
    evidence = audits_differ(counts, design)
    if evidence is None:
        words = "cannot be seen: audit units of two periods or more"
        return Finding(question, None, False, words)
    answer = "`correct` lets them drift; audit again soon"
    return ask.evidence_of(question, evidence, answer, LIKELY)


def _predictions(counts: Counts, audits: Integers, labels: Sequence[Hashable]) -> Finding:
    """Which period's predicted shares are farthest from those of the audited periods.

    Base rates may move, so that this is no reason to doubt. Predictions that no base rates explain
    are warned of.
    """
    share = counts.v_hat / np.maximum(counts.v_hat.sum(axis=1, keepdims=True), 1)
    before = counts.v_hat[audits].sum(axis=0) / counts.v_hat[audits].sum()
    t, h = divmod(int(np.abs(share - before).argmax()), share.shape[1])
    words = (
        f"farthest from the audited periods: {counts.predicted[h]!r} is predicted for "
        f"{share[t, h]:.1%} of the units in {labels[t]}, {before[h]:.1%} there"
    )
    return Finding("predictions by period", float(share[t, h] - before[h]), False, words)


def _values(counts: Counts, labels: Sequence[Hashable]) -> Finding:
    """Whether units of a predicted class have other values in some periods."""
    assert counts.u_hat is not None
    v, u = counts.v_hat, counts.u_hat
    mean = u.sum(axis=0) / np.maximum(v.sum(axis=0), 1)
    expected = v @ mean
    level = np.where(expected > 0, u.sum(axis=1) / np.where(expected > 0, expected, 1), 1.0)
    low, high = int(level.argmin()), int(level.argmax())
    words = (
        f"with the same predictions, the total would be {level[low]:.2f} times the mean of all "
        f"periods in {labels[low]} and {level[high]:.2f} times in {labels[high]}"
    )
    return Finding("values by period", level.tolist(), False, words)
