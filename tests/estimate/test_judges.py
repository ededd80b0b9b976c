"""Several predicted columns: the first is corrected, the others say where it errs."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.seeds import fresh_seed, more

import trueup as tu
from trueup.cli import main

N = 4_000
LABELS = np.array(["a", "b", "c"])


def judges(seed, K=2, rho=0.5, N=N, second=0.25):
    """Two judges whose errors go together: units that are hard for one are hard for the other."""
    rng = np.random.default_rng(seed)
    s, hard = rng.choice(K, N, p=[0.3, *[0.7 / (K - 1)] * (K - 1)]), rng.standard_normal(N)
    found = {}
    for name, share in (("first", 0.15), ("second", second)):
        own = np.sqrt(rho) * hard + np.sqrt(1 - rho) * rng.standard_normal(N)
        wrong = own < np.quantile(own, share)
        found[name] = LABELS[np.where(wrong, (s + rng.integers(1, K, N)) % K, s)]
    units = pd.DataFrame({"id": np.arange(N), **found, "g": np.arange(N) % 2})
    units["y"] = np.round(rng.lognormal(2, 0.5, N) * np.where(s == 0, 2, 1), 2)
    return units, LABELS[s], rng


@pytest.fixture(scope="module")
def one():
    units, s, rng = judges(3)
    test = units.iloc[rng.choice(N, 300, replace=False)]
    return units, test.assign(true=s[test["id"]]), s


def test_a_second_judge_makes_cells(one):
    """Near the textbook's post-stratified estimator. Planted bug: the second judge ignored."""
    units, test, s = one
    both = tu.correct(units, test, predicted=["first", "second"], seed=1)
    cells = ["first", "second"]
    shares = (test["true"] == "a").groupby([test[x] for x in cells]).mean()
    textbook = (shares * units.groupby(cells).size()).sum()
    row = both.rows()[0]
    assert abs(row["estimate"] - textbook) < row["sd"] / 2
    assert abs(row["estimate"] - (s == "a").sum()) < 5 * row["sd"]
    alone = tu.correct(units, test, predicted="first", seed=1)
    assert [row["naive"] for row in both.rows()] == [row["naive"] for row in alone.rows()]


@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize("options", [{}, {"value": "y"}])
def test_errors_are_as_the_draws_say(options):
    """Conditionally dependent judges, the second one better; two or three classes, both designs.

    Planted bugs: draws a third as wide, whose (error/sd)² is about 6; the second judge ignored.
    """
    R, squares, sd = more(12), [], np.zeros(2)
    for r in range(R):
        units, s, rng = judges(fresh_seed(r), K=2 + r % 2, second=0.1)
        i = rng.choice(N, 200, replace=False)
        design = "random"
        if r % 4 > 1:
            design = "by_prediction"
            label = units["first"].to_numpy()
            i = np.concatenate([rng.choice(np.flatnonzero(label == h), 80, replace=False)
                                for h in np.unique(label)])  # fmt: skip
        test = units.iloc[i].assign(true=s[i])
        truth = units["y"][s == "a"].sum() if options else (s == "a").sum()
        for m, predicted in enumerate(("first", ["first", "second"])):
            row = tu.correct(
                units, test, predicted=predicted, design=design, draws=400, seed=r, **options
            ).rows()[0]
            sd[m] += row["sd"]
        squares.append(((row["mean"] - truth) / row["sd"]) ** 2)
    assert np.mean(squares) < 1 + 5 * np.sqrt(2 / R)
    assert sd[1] != sd[0]  # it is the same if the second is not used
    if not options:
        assert sd[1] < sd[0]  # of totals both are about the same


def test_all_units_audited_is_the_truth(one):
    units, _, s = one
    est = tu.correct(units, units.assign(true=s), predicted=["first", "second"], by="g", seed=1)
    for row in est.rows():
        mine = s if row["g"] is None else s[units["g"] == row["g"]]
        assert row["lower"] == row["upper"] == (mine == row["class"]).sum()


def test_groups_add_up_and_the_third_judge_counts(one):
    units, test, _ = one
    units, test = (
        x.assign(third=np.where(x["id"] % 5 == 0, "a", x["first"])) for x in (units, test)
    )
    every = ["first", "second", "third"]
    est = tu.correct(units, test, predicted=every, id="id", by="g", draws=300, seed=1)
    assert est.info["audit strata"] == 4
    np.testing.assert_allclose(est.draws.sum(axis=1), est.whole)
    by_id = tu.correct(units, test[["id", "true"]], predicted=every, id="id", draws=300, seed=1)
    whole = [{name: x for name, x in row.items() if name != "g"} for row in est.rows()[-2:]]
    assert by_id.rows() == whole, "labels come from the population"


def test_command_check_and_caption(one, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    units, test, _ = one
    units.to_csv("units.csv", index=False)
    test.to_csv("test.csv", index=False)
    words = ["units.csv", "test.csv", "--predicted", "first", "--predicted", "second"]
    done = CliRunner().invoke(main, ["correct", *words, "--seed", "1", "--output", "out.csv"])
    assert done.exit_code == 0, done.output
    est = tu.correct(units, test, predicted=["first", "second"], seed=1)
    np.testing.assert_allclose(
        pd.read_csv("out.csv")["estimate"], [row["estimate"] for row in est.rows()]
    )
    assert "'first' corrected, with 'second' beside it" in est.to_markdown()
    done = CliRunner().invoke(main, ["check", *words])
    share = (units["first"] == units["second"]).mean()
    same = test[test["first"] == test["second"]]
    right = (same["first"] == same["true"]).sum()
    assert f"all agree on {share:.1%} of the units; there {right} of {len(same)}" in done.output


def test_a_label_that_is_missing_is_named(one):
    units, test, _ = one
    units = units.assign(second=units["second"].where(units["id"] != 5))
    with pytest.raises(tu.TrueupError, match=r"Column 'second' of predictions .* 1 row has none"):
        tu.correct(units, test, predicted=["first", "second"])
    with pytest.raises(tu.TrueupError, match="must have a column 'second'"):
        tu.correct(units, test.drop(columns="second"), predicted=["first", "second"])
    with pytest.raises(tu.TrueupError, match="same kind of label"):
        tu.correct(units.assign(second=1), test, predicted=["first", "second"])


def test_messages_about_a_second_judge_speak_of_no_strata(one):
    units, test, _ = one
    seen = test[test["second"] == test["second"].iloc[0]]
    with pytest.warns(tu.TrueupWarning, match="in 1 of 2 predicted classes of 'second'"):
        tu.correct(units, seen, predicted=["first", "second"], seed=1, draws=200)
