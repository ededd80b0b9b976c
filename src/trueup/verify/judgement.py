"""From ranks and tallies to findings: bounds are binomial or chi-square, and Bonferroni's."""

import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import bdtr

from trueup.draws.settings import DESIGNS
from trueup.numerics.arrays import Floats
from trueup.verify.calibration import RankCase
from trueup.verify.findings import FALSE_ALARM, HOLDS, LEAST, SHOWN, WARNED, Finding
from trueup.verify.tally import Tally

SHARE = FALSE_ALARM / 5
"""The share of false alarms of each kind: calibration, grid, scenarios, second runs, published."""
DOUBT = 0.05
"""A cell runs again if, on its own, its least covered class would be less likely than this."""
FACTORS = ("K", "n", "rare", "accuracy", "values", "design")
ERRORS = 5.0
"""Monte Carlo errors, where a figure has no exact distribution."""
FEWEST = 20
"""Answers that a mean is judged by."""


def judge_calibration(found: list[tuple[RankCase, Floats]]) -> list[Finding]:
    """One line per method: the smallest p-value of its rank histograms."""
    tests = sum(len(p) for _, p in found)
    bound = SHARE / max(tests, 1)
    findings = []
    for method in dict.fromkeys(case.method for case, _ in found):
        mine = [(p.min(), case) for case, p in found if case.method == method]
        size = sum(len(p) for case, p in found if case.method == method)
        worst, case = min(mine, key=lambda pair: float(pair[0]))
        what = f"ranks of {method} are uniform, K in {sorted({c.K for _, c in mine})}"
        figure = f"p = {worst:.2g} ({case}, {case.replications:,} truths)"
        holds = bool(worst > bound)
        findings.append(
            Finding.judged("calibration", what, size, figure, f"p > {bound:.1g}", holds)
        )
    return findings


def least_covered(R: int, tests: int) -> int:
    """Return the fewest of R intervals that may cover: fewer have probability SHARE/2/tests.

    Examples
    --------
    >>> least_covered(200, 1000)
    159
    """
    k = np.arange(R + 1)
    return int(np.searchsorted(bdtr(k, R, LEAST), SHARE / 2 / tests))


def _chance(covered: int, R: int) -> float:
    """How likely it is that so few of R intervals cover, when LEAST of them should."""
    return float(bdtr(covered, R, LEAST))


def judge_coverage(tallies: list[Tally], left_out: int) -> list[Finding]:
    """Judge cells one by one per design, pairs of factors pooled, warnings and squared errors."""
    tests = sum(len(t.covered) for t in tallies)
    fails = [t for t in tallies if _too_low(t, tests) and t.mostly_warned]
    findings = []
    for design in DESIGNS:
        mine = [t for t in tallies if t.cell.design == design]
        findings += _one_by_one(f"95% intervals, {design}", mine, tests)
    findings.append(_pooled([t for t in tallies if not t.mostly_warned]))
    findings.append(_said("coverage", fails))
    findings += _warned_in_vain([t for t in tallies if t not in fails and t.answered])
    findings += _error("error", tallies)
    if left_out:
        findings.append(Finding("coverage", "cells left out", left_out, "", "", SHOWN))
    return findings


def judge_scenarios(tallies: list[Tally]) -> list[Finding]:
    """Judge each section: scenarios one by one, levels of each factor pooled, squared errors."""
    tests = sum(len(t.covered) for t in tallies)
    findings = []
    for section, mine in _by_section(tallies).items():
        fails = [t for t in mine if _too_low(t, tests) and t.mostly_warned]
        findings += _one_by_one("95% intervals, one by one", mine, tests)
        findings += _by_factor("pooled by factor, no warning", mine)
        findings += [_said(section, fails)] if fails else []
        findings += _error(section, mine)
    return findings


def judge_again(again: list[Tally]) -> list[Finding]:
    """Judge fresh runs of the doubtful cells: longer and fewer, so that the bound is sharp."""
    tests = sum(len(t.covered) for t in again)
    findings = []
    for section, mine in _by_section(again).items():
        silent = [t for t in mine if not t.mostly_warned]
        warned = [t for t in mine if t.mostly_warned]
        findings += _one_by_one("doubtful again, mostly no warning", silent, tests)
        if section != "coverage":
            findings += _by_factor("doubtful again, pooled by factor", silent)
        if warned:
            low = [t for t in warned if _too_low(t, tests)]
            least = min((t.warned / t.answered for t in low), default=1.0)
            verdict = WARNED if low else HOLDS
            worst = f"{len(low)} below the bound, the least often warned in {least:.0%}"
            what = "doubtful again, mostly a warning"
            findings.append(Finding(section, what, len(warned), worst, "warned > 50%", verdict))
    return findings


def _by_section(tallies: list[Tally]) -> dict[str, list[Tally]]:
    found: dict[str, list[Tally]] = defaultdict(list)
    for t in tallies:
        found[t.cell.section].append(t)
    return found


def _too_low(tally: Tally, tests: int) -> bool:
    covered = _whole(tally) < least_covered(tally.answered, tests)
    return bool(tally.answered and covered)


def _whole(tally: Tally) -> int:
    """Answers that cover the figure covered least; parts of one, of groups, are rounded up."""
    return int(np.ceil(tally.covered.min() - 1e-9))


def _one_by_one(what: str, tallies: list[Tally], tests: int) -> list[Finding]:
    """Return the finding for the cell whose coverage is least likely; any too low is a breach.

    Cells that are too low and warn in most answers are told elsewhere.
    """
    mine = [t for t in tallies if t.answered]
    judged = [t for t in mine if not (_too_low(t, tests) and t.mostly_warned)]
    if not judged:
        return []
    t = min(judged, key=lambda t: _chance(_whole(t), t.answered))
    worst = f"{t.least:.1%} of {t.answered} ({t.cell})"
    bound = f"≥ {least_covered(t.answered, tests) / t.answered:.1%}"
    holds = not any(_too_low(t, tests) for t in judged)
    return [Finding.judged(t.cell.section, what, len(mine), worst, bound, holds)]


def doubtful(tally: Tally) -> bool:
    """Whether a cell looks bad enough to be run again with more replications."""
    return len(tally.covered) * _chance(_whole(tally), tally.answered) < DOUBT


def _pooled(tallies: list[Tally]) -> Finding:
    """Pool cells that share two levels: Hoeffding's inequality makes the binomial bound hold."""
    seen: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    for t in tallies:
        levels = [f"{name}={getattr(t.cell, name)}" for name in FACTORS]
        for pair in itertools.combinations(levels, 2):
            for which, covered in (("rarest", t.covered[0]), ("last", t.covered[-1])):
                pool = seen[(*pair, which)]
                pool[0] += int(covered)
                pool[1] += t.answered
    pools = [(_chance(covered, R), covered, R, key) for key, (covered, R) in seen.items() if R]
    if not pools:
        return Finding("coverage", "pooled over pairs of factors", 0, "none", "", SHOWN)
    _, covered, R, key = min(pools)
    worst = f"{covered / R:.1%} of {R:,} ({' '.join(key)} class)"
    bound = f"≥ {least_covered(R, len(pools)) / R:.1%}"
    holds = all(covered >= least_covered(R, len(pools)) for _, covered, R, _ in pools)
    what = "pooled over pairs of factors, no warning"
    return Finding.judged("coverage", what, len(pools), worst, bound, holds)


def _said(section: str, fails: list[Tally]) -> Finding:
    worst, verdict = "none", HOLDS
    if fails:
        t, verdict = worst_cell(fails), WARNED
        worst = f"{t.least:.1%}, warned {t.warned / t.answered:.0%} ({t.cell})"
    return Finding(section, "fails, with a warning", len(fails), worst, "warned > 50%", verdict)


def _warned_in_vain(holding: list[Tally]) -> Iterable[Finding]:
    """How often the product warns where its intervals hold."""
    for designs in (DESIGNS[:2], DESIGNS[2:]):
        mine = [t for t in holding if t.cell.design in designs]
        if mine:
            rate = sum(t.warned for t in mine) / sum(t.answered for t in mine)
            often = sum(t.mostly_warned for t in mine)
            what = f"warned though it holds, {' and '.join(designs)}"
            worst = f"{rate:.1%} of answers; {often} cells mostly"
            yield Finding("coverage", what, len(mine), worst, "", SHOWN)


def _error(section: str, tallies: list[Tally]) -> list[Finding]:
    answered = [t for t in tallies if t.answered >= FEWEST / 2 and t.naive_mse.sum() > 0]
    if not answered:
        return []
    silent = [t for t in answered if 2 * t.unproven <= t.answered]
    findings = []
    for what, mine in (
        ("MSE against no correction", answered),
        ("the same, not said that it may not pay", silent),
    ):
        if mine:
            better = sum(t.gain > ERRORS * t.gain_error for t in mine)
            worse = sum(t.gain < -ERRORS * t.gain_error for t in mine)
            ratio = np.median([t.mse.sum() / t.naive_mse.sum() for t in mine])
            words = f"median ratio {ratio:.2g}; better in {better}, worse in {worse}"
            words += ", the rest undecided"
            findings.append(Finding(section, what, len(mine), words, "", SHOWN))
    return findings


def worst_cell(tallies: list[Tally]) -> Tally:
    """The cell whose worst class is covered least often."""
    return min(tallies, key=lambda t: t.least)


def _by_factor(what: str, tallies: list[Tally]) -> list[Finding]:
    """Of all, per level of each factor and per scenario: mean coverage, with its error.

    Figures of one answer share a test set, so the answer is what counts.
    """
    pools: dict[str, list[float]] = defaultdict(list)
    for t in (t for t in tallies if not t.mostly_warned):
        levels = (f"{name}={x}" for name, x in t.cell.factors.items())
        for key in {"all", str(t.cell), *levels}:
            pools[key] += t.inside.mean(axis=1).tolist()
    margins = []
    for name, x in pools.items():
        if len(x) >= FEWEST:
            mean, error = float(np.mean(x)), float(np.std(x, ddof=1) / np.sqrt(len(x)))
            margins.append((mean + ERRORS * error - LEAST, mean, error, name, len(x)))
    if not margins:
        return []
    slack, mean, error, name, R = min(margins)
    worst, bound = f"{mean:.1%} ± {error:.1%} ({name}, {R} runs)", f"≥ {LEAST:.0%} − 5 errors"
    section = tallies[0].cell.section
    return [Finding.judged(section, what, len(margins), worst, bound, slack >= 0)]
