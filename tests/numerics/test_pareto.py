"""The Pareto shape of importance weights, against ArviZ's."""

import warnings

import numpy as np
import pytest
from tests.later import Later
from tests.seeds import more

from trueup.numerics.weights import pareto_k

az = Later("arviz")


def theirs(log_weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(az.psislw(log_weight.copy())[1])


@pytest.mark.parametrize("size", [200, 1000, 4000, 20_000])
@pytest.mark.parametrize(
    "kind", ["normal", "wide normal", "pareto 1.2", "pareto 4", "gamma", "chi"]
)
def test_the_shape_is_that_of_arviz(kind, size, rng):
    draw = {
        "normal": lambda: rng.normal(0, 0.5, size),
        "wide normal": lambda: rng.normal(0, 4, size),
        "pareto 1.2": lambda: np.log1p(rng.pareto(1.2, size)),
        "pareto 4": lambda: np.log1p(rng.pareto(4, size)),
        "gamma": lambda: np.log(rng.gamma(0.3, 1, size)),
        "chi": lambda: -0.5 * rng.chisquare(5, size),
    }
    log_weight = draw[kind]() + 700.0  # weights that no float holds, but for their ratios
    assert pareto_k(log_weight) == pytest.approx(theirs(log_weight), abs=1e-6)


def test_a_known_tail_has_its_shape(rng):
    """The tail holds 3√R draws, which tell its shape to (1 + k) / √(3√R) (Smith 1987)."""
    R, times = 100_000, more(8)
    for shape in (0.3, 0.5, 0.9):
        found = [pareto_k(np.log1p(rng.pareto(1 / shape, R))) for _ in range(times)]
        error = (1 + shape) / np.sqrt(3 * np.sqrt(R)) / np.sqrt(times)
        # log1p(x) has a Pareto tail only in the limit, and a prior draws k towards 1/2
        assert abs(np.mean(found) - shape) < 5 * error + 0.03


def test_equal_weights_have_no_tail_and_too_few_have_no_answer():
    assert pareto_k(np.zeros(1000)) == -np.inf
    few = np.full(1000, -np.inf)
    few[:20] = np.arange(20.0)
    assert pareto_k(few) == np.inf


def test_impossible_draws_count_as_draws(rng):
    """Half of the draws without weight: the tail is that of the others, of all draws' number."""
    log_weight = rng.normal(0, 1, 4000)
    log_weight[::2] = -np.inf
    finite = np.where(np.isfinite(log_weight), log_weight, -1e5)
    assert pareto_k(log_weight) == pytest.approx(theirs(finite), abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_any_weights_have_a_shape(seed, rng):
    """No warning of NumPy, and never NaN: ties, spans beyond floats, hardly any spread."""
    for R in (6, 30, 300):
        for x in (
            rng.normal(0, 10.0 ** rng.uniform(-12, 3), R),
            np.round(rng.normal(0, 2, R)),
            np.where(rng.random(R) < 0.5, -np.inf, rng.normal(0, 300, R)),
            -rng.pareto(0.1, R),
        ):
            assert not np.isnan(pareto_k(x))
