"""Every message that docs/troubles.md explains, brought about by the mistake that it is about."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueup as tu
from trueup.count.labels import like_an_id
from trueup.verify.populations import grouped, months

PREDICTIONS = "unit,predicted,y,region\n1,a,1,n\n2,a,2,n\n3,b,3,s\n4,b,4,s\n5,a,2,n\n6,b,1,s\n"
TEST_SET = "unit,predicted,true,y\n1,a,a,1\n2,a,b,2\n3,b,b,3\n4,b,b,4\n"


def raised(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The message of the error that a call raises, without its hint."""
    try:
        call(*arguments, **options)
    except tu.TrueupError as error:
        return str(error).split("\n\nHint:")[0]
    raise AssertionError(f"no error: {arguments} {options}")


def warned(call: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(*arguments, **options)
    return [str(x.message) for x in found if issubclass(x.category, tu.TrueupWarning)]


def messages() -> Iterator[str]:
    """Give every message; files are written in the working folder."""
    yield from _tables()
    yield from _matching()
    yield from _options()
    yield from _periods()
    yield from _few_errors()
    yield from _large_units()
    yield from _given_in_sums()
    yield from _no_answer()
    yield from _warnings()
    yield from _studies()
    yield from _published()
    yield from _audits()


def _files(predictions: str = PREDICTIONS, test_set: str = TEST_SET) -> tuple[str, str]:
    Path("predictions.csv").write_text(predictions, encoding="utf-8")
    Path("test_set.csv").write_text(test_set, encoding="utf-8")
    return "predictions.csv", "test_set.csv"


def _scored(test_set: str = "predicted,true,p,q\na,a,0.6,0.4\nb,b,0.9,0.1\n") -> tuple[str, str]:
    """Units with a score: the predicted class's own in p, the other one's in q."""
    rows = "".join(f"{i},{'ab'[i % 2]},0.{i},{1 - i / 10:.1f}\n" for i in range(6, 10))
    return _files("unit,predicted,p,q\n" + rows * 3, test_set)


def _tables() -> Iterator[str]:
    good = _files()
    yield raised(tu.correct, "nowhere.csv", good[1])
    yield raised(tu.correct, "table.dat", good[1])
    yield raised(tu.correct, 3, good[1])
    yield raised(tu.correct, *good, predicted="predictd")
    yield raised(tu.correct, *_files(PREDICTIONS + "7,,3,n\n"))
    yield raised(tu.correct, *_files("predicted,y\na,1\nb,many\n"), value="y")
    yield raised(tu.correct, *_files("predicted\n1.5\n2.5\n"))
    yield raised(tu.correct, *_files("predicted\n1\n2\n"))
    late = "predicted\n" + "1\n" * 30_000 + "01\n"
    yield raised(tu.correct, *_files(late, "predicted,true\n1,1\n2,2\n"), overlap=False)
    yield raised(tu.correct, *_files("predicted,y\na,1\nb,2\npredicted,y,z\n" + "a,1,2\n" * 9))
    yield raised(tu.correct, *_files("predicted,y\n" + "a,1\n" * 30_000 + "b,2,3\n"), value="y")
    yield raised(tu.correct, *_files("unit,predicted\n"))
    yield raised(tu.correct, *_files("predicted,y\na,1e200\nb,1e200\n"), value="y")
    yield raised(tu.correct, *_files(PREDICTIONS + "7,c,3,n\n"))
    yield raised(tu.correct, *_files(), classes=["a", "c"])
    yield raised(tu.correct, *_files("predicted\nx\nx\n"), classes=["a", "b"])
    untrue = "predicted,true\na,a\nb,b\nc,b\n"
    yield raised(tu.correct, *_files(untrue, untrue), design="shifted")
    yield raised(tu.correct_counts, [[4, 1], [0, 0]], [10, 90], design="shifted")
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], {"a": 10, "b": 90})
    margins = pl.DataFrame({"true": ["a", "b", "All"], "a": [4, 2, 6], "b": [1, 3, 4]})
    margins = margins.with_columns(All=pl.col("a") + pl.col("b"))
    yield raised(tu.correct_counts, margins, {"a": 10, "b": 90})
    numbered = pl.Series([10, 90]).to_pandas()
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], numbered, classes=[1, 0])
    yield raised(tu.correct, *_files("predicted\na\na\n", "predicted,true\na,a\n"))
    labels = [f"class {i}" for i in range(501)]
    many = "true,predicted\n" + "\n".join(f"{x},{x}" for x in labels)
    yield raised(tu.correct, *_files(many, many))


def _matching() -> Iterator[str]:
    yield raised(tu.correct, *_files(test_set="unit,true\n1,a\n99,b\n"), id="unit")
    yield raised(tu.correct, *_files(test_set="unit,true\n1,a\n1,b\n"), id="unit")
    yield raised(tu.correct, *_files(test_set="unit,true,predicted\n1,a,b\n3,b,b\n"), id="unit")
    yield raised(tu.correct, *_files(test_set="unit,true\nx1,a\nx2,b\n"), id="unit")
    other = _files(test_set=TEST_SET.replace("b,4", "b,5"))
    yield from warned(tu.correct, *other, id="unit", value="y", seed=1)
    yield raised(tu.correct_counts, [[9, 1], [2, 9]], [10, 90])
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], [9, 99], None, [[9, 1], [2, 3]])
    strata = _files(test_set="predicted,true,region\na,a,n\nb,b,w\n")
    yield raised(tu.correct, *strata, strata="region")


def _options() -> Iterator[str]:
    yield raised(tu.correct, *_files(), by="region", value="")
    yield raised(tu.correct, *_files(), weight=["y"])
    yield raised(tu.correct, *_files(), classes=5)
    assumed = {"P": [[0.9, 0.1], [0.1, 0.9]], "base_rates": [0.2, 0.8], "N": 1_000}
    yield raised(tu.plan, **assumed, next="x")
    yield raised(tu.plan, **assumed, half_width="x")
    yield raised(tu.plan, **assumed | {"P": "x"}, next=5)
    yield raised(tu.correct, *_files(), by=3)
    yield raised(tu.correct, *_files(), by="estimate")
    yield raised(tu.correct, *_files(), by="region", noise=False)
    unsure = _files(PREDICTIONS + "7,unsure,1,n\n")
    yield raised(tu.correct, *unsure, by="region", classes=["a", "b"])
    counts = ([[4, 1], [2, 3]], [10, 90])
    yield raised(tu.correct_counts, *counts, design="srs")
    yield raised(tu.correct_counts, *counts, method="magic")
    yield raised(tu.correct_counts, *counts, interval=95)
    yield raised(tu.correct_counts, *counts, draws=10)
    yield raised(tu.correct_counts, *counts, prior=tu.Dirichlet([1, 2, 3]))
    yield raised(tu.correct_counts, [4, 1], [10, 90])
    nothing = tu.Dirichlet(1.0, 1e-12)
    yield raised(tu.correct_counts, *counts, prior=nothing, design="shifted", method="full")
    yield raised(tu.correct_counts, [[4, 1, 2], [2, 3, 1]], [10, 90, 9], method="inverse")
    yield raised(tu.correct, *_files(), drawn_within="region", strata="region")
    yield raised(tu.correct, *_files(), drawn_within="region", design="shifted")
    both = {"drawn_within": "region", "design": "by_prediction", "method": "difference"}
    yield raised(tu.correct, *_files(), **both)
    yield raised(tu.correct, *_scored(), score="p", strata="unit")
    yield raised(tu.correct, *_scored(), score="p", by="unit", design="by_class")
    yield raised(tu.correct, *_files(), by="region", executor="dask")
    yield from _judges()
    yield raised(tu.correct, *_scored(), score="p", method="inverse")
    yield raised(tu.correct, *_scored(), score="p", value="p", design="shifted")
    yield raised(tu.correct, *_scored(), score="p", value="p", period="unit")
    yield raised(tu.correct, *_scored(), score=["p", "q"])
    yield raised(tu.correct, *_scored(), score="predicted")
    yield raised(tu.correct, *_scored(test_set="predicted,true\na,a\nb,b\n"), score="p")
    same = "predicted,true,p\n" + "a,a,0.9\nb,b,0.7\n" * 4
    yield raised(tu.correct, *_scored(test_set=same), score="p")
    yield from warned(tu.correct, *_scored(), score=["q", "p"], classes=["a", "b"], seed=1)
    order = "predicted,true,p\n" + "a,a,0.1\nb,b,0.2\na,b,0.9\nb,a,0.8\n" * 9
    turned = _files("predicted,p\n" + "a,0.1\nb,0.2\na,0.9\nb,0.8\n" * 50, order)
    yield next(x for x in warned(tu.correct, *turned, score="p", seed=1) if "less often" in x)
    yield raised(tu.correct, *_scored(), score=[])
    yield raised(tu.correct_counts, *counts, noise="no")
    yield raised(tu.prior.per_class, ["jeffreys"])
    flat = "predicted,p\n" + "a,90\nb,90\n" * 9
    both = _files(flat, "predicted,true,p\na,a,90\nb,b,90\n")
    yield from warned(tu.correct, *both, score="p", seed=1)
    placed = "predicted,true,region\na,a,n\nb,b,s\n"
    yield raised(tu.correct, *_files(test_set=placed), drawn_within="region", method="bayes")
    yield raised(tu.correct_counts, [[0.4, 0.1], [0.2, 0.3]], [10, 90])
    yield raised(tu.correct_counts, *counts, predicted_squares=[1, 2])
    yield raised(tu.correct_counts, *counts, [100, 900], [10, 20])


def _periods() -> Iterator[str]:
    """Two months of which the second one's predictions are impossible; an audit of both; a jump."""
    predicted = ["a"] * 2100 + ["b"] * 900 + ["a"] * 100 + ["b"] * 2900
    table = {"month": [1] * 3000 + [2] * 3000, "predicted": predicted}
    audit = {"month": [1] * 400, "predicted": ["a"] * 190 + ["b"] * 10 + ["a"] * 90 + ["b"] * 110}
    audit["true"] = ["a"] * 200 + ["b"] * 200
    options = {"period": "month", "draws": 200, "seed": 1}
    yield from warned(tu.correct, pl.DataFrame(table), pl.DataFrame(audit), **options)
    few = ["a"] * 2100 + ["b"] * 900 + ["a"] * 1400 + ["b"] * 1600  # 'a' may be absent in month 2
    yield from warned(
        tu.correct, pl.DataFrame(table | {"predicted": few}), pl.DataFrame(audit), **options
    )
    later = audit | {"month": [2] * 400, "predicted": ["a"] * 60 + ["b"] * 140 + ["b"] * 200}
    both = pl.concat([pl.DataFrame(audit), pl.DataFrame(later)])
    table["predicted"] = ["a"] * 2100 + ["b"] * 900 + ["a"] * 450 + ["b"] * 2550
    yield from warned(tu.correct, pl.DataFrame(table), both, **options)
    small = pl.DataFrame(audit).gather_every(10)
    both = pl.concat([small, small.with_columns(month=pl.lit(2, pl.Int64))])
    table["predicted"] = (["a"] * 2100 + ["b"] * 900) * 2
    yield from warned(tu.correct, pl.DataFrame(table), both, **options)
    beta, P = months("constant", 4, 12)
    beta[6, 0] /= 4  # a month unlike the others
    made = grouped(beta / beta.sum(axis=1, keepdims=True), P, 2000, np.random.default_rng(1))
    units = pl.DataFrame(made).rename({"group": "month"})
    yield from warned(tu.correct, units.drop("true"), units[8000:8200], **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = tu.correct(pl.DataFrame(table), both, **options)
    days = pl.DataFrame({"month": range(2001), "predicted": ["a", "b", "b"] * 667})
    yield raised(tu.correct, days, days[:3].with_columns(true="predicted"), period="month")
    with_drift = {"period": "month", "drift": 0.5}
    yield raised(tu.correct, pl.DataFrame(table), both, **with_drift)
    elsewhere = {"design": "shifted", "drift": 0.01, "period": "month"}
    yield raised(tu.correct, pl.DataFrame(table), both.drop("month"), **elsewhere)
    yield raised(tu.plan, pl.DataFrame(table), both, period="month", next=10)
    yield raised(tu.plan, pl.DataFrame(table), period="month")
    yield raised(tu.plan, pl.DataFrame(table), both, score="month", cv=0.1)
    yield raised(est.add, pl.DataFrame(table))
    scores = [x.with_columns(p=pl.int_range(pl.len()) % 7) for x in (pl.DataFrame(table), both)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scored = tu.correct(*scores, **options, score="p")
    yield raised(scored.add, scores[0])
    yield raised(est.add, pl.DataFrame(table), seed=3)
    yield raised(est.add, test_set=small.with_columns(month=pl.lit(3, pl.Int64)))
    yield raised(est.add, pl.DataFrame({"month": [3], "predicted": ["c"]}))
    yield raised(est.add, pl.DataFrame({"month": ["3"], "predicted": ["a"]}))
    yield raised(est.add, test_set=small)
    yield next(x for x in warned(est.add, test_set=small[1:]) if "count twice" in x)
    yield raised(tu.correct_counts([[4, 1], [2, 3]], [10, 90], seed=1).add, "march.csv")
    Path("old.trueup").write_text("month,count")
    yield raised(tu.load, "old.trueup")


def _few_errors() -> Iterator[str]:
    """Six wrong predictions among 60; values differ, have no squares, or are partly losses."""
    n = [[17, 3], [3, 37]]
    sums, squares = [[34, 6], [3, 37]], [[102, 18], [6, 74]]
    whole = ([300, 700], [600, 900], [2000, 2500])
    yield from warned(tu.correct_counts, n, *whole, sums, squares, seed=1)
    yield from warned(tu.correct_counts, n, *whole[:2], seed=1)
    losses = [[34, 6], [-3, -37]]
    yield from warned(
        tu.correct_counts, n, whole[0], [600, -900], whole[2], losses, squares, seed=1
    )


def _given_in_sums() -> Iterator[str]:
    """Units that are predicted wrongly are three times as large, and the population is summed."""
    n, mean = np.array([[150, 30], [30, 90]]), np.array([[10.0, 30], [30, 10]])
    sums, squares = n * mean, n * mean**2 * 1.3
    whole = (10 * x.sum(axis=0) for x in (n, sums, squares))
    yield from warned(tu.correct_counts, n, *whole, sums, squares, draws=200, seed=1)


def _large_units() -> Iterator[str]:
    """One unit of a thousand has half of a total, unaudited; chains; strata without an error."""
    population = pl.DataFrame({"predicted": ["a", "b"] * 500, "y": [1.0, 1.0] * 499 + [1.0, 600.0]})
    cells = (("a", "a", 30), ("a", "b", 6), ("b", "a", 6), ("b", "b", 30))
    rows = [(h, s, 1.0) for h, s, times in cells for _ in range(times)]
    test = pl.DataFrame(rows, schema=["predicted", "true", "y"], orient="row")
    yield from warned(tu.correct, population, test, value="y", seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trueup.estimate.cell_totals.RHAT", 0.5)
        patch.setattr("trueup.estimate.cell_totals.MOST_BATCHES", 1)
        said = warned(tu.correct, population, test, value="y", seed=1)
        yield next(words for words in said if "R-hat" in words)
    size = np.geomspace(1, 50, 2000)  # errors rise with it, and nobody audited ten that are larger
    wrong = np.arange(2000) % np.linspace(20, 2, 2000).astype(int) == 0
    table = pl.DataFrame({"predicted": "b", "y": np.append(size, np.full(10, 900.0))})
    audited = {"predicted": "b", "y": size, "true": np.where(wrong, "a", "b")}
    yield from warned(
        tu.correct, table, pl.DataFrame(audited)[::7], value="y", classes=["a", "b"], seed=1
    )
    regions = ["n", "n", "s", "s"] * 250, ["n" if h == s else "s" for h, s, _ in rows]
    tables = (
        table.with_columns(region=pl.Series(region))
        for table, region in zip((population, test), regions, strict=True)
    )
    yield from warned(tu.correct, *tables, drawn_within="region", method="difference")


def _no_answer() -> Iterator[str]:
    yield raised(tu.correct_counts, [[4, 1], [0, 0]], [10, 90], method="inverse")
    yield raised(tu.correct_counts, [[2, 2], [3, 3]], [10, 90], method="inverse")
    yield raised(
        tu.correct_counts, [[4, 1], [2, 3]], [100, 0], design="shifted", method="constrained"
    )
    yield raised(tu.correct_counts, [[4, 0], [2, 1]], [10, 90], method="calibrated")
    yield raised(
        tu.correct_counts, [[4, 1], [2, 3]], [10, 90], method="difference", design="shifted"
    )
    yield raised(
        tu.correct_counts, [[4, 1], [2, 3]], [10, 90], method="test_set", design="by_class"
    )
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], [20, 900], method="test_set")
    naive = tu.correct_counts([[4, 1], [2, 3]], [10, 90], method="naive")
    yield raised(naive.share)
    yield raised(naive.accuracy)
    est = tu.correct_counts([[4, 1], [2, 3]], [10, 90], seed=1)
    yield raised(est.mean_value)
    yield raised(est.combine, {"x": [0, 7]})
    yield raised(est.combine, {"x": [0, 1]})
    yield raised(est.margin, "region")
    good = _files()
    yield raised(tu.correct, *good, panel=0.9)
    yield raised(tu.correct, *good, drift=0.01)
    yield raised(tu.correct, *good, pooling="none")
    yield raised(tu.correct, *good, by="region", sample_of=500)
    yield raised(tu.correct, *good, text="nosuch")
    yield raised(tu.correct, *good, by=["region", "region"])
    yield raised(tu.correct, *good, by="id", id="id")
    yield raised(tu.correct, *good, by="predicted")
    yield raised(tu.correct, *good, by="true")
    yield raised(tu.correct, *good, classes=["a", "a", "b"])
    yield like_an_id("region", 1_500, 2_000)[0]
    yield raised(tu.correct, *good, true="predicted")
    yield raised(tu.correct, *good, classes="ab")
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], between=3.0)
    yield raised(tu.correct_counts, np.ones((2, 2, 2)), [[10, 90], [10, 90]])
    yield raised(est.contrast, 0, 7)
    yield raised(est.contrast, 0)
    yield raised(est.again, by="region")
    three = tu.correct_counts([[4, 1, 1], [2, 3, 1], [1, 1, 8]], [10, 90, 50], seed=1)
    yield raised(three.combine({"x": [0, 1]}).again)
    own = tu.prior.log_density(lambda P: np.log(P).sum())
    shifted = tu.correct_counts([[40, 1], [2, 30]], [10, 90], design="shifted", prior=own, seed=1)
    yield raised(tu.load(shifted.save("own.trueup")).again)
    yield raised(
        est.contrast, tu.correct_counts([[4, 1], [2, 3]], [10, 90], classes=["a", "b"], seed=1)
    )
    yield from warned(est.contrast, est)
    groups = _files()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = tu.correct(*groups, by="region", id="unit", seed=1)
    yield from warned(two.contrast, "n", "s")
    yield raised(tu.correct, *groups, by="region", method="calibrated")
    rng = np.random.default_rng(1)
    s, region = rng.integers(0, 2, 3000), np.arange(3000) % 9
    s_hat = np.where(rng.random(3000) < np.where(region == 8, 0.4, 0.05), 1 - s, s)
    units = pl.DataFrame({"region": region, "predicted": s_hat})
    test = units.with_columns(true=pl.Series(s))[2100:]
    yield from warned(tu.correct, units, test, by="region", draws=400, seed=1)
    strata = _files(test_set="predicted,true,region\na,a,n\nb,b,s\n")
    yield raised(tu.correct, *strata, strata="region", design="by_class", method="constrained")


SURE = tu.Dirichlet([[500, 1], [1, 500]], [501, 501])
"""A prior that is sure of the predictions."""


def _heavy_tails(smaller: float = 1.0) -> tuple[Any, Any]:
    """A test set from elsewhere with few wrong predictions and values far apart."""
    i = np.arange(2000)
    true = np.where(i % 4 == 0, "a", "b")
    predicted = np.where(i % 10 == 0, np.where(true == "a", "b", "a"), true)
    y = np.exp(3.0 * np.sin(1.0 + 7.0 * i)) * np.where(true == "a", smaller, 1.0)
    population = {"predicted": predicted, "y": y}
    table = pa.table(population | {"true": true})
    return pa.table(population), table.slice(0, 160)


def _contradicted_prior() -> tuple[Any, Any]:
    """A third of the units of `a` were predicted `b`, whatever their value."""
    i = np.arange(600)
    true = np.where(i % 2 == 0, "a", "b")
    predicted = np.where(i % 6 == 0, "b", true)
    y = 1.0 + i % 7
    population = {"predicted": predicted, "y": y}
    table = pa.table(population | {"true": true})
    return pa.table(population), table.slice(0, 120)


def _warnings() -> Iterator[str]:
    table, v_hat = [[40, 10], [20, 30]], [1_000, 9_000]
    yield from warned(tu.correct_counts, table, v_hat, seed=1)
    yield from warned(tu.correct_counts, table, v_hat, method="joint", design="shifted", seed=1)
    by_prediction = {"method": "constrained", "design": "by_prediction", "seed": 1}
    yield from warned(tu.correct_counts, table, v_hat, **by_prediction)
    yield from warned(tu.correct_counts, table, v_hat, method="calibrated", design="shifted")
    yield from warned(tu.correct_counts, [[4, 1], [0, 0]], [80, 20], seed=1)
    yield from warned(tu.correct_counts, table, v_hat, interval=0.9999, seed=1)
    yield from warned(tu.correct_counts, table, [60, 40], seed=1)
    yield from warned(tu.correct, *_files(PREDICTIONS.replace("5,a", "5,A")), classes=["a", "b"])
    yield from warned(tu.correct_counts, table, [60, 40], [600, 900], design="by_class", seed=1)
    yield from warned(tu.correct_counts, table, [600, 400], [600, 900], method="calibrated")
    yield from warned(tu.correct_counts, [[4, 0], [0, 6]], [400, 600], method="calibrated")
    yield from warned(tu.correct_counts, [[2, 1], [1, 2]], [50, 50], method="inverse", seed=1)
    sums = {"predicted_sums": [0.1, 9_000.0], "predicted_squares": [1.0, 2e5]}
    table = [[999, 1], [200, 800]]
    yield from warned(tu.correct_counts, table, [250, 750], **sums, design="shifted", seed=1)
    values = {
        "predicted_sums": [2000.0, 9000.0],
        "predicted_squares": [9e3, 5e4],
        "test_sums": [[40.0, 60.0], [20.0, 30.0]],
        "test_squares": [[50.0, 400.0], [25.0, 40.0]],
    }
    yield from warned(
        tu.correct_counts, [[40, 10], [20, 30]], [1_000, 3_000], **values, design="shifted", seed=1
    )
    known_cases = [[20, 0, 0], [0, 26, 4], [0, 2, 28]], [20, 95, 285]
    options = {"design": "by_class", "method": "constrained", "seed": 1, "draws": 4000}
    yield from warned(tu.correct_counts, *known_cases, **options)
    rare = {"predicted_sums": [18398.0, 41402.0], "predicted_squares": [5e6, 7e5]}
    yield from warned(
        tu.correct_counts, [[36, 4], [80, 7880]], [578, 39422], **rare, design="shifted", seed=1
    )
    yield from warned(tu.correct, *_contradicted_prior(), value="y", seed=1, prior=SURE)
    yield from warned(tu.correct, *_heavy_tails(), value="y", design="shifted", seed=1)
    yield from warned(tu.correct, *_heavy_tails(1e-4), value="y", design="shifted", seed=1)
    few = {"predicted_sums": [600.0, 1900.0], "predicted_squares": [900.0, 8e4]}
    yield from warned(tu.correct_counts, [[50, 1], [1, 3]], [930, 70], **few, seed=1)
    yield from warned(tu.correct_counts, [[4, 1, 2], [2, 3, 1], [0] * 3], [20, 30, 9], seed=1)
    yield from warned(
        tu.correct_counts, [[8, 2, 0], [2, 8, 0]], [40, 40, 1], seed=1, design="by_prediction"
    )
    yield from warned(tu.correct_counts, [[4, 1, 0], [2, 3, 0], [0] * 3], [20, 30, 0], seed=1)
    yield from warned(tu.correct_counts, [[8], [3]], [40], seed=1, design="shifted")
    placed = _files(PREDICTIONS + "7,a,3,w\n", "predicted,true,region\na,a,n\nb,b,s\n")
    yield from warned(tu.correct, *placed, drawn_within="region", seed=1)
    left = _files(PREDICTIONS + "7,,3,n\n")
    yield from warned(tu.correct, *left, missing="leave_out", seed=1)
    yield from warned(tu.correct, *_files(PREDICTIONS + "7,a,3,\n"), by="region", seed=1)
    elsewhere = _files(test_set="predicted,true,region\na,a,n\nb,b,w\nb,a,s\n")
    yield from warned(tu.correct, *elsewhere, by="region", design="shifted", seed=1)
    yield from warned(tu.correct, *_files(), by="region", design="by_class", overlap=False, seed=1)
    strata = _files(test_set="predicted,true,region\na,a,n\na,b,n\n")
    yield from warned(tu.correct, *strata, strata="region", classes=["a", "b"], seconds=0.01)
    sizes = "predicted,true\n" + "small,small\nmedium,medium\nlarge,large\n" * 20
    yield from warned(tu.correct, *_files(sizes, sizes), prior=tu.prior.ordered(), seed=1)
    from trueup.draws.samplers import draw_constrained

    a = np.full((4, 4), 0.5) + 3 * np.eye(4)
    for draws, sweeps in ((4000, 20), (40_000, 800)):
        rng = np.random.default_rng(1)
        limits = {"sampler": "chain", "max_sweeps": sweeps}
        yield from draw_constrained(a, np.array([50, 10, 20, 30]), draws, rng, **limits).info[
            "warnings"
        ]
    firm = [[90, 6, 4], [5, 80, 15], [3, 7, 90]]
    yield from warned(tu.correct_counts, firm, [20, 20, 9960], design="shifted", seed=1)
    far = {"P": [[0.6, 0.4], [0.3, 0.7]], "design": "by_class", "seed": 1}
    yield from warned(tu.correct_counts, [[14, 6], [3, 77]], [100, 900], **far)
    from trueup.draws.nuts import diagnose

    yield from diagnose(np.random.default_rng(1).normal(size=(4, 20, 3)).cumsum(axis=1), 0)[
        "warnings"
    ]


def _studies() -> Iterator[str]:
    case = {"P": [[0.9, 0.1], [0.1, 0.9]], "base_rates": [0.2, 0.8], "N": 1_000}
    yield raised(tu.plan, **case)
    yield raised(tu.compare, **case)
    yield raised(tu.compare, P=[[0.9, 0.1], [0.1, 0.9]])
    rates = pd.DataFrame([[0.9, 0.1], [0.1, 0.9]], index=["a", "b"], columns=["a", "z"])
    yield raised(tu.compare, P=rates, base_rates=[0.5, 0.5], N=100)
    yield raised(tu.prior.from_counts, rates)
    yield raised(tu.plan, **case | {"base_rates": [0.5, 0.6]}, next=5)
    yield raised(tu.plan, **case, cv={"a": 0.1, "b": 0.1})


def _command(*words: str) -> str:
    from click.testing import CliRunner

    from trueup.cli import main

    said = CliRunner().invoke(main, words).output
    return said.split("Error: ")[1].split("\n\nHint:")[0]


def _published() -> Iterator[str]:
    Path("studies.csv").write_text("infected,78,7\nfree,3,368\n")
    words = ("numbers", "--predicted-counts", "50,3280", "--studies", "studies.csv")
    yield _command(*words)
    Path("studies.csv").write_text("true,infected,free\ninfected,78,7\n")
    yield _command(*words)


def _judges() -> Iterator[str]:
    rows = "".join(f"{i},{'ab'[i % 2]},{'aabb'[i % 4]},0.{i}\n" for i in range(50, 90))
    population = "unit,predicted,second,p\n" + rows
    given = {"predicted": ["predicted", "second"]}
    files = _files(population, "unit,predicted,second,true\n51,b,b,b\n52,a,a,a\n")
    yield raised(tu.correct, *files, **given, score="p")
    yield raised(tu.correct, *files, **given, design="shifted")
    yield raised(tu.correct, *files, **given, strata="unit")
    yield raised(tu.correct, *files, **given, method="inverse")
    labelled = tu.draw(files[0], 9, id="unit", score="p", seed=1)
    labelled["true"] = labelled["predicted"]
    yield raised(tu.correct, files[0], labelled, **given)


def _by_score() -> Iterator[str]:
    rows = "".join(f"{i},{'ab'[i % 2]},0.{i},n,0.9\n" for i in range(50, 90))
    population = _files("unit,predicted,p,region,same\n" + rows)[0]
    yield raised(tu.draw, population, 9, id="unit", score="p", within="region")
    yield raised(tu.draw, population, 9, id="unit", score="same")
    drawn = tu.draw(population, 9, id="unit", score="p", seed=1)
    drawn["true"] = drawn["predicted"]
    yield raised(tu.correct, population, drawn, by="region", value="p")


def _other_tables() -> Iterator[str]:
    """Values, scores and a second classifier of the test set that are not the population's."""
    rng = np.random.default_rng(1)
    h, p = np.arange(900) % 2, np.round(0.5 + 0.45 * rng.random(900), 4)
    units = pa.table({"predicted": h, "p": p, "y": rng.lognormal(3, 1, 900)})
    units = units.append_column("second", pa.array(rng.integers(0, 2, 900)))
    test = units.take(np.arange(0, 90)).append_column("true", pa.array(h[:90]))
    small = test.set_column(2, "y", pa.array(test["y"].to_numpy() / 1000))
    yield from warned(tu.correct, units, small, value="y", draws=200, seed=1)
    unsure = np.argsort(p)[:90]
    unsure_test = units.take(unsure).append_column("true", pa.array(h[unsure]))
    yield from warned(tu.correct, units, unsure_test, score="p", draws=200, seed=1)
    same = test.set_column(3, "second", pa.array(np.zeros(90, int)))
    both = {"predicted": ["predicted", "second"], "draws": 200, "seed": 1}
    yield from warned(tu.correct, units, same, **both)


def _pilots() -> Iterator[str]:
    """Pilots that `next` cannot add to; 64 and 36 of equal classes are doubtful."""
    table = pa.table({"unit": range(2000), "predicted": ["a", "b"] * 1000})
    rows = np.array([*range(0, 160, 2), *range(1, 73, 2)])
    pilot = table.take(rows)
    pilot = pilot.append_column("true", pilot["predicted"])
    options = {"next": 10, "id": "unit", "seed": 1}
    yield raised(tu.plan, table, pilot, **options, design="by_class")
    yield raised(tu.plan, table, pilot, **options, certainty=3)
    yield raised(tu.plan, table, pilot, **options)
    yield from warned(tu.plan, table, pilot.slice(16), **options)


def _audits() -> Iterator[str]:
    yield from _by_score()
    yield from _other_tables()
    good = _files()
    list_ = tu.draw(good[0], 4, id="unit", seed=1)
    list_["true"] = list_["predicted"]
    yield raised(tu.correct, *good[:1], list_, design="shifted")
    yield from warned(tu.correct, good[0], list_.iloc[1:], seed=1)
    inside = tu.draw(good[0], 4, id="unit", within="region", seed=1)
    inside["true"] = inside["predicted"]
    yield raised(tu.correct, good[0], inside, drawn_within="y")
    yield raised(tu.correct, good[0], inside, strata="region")
    yield raised(tu.correct, good[0], inside, period="y")
    yield raised(tu.plan, good[0], inside, cv=0.1)
    yield raised(tu.plan, good[0], inside, cv=0.1, by="region")
    yield raised(tu.plan, good[0], inside, cv=0.1, drawn_within="region")
    yield from _pilots()
    inside.to_csv("inside.csv", index=False)
    yield _command("counts", good[0], "inside.csv")
    yield raised(tu.correct, *_files(PREDICTIONS + "7,a,1,n\n")[:1], list_)
    good = _files()
    yield raised(tu.correct, good[0], list_.assign(seed=2))
    yield raised(tu.draw, good[0], 3, id="unit", within="region")
    yield raised(tu.draw, good[0], 3, id="unit", within="unit")
    yield raised(tu.correct, good[0], list_.assign(drawn=[None, *list_["drawn"][1:]]))
    yield raised(tu.correct, good[0], list_.drop(columns=["units"]))
    yield raised(tu.correct, good[0], list_.assign(drawn="trueup draw ?"))
    yield raised(tu.correct, good[0], list_.loc[[*list_.index, list_.index[0]]])
    yield raised(tu.draw, good[0], 4, id="predicted")
    yield raised(tu.draw, good[0], 7, id="unit")
    yield raised(tu.draw, good[0], {"c": 2}, id="unit", by_prediction=True)
    yield from warned(tu.draw, good[0], {"a": 2}, id="unit", by_prediction=True)
    yield raised(tu.draw, good[0], 2, id="unit", size="y", within="region")
    yield raised(tu.draw, *_files(PREDICTIONS + "7,a,-1,n\n")[:1], 2, id="unit", size="y")
    zero = _files(PREDICTIONS + "7,a,0,n\n")[0]
    yield from warned(tu.draw, zero, 2, id="unit", size="y", seed=1)
    cells = "predicted,count,y\na,40,80\nb,60,60\n"
    yield raised(tu.correct, *_files(cells))
    yield from warned(tu.correct, *_files(cells), overlap=False, seed=1)
    yield from warned(tu.correct, *_files(cells), value="y", count="count", seed=1)
    classes = "predicted,true\na,a\nb,b\n"
    yield from warned(tu.correct, *_files(cells, classes), value="y", count="count", seed=1)
    yield raised(tu.correct, *_files(cells.replace("40", "4.5")), count="count")
    yield raised(tu.correct, *_files(cells), count="count", id="y")
    yield raised(tu.correct, *_files(cells + "a,0,5\n"), count="count", value="y")
    yield raised(tu.correct, *_files(test_set="predicted,true\na,\nb,\n"))
    yield raised(tu.correct, *_files(cells), squares="y")
    yield raised(tu.correct, *_files("predicted;y\na;14.410\nb;900\n"), value="y")
    yield raised(tu.correct, *_files("predicted;y\na;1,5\nb;1.5\n"), value="y", decimal=",")
    yield raised(tu.correct, *_files('predicted,y\na,"1,275"\n'), value="y", decimal=",")
    yield raised(tu.correct, *_files("predicted,y\na,1\nb,2,3\na,2\n"))
    yield raised(tu.correct, *_files("predicted,y,y\na,1,2\nb,2,3\n"), value="y")
    Path("old.csv").write_bytes("predicted\ncaf\u00e9\n".encode("cp1252"))
    yield raised(tu.correct, "old.csv", good[1])
    yield raised(tu.correct, "old.csv", good[1], encoding="utf-8")
    yield raised(tu.correct, "old.csv", good[1], encoding="elvish")
    Path("sheet.xlsx").write_text("no sheet")
    yield raised(tu.correct, "sheet.xlsx", good[1])
    rng = np.random.default_rng(1)
    y = np.sort(rng.lognormal(0, 2, 600)).round(3)
    units = "predicted,y,region\n" + "".join(
        f"{'ab'[i % 2]},{x},{'ns'[i % 4 // 2]}\n" for i, x in enumerate(y)
    )
    large = "predicted,true,y,region\n" + "".join(
        f"{'ab'[i % 2]},{'ab'[i % 2]},{y[i]},n\n" for i in range(500, 600, 2) for i in (i, i + 1)
    )
    yield from warned(tu.correct, *_files(units, large), value="y", overlap=False, seed=1)
    yield from warned(tu.correct, *_files(units, large), by="region", overlap=False, seed=1)
    # wrong in one region only
    wrong = ["id,predicted,true,region"]
    wrong += [f"{i},{'ab'[i % 2]},{'ab'[(i + i // 40) % 2]},{'ns'[i // 40]}" for i in range(80)]
    apart = _files("\n".join(wrong), "\n".join(wrong[:31] + wrong[41:71]))
    yield from warned(tu.correct, *apart, by="region", pooling="complete", seed=1)
    good = _files(test_set="predicted,true,p,block\na,a,0.5,1\na,b,0.5,1\nb,b,0.9,2\nb,b,1,2\n")
    yield from warned(tu.correct, *good, probability="p")
    yield raised(tu.correct, *good, probability="block")
    yield raised(tu.correct, *good, probability="p", method="joint")
    yield raised(tu.correct, *good, cluster="block")
    yield raised(tu.correct, *good, cluster="block", by="region")
    unequal = _files(PREDICTIONS, "predicted,true,p\n" + "a,a,0.9\nb,b,0.9\n" * 2 + "b,a,0.01\n")
    yield from warned(tu.correct, *unequal, probability="p", overlap=False)
    # large units are right, and the few small ones that were drawn are wrong
    sizes = [f"{i},{'ab'[i % 2]},{1 + i // 20},{(1 + i // 20) / 1000}" for i in range(2000)]
    small = [f"{i},{'ab'[(i + 1) % 2]},{(1 + i // 20) / 1000}" for i in range(0, 200, 25)]
    small += [f"{i},{'ab'[i % 2]},{(1 + i // 20) / 1000}" for i in range(1600, 2000, 4)]
    drawn = _files("id,predicted,y,p\n" + "\n".join(sizes), "id,true,p\n" + "\n".join(small))
    yield from warned(tu.correct, *drawn, id="id", value="y", probability="p", seed=1, draws=200)
    yield from warned(tu.correct, *drawn, id="id", probability="p", seed=1, draws=200)
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], sample_of=50)
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], sample_of="many")
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], sample_of=500, method="test_set")
    sums = {"predicted_sums": [20.0, 90.0], "sample_of": 500}
    yield raised(tu.correct_counts, [[4, 1], [2, 3]], [10, 90], **sums)
    losses = "predicted,true,y\na,a,-1\na,a,2\nb,b,3\nb,b,-4\na,b,1\n"
    yield from warned(tu.correct, *_files(losses, losses), value="y", seed=1)
    weighed = _files("predicted,w\na,-1\nb,1\n", "predicted,true,w\na,a,-1\nb,b,1\n")
    yield raised(tu.correct, *weighed, weight="w")
    chances = "predicted,true,w\na,a,0.5\nb,b,0.2\na,b,0.1\nb,b,1\n"
    yield from warned(tu.correct, *_files(chances, chances), weight="w", seed=1)
    positive = "predicted,true,w\na,a,1\nb,b,2\na,b,3\nb,b,1\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighed_well = tu.correct(*_files(positive, positive), weight="w", seed=1)
    yield raised(weighed_well.accuracy)
    by_size = tu.draw(_files()[0], 4, id="unit", size="y", seed=1)
    by_size["true"] = by_size["predicted"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        totals = tu.correct("predictions.csv", by_size, value="y", seed=1)
    yield raised(totals.mean_value)
    yield raised(tu.correct, *weighed, weight="w", by="w")
    many = np.ones((8, 8), int) + 12 * np.eye(8, dtype=int)
    yield from warned(tu.correct_counts, many, [900] * 8, prior="jeffreys", seed=1)
    yield from warned(tu.correct_counts, [[3, 97], [95, 5]], [980, 1020], seed=1)
    matrix = [[46, 4], [9, 41]]
    sums = [[90.0, 810.0], [90.0**2, 810.0**2]]
    yield from warned(tu.correct_counts, matrix, [900, 8100], *sums, seed=1)
    yield from warned(tu.correct_counts, matrix, [900, 8100], design="by_prediction", seed=1)
    case = {"P": [[0.9, 0.1], [0.1, 0.9]], "base_rates": [0.2, 0.8], "N": 1_000}
    yield raised(tu.plan(**case, next=5).work_list)
