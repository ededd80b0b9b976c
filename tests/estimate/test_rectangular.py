"""Predicted labels that are no class, and classes that are never predicted, from the outside."""

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main

TEST, COUNTS = [[30, 8, 3], [10, 152, 5]], [400, 2590, 60]
NAMES = {"classes": ["a", "b"], "predicted_classes": ["a", "b", "unknown"]}


def tables():
    rows = [
        ("ab"[g], ["a", "b", "unknown"][h])
        for g in range(2)
        for h in range(3)
        for _ in range(TEST[g][h])
    ]
    test = pa.table({"true": [r[0] for r in rows], "predicted": [r[1] for r in rows]})
    labels = np.repeat(NAMES["predicted_classes"], COUNTS)
    return pa.table({"predicted": labels.tolist()}), test


def test_joint_is_independent_columns():
    """Oracle: c_·h ~ Dir(1/K + n_·h), units allocated to what was not audited."""
    est = tu.correct_counts(TEST, COUNTS, **NAMES, design="by_prediction", draws=20_000, seed=1)
    n, v = np.array(TEST), np.array(COUNTS)
    a, rest = n + 0.5, v - n.sum(axis=0)
    p = a[0] / a.sum(axis=0)
    A = a.sum(axis=0)
    mean = n[0].sum() + (rest * p).sum()
    var = (rest * p * (1 - p) * (rest + A) / (1 + A)).sum()  # beta-binomial
    assert est.draws[:, 0].mean() == pytest.approx(mean, abs=5 * np.sqrt(var / 20_000))
    assert est.draws[:, 0].var() == pytest.approx(var, rel=5 * np.sqrt(3 / 20_000))
    assert est.P.shape == (20_000, 2, 3)
    assert est.P.sum(axis=2) == pytest.approx(1)
    assert [row["naive"] for row in est.rows()] == [400, 2590]


def test_tables_give_the_same_numbers_as_counts():
    for design in ("random", "shifted"):
        by_hand = tu.correct_counts(TEST, COUNTS, **NAMES, design=design, seed=3)
        est = tu.correct(*tables(), classes=["a", "b"], design=design, seed=3)
        assert est.rows() == by_hand.rows()


@pytest.mark.parametrize("method", ["calibrated", "test_set", "difference"])
def test_classical_methods(method):
    est = tu.correct_counts(TEST, COUNTS, **NAMES, method=method)
    n, v = np.array(TEST), np.array(COUNTS)
    expected = {
        "calibrated": (n / n.sum(axis=0)) @ v,
        "test_set": n.sum(axis=1) / n.sum() * v.sum(),
    }
    assert est.info["warnings"] == [] or "random" in est.info["warnings"][0]
    rows = [row["estimate"] for row in est.rows()]
    assert len(rows) == 2
    if method in expected:
        assert rows == pytest.approx(expected[method])


def test_what_cannot_be_inverted_is_refused():
    for method in ("constrained", "inverse", "bayes"):
        with pytest.raises(tu.TrueupError, match="as many predicted labels as classes"):
            tu.correct_counts(TEST, COUNTS, **NAMES, method=method)


@pytest.mark.parametrize("option", ["by", "strata", "period"])
def test_groups_and_periods_need_classes_and_nobody_is_told_to_publish_the_label(option):
    both = [table.append_column("month", pa.array([7] * len(table))) for table in tables()]
    with pytest.raises(tu.OptionError, match=r"\(here 'month'\) .* 'unknown' is not") as caught:
        tu.correct(*both, classes=["a", "b"], **{option: "month"})
    assert "only if units can truly be of it" in str(caught.value)


@pytest.mark.parametrize("design", ["by_class", "shifted"])
def test_full_is_taken_for_the_other_designs(design):
    est = tu.correct_counts(TEST, COUNTS, **NAMES, design=design, seed=1)
    assert est.info["method"] == "full"
    # the 60 units without a class are shared out: with 2,990 the answer is nearly the same
    square = tu.correct_counts(
        [row[:2] for row in TEST], COUNTS[:2], design=design, method="full", seed=1
    )
    ratio = est.rows()[0]["mean"] / square.rows()[0]["mean"]
    assert 0.8 < ratio < 1.4


def test_a_class_that_is_never_predicted():
    est = tu.correct_counts(
        [[30, 5], [10, 20], [3, 4]], [400, 300], classes=[*"abc"], predicted_classes=[*"ab"],
        design="by_prediction", seed=1,
    )  # fmt: skip
    rows = est.rows()
    assert rows[2]["naive"] == 0
    assert 7 <= rows[2]["lower"] < rows[2]["estimate"] < 200
    assert est.draws.sum(axis=1) == pytest.approx(700)


def test_columns_in_another_order_are_the_classes():
    straight = tu.correct_counts([[30, 3], [4, 25]], [200, 100], classes=[*"ab"], seed=1)
    turned = tu.correct_counts(
        [[3, 30], [25, 4]], [100, 200], classes=[*"ab"], predicted_classes=[*"ba"], seed=1
    )
    assert straight.rows() == turned.rows()


def test_a_label_taken_for_a_class_is_asked_about():
    """It got 2,359 of 3,000 units: the prior's answer, as no audited unit has it as truth."""
    square = [*TEST, [0, 0, 0]]
    with pytest.raises(tu.TrueupError, match="row 3 of `test`"):
        tu.correct_counts(square, COUNTS, design="shifted")
    with pytest.raises(tu.TrueupError, match=r"classes=\['a', 'b'\]"):
        tu.correct(*tables(), design="by_class")
    with pytest.warns(tu.TrueupWarning, match="leave it out of `classes`"):
        est = tu.correct_counts(square, COUNTS, seed=1)
    assert est.rows()[2]["estimate"] < 60


def test_rectangles_from_the_command_line(tmp_path):
    file = tmp_path / "matrix.csv"
    file.write_text(",a,b,unknown\na,30,8,3\nb,10,152,5\n")
    common = ["--predicted-counts", "400,2590,60", "--seed", "1", "--json"]
    typed = ["--test", "30,8,3;10,152,5", "--classes", "a,b", "--predicted-classes", "a,b,unknown"]
    answers = [
        CliRunner().invoke(main, ["numbers", *test, *common])
        for test in (["--test", str(file)], typed)
    ]
    assert [x.exit_code for x in answers] == [0, 0]
    assert answers[0].stdout == answers[1].stdout
    wrong = CliRunner().invoke(main, ["numbers", "--test", str(file), "--predicted-counts", "1,2"])
    assert wrong.exit_code == 2


def test_reports_and_checks_of_rectangles(tmp_path):
    est = tu.correct_counts(TEST, COUNTS, **NAMES, seed=1)
    assert est.report(tmp_path / "r.html").exists()
    assert "unknown" in (tmp_path / "r.html").read_text()
    assert "predicted classes never audited: none" in str(tu.check(*tables(), classes=["a", "b"]))
    assert str(est.sensitivity())
