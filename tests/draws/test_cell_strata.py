"""What audit strata have in common: the whole is the textbook's where rates go with the weight."""

from itertools import islice

import numpy as np
import pytest

from trueup.aggregate.cells import draw_cells
from trueup.draws.cells.columns import learn_columns
from trueup.draws.cells.frame import Frame
from trueup.draws.cells.strata import RANGE, leaning


def test_many_small_strata_add_up_to_the_textbook(rng):
    """Sixty strata of three audited units; half of them have 1,000 units and more errors.

    Planted bug: strata that do not lean on their weight. In each of them the few audited units say
    little, so all are drawn to one mean, and the whole was 1.9 to 2.2 standard deviations off the
    weighted mean; with it .1.
    """
    J, m, v = 60, 3, np.repeat([1000.0, 20.0], 30)
    wrong = np.concatenate([rng.multivariate_hypergeometric([m] * 30, k) for k in (45, 14)])
    n = np.stack([m - wrong, wrong])[..., None]
    psi = leaning(np.full((1, J), m), v[None])
    slopes = np.zeros(2), np.full(2, 1e-6)
    known = Frame(np.zeros((1, J, 1)), slopes, np.zeros((2, J)), leans=psi)
    states = learn_columns(n, known, np.full((2, 1), 0.5), rng, chains=40)
    share = [draw_cells(x, n, rng)[:, 1, :, 0] @ v / v.sum() for x in islice(states, 40, 100)]
    textbook = wrong @ v / m / v.sum()
    assert abs(np.mean(share) - textbook) < 0.6 * np.std(share)


def test_what_an_audited_unit_stands_for():
    """By hand: weights 10, 2, 1 and, without an audited unit, as the largest."""
    v_hat = np.array([[60.0, 10, 5, 25], [40.0, 10, 5, 75]])
    psi = leaning(np.array([[10, 10, 10, 0]]), v_hat)
    weight = np.array([10.0, 2, 1, 10])
    assert np.ptp(psi, axis=1) == pytest.approx(RANGE)
    assert (v_hat * psi).sum(axis=1) == pytest.approx(0.0)
    assert np.diff(psi, axis=1) == pytest.approx(np.diff([weight] * 2, axis=1) * RANGE / 9)
    within = leaning(np.array([[30, 5, 5, 25], [4, 1, 1, 15]]), v_hat)
    assert np.diff(within[0]) == pytest.approx(np.diff([2, 2, 1, 1]) * RANGE / 9)
    assert np.diff(within[1]) == pytest.approx(np.diff([10, 10, 5, 5]) * RANGE / 9)


@pytest.mark.parametrize("m", [[[4, 8]], [[0, 0]], [[2, 4], [2, 4]]])
def test_strata_audited_in_proportion_do_not_lean(m):
    assert not leaning(np.array(m), np.array([[50.0, 100.0], [50.0, 100.0]])).any()


def test_nearly_equal_weights_lean_little():
    psi = leaning(np.array([[10, 10]]), np.array([[100.0, 110.0]]))
    assert np.ptp(psi) == pytest.approx(np.log(1.1))
