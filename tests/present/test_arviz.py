"""Draws as ArviZ takes them, by both of its generations."""

import sys

import numpy as np
import pandas as pd
import pytest
from tests.later import Later
from tests.stand_ins import quick_nuts

import trueup as tu
from trueup.draws import nuts, rates

az, arviz_base, arviz_stats = map(Later, ("arviz", "arviz_base", "arviz_stats"))

pytestmark = pytest.mark.filterwarnings("ignore:::arviz", "ignore:::xarray", "ignore:::arviz_base")
TEST, V_HAT = [[14, 6], [3, 77]], [1700, 8300]
CLASSES = ["web", "other"]


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """ArviZ warns of itself when it loads, and `to_arviz` may be the first to load it."""
    assert az.summary


def same(table, est, name, ddof=1):
    less = np.sqrt((est.info["draws"] - 1) / (est.info["draws"] - ddof))
    for row in est.rows():
        found = table.loc[f"{name}[{row['class']}]"]
        assert float(found["mean"]) == pytest.approx(row["mean"], rel=1e-6)
        assert float(found["sd"]) == pytest.approx(row["sd"] * less, rel=1e-6)


def test_the_summary_of_arviz_is_ours():
    est = tu.correct_counts(TEST, V_HAT, classes=CLASSES, draws=1000)
    data = est.to_arviz()
    posterior = data["posterior"]
    assert dict(posterior.sizes) == {
        "chain": 1, "draw": 1000, "class": 2, "true": 2, "predicted": 2,
    }  # fmt: skip
    assert list(posterior["class"].values) == CLASSES
    same(az.summary(data, round_to="none"), est, "count")
    rate = posterior["P"].sel(true="web", predicted="other").values.ravel()
    assert (rate == est.P[:, 0, 1]).all()
    assert posterior.attrs["method"] == "joint"
    assert posterior.attrs["seed"] == est.info["seed"]
    assert "rhat" not in posterior.attrs  # there is none for independent draws


def test_totals_have_their_own_name():
    est = tu.correct_counts(TEST, V_HAT, [3e4, 9e4], [1e6, 4e6], classes=CLASSES, draws=500)
    same(az.summary(est.to_arviz(), round_to="none"), est, "total")


def test_arviz_of_one_and_later_gets_the_same(monkeypatch):
    est = tu.correct_counts(TEST, V_HAT, classes=CLASSES, draws=1000)
    old = est.to_arviz()
    monkeypatch.setitem(sys.modules, "arviz", None)
    new = est.to_arviz()
    assert type(new).__name__ == "DataTree"
    assert arviz_base.extract(new).sizes["sample"] == 1000
    for name in ("count", "P"):
        assert (new["posterior"][name].values == old["posterior"][name].values).all()
    same(arviz_stats.summary(new, round_to="none"), est, "count", ddof=0)  # as they have it
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(tu.OptionError, match="pip install arviz"):
        est.to_arviz()


def test_groups_are_a_coordinate(rng):
    true = rng.integers(2, size=900)
    table = pd.DataFrame({"predicted": np.where(rng.random(900) < 0.8, true, 1 - true)})
    table["region"], table["year"] = np.arange(900) % 3, 2020 + np.arange(900) % 2
    est = tu.correct(table, table.assign(true=true)[:100], by=["region", "year"], draws=500)
    posterior = est.to_arviz()["posterior"]
    assert posterior["count"].dims == ("chain", "draw", "group", "class")
    assert list(posterior["group"].values)[:2] == ["0 / 2020", "0 / 2021"]
    one = posterior["count"].sel(group="2 / 2021", **{"class": "1"})
    assert float(one.mean()) == pytest.approx(est.rows()[11]["mean"])


def test_a_prediction_that_is_no_class_is_a_coordinate_too():
    est = tu.correct_counts(
        [[14, 6, 2], [3, 77, 5]], [1700, 8300, 900], classes=CLASSES,
        predicted_classes=[*CLASSES, "?"], draws=500,
    )  # fmt: skip
    posterior = est.to_arviz()["posterior"]
    assert list(posterior["predicted"].values) == [*CLASSES, "?"]
    rate = posterior["P"].sel(true="other", predicted="?").values.ravel()
    assert (rate == est.P[:, 1, 2]).all()


def test_without_draws_there_is_nothing_to_give():
    for method in ("naive", "inverse"):
        with pytest.raises(tu.EstimateError, match="needs draws"):
            tu.correct_counts(TEST, V_HAT, method=method).to_arviz()


def test_draws_of_nuts_keep_their_chains(monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    monkeypatch.setattr(nuts, "run_nuts", quick_nuts)  # whose chains differ, and so R-hat tells
    prior = tu.prior.logistic_normal()
    est = tu.correct_counts(TEST, V_HAT, prior=prior, classes=CLASSES, draws=1000)
    data = est.to_arviz()
    assert data["posterior"].sizes["chain"] == 4
    assert data["posterior"].sizes["draw"] == 250
    table = az.summary(data, var_names=["P"], round_to="none")
    # the rank-normalised R-hat and bulk size of the same chains, as they compute them
    assert est.info["rhat"] > 1.05
    assert table["r_hat"].max() == pytest.approx(est.info["rhat"], abs=0.01)
    worth = min(table["ess_bulk"].min(), 1000)  # we claim no more than there are draws
    assert worth == pytest.approx(est.info["ess"], rel=0.05)
    assert data["posterior"].attrs["rhat"] == est.info["rhat"]


@pytest.mark.parametrize("draws", [1000, 1001, 1280])
@pytest.mark.usefixtures("short_chains")
def test_any_number_of_draws_goes_into_chains_or_one(draws, monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    cut = tu.prior.truncated(recall=(0.5, 1))
    est = tu.correct_counts(TEST, V_HAT, prior=cut, draws=draws)
    sizes = est.to_arviz()["posterior"].sizes
    assert sizes["chain"] * sizes["draw"] == draws
