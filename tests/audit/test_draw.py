"""The work list: who is drawn with what probability, and how `correct` reads it back."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy.stats import binom
from tests.read.makers import FILES, LOCAL, make
from tests.seeds import fresh_seed, more

import trueup as tu
from trueup.cli import main
from trueup.errors import DataError, OptionError
from trueup.read import open_table

N = 300
UNITS = np.arange(1, N + 1)
POPULATION = pa.table(
    {
        "unit": UNITS,
        "predicted": np.where(UNITS % 3 == 0, "shop", "other"),
        "region": np.where(UNITS % 2 == 0, "north", "south"),
        "y": np.where(UNITS <= 2, 5000.0, 1.0 + UNITS % 50),
    }
)


def ids(table):
    return sorted(row[0] for row in open_table(table, "the list").rows(["unit"]))


def labelled(table):
    frame = table.to_pandas()
    frame["true"] = np.where(frame["unit"] % 4 == 0, "shop", "other")
    return frame


WAYS = ({}, {"by_prediction": True}, {"within": "region"}, {"size": "y"})


@pytest.fixture(scope="module")
def expected():
    return [ids(tu.draw(POPULATION, 40, id="unit", seed=5, **options)) for options in WAYS]


@pytest.mark.filterwarnings("ignore:::ibis")
@pytest.mark.parametrize("engine", [*LOCAL, *FILES, "ibis-duckdb"])
def test_every_engine_draws_the_same_units(engine, expected, tmp_path):
    table = make(engine, POPULATION, tmp_path, None)
    for options, same in zip(WAYS, expected, strict=True):
        assert ids(tu.draw(table, 40, id="unit", seed=5, **options)) == same


def test_the_list_is_of_the_users_own_kind_and_can_be_filled_in():
    for native in (POPULATION.to_pandas(), pl.from_arrow(POPULATION)):
        found = tu.draw(native, 30, id="unit", seed=1)
        assert type(found) is type(native)
    frame = tu.draw(POPULATION.to_pandas(), 30, id="unit", seed=1)
    frame["true"] = frame["predicted"]
    assert tu.correct(POPULATION, frame, seed=1).info["design"] == "random"
    assert set(found.columns) == {"unit", "predicted", "region", "y", "true", "drawn", "stratum",
                                  "units", "probability", "seed"}  # fmt: skip
    assert found["true"].dtype == pl.String


def test_every_unit_is_drawn_as_often_as_its_probability_says():
    """Binomial bounds that one run in 50,000 exceeds: drawing the first n would be seen."""
    R = more(50)
    for options in ({}, {"by_prediction": True, "allocation": "equal"}, {"size": "y"}):
        seen, said = np.zeros(N), np.full(N, np.nan)
        for r in range(R):
            found = tu.draw(POPULATION, 60, id="unit", seed=fresh_seed(r), **options)
            unit = found["unit"].to_numpy() - 1
            assert len(set(unit)) == 60
            seen[unit] += 1
            said[unit] = found["probability"].to_numpy()
        known = np.isfinite(said)
        # exact tails: a unit that is drawn once where 0.02 were expected is nothing rare. Pareto
        # sampling has the probabilities to about 1/n of them
        times, p = seen[known], said[known]
        too_few = binom.cdf(times, R, np.clip(p * 0.98, 0, 1))
        too_many = binom.sf(times - 1, R, np.clip(p * 1.02, 0, 1))
        assert np.minimum(too_few, too_many).min() * known.sum() > 1e-5
        assert abs((seen - R * said)[known & (said < 1)].sum()) / np.sqrt(R) < 5
        # all units together, with the exact variance of a binomial's square
        times, p = seen[known & (said < 1)], said[known & (said < 1)]
        each = (times - R * p) ** 2 / (R * p * (1 - p)) - 1
        error = np.sqrt((2 + (1 - 6 * p * (1 - p)) / (R * p * (1 - p))).sum())
        assert each.sum() < 5 * error
    assert said[0] == said[1] == 1.0, "the two giants are certain"
    y = POPULATION["y"].to_numpy()
    small = known & (said < 1)
    np.testing.assert_allclose(said[small] / y[small], 58 / (y.sum() - 10_000))


@pytest.mark.parametrize(
    ("options", "design"), [({}, "random"), ({"by_prediction": True}, "by_prediction")]
)
def test_correct_reads_the_design_and_matches_by_id(options, design):
    test_set = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, **options))
    est = tu.correct(POPULATION, test_set, seed=1)
    plain = test_set[["unit", "predicted", "true"]]
    same = tu.correct(POPULATION, plain, id="unit", design=design, seed=1)
    assert est.rows() == same.rows()
    assert est.info["design"] == design


def test_a_list_goes_through_csv_and_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    POPULATION.to_pandas().to_csv("predictions.csv", index=False)
    command = [
        "draw",
        "predictions.csv",
        "-n",
        "60",
        "--id",
        "unit",
        "--by-prediction",
        "--seed",
        "2",
    ]
    done = CliRunner().invoke(main, [*command, "--output", "list.csv"])
    assert done.exit_code == 0, done.output
    assert "30 predicted=shop" in done.output
    with open("list.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["true"] = "shop" if int(row["unit"]) % 4 == 0 else "other"
    with open("list.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    drawn = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, by_prediction=True))
    assert (
        tu.correct("predictions.csv", "list.csv", seed=1).rows()
        == tu.correct(POPULATION, drawn, seed=1).rows()
    )
    again = CliRunner().invoke(main, [*command, "--output", "list.csv"])
    assert again.exit_code == 2
    assert "must be a new file" in again.output


def test_a_changed_population_is_refused():
    test_set = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, by_prediction=True))
    with pytest.raises(DataError, match="it has 250 units and had 300"):
        tu.correct(POPULATION.slice(0, 250), test_set)
    frame = POPULATION.to_pandas()
    frame["predicted"] = np.where(frame["unit"] < 20, "shop", frame["predicted"])
    with pytest.raises(DataError, match=r"(other|shop) has \d+ units and had"):
        tu.correct(frame, test_set)
    renamed = POPULATION.to_pandas().assign(unit=UNITS + 1000)
    with pytest.raises(DataError, match="are not in predictions"):
        tu.correct(renamed, test_set)


def test_predictions_that_changed_outside_the_list_are_refused():
    """Counts per predicted class are in every list, also in one drawn at random or by size."""
    for options in ({}, {"within": "region"}, {"size": "y"}):
        test_set = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, **options))
        frame = POPULATION.to_pandas()
        outside = ~frame["unit"].isin(test_set["unit"]) & (frame["predicted"] == "other")
        frame.loc[frame.index[outside][:5], "predicted"] = "shop"
        with pytest.raises(DataError, match="other numbers of units"):
            tu.correct(frame, test_set, value="y")


def test_sizes_that_changed_are_refused():
    test_set = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, size="y"))
    assert tu.correct(POPULATION, test_set, value="y", seed=1).info["method"] == "joint"
    frame = POPULATION.to_pandas()
    frame["y"] = frame["y"].to_numpy()[::-1]
    with pytest.raises(DataError, match=r"by its 'y', unit .* has the probability"):
        tu.correct(frame, test_set, value="y")


@pytest.mark.parametrize("options", [{}, {"by_prediction": True}, {"within": "region"}])
def test_design_columns_that_were_changed_are_refused(options):
    test_set = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, **options))
    last = np.arange(60) == 59
    for column, value in (("probability", 0.9), ("units", 7), ("seed", 3), ("stratum", "none")):
        for rows in (last, last | True):
            changed = test_set.assign(**{column: np.where(rows, value, test_set[column])})
            with pytest.raises(DataError, match=r"was changed|was drawn from"):
                tu.correct(POPULATION, changed)
    fewer = test_set[~last].assign(probability=test_set["probability"].round(9))
    assert tu.correct(POPULATION, fewer, seed=1).counts.n.sum() == 59


@pytest.mark.parametrize("options", [{}, {"by_prediction": True}, {"within": "region"}])
def test_a_row_too_many_is_said_to_be_one(options):
    test_set = labelled(tu.draw(POPULATION, 60, id="unit", seed=2, **options))
    added = test_set.iloc[:1].assign(unit=next(x for x in range(99) if x not in {*test_set.unit}))
    for row in (test_set.iloc[:1], added):
        with pytest.raises(DataError, match=r"drawn units only, each once; .* drawn in stratum"):
            tu.correct(POPULATION, pd.concat([test_set, row]))


def test_two_lists_a_broken_list_and_another_design_are_refused():
    one, two = (labelled(tu.draw(POPULATION, 30, id="unit", seed=s)) for s in (2, 3))
    mixed = pd.concat([one, two.drop(columns=["drawn"])])
    with pytest.raises(DataError, match="must come from one draw"):
        tu.correct(POPULATION, mixed)
    with pytest.raises(DataError, match="it was changed"):
        tu.correct(POPULATION, one.assign(drawn="trueup draw {"))
    with pytest.raises(DataError, match="are missing"):
        tu.correct(POPULATION, one.drop(columns=["units"]))
    with pytest.raises(OptionError, match="drawn at random; got design='shifted'"):
        tu.correct(POPULATION, one, design="shifted")
    by_class = labelled(tu.draw(POPULATION, 30, id="unit", by_prediction=True, seed=2))
    for function in (tu.correct, tu.check, tu.compare):
        with pytest.raises(OptionError, match="predicted classes; got design='random'"):
            function(POPULATION, by_class, design="random")


def test_an_unlabelled_list_and_an_unknown_label():
    test_set = tu.draw(POPULATION.to_pandas(), 30, id="unit", seed=2)
    with pytest.raises(DataError, match="30 rows have none"):
        tu.correct(POPULATION, test_set)
    test_set["true"] = "cannot tell"
    with pytest.raises(DataError, match="cannot tell"):
        tu.correct(POPULATION, test_set, classes=["other", "shop"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "from 1 to"),
        ({"n": 301}, "at most the 300 units"),
        ({"n": 10, "id": "nobody"}, "must have a column"),
        ({"n": 10, "size": "region"}, "must hold numbers"),
        ({"n": 10, "size": "y", "within": "region"}, "cannot be combined with strata"),
        ({"n": {"shop": 500}, "by_prediction": True}, "has 100 units"),
        ({"n": {"ship": 5}, "by_prediction": True}, "must name strata"),
        ({"n": 10, "allocation": "magic"}, "must be"),
        ({"n": 10, "show": "nothing"}, "must name columns"),
        ({"n": 10, "seed": -1}, "must be a whole number"),
        ({"n": 250, "id": "predicted"}, "each unit once"),
        ({"n": 3, "within": "region"}, "at least 4, 2 units for each of the 2 strata"),
        ({"n": 3, "within": "unit"}, "must name columns that divide"),
        ({"n": 3, "within": "predicted"}, "must name columns that divide"),
    ],
)
def test_bad_draws(options, words):
    with pytest.raises((DataError, OptionError), match=words):
        tu.draw(POPULATION, **{"id": "unit"} | options)


def test_sizes_of_0_are_told_and_negative_ones_refused():
    frame = POPULATION.to_pandas()
    with pytest.warns(tu.TrueupWarning, match="50 units have size 0"):
        tu.draw(
            frame.assign(y=np.where(frame["unit"] <= 50, 0.0, frame["y"])), 10, id="unit", size="y"
        )
    with pytest.raises(DataError, match="some values are negative"):
        tu.draw(frame.assign(y=-frame["y"]), 10, id="unit", size="y")


def test_numbers_per_stratum_and_names_that_are_taken():
    table = POPULATION.rename_columns(["unit", "predicted", "stratum", "y"])
    found = tu.draw(table, {("shop", "north"): 3, ("other", "south"): 50}, id="unit",
                    by_prediction=True, within="stratum", seed=1)  # fmt: skip
    assert found["trueup_stratum"].to_pylist().count("predicted=shop, stratum=north") == 3
    assert set(found["trueup_stratum"].to_pylist()) == {
        "predicted=shop, stratum=north", "predicted=other, stratum=south",
    }  # fmt: skip
    assert found["units"].to_pylist().count(50) == 3


@pytest.mark.parametrize("how", [{"within": "region"}, {"by_prediction": True}, {"size": "y"}])
def test_text_like_a_formula_is_read_back_as_it_was(how, tmp_path):
    """A work list has an apostrophe before ids and labels that a spreadsheet would run."""
    from trueup.audit.draw import draw_rows
    from trueup.present.output import csv_text
    from trueup.read import open_table

    ids = [f"{'-='[i % 2]}{i}" if i % 3 else f"'={i}" for i in range(200)]
    predicted = pa.array(["+yes", "-no", "-no"] * 66 + ["-no"] * 2)
    columns = {"id": ids, "predicted": predicted, "y": range(1, 201)}
    population = pa.table(columns | {"region": ["@n", "s"] * 100})
    rows = draw_rows(open_table(population, "predictions"), 60, id="id", seed=1, **how)
    filled = [row | {"true": row["predicted"]} for row in rows]
    path = tmp_path / "work_list.csv"
    path.write_text(csv_text(filled))
    assert "'-" in path.read_text()
    est = tu.correct(population, path, value="y", seed=1)
    assert est.classes == ("+yes", "-no")
    assert est.counts.n.sum() == 60


def test_two_of_each_stratum_are_enough():
    found = tu.draw(POPULATION, 8, id="unit", within="region", by_prediction=True, seed=1)
    strata = found["stratum"].to_pylist()
    assert {strata.count(x) for x in strata} == {2}


def test_more_units_with_the_same_seed_have_the_earlier_ones():
    few, many = (
        tu.draw(POPULATION, n, id="unit", within="region", allocation="equal", seed=4)
        for n in (40, 80)
    )
    assert {*ids(few)} < {*ids(many)}


@pytest.mark.parametrize(
    ("options", "value"),
    [({"within": "region"}, None), ({"size": "y"}, "y"), ({"size": "y"}, None)],
)
def test_a_series_does_not_forget_how_a_list_was_drawn(options, value):
    table = POPULATION.append_column("year", pa.array(2024 + UNITS % 2))
    audit = labelled(tu.draw(table, 60, id="unit", seed=1, **options))
    with pytest.raises(OptionError, match="`period` cannot be combined yet with") as error:
        tu.correct(table, audit, period="year", value=value, seed=1)
    if value or "within" in options:  # the hint leads somewhere
        assert "by='year'" in str(error.value)
        groups = tu.correct(table, audit, by="year", value=value, seed=1, draws=100).groups
        assert groups.labels == [(2024,), (2025,)]


@pytest.mark.parametrize("options", [{}, {"by_prediction": True}, {"size": "y"}])
def test_drawn_units_that_are_missing_are_told(options):
    audit = labelled(tu.draw(POPULATION, 60, id="unit", seed=1, **options))
    value = options.get("size")
    words = f"12 of {len(audit)} drawn units are missing"
    with pytest.warns(tu.TrueupWarning, match=words):
        tu.correct(POPULATION, audit.iloc[12:], value=value, seed=1, draws=100)
    assert any(words in x for x in tu.check(POPULATION, audit.iloc[12:], value=value).doubts)
    unlabelled = audit.assign(true=audit["true"].where(np.arange(len(audit)) >= 12))
    how = {"value": value, "missing": "leave_out"}
    with pytest.warns(
        tu.TrueupWarning, match=f"{words} from the test set, or have no 'true' there"
    ):
        tu.correct(POPULATION, unlabelled, seed=1, draws=100, **how)
    assert any(words in x for x in tu.check(POPULATION, unlabelled, **how).doubts)
    whole = tu.correct(POPULATION, audit, value=value, seed=1, draws=100)
    assert not any("missing" in x for x in whole.info["warnings"])
