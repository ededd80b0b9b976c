"""The verifier verified: planted bugs make it fail, the product warns where it misses."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from tests.seeds import fresh

from trueup.count.counts import Counts
from trueup.errors import OptionError
from trueup.estimate.methods import estimate
from trueup.verify import grid, run
from trueup.verify.calibration import RankCase, ranks, uniformity
from trueup.verify.findings import BREACH, WARNED
from trueup.verify.grid import Cell, run_cell
from trueup.verify.judgement import (
    doubtful,
    judge_again,
    judge_calibration,
    judge_coverage,
    least_covered,
)
from trueup.verify.published import _kloos, published
from trueup.verify.sections import whole_stays


def seed(key):
    return int(fresh(key).integers(2**32))


def transposed(counts: Counts, settings):
    """Plant a bug: rows for columns."""
    return estimate(replace(counts, n=counts.n.T.copy()), settings)


def one_more(counts: Counts, settings, off=1.0):
    """Plant a bug: α off by one, and γ with it."""
    given = settings.prior
    prior = replace(given, alpha=given.alpha + off, gamma=given.gamma + off * counts.K)
    return estimate(counts, replace(settings, prior=prior))


def ten_more(counts: Counts, settings):
    """Plant a bug: α off by ten. Off by one takes `joint` 24,000 truths to see."""
    return one_more(counts, settings, 10.0)


def too_sure(counts: Counts, settings):
    """Plant a bug: the classification noise is left out."""
    return estimate(counts, replace(settings, noise=False))


def calibrated(case, answer, key):
    p = uniformity(ranks(case, seed(key), answer), case.bins)
    (finding,) = judge_calibration([(case, p)])
    return finding


CASES = [
    RankCase("bayes", "by_class", 3, True, 400),
    RankCase("constrained", "by_class", 2, True, 400),
    RankCase("joint", "random", 3, True, 400),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_product_is_calibrated(case):
    assert not calibrated(case, estimate, 1).breach


# not (joint, transposed): v̂ has too few units for some of those test sets, which are refused
PLANTED = list(zip(CASES, (one_more, transposed, ten_more), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("case", "bug"), PLANTED, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_planted_bug_breaks_calibration(case, bug):
    """With as many truths as the product's own test has."""
    assert calibrated(case, bug, 2).breach


@pytest.mark.slow
def test_a_planted_bug_breaks_coverage(monkeypatch):
    # a population for each answer: with giants in one of five, twelve answers miss together
    monkeypatch.setattr(grid, "POPULATIONS", 60)
    totals, counts = (Cell(2, 2000, 0.1, 0.8, y, "random", 60) for y in ("lognormal", "1"))
    # a transposed random test set has the wrong predicted classes, and the product says so; counts,
    # since audited values make up for a part of it in totals
    planted = (
        (totals, estimate, set()),
        (totals, too_sure, {BREACH}),
        (counts, transposed, {WARNED}),
    )
    for cell, answer, verdicts in planted:
        tally = run_cell(cell, seed(3), answer)
        assert doubtful(tally) or not verdicts
        for findings in (judge_coverage([tally], 0), judge_again([tally])):
            assert {f.verdict for f in findings} & {BREACH, WARNED} == verdicts, answer.__name__


@pytest.mark.slow
@pytest.mark.parametrize("values", ["1", "pareto"])
@pytest.mark.parametrize("design", ["by_class", "shifted"])
def test_where_coverage_fails_the_product_warns(values, design):
    """Two in a hundred at an accuracy of 0.6: inverted rates cannot tell them from none."""
    tally = run_cell(Cell(2, 20, 0.02, 0.6, values, design, 60), seed(4))
    assert tally.covered.min() < 0.85 * tally.answered
    assert tally.warned > 0.5 * tally.answered


@pytest.mark.slow
def test_heavy_tails_at_n_20_are_covered_by_joint():
    tally = run_cell(Cell(2, 20, 0.1, 0.8, "pareto", "random", 100), seed(5))
    assert tally.covered.min() >= least_covered(tally.answered, 1000)


def test_no_warning_where_the_test_set_tells():
    for design in ("random", "by_prediction", "by_class", "shifted"):
        tally = run_cell(Cell(2, 2000, 0.2, 0.95, "1", design, 20), seed(6))
        assert tally.warned <= 3, design  # `random` tests its own design at 1%


def some_jobs(quick, rng, every_job=run._jobs):
    """Take a small part of all work, some of every kind, chosen anew each time.

    Chains of `full` and of `joint` are calibrated in tests/statistical, Table 1 has 1,000
    replications in tests/paper, and the whole with and without `by` is in test_sections.
    """
    assert quick
    jobs, left_out = every_job(False, rng)  # the quick form may choose large groups alone
    most, taken = {"cell": 3, "published": 0, "whole_stays": 0}, []
    taken.append(("others", partial(published, replications=400), seed(9)))
    for i in rng.permutation(len(jobs)):
        kind, what, own_seed = jobs[i]
        if kind == "ranks" and what.by_chain:
            continue
        if kind == "scenario" and what.factors.get("n", 0) >= 1000:  # ten seconds of groups
            continue
        key = kind
        if kind == "ranks":  # each method once, with any design and number of classes
            key, what = what.method, replace(what, replications=100, bins=10)
        elif kind == "cell":
            what = replace(what, replications=what.replications // 2)
        elif kind == "others":
            key = what.__name__
        elif kind == "scenario":
            key, what = what.section, replace(what, replications=1)
        most[key] = most.get(key, 1) - 1
        if most[key] >= 0:
            taken.append((kind, what, own_seed))
    return taken, left_out


@pytest.mark.slow
def test_the_quick_form_passes_and_is_json(monkeypatch):
    from trueup.cli import main

    monkeypatch.setattr(run, "_jobs", some_jobs)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # each process loads all it needs
    chosen = str(seed(7))
    result = CliRunner().invoke(main, ["verify", "--quick", "--json", "--quiet", "--seed", chosen])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["info"]["seed"] == int(chosen)
    assert answer["info"]["breaches"] == 0
    sections = {row["section"] for row in answer["rows"]}
    assert sections == {
        "calibration", "coverage", "error", "published", "groups", "real data", "values",
        "group rates", "audits", "scores", "periods",
    }  # fmt: skip


def test_sections_by_themselves_have_the_seeds_that_they_have_among_all():
    jobs, _ = run._jobs(False, np.random.default_rng(seed(10)))
    some = run._of_sections(jobs, ("periods", "groups"))
    assert {getattr(what, "section", what) for _, what, _ in some} == {
        "periods", "groups", whole_stays,
    }  # fmt: skip
    assert [job for job in jobs if job in some] == some
    with pytest.raises(OptionError, match=r"got 'period'.*\n\nHint.*'calibration', 'coverage'"):
        run._of_sections(jobs, ["period"])


def test_a_breach_is_exit_code_1(monkeypatch):
    from trueup import verify as verification
    from trueup.cli import main
    from trueup.verify.findings import Finding
    from trueup.verify.run import Verification

    bad = Finding("coverage", "planted", 1, "0%", "≥ 92%", BREACH)
    info = {
        "seed": 1, "quick": True, "only": [], "processes": 1, "seconds": 1.0, "cells": 0,
        "answers": 0, "refused": 0,
    }  # fmt: skip
    monkeypatch.setattr(verification, "verify", lambda **_: Verification([bad], [], info))
    result = CliRunner().invoke(main, ["verify", "--quick"])
    assert result.exit_code == 1
    assert "1 breach." in result.stdout


def test_figures_of_kloos_are_the_products_own():
    finding = _kloos(seed(8), 200)
    assert not finding.breach, finding


def test_ranks_of_the_right_answer_are_uniform_and_of_a_wrong_one_are_not(rng):
    """The chi-square itself, on ranks whose distribution is known."""
    even = rng.integers(0, 100, (2000, 50))
    assert uniformity(even, 20).min() > 1e-4 / 50
    low = np.minimum(even, rng.integers(0, 100, even.shape))
    assert uniformity(low, 20).max() < 1e-10
