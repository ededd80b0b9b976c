"""From ranks and tallies to findings: bounds are binomial or chi-square, and Bonferroni's."""

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import bdtr

from trueup.draws.settings import DESIGNS
from trueup.numerics.arrays import Floats
from trueup.verify.calibration import RankCase
from trueup.verify.findings import FALSE_ALARM, HOLDS, LEAST, SHOWN, WARNED, Finding
from trueup.verify.grid import Tally

SHARE = FALSE_ALARM / 5
"""The share of false alarms that each section has."""
DOUBT = 0.05
"""A cell runs again if, on its own, its least covered class would be less likely than this."""
FACTORS = ("K", "n", "rare", "accuracy", "values", "design")
ERRORS = 5.0
"""Monte Carlo errors, where a figure has no exact distribution."""


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
    tests = sum(t.cell.K for t in tallies)
    fails = [t for t in tallies if _too_low(t, tests) and _mostly_warned(t)]
    findings = []
    for design in DESIGNS:
        mine = [t for t in tallies if t.cell.design == design and t.answered]
        silent = [t for t in mine if t not in fails]
        if silent:
            what = f"95% intervals, {design}"
            findings.append(replace(_least_likely(what, silent, tests), cells=len(mine)))
    findings.append(_pooled([t for t in tallies if not _mostly_warned(t)]))
    findings.append(_said(fails))
    findings += _warned_in_vain([t for t in tallies if t not in fails and t.answered])
    findings.append(_error(tallies))
    if left_out:
        findings.append(Finding("coverage", "cells left out", left_out, "", "", SHOWN))
    return findings


def _too_low(tally: Tally, tests: int) -> bool:
    covered = tally.covered.min() < least_covered(tally.answered, tests)
    return bool(tally.answered and covered)


def _mostly_warned(tally: Tally) -> bool:
    return 2 * tally.warned > tally.answered


def _least_likely(what: str, tallies: list[Tally], tests: int) -> Finding:
    """Return the finding for the cell whose coverage is least likely; any too low is a breach."""
    t = min(tallies, key=lambda t: _chance(int(t.covered.min()), t.answered))
    worst = f"{t.covered.min() / t.answered:.1%} of {t.answered} ({t.cell})"
    bound = f"≥ {least_covered(t.answered, tests) / t.answered:.1%}"
    holds = not any(_too_low(t, tests) for t in tallies)
    return Finding.judged("coverage", what, len(tallies), worst, bound, holds)


def doubtful(tally: Tally) -> bool:
    """Whether a cell looks bad enough to be run again with more replications."""
    return tally.cell.K * _chance(int(tally.covered.min()), tally.answered) < DOUBT


def judge_again(again: list[Tally]) -> list[Finding]:
    """Judge fresh runs of the doubtful cells: longer and fewer, so that the bound is sharp."""
    tests = sum(t.cell.K for t in again)
    silent = [t for t in again if not _mostly_warned(t)]
    warned = [t for t in again if _mostly_warned(t)]
    findings = []
    if silent:
        findings.append(_least_likely("doubtful cells again, mostly no warning", silent, tests))
    if warned:
        low = [t for t in warned if _too_low(t, tests)]
        least = min((t.warned / t.answered for t in low), default=1.0)
        what, verdict = "doubtful cells again, mostly a warning", WARNED if low else HOLDS
        worst = f"{len(low)} below the bound, the least often warned in {least:.0%}"
        findings.append(Finding("coverage", what, len(warned), worst, "warned > 50%", verdict))
    return findings


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


def _said(fails: list[Tally]) -> Finding:
    worst, verdict = "none", HOLDS
    if fails:
        t, verdict = worst_cell(fails), WARNED
        worst = f"{t.covered.min() / t.answered:.1%}, warned {t.warned / t.answered:.0%} ({t.cell})"
    return Finding("coverage", "fails, with a warning", len(fails), worst, "warned > 50%", verdict)


def _warned_in_vain(holding: list[Tally]) -> Iterable[Finding]:
    """How often the product warns where its intervals hold."""
    for designs in (DESIGNS[:2], DESIGNS[2:]):
        mine = [t for t in holding if t.cell.design in designs]
        if mine:
            rate = sum(t.warned for t in mine) / sum(t.answered for t in mine)
            often = sum(map(_mostly_warned, mine))
            what = f"warned though it holds, {' and '.join(designs)}"
            worst = f"{rate:.1%} of answers; {often} cells mostly"
            yield Finding("coverage", what, len(mine), worst, "", SHOWN)


def _error(tallies: list[Tally]) -> Finding:
    answered = [t for t in tallies if t.answered > 1 and t.naive_mse.sum() > 0]
    better = sum(t.gain > ERRORS * t.gain_error for t in answered)
    worse = sum(t.gain < -ERRORS * t.gain_error for t in answered)
    ratio = float(np.median([t.mse.sum() / t.naive_mse.sum() for t in answered]))
    words = f"median ratio {ratio:.2g}; better in {better}, worse in {worse}, the rest undecided"
    return Finding("error", "MSE against no correction", len(answered), words, "", SHOWN)


def worst_cell(tallies: list[Tally]) -> Tally:
    """The cell whose worst class is covered least often."""
    return min(tallies, key=lambda t: float(t.covered.min() / max(t.answered, 1)))


def judge_groups(found: list[tuple[dict[str, Any], Floats]]) -> list[Finding]:
    """Per level of each factor: mean coverage over replications, with its Monte Carlo error.

    `found` holds for each replication its case and its mean coverage over the groups of each size.
    Groups of one replication share P, so the replication is what counts.
    """
    pools: dict[str, list[float]] = defaultdict(list)
    for case, by_size in found:
        for name, level in case.items():
            pools[f"{name}={level}"].append(float(by_size.mean()))
    margins = []
    for name, x in pools.items():
        if len(x) < 10:
            continue
        mean, error = float(np.mean(x)), float(np.std(x, ddof=1) / np.sqrt(len(x)))
        margins.append((mean + ERRORS * error - LEAST, mean, error, name, len(x)))
    if not margins:
        return []
    slack, mean, error, name, R = min(margins)
    what, worst = "95% intervals of groups, pooled by factor", f"{mean:.1%} ± {error:.1%}"
    worst, bound = f"{worst} ({name}, {R} runs)", f"≥ {LEAST:.0%} − 5 errors"
    return [Finding.judged("groups", what, len(margins), worst, bound, slack >= 0)]
