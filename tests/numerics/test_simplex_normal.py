"""Draws on the simplex against quadrature, closed forms and rejection; 5 Monte Carlo errors."""

import numpy as np
import pytest
from scipy import integrate, stats

from trueup.numerics.simplex_normal import (
    draw_simplex_normal,
    draw_truncated_normal,
)
from trueup.numerics.weights import effective_size, resample


def on_plane(K, rng, scale=1.0):
    """A covariance of rank K − 1 whose rows sum to zero."""
    A = rng.normal(size=(K, K)) * scale
    A -= A.mean(axis=0)
    return A @ A.T


def repeat(mean, cov, R):
    return np.broadcast_to(mean, (R, len(mean))).copy(), np.broadcast_to(cov, (R, *cov.shape))


def weighted_mean(x, log_weight):
    """Self-normalised estimate and its standard error, per column of x."""
    w = np.exp(log_weight - log_weight.max())
    w = w / w.sum()
    estimate = w @ x
    return estimate, np.sqrt((w**2) @ (x - estimate) ** 2)


def binary(mean, var):
    return np.array(mean), np.array([[var, -var], [-var, var]])


class TestTruncatedNormal:
    """One class, given those before it."""

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            (-1.0, 0.5),
            (-9.0, 9.0),
            (2.0, 3.0),
            (-3.0, -2.0),
            (4.9, 60.0),
            (30.0, 31.0),
            (-200.0, -100.0),
            (1e4, 1e4 + 1e-5),
            (-1e-9, 1e-9),
            (3.0, 3.0 + 1e-8),
        ],
    )
    def test_mass_is_that_of_the_interval(self, a, b, rng):
        _, log_mass = draw_truncated_normal(np.array([a]), np.array([b]), rng)
        # φ(z) relative to its top on [a, b], integrated: nothing underflows in the oracle.
        top = min(max(a, 0.0), b) if a <= 0 <= b else (a if a > 0 else b)
        end = min(b, top + 40 / (1 + abs(top))) if a > 0 else b
        start = max(a, top - 40 / (1 + abs(top))) if b < 0 else a
        area, _ = integrate.quad(
            lambda z: np.exp(-0.5 * (z - top) * (z + top)),
            start,
            end,
            epsabs=0,
            epsrel=1e-10,
            points=None if start > -5 or end < 5 else [0.0],
        )
        assert log_mass[0] == pytest.approx(
            np.log(area) - 0.5 * top**2 - 0.5 * np.log(2 * np.pi), rel=1e-9, abs=1e-8
        )

    @pytest.mark.parametrize(
        ("a", "b"), [(-1.0, 0.5), (1.0, 9.0), (-7.0, -6.0), (8.0, 8.2), (0.3, 0.3 + 1e-7)]
    )
    def test_draws_follow_the_truncated_normal(self, a, b, rng):
        R = 20_000
        z, _ = draw_truncated_normal(np.full(R, a), np.full(R, b), rng)
        assert ((a <= z) & (z <= b)).all()
        # Probability integral transform on the accurate side; Kolmogorov's bound at 6e-7.
        low, high, x = (-b, -a, -z) if a > 0 else (a, b, z)
        if b - a < 1e-6:
            uniform = (x - low) / (high - low)
        else:
            uniform = (stats.norm.cdf(x) - stats.norm.cdf(low)) / (
                stats.norm.cdf(high) - stats.norm.cdf(low)
            )
        assert stats.kstest(uniform, "uniform").pvalue > 6e-7


class TestBinary:
    """K = 2: everything in closed form."""

    def test_weight_is_the_exact_probability(self, rng):
        mean, cov = binary([-1.0, 5.0], 2.25)
        _, log_weight = draw_simplex_normal(*repeat(mean, cov, 100), 4.0, rng)
        exact = stats.norm.cdf(4.0, -1.0, 1.5) - stats.norm.cdf(0.0, -1.0, 1.5)
        assert log_weight == pytest.approx(np.log(exact), rel=1e-12)

    @pytest.mark.parametrize("first", [-1.0, 0.2, 3.0, 6.0])
    def test_draws_match_scipy_truncnorm(self, first, rng):
        R = 40_000
        mean, cov = binary([first, 4.0 - first], 2.25)
        u, _ = draw_simplex_normal(*repeat(mean, cov, R), 4.0, rng)
        oracle = stats.truncnorm(-first / 1.5, (4.0 - first) / 1.5, first, 1.5)
        assert u[:, 0].mean() == pytest.approx(oracle.mean(), abs=5 * oracle.std() / np.sqrt(R))
        assert stats.kstest(u[:, 0], oracle.cdf).pvalue > 6e-7

    def test_resampling_conditions_the_pair_not_each_mean(self, rng):
        """Two equally likely means: afterwards in proportion to Pr(u ≥ 0), not half and half."""
        R = 40_000
        which = np.arange(R) % 2
        first = np.where(which == 0, -2.0, 2.0)
        mean = np.column_stack([first, 4.0 - first])
        cov = np.broadcast_to(binary([0, 0], 1.0)[1], (R, 2, 2))
        _, log_weight = draw_simplex_normal(mean, cov, 4.0, rng)
        kept = which[resample(log_weight, R, rng).indices]
        odds = [stats.norm.cdf(4 - m) - stats.norm.cdf(-m) for m in (-2.0, 2.0)]
        share = odds[1] / sum(odds)
        # The means alternate: equal steps without shuffling would keep one of them only.
        assert kept.mean() == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / R))

    def test_total_may_differ_by_draw(self, rng):
        total = np.array([1.0, 10.0, 1e9])
        mean = np.column_stack([0.3 * total, 0.7 * total])
        cov = np.array([[1.0, -1.0], [-1.0, 1.0]]) * (total**2)[:, None, None]
        u, _ = draw_simplex_normal(mean, cov, total, rng)
        assert u.sum(axis=1) == pytest.approx(total, rel=1e-15)
        assert (u >= 0).all()


class TestThreeClasses:
    """K = 3: quadrature over the triangle."""

    @pytest.mark.parametrize("mean", [(0.2, 0.5, 2.3), (-0.4, 0.3, 3.1), (1.0, 1.0, 1.0)])
    def test_mass_and_means_match_quadrature(self, mean, rng):
        mean = np.array(mean)
        cov = np.array([[0.5, -0.1, -0.4], [-0.1, 0.3, -0.2], [-0.4, -0.2, 0.6]])
        density = stats.multivariate_normal(mean[:2], cov[:2, :2]).pdf

        def integral(f):
            value, _ = integrate.dblquad(
                lambda y, x: f(x, y) * density((x, y)), 0, 3, 0, lambda x: 3 - x, epsabs=1e-9
            )
            return value

        mass = integral(lambda x, y: 1.0)
        exact = np.array([integral(lambda x, y: x), integral(lambda x, y: y)]) / mass

        R = 40_000
        u, log_weight = draw_simplex_normal(*repeat(mean, cov, R), 3.0, rng)
        weight = np.exp(log_weight)
        assert weight.mean() == pytest.approx(mass, abs=5 * weight.std() / np.sqrt(R))
        estimate, error = weighted_mean(u[:, :2], log_weight)
        assert (np.abs(estimate - exact) < 5 * error).all()


@pytest.mark.parametrize("K", [3, 4, 5])
def test_agrees_with_rejection(K, rng):
    cov = on_plane(K, rng, 0.6)
    mean = rng.dirichlet(np.ones(K)) * K
    root = np.linalg.cholesky(cov[:-1, :-1])
    free = mean[:-1] + rng.normal(size=(400_000, K - 1)) @ root.T
    tried = np.column_stack([free, K - free.sum(axis=1)])
    inside = (tried >= 0).all(axis=1)
    kept = tried[inside]

    R = 40_000
    u, log_weight = draw_simplex_normal(*repeat(mean, cov, R), float(K), rng)
    weight = np.exp(log_weight)
    error = np.hypot(weight.std() / np.sqrt(R), inside.std() / np.sqrt(len(inside)))
    assert weight.mean() == pytest.approx(inside.mean(), abs=5 * error)
    for power in (1, 2):
        estimate, ours = weighted_mean(u**power, log_weight)
        theirs = (kept**power).std(axis=0) / np.sqrt(len(kept))
        assert (np.abs(estimate - (kept**power).mean(axis=0)) < 5 * np.hypot(ours, theirs)).all()


class TestEdges:
    """No variance, no mass, no total."""

    def test_no_variance_inside_gives_the_mean(self, rng):
        mean = np.array([[1.0, 0.0, 2.0], [0.5, 0.5, 2.0]])
        u, log_weight = draw_simplex_normal(mean, np.zeros((2, 3, 3)), 3.0, rng)
        np.testing.assert_allclose(u, mean, atol=1e-15)
        assert (log_weight == 0).all()

    def test_no_variance_outside_has_no_weight(self, rng):
        mean = np.array([[-1.0, 1.0, 3.0], [1.0, 1.0, 1.0], [4.0, -1.0, 0.0]])
        u, log_weight = draw_simplex_normal(mean, np.zeros((3, 3, 3)), 3.0, rng)
        assert log_weight.tolist() == [-np.inf, 0.0, -np.inf]
        assert (u >= 0).all()
        assert u.sum(axis=1) == pytest.approx(3.0)

    def test_one_class_without_variance_leaves_the_others_free(self, rng):
        R = 40_000
        cov = np.zeros((3, 3))
        cov[np.ix_([0, 2], [0, 2])] = [[1.0, -1.0], [-1.0, 1.0]]
        mean = np.array([0.5, 1.0, 2.5])
        u, log_weight = draw_simplex_normal(*repeat(mean, cov, R), 4.0, rng)
        oracle = stats.truncnorm(-0.5, 2.5, 0.5, 1.0)
        assert u[:, 1] == pytest.approx(1.0)
        assert log_weight == pytest.approx(np.log(stats.norm.cdf(2.5) - stats.norm.cdf(-0.5)))
        assert u[:, 0].mean() == pytest.approx(oracle.mean(), abs=5 * oracle.std() / np.sqrt(R))

    def test_far_outside_is_finite_and_permissible(self, rng):
        R = 500
        mean = np.array([-1e4, -50.0, 1e4 + 53.0])
        cov = np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]])
        u, log_weight = draw_simplex_normal(*repeat(mean, cov, R), 3.0, rng)
        assert np.isfinite(log_weight).all()
        assert np.isfinite(u).all()
        assert (u >= 0).all()
        assert u.sum(axis=1) == pytest.approx(3.0)

    def test_nothing_to_share_out(self, rng):
        u, log_weight = draw_simplex_normal(np.zeros((4, 3)), np.zeros((4, 3, 3)), 0.0, rng)
        assert (u == 0).all()
        assert (log_weight == 0).all()

    def test_one_class_takes_everything(self, rng):
        u, log_weight = draw_simplex_normal(np.full((4, 1), 7.0), np.zeros((4, 1, 1)), 7.0, rng)
        assert (u == 7).all()
        assert (log_weight == 0).all()

    @pytest.mark.parametrize("K", [2, 5, 15])
    def test_always_permissible(self, K, rng):
        R = 200
        cov = np.stack([on_plane(K, rng, 10.0 ** rng.uniform(-6, 6)) for _ in range(R)])
        mean = rng.normal(size=(R, K)) * 10
        mean += (100.0 - mean.sum(axis=1, keepdims=True)) / K
        u, log_weight = draw_simplex_normal(mean, cov, 100.0, rng)
        assert not np.isnan(log_weight).any()
        assert (u >= 0).all()
        assert u.sum(axis=1) == pytest.approx(100.0, rel=1e-13)

    def test_scaling_scales_and_relabelling_permutes_the_mass(self, rng):
        cov = on_plane(3, rng)
        mean = np.array([0.1, 0.7, 2.2])
        R = 2_000
        u, w = draw_simplex_normal(*repeat(mean, cov, R), 3.0, np.random.default_rng(1))
        u8, w8 = draw_simplex_normal(
            *repeat(mean * 1e8, cov * 1e16, R), 3e8, np.random.default_rng(1)
        )
        np.testing.assert_allclose(u8, u * 1e8, rtol=1e-9)
        np.testing.assert_allclose(w8, w, rtol=1e-9, atol=1e-9)
        order = [2, 0, 1]
        us, ws = draw_simplex_normal(
            *repeat(mean[order], cov[np.ix_(order, order)], R), 3.0, np.random.default_rng(1)
        )
        np.testing.assert_allclose(us, u[:, order], rtol=1e-9)
        np.testing.assert_allclose(ws, w, rtol=1e-9)


class TestResample:
    """Systematic resampling and its effective size."""

    def test_each_draw_is_kept_in_proportion(self, rng):
        weight = rng.gamma(0.5, size=300)
        kept = np.bincount(resample(np.log(weight), 1000, rng).indices, minlength=300)
        expected = 1000 * weight / weight.sum()
        assert (kept >= np.floor(expected - 1e-9)).all()
        assert (kept <= np.ceil(expected + 1e-9)).all()

    def test_draws_without_weight_are_never_kept(self, rng):
        log_weight = np.array([-np.inf, -2000.0, -np.inf, -2000.0, -np.inf])
        indices = resample(log_weight, 101, rng).indices
        assert set(indices.tolist()) == {1, 3}

    def test_equal_weights_keep_every_draw_once(self, rng):
        indices, ess = resample(np.full(50, -7.0), 50, rng)
        assert sorted(indices.tolist()) == list(range(50))
        assert ess == pytest.approx(50)

    def test_effective_size(self):
        assert effective_size(np.log([1.0, 1.0, 1.0, 1.0])) == pytest.approx(4)
        assert effective_size(np.array([0.0, -np.inf])) == pytest.approx(1)
        assert effective_size(np.array([-np.inf, -np.inf])) == 0
