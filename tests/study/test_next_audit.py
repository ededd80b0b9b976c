"""`check` and `plan` of a series: audits that agree or not, and when to audit again."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.estimate.test_periods import P, series

import trueup as tu
from trueup.cli import main
from trueup.errors import OptionError

WORSE = np.array([[0.5, 0.5], [0.15, 0.85]])


def found(table, test, **options):
    checked = tu.check(table.drop("true"), test, period="month", classes=[0, 1], **options)
    return {row["question"]: row for row in checked.rows()}


def test_check_of_a_series_asks_within_audited_periods(rng):
    """Months differ, so that units of one month do not look like the year's: no false alarm."""
    table, test = series(rng, [0.1, 0.2, 0.3, 0.4, 0.8], 2000, {1: 300})
    rows = found(table, test)
    assert rows["design 'random'"]["value"] > 1e-4
    assert rows["audited periods"]["value"] == {"1": 300}
    assert "4 later periods" in rows["audited periods"]["words"]
    assert "in 5," in rows["predictions by period"]["words"]
    assert "cannot be seen" in rows["error rates differ by period"]["words"]
    whole = tu.check(table.drop("true"), test, classes=[0, 1])
    assert any(f.question == "design 'random'" and f.doubt for f in whole.findings)


def test_audits_that_disagree_are_found(rng):
    table, test = series(rng, [0.4] * 3, 1000, {1: 300, 3: 300}, [P, P, WORSE])
    row = found(table, test)["error rates differ by period"]
    assert row["doubt"]
    assert "drift" in row["words"]


def test_units_that_do_not_look_like_their_period_are_found(rng):
    table, test = series(rng, [0.4] * 3, 2000, {2: 400})
    some = test.filter((test["predicted"] == 0).to_numpy() | (np.arange(400) % 4 == 0))
    row = found(table, some)["design 'random'"]
    assert row["doubt"]
    assert "do not look like those of their period" in row["words"]


def test_values_that_differ_between_periods_are_told(rng):
    table, test = series(rng, [0.4] * 3, 1000, {1: 200})
    y = np.where(table["month"] == 3, 2.0, 1.0)
    table = table.with_columns(y=y)
    test = test.with_columns(y=np.ones(len(test)))
    words = found(table, test, value="y")["values by period"]["words"]
    assert "0.75 times" in words
    assert "1.50 times the mean" in words or "1.50 times in 3" in words


def plan(table, test, **options):
    options = {"period": "month", "classes": [0, 1], "seed": 1, "draws": 500} | options
    return tu.plan(table.drop("true"), test, **options)


def test_the_interval_planned_is_that_of_correct(rng):
    """Today's half-width is what `correct` gives, and that of later periods grows with drift."""
    table, test = series(rng, [0.3] * 4, 2000, {2: 300})
    made = plan(table, test, drift=0.02, interest=0, draws=2000)
    since = [row["since"] for row in made.rows()]
    assert since == [2.0, 3.0, 4.0, 5.0, 8.0, 11.0, 14.0, 20.0, 26.0]
    est = tu.correct(
        table.drop("true"), test, period="month", drift=0.02, classes=[0, 1], seed=2, draws=2000
    )
    row = next(r for r in est.rows() if r["month"] == 4 and r["class"] == 0)
    half = [point["half_width"] for point in made.rows()]
    assert half[0] == pytest.approx((row["upper"] - row["lower"]) / 2, rel=0.12)
    assert half[-1] > 1.3 * half[0]
    # a series with those months really in it, like the last one, says the same
    last = table.filter(table["month"] == 4)
    more = [last.with_columns(month=np.full(len(last), 4 + k)) for k in range(1, 9)]
    longer = type(table)({n: np.concatenate([x[n] for x in (table, *more)]) for n in table.columns})
    est = tu.correct(
        longer.drop("true"), test, period="month", drift=0.02, classes=[0, 1], seed=2, draws=2000
    )
    row = next(r for r in est.rows() if r["month"] == 10 and r["class"] == 0)
    assert half[4] == pytest.approx((row["upper"] - row["lower"]) / 2, rel=0.15)


def test_when_to_audit_again(rng):
    table, test = series(rng, [0.3] * 4, 2000, {4: 300})
    made = plan(table, test, cv=0.2)
    assert [*made.enough] == [0.0, 0.002, 0.005, 0.01]
    assert made.enough[0.0] == 24.0
    assert "not needed within 24 periods of that audit" in str(made)
    fast = plan(table, test, drift=0.1, half_width=made.rows()[0]["half_width"] * 1.5)
    assert fast.enough[0.1] < 12
    assert f"within {fast.enough[0.1]:g} periods of that audit" in str(fast)
    assert plan(table, test, drift=0.1, half_width=1.0).enough == {0.1: None}
    assert "audit again:\n  10 points: now" in str(plan(table, test, drift=0.1, half_width=1.0))
    assert made.plot().to_dict()["layer"]


def test_the_command(rng, tmp_path):
    table, test = series(rng, [0.3] * 3, 300, {1: 80})
    table.drop("true").write_csv(tmp_path / "t.csv")
    test.write_csv(tmp_path / "a.csv")
    both = [str(tmp_path / "t.csv"), str(tmp_path / "a.csv"), "--period", "month"]
    planned = ["plan", *both, "--drift", "0.01", "--cv", "0.1", "--json", "--seed", "1"]
    answer = json.loads(CliRunner().invoke(main, planned).stdout)
    assert {row["drift"] for row in answer["rows"]} == {0.01}
    told = CliRunner().invoke(main, ["check", *both]).stdout
    assert "audited periods: 1 80; 2 later periods" in told


def test_bad_input_of_a_plan(rng):
    table, test = series(rng, [0.3] * 3, 200)
    with pytest.raises(OptionError, match="`drift` needs `period`"):
        plan(table, test, period=None, drift=0.01, cv=0.1)
    with pytest.raises(OptionError, match="got `next` too"):
        plan(table, test, next=10)
    with pytest.raises(OptionError, match="needs both tables"):
        tu.plan(table.drop("true"), period="month")
    with pytest.raises(OptionError, match="`period` cannot be combined with `by`"):
        tu.check(table.drop("true"), test, period="month", by="month")
    with pytest.raises(OptionError, match="`drift` must be how far"):
        plan(table, test, drift=0.5)
    with pytest.raises(OptionError, match="more than 0"):
        plan(table, test, cv=-1.0)
