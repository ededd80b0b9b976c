"""The Base Rate Example: û = 10,350 is expected from 10,000 webshops; relative bias +3.5%."""

import numpy as np
import pytest

from trueup.draws.contingency import expected_u_hat
from trueup.paper.examples import base_rate_example


def test_base_rate_example():
    expected, bias = base_rate_example()
    assert expected == pytest.approx(10_350)
    assert bias == pytest.approx(0.035)


def test_relative_bias_does_not_depend_on_N():
    P = np.array([[0.99, 0.01], [0.005, 0.995]])
    for N in (1e2, 1e5, 1e9):
        u = np.array([0.1, 0.9]) * N
        assert (expected_u_hat(P, u)[0] - u[0]) / N == pytest.approx(0.0035)


def test_transposed_P_is_wrong():
    P = np.array([[0.99, 0.01], [0.005, 0.995]])
    assert expected_u_hat(P.T, [10_000, 90_000])[0] != pytest.approx(10_350)


def test_no_bias_when_the_base_rate_is_q_over_p_plus_q():
    p, q = 0.2, 0.05
    beta = q / (p + q)
    u = np.array([beta, 1 - beta])
    assert expected_u_hat([[1 - p, p], [q, 1 - q]], u) == pytest.approx(u)


def test_simulated_counts_have_that_mean(rng):
    webshops = rng.binomial(10_000, 0.99, 4000) + rng.binomial(90_000, 0.005, 4000)
    error = webshops.std() / np.sqrt(4000)
    assert abs(webshops.mean() - 10_350) < 5 * error
