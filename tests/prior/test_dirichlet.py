"""Priors: their concentrations, and what is refused."""

import numpy as np
import pytest

import trueup as tu
from trueup.prior import jeffreys, resolve_prior, uniform


def test_uniform_is_flat():
    prior = uniform(3)
    assert (prior.alpha == 1).all()
    assert (prior.gamma == 1).all()


@pytest.mark.parametrize("K", [2, 3, 15])
def test_jeffreys_has_half_and_K_over_two(K):
    assert (jeffreys(K).alpha == 0.5).all()
    assert (jeffreys(K).gamma == K / 2).all()


def test_a_dirichlet_without_gamma_takes_the_row_sums():
    prior = resolve_prior(tu.Dirichlet([[1, 2], [3, 4]]), 2)
    assert prior.gamma == pytest.approx([3, 7])


@pytest.mark.parametrize("alpha", [0, -1, np.nan, np.inf, [[1, 0], [1, 1]]])
def test_a_component_that_is_not_positive_is_refused(alpha):
    with pytest.raises(tu.OptionError, match="positive"):
        resolve_prior(tu.Dirichlet(alpha), 2)


@pytest.mark.parametrize("alpha", [[1, 2, 3], "a", np.ones((3, 3)), None])
def test_a_wrong_shape_is_refused(alpha):
    with pytest.raises(tu.OptionError):
        resolve_prior(tu.Dirichlet(alpha), 2)


def test_an_unknown_name_is_refused():
    with pytest.raises(tu.OptionError, match="must be one of"):
        resolve_prior("haldane", 2)
