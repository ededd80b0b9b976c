"""Fine bands of a score: the same from every kind of table, in the order of the scores."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.read.by_hand import fine_bands, fine_scores
from tests.read.makers import ENGINES, make

from trueup.errors import DataError
from trueup.read import open_table
from trueup.read.table import CONTRADICTS, Score, score_of

rng = np.random.default_rng(12)
UNITS = 600
PREDICTED = rng.choice(["a", "b", "c"], UNITS)
P = np.round(rng.dirichlet([0.7, 0.7, 0.7], UNITS), 4)
MARGIN = np.round(np.concatenate([rng.normal(0, 5, UNITS - 6), [-200, -1, 0, 1, 77.5, 1e-9]]), 9)
COLUMNS = {"predicted": PREDICTED, "margin": MARGIN, "a": P[:, 0], "b": P[:, 1], "c": P[:, 2]}
TABLE = pa.table(COLUMNS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scores")


def by_hand(x, wrong):
    """Count units per predicted class and band, one by one."""
    found = {}
    for label, code, no in zip(PREDICTED.tolist(), fine_scores(x), wrong, strict=True):
        key = (int(code) + CONTRADICTS * bool(no), label)
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_bands_of_a_score_are_those_of_every_engine(engine, folder, servers):
    """Planted bugs: a rounding or a logarithm of another base; the first column for all classes."""
    table = open_table(make(engine, TABLE, folder, servers), "predictions")
    one = table.scored("band", Score(("margin",), "predicted")).tally(["band", "predicted"], None)
    assert dict(zip(one.keys, one.units.tolist(), strict=True)) == by_hand(
        MARGIN, np.zeros(UNITS, bool)
    )
    score = Score(("a", "b", "c"), "predicted", ("a", "b", "c"))
    each = table.scored("band", score).tally(["band", "predicted"], None)
    own = P[np.arange(UNITS), ["abc".index(h) for h in PREDICTED]]
    wrong = own < P.max(axis=1) - 1e-9
    assert wrong.any()
    assert dict(zip(each.keys, each.units.tolist(), strict=True)) == by_hand(own, wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_bands_of_a_value_are_those_of_every_engine(engine, folder, servers):
    """Planted bug: the sign forgotten."""
    table = open_table(make(engine, TABLE, folder, servers), "predictions")
    found = table.banded("band", "margin").tally(["band"], None)
    every, units = np.unique(fine_bands(MARGIN), return_counts=True)
    expected = dict(zip([(band,) for band in every.tolist()], units.tolist(), strict=True))
    assert dict(zip(found.keys, found.units.tolist(), strict=True)) == expected


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars-lazy", "pyarrow", "parquet", "csv"])
def test_a_value_and_a_score_are_counted_together(engine, folder, servers):
    table = open_table(make(engine, TABLE, folder, servers), "predictions")
    table = table.banded("value", "a").scored("band", Score(("margin",), "predicted"))
    found = table.tally(["value", "band", "predicted"], "a")
    assert found.units.sum() == UNITS
    assert found.sums.sum() == pytest.approx(P[:, 0].sum())
    assert len({key[1] for key in found.keys}) == len(np.unique(fine_scores(MARGIN)))


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars-lazy", "pyarrow", "parquet", "csv"])
def test_a_unit_without_a_score_is_refused_or_left_out_by_name(engine, folder, servers):
    margin = [None, *MARGIN[1:]]
    source = make(engine, pa.table({"predicted": PREDICTED, "margin": margin}), folder, servers)
    table = open_table(source, "predictions").scored("band", Score(("margin",), "predicted"))
    with pytest.raises(DataError, match=r"Column 'margin' .* 1 row has none"):
        table.tally(["band", "predicted"], None)
    left = table.tally(["band", "predicted"], None, missing="leave_out")
    assert left.left_out == {"margin": 1}
    assert left.units.sum() == UNITS - 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("engine", ["pandas", "polars", "polars-lazy", "pyarrow", "parquet"])
def test_a_score_that_is_no_number_is_no_score(engine, bad, folder, servers):
    source = make(engine, pa.table({"predicted": ["a", "b"], "p": [0.5, bad]}), folder, servers)
    table = open_table(source, "predictions").scored("band", Score(("p",), "predicted"))
    with pytest.raises(DataError, match=r"Column 'p' .* 1 row has none"):
        table.tally(["band", "predicted"], None)
    two = pa.table({"predicted": ["a", "b"], "a": [0.5, 0.1], "b": [bad, 0.9]})
    table = open_table(make(engine, two, folder, servers), "predictions")
    table = table.scored("band", Score(("a", "b"), "predicted", ("a", "b")))
    with pytest.raises(DataError, match=r"Column 'a or b' .* 1 row has none"):
        table.tally(["band", "predicted"], None)


def test_statistics_do_not_make_a_score_of_nan(folder):
    """PyArrow's leave NaN out, and DuckDB's optimiser believes them in a user's own relation.

    Planted bug: `p BETWEEN 0 AND 1` alone, which it takes to be always true.
    """
    path = folder / "nan.parquet"
    pq.write_table(pa.table({"predicted": ["a", "a", "b"], "p": [0.5, np.nan, 0.9]}), path)
    table = open_table(duckdb.read_parquet(str(path)), "predictions")
    table = table.scored("band", Score(("p",), "predicted"))
    assert table.tally(["predicted", "band"], None, missing="leave_out").left_out == {"p": 1}


def test_bands_are_in_the_order_of_the_scores(rng):
    x = np.sort(np.concatenate([rng.normal(0, 30, 500), rng.random(500), -rng.random(300)]))
    band = fine_scores(x)
    assert (np.diff(band) >= 0).all()
    middle = score_of(band.astype(np.int64))
    assert (np.diff(middle) >= 0).all()
    inside = (x > 0) & (x < 1)
    odds, found = x[inside] / (1 - x[inside]), middle[inside] / (1 - middle[inside])
    np.testing.assert_allclose(found, odds, rtol=0.05)
    np.testing.assert_allclose(middle[~inside], x[~inside], rtol=0.05)


def test_a_score_must_be_a_number():
    table = open_table(pa.table({"predicted": ["a"], "p": ["high"]}), "predictions")
    with pytest.raises(DataError, match="must hold numbers to be a score; it holds text"):
        table.scored("band", Score(("p",), "predicted"))
