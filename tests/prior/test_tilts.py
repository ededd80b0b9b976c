"""Densities of priors that are not conjugate, against formulas written another way."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, dirichlet, multivariate_normal, norm
from tests.later import Later

import trueup as tu
from trueup.prior import resolve_prior

jax = Later("jax")


def matrices(K, size, rng):
    """P of all sorts, better than chance or not, none with a rate of nearly 0."""
    P = np.stack(
        [rng.dirichlet(np.full(K, 1.5) + 3.0 * (h == np.arange(K)), size) for h in range(K)]
    )
    return 0.998 * np.swapaxes(P, 0, 1) + 0.002 / K


def log_prior(prior, P, labels=None):
    """The whole log density of a prior, up to a constant: Dirichlet rows and tilt."""
    found = resolve_prior(prior, P.shape[-1], labels)
    rows = ((found.alpha - 1) * np.log(P)).sum((-2, -1))
    return rows + found.tilt(P, np)


def same_up_to_a_constant(one, other, tolerance=1e-8):
    difference = np.asarray(one) - np.asarray(other)
    assert np.ptp(difference) < tolerance * max(1.0, np.ptp(other))


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize(("error", "sd"), [(0.1, 1.0), (0.3, 0.4)])
def test_logistic_normal_is_normal_log_odds(K, error, sd, rng):
    P = matrices(K, 50, rng)
    middle = np.log(error / (K - 1)) - np.log(1 - error)
    expected = []
    for matrix in P:
        total = 0.0
        for g in range(K):
            others = [h for h in range(K) if h != g]
            odds = np.log(matrix[g, others] / matrix[g, g])
            # |d odds / d p| for the free rates p_gh, h ≠ g: diag(1/p) + 1/p_gg
            jacobian = np.diag(1 / matrix[g, others]) + 1 / matrix[g, g]
            total += norm(middle, sd).logpdf(odds).sum() + np.linalg.slogdet(jacobian)[1]
        expected.append(total)
    same_up_to_a_constant(log_prior(tu.prior.logistic_normal(error=error, sd=sd), P), expected)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_hierarchical_is_the_integral_over_mean_and_spread(K, rng):
    """∫∫ Π N(logit p_gg; μ, τ) N(μ) HalfN(τ) dμ dτ, by quadrature over τ."""
    error, sd, between = 0.2, 0.8, 0.6
    P = matrices(K, 12, rng)
    hits = np.diagonal(P, axis1=1, axis2=2)
    P = P[np.log(hits / (1 - hits)).std(axis=1) > 0.1]  # equal recalls have a pole for K = 2
    middle = np.log((1 - error) / error)

    def given_tau(tau, logit):  # logits share μ, so their covariance has sd² everywhere
        covariance = tau**2 * np.eye(K) + sd**2
        return multivariate_normal.pdf(logit, np.full(K, middle), covariance)

    expected = []
    for matrix in P:
        hit = np.diagonal(matrix)
        logit = np.log(hit / (1 - hit))
        integral = quad(
            lambda tau, logit=logit: norm.pdf(tau, 0, between) * given_tau(tau, logit),
            1e-3, 6, limit=200, epsabs=0, epsrel=1e-10,
        )[0]  # fmt: skip
        jacobian = -np.log(hit * (1 - hit)).sum() - (K - 2) * np.log(1 - hit).sum()
        expected.append(np.log(integral) + jacobian)
    found = log_prior(tu.prior.hierarchical(error=error, sd=sd, between=between), P)
    same_up_to_a_constant(found, expected)


def test_robust_is_a_mixture_in_every_row(rng):
    mine, vague = np.array([[8, 2, 1], [1, 9, 3], [0.5, 2, 6]]), np.full((3, 3), 0.5)
    P = matrices(3, 50, rng)
    expected = [
        sum(
            np.log(0.7 * dirichlet(mine[g]).pdf(row) + 0.3 * dirichlet(vague[g]).pdf(row))
            for g, row in enumerate(matrix)
        )
        for matrix in P
    ]
    same_up_to_a_constant(log_prior(tu.prior.robust(tu.Dirichlet(mine), 0.7), P), expected)


def test_robust_knows_the_labels(rng):
    P = matrices(2, 30, rng)
    labels = ["other", "webshop"]
    expert = tu.prior.from_range("webshop", recall=(0.8, 0.95))
    a = expert.for_classes(2, labels).alpha
    expected = [
        sum(
            np.log(0.8 * beta(*a[g]).pdf(row[0]) + 0.2 * beta(0.5, 0.5).pdf(row[0]))
            for g, row in enumerate(matrix)
        )
        for matrix in P
    ]
    same_up_to_a_constant(log_prior(tu.prior.robust(expert), P, labels), expected)


def test_symmetric_compares_the_logs_of_opposite_errors(rng):
    P = matrices(3, 50, rng)
    alpha = np.ones((3, 3)) + 2 * np.eye(3)
    expected = [
        sum(dirichlet(alpha[g]).logpdf(row) for g, row in enumerate(matrix))
        + sum(
            norm.logpdf(np.log(matrix[g, h] / matrix[h, g]), 0, 0.4)
            for g in range(3)
            for h in range(g)
        )
        for matrix in P
    ]
    same_up_to_a_constant(log_prior(tu.prior.symmetric(0.4), P), expected)


def test_truncated_is_the_prior_inside_its_bounds(rng):
    P = np.stack([rng.dirichlet([1, 1, 1], 4000) for _ in range(3)], axis=1)
    lower = [[0, 0, 0.1], [0, 0, 0], [0, 0, 0]]
    prior = tu.prior.truncated("jeffreys", recall=(0.3, 0.9), lower=lower, upper=0.95)
    inside = np.array(
        [
            all(0.3 <= matrix[g, g] <= 0.9 for g in range(3))
            and matrix[0, 2] >= 0.1
            and matrix.max() <= 0.95
            for matrix in P
        ]
    )
    assert 20 < inside.sum() < 3000
    found = log_prior(prior, P)
    assert (np.isfinite(found) == inside).all()
    same_up_to_a_constant(found[inside], -0.5 * np.log(P[inside]).sum((1, 2)))


def test_ordered_rates_fall_away_from_the_diagonal(rng):
    K = 4
    P = np.stack([rng.dirichlet(np.ones(K), 20_000) for _ in range(K)], axis=1)
    P[::2] = np.sort(P[::2], axis=2)[:, :, ::-1]  # many are in order in the first row at least
    far = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))

    def in_order(matrix):
        return all(
            matrix[g, near] >= matrix[g, away]
            for g in range(K)
            for near in range(K)
            for away in range(K)
            if far[g, near] < far[g, away] and (near - g) * (away - g) >= 0
        )

    best = np.array([[4, 3, 2, 1], [2, 4, 3, 1], [1, 2, 4, 3], [1, 2, 3, 4]]) / 10
    worse = best.copy()
    worse[2] = [0.2, 0.1, 0.4, 0.3]  # rises before it falls
    P[:2] = best, worse
    expected = np.array([in_order(matrix) for matrix in P])
    assert expected[0]
    assert not expected[1]
    assert (np.isfinite(log_prior(tu.prior.ordered(), P)) == expected).all()


PRIORS = {
    "logistic_normal": tu.prior.logistic_normal(),
    "hierarchical": tu.prior.hierarchical(),
    "robust": tu.prior.robust(tu.prior.diagonal(3)),
    "symmetric": tu.prior.symmetric(),
    "truncated": tu.prior.truncated(recall=(0.4, 1)),
    "ordered": tu.prior.ordered(),
    "log_density": tu.prior.log_density(lambda P, np: 2 * np.log(P[0, 0]) - 5 * P[1, 0] ** 2),
}


@pytest.mark.parametrize("name", PRIORS)
def test_tilts_are_for_one_matrix_and_for_many(name, rng):
    tilt = resolve_prior(PRIORS[name], 3).tilt
    P = matrices(3, 12, rng)
    one_by_one = np.array([tilt(matrix, np) for matrix in P])
    assert one_by_one.shape == (12,)
    np.testing.assert_allclose(tilt(P, np), one_by_one, rtol=1e-12)
    np.testing.assert_allclose(tilt(P.reshape(3, 4, 3, 3), np), one_by_one.reshape(3, 4))


@pytest.mark.parametrize("name", [name for name in PRIORS if name not in ("truncated", "ordered")])
def test_tilts_are_the_same_for_jax(name, rng):
    prior = resolve_prior(PRIORS[name], 3)
    assert prior.smooth
    P = matrices(3, 6, rng)
    with jax.enable_x64(True):
        value = jax.vmap(jax.value_and_grad(lambda x: prior.tilt(x, jax.numpy)))
        for matrix, found, slope in zip(P, *value(jax.numpy.asarray(P)), strict=True):
            assert float(found) == pytest.approx(float(prior.tilt(matrix, np)), rel=1e-9)
            # a step along a row: the derivative is that of the function
            step = np.zeros((3, 3))
            step[1, 0], step[1, 1] = 1e-6, -1e-6
            moved = prior.tilt(matrix + step, np) - prior.tilt(matrix - step, np)
            assert float((np.asarray(slope) * step).sum()) == pytest.approx(moved / 2, rel=1e-3)


@pytest.mark.parametrize("name", ["truncated", "ordered"])
def test_priors_with_walls_say_so(name):
    assert not resolve_prior(PRIORS[name], 3).smooth


@pytest.mark.parametrize("name", PRIORS)
def test_base_rates_keep_the_gamma_of_the_rest(name):
    assert (resolve_prior(PRIORS[name], 3).gamma > 0).all()
    assert resolve_prior(tu.prior.ordered("uniform"), 3).gamma.tolist() == [1, 1, 1]
