"""What the labels to audit next are expected to bring: to the interval, or to groups."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from trueup.audit.advise import Advice, Known
from trueup.count.counts import Counts, split
from trueup.draws.settings import Settings
from trueup.estimate.methods import estimate
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.study.case import Case
from trueup.text import short, spelt

FEWER_DRAWS = 600
"""Draws of each of these outcomes within strata, of which half as many are simulated."""


class Lots(NamedTuple):
    """Where units are drawn from: predicted class, stratum and name of the band of each lot.

    `group` is the group of each lot, of those in `groups`, (B,) labels; None without `by`.
    """

    keys: list[tuple[Hashable, tuple[Hashable, ...], str | None]]
    group: Integers | None
    groups: list[tuple[Hashable, ...]]


def expected(
    case: Case, wanted: Sequence[int], advice: Advice, figures: Floats, lots: Lots
) -> list[str]:
    """Say what is expected of the standard deviation, by linear Bayes; of groups, of the worst."""
    notes = []
    for g, before, after, figure in zip(wanted, advice.before, advice.after, figures, strict=True):
        name = repr(case.classes[g])
        if not lots.groups:
            notes.append(
                f"They would bring the standard deviation of {name} from about "
                f"{short(float(before[0] ** 0.5))} to {short(float(after[0] ** 0.5))}, if the "
                "assumed rates hold."
            )
            continue
        cvs = np.sqrt(np.stack([before, after])) / np.maximum(figure, 1e-300)
        first, last = (f"{_spelt(lots, cv)}, with a CV of about {cv.max():.1%}" for cv in cvs)
        notes.append(
            f"For {name}, the least precise group is {first}. With these labels it will be {last}."
        )
    return notes


def _spelt(lots: Lots, cv: Floats) -> str:
    """Return the group with the largest coefficient of variation, as a sentence names it."""
    return " / ".join(map(spelt, lots.groups[int(cv.argmax())]))


def promise(
    case: Case,
    wanted: Sequence[int],
    advice: Advice,
    known: Known,
    futures: Floats,
    settings: Settings,
    goals: Sequence[float] | None,
) -> tuple[list[str], list[float]]:
    """Say how wide the intervals are today, and how wide they will be: labels are simulated.

    The median of the futures: in a few of them a label shows what the pilot could not, and the
    mean, which these decide, would be wider than most intervals turn out.
    """
    assert case.counts is not None

    def halves(counts: Counts) -> Floats:
        rows = estimate(counts, settings).rows()
        return np.array([(rows[g]["upper"] - rows[g]["lower"]) / 2 for g in wanted])

    if case.strata:  # chains over many cells
        settings, futures = replace(settings, draws=FEWER_DRAWS), futures[::2]
    now = halves(case.counts)
    then = np.median(
        [halves(_after(case.counts, advice.labels, c, known, settings.rng)) for c in futures],
        axis=0,
    )
    words = []
    for g, a, b in zip(wanted, now, then, strict=True):
        later = f"will be about ± {short(b)} with these labels"
        if b >= a or short(b) == short(a):  # a rare class may turn out to be less rare
            later = "these labels are not expected to narrow it"
        words.append(
            f"The {settings.interval:.0%} interval of {case.classes[g]!r} is ± {short(a)} now, and "
            f"{later}"
        )
    ends = ["."] * len(words)
    if goals is not None:
        level = known.mean @ known.u + split(case.counts, settings.overlap)[1][[*wanted]]
        cvs = then / ndtri((1 + settings.interval) / 2) / np.maximum(level, 1e-300)
        each = zip(cvs, goals, strict=True)
        ends = [f": a CV of {x:.1%}, where {goal:.1%} is wanted." for x, goal in each]
    return [a + b for a, b in zip(words, ends, strict=True)], [float(x) for x in then]


def _after(counts: Counts, labels: Integers, c: Floats, known: Known, rng: Rng) -> Counts:
    """Return the counts with labels whose true classes are drawn from columns c (K, L)."""
    cells = counts if counts.bands is None else counts.bands
    each = labels
    if known.lot is not None:  # a label of a lot is one of a random unit of its cells
        each = np.zeros_like(known.v)
        for m in np.flatnonzero(labels):
            mine = known.lot == m
            each[mine] = rng.multivariate_hypergeometric(known.v[mine], labels[m])
    X = rng.multinomial(each, (c / c.sum(axis=0)).T).T
    units = np.maximum(known.v, 1)
    more: dict[str, Any] = {"n": cells.n + X}
    if cells.t is not None and cells.t2 is not None:
        more |= {"t": cells.t + X * known.u / units, "t2": cells.t2 + X * known.w / units}
    if counts.bands is None:
        return replace(counts, **more)
    K = counts.K
    whole = {name: x.reshape(K, K, -1).sum(axis=2) for name, x in more.items()}
    return replace(counts, **whole, bands=replace(cells, **more))
