"""A plan from scores alone: by the textbook's variance, and what `correct` then gives."""

import numpy as np
import polars as pl
import pytest

import trueup as tu
from trueup.errors import DataError, OptionError


def scored(rng, N=20_000):
    """Units with calibrated scores: their table and who is 'a'."""
    a = rng.random(N) < 0.3
    odds = 2 * (2 * a - 1 + rng.standard_normal(N)) + np.log(0.3 / 0.7)
    p = 1 / (1 + np.exp(-odds))
    label = np.where(odds > 0, "a", "b")
    table = pl.DataFrame({"id": np.arange(N), "predicted": label, "sure": np.maximum(p, 1 - p)})
    return table, a


def test_variance_is_that_of_the_textbook():
    """Two bands in each of two classes of 1,000 and 3,000 units, right in 60% or 80%."""
    sure = np.repeat([0.6, 0.8, 0.6, 0.8], [500, 500, 1000, 2000])
    table = pl.DataFrame({"predicted": np.repeat(["a", "b"], [1000, 3000]), "sure": sure})
    made = tu.plan(table, score="sure", half_width=100.0, allocations=["proportional"])
    rows = {row["allocation"]: row for row in made.rows()}
    N, wrong = np.array([1000, 3000]), np.array([0.3, 0.8 / 3])
    n = np.array(rows["proportional"]["per_class"])
    var = (N * (N - n) * wrong * (1 - wrong) / n).sum()
    assert rows["proportional"]["half_width"] == pytest.approx(1.96 * np.sqrt(var), rel=0.01)
    assert 99 < rows["proportional"]["half_width"] <= 100
    M, e = np.array([500, 500, 1000, 2000]), np.array([0.4, 0.2, 0.4, 0.2])
    weight = M * np.sqrt(e * (1 - e))
    m = rows["by score"]["n"] * weight / weight.sum()
    var = (M * (M - m) * e * (1 - e) / m).sum()
    assert rows["by score"]["half_width"] == pytest.approx(1.96 * np.sqrt(var), rel=0.02)
    assert rows["by score"]["n"] < rows["proportional"]["n"]
    assert made.interest == "a"
    assert made.info["truth"] == pytest.approx(700 + 800, rel=0.01)


def test_correct_then_has_the_planned_precision(rng):
    table, a = scored(rng)
    best = tu.plan(table, score="sure", cv=0.05, interest="a").rows()[0]
    work = tu.draw(table, best["n"], id="id", score="sure", seed=1)
    truth = np.where(a[work["id"].to_numpy()], "a", "b")
    row = tu.correct(table, work.with_columns(true=pl.Series(truth)), seed=1).rows()[0]
    assert (row["upper"] - row["lower"]) / 2 == pytest.approx(best["half_width"], rel=0.2)


def test_what_is_printed(rng):
    made = tu.plan(scored(rng, 2000)[0], score="sure", cv=0.1, cost={"a": 1, "b": 5})
    assert "by score" in str(made)
    assert "takes the scores at their word" in str(made)
    assert made.best["cost"] == made.best["per_class"][0] + 5 * made.best["per_class"][1]
    assert made.plot().to_dict()["layer"]


def test_bad_input(rng):
    table, _ = scored(rng, 500)
    with pytest.raises(OptionError, match="got `test_set` too"):
        tu.plan(table, table, score="sure", cv=0.1)
    with pytest.raises(DataError, match="all have nearly the same"):
        tu.plan(table.with_columns(sure=pl.lit(0.9)), score="sure", cv=0.1)
    with pytest.raises(OptionError, match="Set a goal"):
        tu.plan(table, score="sure")
