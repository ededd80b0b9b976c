"""Test sets and predicted counts that contradict each other are told apart from others."""

import time

import numpy as np
import pytest
from tests.seeds import fresh

import trueup as tu
from trueup.draws.samplers.contradiction import at_odds, contradicted

TEST = [[90, 6, 4], [5, 80, 15], [3, 7, 90]]


def test_draws_of_the_test_set_alone_are_not_far_from_it():
    """Half of such draws are nearer than the median, whatever the prior."""
    rng = fresh(51)
    for a in (np.array(TEST) + 1 / 3, np.full((4, 4), 0.05), np.full((2, 5), 3.0)):
        P = np.stack([rng.dirichlet(row, 2000) for row in a], axis=1)
        assert contradicted(a, P, rng) == []


def test_rates_far_from_the_test_set_are_found():
    rng = fresh(52)
    a = np.array(TEST) + 1 / 3
    P = np.stack([rng.dirichlet(row, 2000) for row in a], axis=1)
    P[:, 1] = [0.5, 0.3, 0.2]
    assert contradicted(a, P, rng) == [1]


@pytest.mark.parametrize("method", ["constrained", "full"])
def test_a_user_is_told_within_seconds(method):
    begun = time.process_time()
    with pytest.warns(tu.TrueupWarning, match="contradict each other"):
        est = tu.correct_counts(TEST, [20, 20, 9960], design="shifted", method=method, draws=1000)
    assert est.info["contradicted"] == [2]
    assert time.process_time() - begun < 6


def test_data_of_one_truth_are_not_at_odds():
    """Twice the log likelihood ratio: one in 1,000 at most, also where v̂ lies outside the hull."""
    rng, found, outside = fresh(54), 0, 0
    for _ in range(200):
        P = np.array([np.roll(rng.dirichlet([8.0, 1, 1, 1]), g) for g in range(4)])
        n = np.array([rng.multinomial(30, p) for p in P])
        v_hat = rng.multinomial(5000, rng.dirichlet(np.full(4, 0.4)) @ P) + 1
        found += at_odds(n + 0.25, v_hat / v_hat.sum())
        row = (n + 0.25) / (n + 0.25).sum(axis=1, keepdims=True)
        outside += np.linalg.solve(row.T, v_hat / v_hat.sum()).min() < 0
    assert outside > 50
    assert found <= 3


@pytest.mark.parametrize("method", ["constrained", "full"])
def test_data_that_agree_give_no_such_warning(method):
    rng = fresh(53)
    P = np.array(TEST) / np.sum(TEST, axis=1, keepdims=True)
    v_hat = rng.multinomial(10_000, np.array([0.2, 0.5, 0.3]) @ P)
    est = tu.correct_counts(TEST, v_hat, design="shifted", method=method, draws=1000, seed=1)
    assert "contradicted" not in est.info
    assert est.info["warnings"] == []


@pytest.mark.parametrize("gamma", [1e-6, 0.03, 1.0])
def test_a_small_gamma_ends_in_time(gamma, recwarn):
    """It once took minutes and printed thousands of NumPy's warnings."""
    n, v_hat = np.array([[5, 3, 0], [2, 40, 1], [0, 1, 10]]), [7, 593, 400]
    prior = tu.Dirichlet(np.full((3, 3), 1 / 3), np.full(3, gamma))
    begun = time.process_time()
    est = tu.correct_counts(
        n, v_hat, design="by_class", method="full", prior=prior, draws=1000, seed=1, seconds=1
    )
    assert time.process_time() - begun < 5
    assert est.info["rhat"] < 1.01 or any("R-hat" in text for text in est.info["warnings"])
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_seconds_must_be_a_positive_number():
    for wrong in (0, -1.0, "a", True):
        with pytest.raises(tu.TrueupError, match="seconds"):
            tu.correct_counts(TEST, [100, 100, 100], seconds=wrong)
