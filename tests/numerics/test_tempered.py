"""Tempering against a target whose moments are known."""

import numpy as np
import pytest

from trueup.numerics.tempered import temper

MEAN, COV = np.array([3.0, -2.0]), np.array([[0.5, 0.3], [0.3, 0.4]])


def log_base(x):
    return -0.5 * (x[:, :2] ** 2).sum(axis=1)


def log_target(x):
    away = x[:, :2] - MEAN
    return -0.5 * np.einsum("ri,ij,rj->r", away, np.linalg.inv(COV), away)


def test_draws_have_the_moments_of_the_target(rng):
    found = temper(rng.standard_normal((4000, 2)), log_base, log_target, 2, rng)
    error = 5 * np.sqrt(np.diag(COV) / found.ess)
    assert found.ess > 400
    assert (abs(found.x.mean(axis=0) - MEAN) < error).all()
    assert np.cov(found.x.T) == pytest.approx(COV, abs=5 * np.sqrt(2 / found.ess) * 0.5)


def test_effective_size_is_that_over_seeds(rng):
    means = []
    sizes = []
    for _ in range(40):
        found = temper(rng.standard_normal((500, 2)), log_base, log_target, 2, rng)
        means.append(found.x.mean(axis=0))
        sizes.append(found.ess)
    over_seeds = np.diag(COV) / np.var(means, axis=0, ddof=1)
    # 40 means tell a variance to within a factor of 2
    assert (over_seeds > 0.4 * np.median(sizes)).all()


def test_other_coordinates_stay_standard_normal(rng):
    found = temper(rng.standard_normal((4000, 4)), log_base, log_target, 2, rng)
    rest = found.x[:, 2:]
    assert (abs(rest.mean(axis=0)) < 5 / np.sqrt(found.ess)).all()
    assert rest.var(axis=0) == pytest.approx(1.0, abs=5 * np.sqrt(2 / found.ess))
