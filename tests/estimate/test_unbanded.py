"""Totals without bands of the value: a warning where errors depend on it, and rarely elsewhere."""

import numpy as np
import pandas as pd
import pytest
from tests.seeds import fresh_seed

import trueup as tu
from trueup.count.counts import make_counts
from trueup.estimate.doubts.cautions import without_bands

WORDS = "totals assume that errors do not depend on the value"


def units(rng, slope, N=5000, sigma=1.0):
    """A population whose odds of a wrong prediction rise e^slope-fold per unit of log value."""
    true = rng.random(N) < 0.25
    y = rng.lognormal(3, sigma, N) * np.where(true, 1.5, 1.0)
    wrong = rng.random(N) < 1 / (1 + np.exp(2 - slope * (np.log(y) - 3)))
    label = np.array(["no", "yes"])
    table = {"predicted": label[(true ^ wrong) * 1], "y": y, "true": label[true * 1]}
    return pd.DataFrame(table | {"month": rng.choice(["2025-01", "2025-02"], N)})


def told(est):
    return [text for text in est.info["warnings"] if WORDS in text]


def test_sums_periods_and_strata_say_that_errors_depend_on_the_value(rng):
    """Of five test sets three must be told; nearly all are."""
    summed, periods, strata = [], [], []
    for _ in range(5):
        table = units(rng, slope=1.0)
        test = table.sample(300, random_state=fresh_seed())
        table["n"], table["y2"] = 1, table.y**2
        cells = table.groupby("predicted", as_index=False)[["n", "y", "y2"]].sum()
        options = {"value": "y", "draws": 200, "seed": fresh_seed()}
        est = tu.correct(cells, test, count="n", squares="y2", **options)
        summed += told(est)
        periods += told(tu.correct(table, test, period="month", **options))
        strata += told(tu.correct(table, test, strata="month", **options))
        assert not told(tu.correct(table, test, **options))  # in cells nothing is assumed
    assert len(summed) >= 3
    assert len(periods) >= 3
    assert len(strata) >= 3
    assert all("without `count`" in text for text in summed)
    assert all("without `period`" in text for text in periods)
    assert all("Leave out `strata`" in text for text in strata)


@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_it_hardly_comes_where_errors_do_not_depend_on_the_value(rng, sigma):
    came = 0
    for _ in range(300):
        test = units(rng, slope=0.0, N=300, sigma=sigma)
        of = [test.y, test.y**2, pd.Series(np.ones(300))]
        keys = [test.true, test.predicted]
        sums, squares, n = (x.groupby(keys).sum().unstack(fill_value=0).to_numpy() for x in of)
        counts = make_counts(
            n.astype(int),
            [4000, 1000],
            [9e4, 3e4],
            [9e6, 3e6],
            sums,
            squares,
            classes=["no", "yes"],
        )
        came += without_bands(counts, periods=False) is not None
    assert came / 300 < 0.02 + 5 * np.sqrt(0.02 * 0.98 / 300)
