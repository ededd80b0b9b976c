"""The slope in the score: simulation-based calibration. test_within_classes.py has the rest."""

from itertools import islice

import numpy as np
import pytest
from tests.draws.test_cell_columns import (
    ALPHA,
    ERROR,
    PHI,
    SWEEPS,
    B,
    H,
    K,
    assert_uniform,
    uneven,
)
from tests.seeds import more

from trueup.aggregate.cells import draw_cells
from trueup.draws.cells.columns import (
    BEYOND,
    KAPPAS,
    STEEPEST,
    learn_columns,
    reflected,
    scales,
)
from trueup.draws.cells.frame import Frame
from trueup.numerics.half_t import DF

RIGHT = np.eye(K, H)
SCORE = np.array([[-1.2, -0.4, 0.3, 1.4], [-1.5, 0.0, 0.1, 1.1]])
FLAT = np.zeros(K)
FUNCTIONS = np.stack([PHI[0], SCORE])


def truth(rng):
    """Draw (κ, b, c) from the prior, and the audited units from c."""
    upsilon, kappa = scales(2) * abs(rng.standard_t(DF, 2)), rng.choice(KAPPAS)
    b = STEEPEST * rng.random()
    coef = upsilon * rng.standard_normal((K, H, 2))
    coef[..., 0] += (BEYOND * rng.random() * ERROR * rng.standard_normal(K))[:, None]
    coef[..., 1] += b * RIGHT
    x = np.maximum(rng.standard_gamma(ALPHA), 1e-300)
    m = x[..., None] * np.exp(np.clip(np.einsum("khr,rhb->khb", coef, FUNCTIONS), -300, 300))
    m /= m.sum(axis=0)
    c = rng.standard_gamma(np.maximum(kappa * m, 1e-300))
    c = np.where(c.sum(axis=0) > 0, c / np.maximum(c.sum(axis=0), 1e-300), m)
    units = np.array([[10, 25, 22, 8], [12, 19, 30, 6]])
    n = np.moveaxis(rng.multinomial(units, np.moveaxis(c, 0, -1)), -1, 0)
    return kappa, b, c.sum(axis=(1, 2))[0], n


def ranks(rng, replications, right=RIGHT):
    found = []
    for _ in range(replications):
        kappa, b, share, n = truth(rng)
        known = Frame(FUNCTIONS, (FLAT, ERROR), None, right)
        last = next(islice(learn_columns(n, known, ALPHA, rng, chains=40), SWEEPS, None))
        assert last.m.shape == (40, K, H, B)
        c = draw_cells(last, n, rng).sum(axis=(2, 3))[:, 0]
        noise = rng.random(40) - 0.5  # κ is on a grid: ties are broken at random
        kappas = np.log(last.kappa) + 1e-3 * noise
        found.append([(kappas < np.log(kappa)).mean(), (last.b < b).mean(), (c < share).mean()])
    return np.array(found)


@pytest.mark.slow
def test_the_slope_of_the_score_has_an_even_rank(rng):
    for column in ranks(rng, more(60)).T:
        assert_uniform(column)


@pytest.mark.slow
def test_calibration_finds_a_slope_for_wrong_predictions(rng):
    """Planted bug: the score raises the odds of the other class."""
    found = ranks(rng, 40, right=1 - RIGHT)
    assert max(uneven(column) for column in found.T) > 1


def test_steps_of_the_slope_stay_in_its_range(rng):
    b = 3 * STEEPEST * rng.standard_normal(1000)
    assert ((reflected(b, STEEPEST) >= 0) & (reflected(b, STEEPEST) <= STEEPEST)).all()
    inside = STEEPEST * rng.random(100)
    assert reflected(inside, STEEPEST) == pytest.approx(inside)
    assert reflected(-inside, STEEPEST) == pytest.approx(inside)
    assert reflected(2 * STEEPEST - inside, STEEPEST) == pytest.approx(inside)
