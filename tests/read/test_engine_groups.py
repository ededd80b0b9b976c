"""The counts per group and stratum that `gather_groups` gives."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import trueup
from trueup.count.gather import gather_groups
from trueup.count.names import Columns
from trueup.read import open_table

POPULATION = {
    "unit": [1, 2, 3, 4, 5, 6, 7, 8],
    "predicted": ["a", "a", "b", "b", "a", "b", "a", "b"],
    "region": ["n", "s", "n", None, "s", "n", "n", "s"],
    "size": [1, 1, 2, 2, 2, 1, 2, 2],
    "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
}
TEST_SET = {
    "unit": [1, 3, 5],
    "predicted": ["a", "b", "a"],
    "true": ["b", "b", "a"],
    "region": ["n", "n", "s"],
    "size": [1, 2, 2],
    "y": [1.0, 3.0, 5.0],
}


def counted(population=POPULATION, test_set=TEST_SET, overlap=True, missing="refuse", **columns):
    return gather_groups(
        open_table(pa.table(population), "predictions"),
        open_table(pa.table(test_set), "the test set"),
        Columns(**({"value": "y"} | columns)),
        overlap=overlap,
        missing=missing,
    )


def without(column):
    return {name: cells for name, cells in TEST_SET.items() if name != column}


def test_groups_add_up_to_the_whole():
    found = counted(by=["region"], strata=["size"])
    assert found.groups.labels == [("n",), ("s",), (None,)]
    assert found.strata.labels == [(1,), (2,)]
    assert found.cells.labels == [(1, "n"), (1, "s"), (2, "n"), (2, "s"), (2, None)]
    assert found.group.tolist() == [0, 1, 0, 1, 2]
    assert found.stratum.tolist() == [0, 0, 1, 1, 1]
    for parts in (found.groups, found.strata, found.cells):
        assert (parts.counts.v_hat.sum(axis=0) == found.whole.v_hat).all()
        assert (parts.counts.n.sum(axis=0) == found.whole.n).all()
        for name in ("u_hat", "w_hat", "t", "t2"):
            total = getattr(parts.counts, name).sum(axis=0)
            np.testing.assert_allclose(total, getattr(found.whole, name))
    assert found.groups.counts.v_hat.tolist() == [[2, 2], [2, 1], [0, 1]]
    assert found.groups.counts.n[0].tolist() == [[0, 0], [1, 1]]  # rows true, columns predicted
    assert found.strata.counts.u_hat.tolist() == [[3.0, 6.0], [12.0, 15.0]]
    assert found.warnings == [
        "Rows of predictions without a label in one of 'region': 1. They are a group of their "
        "own, labelled None; the rows of the whole, labelled None too, come last."
    ]


def test_without_groups_there_is_one_part():
    found = counted()
    assert found.groups.labels == found.strata.labels == found.cells.labels == [()]
    assert (found.groups.counts.n[0] == found.whole.n).all()
    assert (
        found.whole.n.dtype
        == found.groups.counts.n.dtype
        == found.groups.counts.v_hat.dtype
        == np.int64
    )
    assert counted(value=None).groups.counts.u_hat is None


def test_a_test_set_without_the_group_informs_them_all():
    found = counted(test_set=without("region"), by=["region"], strata=["size"])
    assert not found.groups.placed
    assert (found.strata.counts.n.sum(axis=0) == found.whole.n).all()
    assert any("has no column 'region'" in text for text in found.warnings)


def test_an_id_places_the_audited_units():
    only = {"unit": TEST_SET["unit"], "true": TEST_SET["true"]}
    found = counted(test_set=only, by=["region"], strata=["size"], id="unit")
    given = counted(by=["region"], strata=["size"])
    assert (found.cells.counts.n == given.cells.counts.n).all()
    np.testing.assert_allclose(found.cells.counts.t, given.cells.counts.t)


def test_strata_must_be_in_the_test_set():
    with pytest.raises(trueup.DataError, match="must have a column 'size'"):
        counted(test_set=without("size"), strata=["size"])


def test_a_group_that_the_population_lacks():
    elsewhere = TEST_SET | {"region": ["n", "n", "w"]}
    with pytest.raises(trueup.DataError, match=r"hold: 1; the first is in 'w'\."):
        counted(test_set=elsewhere, by=["region"])
    found = counted(test_set=elsewhere, by=["region"], overlap=False)
    assert found.unplaced == {("w",): 1}
    assert found.groups.counts.n.sum() == 2
    assert found.whole.n.sum() == 3


def test_decimal_groups_and_groups_of_two_kinds_are_refused():
    with pytest.raises(trueup.DataError, match="must hold groups as text"):
        counted(by=["y"])
    with pytest.raises(trueup.DataError, match="same kind of label in both"):
        counted(test_set=TEST_SET | {"size": ["1", "2", "2"]}, by=["size"])


def test_missing_strata_are_missing():
    holes = POPULATION | {"size": [1, 1, 2, 2, 2, 1, 2, None]}
    with pytest.raises(trueup.DataError, match=r"'size' of predictions .* 1 row has"):
        counted(population=holes, strata=["size"])
    found = counted(population=holes, strata=["size"], missing="leave_out")
    assert found.whole.N == 7


def test_dates_and_true_and_false_are_groups():
    days = [datetime.date(2024, 1, 1 + i % 2) for i in range(8)]
    flags = [True, False] * 4
    found = counted(
        population=POPULATION | {"day": days, "flag": flags},
        test_set=TEST_SET | {"day": [days[0], days[0], days[0]], "flag": [True, True, True]},
        by=["day", "flag"],
    )
    assert found.groups.labels == [(days[0], True), (days[1], False)]


def test_leaving_out_matched_units():
    holes = POPULATION | {"y": [None, *POPULATION["y"][1:]]}
    found = counted(population=holes, id="unit", missing="leave_out")
    assert found.whole.N == 7
    assert found.whole.n.sum() == 2
    assert len(found.warnings) == 2
