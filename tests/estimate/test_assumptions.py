"""What the product says when values break an assumption, and how often it says so for nothing."""

import numpy as np
import pandas as pd
import pytest
from tests.docs.messages import SURE, _contradicted_prior

import trueup as tu
from trueup.count.counts import make_counts
from trueup.estimate.assumptions import values_differ


def audited(rng, n=200, factor=1.0):
    """Counts of a random test set in which misclassified units are `factor` times as large."""
    s = (rng.random(n) < 0.3).astype(int)
    wrong = rng.random(n) < 0.15
    s_hat = np.where(wrong, 1 - s, s)
    y = rng.lognormal(0, 1, n) * np.where(wrong, factor, 1.0)
    units, t, t2 = (np.bincount(2 * s + s_hat, x, 4).reshape(2, 2) for x in (np.ones(n), y, y**2))
    v_hat = 10 * units.sum(axis=0)
    return make_counts(units, v_hat, 10 * t.sum(axis=0), 10 * t2.sum(axis=0), t, t2)


def fires(rng, factor, replications=1000):
    found = [values_differ(audited(rng, factor=factor)) for _ in range(replications)]
    return np.mean([x is not None and x.p_value < 0.01 for x in found])


def test_values_that_differ_are_noticed_and_equal_ones_rarely(rng):
    assert fires(rng, 3.0) > 0.85 - 5 * np.sqrt(0.85 * 0.15 / 1000)
    assert fires(rng, 1.0) < 0.02 + 5 * np.sqrt(0.02 * 0.98 / 1000)


@pytest.mark.filterwarnings("ignore")
def test_a_prior_that_the_audit_contradicts_is_noticed_in_values(rng):
    """The planted bug is a residual that no model fails: with Perks' prior the same data pass."""
    population, test_set = _contradicted_prior()
    wrong = tu.correct(population, test_set, value="y", prior=SURE, seed=1)
    assert wrong.info["residual"]["p_value"] < 0.01
    assert any("does not fit the test set" in x for x in wrong.info["warnings"])
    right = tu.correct(population, test_set, value="y", seed=1)
    assert right.info["residual"]["p_value"] > 0.05
    found = tu.check(population, test_set, value="y", prior=SURE)
    assert any(f["question"] == "model and audited values" and f["doubt"] for f in found.rows())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("design", ["random", "shifted", "by_class"])
def test_a_class_far_larger_than_the_others_is_told(design):
    """The issue's defect: 2,000 units at their expectation, one class a hundred times as large."""
    n, mean = np.array([[36, 4], [80, 7880]]), np.array([[100.0, 100.0], [1.0, 1.0]])
    units = np.array([[180, 20], [398, 39402]])
    est = tu.correct_counts(
        n, units.sum(axis=0), (units * mean).sum(axis=0), np.e * (units * mean**2).sum(axis=0),
        n * mean, np.e * n * mean**2, design=design, seed=1,
    )  # fmt: skip
    assert any("times as large as all units" in x for x in est.info["warnings"])
    row = est.rows()[0]
    if design != "shifted":
        assert row["lower"] < 20_000 < row["upper"]


@pytest.mark.filterwarnings("ignore")
def test_constrained_says_that_a_class_was_audited_in_full():
    """`full` has 87 (40–113) and 293 (267–340), by quadrature in the issue."""
    known_cases = [[20, 0, 0], [0, 26, 4], [0, 2, 28]], [20, 95, 285]
    paper = tu.correct_counts(*known_cases, design="by_class", method="constrained", seed=1)
    assert any("was audited" in x for x in paper.info["warnings"])
    est = tu.correct_counts(*known_cases, design="by_class", seed=1)
    assert not any("was audited" in x for x in est.info["warnings"])
    assert est.info["method"] == "full"
    assert [row["estimate"] for row in est.rows()] == pytest.approx([20, 87, 293], abs=4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_by_class_totals_hold_where_wrong_units_are_larger(rng):
    """The planted bug is the class-mean model: it misses by ten times its error with n = 2,000."""
    N, covered = 20_000, []
    for _ in range(6):
        s = (rng.random(N) < 0.2).astype(int)
        wrong = rng.random(N) < 0.1
        s_hat, y = np.where(wrong, 1 - s, s), rng.lognormal(0, 1, N) * np.where(wrong, 3.0, 1.0)
        i = np.concatenate(
            [rng.choice(np.flatnonzero(s == g), 1000, replace=False) for g in (0, 1)]
        )
        population = pd.DataFrame({"predicted": s_hat, "y": y})
        test_set = population.iloc[i].assign(true=s[i])
        est = tu.correct(population, test_set, value="y", design="by_class", draws=1000, seed=1)
        assert est.info["method"] == "full"
        assert est.draws.sum(axis=1) == pytest.approx(y.sum())
        row = est.rows()[1]
        covered.append(row["lower"] <= y[s == 1].sum() <= row["upper"])
    assert np.mean(covered) > 0.9 - 5 * np.sqrt(0.09 / 6)
