"""Options of the wrong kind are refused in words, not with a traceback or in silence."""

import functools

import numpy as np
import polars as pl
import pytest

import trueup as tu

COUNTS = ([[4, 1], [2, 3]], [10, 90])
UNITS = pl.DataFrame({"predicted": ["a", "b"] * 40, "month": [1, 2] * 40, "p": range(80)})
AUDIT = UNITS[:20].with_columns(true="predicted")
CASE = {"P": [[0.9, 0.1], [0.1, 0.9]], "base_rates": [0.2, 0.8], "N": 1_000, "n": 100}
counts = functools.partial(tu.correct_counts, *COUNTS)
tables = functools.partial(tu.correct, UNITS, AUDIT, design="by_prediction", draws=200, seed=1)
compare = functools.partial(tu.compare, methods=["naive", "joint"])


@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        (counts, {"noise": "no"}, "`noise` must be True or False; got 'no'"),
        (counts, {"overlap": "maybe"}, "`overlap` must be True or False; got 'maybe'"),
        (counts, {"noise": 1}, "`noise` must be True or False; got 1"),
        (tables, {"noise": "no"}, "`noise` must be True or False"),
        (tables, {"overlap": "maybe"}, "`overlap` must be True or False"),
        (tables, {"keep_draws": "x", "by": "month"}, "`keep_draws` must be True or False"),
        (tables, {"score": []}, r"`score` must name a column, or one for each class; got \[\]"),
        (tables, {"period": "month", "drift": "x"}, "`drift` must be a number; got 'x'"),
        (tables, {"period": "month", "panel": "x"}, "`panel` must be a number; got 'x'"),
        (compare, CASE | {"P": "x"}, "`P` must hold numbers only; got 'x'"),
        (compare, CASE | {"N": "x"}, "`N` must be a whole number; got 'x'"),
        (compare, CASE | {"replications": "x"}, "`replications` must be a whole number; got 'x'"),
        (compare, CASE | {"methods": "joint"}, "`methods` must be a list; got 'joint'"),
        (compare, CASE | {"overlap": "maybe"}, "`overlap` must be True or False"),
        (tu.prior.per_class, {"rows": [1]}, r"`rows` must name the class of each prior.*got \[1\]"),
        (counts(seed=1).save, {"path": None}, "The saved estimate needs a path; got None"),
        (counts(seed=1).again, {"noise": "no"}, "`noise` must be True or False"),
    ],
)
def test_what_is_of_the_wrong_kind(call, options, words):
    with pytest.raises(tu.OptionError, match=words):
        call(**options)


def test_what_is_as_good_as_the_right_kind(tmp_path):
    assert counts(noise=np.bool_(True), overlap=None, seed=1).info["noise"] is True
    assert counts(seed=1).save(str(tmp_path / "x.trueup")).exists()


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
def test_no_panel_and_no_drift_are_as_if_not_given(monkeypatch):
    monkeypatch.setattr("trueup.estimate.periods.draw.PARTICLES", 200)
    series = functools.partial(tables, period="month")
    one, other = series(), series(panel=None, drift=None)
    assert np.array_equal(one.draws, other.draws)
    assert other.info["panel"] == 0
