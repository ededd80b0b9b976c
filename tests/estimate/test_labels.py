"""Matrices and vectors with labels are matched by them, never by the order in which they stand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueup as tu

X = pd.DataFrame([[30, 3], [5, 70]], index=["a", "b"], columns=["a", "b"])
UNITS = pd.Series({"b": 700, "a": 300})  # as `value_counts` sorts them
SUMS, SQUARES = pd.Series({"b": 1400.0, "a": 900.0}), pd.Series({"b": 5600.0, "a": 3600.0})
TEST_SUMS, TEST_SQUARES = X * 2.0, X * 8.0
OPTIONS = {"design": "by_prediction", "seed": 1, "draws": 400}
BY_HAND = tu.correct_counts(X.to_numpy(), [300, 700], classes=["a", "b"], **OPTIONS)


def agrees(est, other=BY_HAND):
    """Whether the answer for each class is the same, but for the order of random numbers."""
    pairs = [({row["class"]: row for row in x.rows()}) for x in (est, other)]
    assert {*pairs[0]} == {*pairs[1]}
    for label, row in pairs[0].items():
        same = pairs[1][label]
        assert row["naive"] == same["naive"]
        assert abs(row["estimate"] - same["estimate"]) < same["sd"]
    return True


@pytest.mark.parametrize(
    "units",
    [UNITS, dict(UNITS), UNITS.to_frame("count"), UNITS.sort_index(), [300, 700],
     pd.Series([300, 700]), pl.DataFrame({"predicted": ["b", "a"], "count": [700, 300]})],
    ids=["series", "mapping", "frame", "sorted", "list", "unlabelled", "polars"],
)  # fmt: skip
@pytest.mark.parametrize("classes", [None, ["a", "b"]])
def test_vectors_follow_the_labels_of_the_columns(units, classes):
    est = tu.correct_counts(X, units, classes=classes, **OPTIONS)
    assert est.classes == ("a", "b")
    assert est.counts.v_hat.tolist() == [300, 700]
    assert np.array_equal(est.draws, BY_HAND.draws)


def test_a_crosstab_and_value_counts():
    test = pd.DataFrame({"true": list("bab") * 9, "predicted": list("baa") * 9})
    units = pd.Series(list("aabbbbb") * 50).value_counts()
    est = tu.correct_counts(pd.crosstab(test["true"], test["predicted"]), units, **OPTIONS)
    assert est.counts.n.tolist() == [[9, 0], [9, 9]]
    assert est.counts.v_hat.tolist() == [100, 250]


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
@pytest.mark.parametrize("across", [["a", "b"], ["b", "a"]])
def test_rows_and_columns_in_any_order(order, across):
    est = tu.correct_counts(X.loc[order, across], UNITS, **OPTIONS)
    assert est.classes == tuple(order)
    agrees(est)
    est = tu.correct_counts(X.loc[order, across], UNITS, classes=["b", "a"], **OPTIONS)
    assert est.classes == ("b", "a")
    agrees(est)


def test_sums_and_squares_too():
    by_hand = tu.correct_counts(
        X.to_numpy(), [300, 700], [900.0, 1400.0], [3600.0, 5600.0], TEST_SUMS.to_numpy(),
        TEST_SQUARES.to_numpy(), classes=["a", "b"], **OPTIONS,
    )  # fmt: skip
    turned = [x.loc[["b", "a"], ["b", "a"]] for x in (TEST_SUMS, TEST_SQUARES)]
    est = tu.correct_counts(X, UNITS, SUMS, SQUARES, *turned, **OPTIONS)
    assert np.array_equal(est.draws, by_hand.draws)
    est = tu.correct_counts(X, dict(UNITS), dict(SUMS), dict(SQUARES), *turned, **OPTIONS)
    assert np.array_equal(est.draws, by_hand.draws)


def test_predicted_labels_that_are_no_class():
    wide = X.assign(unsure=[4, 6])[["unsure", "b", "a"]]
    units = {"a": 300, "b": 700, "unsure": 50}
    est = tu.correct_counts(wide, units, **OPTIONS)
    assert est.counts.predicted == ("unsure", "b", "a")
    assert est.counts.v_hat.tolist() == [50, 700, 300]
    narrow = tu.correct_counts(X.to_numpy(), {"b": 700, "a": 300}, classes=["a", "b"], **OPTIONS)
    assert np.array_equal(narrow.draws, BY_HAND.draws)


def test_numbers_as_labels():
    codes = X.set_axis([1, 0]).set_axis([1, 0], axis=1)
    est = tu.correct_counts(codes, pd.Series([700, 300], [0, 1]), **OPTIONS)
    assert est.counts.v_hat.tolist() == [300, 700]
    assert est.classes == (1, 0)
    assert all(type(label) is int for label in est.classes)
    # the codes 0 and 1 in their order are positions: names may be given to them
    est = tu.correct_counts(X.set_axis([0, 1]).set_axis([0, 1], axis=1), [300, 700],
                            classes=["a", "b"], **OPTIONS)  # fmt: skip
    assert np.array_equal(est.draws, BY_HAND.draws)
    est = tu.correct_counts(X.to_numpy(), pd.Series({1: 700, 0: 300}), **OPTIONS)
    assert est.counts.v_hat.tolist() == [300, 700]


def test_polars_has_the_labels_in_its_first_column():
    table = pl.DataFrame({"true": ["b", "a"], "a": [5, 30], "b": [70, 3]})
    est = tu.correct_counts(table, dict(UNITS), **OPTIONS)
    assert est.classes == ("b", "a")
    agrees(est)
    plain = pl.DataFrame(X.to_numpy(), orient="row")
    est = tu.correct_counts(plain, pl.Series([300, 700]), **OPTIONS)
    assert est.classes == (0, 1)
    digits = pl.DataFrame({"true": ["1", "0"], "0": [5, 30], "1": [70, 3]})
    est = tu.correct_counts(digits, {0: 300, 1: 700}, classes=[0, 1], **OPTIONS)
    assert np.array_equal(est.draws, BY_HAND.draws)


def test_columns_alone_name_the_rows_too():
    est = tu.correct_counts(pd.DataFrame({"a": [30, 5], "b": [3, 70]}), UNITS, **OPTIONS)
    assert np.array_equal(est.draws, BY_HAND.draws)


def test_rates_from_elsewhere_with_labels():
    P = X.div(X.sum(axis=1), axis=0)
    by_hand = tu.correct_counts(None, [300, 700], P=P.to_numpy(), classes=["a", "b"], seed=1)
    est = tu.correct_counts(None, UNITS, P=P[["b", "a"]], seed=1)
    assert np.array_equal(est.draws, by_hand.draws)
    studies = {"a": [[30, 3]], "b": [[5, 70]]}
    found = tu.correct_counts(None, UNITS, studies=studies, seed=1)
    assert found.counts.v_hat.tolist() == [300, 700]


def test_the_estimate_can_be_made_again_from_what_it_says():
    """The call and the file hold the numbers in their order, and not the user's tables."""
    est = tu.correct_counts(X.loc[["b", "a"]], UNITS, **OPTIONS)
    assert est.asked["test"] == [[5, 70], [30, 3]]
    assert est.asked["predicted_counts"] == [300, 700]
    asked = {name: x for name, x in est.asked.items() if name != "function"}
    assert np.array_equal(tu.correct_counts(**asked).draws, est.draws)


@pytest.mark.parametrize(
    ("test", "units", "more", "words", "hint"),
    [
        (X, {"a": 300, "c": 700}, {}, "labels of `predicted_counts` must be", "reindex"),
        (X, {"a": 300, "b": 700, "c": 1}, {}, "labels of `predicted_counts`", "reindex"),
        (X.set_axis([1, 0]).set_axis([1, 0], axis=1), pd.Series([700, 300]), {},
         "must be labels or positions", "set_axis"),
        (X, {"a": 300}, {}, "labels of `predicted_counts` must be", "reindex"),
        (X, UNITS, {"classes": ["x", "y"]}, "rows of `test` must be", "set_axis"),
        (pd.crosstab(pd.Series(list("aab")), pd.Series(list("abb")), margins=True), UNITS, {},
         "last row and column are the sums", "without margins"),
        (X, UNITS, {"classes": ["a", "c"]}, "rows of `test` must be", "reindex"),
        (X, UNITS, {"predicted_classes": ["a", "c"]}, "columns of `test` must be", "reindex"),
        (X.to_numpy(), UNITS, {}, "labels of `predicted_counts` must be", "classes="),
        (X, UNITS, {"test_sums": X.rename({"a": "z"}), "predicted_sums": SUMS},
         "rows of `test_sums` must be", "reindex"),
    ],
)  # fmt: skip
def test_labels_that_contradict_each_other_are_refused(test, units, more, words, hint):
    with pytest.raises(tu.ClassError, match=words) as refusal:
        tu.correct_counts(test, units, **more, **OPTIONS)
    assert hint in refusal.value.hint
