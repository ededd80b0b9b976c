"""Groups whose truth is known: coverage, and squared error against the classical answers."""

import numpy as np
import pytest

from trueup.aggregate.groups.base_rates import base_rates
from trueup.aggregate.groups.draw import Whole, correct_groups
from trueup.count.counts import make_counts
from trueup.draws.base_rates import columns

P = np.array([[0.95, 0.05], [0.15, 0.85]])


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 500])
def test_coverage_and_error_of_counts_when_P_is_known(rng, size):
    """P is given, so groups are independent and coverage has binomial bounds."""
    B = 600
    v = rng.binomial(size, rng.beta(1.5, 15, B))
    v = np.stack([size - v, v], axis=1)
    v_hat = rng.multinomial(v, P).sum(axis=1)
    draws = np.repeat(P[None], 400, axis=0)
    beta = base_rates(draws, v_hat.sum(axis=0))
    M = rng.multinomial(v_hat.sum(axis=0), columns(draws, beta).swapaxes(1, 2)).sum(axis=1)
    answer = correct_groups(Whole(draws, beta, M), make_counts(None, v_hat), rng)
    inside = (answer.figures["lower"] <= v) & (v <= answer.figures["upper"])
    cover = inside[:, 1].mean()
    # 400 draws leave an error of about 0.005 in the level of a quantile; counts are discrete
    assert cover > 0.94 - 5 * np.sqrt(0.95 * 0.05 / B)
    assert cover < 0.999

    mine = (answer.figures["mean"] - v)[:, 1] ** 2
    c = v.mean(axis=0)[:, None] * P
    c /= c.sum(axis=0)
    others = {
        "naive": v_hat,
        "inverse": np.linalg.solve(P.T, v_hat.T).T,
        "calibrated": v_hat @ c.T,
    }
    for name, estimate in others.items():
        gain = (estimate - v)[:, 1] ** 2 - mine
        assert gain.mean() > -5 * gain.std() / np.sqrt(B), name
    gain = (others["naive"] - v)[:, 1] ** 2 - mine
    assert gain.mean() > 0
