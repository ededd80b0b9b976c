"""R-hat and effective draws against arviz-stats, and where they must sound the alarm."""

import numpy as np
import pytest
from tests.later import Later
from tests.seeds import fresh

from trueup.draws.samplers import ess, rhat

arviz = Later("arviz_stats.base")


def autoregressive(chains, draws, phi, rng):
    x = rng.normal(size=(chains, draws))
    x[:, 0] /= np.sqrt(1 - phi**2)
    for t in range(1, draws):
        x[:, t] += phi * x[:, t - 1]
    return x


@pytest.mark.parametrize(("chains", "draws"), [(4, 1000), (4, 999), (64, 50), (256, 20), (2, 4000)])
@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.95])
def test_same_as_arviz(chains, draws, phi):
    x = np.exp(autoregressive(chains, draws, phi, fresh(chains + draws)))
    assert ess(x) == pytest.approx(float(arviz.array_stats.ess(x, method="bulk")), rel=1e-6)
    assert rhat(x) == pytest.approx(float(arviz.array_stats.rhat(x)), rel=1e-6)


def test_ties_share_their_rank():
    x = np.round(autoregressive(8, 200, 0.3, fresh(3)), 0)
    assert ess(x) == pytest.approx(float(arviz.array_stats.ess(x, method="bulk")), rel=1e-6)


@pytest.mark.parametrize(("chains", "draws"), [(200, 40), (20, 400)])
def test_ess_is_right_with_many_short_chains(chains, draws):
    """The variance of the grand mean, over many repetitions, is what 1/ESS promises."""
    rng = fresh(5)
    phi, repeats = 0.7, 200
    x = [autoregressive(chains, draws, phi, rng) for _ in range(repeats)]
    promised = np.mean([1.0 / ess(y) for y in x]) / (1 - phi**2)
    happened = np.mean([y.mean() ** 2 for y in x])
    # the log of a variance from 200 repetitions has an error of √(2/200); short chains cost 10%
    assert abs(np.log(promised / happened)) < 5 * np.sqrt(2 / repeats) + 0.1


def test_chains_that_never_met_are_few_draws():
    rng = fresh(6)
    stuck = rng.normal(size=(100, 1)) * 10 + rng.normal(size=(100, 200))
    assert ess(stuck) < 200
    assert rhat(stuck) > 2


def test_a_drift_raises_rhat():
    x = fresh(7).normal(size=(32, 100)) + np.linspace(0, 3, 100)
    assert rhat(x) > 1.1


def test_a_constant_has_converged():
    assert rhat(np.ones((4, 100))) == 1.0
    assert ess(np.ones((4, 100))) == 400
