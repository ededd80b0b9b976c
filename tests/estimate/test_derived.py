"""Derived quantities: draw by draw, then summed up."""

import numpy as np
import pytest

from trueup.estimate.derived import (
    probability_above,
    ranks,
    shares,
    summarise_draws,
)


@pytest.fixture
def draws(rng):
    return rng.gamma(3.0, size=(500, 4, 3))


def test_shares_are_taken_draw_by_draw(draws):
    within = draws / draws.sum(axis=2, keepdims=True)
    figure = summarise_draws(shares(draws))
    assert figure.estimate == pytest.approx(np.median(within, axis=0))
    assert figure.lower == pytest.approx(np.quantile(within, 0.025, axis=0))
    assert summarise_draws(shares(draws[:, 0])).estimate == pytest.approx(figure.estimate[0])


def test_ranks_count_from_the_largest_and_share_ties():
    draws = np.array([[[5.0], [1.0], [5.0], [9.0]]] * 3)
    assert ranks(draws)[0, :, 0].tolist() == [2.5, 4, 2.5, 1]


def test_probability_above(rng):
    draws = rng.random((1000, 3))
    expected = (draws > [0.1, 0.5, 2.0]).mean(axis=0)
    assert probability_above(draws, [0.1, 0.5, 2.0]) == pytest.approx(expected)


def test_a_group_without_value_has_no_share():
    draws = np.zeros((10, 2, 2))
    draws[:, 1] = [1, 3]
    figure = summarise_draws(shares(draws))
    assert np.isnan(figure.estimate[0]).all()
    assert figure.estimate[1].tolist() == [0.25, 0.75]
    draws[:5, 0, 0] = 2  # defined on half of the draws
    assert summarise_draws(shares(draws)).estimate[0].tolist() == [1, 0]


def test_intervals_have_the_probability_asked_for():
    figure = summarise_draws(np.arange(1001.0), 0.5)
    assert (figure.lower, figure.estimate, figure.upper) == (250, 500, 750)
