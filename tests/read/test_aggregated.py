"""A population that is already aggregated gives the answer of its units."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.read.makers import LOCAL, make

import trueup as tu
from trueup.cli import main
from trueup.errors import DataError, OptionError

KEYS = ["predicted", "region"]


@pytest.fixture
def units(rng):
    N = 2000
    true = np.where(rng.random(N) < 0.3, "a", "b")
    return pd.DataFrame(
        {
            "predicted": np.where(rng.random(N) < 0.15, np.where(true == "a", "b", "a"), true),
            "region": rng.choice(["n", "s", "w"], N),
            "y": np.round(rng.lognormal(2, 1, N), 2),
            "true": true,
        }
    )


@pytest.fixture
def rows(units):
    grouped = units.assign(y2=units["y"] ** 2).groupby(KEYS)
    return grouped.agg(count=("y", "size"), y=("y", "sum"), y2=("y2", "sum")).reset_index()


@pytest.mark.parametrize(
    "options",
    [{}, {"by": "region"}, {"strata": "region"}, {"design": "shifted", "value": "y"},
     {"design": "by_class", "method": "constrained", "value": "y", "by": "region"}],
)  # fmt: skip
def test_rows_with_counts_give_what_their_units_give(units, rows, options):
    test_set = units.iloc[:200]
    aggregated = {"count": "count"} | ({"squares": "y2"} if "value" in options else {})
    one = tu.correct(rows, test_set, seed=1, draws=400, **options, **aggregated)
    other = tu.correct(units, test_set, seed=1, draws=400, **options)
    for mine, theirs in zip(one.rows(), other.rows(), strict=True):
        for name, x in mine.items():
            assert x == (
                pytest.approx(theirs[name], rel=1e-6) if type(x) is float else theirs[name]
            )


def test_totals_of_groups_need_no_audited_values(units, rows):
    """A pasted test set has often only the two classes: the whole is that of `correct_counts`."""
    audited = units.iloc[:200].drop(columns=["y", "region"])
    options = {"count": "count", "value": "y", "squares": "y2", "seed": 1, "draws": 400}
    with pytest.warns(tu.TrueupWarning, match="has no column 'y'"):
        est = tu.correct(rows, audited, by="region", **options)
    n = pd.crosstab(audited["true"], audited["predicted"])
    sums = rows.groupby("predicted")[["count", "y", "y2"]].sum()
    numbers = (sums[name].to_numpy() for name in ("count", "y", "y2"))
    whole = tu.correct_counts(n, *numbers, classes=["a", "b"], seed=1, draws=400)
    assert est.whole == pytest.approx(whole.draws)
    assert est.draws.sum(axis=1) == pytest.approx(est.whole)
    drawn = units.iloc[:200].drop(columns="y")
    within = tu.correct(rows, drawn, by="region", drawn_within="region", **options)
    assert within.draws.sum(axis=1) == pytest.approx(within.whole)
    with pytest.raises(DataError, match="must have a column 'y'"):
        tu.correct(units, audited, value="y")


@pytest.mark.parametrize("engine", [*LOCAL, "csv", "parquet"])
def test_every_engine_adds_up_counts(engine, units, rows, tmp_path):
    import pyarrow as pa

    table = make(engine, pa.Table.from_pandas(rows, preserve_index=False), tmp_path, None)
    est = tu.correct(table, units.iloc[:200], count="count", method="naive")
    assert [row["naive"] for row in est.rows()] == [
        (units["predicted"] == label).sum() for label in "ab"
    ]


def test_without_squares_the_answer_says_so(units, rows):
    with pytest.warns(tu.TrueupWarning, match="taken to have equal values"):
        tu.correct(rows, units.iloc[:200], value="y", count="count", seed=1)


def test_from_the_command_and_check(units, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows.to_csv("cells.csv", index=False)
    units.iloc[:200].to_csv("audited.csv", index=False)
    more = ["cells.csv", "audited.csv", "--count", "count", "--value", "y", "--squares", "y2"]
    for command in ("correct", "check"):
        done = CliRunner().invoke(main, [command, *more])
        assert done.exit_code == 0, done.output
        assert "2,000" in done.output or command == "correct"


def test_a_table_that_looks_aggregated_is_noticed(units, rows):
    with pytest.raises(DataError, match="each row seems to stand for many") as error:
        tu.correct(rows, units.iloc[:200])
    assert "count='count'" in str(error.value)
    with pytest.warns(tu.TrueupWarning, match="here each row was one unit"):
        tu.correct(rows, units.iloc[:200], overlap=False, seed=1)


@pytest.mark.parametrize("bad", [-1, 2.5, None])
def test_counts_that_are_none(units, rows, bad):
    with pytest.raises(DataError, match="must h"):
        tu.correct(rows.assign(count=[bad, *rows["count"][1:]]), units.iloc[:200], count="count")


def test_options_that_do_not_go_together(units, rows):
    test_set = units.iloc[:200]
    with pytest.raises(OptionError, match="`squares` needs `count`"):
        tu.correct(rows, test_set, value="y", squares="y2")
    with pytest.raises(OptionError, match="`squares` needs `value`"):
        tu.correct(rows, test_set, count="count", squares="y2")
    with pytest.raises(OptionError, match="cannot be combined with `count`"):
        tu.correct(rows, test_set, count="count", id="region")
    with pytest.raises(DataError, match="must count at least one unit"):
        tu.correct(rows.assign(count=0), test_set, count="count")
    with pytest.raises(DataError, match="too small"):
        tu.correct(rows.assign(y2=0.1), test_set, value="y", count="count", squares="y2")
