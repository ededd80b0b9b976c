"""Lazy stays lazy: one query is sent, and it is the engine's own plan."""

import contextlib
import io

import pyarrow as pa
import pytest
from tests.read.makers import make

from trueup.read import frames, open_table

TABLE = pa.table(
    {"predicted": ["a", "b", "a"], "y": [1.5, 2.5, 3.0], "other": [1, 2, 3], "more": ["x"] * 3}
)


def test_duckdb(tmp_path, servers):
    table = open_table(make("duckdb", TABLE, tmp_path, servers), "predictions")
    plan = str(table.plan(table.tally_sql(["predicted"], "y")).explain()).lower()
    assert sum("scan" in line for line in plan.splitlines() if "╭" in line) == 1
    assert plan.replace("_", " ").count("group by") == 1
    assert "other" not in plan  # columns that are not asked for are not read


def test_polars(tmp_path, servers):
    table = open_table(make("polars-lazy", TABLE, tmp_path, servers), "predictions")
    plan = table.plan(["predicted"], "y").to_native().explain()
    assert plan.count("AGGREGATE") == 1
    assert plan.count("DF [") == 1
    assert "2/4 COLUMNS" in plan


def test_spark(tmp_path, servers):
    table = open_table(make("spark", TABLE, tmp_path, servers), "predictions")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        table.plan(["predicted"], "y").to_native().explain()
    plan = printed.getvalue()
    assert plan.count("HashAggregate") == 2  # in each partition, then together
    assert plan.count("Scan") == 1
    assert "other" not in plan.split("Scan")[0]


@pytest.mark.parametrize("engine", ["polars-lazy", "dask", "ibis-duckdb", "ibis-sqlite", "spark"])
@pytest.mark.parametrize("value", ["y", "other", None])
def test_one_query_is_sent(engine, value, tmp_path, servers, monkeypatch):
    table = open_table(make(engine, TABLE, tmp_path, servers), "predictions")
    sent = []
    collect = frames.collect
    monkeypatch.setattr(frames, "collect", lambda frame: sent.append(frame) or collect(frame))
    tally = table.tally(["predicted"], value)
    assert sorted(zip(tally.keys, tally.units, strict=True)) == [(("a",), 2), (("b",), 1)]
    assert len(sent) == 1
