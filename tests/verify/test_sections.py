"""Sections of `trueup verify`: each sees intervals that miss, and the whole that moves."""

from dataclasses import replace

import numpy as np
import pytest
from tests.seeds import fresh

from trueup.api import correct
from trueup.verify import sections
from trueup.verify.findings import BREACH, HOLDS, SHOWN, WARNED
from trueup.verify.judgement import doubtful, judge_again, judge_scenarios
from trueup.verify.scenario import Observed, Scenario, run_scenario
from trueup.verify.sections import every_scenario, whole_stays


def seed(key):
    return int(fresh(key).integers(2**32))


def bent(est, bend):
    """The estimate with other limits; of groups, also other draws in the second half.

    The growth of a period, which comes from draws, then moves as well.
    """
    limits = {name: bend(est._figures[name], est._figures) for name in ("lower", "upper")}
    groups = est.groups
    if groups is not None:
        own = {name: bend(groups.figures[name], groups.figures) for name in ("lower", "upper")}
        middle = np.median(groups.draws, axis=0)
        low, high = np.quantile(groups.draws, [0.025, 0.975], axis=0)
        found = {"lower": low, "upper": high, "estimate": middle}
        half = len(middle) // 2
        draws = np.concatenate([groups.draws[:, :half], bend(groups.draws, found)[:, half:]], 1)
        groups = replace(groups, figures=groups.figures | own, draws=draws)
    return replace(est, _figures=est._figures | limits, groups=groups)


def too_narrow(x, figures):
    return figures["estimate"] + (x - figures["estimate"]) / 4


def too_high(x, figures):
    return x + 2 * (figures["upper"] - figures["lower"]) + 1e-6 * np.abs(figures["upper"]).max()


def planted(bend):
    return lambda *tables, **options: bent(correct(*tables, **options), bend)


def normal(rng, answer, half_width, warn=0.0):
    """Two figures with a standard normal error and a known interval, and one mean over many."""
    error = np.append(rng.standard_normal(2), 0.0)
    many = np.abs(rng.standard_normal(20) + 0.5 * rng.standard_normal()) / np.sqrt(1.25)
    inside = np.append(np.abs(error[:2]) < half_width, (many < half_width).mean())
    return Observed(inside.astype(float), error, 2 * error, rng.random() < warn, False)


def verdicts(findings):
    return {f.verdict for f in findings} - {SHOWN}


@pytest.mark.parametrize(
    ("half_width", "warn", "verdict"),
    [(1.96, 0.2, {HOLDS}), (0.98, 0.2, {HOLDS, BREACH}), (0.98, 0.8, {WARNED})],
)
def test_intervals_half_as_wide_are_a_breach_unless_warned_of(half_width, warn, verdict):
    """Pooled and one by one, at first and again; half the width covers 67%."""
    factors = {"half_width": half_width, "warn": warn}
    tally = run_scenario(Scenario("planted", normal, factors, 400, 0.0), seed(1))
    assert doubtful(tally) == (half_width < 1)
    for findings in (judge_scenarios([tally]), judge_again([tally])):
        assert verdicts(findings) <= verdict
        assert verdicts(findings) & {BREACH, WARNED} == verdict & {BREACH, WARNED}


def test_a_mean_over_many_groups_is_judged_by_its_own_error():
    """A coverage of 85% with little spread: too few answers for a binomial bound, not for this."""

    def groups(rng, answer):
        return Observed(rng.normal(0.85, 0.02, 1), np.zeros(1), np.ones(1), False, False)

    tally = run_scenario(Scenario("planted", groups, {}, 24, 0.0), seed(2))
    one, pooled, *_ = judge_scenarios([tally])
    assert (one.verdict, pooled.verdict) == (HOLDS, BREACH)


CHEAP = {
    "real data": {"data": "cancer", "figure": "counts", "design": "random", "n": 200},
    "audits": {"clusters": 60},
}


@pytest.mark.slow
@pytest.mark.parametrize("section", CHEAP)
def test_intervals_of_the_product_a_fourth_as_wide_are_a_breach(section):
    """They cover about 40% of the time; a third as wide was missed in one run of six."""
    pytest.importorskip("sklearn")
    (chosen,) = (x for x in every_scenario()[0] if x.factors == CHEAP[section])
    often, answers = replace(chosen, replications=45), []

    def kept(*tables, **options):
        answers.append(correct(*tables, **options))
        return answers[-1]

    right = run_scenario(often, seed(3), kept)
    assert verdicts(judge_scenarios([right])) == {HOLDS}
    again = iter(answers)  # of the same test sets, in the same order
    wrong = run_scenario(often, seed(3), lambda *_, **__: bent(next(again), too_narrow))
    assert BREACH in verdicts(judge_scenarios([wrong]))
    assert not [*again]


@pytest.mark.slow
@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(
    "section", ["real data", "values", "groups", "group rates", "audits", "scores", "periods"]
)
def test_every_section_sees_intervals_that_lie_too_high(section):
    """Any scenario of it: not one of its figures covers then."""
    pytest.importorskip("sklearn")
    mine = [x for x in every_scenario()[0] if x.section == section]
    few = [x for x in mine if x.factors.get("n", 0) < 1000]  # groups with more take 10 s
    chosen = replace(few[fresh(4).integers(len(few))], replications=1)
    tally = run_scenario(chosen, seed(5), planted(too_high))
    assert tally.covered.max() < 0.2, str(chosen)  # groups that were audited completely are exact


@pytest.mark.usefixtures("short_chains")
def test_a_whole_that_moves_with_by_is_a_breach(monkeypatch):
    """It is off by what was planted, so the product's own whole does not move."""

    def moved(*tables, **options):
        est = correct(*tables, **options)
        return replace(est, whole=est.whole + 1.0) if options.get("by") else est

    monkeypatch.setattr(sections, "FIGURES", (fresh(6).choice(["counts", "totals"]),))
    (finding,) = whole_stays(seed(7), moved)
    assert finding.breach
    assert finding.worst.startswith("off by 1 (")


def test_without_scikit_learn_real_data_are_left_out_and_the_table_says_so(monkeypatch):
    monkeypatch.setattr(sections, "find_spec", lambda name: None)
    scenarios, findings = every_scenario()
    assert not any("data" in x.factors for x in scenarios)
    assert {"values", "groups", "audits", "scores", "periods"} <= {x.section for x in scenarios}
    assert {f.section for f in findings} == {"real data", "group rates", "scores"}
    assert all("scikit-learn" in f.what and not f.breach for f in findings)
