"""Kloos et al. (2021): their printed figures, and the simulator against their formulas."""

import numpy as np
import pytest
from tests.verify import kloos

from trueup.draws.contingency import solve_Q
from trueup.simulation import simulate

# Root mean squared errors ×10⁻² of their Table 2, where α = 0.5, n = 1,000 and rates 0.6 and 0.7.
PRINTED = {
    "baseline": 1.581,
    "classify_and_count": 5.000,
    "subtracted_bias": 3.807,
    "misclassification": 5.003,
    "calibration": 1.508,
}


@pytest.mark.parametrize("name", PRINTED)
def test_formulas_give_the_printed_errors(name):
    moments = getattr(kloos, name)(0.5, 0.6, 0.7, 1000, np.inf)
    assert round(100 * moments.rmse, 3) == PRINTED[name]


@pytest.mark.parametrize("name", PRINTED)
def test_swapping_the_classes_changes_the_sign_of_the_bias_only(name):
    one = getattr(kloos, name)(0.2, 0.9, 0.7, 500, 1e6)
    other = getattr(kloos, name)(0.8, 0.7, 0.9, 500, 1e6)
    assert one.bias == pytest.approx(-other.bias)
    assert one.variance == pytest.approx(other.variance)


def estimates(study):
    """The five estimators of the share of class 1, from the simulator's arrays."""
    n, N = study.n.astype(float), study.v_hat[0].sum()
    P = n / n.sum(axis=2, keepdims=True)
    share = study.v_hat[:, 1] / N
    c = n[:, 1] / n.sum(axis=1)  # Pr(s = 1 | ŝ = h)
    return {
        "baseline": n[:, 1].sum(axis=1) / n.sum(axis=(1, 2)),
        "classify_and_count": share,
        "subtracted_bias": share * (3 - P[:, 0, 0] - P[:, 1, 1]) - (1 - P[:, 0, 0]),
        "misclassification": solve_Q(P, study.v_hat / N)[:, 1],
        "calibration": (c * study.v_hat / N).sum(axis=1),
    }


def test_simulated_estimators_have_these_moments(rng):
    """A transposed P, or test units drawn from elsewhere, moves every one of these."""
    alpha, p_00, p_11, n, N, R = 0.3, 0.9, 0.8, 1000, 10_000_000, 20_000
    P = [[p_00, 1 - p_00], [1 - p_11, p_11]]
    study = simulate(
        P, n=n, N=N, base_rates=[1 - alpha, alpha], replications=R, seed=int(rng.integers(2**32))
    )
    for name, x in estimates(study).items():
        exact = getattr(kloos, name)(alpha, p_00, p_11, n, N)
        error = x - alpha
        assert abs(error.mean() - exact.bias) < 5 * x.std() / np.sqrt(R) + 1e-5, name
        spread = ((error - error.mean()) ** 2).std() / np.sqrt(R)
        # terms of order 1/n² beyond the formulas' own are below 1% here
        assert abs(x.var() - exact.variance) < 5 * spread + 0.01 * exact.variance, name


def test_the_transposed_rates_are_told_apart(rng):
    right = simulate(
        [[0.9, 0.1], [0.2, 0.8]], n=100, N=10_000, base_rates=[0.7, 0.3],
        replications=400, seed=int(rng.integers(2**32)),
    )  # fmt: skip
    wrong = kloos.classify_and_count(0.3, 0.8, 0.9, 100, 10_000)
    x = right.v_hat[:, 1] / 10_000 - 0.3
    assert abs(x.mean() - wrong.bias) > 20 * x.std() / np.sqrt(400)
