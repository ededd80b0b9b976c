"""Dataframes as people have them: other kinds of missing values, of labels and of mistakes."""

import datetime

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueup
from trueup.read import open_table

UNITS = pd.DataFrame({"id": range(60), "predicted": list("ab") * 30, "y": np.arange(60.0)})
AUDITED = UNITS[:20].assign(true=UNITS["predicted"])
OPTIONS = {"value": "y", "design": "by_prediction", "draws": 100, "seed": 1}


def correct(units=UNITS, audited=AUDITED, **options):
    return trueup.correct(units, audited, **(OPTIONS | options))


def holes(kind):
    """UNITS with a NaN that some types do not take for missing."""
    y = UNITS["y"].to_numpy().copy()
    y[33] = np.nan
    if kind == "pyarrow":
        return UNITS.assign(y=pd.Series(pa.array(y), dtype=pd.ArrowDtype(pa.float64())))
    if kind == "masked":
        return UNITS.assign(y=pd.arrays.FloatingArray(y, np.zeros(60, bool)))
    return UNITS.assign(y=pd.Series(y, dtype=kind))


@pytest.mark.parametrize("kind", ["pyarrow", "masked", "Float64", "float64", "float32"])
def test_a_nan_is_missing_whatever_holds_it(kind):
    with pytest.raises(trueup.DataError, match=r"'y' of predictions .* 1 row has none"):
        correct(holes(kind), overlap=False)
    est = correct(holes(kind), overlap=False, missing="leave_out")
    assert est.counts.v_hat.tolist() == [30, 29]
    assert est.counts.u_hat.tolist() == [870.0, 867.0]


@pytest.mark.parametrize("dtype", ["Int8", "boolean", "double[pyarrow]", "uint16[pyarrow]"])
@pytest.mark.parametrize("index", [[0] * 60, range(60, 0, -1)])
def test_types_and_indexes_of_pandas(dtype, index):
    y = (UNITS["y"] % 2).astype(dtype)
    units = UNITS.assign(y=y).set_index(pd.Index(index))
    tally = open_table(units, "p").tally(["predicted"], "y")
    assert dict(zip(tally.keys, tally.sums, strict=True)) == {("a",): 0.0, ("b",): 30.0}


def test_numbers_in_a_dictionary_are_numbers():
    code = [i % 3 for i in range(60)]
    as_category = UNITS.assign(code=pd.Categorical(code))
    as_dictionary = pa.table({**UNITS.to_dict("list"), "code": pa.array(code).dictionary_encode()})
    for units in (as_category, as_dictionary):
        table = open_table(units, "p")
        assert table.kinds()["code"] == "integer"
        assert {key[0] for key in table.tally(["code"], None).keys} == {0, 1, 2}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_ids_that_became_decimals_are_found(make):
    """Pandas makes 7.0 of 7 in a column with a gap."""
    audited = AUDITED.assign(id=AUDITED["id"] + 0.0)
    assert correct(make(UNITS), audited, id="id").counts.n.sum() == 20
    assert correct(audited=AUDITED, units=make(UNITS.assign(id=UNITS["id"] + 0.0)), id="id")
    with pytest.raises(trueup.DataError, match="1 audited unit is not in predictions"):
        correct(make(UNITS), audited.assign(id=audited["id"].replace(3.0, 3.5)), id="id")


def test_audited_units_that_the_population_leaves_out():
    one = UNITS.assign(predicted=UNITS["predicted"].where(UNITS["id"] != 5))
    est = correct(one, id="id", missing="leave_out")
    assert est.counts.n.sum() == 19
    assert est.counts.N == 59
    all_of_them = UNITS.assign(y=UNITS["y"].where(UNITS["id"] >= 20))
    with pytest.raises(trueup.DataError, match="at least one usable unit"):
        correct(all_of_them, id="id", missing="leave_out", classes=["a", "b"])


@pytest.mark.parametrize("option", ["value", "id", "true"])
@pytest.mark.parametrize("given", ["", 5, ["y"]])
def test_what_cannot_be_a_column(option, given):
    with pytest.raises(trueup.OptionError, match=f"`{option}` must be the name of a column"):
        correct(**{option: given})


@pytest.mark.parametrize("given", ["", 5, [5], ["predicted", ""]])
def test_what_cannot_be_columns(given):
    for option in ("by", "strata", "predicted"):
        with pytest.raises(
            trueup.OptionError, match=f"`{option}` must (be the )?name (of )?a column"
        ):
            correct(**{option: given})


@pytest.mark.parametrize("name", ["class", "Class", "estimate", "sd"])
def test_groups_are_not_called_like_the_answer(name):
    units, audited = (table.assign(**{name: "x"}) for table in (UNITS, AUDITED))
    with pytest.raises(trueup.OptionError, match=f"that the answer has; got '{name}'"):
        correct(units, audited, by=name)


def test_tables_that_cannot_be_read(tmp_path):
    import ibis

    path = tmp_path / "t.parquet"
    UNITS.to_parquet(path)
    lazy = pl.scan_parquet(path)
    path.write_bytes(path.read_bytes()[:200])
    connection = duckdb.connect()
    create = "CREATE TABLE units AS SELECT 'a' AS predicted, 1.0 AS y"
    connection.execute(create)
    relation = connection.table("units")
    connection.close()
    dropped = ibis.duckdb.connect()
    dropped.raw_sql(create)
    table = dropped.table("units")
    dropped.raw_sql("DROP TABLE units")
    twice = pd.concat([UNITS, UNITS[["y"]]], axis=1)
    for broken in (lazy, pl.scan_csv(tmp_path / "none.csv"), relation, table, twice):
        with pytest.raises(trueup.DataError, match="predictions must be"):
            correct(broken)
    numbered = UNITS.set_axis([0, 1, 2], axis=1)
    with pytest.raises(trueup.DataError, match="must have a column 'predicted'"):
        correct(numbered)
    with pytest.raises(trueup.DataError, match="did you mean 'PREDICTED'"):
        correct(UNITS.rename(columns=str.upper))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_labels_that_are_hard_to_hold(make):
    times = pd.to_datetime(["2024-01-01 00:00", "2024-01-01 12:00"] * 30)
    large = np.array([2**64 - 1 - i % 3 for i in range(60)], dtype="uint64")
    for labels, expected in (
        (times, {datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)}),
        (large, {str(2**64 - 1), str(2**64 - 2), str(2**64 - 3)}),
    ):
        est = correct(make(UNITS.assign(group=labels)), by="group", id="id")
        found = nw.from_native(est.table)["group"].to_list()
        assert {x for x in found if not pd.isna(x)} == expected


def test_dates_in_a_relation_stay_dates():
    units = UNITS  # noqa: F841  (DuckDB finds it by its name)
    relation = duckdb.sql("SELECT *, DATE '2024-01-01' + (y % 3)::INTEGER AS day FROM units")
    est = correct(relation, by="day", overlap=False)
    assert dict(zip(est.table.columns, map(str, est.table.types), strict=True))["day"] == "DATE"


LEVELS = ["small", "medium", "large"]  # not the order of the alphabet


def leveled(make, order=LEVELS):
    labels = LEVELS * 20
    units = pd.DataFrame({"predicted": labels, "true": labels})
    if make == "polars":
        return pl.DataFrame(units.to_dict("list"), schema=dict.fromkeys(units, pl.Enum(order)))
    if make == "duckdb":
        kind = f"ENUM({', '.join(map(repr, order))})"
        columns = ", ".join(f'"{name}"::{kind} AS "{name}"' for name in units)
        return duckdb.sql(f"SELECT {columns} FROM units")
    return units.astype(pd.CategoricalDtype(order, ordered=True))


@pytest.mark.parametrize("make", ["pandas", "polars", "duckdb"])
def test_ordered_categories_keep_their_order(make):
    table = leveled(make)
    est = correct(table, table, value=None, overlap=False)
    assert list(est.classes) == LEVELS
    assert list(correct(table, table, value=None, overlap=False, classes=LEVELS[::-1]).classes) == [
        "large", "medium", "small",
    ]  # fmt: skip


def test_ordered_categories_of_numbers_and_of_one_table_only():
    kind = pd.CategoricalDtype([3, 1, 2], ordered=True)
    units = pd.DataFrame({"predicted": [1, 2, 3] * 20, "true": [1, 2, 3] * 20})
    est = correct(units.astype(kind), units, value=None, overlap=False)
    assert list(est.classes) == [3, 1, 2]
    unordered = pd.CategoricalDtype(LEVELS)
    plain = leveled("pandas").astype(unordered)
    assert list(correct(plain, plain, value=None, overlap=False).classes) == sorted(LEVELS)


def test_an_order_that_is_only_the_alphabet_s_is_warned_about():
    ordered = {"value": None, "overlap": False, "prior": trueup.prior.ordered()}
    text = leveled("pandas").astype(str)
    with pytest.warns(trueup.TrueupWarning, match="alphabetical order, .'large', 'medium', 'sm"):
        correct(text, text, **ordered)
    for table, options in ((leveled("polars"), {}), (text, {"classes": LEVELS})):
        est = correct(table, table, **ordered, **options)
        assert not any("alphabetical" in words for words in est.info["warnings"])


def test_two_orders_of_the_classes_are_refused():
    tables = leveled("pandas"), leveled("polars", LEVELS[::-1])
    with pytest.raises(trueup.ClassError, match="same order in both tables"):
        correct(*tables, value=None, overlap=False)


def test_labels_in_messages_are_plain_python():
    with pytest.raises(trueup.ClassError, match=r"Listed: \['a', 'c'\]"):
        correct(classes=np.array(["a", "c"]))
    est = trueup.correct_counts([[4, 1], [2, 3]], [10, 90], classes=np.array(["2.1", "3"]), seed=1)
    assert est.info["warnings"]
    assert "np." not in str(est)


def test_a_score_is_not_a_class():
    scored = UNITS.assign(predicted=UNITS["y"] / 60)
    with pytest.raises(trueup.DataError, match="is it a score or an amount"):
        correct(scored, overlap=False)


def test_a_column_twice_is_named():
    twice = pd.concat([UNITS, UNITS[["y"]]], axis=1)
    with pytest.raises(trueup.DataError, match=r"got: - 'y' 2 times"):
        correct(twice)


@pytest.mark.parametrize("large", [1e160, 1e308])
def test_values_whose_squares_are_infinite_are_refused_as_such(large):
    with pytest.raises(trueup.DataError, match=r"finite|large|sum"):
        correct(UNITS.assign(y=large), overlap=False)


def test_an_empty_text_is_said_to_be_no_class():
    units = UNITS.assign(predicted=["", *UNITS["predicted"][1:]])
    with pytest.raises(trueup.ClassError, match="An empty text is no class"):
        correct(units, AUDITED[1:])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas])
def test_labels_that_are_spelt_alike_are_named(make):
    units = UNITS.assign(predicted=["a ", "b"] * 3 + ["a", "b"] * 27, g=["N", "n"] * 30)
    audited = units[:20].assign(true=units["predicted"])
    found = correct(make(units), make(audited), by="g", value=None).info["warnings"]
    told = [words.split(".")[0] for words in found if "upper and lower case" in words]
    alike = "that differ only in spaces or in upper and lower case"
    assert told == [f"Classes {alike}: 'a' and 'a '", f"Labels in 'g' {alike}: 'N' and 'n'"]


def test_nothing_is_estimated_if_all_units_were_audited():
    all_of_it = UNITS.assign(true=UNITS["predicted"])
    assert "no estimate is needed" in correct(UNITS, all_of_it).info["warnings"][0]
    larger = correct(UNITS, all_of_it, value=None, sample_of=600).info["warnings"]
    assert not any("no estimate is needed" in words for words in larger)


def test_draws_too_few_for_an_interval():
    def told(**options):
        found = trueup.correct_counts([[40, 10], [20, 30]], [500, 500], seed=1, **options)
        return [words for words in found.info["warnings"] if "Ask for" in words]

    assert "Ask for 100,000 `draws`, or for" in told(interval=0.9999, draws=100)[0]
    assert "draw. Ask for an `interval`" in told(interval=1 - 1e-9, draws=200)[0]
    assert not told(draws=100)
    assert not told(interval=0.99, draws=500)
    assert not told(interval=0.9999, draws=100, method="difference")


def test_periods_of_pandas_are_named_with_the_way_out():
    table = pd.DataFrame({"predicted": list("ab") * 6, "true": list("ab") * 6})
    table["month"] = pd.period_range("2024-01", periods=3, freq="M").repeat(4)
    with pytest.raises(trueup.DataError, match=r"it holds values of type period\[M\]") as refusal:
        trueup.correct(table, table, by="month")
    assert ".dt.to_timestamp()" in refusal.value.hint
    dates = table.assign(month=table["month"].dt.to_timestamp())
    est = trueup.correct(dates, dates, by="month", seed=1, draws=200)
    days = datetime.date(2024, 1, 1), datetime.date(2024, 3, 1)
    assert est.contrast("2024-01-01", "2024-03-01") == est.contrast(*days)
