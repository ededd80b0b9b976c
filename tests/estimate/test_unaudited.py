"""Predicted classes of which no unit was audited are named; so are squares that are none."""

import numpy as np
import pandas as pd
import pytest

import trueup as tu

LABELS = ["other", "shop", "bank"]
WITHOUT = [[0, 30, 0], [0, 70, 3], [0, 5, 40]]


def told(test=WITHOUT, v_hat=(7800, 2600, 900), *more, word="No audited unit", **options):
    given = {"classes": LABELS, "design": "by_prediction", "draws": 200, "seed": 1} | options
    est = tu.correct_counts(test, v_hat, *more, **given)
    return [text for text in est.info["warnings"] if word in text]


@pytest.mark.parametrize("design", ["by_prediction", "random"])
def test_an_unaudited_predicted_class_is_named_with_its_share(design):
    """69% of the units rested on the prior, and nothing said so."""
    (text,) = told(design=design)
    assert "predicted 'other': 69% of all units rest on the prior alone. Audit some" in text


def test_only_where_it_matters():
    assert not told([[1, 30, 0], *WITHOUT[1:]])
    assert not told(v_hat=(30, 2600, 900))  # under 1% of the units
    small = (30, 2600, 900), [9e4, 3e4, 2e4], [9e9, 1e7, 1e7]
    (text,) = told(WITHOUT, *small)
    assert "1% of all units and 64% of the total" in text
    for options in ({"design": "by_class"}, {"design": "shifted"}, {"method": "naive"}):
        assert not told(**options)


def test_several_are_named_and_a_label_that_is_no_class_once():
    (text,) = told([[0, 30, 0], [0, 70, 0], [0, 5, 0]])
    assert "predicted 'other' or 'bank': 77% of" in text
    labels = {"classes": ["yes", "no"], "predicted_classes": ["yes", "no", "unknown"]}
    unknown = [[30, 8, 0], [10, 152, 0]]
    assert not told(unknown, [400, 1590, 1010], **labels)
    assert told(unknown, [400, 1590, 1010], **labels, word="the predicted label 'unknown'")


def test_of_many_classes_five_are_named():
    K = 12
    n = np.zeros((K, K), int)
    n[:4, :4] = 5
    (text,) = told(n, [100] * K, classes=None)
    assert "predicted 4 or 5 or 6 or 7 or 8 or one of 3 more classes: 67% of" in text


def test_a_draw_that_leaves_strata_out_says_so():
    table = pd.DataFrame({"unit": range(300), "predicted": ["shop", "other", "bank"] * 100})
    few = r"fewer than 2 units .* their 200 units .*: predicted=other; predicted=bank\. Ask"
    with pytest.warns(tu.errors.TrueupWarning, match=few):
        tu.draw(table, {"shop": 50, "bank": 1}, id="unit", by_prediction=True, seed=1)


@pytest.mark.filterwarnings("error")
def test_a_draw_of_every_stratum_says_nothing():
    """Nor does one that takes all of a small stratum."""
    table = pd.DataFrame(
        {"unit": range(300), "predicted": ["shop", "other"] * 149 + ["x", "other"]}
    )
    tu.draw(table, {"shop": 50, "other": 2, "x": 1}, id="unit", by_prediction=True, seed=1)


def squares(v_hat, sums, w):
    test = [[30, 8, 1], [10, 152, 2], [3, 1, 20]]
    return told(test, v_hat, sums, w, word="`predicted_squares` looks like the square")


def test_the_square_of_the_sum_is_no_sum_of_squares():
    sums, v_hat = np.array([2000.0, 20000.0, 70.0]), [200, 2590, 40]
    (text,) = squares(v_hat, sums, sums**2)
    assert "4e+06 of predicted class 'other', as if one of its 200 units" in text
    assert squares(v_hat, sums, np.array([float(f"{x:.8g}") for x in sums**2]))
    assert not squares(v_hat, sums, sums**2 * [1, 0.9, 1])  # one class in which it is not so
    assert not squares(v_hat, sums, sums**2 / v_hat * 3)
    assert not squares(v_hat, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
