"""The pilot that `plan(next=…)` adds to: how it must be drawn, and what is promised."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main
from trueup.study.plans import promise

N = 4000
NAMES = np.array(["other", "shop"])


def case(rng, share=0.2, wrong=0.1):
    """The population and its true classes."""
    s = (rng.random(N) < share).astype(int)
    h = np.where(rng.random(N) < wrong, 1 - s, s)
    return pd.DataFrame({"unit": np.arange(N), "predicted": NAMES[h]}), NAMES[s]


def audited(table, true, rows):
    return table.loc[rows].assign(true=true[rows])


def by_class(rng):
    table, true = case(rng)
    rows = [rng.choice(np.flatnonzero(true == g), 100, replace=False) for g in NAMES]
    return table, audited(table, true, np.concatenate(rows))


@pytest.mark.parametrize("design", ["by_class", "shifted"])
@pytest.mark.parametrize("goal", [{}, {"half_width": 100}])
def test_designs_that_the_work_list_cannot_have_are_refused(rng, design, goal):
    table, pilot = by_class(rng)
    with pytest.raises(tu.OptionError, match="`next` needs a pilot") as error:
        tu.plan(table, pilot, next=20, id="unit", design=design, **goal)
    assert "`draw`" in error.value.hint


def test_the_command_refuses_them_too(rng, tmp_path):
    for name, table in zip(("p.csv", "t.csv"), by_class(rng), strict=True):
        table.to_csv(tmp_path / name, index=False)
    command = ["plan", str(tmp_path / "p.csv"), str(tmp_path / "t.csv"), "--next", "20"]
    for design, words in (
        (["--design", "by_class"], ("`next` needs a pilot", "trueup draw")),
        ([], ("do not look like a random sample", "--design by_prediction")),
    ):
        result = CliRunner().invoke(main, [*command, *design])
        assert result.exit_code == 2
        assert all(word in result.stderr for word in words), result.stderr


def test_a_pilot_within_true_classes_is_no_random_one(rng):
    """Half of it is 'shop', and a quarter of the population: it was taken as one of ours."""
    table, pilot = by_class(rng)
    with pytest.raises(tu.DataError, match="do not look like a random sample") as error:
        tu.plan(table, pilot, next=20, id="unit")
    assert "design='by_prediction'" in error.value.hint


def test_a_doubtful_pilot_is_told_and_one_within_predicted_classes_is_not():
    """64 and 36 of equal classes: p = 0.004."""
    table = pd.DataFrame({"unit": np.arange(2000), "predicted": ["a", "b"] * 1000})
    rows = [*range(0, 128, 2), *range(1, 73, 2)]
    pilot = table.loc[rows].assign(true=table["predicted"])
    pilot.loc[[0, 1], "true"] = ["b", "a"]
    with pytest.warns(tu.errors.TrueupWarning, match="taken to be drawn at random, but"):
        found = tu.plan(table, pilot, next=10, id="unit", seed=1)
    assert "'a' is 64.0% of the test set and 50.0% of the population" in str(found)
    drawn = tu.draw(table, {"a": 64, "b": 36}, id="unit", by_prediction=True, seed=1)
    drawn["true"] = drawn["predicted"]
    even = pilot.drop(index=rows[36:64])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = tu.plan(table, pilot, next=10, id="unit", seed=1, design="by_prediction")
        tu.plan(table, drawn, next=10, seed=1)
        tu.plan(table, even, next=10, id="unit", seed=1)
    assert named.info["notes"] == found.info["notes"][1:]


def test_a_pilot_of_ones_own_that_was_drawn_within_columns(rng):
    """Regions with other shares of 'shop', and as many audited units in each."""
    table, true = case(rng)
    north = (table["predicted"] == "shop").to_numpy() ^ (rng.random(N) < 0.05)
    table["region"] = np.where(north, "north", "south")
    rows = [rng.choice(np.flatnonzero(table["region"] == r), 100, replace=False)
            for r in ("north", "south")]  # fmt: skip
    pilot = audited(table, true, np.concatenate(rows))
    options = {"next": 20, "id": "unit", "seed": int(rng.integers(2**32))}
    with pytest.raises(tu.DataError, match="do not look like") as error:
        tu.plan(table, pilot, **options)
    assert "`drawn_within`" in error.value.hint
    found = tu.plan(table, pilot, drawn_within="region", **options)
    made = found.work_list()
    assert {len(stratum.split(", ")) for stratum in made["stratum"]} == {2}
    made["true"] = true[made["unit"]]
    assert tu.correct(table, made, seed=1).asked["drawn_within"] == ("region",)
    both = tu.plan(table, pilot, drawn_within="region", by="region", **options)
    assert both.info["by"] == ["region"]
    # within regions it must look random too
    worse = pilot[(pilot["predicted"] == "shop") | (pilot["region"] == "south")]
    worse = pd.concat([worse, pilot[pilot["region"] == "north"].head(0)])
    extra = np.setdiff1d(np.flatnonzero(table["predicted"] == "shop"), worse["unit"])[:150]
    worse = pd.concat([worse, audited(table, true, extra[~north[extra]])])
    with pytest.raises(tu.DataError, match="random within 'region'"):
        tu.plan(table, worse, drawn_within="region", **options)


@pytest.mark.parametrize(
    "goal", [{"half_width": 10}, {"half_width": 10, "next": 5}, {"period": "unit"}]
)
def test_only_next_asks_how_a_pilot_was_drawn_within(rng, goal):
    table, true = case(rng)
    with pytest.raises(tu.OptionError, match="`drawn_within` needs `next`"):
        tu.plan(table, audited(table, true, np.arange(100)), drawn_within="unit", **goal)


@pytest.mark.parametrize("option", [{"certainty": 3}, {"worth": 100}])
def test_options_of_a_goal_do_not_apply_to_the_next_units(option):
    assumed = {"P": [[0.9, 0.1], [0.1, 0.9]], "base_rates": [0.2, 0.8], "N": 1000}
    with pytest.raises(tu.OptionError, match="cannot be combined with `next` alone"):
        tu.plan(**assumed, next=5, **option)


def test_a_wider_interval_is_not_promised(rng, monkeypatch):
    """Planted: labels after which there are fewer. As advice, ± 414 instead of ± 408 came."""
    table, true = case(rng)
    drawn = tu.draw(table, 200, id="unit", seed=int(rng.integers(2**32)))
    drawn["true"] = true[drawn["unit"]]
    assert "will be about ±" in str(tu.plan(table, drawn, next=50, seed=1))
    fewer = promise._after

    def after(counts, labels, c, known, rng):
        made = fewer(counts, labels, c, known, rng)
        return type(made)(made.classes, made.n // 8 + 1, made.v_hat)

    monkeypatch.setattr(promise, "_after", after)
    told = str(tu.plan(table, drawn, next=50, seed=1))
    assert "these labels are not expected to narrow it." in told
    assert "will be about" not in told
