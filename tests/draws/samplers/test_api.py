"""Choice of sampler, seeds, limits, and inputs at the edge of what has an answer."""

import threading

import numpy as np
import pytest
from tests.seeds import fresh

import trueup as tu
from trueup.draws.samplers import Draws, draw_constrained, draw_full
from trueup.errors import EstimateError

RNG = fresh
A3 = np.array([[9.5, 1.0, 0.5], [1.0, 7.0, 1.5], [0.5, 2.0, 5.0]])
V3 = np.array([20.0, 50.0, 30.0])


def sound(draws: Draws, size: int, K: int) -> None:
    assert draws.P.shape == (size, K, K)
    assert draws.beta.shape == (size, K)
    assert np.isfinite(draws.P).all()
    assert np.isfinite(draws.beta).all()
    assert draws.beta.min() >= 0
    assert draws.P.min() >= 0
    np.testing.assert_allclose(draws.P.sum(axis=2), 1, rtol=1e-9)
    np.testing.assert_allclose(draws.beta.sum(axis=1), 1, rtol=1e-6)
    fitted = np.einsum("rgh,rg->rh", draws.P, draws.beta)
    np.testing.assert_allclose(fitted, np.broadcast_to(draws.rho, fitted.shape), atol=1e-7)


@pytest.mark.parametrize("sampler", ["rejection", "chain"])
def test_forced(sampler):
    draws = draw_constrained(A3, V3, 500, RNG(1), sampler=sampler)
    assert draws.info["sampler"] == sampler
    sound(draws, 500, 3)


def test_exact_is_for_two_classes():
    draws = draw_constrained(A3[:2, :2], V3[:2], 500, RNG(1))
    assert draws.info["sampler"] == "exact"
    sound(draws, 500, 2)


def test_auto_prefers_rejection_while_it_accepts():
    assert draw_constrained(A3, V3, 100, RNG(1)).info["sampler"] == "rejection"
    # both other rows must put less on the first class than the test set says, by three errors each
    firm = np.full((3, 3), 30.0) + 270 * np.eye(3)
    draws = draw_constrained(firm, np.array([40.0, 500, 460]), 100, RNG(1), max_sweeps=100)
    assert draws.info["sampler"] == "chain"


@pytest.mark.parametrize("size", [1, 7, 1001])
def test_exactly_as_many_draws_as_asked_for(size):
    sound(draw_constrained(A3, V3, size, RNG(1), sampler="chain"), size, 3)
    sound(draw_full(A3, np.ones(3), V3, size, RNG(1)), size, 3)


def test_the_chain_says_how_it_went():
    info = draw_constrained(A3, V3, 2000, RNG(2), sampler="chain").info
    assert info["rhat"] < 1.01
    assert info["ess"] > 0.9 * 2000
    assert 0 < info["acceptance"] <= 1
    assert info["warnings"] == []


@pytest.mark.parametrize("draw", ["constrained", "full"])
def test_same_seed_same_draws(draw):
    def run(seed):
        if draw == "constrained":
            return draw_constrained(A3, V3, 600, RNG(seed), sampler="chain")
        return draw_full(A3, np.full(3, 1.5), V3, 600, RNG(seed))

    one, two = run(1), run(1)
    np.testing.assert_array_equal(one.P, two.P)
    np.testing.assert_array_equal(one.beta, two.beta)
    np.testing.assert_equal(one.info, two.info)  # also the arrays in it
    assert not np.array_equal(one.P, run(2).P)


def test_limits_are_said_never_silent():
    draws = draw_constrained(A3, V3, 50_000, RNG(1), sampler="chain", max_sweeps=40)
    sound(draws, 50_000, 3)
    assert "50,000 asked for" in draws.info["warnings"][0]
    assert draws.info["ess"] < 50_000
    draws = draw_constrained(A3, V3, 50_000, RNG(1), sampler="chain", seconds=1e-9)
    (warning,) = draws.info["warnings"]
    assert "by the limit of `seconds`" in warning
    assert "Do not publish" in warning
    sound(draws, 50_000, 3)


def test_converged_with_fewer_draws_is_not_called_unconverged():
    draws = draw_constrained(A3, V3, 50_000, RNG(1), sampler="chain", max_sweeps=300)
    (warning,) = draws.info["warnings"]
    assert "they had converged" in warning


def test_rejection_that_finds_too_little_is_an_error(monkeypatch):
    monkeypatch.setattr("trueup.draws.samplers.api.MAX_PROPOSALS", 5000)
    tight = np.full((6, 6), 30.0)
    with pytest.raises(EstimateError, match=r"\d,\d\d\d proposals") as error:
        draw_constrained(tight, np.array([1.0, 2, 3, 4, 50, 40]), 100, RNG(1), sampler="rejection")
    assert 'sampler="chain"' in str(error.value)


def test_progress_rises_to_one():
    seen = []
    draw_constrained(A3, V3, 3000, RNG(1), sampler="chain", progress=seen.append)
    assert seen[-1] == 1.0
    assert all(0 <= x <= 1 for x in seen)


def test_an_interrupt_stops_it_and_leaves_no_thread():
    def interrupt(_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        draw_constrained(A3, V3, 3000, RNG(1), sampler="chain", progress=interrupt)
    assert threading.active_count() == before


@pytest.mark.parametrize("K", [2, 3])
def test_a_predicted_class_without_units_has_no_volume(K):
    v_hat = V3[:K].copy()
    v_hat[1] = 0
    with pytest.raises(EstimateError, match=r"predicted \[1\]") as error:
        tu.correct_counts(np.eye(K, dtype=int), v_hat, method="constrained", design="shifted")
    assert 'method="full"' in str(error.value)
    sound(draw_full(A3[:K, :K], np.ones(K), v_hat, 500, RNG(1), max_sweeps=100), 500, K)


EDGES = {
    "no test unit at all": (np.full((3, 3), 1 / 3), V3),
    "alpha of 0.01": (np.full((3, 3), 0.01) + np.diag([5.0, 4.0, 3.0]), V3),
    "alpha of 0.01, no test unit": (np.full((3, 3), 0.01), V3),
    "a class without test units": (A3 * [[1], [0], [1]] + 0.01, V3),
    "one class dominates": (A3, np.array([1.0, 1e6, 2.0])),
    "test set and counts at odds": (A3 * 3000, np.array([1.0, 1.0, 998.0])),
}
SLOW = {
    ("alpha of 0.01, no test unit", "full"),
    ("a class without test units", "full"),
    ("a class without test units", "chain"),
    ("one class dominates", "chain"),
    ("one class dominates", "full"),
    ("test set and counts at odds", "chain"),
    ("test set and counts at odds", "full"),
}
"""Where the chains may need more than a few hundred sweeps: then they must say so."""


@pytest.mark.parametrize("method", ["chain", "full"])
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, method):
    a, v_hat = EDGES[name]
    limit = 100 if (name, method) in SLOW else 2000
    if method == "full":
        draws = draw_full(a, np.ones(len(a)), v_hat, 400, RNG(3), max_sweeps=limit)
    else:
        draws = draw_constrained(a, v_hat, 400, RNG(3), sampler=method, max_sweeps=limit)
    sound(draws, 400, len(a))
    if (name, method) not in SLOW:
        assert draws.info["warnings"] == []
    assert bool(draws.info["warnings"]) == (draws.info["rhat"] >= 1.01 or draws.info["ess"] < 360)


def test_prior_only_is_symmetric_in_the_labels():
    """With no data, β and ρ know nothing of each other's labels: E β_g = 1/K for every g."""
    draws = draw_constrained(np.full((3, 3), 0.01), V3, 4000, RNG(4), sampler="chain")
    error = draws.beta.std(axis=0) / np.sqrt(draws.info["ess"])
    assert np.all(np.abs(draws.beta.mean(axis=0) - 1 / 3) < 5 * error)


def test_a_gamma_too_small_for_floats_is_refused():
    """At 1e-15 base rates once added up to 3."""
    sound(draw_full(A3, np.full(3, 1e-9), V3, 200, RNG(9)), 200, 3)
    with pytest.raises(EstimateError, match="at least 1e-09"):
        draw_full(A3, np.array([1.0, 1.0, 1e-15]), V3, 200, RNG(9))
