"""Estimates per group (`by`) and with error rates per stratum (`strata`), from the same methods."""

from dataclasses import replace
from typing import Any

import numpy as np

from trueup.aggregate.groups import Whole, base_rates, correct_groups, mean_values
from trueup.count.counts import Counts, split
from trueup.count.parts import GroupCounts, Parts
from trueup.draws.settings import POSTERIORS, Settings
from trueup.errors import OptionError
from trueup.estimate.answer import Answer, GroupFigures, figures_of_groups
from trueup.estimate.cell_totals import in_cells
from trueup.estimate.doubts.design import DOUBTFUL
from trueup.estimate.doubts.own_rates import compare_groups, strata_of_groups
from trueup.estimate.doubts.rates import rates_differ
from trueup.estimate.methods import METHODS, finish
from trueup.estimate.result import Estimate
from trueup.estimate.strata import Stratum, draw_regressed, draw_together
from trueup.numerics.arrays import Floats
from trueup.text import p_text, quoted

# With `by` and `strata` together all draws are in memory at once.
MOST_CELLS = 400_000_000
UNLIKE, A_FEW, MOST_NAMED = 1.5, 3, 3
"""Log Bayes factor from which a group is named, if at most one in three is: if more are, rates
differ in general, which the model knows."""


def estimate_parts(
    found: GroupCounts, settings: Settings, *, pooling: str, keep: bool | None
) -> Estimate:
    """Estimate the whole, and every group, as the sum over strata."""
    counts = found.whole
    if settings.method not in POSTERIORS:
        raise OptionError(
            f"Groups and strata need a method with draws of P; {settings.method!r} has none.",
            hint='use method="auto", or correct each group as a table of its own.',
        )
    if found.groups.columns and not settings.noise:
        raise OptionError(
            "Groups (`by`) must have `noise`: their units are allocated one by one; got "
            "noise=False.",
            hint="leave out noise=False (--no-noise), or leave out `by`.",
        )
    stratified = bool(found.strata.columns) and pooling != "complete"
    if found.groups.columns:  # refuse audited units that a group cannot hold, before any draw
        split(found.groups.counts, settings.overlap, [*map(_name, found.groups.labels)])
    if stratified:
        _check_strata(settings, pooling)
        strata, info = _strata(found.strata, settings, pooling)
    else:
        banded = found.banded
        inside = None if banded is None or banded.relative is not None else banded
        strata = [_alone(counts, replace(settings, banded=inside))]
        info = strata[0].info
    if found.strata.columns:
        info = info | {"pooling": pooling, "strata": len(found.strata.labels)}
    groups = None
    if found.groups.columns:
        groups, more = _groups(found, strata, settings, keep, stratified, pooling == "complete")
        told = [*info.get("warnings", ()), *more.pop("warnings", ())]
        info = info | more | {"warnings": told}
    whole = np.sum([stratum.u for stratum in strata], axis=0)
    P = strata[0].P if len(strata) == 1 else None
    M = sum((stratum.M for stratum in strata[1:]), strata[0].M)
    answer = Answer(whole, P, M=M, info=info)
    return replace(finish(answer, counts, settings), groups=groups)


def _check_strata(settings: Settings, pooling: str) -> None:
    """Refuse options that strata would have to ignore."""
    if settings.P is not None:
        raise OptionError(
            "`P` is one matrix for all units; strata, or a regression, have one each.",
            hint="leave out `strata`, or correct each stratum with its own P.",
        )
    if settings.prior.tilt is not None and pooling != "none":
        raise OptionError(
            f"Strata are pooled with a conjugate prior; {settings.prior.name!r} is not one.",
            hint='say pooling="none", or use "perks", "jeffreys" or another Dirichlet.',
        )


def _strata(parts: Parts, settings: Settings, pooling: str) -> tuple[list[Stratum], dict[str, Any]]:
    """Draw each stratum with its own P, pooled with the others or alone."""
    every = [parts.counts.part(j) for j in range(len(parts.labels))]
    without = [_name(parts.labels[j]) for j, c in enumerate(every) if c.n.sum() == 0]
    warnings: list[str] = []
    info: dict[str, Any]
    if without:
        shown = ", ".join(without[:5]) + (" …" if len(without) > 5 else "")
        source = "the prior alone" if pooling == "none" else "what the other strata say"
        warnings.append(f"{len(without)} strata have no test unit and rest on {source}: {shown}.")
    if settings.regression is not None:
        strata, info = draw_regressed(every, settings)
    elif pooling == "none":
        strata = [_alone(c, settings) for c in every]
        info = {}
    else:
        if settings.method in ("bayes", "constrained") and settings.asked != "auto":
            raise OptionError(
                f"Partial pooling needs method 'joint' or 'full'; got {settings.method!r}.",
                hint='leave method="auto", or say pooling="none".',
            )
        strata, info = draw_together(every, settings)
    ess = min(stratum.info.get("ess") or settings.draws for stratum in strata)
    warnings += info.get("warnings", [])
    warnings += sorted({w for stratum in strata for w in stratum.info.get("warnings", ())})
    return strata, info | {
        "ess": float(ess),
        "strata_without_test": without,
        "warnings": warnings,
    }


def _alone(counts: Counts, settings: Settings) -> Stratum:
    """Draw one stratum, or the whole, by the method itself."""
    answer = METHODS[settings.method](counts, settings)
    assert answer.draws is not None
    assert answer.P is not None
    beta = answer.beta
    if beta is None:  # the paper's steps have P alone; without units any rates are as good
        rest, _ = split(counts, settings.overlap)
        beta = base_rates(answer.P, rest.v_hat if rest.N else np.ones_like(rest.v_hat))
    assert answer.M is not None
    return Stratum(answer.draws, answer.P, beta, answer.M, answer.info, answer.cells)


def _groups(
    found: GroupCounts,
    strata: list[Stratum],
    settings: Settings,
    keep: bool | None,
    stratified: bool,
    one_P: bool,
) -> tuple[GroupFigures, dict[str, Any]]:
    """Draw every group; with strata, every cell of both, added up over strata."""
    counts, groups = found.whole, found.groups
    B, K = len(groups.labels), counts.K
    options: dict[str, Any] = {
        "audited_inform": settings.from_population and settings.overlap,
        "rates_differ": not one_P,
        "interval": settings.interval,
        "executor": settings.executor,
    }
    if not stratified:
        (one,) = strata
        data = _data(groups.counts, slice(None), settings.overlap)
        whole = _whole(one, counts, settings)
        if (banded := found.banded) is not None and in_cells(counts, settings):
            data = _data(banded.counts, slice(None), settings.overlap)
            inside = one
            if banded.relative is not None:  # how classes depend on values within groups
                of_groups = replace(settings, banded=banded)
                inside = _alone(replace(counts, bands=banded.relative), of_groups)
            assert inside.cells is not None
            whole = Whole(inside.cells, inside.beta, one.u)
            options |= {"labels": banded.labels, "alike": banded.alike}
        answer = correct_groups(
            whole, data, settings.rng, keep=keep, progress=settings.progress, **options
        )
        figures: dict[str, Floats | None] = {"naive": groups.counts.naive, **answer.figures}
        info: dict[str, Any] = {"groups": B, "draws_kept": answer.draws is not None}
        levels = found.banded is not None and found.banded.relative is not None
        info["group_levels_differ"] = levels
        info["group_concentration"] = float(np.median(answer.prior.kappa))
        info["group_rates"] = answer.layer
        if answer.layer is not None:
            info["warnings"] = _unlike(groups, answer.unlike, settings)
            audited = groups.counts.n.sum(axis=(1, 2))
            info["group_rates"] = answer.layer | {"groups": B, "least_audited": int(audited.min())}
        if answer.layer is None and groups.counts.n.any():
            info["warnings"] = _doubts(groups, settings)
        return GroupFigures(groups.columns, groups.labels, figures, answer.draws), info
    if settings.draws * B * K > MOST_CELLS:
        raise OptionError(
            f"With `by` and `strata` together all draws are in memory: at most {MOST_CELLS:,} "
            f"numbers; got {settings.draws:,} draws of {B:,} groups and {K} classes.",
            hint="ask for fewer draws, or correct one stratum at a time.",
        )
    draws = np.zeros((len(strata[0].u), B, K))
    for j, stratum in enumerate(strata):
        cells = np.flatnonzero(found.stratum == j)
        if len(cells) == 1:  # the group is the stratum
            draws[:, found.group[cells[0]]] += stratum.u
            continue
        data = _data(found.cells.counts, cells, settings.overlap)
        whole = _whole(stratum, found.strata.counts.part(j), settings)
        answer = correct_groups(whole, data, settings.rng, keep=True, **options)
        assert answer.draws is not None
        np.add.at(draws.transpose(1, 0, 2), found.group[cells], answer.draws.transpose(1, 0, 2))
        if settings.progress is not None:
            settings.progress((j + 1) / len(strata))
    figures = figures_of_groups(draws, groups.counts.naive, settings.interval, counts.totals)
    info = {"groups": B, "draws_kept": True}
    return GroupFigures(groups.columns, groups.labels, figures, draws), info


def _unlike(groups: Parts, unlike: Floats, settings: Settings) -> list[str]:
    """Name a few groups whose error rates seem to differ from the others'."""
    order = [b for b in np.argsort(-unlike) if unlike[b] > UNLIKE]
    audited = int((unlike != 0).sum())
    if not 0 < len(order) <= max(1, audited // A_FEW):
        return []
    names = quoted([_name(groups.labels[b]) for b in order[:MOST_NAMED]])
    names += ", …" if len(order) > MOST_NAMED else ""
    return [
        f"In group {names} the audited units suggest other error rates than in the other groups. "
        "The estimate still leans on the others' error rates, and its interval may miss the truth. "
        f"{compare_groups(settings.call, groups.columns, 'units there')}."
    ]


def _doubts(groups: Parts, settings: Settings) -> list[str]:
    """Say when one P was taken for all groups although the audited units speak against it."""
    counts = groups.counts
    v_hat = counts.v_hat if settings.design == "by_prediction" else None
    evidence = rates_differ(counts.n, counts.classes, v_hat=v_hat)
    if evidence is None or evidence.p_value >= DOUBTFUL:
        return []
    if settings.from_population:
        way = "Leave out pooling='complete' (--pooling)"
    else:
        way = strata_of_groups(settings, groups.columns)
    return [
        f"One set of error rates was taken for all groups, but {evidence.words} "
        f"({p_text(evidence.p_value)}): intervals of groups may be far too narrow. {way}."
    ]


def _whole(stratum: Stratum, counts: Counts, settings: Settings) -> Whole:
    """The draws that groups are parts of; signed totals need the mean value of each class."""
    means = _means(stratum, counts, settings) if counts.signed else None
    return Whole(stratum.P, stratum.beta, stratum.u, means)


def _means(stratum: Stratum, counts: Counts, settings: Settings) -> Floats | None:
    """The mean value of each class: audited units are in u, so they are in its units too."""
    if counts.u_hat is None:
        return None
    squares = None if counts.w_hat is None else float(counts.w_hat.sum())
    rest, _ = split(counts, settings.overlap)
    audited = 0 if rest is counts else counts.n.sum(axis=1)
    beta = (rest.N * stratum.beta + audited) / max(counts.N, 1)
    return mean_values(stratum.u, beta, counts.N, squares)


def _data(parts: Counts, which: Any, overlap: bool) -> Counts:
    """Some parts as a bag of counts, with the audited units only if they are in the population."""
    data = parts.part(which)
    return data if overlap else replace(data, n=np.zeros_like(data.n), t=None, t2=None)


def _name(label: tuple[Any, ...]) -> str:
    return " / ".join(map(str, label))
