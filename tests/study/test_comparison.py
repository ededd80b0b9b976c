"""`compare`: figures against exact ones, and a recommendation that does not overstate."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.simulation import simulate
from trueup.study.replications import run_method
from trueup.study.verdict import differs, recommend

CASE = {"P": [[0.9, 0.1], [0.05, 0.95]], "base_rates": [0.1, 0.9], "N": 20_000, "n": 200}


def of(found, method, label=0):
    return next(r for r in found.rows() if r["method"] == method and r["class"] == label)


def test_naive_has_the_bias_and_variance_of_theorem_2(rng):
    found = tu.compare(**CASE, methods=["naive"], replications=2000, seed=int(rng.integers(2**32)))
    row = of(found, "naive")
    assert row["truth"] == 2000
    assert abs(row["bias"] - (0.05 * 18_000 - 0.1 * 2000)) < 5 * row["bias_error"]
    exact = 2000 * 0.09 + 18_000 * 0.0475
    assert abs(row["variance"] - exact) < 5 * row["variance_error"]
    assert abs(row["mse"] - (700**2 + exact)) < 5 * row["mse_error"]
    assert row["coverage"] is row["width"] is None
    assert row["impermissible"] == 0


def test_every_method_is_judged_and_the_default_comes_out(rng):
    found = tu.compare(
        **CASE, replications=120, draws=400, seed=int(rng.integers(2**32)),
        methods=["naive", "inverse", "constrained", "joint", "calibrated", "difference"],
    )  # fmt: skip
    assert found.interest == 0  # the smallest class
    assert found.recommended in ("joint", "calibrated", "difference")
    assert "Monte Carlo" in str(found)
    joint = of(found, "joint")
    # a binomial bound: fewer than 81% covered of 120 has a chance of 1e-7 at 95%
    assert joint["coverage"] > 0.81
    assert joint["mse"] < of(found, "naive")["mse"]
    assert found.rows()[0].keys() == found.rows()[-1].keys()
    assert len(found.rows()) == 12


def test_classes_add_up(rng):
    found = tu.compare(
        **CASE, methods=["joint"], replications=30, draws=200, seed=int(rng.integers(2**32))
    )
    one, other = of(found, "joint", 0), of(found, "joint", 1)
    assert one["variance"] == pytest.approx(other["variance"])
    assert one["width"] == pytest.approx(other["width"])


def test_a_shifted_test_set_calls_for_the_constrained_method(rng):
    found = tu.compare(
        **CASE, design="shifted", methods=["joint", "constrained", "test_set"], replications=60,
        draws=300, seed=int(rng.integers(2**32)),
    )  # fmt: skip
    assert found.recommended == "constrained"
    assert of(found, "test_set")["failed"] == 1
    assert of(found, "test_set")["mse"] is None
    assert "shifted" in of(found, "test_set")["reason"]
    assert "no answer" in str(found)


def test_differences_within_error_are_not_called_differences(rng):
    x = 1 + rng.random(4000)
    # squared errors of b are 0.01 more and less in turn: apart on every replication, not on average
    b = np.sqrt(x**2 + 0.01 * np.resize([1, -1], 4000))
    errors = {"a": x, "b": b, "worse": 2 * x}
    assert not differs(errors, "a", "a")
    assert not differs(errors, "a", "b")
    assert differs(errors, "a", "worse")
    rows = [
        {
            "method": m, "mse": float((e**2).mean()), "mse_error": 0.02, "failed": 0.0,
            "coverage": 0.95, "coverage_error": 0.01, "truth": 10.0, "impermissible": 0.0,
        }
        for m, e in errors.items()
    ]  # fmt: skip
    name, words = recommend(rows, errors, "b", 0.95)
    assert name == "b"
    assert "'a' is no different" in words
    assert "'worse'" not in words


def test_low_coverage_is_not_recommended():
    errors = {"sharp": np.full(100, 0.1) * np.resize([1, -1], 100), "honest": np.ones(100)}
    rows = [
        {
            "method": m, "mse": float((e**2).mean()), "mse_error": 0.0, "failed": 0.0,
            "coverage": cover, "coverage_error": 0.01, "truth": 1.0, "impermissible": 0.0,
        }
        for (m, e), cover in zip(errors.items(), (0.5, 0.95), strict=True)
    ]  # fmt: skip
    assert recommend(rows, errors, "sharp", 0.95)[0] == "honest"


def tables(rng, n=300):
    study = simulate([[0.8, 0.2], [0.1, 0.9]], n=0, N=3000, base_rates=[0.3, 0.7], replications=1)
    s = np.repeat([0, 1], study.v)
    s_hat = np.where(rng.random(3000) < np.where(s == 0, 0.2, 0.1), 1 - s, s)
    names = np.array(["shop", "other"])
    population = pd.DataFrame(
        {"id": np.arange(3000), "predicted": names[s_hat], "y": rng.lognormal(0, 1, 3000)}
    )
    audited = rng.choice(3000, n, replace=False)
    test_set = population.iloc[audited].assign(true=names[s[audited]])
    return population, test_set


@pytest.mark.parametrize("value", [None, "y"])
def test_the_users_own_tables_are_the_case(value, rng, monkeypatch):
    # the case is known after one replication
    monkeypatch.setattr(import_module("trueup.study.compare"), "FEWEST", 2)
    population, test_set = tables(rng)
    found = tu.compare(
        population, test_set, value=value, methods=["naive", "joint"], replications=4, draws=200,
        seed=int(rng.integers(2**32)),
    )  # fmt: skip
    assert found.info["n"] == 300
    assert found.info["N"] == 3000
    assert found.interest == "shop"
    T = 3000 if value is None else population["y"].sum()
    assert sum(row["truth"] for row in found.rows()) == pytest.approx(2 * T)


def test_labels_of_assumed_rates_and_shares_say_their_order():
    """The planted bug, rates by position, has other figures; labels in any order have the same."""
    options = {"N": 2000, "n": 100, "replications": 5, "draws": 100, "seed": 1}
    options["methods"] = ["joint"]
    P = pd.DataFrame([[0.95, 0.05], [0.2, 0.8]], index=["b", "a"], columns=["b", "a"])
    shares = pd.Series({"b": 0.7, "a": 0.3})
    plain = [[0.8, 0.2], [0.05, 0.95]]
    rows = tu.compare(P=plain, base_rates=[0.3, 0.7], classes=["a", "b"], **options).rows()
    for rates in (P, P[["a", "b"]]):
        found = tu.compare(P=rates, base_rates=shares, classes=["a", "b"], **options)
        assert found.rows() == rows
    assert tu.compare(P=P, base_rates=[0.7, 0.3], **options).classes == ("b", "a")
    units = pd.DataFrame({"predicted": ["a", "b"] * 1000})
    own = tu.plan(units, P=P, base_rates=shares, half_width=60, seed=1)
    assert str(own) == str(tu.plan(units, P=plain, base_rates=[0.3, 0.7], half_width=60, seed=1))
    wrong = P.rename(columns={"a": "z"})
    for changed in (
        {"P": wrong},
        {"classes": ["a", "z"]},
        {"base_rates": shares.rename({"a": "z"})},
    ):
        with pytest.raises(tu.ClassError, match=r"must be .* in any order; got"):
            tu.compare(**({"P": P, "base_rates": shares} | options | changed))


def test_the_same_seed_gives_the_same_figures():
    one, other = (
        tu.compare(**CASE, methods=["naive", "joint"], replications=10, draws=100, seed=5)
        for _ in range(2)
    )
    assert one.rows() == other.rows()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": None}, "the number of test units"),
        ({"methods": ["best"]}, "methods"),
        ({"interest": "c"}, "`interest`"),
        ({"base_rates": None}, "Without a test set"),
        ({"design": "odd"}, "design"),
        ({"P": [[1.0]]}, "square"),
    ],
)
def test_mistakes_are_named(change, words):
    with pytest.raises(tu.TrueupError, match=words):
        tu.compare(**(CASE | {"replications": 2} | change))


def test_run_method_says_why_there_is_no_answer(rng):
    study = simulate(np.eye(2), n=1, N=100, base_rates=[0.5, 0.5], replications=4, seed=1)
    outcome = run_method(study, "inverse", 4, rng=rng)
    assert len(outcome.reasons) == 4
    assert np.isnan(outcome.estimate).all()


def test_what_is_better_uncorrected_is_told_without_a_promise():
    errors = {"naive": np.full(100, 0.2) * np.resize([1, -1], 100), "joint": np.ones(100)}
    rows = [
        {
            "method": m, "mse": float((e**2).mean()), "mse_error": 0.0, "failed": 0.0,
            "coverage": cover, "coverage_error": 0.01, "truth": 1.0, "impermissible": 0.0,
        }
        for (m, e), cover in zip(errors.items(), (None, 0.95), strict=True)
    ]  # fmt: skip
    name, words = recommend(rows, errors, "joint", 0.95)
    assert name == "joint"
    assert words.endswith(
        "Without correction the mean squared error is 0.04 times as large, but there is no "
        "interval. With a larger test set, correcting may be better."
    )
