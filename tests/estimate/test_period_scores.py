"""Periods with a score: exact identities, base rates that scores tell, and bad input."""

import warnings

import numpy as np
import polars as pl
import pytest

import trueup as tu
from trueup.errors import OptionError
from trueup.estimate.periods.scored import by_class, spread
from trueup.numerics.base_rate_walk import find_path

SIGMA, GAPS = np.array([0.3]), np.ones(2)


def test_labels_that_tell_nothing_more_leave_the_path_unchanged(rng):
    """Each predicted class in two bands that both classes have alike: 30 and 70% of the units."""
    P, v = rng.dirichlet([1, 2, 1], 3), rng.integers(50, 200, (3, 3)).astype(float)
    bands, a = np.array([0.3, 0.7]), np.zeros((3, 3))
    one = find_path(P[None], v, a, SIGMA, GAPS)
    fine = (P[:, :, None] * bands).reshape(3, 6)
    other = find_path(fine[None], (v[:, :, None] * bands).reshape(3, 6), a, SIGMA, GAPS)
    np.testing.assert_allclose(one.x, other.x, atol=0.01)  # both stop within that of the mode
    entropy = v.sum() * (bands * np.log(bands)).sum()
    assert other.log_likelihood[0] - one.log_likelihood[0] == pytest.approx(entropy, abs=0.01)


def test_spread_keeps_the_rates_of_predicted_classes(rng):
    fine = rng.random((5, 2, 8))
    P = rng.dirichlet([1, 1], (5, 3, 2))
    np.testing.assert_allclose(by_class(spread(P, fine), 2), P)
    np.testing.assert_allclose(by_class(spread(P[:, 0], fine), 2), P[:, 0])
    own = by_class(fine, 2) / fine.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(spread(own, fine), fine / fine.sum(axis=2, keepdims=True))


def series(rng, shares, units=1500, audited=200):
    """Months 1, 2, …, the first of them audited: three predictions in ten are wrong by chance.

    The score, the log odds of the predicted class, shows nearly all of them.
    """
    month = np.repeat(np.arange(len(shares)) + 1, units)
    true = (rng.random(len(month)) < np.repeat(shares, units)).astype(int)
    said = 1.5 * (2 * true - 1) + rng.normal(0, 1, len(month))
    predicted = ((said > 0) ^ (rng.random(len(month)) < 0.3)).astype(int)
    columns = {"month": month, "predicted": predicted, "score": said * (2 * predicted - 1)}
    table = pl.DataFrame(columns | {"true": true})
    return table, table[rng.choice(units, audited, replace=False)]


def correct(table, test, **options):
    options = {"period": "month", "score": "score", "draws": 500, "seed": 1} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        return tu.correct(table.drop("true"), test, **options)


@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize("design", ["random", "shifted"])
def test_scores_tell_base_rates_of_periods_that_were_not_audited(rng, design):
    """The share goes from 20 to 60%. Planted bug: the bands of the score in reverse order."""
    z, narrower = [], []
    for _ in range(4):
        table, test = series(rng, [0.2, 0.2, 0.6])
        truth = table.filter(pl.col("month") == 3)["true"].sum()
        with_score = correct(table, test, design=design).draws[:, 2, 1]
        without = correct(table, test, design=design, score=None).draws[:, 2, 1]
        z.append((with_score.mean() - truth) / with_score.std())
        narrower.append(with_score.std() / without.std())
    assert np.mean(np.square(z)) < 1 + 5 * np.sqrt(2 / 4)
    assert np.median(narrower) < 0.7


@pytest.mark.usefixtures("few_draws")
def test_what_a_series_with_a_score_says_and_refuses(rng, tmp_path):
    table, test = series(rng, [0.3, 0.4], audited=100)
    est = correct(table, test)
    assert est.draws.sum(axis=2) == pytest.approx(np.full((500, 2), 1500.0))
    assert est.info["score_bands"] > 1
    assert est.info["calibration"]
    est.save(tmp_path / "series.trueup")
    again = tu.load(tmp_path / "series.trueup")
    assert again.rows() == est.rows()
    with pytest.raises(OptionError, match="series with a score cannot be added to"):
        again.add(table.drop("true").with_columns(month=pl.col("month") + 2))
    with pytest.raises(OptionError, match="`score` with `period` counts units"):
        correct(table, test, value="score")
    findings = tu.check(table.drop("true"), test, period="month", score="score").findings
    assert "order of the scores" in {finding.question for finding in findings}


@pytest.mark.usefixtures("few_draws")
def test_a_constant_score_changes_nothing(rng):
    table, test = series(rng, [0.3, 0.5], audited=100)
    flat = [x.with_columns(score=pl.lit(1.0)) for x in (table, test)]
    assert correct(*flat).rows() == correct(table, test, score=None).rows()
