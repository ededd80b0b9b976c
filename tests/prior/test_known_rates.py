"""`P=`: rates that are known, or draws of them from elsewhere."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multinomial

import trueup as tu
from trueup.draws.contingency import in_theta, solve_Q

P = np.array([[0.75, 0.25], [0.1, 0.9]])
TEST = np.array([[14, 6], [3, 77]])


def pmf_of_the_count(P, v_hat):
    """Pr(v_0 | v̂) with a uniform prior: v̂_0 = Bin(v_0, p_00) + Bin(N − v_0, p_10)."""
    N = sum(v_hat)
    likelihood = np.zeros(N + 1)
    for v in range(N + 1):
        hits = np.arange(v_hat[0] + 1)
        ways = binom.pmf(hits, v, P[0, 0]) * binom.pmf(v_hat[0] - hits, N - v, P[1, 0])
        likelihood[v] = ways.sum()
    return likelihood / likelihood.sum()


@pytest.mark.parametrize("v_hat", [[120, 280], [300, 1700], [27, 93], [26, 100]])
@pytest.mark.parametrize("overlap", [False, True])
def test_one_matrix_is_exact_for_two_classes(v_hat, overlap):
    est = tu.correct_counts(TEST, v_hat, P=P, overlap=overlap, design="by_class", draws=20_000)
    known = TEST.sum(axis=1) if overlap else np.zeros(2)
    left = np.array(v_hat) - (TEST.sum(axis=0) if overlap else 0)
    pmf = pmf_of_the_count(P, left)
    x = np.arange(len(pmf)) + known[0]
    mean = (x * pmf).sum()
    sd = np.sqrt((x**2 * pmf).sum() - mean**2)
    row = est.rows()[0]
    error = sd / np.sqrt(est.info["ess"])
    assert abs(row["mean"] - mean) <= 5 * error
    kurtosis = ((x - mean) ** 4 * pmf).sum() / sd**4
    assert abs(row["sd"] / sd - 1) < 5 * np.sqrt((kurtosis - 1) / 4 / est.info["ess"])
    assert est.info["prior"] == "known rates"
    # a transposed matrix is another answer
    turned = tu.correct_counts(
        TEST, v_hat, P=P[::-1, ::-1], overlap=overlap, design="by_class", draws=2000
    )
    assert abs(turned.rows()[0]["mean"] - mean) > 0.5 * sd


@pytest.mark.parametrize("v_hat", [[400, 500, 300], [9, 4, 2], [30, 12, 0]])
def test_one_matrix_is_exact_for_three_classes(v_hat):
    three = np.array([[0.8, 0.1, 0.1], [0.05, 0.9, 0.05], [0.1, 0.2, 0.7]])
    est = tu.correct_counts(
        np.eye(3, dtype=int), v_hat, P=three, overlap=False, design="by_class", draws=20_000
    )
    grid = (np.arange(600) + 0.5) / 600
    beta = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    beta = beta[beta.sum(axis=1) < 1]
    beta = np.column_stack([beta, 1 - beta.sum(axis=1)])
    weight = np.exp(multinomial.logpmf(v_hat, sum(v_hat), beta @ three))
    c = (three[:, None, :] * beta.T[:, :, None]) / (beta @ three)  # true class, β, predicted
    mean = np.average(c @ v_hat, axis=1, weights=weight)
    for row, expected in zip(est.rows(), mean, strict=True):
        assert abs(row["mean"] - expected) < 5 * row["sd"] / np.sqrt(est.info["ess"])


def test_rates_that_contradict_the_counts_are_warned_about():
    with pytest.warns(tu.TrueupWarning, match="hardly fit the rates"):
        tu.correct_counts(TEST, [100, 900], P=[[0.6, 0.4], [0.3, 0.7]], design="by_class")


def test_without_noise_one_matrix_is_the_paper_s_third_step():
    est = tu.correct_counts(TEST, [300, 1700], P=P, noise=False, draws=100)
    assert (est.draws == solve_Q(P, [300, 1700])).all()
    three = np.array([[0.8, 0.1, 0.1], [0.05, 0.9, 0.05], [0.1, 0.2, 0.7]])
    v_hat = [400, 500, 300]
    est = tu.correct_counts(np.eye(3, dtype=int), v_hat, P=three, noise=False, draws=100)
    assert est.draws == pytest.approx(np.tile(np.linalg.solve(three.T, v_hat), (100, 1)))


def test_draws_of_P_carry_their_spread(rng):
    draws = np.stack([rng.dirichlet(20 * row, 5000) for row in P], axis=1)
    est = tu.correct_counts(TEST, [150, 850], P=draws, noise=False, design="by_class", draws=5000)
    expected = draws[in_theta(draws, [150, 850])]
    assert 0.3 < len(expected) / 5000 < 0.99  # so that the constraint matters
    assert (est.draws >= 0).all()
    assert in_theta(est.P, [150, 850]).all()
    counts = np.array([np.linalg.solve(one.T, [150, 850]) for one in expected])[:, 0]
    for level in (0.1, 0.25, 0.5, 0.75, 0.9):
        share = (est.draws[:, 0] <= np.quantile(counts, level)).mean()
        error = np.sqrt(level * (1 - level) * (1 / len(counts) + 1 / est.info["ess"]))
        assert abs(share - level) < 5 * error
    # `bayes` knows no constraint
    free = tu.correct_counts(
        TEST, [150, 850], P=draws, noise=False, design="by_class", method="bayes", draws=5000
    )
    assert (free.draws < 0).any()


def test_as_many_draws_as_asked_are_used_as_they_come(rng):
    draws = np.stack([rng.dirichlet(400 * row, 500) for row in P], axis=1)
    est = tu.correct_counts(
        TEST, [300, 700], P=draws, noise=False, design="by_class", method="bayes", draws=500
    )
    assert pytest.approx(draws) == est.P
    options = {"design": "by_class", "method": "bayes", "noise": False}
    fewer = tu.correct_counts(TEST, [300, 700], P=draws[:50], **options)
    assert set(fewer.P[:, 0, 0].round(9)) == set(draws[:50, 0, 0].round(9))


def test_a_matrix_outside_theta_has_no_permissible_answer_without_noise():
    outside = [[0.6, 0.4], [0.3, 0.7]]  # at least 30% are predicted 0, and 10% were
    with pytest.raises(tu.EstimateError, match="at least 0"):
        tu.correct_counts(TEST, [100, 900], P=outside, noise=False)
    baseline = tu.correct_counts(TEST, [100, 900], P=outside, noise=False, method="bayes")
    assert baseline.rows()[0]["estimate"] == pytest.approx(-2000 / 3)


def test_a_matrix_just_outside_theta_has_an_answer_with_noise():
    outside = [[0.6, 0.4], [0.12, 0.88]]  # 120 expected of 1000 without any of class 0; 110 came
    est = tu.correct_counts(np.eye(2, dtype=int), [110, 890], P=outside, overlap=False)
    pmf = pmf_of_the_count(np.array(outside), [110, 890])
    mean = (np.arange(1001) * pmf).sum()
    sd = np.sqrt((np.arange(1001) ** 2 * pmf).sum() - mean**2)
    assert (est.draws >= 0).all()
    assert est.rows()[0]["mean"] == pytest.approx(mean, abs=5 * sd / np.sqrt(est.info["ess"]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.eye(3), "shape"),
        ([0.5, 0.5], "shape"),
        ("a", "numbers only"),
        (np.empty((0, 2, 2)), "shape"),
        ([[0.9, 0.2], [0.1, 0.9]], "sum to 1"),
        ([[0.75, 0.1], [0.25, 0.9]], "transposed"),
        ([[1.2, -0.2], [0.1, 0.9]], "at least 0"),
        ([[np.nan, 0.2], [0.1, 0.9]], "at least 0"),
        ([[0.3, 0.7], [0.3, 0.7]], "invertible"),
        ([[1, 0], [0.1, 0.9]], "never predicted 1, and 6 test units are"),
    ],
)
def test_rates_that_cannot_be_are_refused(given, words):
    with pytest.raises(tu.OptionError, match=words):
        tu.correct_counts(TEST, [300, 700], P=given)


@pytest.mark.parametrize("method", ["joint", "inverse", "naive", "calibrated"])
def test_methods_that_would_ignore_them_are_refused(method):
    with pytest.raises(tu.OptionError, match="method"):
        tu.correct_counts(TEST, [300, 700], P=P, method=method)


def tables(rng):
    region = np.repeat(["north", "south"], [600, 1400])
    true = (rng.random(2000) < np.where(region == "north", 0.7, 0.2)).astype(int)
    predicted = np.where(rng.random(2000) < P[true, 1], 1, 0)
    table = pd.DataFrame({"predicted": predicted, "region": region})
    return table, table.assign(true=true).sample(100, random_state=1), true


def test_groups_use_them_too(rng):
    table, test_set, true = tables(rng)
    est = tu.correct(table, test_set, by="region", P=P)
    for row in est.rows():
        here = table["region"] == row["region"] if row["region"] else np.ones(2000, bool)
        truth = (true[here] == row["class"]).sum()
        assert abs(row["mean"] - truth) < 6 * row["sd"]
    assert est.info["prior"] == "known rates"
    south = est.rows()[3]
    assert (south["region"], south["class"]) == ("south", 1)
    assert south["upper"] < south["naive"]  # most that are predicted 1 there are not


def test_strata_and_regressions_have_rates_of_their_own(rng):
    table, test_set, _ = tables(rng)
    with pytest.raises(tu.OptionError, match="one matrix for all"):
        tu.correct(table, test_set, strata="region", P=P)
    table["x"] = rng.random(2000)
    test_set["x"] = table.loc[test_set.index, "x"]
    with pytest.raises(tu.OptionError, match="one matrix for all"):
        tu.correct(table, test_set, prior=tu.prior.regression("x"), P=P)
