"""What audited values say of the mean of each cell: against brute force, and in coverage."""

import numpy as np
import pytest

import trueup as tu
from trueup.aggregate import means
from trueup.aggregate.means import Audited, _variances, learn_means
from trueup.aggregate.values import totals_given_allocation

M = np.array([[300, 20, 10], [25, 400, 15], [5, 10, 60]])
U_HAT, W_HAT = np.array([3500.0, 4100.0, 900.0]), np.array([45e3, 60e3, 15e3])
N = M.sum()
Y_BAR = U_HAT.sum() / N
MEANS = np.array([[9.0, 14.0, 6.0], [12.0, 8.0, 15.0], [16.0, 11.0, 13.0]])

OMEGA, TAU2 = 0.3, np.array([0.02, 0.05, 0.03])


def audited(n):
    n = np.array(n)
    return Audited(n, n * MEANS, n * (MEANS**2 + 30.0))


def hold(monkeypatch):
    """Hold ω, as a part of the class's values, and τ² of each class at one value."""
    monkeypatch.setattr(means, "GRID", np.array([OMEGA]))
    monkeypatch.setattr(means, "_tau", lambda *given: np.broadcast_to(TAU2, (given[5], 3)))


def learned(seen, rng, size=1, signed=True):
    tau2 = W_HAT.sum() / N - Y_BAR**2
    return learn_means(seen, M.astype(float), W_HAT, Y_BAR, tau2, signed, size, rng)


def sizes(seen):
    """What ω is a part of: the size of each class's audited values, by the definition."""
    found = []
    for n, t in zip(seen.n, seen.t, strict=True):
        mean = t.sum() / n.sum() if n.sum() else Y_BAR
        typical = np.sqrt(((t + 2 * mean) / (n + 2)) ** 2 + W_HAT.sum() / N)
        found.append(np.average(typical, weights=n) if n.sum() else typical[0])
    return np.array(found)


@pytest.mark.parametrize(
    "n",
    [
        [[20, 3, 1], [4, 30, 2], [1, 2, 9]],
        [[20, 3, 0], [4, 30, 2], [0, 2, 9]],
        [[20, 3, 1], [4, 30, 2], [0, 0, 0]],
    ],
    ids=["every cell", "some cells", "no unit of a class"],
)
def test_signed_draws_have_the_mean_and_variance_of_the_model(n, rng, monkeypatch):
    """Against the joint normal of cell totals, audited means and û, conditioned by brute force."""
    hold(monkeypatch)
    # a power of two: the product's own unit of values, in which it holds τ²
    unit = 2.0 ** np.round(np.log2(W_HAT.sum() / N) / 2)
    seen, R = audited(n), 60_000
    u, _ = totals_given_allocation(
        np.broadcast_to(M, (R, 3, 3)), U_HAT, W_HAT, rng, signed=True, audited=seen
    )
    sigma2 = learned(seen, rng).sigma2
    tau2, omega2 = TAU2 * unit**2, (OMEGA * sizes(seen)) ** 2
    cells = [(g, h) for g in range(3) for h in range(3)]
    told = [cell for cell in cells if seen.n[cell]]
    # rows: the 9 totals, then the means of the audited cells; columns: what is random
    # (μ of 3 classes, ε of 9 cells, 9 sums of the units' own parts, the audited units' own parts)
    to_class = np.array([[cell[0] == g for g in range(3)] for cell in cells], float)
    in_told = np.array([[cell == one for cell in cells] for one in told], float)
    size = np.array([M[cell] for cell in cells], float)
    model = np.block(
        [
            [size[:, None] * to_class, np.diag(size), np.eye(9), np.zeros((9, len(told)))],
            [in_told @ to_class, in_told, np.zeros((len(told), 9)), np.eye(len(told))],
        ]
    )
    spreads = np.r_[
        tau2,
        to_class @ omega2,
        [sigma2[cell] * M[cell] for cell in cells],
        [sigma2[cell] / seen.n[cell] for cell in told],
    ]
    cov = model @ np.diag(spreads) @ model.T
    centre = np.r_[size * Y_BAR, np.full(len(told), Y_BAR)]
    to_u = np.c_[to_class.T, np.zeros((3, len(told)))]
    to_known = np.eye(9 + len(told))[9:]
    to_u_hat = np.array([[cell[1] == h for cell in cells] for h in range(3)], float)
    given = np.r_[np.c_[to_u_hat, np.zeros((3, len(told)))], to_known]
    values = np.r_[U_HAT, [MEANS[cell] for cell in told]]
    gain = to_u @ cov @ given.T @ np.linalg.inv(given @ cov @ given.T)
    mean = to_u @ centre + gain @ (values - given @ centre)
    expected = to_u @ cov @ to_u.T - gain @ given @ cov @ to_u.T
    spread = np.sqrt(np.diag(expected))
    assert (np.abs(u.mean(axis=0) - mean) < 5 * spread / np.sqrt(R)).all()
    # the error of a covariance of normals is √(σ²σ'² + cov²) / √R
    error = np.sqrt((np.outer(spread, spread) ** 2 + expected**2) / R)
    assert (np.abs(np.cov(u.T) - expected) < 5 * error).all()


@pytest.mark.parametrize("signed", [False, True])
def test_relabelling_permutes_the_means(signed, rng, monkeypatch):
    monkeypatch.setattr(means, "GRID", np.array([OMEGA]))
    monkeypatch.setattr(means, "_tau", lambda *given: np.full((given[5], 3), 4.0))
    seen, order = audited([[20, 3, 0], [4, 30, 2], [1, 2, 9]]), np.array([2, 0, 1])
    both = np.ix_(order, order)
    moved = Audited(seen.n[both], seen.t[both], seen.t2[both])
    a = learned(seen, rng, signed=signed)
    b = learn_means(moved, M[both].astype(float), W_HAT[order], Y_BAR, 1.0, signed, size=1, rng=rng)
    for name in ("known", "slope", "own"):
        assert getattr(b, name)[0] == pytest.approx(_square(getattr(a, name)[0])[both])
    for name in ("m", "V"):
        assert getattr(b, name)[0] == pytest.approx(getattr(a, name)[0][order])
    assert b.sigma2 == pytest.approx(a.sigma2[both])


def _square(x):
    return np.broadcast_to(x, (3, 3))


def test_relabelling_permutes_the_totals(rng):
    """With ω and τ learned: the same distribution, up to 5 Monte Carlo errors."""
    seen, order, R = audited([[20, 3, 0], [4, 30, 2], [1, 2, 9]]), np.array([2, 0, 1]), 20_000
    both = np.ix_(order, order)
    moved = Audited(seen.n[both], seen.t[both], seen.t2[both])
    a, _ = totals_given_allocation(np.broadcast_to(M, (R, 3, 3)), U_HAT, W_HAT, rng, True, seen)
    b, _ = totals_given_allocation(
        np.broadcast_to(M[both], (R, 3, 3)), U_HAT[order], W_HAT[order], rng, True, moved
    )
    error = np.sqrt((a.var(axis=0)[order] + b.var(axis=0)) / R)
    assert (np.abs(a.mean(axis=0)[order] - b.mean(axis=0)) < 5 * error).all()


# The example of the issue: 200 units of mean 100 among 39,800 of mean 1, lognormal with σ = 1.
TEST = np.array([[36, 4], [80, 7880]])
TRUE = np.array([[180, 20], [398, 39402]])
SIZE = np.array([[100.0], [1.0]])


def issue(scale=1.0, **changes):
    numbers = {
        "test": TEST,
        "predicted_counts": TRUE.sum(axis=0),
        "predicted_sums": scale * (TRUE * SIZE).sum(axis=0),
        "predicted_squares": scale**2 * np.e * (TRUE * SIZE**2).sum(axis=0),
        "test_sums": scale * TEST * SIZE,
        "test_squares": scale**2 * np.e * TEST * SIZE**2,
    }
    return tu.correct_counts(**(numbers | changes))


@pytest.mark.parametrize("overlap", [True, False])
def test_rare_units_a_hundred_times_as_large_are_covered(overlap):
    numbers = issue(overlap=overlap, seed=1).rows()[0]
    assert numbers["lower"] < 20_000 < numbers["upper"]


# n, the second class's share, the error rate, how large misclassified units are, σ of log y. In
# heavy tails the audited mean and variance of few units are too small together.
DEPENDENCE = {
    "misclassified units three times as large": (2000, 0.8, 0.1, 3.0, 1.0),
    "heavy tails": (200, 0.9, 0.2, 1.0, 2.0),
}


@pytest.mark.parametrize("case", DEPENDENCE)
def test_audited_means_are_believed_as_far_as_they_can_tell(case, rng):
    n, share, error_rate, larger, sigma = DEPENDENCE[case]
    replications, inside = 150, np.zeros(2)
    for _ in range(replications):
        s = (rng.random(20_000) < share).astype(int)
        wrong = rng.random(20_000) < error_rate
        s_hat = np.where(wrong, 1 - s, s)
        y = rng.lognormal(0.0, sigma, 20_000) * np.where(wrong, larger, 1.0) * (1 + s)
        i = rng.choice(20_000, n, replace=False)
        table = [
            np.bincount(2 * s[i] + s_hat[i], y[i] ** k, minlength=4).reshape(2, 2) for k in range(3)
        ]
        population = [np.bincount(s_hat, y**k, minlength=2) for k in range(3)]
        est = tu.correct_counts(
            table[0].astype(int),
            population[0].astype(int),
            *population[1:],
            *table[1:],
            draws=500,
            seed=int(rng.integers(2**31)),
        )
        truth = np.bincount(s, y)
        inside += [
            row["lower"] <= u <= row["upper"] for row, u in zip(est.rows(), truth, strict=True)
        ]
    error = np.sqrt(0.95 * 0.05 / replications)
    assert (inside / replications > 0.95 - 5 * error).all()


def test_values_of_one_give_exactly_the_counts():
    counts = tu.correct_counts(TEST, TRUE.sum(axis=0), seed=1)
    ones = TRUE.sum(axis=0)
    totals = tu.correct_counts(TEST, ones, ones, ones, TEST, TEST, seed=1)
    assert np.array_equal(totals.draws, counts.draws)


@pytest.mark.parametrize("scale", [2.0**-40, 8.0, 2.0**60])
def test_a_power_of_two_scales_the_draws_exactly(scale):
    assert np.array_equal(issue(scale, seed=1).draws, scale * issue(seed=1).draws)


def test_a_shifted_test_set_says_nothing_of_the_means():
    nothing = {"test_sums": None, "test_squares": None}
    larger = {"test_sums": 3 * TEST * SIZE, "test_squares": 9 * np.e * TEST * SIZE**2}
    shifted = [issue(design="shifted", seed=1, **x).draws for x in ({}, nothing, larger)]
    assert np.array_equal(shifted[0], shifted[1])
    assert np.array_equal(shifted[0], shifted[2])
    one, other = (issue(overlap=False, seed=1, **x).draws for x in ({}, larger))
    assert not np.array_equal(one, other)


def test_missing_squares_do_not_depend_on_how_many_wrong_classes_there_are():
    """The planted bug: each cell's own square, by which 14 wrong classes covered 87%."""

    def right(K):
        M = np.zeros((K, K))
        M[:, 0], M[0, 0] = 400 / (K - 1), 600.0
        unseen = Audited(np.zeros((K, K), dtype=np.int64), np.zeros((K, K)), None)
        return _variances(unseen, np.ones((K, K)), M, np.r_[5000.0, np.zeros(K - 1)], 1.0)[0, 0]

    assert right(15) == pytest.approx(right(2))
