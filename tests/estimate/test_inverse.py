"""The baseline method against the Rogan–Gladen formulas."""

import numpy as np
import pytest

import trueup as tu
from trueup.count.counts import make_counts
from trueup.draws.settings import make_settings
from trueup.estimate.inverse import inverse


def settings(noise, draws):
    return make_settings(
        2, design="shifted", method="inverse", prior="perks", noise=noise, overlap=False,
        draws=draws, interval=0.95, seed=0,
    )  # fmt: skip


def test_rogan_gladen():
    """Sensitivity 0.9, specificity 0.95, 150 of 1,000 positive: (p + sp − 1)/(se + sp − 1)."""
    est = tu.correct_counts([[90, 10], [10, 190]], [150, 850], method="inverse", design="shifted")
    assert est.rows()[0]["estimate"] == pytest.approx(1000 * (0.15 + 0.95 - 1) / (0.9 + 0.95 - 1))


def test_standard_error_is_rogan_and_gladen_s():
    """Their delta method: [p(1−p)/N + se(1−se)π²/n₁ + sp(1−sp)(1−π)²/n₂] / (se + sp − 1)²."""
    se, sp, n1, n2, N = 0.9, 0.95, 100, 200, 1000
    counts = make_counts([[90, 10], [10, 190]], [150, 850])
    answer = inverse(counts, settings(noise=False, draws=200))
    share = (0.15 + sp - 1) / (se + sp - 1)
    rates = se * (1 - se) * share**2 / n1 + sp * (1 - sp) * (1 - share) ** 2 / n2
    assert answer.sd[0] == pytest.approx(N * np.sqrt(rates) / (se + sp - 1))
    with_noise = inverse(counts, settings(noise=True, draws=200))
    # given the true classes, v̂ varies by Theorem 2, which is less than the binomial p(1 − p)/N
    binomial = N**2 * 0.15 * 0.85 / N / (se + sp - 1) ** 2
    assert answer.sd[0] ** 2 < with_noise.sd[0] ** 2 < answer.sd[0] ** 2 + binomial


def test_interval_is_about_two_standard_errors_for_a_large_test_set():
    counts = make_counts([[900, 100], [200, 3800]], [15_000, 85_000])
    answer = inverse(counts, settings(noise=True, draws=20_000))
    width = (answer.upper - answer.lower) / (2 * 1.96 * answer.sd)
    assert width == pytest.approx([1, 1], abs=0.05)


def test_a_class_without_test_units_is_refused():
    with pytest.raises(tu.EstimateError, match="none of \\['b'\\]"):
        tu.correct_counts([[4, 1], [0, 0]], [10, 90], method="inverse", classes=["a", "b"])


def test_a_singular_matrix_is_refused():
    with pytest.raises(tu.EstimateError, match="singular"):
        tu.correct_counts([[2, 2], [3, 3]], [10, 90], method="inverse")


def test_perfect_predictions_change_nothing():
    est = tu.correct_counts(np.diag([5, 6, 7]), [10, 20, 30], method="inverse", noise=False)
    assert [row["estimate"] for row in est.rows()] == pytest.approx([10, 20, 30])
    assert [row["sd"] for row in est.rows()] == pytest.approx([0, 0, 0])
