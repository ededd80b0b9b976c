"""Bins of a column on which error rates depend: the same from every kind of table."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tests.read.makers import FILES, LOCAL, make

import trueup as tu
from trueup.count.gather import gather_groups
from trueup.count.made_columns import LEAST, bin_tables
from trueup.count.names import Columns
from trueup.read import open_table

ENGINES = (*LOCAL, *FILES, "ibis-duckdb", "ibis-sqlite")
rng = np.random.default_rng(8)
UNITS = 600
X = np.round(rng.lognormal(3, 1, UNITS), 1)
WHOLE = rng.integers(0, 6, UNITS)  # whole numbers, many of them equal
PREDICTED = np.array(["a", "b"])[rng.integers(2, size=UNITS)]
POPULATION = pa.table({"unit": np.arange(UNITS), "predicted": PREDICTED, "x": X, "whole": WHOLE})
AUDITED = rng.permutation(UNITS)[:90]
TEST_SET = POPULATION.take(AUDITED).append_column(
    "true", pa.array(np.where(rng.random(90) < 0.8, PREDICTED[AUDITED], "a"))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bins")


def binned(population, test_set, column="x", *, id=None, missing="refuse", **options):
    prior = tu.prior.regression(column, **options)
    tables = open_table(population, "predictions"), open_table(test_set, "the test set")
    *tables, prior = bin_tables(*tables, prior, id, missing)
    found = gather_groups(
        *tables,
        Columns(value="x", id=id, strata=(prior.bin_name,)),
        overlap=True,
        missing=missing,
    )
    return found, prior


def by_hand(x, audited, bins):
    """Edges halfway between neighbouring test values, nearest to the quantiles; then count."""
    values = sorted(set(x[audited].tolist()))
    halfway = [(low + high) / 2 for low, high in pairwise(values)]
    wanted = [np.quantile(x[audited], j / bins) for j in range(1, bins)]
    edges = sorted({min(halfway, key=lambda e: abs(e - w)) for w in wanted})
    return np.array([sum(value > edge for edge in edges) for value in x]), edges


def check(found, where, bins):
    strata = found.strata
    assert [label[0] for label in strata.labels] == list(range(bins))
    for j in range(bins):
        for h, label in enumerate(("a", "b")):
            mine = (where == j) & (label == PREDICTED)
            assert strata.counts.v_hat[j, h] == mine.sum()
            assert strata.counts.u_hat[j, h] == pytest.approx(X[mine].sum())
            for g, true in enumerate(("a", "b")):
                cell = (where[AUDITED] == j) & (np.array(TEST_SET["true"]) == true)
                assert strata.counts.n[j, g, h] == (cell & (PREDICTED[AUDITED] == label)).sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_bins_are_those_of_every_engine(engine, folder, servers):
    population = make(engine, POPULATION, folder, servers)
    test_set = make(engine, TEST_SET, folder, servers)
    where, edges = by_hand(X, AUDITED, 5)
    found, prior = binned(population, test_set, bins=5)
    check(found, where, len(edges) + 1)
    z = (X[AUDITED] - X[AUDITED].mean()) / X[AUDITED].std()
    centres = [z[where[AUDITED] == j].mean() for j in range(5)]
    assert prior.centres == pytest.approx(centres)
    # whole numbers, of which equal ones stay together
    where, edges = by_hand(WHOLE, AUDITED, 4)
    found, _ = binned(population, test_set, "whole", bins=4)
    check(found, where, len(edges) + 1)
    assert all(edge % 1 == 0.5 for edge in edges)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_test_set_without_the_column_is_matched_by_id(engine, folder, servers):
    population = make(engine, POPULATION, folder, servers)
    test_set = make(engine, TEST_SET.select(["unit", "true"]), folder, servers)
    where, edges = by_hand(X, AUDITED, 5)
    found, prior = binned(population, test_set, bins=5, id="unit", log=True)
    check(found, where, len(edges) + 1)
    z = (np.log(X[AUDITED]) - np.log(X[AUDITED]).mean()) / np.log(X[AUDITED]).std()
    assert prior.centres == pytest.approx([z[where[AUDITED] == j].mean() for j in range(5)])


@pytest.mark.parametrize("engine", ENGINES)
def test_units_without_the_column_s_value_are_refused_or_left_out(engine, folder, servers):
    holes = POPULATION.to_pydict()
    outside = [i for i in range(UNITS) if i not in AUDITED][:4]
    holes["whole"] = [None if i in outside else value for i, value in enumerate(holes["whole"])]
    population = make(engine, pa.table(holes, schema=POPULATION.schema), folder, servers)
    test_set = make(engine, TEST_SET, folder, servers)
    with pytest.raises(tu.DataError, match="4 rows have none"):
        binned(population, test_set, "whole")
    found, _ = binned(population, test_set, "whole", missing="leave_out")
    assert UNITS - 4 == found.whole.N


@pytest.mark.parametrize("engine", ["pandas", "polars", "csv", "duckdb"])
def test_test_units_without_a_value_are_refused_or_left_out(engine, folder, servers):
    holes = TEST_SET.to_pydict()
    holes["x"][3] = None
    test_set = make(engine, pa.table(holes, schema=TEST_SET.schema), folder, servers)
    population = make(engine, POPULATION, folder, servers)
    with pytest.raises(tu.DataError, match=r"'x' of .*1 row has none"):
        binned(population, test_set)
    found, _ = binned(population, test_set, missing="leave_out")
    assert found.whole.n.sum() == 89


def refused(words, population=POPULATION, test_set=TEST_SET, column="x", **options):
    with pytest.raises(tu.DataError, match=words):
        binned(population, test_set, column, **options)


def test_what_cannot_be_binned_is_refused():
    refused(f"at least {2 * LEAST} test units", test_set=TEST_SET.slice(0, 2 * LEAST - 1))
    same = TEST_SET.drop_columns("x").append_column("x", pa.array(np.ones(90)))
    refused("different values; got 90 units with 1 values", test_set=same)
    zero = TEST_SET.drop_columns("x").append_column("x", pa.array(np.arange(90.0)))
    refused("positive for its logarithm; got 0", test_set=zero, log=True)
    refused("did you mean 'x'", column="xx")
    refused("'x'", test_set=TEST_SET.drop_columns("x"))
    refused("numbers", column="predicted")


def test_few_test_units_make_few_bins():
    found, prior = binned(POPULATION, TEST_SET.slice(0, 4 * LEAST - 1))
    assert len(found.strata.labels) == len(prior.centres) == 3


def test_many_bins_stay_in_their_order():
    test_set = POPULATION.append_column("true", POPULATION["predicted"])
    found, prior = binned(POPULATION, test_set, bins=25)
    assert len(prior.centres) > 20
    assert list(prior.centres) == sorted(prior.centres)
    assert [label[0] for label in found.strata.labels] == list(range(len(prior.centres)))


def test_a_regression_makes_its_own_strata_and_knows_tables_only():
    with pytest.raises(tu.OptionError, match="strata"):
        tu.correct(POPULATION, TEST_SET, prior=tu.prior.regression("x"), strata="whole")
    with pytest.raises(tu.OptionError, match="needs the tables themselves"):
        tu.correct_counts([[9, 1], [1, 9]], [50, 50], prior=tu.prior.regression("x"))
    with pytest.raises(tu.OptionError, match="'auto', 'joint' or 'full'"):
        tu.correct(POPULATION, TEST_SET, prior=tu.prior.regression("x"), method="bayes")


def test_a_bin_without_units_of_the_population_is_refused():
    large = POPULATION.filter(pa.compute.greater(POPULATION["x"], float(np.median(X))))
    with pytest.raises(tu.EstimateError, match="Every bin of 'x' must hold units"):
        tu.correct(large, TEST_SET, prior=tu.prior.regression("x"), design="shifted")
