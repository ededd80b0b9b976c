"""The same table through every engine: the same counts, the same totals, the same words."""

import numpy as np
import pyarrow as pa
import pytest
from tests.read.makers import ENGINES, make

import trueup
from trueup.count.gather import gather_groups
from trueup.count.names import Columns
from trueup.read import open_table

SLOW = ("dask", "ibis-postgres", "spark")
rng = np.random.default_rng(6)
UNITS = 500
PREDICTED = np.array(["a", "b", "c"])[rng.integers(3, size=UNITS)]
POPULATION = pa.table(
    {
        "unit": np.arange(UNITS),
        "predicted": PREDICTED,
        "region": np.array(["north", "south"])[rng.integers(2, size=UNITS)],
        "year": rng.integers(2019, 2022, size=UNITS),
        "y": np.round(rng.lognormal(5, 2, size=UNITS) - 20, 2),
    }
)
AUDITED = POPULATION.slice(100, 80)
TRUE = np.where(rng.random(80) < 0.7, PREDICTED[100:180], "b")
TEST_SET = AUDITED.append_column("true", pa.array(TRUE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def counted(population, test_set, missing="refuse", bands=False, **columns):
    return gather_groups(
        open_table(population, "predictions"),
        open_table(test_set, "the test set"),
        Columns(**({"value": "y", "by": ["region", "year"]} | columns)),
        overlap=True,
        missing=missing,
        bands=bands,
    )


EXACT = counted(POPULATION, TEST_SET)
BANDED = counted(POPULATION, TEST_SET, bands=True, by=None).whole
BY_BAND = counted(POPULATION, TEST_SET, bands=True).banded


def same(one, other):
    for name in ("v_hat", "n"):
        assert getattr(one, name).dtype == np.int64
        assert (getattr(one, name) == getattr(other, name)).all()
    for name in ("u_hat", "w_hat", "t", "t2"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    assert one.classes == other.classes
    assert one.signed == other.signed


def test_what_is_expected_is_what_python_counts():
    rows = POPULATION.to_pylist()
    for h, label in enumerate(EXACT.whole.classes):
        mine = [row["y"] for row in rows if row["predicted"] == label]
        assert EXACT.whole.v_hat[h] == len(mine)
        np.testing.assert_allclose(EXACT.whole.u_hat[h], sum(mine), rtol=1e-12)
    for b, (region, year) in enumerate(EXACT.groups.labels):
        mine = [row for row in rows if (row["region"], row["year"]) == (region, year)]
        assert EXACT.groups.counts.v_hat[b].sum() == len(mine)
    for (g, h), n in np.ndenumerate(EXACT.whole.n):
        pair = EXACT.whole.classes[g], EXACT.whole.classes[h]
        assert n == sum((pair[0] == TRUE) & (np.array(AUDITED["predicted"]) == pair[1]))


def test_bands_are_those_that_numpy_makes():
    """Each cell of the population holds what a loop over its units puts there."""
    same(BANDED, EXACT.whole)
    cells, K = BANDED.bands, len(BANDED.classes)
    y, predicted = np.array(POPULATION["y"]), np.array(POPULATION["predicted"])
    order = np.argsort(y)
    B = cells.v_hat.size // K
    start = 0
    for b in range(B):  # bands follow one another in the order of the values
        units = cells.v_hat.reshape(K, B)[:, b]
        mine = order[start : start + units.sum()]
        start += units.sum()
        assert units.tolist() == [(predicted[mine] == label).sum() for label in BANDED.classes]
        np.testing.assert_allclose(cells.u_hat.reshape(K, B)[:, b].sum(), y[mine].sum(), rtol=1e-9)
        assert len(set(np.sign(y[mine]))) == 1
    assert (cells.n.reshape(K, K, B).sum(axis=2) == BANDED.n).all()


def test_bands_of_groups_are_those_of_the_whole_side_by_side():
    """Added up over groups they are the whole's; over bands, the groups' own."""
    K, b = len(BANDED.classes), len(BY_BAND.starts)
    assert 2 <= b < len(BANDED.bands.edges[0]) + 1
    for name in ("v_hat", "u_hat", "w_hat", "n", "t"):
        whole, found = getattr(BANDED.bands, name), getattr(BY_BAND.counts, name)
        merged = np.add.reduceat(whole.reshape(*whole.shape[:-1], K, -1), BY_BAND.starts, axis=-1)
        np.testing.assert_allclose(found.sum(axis=0).reshape(merged.shape), merged, rtol=1e-9)
        groups = getattr(EXACT.groups.counts, name)
        np.testing.assert_allclose(found.reshape(*groups.shape, b).sum(axis=-1), groups, rtol=1e-9)


def test_very_many_groups_have_no_bands():
    """Of 500 groups and three classes two bands at least; with 2,000 memory would grow."""
    assert counted(POPULATION, TEST_SET, bands=True, by="unit").banded is not None
    more = pa.concat_tables([POPULATION] * 4)
    more = more.set_column(0, "unit", pa.array(np.arange(4 * UNITS)))
    assert counted(more, TEST_SET, bands=True, by="unit").banded is None


@pytest.mark.parametrize("engine", ENGINES)
def test_bands_are_those_of_every_engine(engine, folder, servers):
    population = make(engine, POPULATION, folder, servers)
    test_set = make(engine, TEST_SET, folder, servers)
    ids = [{}, {"id": "unit"}]  # of the slow ones each way of matching and of grouping once
    for columns in ids[-1:] if engine in SLOW else ids:
        found = counted(population, test_set, bands=True, by=None, **columns).whole
        same(found, EXACT.whole)
        same(found.bands, BANDED.bands)
    for columns in ids[:1] if engine in SLOW else ids:
        inside = counted(population, test_set, bands=True, **columns).banded
        same(inside.counts, BY_BAND.counts)
        assert (inside.starts == BY_BAND.starts).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_and_totals_are_those_of_every_engine(engine, folder, servers):
    population = make(engine, POPULATION, folder, servers)
    test_set = make(engine, TEST_SET, folder, servers)
    found = counted(population, test_set)
    same(found.whole, EXACT.whole)
    assert found.groups.labels == EXACT.groups.labels
    assert (found.groups.counts.v_hat == EXACT.groups.counts.v_hat).all()
    assert (found.groups.counts.n == EXACT.groups.counts.n).all()
    np.testing.assert_allclose(found.groups.counts.u_hat, EXACT.groups.counts.u_hat, rtol=1e-12)
    same(counted(population, test_set, id="unit").whole, EXACT.whole)
    assert (
        open_table(population, "p").largest("y", 3) == sorted(POPULATION["y"].to_pylist())[:-4:-1]
    )
    units = counted(population, test_set, value=None, by=[]).whole
    assert (units.v_hat == EXACT.whole.v_hat).all()
    assert units.u_hat is None


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_of_two_kinds_go_together(engine, folder, servers):
    other = ENGINES[(ENGINES.index(engine) + 5) % len(ENGINES)]
    population = make(engine, POPULATION, folder, servers)
    same(counted(population, make(other, TEST_SET, folder, servers)).whole, EXACT.whole)


def shown(population, test_set):
    """What messages call the population; of two files of one name they say which it is."""
    name = open_table(population, "predictions").name
    alike = name == open_table(test_set, "the test set").name
    return f"{name} (predictions)" if alike else name


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_values_get_the_same_words(engine, folder, servers):
    holes = POPULATION.to_pydict()
    holes["y"][3:5] = [None, None]
    holes["predicted"][4] = None
    if engine not in ("ibis-sqlite",):  # it stores NaN as null and knows no infinity
        holes["y"][7:9] = [float("nan"), float("inf")]
    bad = sum(y is None or not np.isfinite(y) for y in holes["y"])
    broken = make(engine, pa.table(holes, schema=POPULATION.schema), folder, servers)
    test_set = make(engine, TEST_SET, folder, servers)
    name = shown(broken, test_set)
    words = "of {} must have a usable value for every unit; {} none (null, NaN or infinite)"
    with pytest.raises(trueup.DataError) as caught:
        counted(broken, test_set)
    assert str(caught.value).startswith(f"Column 'predicted' {words.format(name, '1 row has')}")
    found = counted(broken, test_set, missing="leave_out")
    assert UNITS - bad == found.whole.N
    (note,) = found.warnings
    assert note == (
        f"Left out {bad} rows of {name} without a usable value: 1 in 'predicted', {bad} in 'y'."
    )
    holes["predicted"][4] = "a"
    mended = make(engine, pa.table(holes, schema=POPULATION.schema), folder, servers)
    name = shown(mended, test_set)
    with pytest.raises(trueup.DataError) as caught:
        counted(mended, test_set)
    assert str(caught.value).startswith(f"Column 'y' {words.format(name, f'{bad} rows have')}")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_answer_is_a_table_of_the_users_kind(engine, folder, servers):
    population = make(engine, POPULATION, folder, servers)
    est = trueup.correct(population, TEST_SET, method="naive", value="y")
    kind = f"{type(est.table).__module__.split('.')[0]}.{type(est.table).__name__}"
    local = "pandas.DataFrame"
    assert kind == {
        "polars": "polars.DataFrame",
        "polars-lazy": "polars.DataFrame",
        "pyarrow": "pyarrow.Table",
        "duckdb": f"{type(est.table).__module__.split('.')[0]}.DuckDBPyRelation",
        **dict.fromkeys(("ibis-duckdb", "ibis-sqlite", "ibis-postgres"), "ibis.Table"),
        "spark": "pyspark.DataFrame",
    }.get(engine, local)
