"""K true classes × L predicted labels: the change of variables, and `full` without an inverse."""

import numpy as np
import pytest

from trueup.draws.samplers import draw_full


def free(theta):
    """The free coordinates of a table that sums to 1: all cells but the last."""
    return theta.ravel()[:-1]


def jacobian(f, x, step=1e-6):
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.linalg.slogdet(np.stack(columns, axis=1))[1]


@pytest.mark.parametrize(("K", "L"), [(2, 2), (2, 4), (3, 2), (4, 3), (3, 1)])
def test_change_of_variables(K, L, rng):
    """dθ = Π β^(L−1) dP dβ = Π ρ^(K−1) dc dρ, by numerical derivatives."""
    theta = rng.dirichlet(np.full(K * L, 3.0)).reshape(K, L)

    def from_rows(x):
        P = x[: K * (L - 1)].reshape(K, L - 1)
        P = np.c_[P, 1 - P.sum(axis=1)]
        beta = np.r_[x[K * (L - 1) :], 1 - x[K * (L - 1) :].sum()]
        return free(beta[:, None] * P)

    def from_columns(x):
        c = x[: L * (K - 1)].reshape(K - 1, L)
        c = np.r_[c, 1 - c.sum(axis=0)[None]]
        rho = np.r_[x[L * (K - 1) :], 1 - x[L * (K - 1) :].sum()]
        return free(c * rho)

    beta, rho = theta.sum(axis=1), theta.sum(axis=0)
    P, c = theta / beta[:, None], theta / rho
    rows = jacobian(from_rows, np.r_[P[:, :-1].ravel(), beta[:-1]])
    assert rows == pytest.approx((L - 1) * np.log(beta).sum(), abs=1e-6)
    columns = jacobian(from_columns, np.r_[c[:-1].ravel(), rho[:-1]])
    assert columns == pytest.approx((K - 1) * np.log(rho).sum(), abs=1e-6)


@pytest.mark.parametrize(
    "a",
    [
        [[28.2, 8.2, 4.2], [4.2, 24.2, 12.2]],
        [[28.2, 8.2], [4.2, 24.2], [6.2, 6.2]],
    ],
)
def test_rectangles_agree_with_weighted_rows(a, rng):
    """Rows and β from the prior and the test set, weighted by the likelihood of a small v̂."""
    a = np.array(a)
    v_hat, gamma = np.array([14.0, 22.0, 9.0])[: a.shape[1]], np.array([1.5, 2.0, 0.7])[: len(a)]
    size = 300_000
    P = np.stack([rng.dirichlet(row, size) for row in a], axis=1)
    beta = rng.dirichlet(gamma, size)
    log_weight = np.log(np.einsum("rgh,rg->rh", P, beta)) @ v_hat
    weight = np.exp(log_weight - log_weight.max())
    ours = weight.sum() ** 2 / (weight**2).sum()
    draws = draw_full(a, gamma, v_hat, 4000, rng)
    ess = 1 / (1 / min(draws.info["ess"], 4000) + 1 / ours)
    for mine, other in ((draws.beta, beta), (draws.P[:, 0], P[:, 0])):
        mean = np.average(other, axis=0, weights=weight)
        sd = np.sqrt(np.average((other - mean) ** 2, axis=0, weights=weight))
        assert (np.abs(mine.mean(axis=0) - mean) < 5 * sd / np.sqrt(ess)).all()
        assert (np.abs(mine.std(axis=0) - sd) < 5 * sd / np.sqrt(ess)).all()


def test_one_label_leaves_the_prior(rng):
    """L = 1: v̂ says nothing, so β is Dir(γ)."""
    gamma = np.array([2.0, 3.0])
    draws = draw_full(np.array([[30.0], [10.0]]), gamma, np.array([3000.0]), 4000, rng)
    ess = min(draws.info["ess"], 4000)
    assert (draws.P == 1).all()
    assert abs(draws.beta[:, 0].mean() - 0.4) < 5 * np.sqrt(0.4 * 0.6 / 6 / ess)


def test_a_positive_power_of_base_rates(rng):
    """γ above the row sums of α, no test units: columns are moved one after another."""
    a, gamma = np.full((2, 3), 0.4), np.array([4.0, 2.0])
    v_hat = np.array([5.0, 3.0, 2.0])
    draws = draw_full(a, gamma, v_hat, 4000, rng)
    rho = rng.dirichlet(v_hat + 0.8, 400_000)
    c = rng.dirichlet(np.full(2, 0.4), (400_000, 3))[:, :, 0]
    beta = np.clip((c * rho).sum(axis=1), 1e-300, 1)
    weight = beta ** (4 - 1.2) * (1 - beta) ** (2 - 1.2)
    mean = np.average(beta, weights=weight)
    sd = np.sqrt(np.average((beta - mean) ** 2, weights=weight))
    error = sd * np.sqrt(1 / min(draws.info["ess"], 4000) + (weight**2).sum() / weight.sum() ** 2)
    assert abs(draws.beta[:, 0].mean() - mean) < 5 * error
