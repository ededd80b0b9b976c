"""Estimates of fewer classes or groups, whose draws are added up."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.errors import OptionError
from trueup.estimate.answer import Answer, figures_of_groups, monte_carlo_errors, summarise
from trueup.estimate.doubts.cautions import FEW
from trueup.estimate.doubts.pays import PAYS, correction_warning, unproven
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats
from trueup.text import quoted, spelt

SINGLE = ("There is no test unit of true class", f"Fewer than {FEW} test units have true class")
"""How warnings of single classes begin."""


def combine(est: Estimate, classes: Mapping[Hashable, Sequence[Hashable]]) -> Estimate:
    """Return the estimate with classes added up; see `Estimate.combine`."""
    labels, parts = partition(est.classes, classes)
    draws, groups, old = added(est._whole_draws(), parts, -1), est.groups, est.counts
    if groups is not None:
        naive, units = (added(x, parts, -1) for x in (groups.figures["naive"], groups.units))
        of_groups = added(est._joint_draws(), parts, -1)
        figures = figures_of_groups(of_groups, naive, est.info["interval"], old.totals)
        groups = replace(groups, figures=figures, draws=of_groups, units=units)
    predicted, columns = joined(old.predicted, classes)
    more = old.changed(lambda x: added(x, columns, -1))
    more |= {name: added(more[name], parts, -2) for name in ("n", "t", "t2")}
    named = None if old.columns is None else predicted
    counts = replace(old, classes=labels, bands=None, columns=named, **more)
    info = {name: x for name, x in est.info.items() if name != "calibration"}  # of old labels
    whole = summarise(Answer(draws), counts.naive, info["interval"])
    info |= said_of_combined(info, est.classes, counts, whole, parts)
    return replace(
        est,
        classes=labels,
        counts=counts,
        whole=draws,
        P=None,
        M=added(added(est.M, columns, -1), parts, -2),
        info=info | monte_carlo_errors(draws, info),
        _figures=whole,
        groups=groups,
        asked=est.asked | {"combine": {new: list(members) for new, members in classes.items()}},
        _again=None,
    )


def margin(est: Estimate, by: tuple[str, ...]) -> Estimate:
    """Return the estimate with groups added up over the other columns; see `Estimate.margin`."""
    groups = est.groups
    if groups is None or not by or not {*by} <= {*groups.by}:
        got, had = (quoted(x) or "none" for x in (by, () if groups is None else groups.by))
        raise OptionError(f"A margin keeps some of the `by` columns; got {got} of {had}.")
    at = [groups.by.index(name) for name in by]
    kept = [tuple(label[i] for i in at) for label in groups.labels]
    labels = list(dict.fromkeys(kept))
    parts = [[b for b, x in enumerate(kept) if x == label] for label in labels]
    naive, draws = added(groups.figures["naive"], parts, 0), added(est._joint_draws(), parts, 1)
    figures = figures_of_groups(draws, naive, est.info["interval"], est.counts.totals)
    fewer = replace(groups, by=by, labels=labels, figures=figures, draws=draws, units=None)
    return replace(est, groups=fewer, asked=est.asked | {"margin": by}, _again=None)


def added(x: Any, parts: Sequence[Sequence[int]], axis: int) -> Any:
    """Add up the entries of each part along an axis; None stays None."""
    if x is None:
        return None
    return np.stack([np.take(x, part, axis).sum(axis=axis) for part in parts], axis=axis)


def partition(
    classes: tuple[Hashable, ...], new: Mapping[Hashable, Sequence[Hashable]]
) -> tuple[tuple[Hashable, ...], list[list[int]]]:
    """Return the classes after some are joined, and the old ones that each is made of.

    Examples
    --------
    >>> partition(("a", "b", "c", "d"), {"ac": ["a", "c"]})
    (('ac', 'b', 'd'), [[0, 2], [1], [3]])
    """
    old = [x for members in new.values() for x in members]
    if any(isinstance(members, str) for members in new.values()) or not {*old} <= {*classes}:
        raise OptionError(
            f"Each new class must be a list of the classes {list(classes[:20])}; got {dict(new)}."
        )
    labels, parts = joined(classes, new)
    clash = {*new} & ({*classes} - {*old})
    if len({*old}) < len(old) or clash or len(labels) < 2 or not all(new.values()):
        raise OptionError(
            "New classes must have names of their own, share no class and leave at least two; got "
            f"{dict(new)}."
        )
    return labels, parts


def joined(
    labels: tuple[Hashable, ...], new: Mapping[Hashable, Sequence[Hashable]]
) -> tuple[tuple[Hashable, ...], list[list[int]]]:
    """Return the labels with members of new ones replaced, and what each is made of."""
    home = {x: label for label, members in new.items() for x in members}
    found = tuple(dict.fromkeys(home.get(x, x) for x in labels))
    return found, [[g for g, x in enumerate(labels) if home.get(x, x) == y] for y in found]


def said_of_combined(
    info: dict[str, Any],
    old: Sequence[Hashable],
    counts: Counts,
    figures: dict[str, Floats | None],
    parts: Sequence[Sequence[int]],
) -> dict[str, Any]:
    """Return the warnings that hold for combined classes, and whether correcting them pays."""
    told, n = after_combine(info["warnings"], old, counts, parts), int(counts.n.sum())
    asked = info.get("unproven") is not None
    unsure = asked and unproven(figures, info["interval"], n)
    return {
        "warnings": told + ([correction_warning(n, counts.N)] if unsure else []),
        "unproven": unsure,
    }


def after_combine(
    warnings: list[str], old: Sequence[Hashable], counts: Counts, parts: Sequence[Sequence[int]]
) -> list[str]:
    """Leave out what is said of old classes and does not hold for what they became.

    `counts` are those of the new classes, and `parts` the old classes that each is made of.
    """
    audited = counts.n.sum(axis=-1)
    mended = {
        spelt(old[g])
        for part, units in zip(parts, audited, strict=True)
        if len(part) > 1 and units >= FEW
        for g in part
    }
    others = {*map(spelt, old)} - mended

    def holds(words: str) -> bool:
        if words.startswith(PAYS):
            return False
        label = words.split(":")[0].partition(" true class ")[2]
        named = [x for x in re.split(r", | and ", label) if x]
        single = words.startswith(SINGLE) and named
        return not single or not {*named} <= mended or bool({*named} & others)

    return [words for words in warnings if holds(words)]
