"""Options of the wrong kind are refused in words, by every function that users call."""

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.count.names import ALWAYS, LISTS, NUMBERS, ONE_COLUMN, SHARES, WHOLE, check_given

TABLE = pd.DataFrame({"unit": range(100), "predicted": ["a", "b"] * 50, "w": 1.0, "v": 2.0})
TEST = TABLE.head(20).assign(true=TABLE["predicted"], p=0.2)
COLUMN, NUMBER, LIST = "must be the name of a column", "must be a (whole )?number", "must be a list"
MATRIX = [[3, 1], [2, 4]]


def correct_counts(**options):
    return tu.correct_counts(MATRIX, [50, 50], **options)


@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        *((tu.correct, {name: wrong}, COLUMN)
          for name in ("weight", "probability", "cluster", "period", "count", "squares", "true")
          for wrong in (["w"], 3)),
        (tu.correct, {"classes": 5}, LIST),
        (tu.correct, {"panel": "x"}, NUMBER),
        (tu.correct, {"text": 5}, "must name a column"),
        (tu.check, {"value": ["v"]}, COLUMN),
        (tu.compare, {"replications": "x"}, NUMBER),
        (tu.compare, {"predicted": ["predicted", "w"]}, COLUMN),
        (tu.compare, {"methods": "naive"}, LIST),
        *((tu.plan, {"next": wrong}, NUMBER) for wrong in ("x", 2.5, True, [5], np.inf, np.nan)),
        (tu.plan, {"next": 5, "cost": "a"}, NUMBER),
        (tu.plan, {"next": 5, "cost": {"a": "x"}}, NUMBER),
        (tu.plan, {"cv": "a"}, NUMBER),
        (tu.plan, {"half_width": "x"}, NUMBER),
        (tu.plan, {"half_width": True}, NUMBER),
        (tu.plan, {"next": 5, "replications": "x"}, NUMBER),
        (tu.plan, {"next": 5, "worth": "x"}, NUMBER),
        (tu.plan, {"next": 5, "cost": None}, NUMBER),
        (tu.plan, {"next": 5, "allocations": None}, LIST),
        (tu.plan, {"next": 5, "allocations": 5}, LIST),
        (tu.plan, {"next": 5, "P": "x"}, "must hold numbers"),
    ],
)  # fmt: skip
def test_two_tables(call, options, words):
    name = [*options][-1]
    with pytest.raises(tu.OptionError, match=f"`{name}` {words}") as error:
        call(TABLE, TEST, **options)
    assert "got" in error.value.problem


@pytest.mark.parametrize(
    ("options", "words"),
    [({"id": ["unit"]}, COLUMN), ({"id": None}, COLUMN), ({"size": ["v"]}, COLUMN),
     ({"predicted": ["predicted"]}, COLUMN), ({"true": 4}, COLUMN)],
)  # fmt: skip
def test_a_draw(options, words):
    with pytest.raises(tu.OptionError, match=words) as error:
        tu.draw(TABLE, 10, **{"id": "unit"} | options)
    assert error.value.hint


@pytest.mark.parametrize(
    ("options", "words"),
    [({"classes": 5}, LIST), ({"predicted_classes": 5}, LIST), ({"between": "x"}, NUMBER)],
)
def test_numbers_instead_of_tables(options, words):
    with pytest.raises(tu.OptionError, match=words):
        correct_counts(**options)


def test_what_is_of_the_right_kind_is_taken():
    given = dict.fromkeys(ONE_COLUMN, "column") | {name: [0.5, 0.5] for name in SHARES}
    given |= {name: np.float32(0.5) for name in NUMBERS} | {name: np.int64(5) for name in WHOLE}
    given |= {name: np.array(["a", "b"]) for name in LISTS} | {"cost": {"a": 1, "b": np.int8(2)}}
    check_given(given)
    check_given({name: None for name in given if name not in ALWAYS})
    check_given({"predicted": ["one", "two"]}, classifiers=True)
    check_given({"next": 20.0, "text": ["a"], "anything": object()})
