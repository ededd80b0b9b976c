"""`joint`: the exact posterior of counts when the test set was drawn from the population."""

import numpy as np
import pytest
from scipy.stats import betabinom

import trueup as tu

TEST = np.array([[4, 2], [3, 31]])
V_HAT = np.array([60, 340])


def exact_pmf(a, known, left):
    """v_0 = audited + BetaBinomial + BetaBinomial: how many of each predicted class are class 0."""
    pmf = np.array([1.0])
    for h in (0, 1):
        units = np.arange(left[h] + 1)
        pmf = np.convolve(pmf, betabinom(left[h], a[0, h], a[1, h]).pmf(units))
    return np.concatenate([np.zeros(known), pmf])


def agrees(draws, pmf):
    """Compare the distribution function at every tenth of it, within 5 Monte Carlo errors."""
    cdf = pmf.cumsum()
    for level in np.arange(0.1, 0.95, 0.1):
        x = int((cdf >= level).argmax())
        share = (draws <= x).mean()
        error = np.sqrt(cdf[x] * (1 - cdf[x]) / len(draws))
        if abs(share - cdf[x]) >= 5 * error:
            return False
    return True


@pytest.mark.parametrize("overlap", [True, False])
def test_counts_are_exact(overlap):
    est = tu.correct_counts(TEST, V_HAT, overlap=overlap, draws=40_000)
    known, left = (6, V_HAT - TEST.sum(axis=0)) if overlap else (0, V_HAT)
    assert agrees(est.draws[:, 0], exact_pmf(TEST + 0.5, known, left))
    # planted bugs: the prior's half forgotten, or the test matrix transposed
    assert not agrees(est.draws[:, 0], exact_pmf(TEST + 1.5, known, left))
    assert not agrees(est.draws[:, 0], exact_pmf(TEST.T + 0.5, known, left))


def test_counts_are_whole_permissible_and_add_up():
    est = tu.correct_counts(TEST, V_HAT)
    assert (est.draws == np.floor(est.draws)).all()
    assert (est.draws >= TEST.sum(axis=1)).all()  # audited units are known
    assert (est.draws.sum(axis=1) == V_HAT.sum()).all()


def test_uniform_prior_is_reweighted():
    """With the paper's uniform prior, gamma = 1 ≠ Σα: density Π c^n · Π β^(1−K), by quadrature."""
    est = tu.correct_counts(TEST, V_HAT, prior="uniform", noise=False, overlap=False, draws=40_000)
    rho = V_HAT / V_HAT.sum()
    x = (np.arange(800) + 0.5) / 800
    c0, c1 = np.meshgrid(x, x, indexing="ij")  # Pr(s=0 | ŝ=0), Pr(s=0 | ŝ=1)
    beta = c0 * rho[0] + c1 * rho[1]
    log_density = (
        TEST[0, 0] * np.log(c0)
        + TEST[1, 0] * np.log1p(-c0)
        + TEST[0, 1] * np.log(c1)
        + TEST[1, 1] * np.log1p(-c1)
    )
    flat = np.exp(log_density - log_density.max())
    weighted = flat / (beta * (1 - beta))
    exact = (weighted * beta).sum() / weighted.sum() * V_HAT.sum()
    ignored = (flat * beta).sum() / flat.sum() * V_HAT.sum()
    mean, error = est.draws[:, 0].mean(), est.draws[:, 0].std() / np.sqrt(est.info["ess"])
    assert abs(mean - exact) < 5 * error
    assert abs(mean - ignored) > 5 * error  # leaving the exponent out is caught


def test_a_value_of_one_gives_the_counts():
    whole = {"test": TEST, "predicted_counts": V_HAT, "seed": 4, "draws": 2000}
    counts = tu.correct_counts(**whole)
    totals = tu.correct_counts(
        **whole,
        predicted_sums=V_HAT,
        predicted_squares=V_HAT,
        test_sums=TEST,
        test_squares=TEST,
    )
    for one, other in zip(counts.rows(), totals.rows(), strict=True):
        assert one["estimate"] == pytest.approx(other["estimate"], abs=8)
        assert one["upper"] - one["lower"] == pytest.approx(
            other["upper"] - other["lower"], rel=0.1
        )


def test_everything_audited_leaves_nothing_to_estimate():
    est = tu.correct_counts(TEST, TEST.sum(axis=0), draws=200)
    assert (est.draws == TEST.sum(axis=1)).all()


def test_a_class_that_is_never_predicted_has_an_answer():
    est = tu.correct_counts([[9, 1, 0], [1, 8, 0], [2, 2, 0]], [500, 500, 0], draws=500)
    assert est.draws[:, 2].mean() > 50
    assert np.isfinite(est.P).all()
