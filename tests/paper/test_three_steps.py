"""The paper's three steps: posterior, draws in Θ_K, and Qû for each draw."""

import numpy as np
import pytest

import trueup as tu
from trueup.draws.contingency import in_theta, solve_Q

TEST = [[30, 3, 2], [4, 20, 1], [2, 5, 33]]
V_HAT, U_HAT = [500, 300, 200], [5.0e6, 9.0e6, 1.0e6]


@pytest.mark.parametrize("method", ["bayes", "constrained"])
@pytest.mark.parametrize("prior", ["jeffreys", "uniform", "perks"])
def test_no_noise_is_the_paper_to_the_letter(method, prior):
    est = tu.correct_counts(
        TEST, V_HAT, U_HAT, design="shifted", method=method, prior=prior, noise=False, seed=3
    )
    assert np.allclose(est.draws, solve_Q(est.P, np.array(U_HAT)))
    assert est.draws.sum(axis=1) == pytest.approx(np.sum(U_HAT))
    if method == "constrained":
        assert in_theta(est.P, V_HAT).all()


def test_the_rows_of_P_follow_theorem_1():
    """Without the constraint the posterior mean of P is known exactly."""
    a = np.array(TEST) + 0.5
    est = tu.correct_counts(
        TEST, V_HAT, design="shifted", method="bayes", prior="jeffreys", noise=False, draws=40_000
    )
    mean = a / a.sum(axis=1, keepdims=True)
    error = est.P.std(axis=0) / np.sqrt(40_000)
    assert (np.abs(est.P.mean(axis=0) - mean) < 5 * error).all()


def test_a_constrained_total_may_be_impermissible_and_noise_mends_it():
    """Qv̂ ≥ 0 does not make Qû ≥ 0: an erratum of the paper."""
    P = np.array([[0.9, 0.1], [0.09, 0.91]])
    assert in_theta(P, [10, 90])
    assert solve_Q(P, [5, 5000])[0] == pytest.approx(-550, abs=1)
    test = np.round(1000 * P).astype(int)
    squares = [5.0, 5000.0**2 / 60]
    numbers = {"predicted_counts": [10, 90], "predicted_sums": [5, 5000], "design": "shifted"}
    paper = tu.correct_counts(test, **numbers, noise=False)
    assert (paper.draws[:, 0] < 0).mean() > 0.9
    ours = tu.correct_counts(test, **numbers, predicted_squares=squares)
    assert (ours.draws >= 0).all()
    assert ours.draws.sum(axis=1) == pytest.approx(5005)
