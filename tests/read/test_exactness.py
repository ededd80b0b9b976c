"""Counts are integers to the end, and Σy is that of exact arithmetic within the stated bound."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.read.makers import make

from trueup.read import open_table

EPS = 2.0**-53
IN_MEMORY = ("pandas", "pandas-pyarrow", "polars", "pyarrow")
LAZY = ("polars-lazy", "dask", "ibis-duckdb", "ibis-sqlite", "ibis-postgres", "spark")
DUCKDB = ("duckdb", "parquet", "arrow")


def exactly(values):
    """Give units, Σy and Σ|y| per label, in fractions."""
    mine = {}
    for label, y in values:
        mine.setdefault(label, []).append(Fraction(y))
    return {label: (len(y), sum(y), sum(map(abs, y))) for label, y in mine.items()}


def error(table, exact, key="k"):
    """Give the error of Σy per label in units of ε·Σ|y|, against fractions."""
    tally = table.tally([key], "y")
    worst = 0.0
    assert {label[0] for label in tally.keys} == set(exact)
    for label, units, found in zip(tally.keys, tally.units, tally.sums, strict=True):
        expected, total, size = exact[label[0]]
        assert units == expected
        worst = max(worst, float(abs(Fraction(float(found)) - total) / size) / EPS)
    return worst


@pytest.fixture(scope="module")
def cents():
    """Values whose sums drift when added one by one: the same cents over and over."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(60_000) < 0.9, 0.1, np.round(rng.lognormal(8, 2, 60_000), 2))
    table = pa.table({"k": rng.integers(2, size=60_000), "y": y})
    return table, exactly(zip(*table.to_pydict().values(), strict=True))


@pytest.mark.parametrize("engine", [*IN_MEMORY, *DUCKDB, "polars-lazy", "dask", "ibis-duckdb"])
def test_cents_add_up(engine, cents, tmp_path, servers):
    """Docs/tables.md: a few ε whatever the number of rows, in memory and through DuckDB."""
    made = make(engine, cents[0], tmp_path, servers)
    assert error(open_table(made, "predictions"), cents[1]) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
def test_two_million_tenths(engine, tmp_path, servers):
    """Added one by one these are off by 1e-11 of the total, 40,000 times the bound."""
    rows = 2_000_000
    table = pa.table({"k": np.arange(rows) % 2, "y": np.full(rows, 0.1)})
    tally = open_table(make(engine, table, tmp_path, servers), "p").tally(["k"], "y")
    exact = Fraction(0.1) * (rows // 2)
    assert list(tally.units) == [rows // 2] * 2
    # a lazy table's total is not known beforehand: its sums are exact to 1/1024 of a unit only
    bound = 3 * EPS * exact + ((rows // 2) ** 2 * EPS / 2048 if "lazy" in engine else 0)
    for found in tally.sums:
        assert abs(Fraction(float(found)) - exact) <= bound


@pytest.mark.parametrize("engine", [*IN_MEMORY, *DUCKDB, *LAZY])
def test_long_whole_numbers_add_up_exactly(engine, tmp_path, servers):
    big = 2**53 + 1  # no double holds it
    values = [big, -big, 3, 2**62, 5 - 2**62, 2**62, 2**61, 2**63 - 1, 7 - 2**63]
    table = pa.table({"k": list("aaabbccdd"), "y": pa.array(values, pa.int64())})
    tally = open_table(make(engine, table, tmp_path, servers), "predictions").tally(["k"], "y")
    found = dict(zip(tally.keys, tally.sums, strict=True))
    assert found == {("a",): 3.0, ("b",): 5.0, ("c",): float(2**62 + 2**61), ("d",): 6.0}
    assert tally.signed


@pytest.mark.parametrize("engine", [*IN_MEMORY, "polars-lazy", "duckdb", "parquet", "dask"])
@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float32", "bool"]
)
def test_short_numbers_do_not_wrap(engine, kind, tmp_path, servers):
    dtype = np.dtype(kind)
    top = (
        True if kind == "bool" else np.finfo("f4").max if kind == "float32" else np.iinfo(dtype).max
    )
    table = pa.table({"k": ["a"] * 1000, "y": np.full(1000, top, dtype)})
    tally = open_table(make(engine, table, tmp_path, servers), "predictions").tally(["k"], "y")
    np.testing.assert_allclose(tally.sums, [1000 * float(top)], rtol=1e-15)
    np.testing.assert_allclose(tally.squares, [1000 * float(top) ** 2], rtol=1e-12)
    assert list(tally.units) == [1000]


@pytest.mark.parametrize(
    "engine", ["pandas-pyarrow", "polars", "polars-lazy", "pyarrow", "duckdb", "parquet"]
)
def test_decimals(engine, tmp_path, servers):
    y = [Decimal("0.10")] * 3000 + [Decimal("12345678901234.55")]
    table = pa.table({"k": ["a"] * 3001, "y": pa.array(y, pa.decimal128(18, 2))})
    tally = open_table(make(engine, table, tmp_path, servers), "predictions").tally(["k"], "y")
    assert abs(Fraction(float(tally.sums[0])) - Fraction(sum(y))) <= 3 * EPS * float(sum(y))


@pytest.mark.parametrize("engine", [*IN_MEMORY, "polars-lazy", *DUCKDB, "dask"])
def test_dictionaries_and_booleans_are_labels(engine, tmp_path, servers):
    labels = pa.array(["a", "b", "a", None]).dictionary_encode()
    table = pa.table({"k": labels, "b": [True, False, True, True]})
    made = open_table(make(engine, table, tmp_path, servers), "predictions")
    assert made.kinds() == {"k": "text", "b": "boolean"}
    tally = made.tally(["k", "b"], None, nullable=["k"])
    found = dict(zip(tally.keys, tally.units.tolist(), strict=True))
    assert found == {("a", True): 2, ("b", False): 1, (None, True): 1}


@pytest.mark.parametrize(
    "engine", [*IN_MEMORY, "polars-lazy", *DUCKDB, "csv", "spark", "ibis-postgres"]
)
def test_dates_are_labels(engine, tmp_path, servers):
    day, other = datetime.date(2024, 2, 29), datetime.date(2024, 3, 1)
    table = pa.table({"day": pa.array([day, other, day], pa.date32()), "y": [1.0, 2.0, 4.0]})
    if engine == "ibis-postgres":
        table = table.cast(pa.schema([("day", pa.date32()), ("y", pa.float64())]))
    every = [make(engine, table, tmp_path, servers)]
    if engine == "pandas":  # which has times (a midnight is a date) and Python's dates
        every = [table.to_pandas(date_as_object=False), table.to_pandas(date_as_object=True)]
    for given in every:
        made = open_table(given, "predictions")
        assert made.kinds()["day"] == "date"
        tally = made.tally(["day"], "y")
        found = dict(zip(tally.keys, tally.sums.tolist(), strict=True))
        assert found == {(day,): 5.0, (other,): 2.0}


def test_python_objects_in_pandas_are_what_they_are():
    frame = pd.DataFrame(
        {
            "k": pd.Series(["a", "b", "a"], dtype=object),
            "whole": pd.Series([1, None, 3], dtype=object),
            "cents": pd.Series([Decimal("0.10"), Decimal("0.20"), 1], dtype=object),
            "money": [Decimal("0.10"), Decimal("2.25"), Decimal("0.15")],
            "day": [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)],
            "what": pd.Series([1, "x", []], dtype=object),
            "huge": pd.Series([2**80, 1, 2], dtype=object),
        }
    )
    before = frame.dtypes.copy()
    made = open_table(frame, "predictions")
    kinds = made.kinds()
    assert kinds["whole"] == "integer"
    assert kinds["money"] == "number"
    assert kinds["day"] == "date"
    assert (kinds["what"], kinds["huge"], kinds["cents"]) == ("other", "other", "other")
    tally = made.tally(["k"], "money")
    assert dict(zip(tally.keys, tally.sums.tolist(), strict=True)) == {("a",): 0.25, ("b",): 2.25}
    assert (frame.dtypes == before).all()  # the user's own table is left alone


def test_huge_values_are_refused_in_words(tmp_path, servers):
    table = pa.table({"k": ["a", "b"], "y": [1e300, 1.0]})
    for engine in (*IN_MEMORY, *DUCKDB, "polars-lazy"):
        made = open_table(make(engine, table, tmp_path, servers), "predictions")
        with pytest.raises(ValueError, match="larger units"):
            made.tally(["k"], "y")
