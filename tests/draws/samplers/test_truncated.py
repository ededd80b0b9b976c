"""Truncated Betas against the incomplete beta function."""

from math import comb

import numpy as np
import pytest
from scipy.special import betainc
from tests.seeds import fresh

from trueup.draws.samplers.truncated import _propose, acceptances, below, log_mass_below

CASES = [
    (1.5, 4.5, 0.9),  # nearly everything
    (2.5, 3.5, 0.1),
    (0.5, 0.5, 0.3),
    (0.01, 0.01, 0.5),
    (0.01, 5.0, 1e-6),
    (5.0, 0.01, 0.4),
    (40.0, 60.0, 0.05),  # 1e-21
    (200.0, 300.0, 0.2),  # 1e-24
    (3e4, 7e4, 0.295),
    (0.5, 0.001, 1 - 1e-6),  # no envelope is any good
    (50.0, 1.0, 0.5),
    (1.0, 80.0, 0.002),
]


@pytest.mark.parametrize(("a", "b", "t"), CASES)
def test_distribution(a, b, t):
    n = 20_000
    x, gap = below(a, b, t, n, fresh(11))
    assert x.shape == gap.shape == (n,)
    assert x.min() >= 0
    assert gap.min() >= 0
    np.testing.assert_allclose(x + gap, t, rtol=1e-12)
    u = np.sort(betainc(a, b, x) / betainc(a, b, t))
    # Kolmogorov-Smirnov at the level of five standard errors (6e-7)
    distance = np.abs(u - (np.arange(n) + 0.5) / n).max()
    assert distance < np.sqrt(-np.log(6e-7 / 2) / 2 / n)


@pytest.mark.parametrize(("a", "b", "t"), [c for c in CASES if c[1] < 1000])
def test_acceptance_is_what_was_computed(a, b, t):
    n = 20_000
    for kind, rate in acceptances(a, b, t).items():
        assert -1e-9 <= rate <= 1 + 1e-9
        if rate > 1e-3:
            got = len(_propose(kind, a, b, t, n, fresh(12))[0]) / n
            assert abs(got - rate) <= 5 * np.sqrt(rate * (1 - min(rate, 1)) / n) + 1e-9


def test_some_way_always_works():
    """Where b ≥ 1, one of the envelopes accepts at least a third."""
    for a in (0.01, 0.5, 3.0, 100.0, 1e5):
        for b in (1.0, 2.5, 100.0, 1e5):
            for t in (1e-6, 0.01, 0.3, 0.5, 0.9, 0.999):
                assert max(acceptances(a, b, t).values()) > 0.3, (a, b, t)


def test_log_mass_where_the_mass_underflows():
    # Beta(a, 1) has F(t) = t^a
    assert log_mass_below(5000.0, 1.0, 0.5) == pytest.approx(5000 * np.log(0.5), rel=1e-12)
    # integer b: F(t) = Σ_{j<b} C(a+j−1, j) t^a (1−t)^j
    a, b, t = 3000, 4, 0.6
    exact = a * np.log(t) + np.log(sum(comb(a + j - 1, j) * (1 - t) ** j for j in range(b)))
    assert log_mass_below(float(a), float(b), t) == pytest.approx(exact, rel=1e-12)
