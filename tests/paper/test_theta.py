"""The constraint Θ_K(v̂): non-negative counts, the convex hull, and the binary rectangles."""

import numpy as np
import pytest

from trueup.draws.contingency import in_theta, in_theta_2, solve_Q
from trueup.numerics.dirichlet import draw_dirichlet


def test_two_rectangles_are_theta_2(rng):
    P = draw_dirichlet(np.ones((2, 2)), 20_000, rng)
    for v_hat in ([10, 90], [50, 50], [97, 3]):
        inside = in_theta(P, v_hat)
        assert (inside == in_theta_2(P, v_hat)).all()
        assert 0 < inside.mean() < 1


@pytest.mark.parametrize("K", [2, 3, 4])
def test_inside_means_that_v_hat_is_a_mixture_of_the_rows(K, rng):
    for P in draw_dirichlet(np.ones((K, K)), 200, rng):
        beta = draw_dirichlet(np.ones(K), 1, rng)[0]
        assert in_theta(P, 1000 * (P.T @ beta))
        outside = P.T @ (beta - 2 * np.eye(K)[0] + 2 * np.eye(K)[1])
        if (outside > 0).all():
            assert not in_theta(P, 1000 * outside)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_solve_Q_undoes_P_transposed(K, rng):
    P = draw_dirichlet(np.ones((K, K)) + 3 * np.eye(K), 50, rng)
    u = rng.normal(size=(50, K))
    u_hat = np.einsum("rgh,rg->rh", P, u)
    assert solve_Q(P, u_hat) == pytest.approx(u)
    assert solve_Q(np.eye(K), u[0]) == pytest.approx(u[0])


def test_singular_P_is_not_a_number_and_spares_the_others():
    for K in (2, 3):
        flat = np.full((K, K), 1 / K)
        answer = solve_Q(np.stack([flat, np.eye(K)]), np.arange(1.0, K + 1))
        assert not np.isfinite(answer[0]).any()
        assert answer[1] == pytest.approx(np.arange(1.0, K + 1))
        assert not in_theta(flat, np.arange(1.0, K + 1))
