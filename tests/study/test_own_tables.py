"""`compare` and `plan` on the user's own tables: values are counted where they are."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.count.names import Columns
from trueup.read import open_table
from trueup.read.frames import FrameTable
from trueup.study.case_source import Assumed, make_case
from trueup.study.plans import half_width, next_units
from trueup.study.unit_values import two_values, unit_values

SMALL = {"draws": 200, "replications": 4, "seed": 1, "value": "y"}
RATES = {"P": [[0.8, 0.2], [0.2, 0.8]], "base_rates": [0.5, 0.5]}
STUDIES = {
    "compare": lambda *tables, **options: tu.compare(*tables, methods=["joint"], **options),
    "plan": lambda *tables, **options: tu.plan(*tables, cv=0.2, **options),
    "plan next": lambda *tables, **options: tu.plan(*tables, next=5, id="id", **options),
    "assumed": lambda population, _, **options: tu.plan(population, cv=0.2, **RATES, **options),
}


@pytest.fixture(autouse=True)
def few_studies(monkeypatch, short_chains):
    """How the methods do is not asked here, and takes an estimate for each replication."""
    monkeypatch.setattr(next_units, "FUTURES", 2)
    monkeypatch.setattr(import_module("trueup.study.compare"), "FEWEST", 2)
    monkeypatch.setattr(half_width, "FEWEST", 2)
    monkeypatch.setattr(half_width, "ROUGH", 4)


def tables(rng, N=2000):
    s = rng.integers(0, 2, N)
    s_hat = np.where(rng.random(N) < 0.15, 1 - s, s)
    names = np.array(["other", "shop"])
    population = pd.DataFrame(
        {"id": np.arange(N), "predicted": names[s_hat], "y": rng.lognormal(0, 2, N)}
    )
    audited = rng.choice(np.arange(10, N), 200, replace=False)
    return population, population.iloc[audited].assign(true=names[s[audited]])


@pytest.mark.parametrize("name", STUDIES)
def test_a_text_column_as_value_is_named(name, rng):
    population, test_set = (
        table.assign(y=table["y"].map("{:.2f} euro".format)) for table in tables(rng)
    )
    with pytest.raises(tu.DataError, match=r"Column 'y' of .* must hold numbers"):
        STUDIES[name](population, test_set, **SMALL)


@pytest.mark.parametrize("name", STUDIES)
def test_missing_values_are_blamed_on_their_column_and_may_be_left_out(name, rng):
    population, test_set = tables(rng)
    population.loc[[3, 5], "y"] = np.nan
    with pytest.raises(tu.DataError, match=r"Column 'y' of predictions .* 2 rows have none"):
        STUDIES[name](population, test_set, **SMALL)
    found = STUDIES[name](population, test_set, missing="leave_out", **SMALL)
    assert found.info["N"] == 1998


@pytest.mark.parametrize("name", ["compare", "plan", "assumed"])
def test_the_population_is_never_read_unit_by_unit(name, rng, monkeypatch):
    def rows(*_, **__):
        raise AssertionError("the units were read")

    monkeypatch.setattr(FrameTable, "rows", rows)
    STUDIES[name](*tables(rng), **SMALL)


@pytest.mark.parametrize("signed", [False, True])
def test_values_have_the_sums_of_the_table(signed, rng):
    population, _ = tables(rng)
    if signed:
        population["y"] -= population["y"].median()
    population.loc[:20, "y"] = 0.0
    table = open_table(population, "predictions")
    s_hat, y = unit_values(table, Columns(value="y"), ["other", "shop"], "refuse")
    assert (y < 0).any() == signed
    for h, label in enumerate(["other", "shop"]):
        exact = population["y"][population["predicted"] == label]
        ours = y[s_hat == h]
        assert len(ours) == len(exact)
        assert ours.sum() == pytest.approx(exact.sum())
        assert (ours**2).sum() == pytest.approx((exact**2).sum(), rel=1e-6)
        assert np.abs(ours).max() == pytest.approx(exact.abs().max(), rel=0.3)
        share = np.sort(np.abs(ours))[-20:].sum() / np.sort(exact.abs())[-20:].sum()
        assert share == pytest.approx(1, abs=0.1)


def test_two_values_by_hand():
    assert two_values(1, 7.0, 49.0).tolist() == [7.0]
    assert sorted(two_values(2, 5.0, 13.0)) == pytest.approx([2.0, 3.0])
    assert two_values(4, 0.0, 0.0).tolist() == [0.0] * 4


@pytest.mark.parametrize("name", ["compare", "plan next"])
def test_priors_may_name_classes(name, rng):
    population, test_set = tables(rng)
    prior = tu.prior.from_range("shop", recall=(0.7, 0.95))
    found = STUDIES[name](population, test_set, prior=prior, **SMALL)
    if name == "compare":
        assert found.info["prior"] == "from_range"


def test_a_prior_that_needs_a_column_is_refused(rng):
    with pytest.raises(tu.OptionError, match="regression"):
        tu.compare(*tables(rng), prior=tu.prior.regression("y"), **SMALL)


def test_a_plan_needs_a_method_with_intervals():
    with pytest.raises(tu.OptionError, match="needs a method with intervals"):
        tu.plan(**RATES, N=1000, half_width=20, method="naive", draws=200, replications=4)


def test_true_classes_are_drawn_with_regard_to_the_value(rng):
    """A class ten times as large: by prediction alone its simulated total is too small."""
    N = 20_000
    s = (rng.random(N) < 0.05).astype(int)
    s_hat = np.where(rng.random(N) < np.where(s == 1, 0.1, 0.02), 1 - s, s)
    y = rng.lognormal(0, 0.8, N) * np.where(s == 1, 10, 1)
    i = rng.choice(N, 1000, replace=False)
    case = make_case(
        pd.DataFrame({"predicted": s_hat, "y": y}),
        pd.DataFrame({"predicted": s_hat[i], "true": s[i], "y": y[i]}),
        Columns(value="y"), Assumed(), classes=None, overlap=None, missing="refuse",
        design="random", prior="perks", seed=1,
    )  # fmt: skip
    truth = y[s == 1].sum()
    simulated = np.mean([x.truth[1] for x in case.truths(rng)])
    assert simulated == pytest.approx(truth, rel=0.12)
    alone = np.mean([x.truth[1] for x in replace(case, cells=None).truths(rng)])
    assert alone < 0.85 * truth


def units_larger_if_wrong(rng, N=4000, factor=4.0):
    s = (rng.random(N) < 0.3).astype(int)
    wrong = rng.random(N) < 0.15
    y = rng.lognormal(0, 0.5, N) * np.where(wrong, factor, 1.0)
    return s, np.where(wrong, 1 - s, s), y


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_compare_resamples_the_test_set_and_follows_the_worse_simulation(rng, factor):
    """Misclassified units four times as large: one P for all promises 95% and keeps none of it.

    The planted bug is a second simulation that draws predictions from one P too.
    """
    s, s_hat, y = units_larger_if_wrong(rng, factor=factor)
    i = rng.choice(len(s), 600, replace=False)
    found = tu.compare(
        pd.DataFrame({"predicted": s_hat, "y": y}),
        pd.DataFrame({"predicted": s_hat[i], "true": s[i], "y": y[i]}),
        value="y", methods=["inverse", "difference"], interest=1, draws=200, replications=100,
        seed=int(rng.integers(2**32)),
    )  # fmt: skip
    first, second = (
        {row["method"]: row["coverage"] for row in found.rows(name) if row["class"] == 1}
        for name in found.info["simulations"]
    )
    assert first["inverse"] > 0.95 - 5 * np.sqrt(0.05 * 0.95 / 100)
    if factor == 1:
        assert "Both simulations agree" in found.recommendation
        return
    assert second["inverse"] < 0.5
    assert second["difference"] > 0.8
    assert "disagree" in found.recommendation
    assert found.info["followed"] == found.info["simulations"][1]
    assert found.recommended == "difference"


def error_of_total(s, s_hat, y, drawn, design):
    """Standard error of class 1's total: shares of the drawn units in each cell (ŝ, y)."""
    cell = np.unique(np.stack([s_hat, y]), axis=1, return_inverse=True)[1]
    share = (np.bincount(cell, s) / np.bincount(cell))[cell]
    own = {"random": np.zeros_like(s), "by_prediction": s_hat, "by_class": s}[design]
    residual, variance = y * (s - share), 0.0
    for g, i in enumerate(drawn):
        N = (own == g).sum()
        variance += N**2 * (1 / len(i) - 1 / N) * residual[own == g].var()
    if design == "by_class":  # the share β of class 1 is not known, but by the test set's rows
        beta, p10, p01 = s.mean(), s_hat[s == 0].mean(), 1 - s_hat[s == 1].mean()
        spread = (1 - beta) ** 2 * p10 * (1 - p10) / len(drawn[0])
        spread += beta**2 * p01 * (1 - p01) / len(drawn[1])
        slope = (y * share * (1 - share)).sum() / (beta * (1 - beta) * (1 - p10 - p01))
        variance += slope**2 * spread
    return np.sqrt(variance)


@pytest.mark.parametrize("design", ["random", "by_prediction", "by_class"])
def test_the_resampled_truth_is_that_of_the_audited_units(rng, design):
    """Every class's total is about what the test set expands to, cell by cell.

    Values are few, so that cells are these and all error is that of the drawn units. Planted bugs:
    shares by prediction alone are 5 to 8 errors away, units of each class counted alike 30.
    """
    N = 8000
    s, wrong = (rng.random(N) < 0.3).astype(int), rng.random(N) < 0.15
    s_hat, y = np.where(wrong, 1 - s, s), 2.0 ** (rng.integers(0, 4, N) + 2 * wrong)
    own = {"random": np.zeros_like(s), "by_prediction": s_hat, "by_class": s}[design]
    drawn = [
        rng.choice(np.flatnonzero(own == g), 2000 // (1 + own.max()), replace=False)
        for g in np.unique(own)
    ]
    i = np.concatenate(drawn)
    case = make_case(
        pd.DataFrame({"predicted": s_hat, "y": y}),
        pd.DataFrame({"predicted": s_hat[i], "true": s[i], "y": y[i]}),
        Columns(value="y"), Assumed(), classes=None, overlap=None, missing="refuse",
        design=design, prior="perks", seed=1,
    )  # fmt: skip
    n = 400 if design == "random" else [200, 200]
    study, truths = case.resample(n, 30, rng)
    assert truths.sum(axis=1) == pytest.approx(y.sum(), rel=1e-6)
    error = error_of_total(s, s_hat, y, drawn, design)
    error = np.hypot(error, truths[:, 1].std() / np.sqrt(len(truths)))
    assert abs(truths[:, 1].mean() - y[s == 1].sum()) < 5 * error
    bands = study.counts(0).bands
    assert bands.n.sum() == 400
    assert (bands.n.sum(axis=0) <= bands.v_hat).all()
    assert bands.t.sum() < bands.u_hat.sum() < bands.w_hat.sum()
