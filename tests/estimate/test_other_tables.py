"""A test set whose values, scores or further predictions are not the population's: it is said."""

import warnings

import numpy as np
import pandas as pd
import pytest

import trueup as tu

N, n = 3_000, 200


def tables(rng, alike=None):
    """Units, and a test set: at random, or one that is like all units in a column."""
    s = (rng.random(N) < 0.3).astype(int)
    x = 1.7 * s + rng.standard_normal(N)
    p1 = 1 / (1 + np.exp(-(1.7 * x - 2.3)))
    h = (p1 > 0.5).astype(int)
    units = pd.DataFrame({"predicted": h, "p": np.where(h == 1, p1, 1 - p1)})
    units["second"] = (1.7 * s + rng.standard_normal(N) > 0.9).astype(int)
    units["y"] = np.round(rng.lognormal(3, 1, N) * (1 + s), 2)
    units["region"] = rng.choice(["n", "s"], N)
    units["month"] = rng.integers(1, 3, N)  # 70 audited units of a month and class tell its values
    i = rng.choice(N, n, replace=False)
    if alike is not None:
        i = np.lexsort((units[alike], h))[N // n // 2 :: N // n]
    return units, units.iloc[i].assign(true=s[i])


def told(units, test, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        est = tu.correct(units, test, draws=200, seed=1, **options)
    return est.info, " ".join(est.info["warnings"])


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "region"},
        {"drawn_within": "region"},
        {"design": "by_prediction"},
        {"design": "by_class"},
        {"method": "difference"},
        {"method": "calibrated"},
        {"period": "month"},
        {"sample_of": 10**6},
    ],
)
def test_values_in_thousands(rng, options):
    """The population is in euros, the test set in thousands. Planted bug: no bands, and no word."""
    units, test = tables(rng, "y")
    _, words = told(units, test.assign(y=test["y"] / 1000), value="y", **options)
    assert "Are both tables in the same unit" in words
    _, words = told(units, test, value="y", **options)
    assert "in the same unit" not in words


@pytest.mark.parametrize("factor", [0.0, 0.1, 0.3, 0.5, 2.0])
def test_values_that_are_smaller_or_larger(rng, factor):
    units, test = tables(rng)
    _, words = told(units, test.assign(y=test["y"] * factor), value="y")
    assert "Are both tables in the same unit" in words


def test_values_that_are_only_rounded_keep_their_bands(rng):
    """All but the smallest: a 1.1 that becomes 1 may be where the population has no unit."""
    units, test = tables(rng, "y")
    exact, _ = told(units, test, value="y")
    rounded = test["y"].round().where(test["y"] > 5, test["y"])
    info, words = told(units, test.assign(y=rounded), value="y")
    assert info["bands"] == exact["bands"] > 10
    assert "in the same unit" not in words


def test_values_that_rise_from_period_to_period(rng):
    """They are compared with those of their own period. Planted bug: with those of all."""
    units, test = tables(rng)
    units["y"], test["y"] = 10.0 ** units["month"], 10.0 ** test["month"]
    _, words = told(units, test[test["month"] == 1], value="y", period="month")
    assert "in the same unit" not in words


def test_aggregated_values_in_thousands(rng):
    units, test = tables(rng, "y")
    cells = units.assign(units=1, squares=units["y"] ** 2)
    cells = cells.groupby("predicted")[["units", "y", "squares"]].sum().reset_index()
    options = {"value": "y", "count": "units", "squares": "squares"}
    assert "in the same unit" in told(cells, test.assign(y=test["y"] / 1000), **options)[1]
    assert "in the same unit" not in told(cells, test, **options)[1]


def test_scores_of_another_version_of_the_model(rng):
    """Flatter ones; and a test set of units about which the model is unsure."""
    units, test = tables(rng, "p")
    flat = 1 / (1 + (1 / test["p"] - 1) ** 0.3)
    unsure = units.assign(true=units["predicted"]).nsmallest(n, "p")
    for other in (test.assign(p=flat), unsure):
        _, words = told(units, other, score="p")
        assert "The scores of the test set are lower than those of a random sample" in words
    assert "The scores" not in told(units, test, score="p")[1]


def test_scores_look_random_as_often_as_they_should(rng):
    """P-values of random test sets are uniform; four standard errors of their mean."""
    from trueup.count.gather import gather
    from trueup.count.names import Columns
    from trueup.estimate.doubts.design import design_doubts
    from trueup.read import open_table

    p = []
    for _ in range(30):
        units, test = tables(rng)
        both = (open_table(x, "x") for x in (units, test))
        counts = gather(*both, Columns(score="p"), overlap=True, bands=True)
        found = {x.what: x.p_value for x in design_doubts(counts, overlap=True)}
        p.append(found["scores"] / len(found))
    assert abs(np.mean(p) - 0.5) < 4 / np.sqrt(12 * len(p))


def test_further_predictions_of_another_version(rng):
    units, test = tables(rng, "second")
    predicted = ["predicted", "second"]
    _, words = told(units, test.assign(second=0), predicted=predicted)
    assert "The further predictions of the test set do not look like" in words
    assert "The further predictions" not in told(units, test, predicted=predicted)[1]


def test_a_work_list_drawn_by_score_is_no_random_one(rng):
    units, _ = tables(rng)
    units["id"] = np.arange(N)
    work = tu.draw(units, n, id="id", score="p", seed=1)
    work["true"] = work["predicted"]
    assert "The scores of the test set" not in told(units, work)[1]


def test_two_of_four_giants_are_no_sign_of_another_design(rng):
    """That is so in 1.4% of random test sets; a normal tail gives 1 in 100,000."""
    y = np.r_[np.full(4, 1000.0), rng.lognormal(0, 0.2, 1996)]
    units = pd.DataFrame({"predicted": np.arange(2000) % 2, "y": y})
    order = 4 + np.argsort(y[4:])
    i = np.r_[0, 1, order[10::20][:98]]
    _, words = told(units, units.iloc[i].assign(true=units["predicted"][i]), value="y")
    assert "The values of the test set" not in words
    i = np.r_[:4, order[10::20][:96]]
    _, words = told(units, units.iloc[i].assign(true=units["predicted"][i]), value="y")
    assert "The values of the test set are larger" in words
