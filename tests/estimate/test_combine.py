"""Classes added up, margins, contrasts between classes and estimates, and mean values."""

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.estimate.derived.combine import partition
from trueup.estimate.doubts.pays import correction_warning
from trueup.present.reproduce import python_call

N = np.array([[30, 3, 1], [2, 40, 4], [1, 5, 50]])
V = np.array([3000, 4000, 5000])


@pytest.fixture
def frame(rng):
    s = rng.choice(3, 2400, p=[0.2, 0.3, 0.5])
    wrong = rng.random(2400) < 0.2
    return pd.DataFrame({
        "predicted": np.array(list("abc"))[np.where(wrong, rng.integers(0, 3, 2400), s)],
        "true": np.array(list("abc"))[s],
        "region": rng.choice(["n", "s"], 2400),
        "month": rng.integers(1, 4, 2400),
        "y": rng.lognormal(3, 1, 2400),
    })  # fmt: skip


def test_combined_draws_are_sums():
    est = tu.correct_counts(N, V, classes=["a", "b", "c"], seed=1)
    joined = est.combine({"ac": ["a", "c"]})
    assert joined.classes == ("ac", "b")
    assert (joined.draws[:, 0] == est.draws[:, 0] + est.draws[:, 2]).all()
    row = joined.rows()[0]
    assert row["naive"] == 8000
    assert row["estimate"] == np.median(joined.draws[:, 0])
    assert row["upper"] == pytest.approx(np.quantile(joined.draws[:, 0], 0.975))
    assert joined.counts.n.tolist() == [[82, 8], [6, 40]]
    assert (joined.M.sum(axis=2) == joined.draws).all()
    recall = joined.accuracy()[0]["mean"]
    M = est.M
    direct = M[:, [0, 0, 2, 2], [0, 2, 0, 2]].sum(axis=1) / M[:, [0, 2]].sum(axis=(1, 2))
    assert recall == pytest.approx(direct.mean())
    assert est.classes == ("a", "b", "c")
    with pytest.raises(tu.TrueupError, match="before `combine` and `margin`"):
        joined.again()
    str(joined)
    assert "combine({'ac': ['a', 'c']})" in python_call(joined)


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
def test_warnings_of_classes_that_were_combined_are_those_of_the_new_ones():
    """Class b has test units once it is with another; and other labels are needed to pay."""
    test = [[60, 20, 0], [0, 0, 0], [1, 0, 60]]
    est = tu.correct_counts(test, [2000, 900, 3000], classes=["a", "b", "c"], seed=1)
    assert any("no test unit of true class 'b'" in x for x in est.info["warnings"])
    for parts, holds in (({"bc": ["b", "c"]}, False), ({"ac": ["a", "c"]}, True)):
        joined = est.combine(parts)
        assert any("true class 'b'" in x for x in joined.info["warnings"]) == holds
    near = tu.correct_counts(
        [[90, 1, 0], [1, 90, 20], [0, 20, 90]], [9100, 10200, 7900], classes=["a", "b", "c"],
        overlap=False, seed=1,
    )  # fmt: skip
    joined = near.combine({"bc": ["b", "c"]})
    told = [x for x in joined.info["warnings"] if "beat no correction" in x]
    assert near.info["unproven"]
    assert told == ([correction_warning(312, 27_200)] if joined.info["unproven"] else [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": ["a", "z"]},
        {"x": "ab"},
        {"x": ["a", "b"], "y": ["b", "c"]},
        {"c": ["a", "b"]},
        {"x": ["a", "b", "c"]},
        {"x": []},
    ],
    ids=str,
)
def test_what_cannot_be_combined(wrong):
    with pytest.raises(tu.TrueupError, match="lasses"):
        partition(("a", "b", "c"), wrong)


def test_combine_and_margin_of_groups(frame):
    audited = frame.sample(300, random_state=1)
    est = tu.correct(frame, audited, by=["region", "month"], seed=1, draws=500)
    joined = est.combine({"bc": ["b", "c"]}).margin("month")
    assert joined.groups.labels == [(1,), (2,), (3,)]
    months = [[b for b, x in enumerate(est.groups.labels) if x[1] == m] for m in (1, 2, 3)]
    for b, parts in enumerate(months):
        direct = est.draws[:, parts][:, :, [1, 2]].sum(axis=(1, 2))
        assert joined.draws[:, b, 1] == pytest.approx(direct)
        naive = ((frame["month"] == b + 1) & (frame["predicted"] != "a")).sum()
        assert joined.rows()[2 * b + 1]["naive"] == naive
    assert joined.rows()[-1]["month"] is None
    assert joined.rows()[-1]["estimate"] == est.combine({"bc": ["b", "c"]}).rows()[-1]["estimate"]
    whole = est.margin("region", "month")
    assert whole.draws == pytest.approx(est.draws)
    assert est.margin(["region", "month"]).groups.by == ("region", "month")
    with pytest.raises(tu.TrueupError, match="each column once; got 'month' twice"):
        est.margin("month", "month")
    with pytest.raises(tu.TrueupError, match="A margin keeps some"):
        est.margin("year")


def test_contrasts_of_shares_and_of_classes(frame):
    audited = frame.sample(300, random_state=1)
    est = tu.correct(frame, audited, by="region", seed=1, draws=500)
    share = est.draws / est.draws.sum(axis=2, keepdims=True)
    found = est.contrast("n", "s", share=True)[2]
    difference = share[:, 1, 2] - share[:, 0, 2]
    assert found["estimate"] == pytest.approx(np.median(difference))
    assert found["growth_upper"] == pytest.approx(np.quantile(difference / share[:, 0, 2], 0.975))
    apart = est.contrast("a", "c", share=True)  # in every group
    assert [(row["region"], row["class"], row["against"]) for row in apart] == [
        ("n", "c", "a"), ("s", "c", "a"),
    ]  # fmt: skip
    assert apart[1]["estimate"] == pytest.approx(np.median(share[:, 1, 2] - share[:, 1, 0]))
    plain = tu.correct(frame, audited, seed=1, draws=500)
    (row,) = plain.contrast("a", "c")
    assert (row["class"], row["against"]) == ("c", "a")
    apart = plain.draws[:, 2] - plain.draws[:, 0]
    assert row["lower"] == pytest.approx(np.quantile(apart, 0.025))
    with pytest.raises(tu.TrueupError, match="not one of the classes"):
        plain.contrast("a", "z")


def test_two_estimates_are_independent_whatever_their_seeds():
    """Var(b − a) = Var(a) + Var(b): the same seed must not make the draws go together."""
    a = tu.correct_counts(N, V, seed=1)
    b = tu.correct_counts(N + 1, 2 * V, seed=1)
    row = a.contrast(b)[0]
    sd = np.hypot(a.whole[:, 0].std(), b.whole[:, 0].std())
    assert row["upper"] - row["lower"] == pytest.approx(2 * 1.96 * sd, rel=0.1)
    assert row["estimate"] == pytest.approx(
        np.median(b.whole[:, 0]) - np.median(a.whole[:, 0]), abs=sd / 5
    )
    few = tu.correct_counts(N + 1, V, seed=2, draws=100)
    assert len(a.contrast(few, share=True)) == 3
    with pytest.raises(tu.TrueupError, match="same classes"):
        a.contrast(tu.correct_counts(N, V, classes=["a", "b", "c"], seed=1))
    with pytest.warns(tu.TrueupWarning, match="use the same test set"):
        a.contrast(tu.correct_counts(N, 2 * V, seed=3))


def test_two_estimates_are_matched_by_the_names_of_their_classes():
    a = tu.correct_counts(N, V, classes=["a", "b", "c"], seed=1)
    turned = [2, 0, 1]
    other = (N + 1)[np.ix_(turned, turned)], 2 * V[turned]
    b = tu.correct_counts(*other, classes=["c", "a", "b"], seed=1)
    for g, row in enumerate(a.contrast(b)):
        label = row["class"]
        assert label == "abc"[g]
        medians = (np.median(x.whole[:, x.classes.index(label)]) for x in (b, a))
        assert row["estimate"] == pytest.approx(np.subtract(*medians), abs=60)
    same = tu.correct_counts(N[np.ix_(turned, turned)], V[turned], classes=["c", "a", "b"], seed=1)
    with pytest.warns(tu.TrueupWarning, match="use the same test set"):
        a.contrast(same)
    totals = tu.correct_counts(N, V, 7.0 * V, 49.0 * V, classes=["a", "b", "c"], seed=1)
    with pytest.raises(tu.TrueupError, match="got counts of a, b and c and totals of a, b and c"):
        a.contrast(totals)


def test_numbers_are_of_one_matrix():
    with pytest.raises(tu.TrueupError, match=r"one matrix.*\n.*\n.*count="):
        tu.correct_counts(np.ones((2, 2, 2)), [[10, 20], [30, 40]])
    with pytest.raises(tu.TrueupError, match=r"must have shape.*\n.*\n.*count="):
        tu.correct_counts(np.ones((2, 2)), [[10, 20], [30, 40]])


@pytest.mark.usefixtures("few_draws", "one_batch")
def test_mean_values_are_totals_over_units(frame):
    """Against the truth: the mean of each class's units lies within 5 standard errors."""
    audited = frame.sample(400, random_state=1)
    est = tu.correct(frame, audited, value="y", seed=1)
    truth = frame.groupby("true")["y"].mean()
    for row in est.mean_value():
        sd = (row["upper"] - row["lower"]) / 4
        assert abs(row["estimate"] - truth[row["class"]]) < 5 * sd
        assert sd < truth[row["class"]] / 5
    with pytest.raises(tu.TrueupError, match="needs an estimate with `value`"):
        tu.correct(frame, audited, seed=1).mean_value()


def test_constant_values_have_that_mean():
    """With y = 7 for every unit the mean is 7 on every draw; unpaired draws would scatter."""
    est = tu.correct_counts(N, V, 7.0 * V, 49.0 * V, 7.0 * N, 49.0 * N, seed=1)
    for row in est.mean_value():
        assert [row["estimate"], row["lower"], row["upper"]] == pytest.approx([7, 7, 7])


@pytest.mark.parametrize("above", ["x", None, float("nan"), float("inf"), True, [1, 2]])
def test_a_threshold_must_be_a_number(above):
    est = tu.correct_counts(N, V, seed=1, draws=200)
    with pytest.raises(tu.OptionError, match="`above` must be a finite number; got"):
        est.probability(above=above)
    assert len(est.probability(above=np.int64(3))) == len(N)


def test_classes_with_a_score_are_added_up_and_reported(frame, rng, tmp_path):
    """The score's calibration is that of the old labels: the report leaves it out."""
    frame["score"] = rng.random(len(frame))
    est = tu.correct(frame, frame.iloc[:200], score="score", draws=100, seed=1)
    joined = est.combine({"ab": ["a", "b"]})
    joined.report(tmp_path / "r.html")
    assert "ab" in (tmp_path / "r.html").read_text("utf-8")
    assert "calibration" in est.info
