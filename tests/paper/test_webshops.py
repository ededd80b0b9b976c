"""Section 4.2: a population with the moments that Table 1 implies."""

import pytest

from trueup.paper.webshops import ERROR_RATE, WEBSHOP, predict, webshops


def test_population_has_the_moments_of_table_1():
    population = webshops()
    T, u_1 = population.y.sum(), population.y[population.s == WEBSHOP].sum()
    squares = (population.y**2).sum()
    assert ERROR_RATE * (T - 2 * u_1) == pytest.approx(195.3e6, rel=0.002)  # bias of "None"
    assert ERROR_RATE * (1 - ERROR_RATE) * squares == pytest.approx(3.7e15, rel=1e-6)  # variance
    assert (population.s == WEBSHOP).mean() == pytest.approx(0.075, abs=1e-4)


def test_predictions_err_at_the_rate_of_the_paper(rng):
    population = webshops()
    wrong = (predict(population.s, rng) != population.s).mean()
    assert abs(wrong - 0.05) < 5 * (0.0475 / len(population.s)) ** 0.5
