"""Figure 1: the posterior of p with Jeffreys' prior concentrates at the truth, 0.3."""

import numpy as np
import pytest
from scipy.stats import beta

from trueup.paper.examples import posterior_of_p


def test_without_data_it_is_the_arcsine_law(rng):
    assert posterior_of_p(0, rng) == (0.5, 0.5)


def test_posterior_concentrates_at_the_truth(rng):
    replications = 400
    spreads = []
    for n in (50, 500, 2000):
        fitted = [beta(*posterior_of_p(n, rng)) for _ in range(replications)]
        spreads.append(np.mean([f.std() for f in fitted]))
        # a calibrated posterior puts the truth below its median half of the time
        below = np.mean([f.cdf(0.3) for f in fitted])
        assert abs(below - 0.5) < 0.05 + 5 * np.sqrt(1 / 12 / replications)
    assert spreads[0] > spreads[1] > spreads[2]
    assert spreads[2] == pytest.approx(np.sqrt(0.3 * 0.7 / 200), rel=0.1)  # 200 = 0.1 · 2,000


def test_p_and_not_one_minus_p(rng):
    a, b = posterior_of_p(2000, rng)
    assert a / (a + b) < 0.5
