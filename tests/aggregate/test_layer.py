"""Error rates that differ between groups: what they have in common, and how cells follow."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import trueup as tu
from trueup.aggregate.groups.common import draw_common, find_mode
from trueup.aggregate.groups.layer import (
    Layer,
    _Seen,
    by_label,
    draw_layer,
    effective,
    within_label,
)


def log_posterior(eta, log_m, n, sigma):
    x = log_m + eta[:, None]
    x = x - np.log(np.exp(x).sum(axis=0))
    return (n * x).sum() - (eta**2).sum() / (2 * sigma**2)


@pytest.mark.parametrize("K", [2, 5])
def test_the_mode_is_the_one_that_an_optimiser_finds(rng, K):
    log_m = np.log(rng.dirichlet(np.ones(K), (6, K)).swapaxes(1, 2))
    n = rng.poisson(4.0, (6, K, K)).astype(float)
    sigma = rng.uniform(0.2, 2.0, 6)
    mode, precision, log_det = find_mode(log_m, n, sigma)
    assert log_det == pytest.approx(np.linalg.slogdet(precision)[1])
    for i in range(6):
        best = minimize(
            lambda x, i=i: -log_posterior(x, log_m[i], n[i], sigma[i]), np.zeros(K), tol=1e-9
        )
        np.testing.assert_allclose(mode[i], best.x, atol=1e-3)
        step, here = 1e-3, log_posterior(mode[i], log_m[i], n[i], sigma[i])
        for g in range(K):
            e = step * np.eye(K)[g]
            up, down = (log_posterior(mode[i] + s * e, log_m[i], n[i], sigma[i]) for s in (1, -1))
            assert precision[i, g, g] == pytest.approx((2 * here - up - down) / step**2, rel=1e-2)


def test_draws_of_the_common_part_agree_with_a_grid(rng):
    """Two classes, one column: η₁ − η₀ is normal a priori, with variance 2σ²."""
    log_m, n, sigma = np.log([[0.7], [0.3]]), np.array([[12.0], [18.0]]), 0.8
    size = 40_000
    eta = draw_common(
        np.broadcast_to(log_m, (size, 2, 1)), np.broadcast_to(n, (size, 2, 1)),
        np.full(size, sigma), rng,
    )  # fmt: skip
    x = np.linspace(-4, 6, 4001)
    p = 1 / (1 + np.exp(np.log(7 / 3) - x))
    log_p = 18 * np.log(p) + 12 * np.log1p(-p) - x**2 / (4 * sigma**2)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    mean = (weight * x).sum()
    sd = np.sqrt((weight * (x - mean) ** 2).sum())
    found = eta[:, 1] - eta[:, 0]
    assert found.mean() == pytest.approx(mean, abs=0.1 * sd)  # the normal is no exact one
    assert found.std() == pytest.approx(sd, rel=0.05)


def test_units_of_one_column_tell_less_of_its_mean_than_as_many_columns():
    """n units of a column with κ have the variance of a share times 1 + (n − 1)/(κ + 1)."""
    kappa, n = np.array([[2.0], [50.0], [1e6]]), np.array([0.0, 1.0, 2.0, 30.0])
    np.testing.assert_allclose(effective(kappa, n)[:, 1:], 1 / (1 + (n[1:] - 1) / (kappa + 1)))
    assert (effective(kappa, n)[:, 0] == 1).all()


def test_audited_units_have_the_likelihood_of_an_urn(rng):
    """Unit by unit: one more of class g has probability (κ m_g + seen_g)/(κ + seen)."""
    S, B, K, H = 3, 4, 3, 2
    mean = rng.dirichlet(np.ones(K), (S, B, H)).swapaxes(2, 3)
    kappa = rng.uniform(1.0, 30.0, (S, H))
    n = rng.poisson(2.0, (B, K, H))
    n[1] = 0
    log_p = np.zeros((S, B))
    for s, b, h in np.ndindex(S, B, H):
        seen = np.zeros(K)
        for g in np.repeat(np.arange(K), n[b, :, h]):
            own = kappa[s, h] * mean[s, b, g, h]
            log_p[s, b] += np.log((own + seen[g]) / (kappa[s, h] + seen.sum()))
            seen[g] += 1
    expected = np.log(np.exp(log_p).mean(axis=0))  # each group's mean over draws
    assert _Seen(n).fit(mean, kappa[None], np.zeros(1))[0] == pytest.approx(expected)


def test_cells_follow_the_column_of_their_label(rng):
    """With many audited units a group's column is theirs, whatever its cells are."""
    K, b, B = 3, 4, 5
    c = rng.dirichlet(3 * np.ones(K), (2, K * b)).swapaxes(1, 2)
    v = rng.integers(0, 50, (K * b, B)) + 1
    audited = rng.dirichlet(5 * np.ones(K), (B, K)).swapaxes(1, 2)
    layer = Layer(np.ones(2), np.full((2, K), 10.0), np.zeros(2))
    columns = draw_layer(layer, c, np.ones((K, 2, B)), 1e7 * audited, v, rng)
    np.testing.assert_allclose(columns.sum(axis=0), 1.0)
    share = within_label(v.T.astype(float), K)
    for r in range(2):
        found = by_label(columns[:, r].transpose(2, 0, 1) * share[:, None], K)
        np.testing.assert_allclose(found, audited, atol=0.03)


def two_kinds(rng, apart, B=12, N=12_000):
    """Groups whose units are truly of class 1 more often, whatever the prediction, if apart > 0."""
    group = rng.integers(0, B, N)
    shift = apart * rng.standard_normal(B)
    predicted = rng.integers(0, 2, N)
    s = rng.random(N) < 1 / (1 + np.exp(-(3.0 * predicted - 1.5 + shift[group])))
    units = pd.DataFrame({"id": np.arange(N), "predicted": predicted, "group": group})
    test = units.assign(true=s.astype(int)).iloc[rng.choice(N, 1200, replace=False)]
    return units, test, np.bincount(group, s)


def test_groups_that_differ_whatever_the_prediction_are_recognised(rng):
    """Predictions say nothing of such groups: λ = 0 and σ > 0, and their own units must tell."""
    for apart in (0.0, 1.5):
        units, test, truth = two_kinds(rng, apart)
        est = tu.correct(units, test, by="group", id="id", draws=400)
        assert (est.info["group_rates"]["common"] > 0.3) == (apart > 0)
        figures = est.groups.figures
        z = (figures["mean"][:, 1] - truth) / figures["sd"][:, 1]
        assert (z**2).mean() < 3.5  # a χ² of 12: 3.5 × 12 has a probability below 1e-4
        assert np.sqrt(((figures["mean"][:, 1] - truth) ** 2).mean()) < 60  # of 1,000 units


def test_values_say_which_units_of_a_group_are_wrong(rng):
    """Units predicted 1 are truly 1 if they are small; the group of large ones has hardly any.

    Without bands in groups, half of the value predicted 1 would be class 1 in both: in 'large' some
    eight times too much.
    """
    N = 8_000
    group = rng.integers(0, 2, N)
    large = rng.random(N) < np.where(group == 1, 0.9, 0.1)
    predicted = rng.integers(0, 2, N)
    s = predicted * (rng.random(N) > np.where(large, 0.95, 0.05))
    y = np.where(large, 50.0, 2.0) * rng.lognormal(0, 0.3, N)
    units = pd.DataFrame({"predicted": predicted, "y": y})
    test = units.assign(true=s).iloc[rng.choice(N, 800, replace=False)]
    units["g"] = np.array(["small", "large"])[group]
    with pytest.warns(tu.TrueupWarning, match="no column"):
        est = tu.correct(units, test, by="g", value="y", draws=400)
    truth = np.array([y[(group == k) & (s == 1)].sum() for k in (1, 0)])
    figures = est.groups.figures
    assert [label for (label,) in est.groups.labels] == ["large", "small"]
    sd = figures["sd"][:, 1]
    assert (np.abs(figures["mean"][:, 1] - truth) < 5 * sd).all()
    assert (sd < 0.5 * truth).all()
