"""The Peculiar Example: −75 webshops by inversion; 4.91 with Jeffreys' prior and constraints.

The paper prints TP=4, FP=1, FN=2, TN=2, which sum to 9. Its rates and its answer need TP=4, FN=1,
FP=2, TN=3 (see docs/paper-map.md), and those are used here.
"""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.oracles import Binary

import trueup as tu
from trueup.cli import main
from trueup.draws.contingency import in_theta, in_theta_2
from trueup.numerics.dirichlet import draw_dirichlet

TEST, V_HAT = [[4, 1], [2, 3]], [10, 90]
JEFFREYS = [[4.5, 1.5], [2.5, 3.5]]
ORACLE = Binary(JEFFREYS, V_HAT)


def paper_draws(draws, seed=None):
    return tu.correct_counts(
        TEST,
        V_HAT,
        design="shifted",
        method="constrained",
        prior="jeffreys",
        noise=False,
        draws=draws,
        seed=seed,
    )


def test_inverse_is_minus_75_and_175():
    est = tu.correct_counts(TEST, V_HAT, design="shifted", method="inverse")
    assert [row["estimate"] for row in est.rows()] == pytest.approx([-75, 175])


def test_the_printed_matrix_is_an_erratum():
    est = tu.correct_counts([[4, 2], [1, 2]], V_HAT, design="shifted", method="inverse")
    assert [row["estimate"] for row in est.rows()] != pytest.approx([-75, 175], abs=1)


def test_posterior_mean_against_quadrature():
    exact = ORACLE.expectation(lambda v: v)
    assert exact == pytest.approx(4.91, abs=0.005)
    est = paper_draws(200_000)
    error = est.draws[:, 0].std() / np.sqrt(len(est.draws))
    assert abs(est.draws[:, 0].mean() - exact) < 5 * error


def test_acceptance_is_the_mass_of_theta_2():
    assert sum(ORACLE.masses) == pytest.approx(0.02865, abs=5e-6)
    assert paper_draws(1000).info["acceptance"] == pytest.approx(sum(ORACLE.masses), rel=1e-6)


def test_both_rectangles_have_their_mass():
    est = paper_draws(200_000)
    above = est.P[:, 0, 1] > 0.9
    share = ORACLE.masses[1] / sum(ORACLE.masses)
    assert share == pytest.approx(0.003, abs=0.0005)
    assert abs(above.mean() - share) < 5 * np.sqrt(share * (1 - share) / len(above))


def test_every_draw_is_permissible():
    est = paper_draws(50_000)
    assert (est.draws >= 0).all()
    assert in_theta_2(est.P, V_HAT).all()
    # Qv̂ ≥ 0 up to rounding at the edge of a rectangle
    assert in_theta(est.P, V_HAT).mean() > 0.9999


def test_draws_equal_rejection_in_distribution(rng):
    proposals = draw_dirichlet(np.array(JEFFREYS), 2_000_000, rng)
    kept = proposals[in_theta_2(proposals, V_HAT)]
    ours = paper_draws(100_000).P
    for g, h in ((0, 1), (1, 0)):
        for level in (0.1, 0.5, 0.9):
            point = np.quantile(kept[:, g, h], level)
            share = (ours[:, g, h] <= point).mean()
            error = np.sqrt(level * (1 - level) * (1 / len(kept) + 1 / len(ours)))
            assert abs(share - level) < 5 * error


def test_quantiles_against_quadrature():
    est = paper_draws(200_000)
    for level in (0.025, 0.5, 0.975):
        point = np.quantile(est.draws[:, 0], level)
        error = np.sqrt(level * (1 - level) / len(est.draws))
        assert abs(ORACLE.cdf(point) - level) < 5 * error


def test_the_issue_s_command():
    arguments = (
        "numbers --test 4,1;2,3 --predicted-counts 10,90 --design shifted --method constrained "
        "--no-noise --draws 200000 --seed 1 --json"
    )
    result = CliRunner().invoke(main, arguments.split())
    assert result.exit_code == 0
    assert 4.85 < json.loads(result.stdout)["rows"][0]["mean"] < 4.98
