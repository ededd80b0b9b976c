"""Months added to a series: against the whole table, and bad input."""

import json
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from test_periods import correct, few_particles, series

import trueup as tu
from trueup.cli import main
from trueup.estimate.periods.labels import when
from trueup.present.reproduce import (
    SERIES,
    command_line,
    only_in_python,
    python_call,
    when_hashed,
)
from trueup.present.sentences import question

__all__ = ["few_particles"]
pytestmark = pytest.mark.usefixtures("few_particles")


@pytest.fixture
def tables(rng):
    """Six months with a value, and audits of months 1 and 4."""
    table, _ = series(rng, [0.3, 0.3, 0.35, 0.4, 0.4, 0.5], 200)
    spread = rng.lognormal(0, 1, len(table))
    table = table.with_columns(y=pl.Series(spread), id=pl.Series(range(len(table))))
    rows = rng.choice(np.flatnonzero(table["month"] == 1), 50, replace=False).tolist()
    late = rng.choice(np.flatnonzero(table["month"] == 4), 40, replace=False).tolist()
    return table, table[rows], table[late]


def add(est, *tables, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        return est.add(*tables, **options)


@pytest.mark.parametrize("options", [{}, {"value": "y", "id": "id"}])
def test_the_longer_series_is_that_of_the_whole_table(tables, options, tmp_path):
    table, test, late = tables
    whole = correct(table, pl.concat([test, late]), **options)
    est = correct(table[:800], test, **options)
    for path, more in (("one", (table[800:1000],)), ("two", (table[1000:], None))):
        est = add(tu.load(est.save(tmp_path / f"{path}.trueup")), *more)
    est = add(est, test_set=late)
    np.testing.assert_allclose(est.draws, whole.draws, rtol=1e-9)  # sums in another order
    assert [row["month"] for row in est.rows()] == [row["month"] for row in whole.rows()]
    # a new table with audited units of its own, and late ones of an earlier month
    together = add(
        correct(table[:600], test[:30], **options), table[600:], pl.concat([test[30:], late])
    )
    np.testing.assert_allclose(together.draws, whole.draws, rtol=1e-9)


def test_audited_units_do_not_count_twice(tables, tmp_path):
    table, test, late = tables
    est = correct(table[:800], test, value="y")
    longer = add(est, table[800:], late)
    loaded = tu.load(longer.save(tmp_path / "series.trueup"))
    appended = pl.concat([test[:10], late])
    rounded = late.with_columns(y=pl.col("y").round(3))
    for series_, given, month in (
        (est, (None, test), 1),
        (est, (table[800:], pl.concat([test, late])), 1),
        (longer, (None, test), 1),
        (loaded, (None, appended), 4),
        (loaded, (None, rounded), 4),
    ):
        with pytest.raises(tu.DataError, match=f"must not count twice; in {month} those of"):
            series_.add(*given)
    with pytest.warns(tu.TrueupWarning, match="the test set has audited units of 1, where the"):
        twice = est.add(None, test[:20])
    with pytest.raises(tu.OptionError, match=r"`add` takes tables, .*; got 'seed' and 'by'"):
        est.add(table[800:], seed=3, by="g")
    for given in (test, test[:20]):  # neither has the counts of both together
        with pytest.raises(tu.DataError, match="must not count twice"):
            twice.add(None, given)


def test_a_series_of_a_test_set_from_elsewhere_grows_too(tables):
    table, test, late = tables
    options = {"design": "shifted"}
    whole = correct(table, test.drop("month"), **options)
    est = correct(table[:800], test.drop("month"), **options)
    assert np.array_equal(add(est, table[800:]).draws, whole.draws)
    with pytest.raises(tu.OptionError, match="is from elsewhere"):
        est.add(table[800:], late)


def test_the_report_says_how_the_series_grew(tables, tmp_path):
    table, test, _ = tables
    table[:800].write_csv(tmp_path / "old.csv")
    table[800:].write_csv(tmp_path / "new.csv")
    test.write_csv(tmp_path / "test.csv")
    est = tu.correct(
        tmp_path / "old.csv", tmp_path / "test.csv", period="month", seed=1, classes=[0, 1]
    )
    saved = tu.load(est.save(tmp_path / "series.trueup"))
    (tmp_path / "old.csv").unlink()
    longer = add(saved, tmp_path / "new.csv")
    text = longer.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert f".add({str(tmp_path / 'new.csv')!r}, None)" in python_call(longer)
    assert text.count("no longer there") == 0  # hashed when it was saved
    old, new, audited = (str(tmp_path / f"{name}.csv") for name in ("old", "new", "test"))
    assert all(name in text for name in (old, new, audited))
    assert f"of the 1,200 units in {old} and {new} whose class" in text
    assert "hashed when the estimate was saved; those that were added after that, when" in text
    assert command_line(longer).splitlines() == [
        f"trueup correct {old} {audited} --period month --classes 0,1 --seed 1 --save {SERIES}",
        f"trueup add {SERIES} {new}",
    ]
    assert when_hashed(est) == "Files were hashed when this report was written."
    assert when_hashed(tu.load(longer.save(tmp_path / "series.trueup"))).endswith("was saved.")
    in_memory = replace(longer, asked=longer.asked | {"added": [["<polars.DataFrame>", new]]})
    assert command_line(in_memory) is None
    assert only_in_python(in_memory) == ["tables in memory that were added"]
    assert "1,200 units whose class" in question(in_memory)


def test_what_cannot_be_added_is_refused(tables, tmp_path):
    table, test, late = tables
    est = correct(table[:800], test)
    elsewhere = late.with_columns(month=pl.lit(9, pl.Int64))
    cases = [
        ((table[600:1000],), "must hold new periods only; the series already has '?4"),
        ((), "needs a table of new periods, or a test set"),
        ((table[800:], elsewhere), "has 40 in others, such as 9"),
        ((table[800:].with_columns(predicted=pl.lit(3)),), "must hold the classes of the series"),
        ((table[800:].drop("month"),), "must have a column 'month'"),
        ((None, late.drop("month")), "must have a column 'month'"),
        ((None, pl.concat([late] * 9)), "population|more"),
        ((None, tu.draw(late, 5, id="id", seed=1)), "A work list cannot be added"),
    ]
    for given, words in cases:
        with pytest.raises(tu.TrueupError, match=words):
            est.add(*given)
    with pytest.raises(tu.OptionError, match="added to a series only"):
        correct(table, test, period=None).add(table[800:])


def test_messages_name_nothing_that_add_does_not_take(tables):
    table, test, late = tables
    est = correct(table[:600], test, id="id")
    new, second = table[600:], late.head(1)
    holes = new.with_columns(predicted=pl.when(pl.col("id") > 700).then("predicted"))
    cases = [
        ((new.rename({"month": "when"}),), "must have a column 'month'"),
        ((new.rename({"month": "Month"}),), "did you mean 'Month'"),
        ((holes,), "must have a usable value"),
        ((new, late.drop("predicted").with_columns(id=pl.col("id") + 9999)), "not in predictions"),
        ((new, pl.concat([test, late]).drop("month")), "need the columns 'month' and 'predicted'"),
        ((new, second.with_columns(predicted=1 - pl.col("predicted"))), "another predicted class"),
    ]
    for given, words in cases:
        with pytest.raises(tu.TrueupError, match=words) as caught:
            est.add(*given)
        assert "--" not in str(caught.value)
        assert "name the column" not in str(caught.value)


def test_the_command_adds_to_the_file(tables, tmp_path):
    table, test, late = tables
    for name, rows in (("old", table[:800]), ("new", table[800:]), ("all", table)):
        rows.drop("true").write_csv(tmp_path / f"{name}.csv")
    test.write_csv(tmp_path / "test.csv")
    late.write_csv(tmp_path / "late.csv")
    pl.concat([test, late]).write_csv(tmp_path / "both.csv")
    options = ["--period", "month", "--seed", "1", "--draws", "200", "--json", "--quiet"]

    def run(*words):
        paths = [str(tmp_path / word) if "." in word else word for word in words]
        return CliRunner().invoke(main, paths)

    assert run("correct", "old.csv", "test.csv", *options, "--save", "s.trueup").exit_code == 0
    assert run("add", "s.trueup", "new.csv", "--save", "longer.trueup").exit_code == 0
    assert len(tu.load(tmp_path / "s.trueup").rows()) == 10  # as it was
    last = run("add", "longer.trueup", "--test-set", "late.csv", "--json")
    whole = run("correct", "all.csv", "both.csv", *options)
    assert json.loads(last.stdout)["rows"] == json.loads(whole.stdout)["rows"]
    before = (tmp_path / "longer.trueup").read_bytes()
    again = run("add", "longer.trueup", "new.csv")
    assert again.exit_code == 2
    assert "new periods only" in again.stderr
    assert (tmp_path / "longer.trueup").read_bytes() == before


@pytest.mark.parametrize(
    ("own", "other", "words"),
    [
        ("text", "whole", "with text such as '2024-0.'; got whole numbers, 202405"),
        ("whole", "text", "with whole numbers such as 20240.; got text, '2024-05'"),
        ("date", "dashed", "with dates such as 2024-0.-01; got text, '2024-05-01'"),
        ("dashed", "date", "with text such as '2024-0.-01'; got dates, 2024-05-01"),
    ],
)
def test_months_written_as_another_kind_are_refused(tables, own, other, words):
    """They were put in one order, a TypeError, or stood side by side as dates and text."""
    table, test, _ = tables
    month = pl.col("month")
    forms = {
        "text": pl.format("2024-0{}", month),
        "whole": 202400 + month.cast(pl.Int64),
        "date": pl.date(2024, month, 1),
        "dashed": pl.format("2024-0{}-01", month),
    }
    series_, new = (
        [x.with_columns(month=forms[form]) for x in (table, test)] for form in (own, other)
    )
    est = correct(series_[0][:800], series_[1])
    with pytest.raises(tu.DataError, match=words):
        add(est, new[0][800:1000])
    with pytest.raises(tu.DataError, match="must label periods as the series does"):
        add(est, None, new[1][:20])


def test_the_command_refuses_them_without_a_traceback(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, test, _ = tables
    text, whole = pl.format("2024-0{}", pl.col("month")), 202400 + pl.col("month")
    correct(table[:800].with_columns(month=text), test.with_columns(month=text)).save("s.trueup")
    table[800:1000].with_columns(month=whole).write_csv("may.csv")
    done = CliRunner().invoke(main, ["add", "s.trueup", "may.csv"])
    assert done.exit_code == 2
    assert "must label periods as the series does" in done.output


@pytest.mark.parametrize(
    ("label", "hint"),
    [("2023-8", "2023-08"), ("Nov 2023", "2023-11"), ("november-2023", "2023-11"),
     ("3/2023", "2023-03"), ("2023 Dec", "2023-12"), ("J 2023", None), ("13.2023", None)],
)  # fmt: skip
def test_a_month_in_another_form_is_told_how_to_write_it(label, hint):
    with pytest.raises(tu.DataError, match="can be put in order") as refusal:
        when(["2023-01", label])
    assert refusal.value.hint.startswith(f"for {label} write {hint}; " if hint else "write years")
