"""From the tables' counts per period to an estimate with a row for every period."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from trueup.count.counts import Counts
from trueup.count.parts import GroupCounts
from trueup.draws.settings import Settings
from trueup.errors import DataError, OptionError
from trueup.estimate.answer import Answer, GroupFigures, figures_of_groups
from trueup.estimate.doubts import Evidence
from trueup.estimate.doubts.cautions import TOTAL_FROM_ZERO
from trueup.estimate.doubts.design import DOUBTFUL, design_doubts
from trueup.estimate.doubts.rates import rates_differ
from trueup.estimate.doubts.unaudited import MOST_NAMED
from trueup.estimate.doubts.values import far_smaller
from trueup.estimate.methods import finish
from trueup.estimate.periods.draw import Assumed, draw_periods
from trueup.estimate.periods.labels import when
from trueup.estimate.periods.scored import learn_scores
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats, Integers
from trueup.text import listed, p_text, spelt

MOST_PERIODS = 2_000
"""Days of five years; a series of more would take minutes."""
LIKELY = 0.05
"""Audits that differ with a smaller p-value: that is said, and wrong predictions of a class are
shared out in each period as in its own audits, not as in all."""
SEEN, MUCH = 2.8, 0.2
"""Standard errors of a change that is seen four times in five, and a change for which intervals do
not allow unless it is seen: where a recall fell by 20 points between two audits of 100, 67% of
intervals of growth covered (30 series)."""


def estimate_periods(
    found: GroupCounts,
    settings: Settings,
    panel: float = 0.0,
    drift: float = 0.0,
) -> Estimate:
    """Estimate every period, in the order of time, and the whole as their sum."""
    groups = found.groups
    _check(settings, panel, drift)
    if len(groups.labels) > MOST_PERIODS:
        raise OptionError(
            f"A series has up to {MOST_PERIODS:,} periods; {groups.columns[0]!r} has "
            f"{len(groups.labels):,}.",
            hint="is it the right column? Join periods, or take them as groups (`by`).",
        )
    counts, at, order = in_order(found, settings, drift)
    labels = [groups.labels[t] for t in order]
    audits = np.flatnonzero(counts.n.any(axis=(1, 2)))
    evidence = audits_differ(counts, settings.design)
    differ = evidence is not None and evidence.p_value < LIKELY
    scored, of_scores = learn_scores(found, order, settings) or (None, {})
    series = draw_periods(counts, at, settings, Assumed(panel, drift, differ), scored)
    draws = series.u
    named = [labels[t][0] for t in audits]
    told = design_of_audits(counts, audits, named, settings)
    seen = recalls_seen(counts.n[audits], at[audits]) if len(audits) > 1 else None
    told += _assumed(counts, named, settings, drift, evidence if differ else None, seen)
    told += [_unlike(labels[t][0]) for t in series.unlike]
    told += [_pulled(labels[t][0]) for t in series.pulled]
    others = np.setdiff1d(np.arange(len(at)), audits)
    if series.above is not None and len(others):
        named_others = [labels[t][0] for t in others]
        told += _from_zero(series.above[others], named_others, counts.classes)
    numbers = figures_of_groups(draws, counts.naive, settings.interval, counts.totals)
    told += of_scores.pop("warnings", [])
    info = of_scores | {
        "method": "joint" if settings.from_population else "full",
        "ess": series.ess,
        "groups": len(labels),
        "draws_kept": True,
        "period": groups.columns[0],
        "audited_periods": named if groups.placed else [],
        "panel": panel,
        "step": series.step,
        "drift": series.drift,
        "audits_agree": None if evidence is None else evidence.p_value,
        "warnings": told,
    }
    answer = Answer(draws.sum(axis=1), series.P, M=series.M, info=info)
    result = finish(answer, found.whole, settings, periods=True)
    units = series.units if counts.totals else None
    made = GroupFigures(groups.columns, labels, numbers, draws, units)
    return replace(result, groups=made)


def audits_differ(counts: Counts, design: str) -> Evidence | None:
    """Test that all audits show the same error rates."""
    v_hat = counts.v_hat if design == "by_prediction" else None
    return rates_differ(counts.n, counts.classes, "periods", v_hat)


def in_order(
    found: GroupCounts, settings: Settings, drift: float = 0.0
) -> tuple[Counts, Floats, Integers]:
    """Return the counts of the periods in order, when these are, and the places of their labels."""
    groups, whole = found.groups, found.whole
    at = when([label[0] for label in groups.labels])
    order = np.argsort(at)
    counts = groups.counts.part(order)
    if not groups.placed:
        if settings.design != "shifted":
            raise DataError(
                f"The test set must have the column {groups.columns[0]!r}, or an `id` that leads "
                f"to it: with design {settings.design!r} it shows the base rates of its period.",
                hint="if the test set is from none of these periods, use design='shifted'.",
            )
        if drift:
            raise OptionError(
                f"`drift` needs to know when units were audited; the test set has no column "
                f"{groups.columns[0]!r}.",
                hint="leave `drift` out, or add that column to the test set.",
            )
        n = np.zeros_like(counts.n)
        n[0] = whole.n  # when it was drawn does not matter: it has error rates only
        counts = replace(counts, n=n)
    if not counts.n.any():
        raise DataError("At least one period must have audited units; none has.")
    return counts, at[order], order


def _check(settings: Settings, panel: float, drift: float) -> None:
    wrong = {
        f"method {settings.asked!r}": settings.asked not in ("auto", "joint", "full"),
        "noise=False": not settings.noise,
        "`P`": settings.P is not None,
    }
    if got := [name for name, given in wrong.items() if given]:
        raise OptionError(
            "`period` has a method of its own, with `noise` and without a known P; got "
            f"{listed(got)}.",
            hint="leave that out; or use `by` instead of `period`.",
        )
    if settings.prior.tilt is not None:
        raise OptionError(
            f"`period` needs a Dirichlet prior; got {settings.prior.name!r}.",
            hint='use "perks", "jeffreys", "uniform" or Dirichlet(alpha, gamma).',
        )
    if not 0 <= panel < 1:
        raise OptionError(
            f"`panel` must be a share of units, from 0 to below 1; got {panel!r}.",
            hint="give the share of a period's units that are also in the next one.",
        )
    check_drift(drift)


def check_drift(drift: float) -> None:
    """Refuse a drift that cannot be."""
    if not 0 <= drift <= 0.2:
        raise OptionError(
            f"`drift` must be how far a recall may move in one period, from 0 to 0.2; got "
            f"{drift!r}.",
            hint="0.005 is half a percentage point, as a standard deviation.",
        )


def design_of_audits(
    counts: Counts, audits: Integers, named: Sequence[Hashable], settings: Settings
) -> list[str]:
    """Say when audited units do not look like those of their period."""
    found = []
    for t, label in zip(audits, named, strict=True):
        if settings.from_population and (told := far_smaller(counts.part(t))):
            found.append(f"In period {label!r}: {told}")
        if settings.design != "random":
            continue
        doubts = design_doubts(counts.part(t), settings.overlap)
        certain = [x for x in doubts if x.p_value * len(audits) < DOUBTFUL]
        found += [f"In period {spelt(label)}: {doubt.words}" for doubt in certain]
    return found


def recalls_seen(n: Integers, at: Floats) -> tuple[Floats, Floats]:
    """How far each recall (K,) must move from the first audit to the last, evenly, to be seen.

    Also how far down: it can fall to 0 at most. By the standard error of its slope; n (A, K, K) are
    the audits, and `at` (A,) their times.
    """
    units = np.maximum(n.sum(axis=2), 1)
    total = units.sum(axis=0)
    p = (n.sum(axis=0).diagonal() + 1) / (n.sum(axis=(0, 2)) + 2)
    away = (at[:, None] - (units * at[:, None]).sum(axis=0) / total) / (at[-1] - at[0])
    seen = SEEN * np.sqrt(p * (1 - p) / (units * away**2).sum(axis=0))
    return seen, np.minimum(seen, p)


def _assumed(
    counts: Counts,
    named: Sequence[Hashable],
    settings: Settings,
    drift: float,
    evidence: Evidence | None,
    seen: tuple[Floats, Floats] | None,
) -> list[str]:
    """Name what has to hold where little shows it, or what the audits say against it."""
    of = listed([*map(str, named)])
    if evidence is not None:
        return [
            f"Error rates seem to have drifted between the audits of {of} "
            f"({p_text(evidence.p_value)}): {evidence.words}. Between audits they are "
            "interpolated; the intervals of later periods grow with the time since the last audit."
        ]
    if drift:
        return []
    if seen is not None:
        g = int(seen[0].argmax())
        if seen[0][g] <= MUCH:
            return []
        units, points = int(counts.n[:, g].sum()), 100 * seen[1][g]
        return [
            f"The audits of {of} do not differ by more than chance, and intervals allow for a "
            f"small drift only. With {units:,} test units of class {counts.classes[g]!r}, even a "
            f"recall that falls by {points:.0f} points may not be seen, and growth may then be "
            "wrong. Audit more units of that class."
        ]
    where = f"only period {spelt(named[0])} was audited"
    if settings.design == "shifted":
        where = "the test set is from elsewhere"
    return [
        f"Error rates are assumed to be the same in all periods: {where}, so that nothing "
        "shows whether they drift. Audit another period to find out, or say how far a recall may "
        "move in one period (`drift`)."
    ]


def _from_zero(above: Floats, named: Sequence[Hashable], classes: Sequence[Hashable]) -> list[str]:
    """Say where a class may be absent: base rates that walk in log odds are never 0."""
    found = []
    for g, label in enumerate(classes):
        weak = [str(x) for x, z in zip(named, above[:, g], strict=True) if z < TOTAL_FROM_ZERO]
        if not weak:
            continue
        more = len(weak) - MOST_NAMED
        shown = [*weak[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
        found.append(
            f"The audited error rates cannot tell the share of class {label!r} from zero in "
            f"{listed(shown)}: if the class hardly occurs there, its interval lies too high. Audit "
            "one of these periods."
        )
    return found


def _unlike(label: Hashable) -> str:
    return (
        f"The predictions of period {spelt(label)} do not fit the audited error rates, whatever "
        "its base rates: the rates must have changed. Audit that period."
    )


def _pulled(label: Hashable) -> str:
    return (
        f"The predictions of period {spelt(label)} are unlike what the periods around it suggest, "
        "and its figures are drawn towards theirs: the change there may be larger than its "
        "interval says. Audit that period, or correct its table alone with design 'shifted'."
    )
