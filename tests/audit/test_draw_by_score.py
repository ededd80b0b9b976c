"""Drawn by score: more labels where errors are likely, and `correct` reads the bands back."""

import re

import numpy as np
import pandas as pd
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

N = 2_000
UNITS = np.arange(N)
LEVELS = np.array([0.55, 0.7, 0.9, 0.97])
SCORE = LEVELS[UNITS % 4]
PREDICTED = np.where(UNITS < 500, "shop", "other")
# wrong: half of those at 0.55, every fifth at 0.7, and none above
WRONG = np.where(SCORE == 0.55, UNITS // 4 % 2 == 0, (SCORE == 0.7) & (UNITS // 4 % 5 == 0))
TRUE = np.where((PREDICTED == "shop") == WRONG, "other", "shop")
POPULATION = pa.table(
    {"unit": UNITS, "predicted": PREDICTED, "p": SCORE, "y": 1.0 + UNITS % 7, "g": UNITS % 3}
)
SHOPS = int((TRUE == "shop").sum())


def drawn(n=100, seed=1, population=POPULATION, **options):
    return tu.draw(population, n, id="unit", seed=seed, **{"score": "p"} | options)


def labelled(n=100, seed=1, **options):
    frame = drawn(n, seed, **options).to_pandas()
    frame["true"] = TRUE[frame["unit"]]
    return frame


def test_labels_are_spread_by_neyman_and_sure_bands_are_not_starved():
    """By hand: units times √(p(1 − p)), no p above 0.95. Planted bugs: p for the spread, no floor.

    Fine bands have the score to within 3% of its log odds.
    """
    frame = drawn(400).to_pandas()
    units = np.array([np.sum((h == PREDICTED) & (p == SCORE)) for h in ("other", "shop")
                      for p in LEVELS])  # fmt: skip
    p = np.minimum(np.tile(LEVELS, 2), 0.95)
    expected = 400 * units * np.sqrt(p * (1 - p)) / (units * np.sqrt(p * (1 - p))).sum()
    found = frame.groupby(["predicted", "p"]).size().to_numpy()
    np.testing.assert_allclose(found, expected, atol=2.5)
    assert found.sum() == 400
    assert found[0] > 2 * found[3], "unsure units have more labels"
    np.testing.assert_allclose(frame["probability"], (found / units)[
        4 * (frame["predicted"] == "shop") + np.searchsorted(LEVELS, frame["p"])])  # fmt: skip


def test_lower_scores_never_have_fewer_labels():
    """Planted bug: √(p(1 − p)) below ½, where units that are surely wrong would have few labels."""
    p = np.array([0.02, 0.1, 0.5, 0.9])[UNITS % 4]
    table = POPULATION.set_column(2, "p", pa.array(p))
    found = drawn(400, population=table).to_pandas().groupby(["predicted", "p"]).size().to_numpy()
    assert (np.abs(np.diff(found.reshape(2, 4)[:, :3])) <= 1).all()
    assert (found.reshape(2, 4)[:, 3] < found.reshape(2, 4)[:, 2]).all()


def test_the_list_says_why_each_unit_is_on_it():
    row = drawn(400).to_pandas().sort_values(["predicted", "p"]).iloc[0]
    said = int(row["probability"] * 375 + 0.5)
    assert row["why"].startswith(f"{said} of 375 units predicted other with scores 0.5")
    # fine bands have the score to within 0.02
    assert re.search("which say that 4[3-7]% of them are wrong$", row["why"])
    assert row["stratum"].startswith("predicted=other, score=1: 0.5")


def test_every_unit_is_drawn_as_often_as_its_probability_says():
    """Binomial bounds that one run in 50,000 exceeds."""
    R, seen, said = more(40), np.zeros(N), np.full(N, np.nan)
    for r in range(R):
        found = drawn(100, fresh_seed(r))
        unit = found["unit"].to_numpy()
        seen[unit] += 1
        said[unit] = found["probability"].to_numpy()
    known = np.isfinite(said)
    times, p = seen[known], said[known]
    tails = np.minimum(binom.cdf(times, R, p), binom.sf(times - 1, R, p))
    assert tails.min() * known.sum() > 1e-5


def units_of(table):
    columns = ["unit", "stratum", "why", "probability"]
    return sorted(open_table(table, "the list").rows(columns))


@pytest.fixture(scope="module")
def expected():
    return units_of(drawn())


@pytest.mark.filterwarnings("ignore:::ibis")
@pytest.mark.parametrize("engine", [*LOCAL, *FILES, "ibis-duckdb"])
def test_every_engine_draws_the_same_units(engine, expected, tmp_path):
    assert units_of(drawn(population=make(engine, POPULATION, tmp_path, None))) == expected


def test_correct_reads_the_bands_back():
    """Planted bug: bands ignored. Units that are likely to be wrong are then most of the list."""
    test_set = labelled(600)
    row = tu.correct(POPULATION, test_set, seed=1).rows()[1]
    textbook, pooled = (
        (test_set["true"] == "shop").groupby(test_set[column]).mean() @ units
        for column, units in (
            ("stratum", test_set.groupby("stratum")["units"].first()),
            ("predicted", pd.Series(PREDICTED).value_counts().sort_index()),
        )
    )
    assert abs(row["estimate"] - textbook) < row["sd"]
    assert abs(pooled - textbook) > 3 * row["sd"]
    assert abs(row["estimate"] - SHOPS) < 5 * row["sd"]


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("options", [{}, {"value": "y"}, {"by": "g"}])
def test_all_units_labelled_is_the_truth(options):
    rows = tu.correct(POPULATION, labelled(N), seed=1, **options).rows()
    y = POPULATION["y"].to_numpy() if "value" in options else np.ones(N)
    for row in rows:
        mine = (row["g"] == UNITS % 3) if row.get("g") is not None else np.ones(N, bool)
        expected = y[mine & (row["class"] == TRUE)].sum()
        np.testing.assert_allclose([row["lower"], row["upper"]], expected)


@pytest.mark.usefixtures("one_batch")
def test_errors_of_totals_are_as_their_draws_say():
    """Values go with the class. Planted bug: draws half as wide, of which (error/sd)² is 4."""
    y = np.where(TRUE == "shop", 30.0, 10.0) + UNITS % 7
    table = POPULATION.set_column(3, "y", pa.array(y))
    R, squares = more(12), []
    for r in range(R):
        test_set = drawn(150, fresh_seed(r), population=table).to_pandas()
        test_set["true"] = TRUE[test_set["unit"]]
        row = tu.correct(table, test_set, value="y", seed=r, draws=400).rows()[1]
        squares.append(((row["mean"] - y[TRUE == "shop"].sum()) / row["sd"]) ** 2)
    assert np.mean(squares) < 1 + 5 * np.sqrt(2 / R)


def test_difference_is_the_textbook_stratified_estimator():
    test_set = labelled(200)
    est = tu.correct(POPULATION, test_set, method="difference", seed=1)
    mean = (test_set["true"] == "shop").groupby(test_set["stratum"]).mean()
    units, m = test_set.groupby("stratum")["units"].first(), test_set.groupby("stratum").size()
    assert est.rows()[1]["estimate"] == pytest.approx(mean @ units)
    variance = (units**2 * mean * (1 - mean) / (m - 1) * (1 - m / units)).sum()
    assert est.rows()[1]["sd"] == pytest.approx(np.sqrt(variance))


@pytest.mark.usefixtures("short_chains")
def test_one_column_of_scores_for_each_class():
    p = np.where(PREDICTED == "shop", SCORE, 1 - SCORE)
    table = POPULATION.append_column("shop", pa.array(p)).append_column("other", pa.array(1 - p))
    options = {"score": ["other", "shop"], "classes": ["other", "shop"]}
    found = drawn(100, population=table, **options).to_pandas()
    assert set(found["unit"]) == set(drawn(100)["unit"].to_pylist())
    found["true"] = TRUE[found["unit"]]
    assert (
        tu.correct(table, found, seed=1).rows()
        == tu.correct(POPULATION, labelled(100), seed=1).rows()
    )


@pytest.mark.usefixtures("short_chains")
def test_a_list_goes_through_csv_and_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    POPULATION.to_pandas().to_csv("predictions.csv", index=False)
    command = ["draw", "predictions.csv", "-n", "100", "--id", "unit", "--score", "p"]
    done = CliRunner().invoke(main, [*command, "--seed", "1", "--output", "list.csv"])
    assert done.exit_code == 0, done.output
    assert "predicted=other, score=1: 0.5" in done.output
    frame = pd.read_csv("list.csv")
    assert set(frame["unit"]) == set(drawn()["unit"].to_pylist())
    frame["true"] = TRUE[frame["unit"]]
    frame.to_csv("labelled.csv", index=False)
    done = CliRunner().invoke(main, ["correct", "predictions.csv", "labelled.csv", "--seed", "1"])
    assert done.exit_code == 0, done.output
    assert "drawn within predicted classes and bands of 'p'" in done.output
    done = CliRunner().invoke(main, ["check", "predictions.csv", "labelled.csv"])
    assert "order of the scores" in done.output


def test_fewer_bands_for_few_labels():
    assert len(set(drawn(12)["stratum"].to_pylist())) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "no"}, "must have a column 'no'"),
        ({"score": "predicted"}, "must hold numbers to be a score"),
        ({"score": ["p", "y"]}, "one for each class"),
        ({"within": "g"}, "cannot be combined with `within`"),
        ({"size": "y"}, "cannot be combined with `within`"),
        ({"n": {"shop": 3}}, "nor with `n` per stratum"),
        ({"n": 3}, "`n` must be at least 8"),
        ({"n": 0}, "`n` must be a whole number"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    options = {"n": 100} | options
    with pytest.raises((OptionError, DataError), match=words):
        drawn(options.pop("n"), **options)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (np.full(N, 0.9), "must differ between units"),
        (np.where(UNITS == 7, np.nan, SCORE), "1 row has none"),
        (np.full(N, np.nan), "usable value"),
    ],
)
def test_scores_that_cannot_be_drawn_by_are_refused(scores, words):
    with pytest.raises(DataError, match=words):
        drawn(population=POPULATION.set_column(2, "p", pa.array(scores)))


def test_a_list_of_other_scores_or_options_is_refused():
    test_set = labelled()
    other = POPULATION.set_column(2, "p", pa.array(SCORE**3))
    with pytest.raises(DataError, match="must be the population"):
        tu.correct(other, test_set)
    for options, words in (
        ({"score": "y"}, "says that it was drawn within predicted classes and bands of 'p'"),
        ({"design": "shifted"}, "says that it was drawn"),
        ({"method": "calibrated"}, "cannot use `score`"),
        ({"strata": "g"}, "`score` cannot be combined with `strata`"),
        ({"by": "g", "value": "y"}, "Totals of groups"),
        ({"method": "difference", "score": "p"}, "no `by`, `strata`, `score`"),
    ):
        with pytest.raises(OptionError, match=words):
            tu.correct(POPULATION, test_set, **options)
    with pytest.raises(OptionError, match="`compare` and `plan` need"):
        tu.plan(POPULATION, test_set, half_width=100)
