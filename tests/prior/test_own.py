"""A user's own log density, and what is refused in words."""

import math
import sys

import numpy as np
import pytest
from scipy.stats import norm

import trueup as tu
from trueup.draws import rates
from trueup.prior import resolve_prior

TEST, V_HAT = [[14, 6], [3, 77]], [1700, 8300]


def run(function, **options):
    prior = tu.prior.log_density(function, **options)
    return tu.correct_counts(TEST, V_HAT, prior=prior, seed=1, draws=1000)


def wrong(P):
    raise KeyError("a slip of the pen")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (wrong, "KeyError: 'a slip of the pen'"),
        (lambda P: P, r"got an array of shape \(2, 2\)"),
        (lambda P: P[0, :1], r"got an array of shape \(1,\)"),
        (lambda P: np.nan, "got nan"),
        (lambda P: np.inf, "got inf"),
        (lambda P: None, "got"),
        (lambda P: "high", "must return a number"),
        (lambda P: P[2, 2], "IndexError"),
        (lambda P, np: np.no_such_function(P), "AttributeError"),
    ],
)
def test_a_malformed_log_density_is_refused(function, words):
    with pytest.raises(tu.OptionError, match=words):
        run(function)


@pytest.mark.parametrize("given", [None, 3, "f"])
def test_what_is_not_a_function_is_refused(given):
    with pytest.raises(tu.OptionError, match="must be a function of P"):
        tu.prior.log_density(given)


def test_a_function_that_fails_at_some_P_only_is_refused():
    with pytest.raises(tu.OptionError, match="got nan"):
        run(lambda P: math.nan if P[0, 1] > 0.3 and P[1, 0] < 0.06 else 0.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda P, np: -np.log(P[0, 1]),
        lambda P, np: -1.5 * np.log(P[1, 0]),
        lambda P, np: -np.log(P).sum(),  # Haldane's
        lambda P, np: 1 / P[0, 0],
    ],
)
def test_an_improper_prior_is_refused(function):
    with pytest.raises(tu.OptionError, match=r"must be proper.*P\["):
        run(function)


@pytest.mark.parametrize("power", [0.0, -0.5, -0.9, 3.0])
def test_a_proper_prior_with_a_pole_is_not(power):
    assert run(lambda P, np: power * np.log(P[0, 1])).info["prior"] == "log_density"


@pytest.mark.parametrize("method", ["bayes", "constrained", "joint", "full"])
@pytest.mark.parametrize("smooth", [True, False])
def test_a_prior_that_excludes_the_data_is_refused(method, smooth):
    def impossible(P, np):
        return np.where(P[0, 0] > 2, 0.0, -np.inf)

    prior = tu.prior.log_density(impossible, smooth=smooth)
    with pytest.raises(tu.EstimateError, match="excludes the data"):
        tu.correct_counts(TEST, V_HAT, prior=prior, method=method, draws=500)


def test_bounds_that_no_row_can_keep_are_refused():
    for options in ({"lower": 0.6}, {"upper": 0.4}, {"lower": 0.4, "upper": 0.3}):
        with pytest.raises(tu.OptionError, match="leave room in every row"):
            resolve_prior(tu.prior.truncated(**options), 2)
    with pytest.raises(tu.OptionError, match="shape"):
        resolve_prior(tu.prior.truncated(lower=[0.1, 0.1, 0.1]), 2)
    for recall in (0.5, ("a", 1), (0.1, 0.2, 0.3)):
        with pytest.raises(tu.OptionError, match="two numbers"):
            resolve_prior(tu.prior.truncated(recall=recall), 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tu.prior.logistic_normal(error=0),
        lambda: tu.prior.logistic_normal(error=1.2),
        lambda: tu.prior.logistic_normal(sd=-1),
        lambda: tu.prior.hierarchical(error="0.1"),
        lambda: tu.prior.hierarchical(between=3),
        lambda: tu.prior.symmetric(0),
        lambda: tu.prior.robust("perks", 1.0),
        lambda: tu.prior.regression(3),
        lambda: tu.prior.regression("y", bins=1),
        lambda: tu.prior.regression("y", bins=2.5),
        lambda: tu.prior.regression("y", slope_sd=0),
    ],
)
def test_numbers_outside_are_refused(make):
    with pytest.raises(tu.OptionError, match="must"):
        make()


def test_a_function_that_jax_cannot_follow_gets_a_hint(monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    for function in (
        lambda P: math.log(P[0, 0]),
        lambda P: norm.logpdf(P[0, 1]),
        lambda P: 0.0 if P[0, 0] > 0.5 else -1.0,
    ):
        with pytest.raises(tu.OptionError, match="differentiate") as caught:
            run(function)
        assert "write it as f(P, np)" in str(caught.value)
        assert len(str(caught.value)) < 500


def test_without_numpyro_the_message_names_the_extra(monkeypatch):
    monkeypatch.setattr(rates, "ENOUGH", 2.0)
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(tu.OptionError, match=r"NumPyro.*not installed") as caught:
        run(lambda P, np: np.log(P[0, 0]))
    assert "trueup[mcmc]" in str(caught.value)
    # priors for which weights or chains of our own do need nothing of it
    assert run(lambda P, np: np.log(P[0, 0]), smooth=False).info["sampler"] == "pair walk"
    monkeypatch.setattr(rates, "ENOUGH", 0.1)
    assert run(lambda P, np: np.log(P[0, 0])).info["sampler"] == "importance"


def test_one_argument_or_two_or_one_with_a_default():
    three = [
        run(lambda P, np: 2 * np.log(P[0, 0])),
        run(lambda P: 2 * math.log(P[0, 0])),
        run(lambda P, power=2: power * math.log(P[0, 0])),
    ]
    for other in three[1:]:
        assert other.draws == pytest.approx(three[0].draws)


def test_strata_are_not_pooled_with_a_prior_that_they_would_ignore(rng):
    import pandas as pd

    true = rng.integers(2, size=400)
    table = pd.DataFrame({"predicted": np.where(rng.random(400) < 0.8, true, 1 - true)})
    table["region"] = np.arange(400) % 2
    test_set = table.assign(true=true).iloc[:100]
    with pytest.raises(tu.OptionError, match="conjugate") as caught:
        tu.correct(table, test_set, strata="region", prior=tu.prior.ordered())
    assert 'pooling="none"' in str(caught.value)
    cut = tu.prior.truncated(recall=(0.6, 1))
    est = tu.correct(table, test_set, strata="region", prior=cut, pooling="none", draws=500)
    assert est.info["strata"] == 2
