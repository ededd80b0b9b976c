"""The simulator against exact moments, whatever the design, and units against counts."""

import numpy as np
import pytest

import trueup as tu
from trueup.aggregate.noise import noise_covariance
from trueup.simulation import largest_remainder, lognormal, simulate
from trueup.simulation.draws import _bernoulli, _distinct

P = np.array([[0.85, 0.10, 0.05], [0.20, 0.70, 0.10], [0.02, 0.08, 0.90]])
BETA = np.array([0.2, 0.3, 0.5])
DESIGNS = ["random", "by_prediction", "by_class", "shifted"]


def near(x, exact, extra=0.0):
    """Means of replications (axis 0) within 5 Monte Carlo errors of the exact ones."""
    error = x.std(axis=0) / np.sqrt(len(x))
    assert (np.abs(x.mean(axis=0) - exact) <= 5 * error + extra).all(), (x.mean(axis=0), exact)


def seed(rng):
    return int(rng.integers(2**32))


def expected_cells(design, n, v, test_base_rates):
    if design == "by_prediction":
        theta = v[:, None] / v.sum() * P
        return theta / theta.sum(axis=0) * np.asarray(n)
    if design == "by_class":
        return np.asarray(n)[:, None] * P
    beta = v / v.sum() if design == "random" else test_base_rates
    return n * beta[:, None] * P


@pytest.mark.parametrize("values", [None, 1.0], ids=["counts", "totals"])
@pytest.mark.parametrize("design", DESIGNS)
def test_both_tables_have_the_moments_of_the_model(design, values, rng):
    n = [60, 20, 40] if design in ("by_prediction", "by_class") else 120
    shares = np.array([0.6, 0.3, 0.1])
    study = simulate(
        P, n=n, N=2000, base_rates=BETA, values=values, design=design, replications=1500,
        test_base_rates=shares if design == "shifted" else None, seed=seed(rng),
    )  # fmt: skip
    v = study.v
    assert v.tolist() == [400, 600, 1000]
    near(study.v_hat, v @ P)
    # the columns' hypergeometric means are those of a ratio: exact up to 1/N
    extra = 0.1 if design == "by_prediction" else 0.0
    near(study.n, expected_cells(design, n, v, shares), extra)
    assert (study.n.sum(axis=(1, 2)) == 120).all()
    variance = np.diag(noise_covariance(P, v.astype(float)))  # N² times Theorem 2
    near((study.v_hat - v @ P) ** 2, variance)
    if design != "shifted":
        assert (study.n.sum(axis=1) <= study.v_hat).all()
    if values is None:
        assert study.u_hat is None
        return
    near(study.u_hat, study.u @ P)
    np.testing.assert_allclose(study.u_hat.sum(axis=1), study.u.sum())
    y2 = np.array([(lognormal(values)(np.zeros(k, int)) ** 2).sum() for k in v])
    near(study.w_hat, y2 @ P)
    near((study.u_hat - study.u @ P) ** 2, np.diag(noise_covariance(P, y2)))
    if design == "shifted":
        assert study.t is None
    elif design == "by_class":
        near(study.t, study.u[:, None] / v[:, None] * study.n.mean(axis=0), 0.5)


def test_values_do_not_change_the_counts(rng):
    """Unit by unit and from sufficient statistics: the same covariances of n and v̂."""
    options = {"n": 50, "N": 400, "base_rates": BETA, "replications": 4000}
    moments = []
    for values in (None, 0.5):
        study = simulate(P, **options, values=values, seed=seed(rng))
        x = np.concatenate([study.n.reshape(4000, 9), study.v_hat], axis=1).astype(float)
        x -= x.mean(axis=0)
        products = x[:, :, None] * x[:, None, :]
        moments.append((products.mean(axis=0), products.std(axis=0) / np.sqrt(4000)))
    (one, error_one), (other, error_other) = moments
    assert (np.abs(one - other) <= 5 * np.hypot(error_one, error_other) + 1e-12).all()


@pytest.mark.parametrize("design", ["random", "by_prediction"])
def test_an_audited_population_is_known(design, rng):
    study = simulate(
        P, n=300, N=300, base_rates=BETA, values=1.0, design=design, replications=5, seed=seed(rng)
    )
    assert (study.n.sum(axis=2) == study.v).all()
    np.testing.assert_allclose(study.t.sum(axis=2), np.tile(study.u, (5, 1)))
    np.testing.assert_allclose(study.t.sum(axis=1), study.u_hat)


def test_bernoulli_places_are_a_bernoulli_process(rng):
    places = _bernoulli(0.3, 100_000, rng)
    assert (np.diff(places) > 0).all()
    assert places.min() >= 0
    assert places.max() < 100_000
    assert abs(len(places) - 30_000) < 5 * np.sqrt(100_000 * 0.21)
    together = (np.diff(places) == 1).mean()  # the next one is a success with the same chance
    assert abs(together - 0.3) < 5 * np.sqrt(0.21 / len(places))
    assert len(_bernoulli(0.0, 100, rng)) == 0
    assert _bernoulli(1.0, 100, rng).tolist() == list(range(100))


def test_distinct_numbers_are_distinct_and_every_set_is_as_likely(rng):
    R = 20_000
    rows, picks = _distinct(np.full(R, 5), np.full(R, 2), rng)
    pairs = np.sort(picks.reshape(R, 2), axis=1)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    frequency = np.bincount(pairs[:, 0] * 5 + pairs[:, 1], minlength=25)
    chances = frequency[frequency > 0] / R
    assert len(chances) == 10
    assert (np.abs(chances - 0.1) < 5 * np.sqrt(0.09 / R)).all()
    bound, size = np.array([7, 3, 10]), np.array([7, 0, 4])
    rows, picks = _distinct(bound, size, rng)
    assert np.bincount(rows, minlength=3).tolist() == [7, 0, 4]
    assert sorted(picks[:7]) == list(range(7))


@pytest.mark.parametrize("design", DESIGNS)
def test_billions_of_units_cost_no_more(design, rng):
    N = 5_000_000_000
    study = simulate(
        P, n=100, N=N, base_rates=BETA, design=design, replications=200, seed=seed(rng),
        test_base_rates=BETA if design == "shifted" else None,
    )  # fmt: skip
    assert (study.v_hat.sum(axis=1) == N).all()
    assert (study.n.sum(axis=(1, 2)) == 100).all()
    near(study.n, 100 * BETA[:, None] * P, 0.5)  # by_class and by_prediction round to whole units


def test_fixed_class_counts_of_the_paper():
    assert largest_remainder([0.075, 0.925], 50).tolist() == [4, 46]
    assert largest_remainder([0.075, 0.925], 2000).tolist() == [150, 1850]
    study = simulate(
        np.eye(2), n=50, N=18_939, base_rates=[0.075, 0.925], design="by_class", replications=3,
        seed=1,
    )  # fmt: skip
    assert study.n.tolist() == [[[4, 0], [0, 46]]] * 3


def test_the_same_seed_gives_the_same_replications():
    options = {"n": 50, "N": 1000, "base_rates": BETA, "values": 1.0, "replications": 20}
    one, other = simulate(P, **options, seed=3), simulate(P, **options, seed=3)
    assert (one.u_hat == other.u_hat).all()
    assert (one.n == other.n).all()
    assert (one.n != simulate(P, **options, seed=4).n).any()
    assert simulate(P, **options).seed != simulate(P, **options).seed


def test_a_replication_is_a_bag_of_counts(rng):
    study = simulate(P, n=200, N=5000, base_rates=BETA, values=1.0, replications=2, seed=seed(rng))
    counts = study.counts(1)
    est = tu.correct_counts(
        counts.n, counts.v_hat, counts.u_hat, counts.w_hat, counts.t, counts.t2, seed=1
    )
    assert est.draws.sum(axis=1) == pytest.approx(study.u.sum())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"P": [[0.9, 0.2], [0.1, 0.8]]}, "sum to 1"),
        ({"P": [[0.9, 0.1]]}, "square"),
        ({"base_rates": [-1, 2]}, "base_rates"),
        ({"base_rates": [0.2, 0.3, 0.5]}, "does not fit"),
        ({"N": None}, "needs `N`"),
        ({"N": 10.5}, "`N`"),
        ({"n": 5000}, "at most"),
        ({"n": [10, 10]}, "by_prediction"),
        ({"design": "cluster"}, "design"),
        ({"replications": 0}, "replications"),
        ({"values": [1.0, 2.0]}, "values"),
        ({"classes": ["a"]}, "classes"),
    ],
)
def test_mistakes_are_named(change, words):
    options = {"P": [[0.9, 0.1], [0.2, 0.8]], "N": 1000, "base_rates": [0.3, 0.7], "n": 100}
    options |= {"replications": 2} | change
    with pytest.raises(tu.TrueupError, match=words):
        simulate(options.pop("P"), **options)
