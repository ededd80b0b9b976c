"""Accuracies of the classifier in the population: printed figures, an oracle, and the designs."""

import numpy as np
import pandas as pd
import pytest
from tests.estimate.test_classical_published import (
    HECTARES_2013,
    MAP_2013,
    MAP_2014,
    PIXELS_2014,
)
from tests.seeds import fresh_seed

import trueup as tu
from trueup.estimate.derived import accuracies

NEXT_TO_NOTHING = 1e-6


def little(K):
    return tu.Dirichlet(np.full((K, K), NEXT_TO_NOTHING), np.full(K, K * NEXT_TO_NOTHING))


def told(est, measure):
    """The rows of one measure, by class."""
    return {row["class"]: row for row in est.accuracy() if row["measure"] == measure}


def cells(est):
    K = len(est.classes)
    return np.array([row["mean"] for row in est.error_matrix()]).reshape(K, -1)


def areas(map_counts, size, prior, **options):
    """The published tables have map classes in the rows."""
    return tu.correct_counts(
        map_counts.T, size, design="by_prediction", prior=prior, seed=fresh_seed(), **options
    )


def test_olofsson_2014():
    """Overall 0.947 (printed 0.95 ± 0.02), user's 0.88 ± 0.07, producer's 0.75 ± 0.21 of class 1.

    As quoted by satscout and by an Earth Engine script checked against the paper. Those of all
    classes are by its equations 2 to 8, which mapaccuracy's `olofsson` has in R.
    """
    est = areas(MAP_2014, PIXELS_2014, little(4), draws=40_000)
    overall, user = told(est, "accuracy")[None], told(est, "precision")[0]
    producer = cells(est)[0, 0] / cells(est)[0].sum()  # the paper's is a ratio of two means
    assert overall["mean"] == pytest.approx(0.947, abs=0.0006)
    assert 1.96 * overall["sd"] == pytest.approx(0.02, abs=0.005)
    assert user["mean"] == pytest.approx(0.88, abs=0.001)
    assert 1.96 * user["sd"] == pytest.approx(0.07, abs=0.005)
    assert producer == pytest.approx(0.75, abs=0.005)
    assert 1.96 * told(est, "recall")[0]["sd"] == pytest.approx(0.21, abs=0.025)
    n = MAP_2014.sum(axis=1)  # a variance of Dirichlet(n) has n + 1, the paper's has n − 1
    wider = np.sqrt((n + 1) / (n - 1))
    rows = zip(told(est, "precision").values(), wider, strict=True)
    user = [[row["mean"], 1.96 * row["sd"] * x] for row, x in rows]
    printed = [[0.880, 0.074], [0.733, 0.101], [0.927, 0.040], [0.963, 0.021]]
    np.testing.assert_allclose(user, printed, rtol=0, atol=0.002)
    producer = np.diag(cells(est)) / cells(est).sum(axis=1)
    assert producer == pytest.approx([0.749, 0.847, 0.935, 0.962], abs=0.005)
    half = [1.96 * row["sd"] for row in told(est, "recall").values()]
    assert half[2:] == pytest.approx([0.034, 0.018], abs=0.002)  # those of rare classes are skew


def test_the_prior_moves_published_accuracies_by_less_than_half_of_their_standard_error():
    est = areas(MAP_2014, PIXELS_2014, "perks")
    assert told(est, "precision")[0]["mean"] == pytest.approx(0.88, abs=0.07 / 4)
    assert told(est, "recall")[0]["mean"] == pytest.approx(0.75, abs=0.21 / 4)
    assert told(est, "accuracy")[None]["mean"] == pytest.approx(0.947, abs=0.02 / 4)


def test_olofsson_2013():
    """Table 4 as re-typed in teamlucc: cells, user's .97 .93 .97, producer's .48 .99.

    The third producer's accuracy is printed as .88, but the printed cells give .337/.376 = .896.
    """
    printed = [[0.012, 0, 0.0004], [0.006, 0.595, 0.038], [0.007, 0.003, 0.337]]
    est = areas(MAP_2013, HECTARES_2013, little(3), draws=40_000)
    np.testing.assert_allclose(cells(est).T, printed, rtol=0, atol=0.0006)
    user = [row["mean"] for row in told(est, "precision").values()]
    assert user == pytest.approx([0.97, 0.93, 0.97], abs=0.005)
    theta = cells(est)
    assert np.diag(theta) / theta.sum(axis=1) == pytest.approx([0.48, 0.99, 0.896], abs=0.005)
    assert told(est, "accuracy")[None]["mean"] == pytest.approx(0.94, abs=0.005)


def test_an_oracle_that_allocates_every_unit(rng):
    """Dirichlet columns, then a class for each unit that was not audited; N is small: noise shows.

    A planted bug: audited units not known exactly, or P used with the test set's shares.
    """
    n, v_hat, K, R = np.array([[9, 2], [3, 16]]), np.array([40, 60]), 2, 20_000
    est = tu.correct_counts(n, v_hat, design="by_prediction", draws=R, seed=fresh_seed())
    M = np.empty((R, K, K))
    for h in range(K):
        c = rng.dirichlet(n[:, h] + 1 / K, R)
        rest = v_hat[h] - n[:, h].sum()
        first = (rng.random((R, rest)) < c[:, :1]).sum(axis=1)
        M[:, :, h] = np.stack([first, rest - first], axis=1) + n[:, h]
    oracle = {
        "recall": M[:, 0, 0] / M[:, 0].sum(axis=1),
        "precision": M[:, 0, 0] / v_hat[0],
        "f1": 2 * M[:, 0, 0] / (M[:, 0].sum(axis=1) + v_hat[0]),
        "accuracy": (M[:, 0, 0] + M[:, 1, 1]) / v_hat.sum(),
    }
    for measure, x in oracle.items():
        ours = told(est, measure)[None if measure == "accuracy" else 0]
        error = 5 * np.sqrt(2 / R)
        assert ours["mean"] == pytest.approx(x.mean(), abs=error * x.std())
        assert ours["sd"] == pytest.approx(x.std(), rel=error)
        assert ours["lower"] == pytest.approx(np.quantile(x, 0.025), abs=5 * error * x.std())


@pytest.mark.parametrize("by_prediction", [False, True])
def test_designs(by_prediction):
    """Under `random` they are the raw test set's; under `by_prediction` that one's are wrong."""
    share = np.array([[0.08, 0.04], [0.02, 0.86]])
    n = 100_000 * share
    if by_prediction:  # as many of each predicted class
        n = n * [[5.0, 5 / 9]]
    n = np.round(n).astype(int)
    design = "by_prediction" if by_prediction else "random"
    v_hat = np.round(1e6 * share.sum(axis=0)).astype(int)
    est = tu.correct_counts(n, v_hat, design=design, seed=fresh_seed())
    raw, true = n[0, 0] / n[0].sum(), 0.08 / 0.12
    found = told(est, "recall")[0]
    assert abs(found["mean"] - true) < 5 * found["sd"] / np.sqrt(4000) + 1e-4
    assert (abs(raw - true) > 0.2) == by_prediction


def test_intervals_hold_the_truth_of_a_population_whose_test_set_is_drawn_by_prediction(rng):
    """Coverage of 95% intervals of recall, with binomial bounds; the raw test set's is far off."""
    N, held, replications = 2000, 0, 200
    for _ in range(replications):
        s = rng.random(N) < rng.beta(2, 8)
        s_hat = rng.random(N) < np.where(s, 0.8, 0.1)
        audited = np.concatenate(
            [rng.choice(np.flatnonzero(s_hat == h), 60, replace=False) for h in (False, True)]
        )
        n = np.zeros((2, 2), int)
        np.add.at(n, (s[audited].astype(int), s_hat[audited].astype(int)), 1)
        v_hat = [N - s_hat.sum(), s_hat.sum()]
        est = tu.correct_counts(n, v_hat, design="by_prediction", draws=400, seed=fresh_seed())
        row = told(est, "recall")[1]
        held += row["lower"] <= (s & s_hat).sum() / s.sum() <= row["upper"]
    assert held / replications > 0.95 - 5 * np.sqrt(0.95 * 0.05 / replications)


UNITS = pd.DataFrame({
    "predicted": ["a", "a", "b", "a", "b", "c"] * 40,
    "region": ["n", "s"] * 120,
    "value": np.linspace(1, 9, 240),
    "id": range(240),
})  # fmt: skip
AUDITED = UNITS.assign(true=["a", "b", "b", "a", "b", "c"] * 40).iloc[:60]


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"value": "value"},
        {"by": "region"},
        {"strata": "region", "seconds": 0.01},  # sums hold before chains converge
        {"strata": "region", "pooling": "none", "by": "region"},
        {"design": "by_class"},
        {"design": "by_class", "method": "full"},
        {"design": "shifted", "noise": False},
        {"design": "shifted", "noise": False, "value": "value"},
        {"noise": False},
        {"prior": "uniform"},
    ],
    ids=str,
)
def test_every_draw_adds_up(options, overlap):
    est = tu.correct(UNITS, AUDITED, overlap=overlap, draws=300, seed=1, **options)
    v_hat, M = est.counts.v_hat, est.M
    assert M.sum(axis=1) == pytest.approx(np.tile(v_hat, (300, 1)))
    if "value" not in options and "by" not in options:
        assert M.sum(axis=2) == pytest.approx(est.whole)
    paper = options.get("design") == "shifted"
    if overlap and not paper:
        assert (M - est.counts.n).min() >= -1e-9
    rows = est.accuracy()
    assert len(rows) == 3 * 3 + ("strata" not in options)
    assert all(0 <= row["lower"] <= row["mean"] <= row["upper"] <= 1 for row in rows)


def test_a_class_without_units_has_no_precision():
    est = tu.correct_counts([[5, 1, 0], [1, 9, 0], [1, 0, 0]], [40, 60, 0], seed=1)
    assert told(est, "precision")[2]["mean"] is None
    assert told(est, "recall")[2]["mean"] == 0
    assert told(est, "f1")[2]["mean"] == 0


def test_a_class_that_is_never_predicted():
    """Two predicted labels for three classes, and one of them is not a class."""
    M = np.array([[[6.0, 1], [2, 3], [1, 7]]])
    found = accuracies(M, [0, None, None])
    assert found["recall"] == pytest.approx(np.array([[6 / 7, 0, 0]]))
    assert found["precision"][0, 0] == pytest.approx(6 / 9)
    assert np.isnan(found["precision"][0, 1:]).all()
    assert found["accuracy"] == pytest.approx([6 / 20])


def test_a_method_without_draws_says_what_to_do():
    est = tu.correct_counts([[5, 1], [1, 9]], [40, 60], method="calibrated")
    with pytest.raises(tu.TrueupError, match="need draws of the error rates"):
        est.accuracy()


def test_predicted_labels_that_are_not_classes():
    """An abstention is in no precision, but in every recall; combined classes keep its column."""
    test = [[30, 2, 5, 1], [3, 40, 4, 0], [1, 2, 6, 1]]
    est = tu.correct_counts(
        test, [300, 500, 100, 20], classes=["a", "b", "c"],
        predicted_classes=["a", "b", "unknown", "later"], seed=1,
    )  # fmt: skip
    assert est.M.sum(axis=2) == pytest.approx(est.draws)
    assert len(est.error_matrix()) == 12
    recall = est.M[:, 1, 1] / est.M[:, 1].sum(axis=1)
    assert told(est, "recall")["b"]["mean"] == pytest.approx(recall.mean())
    assert told(est, "precision")["b"]["mean"] == pytest.approx(est.M[:, 1, 1].mean() / 500)
    assert told(est, "precision")["c"]["mean"] is None
    joined = est.combine({"bc": ["b", "c"]})
    assert joined.counts.predicted == ("a", "bc", "unknown", "later")
    assert joined.M.shape[1:] == (2, 4)
    assert joined.draws[:, 1] == pytest.approx(est.draws[:, 1:].sum(axis=1))


def test_the_overall_accuracy_of_many_classes_is_not_pulled_down(rng):
    """15 classes, 30 audited units of each, about 80% right: as the textbook's stratified estimate.

    From the draws of the classes under "perks" it would be 1.3 standard deviations lower.
    """
    K, m = 15, 30
    P = np.full((K, K), 0.2 / (K - 1)) + (0.8 - 0.2 / (K - 1)) * np.eye(K)
    n, size = rng.multinomial(m, P), rng.integers(5_000, 20_000, K)  # map classes in the rows
    right = np.diag(n) / m
    sd = np.sqrt((size**2 * right * (1 - right) / (m - 1)).sum()) / size.sum()
    est = areas(n, size, "perks")
    row = told(est, "accuracy")[None]
    assert row["mean"] == pytest.approx((size * right).sum() / size.sum(), abs=0.2 * sd)
    assert row["sd"] == pytest.approx(sd, rel=0.1)
    assert np.trace(cells(est)) < row["mean"] - 0.8 * sd  # the prior, in all labels


def test_the_overall_accuracy_within_audit_strata_is_not_pulled_down(rng):
    """Few units of 15 classes in each of 4 strata: as the textbook's estimate, stratified by both.

    From the draws of the classes it would be about one standard deviation lower.
    """
    K, J, m = 15, 4, 4
    P = np.full((K, K), 0.3 / (K - 1)) + (0.7 - 0.3 / (K - 1)) * np.eye(K)
    h, j = np.repeat(np.arange(K), J), np.tile(np.arange(J), K)
    size = rng.integers(100, 400, K * J)
    table = pd.DataFrame({"predicted": np.repeat(h, size), "region": np.repeat(j, size)})
    n = rng.multinomial(m, P[h])
    true = np.concatenate([np.repeat(np.arange(K), row) for row in n])
    test = pd.DataFrame({"predicted": np.repeat(h, m), "region": np.repeat(j, m), "true": true})
    right = n[np.arange(K * J), h] / m
    sd = np.sqrt((size**2 * right * (1 - right) / (m - 1)).sum()) / size.sum()
    options = {"drawn_within": "region", "design": "by_prediction"}
    est = tu.correct(table, test, **options, draws=400, seed=fresh_seed())
    row = told(est, "accuracy")[None]
    assert row["mean"] == pytest.approx((size * right).sum() / size.sum(), abs=0.25 * sd)
    assert row["sd"] == pytest.approx(sd, rel=0.25)


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(
    "options",
    [{}, {"value": "y"}, {"score": "p"}, {"value": "y", "drawn_within": "j"},
     {"design": "by_class"}, {"design": "by_class", "value": "y"}, {"design": "shifted"}],
    ids=str,
)  # fmt: skip
def test_invented_errors_of_many_classes_do_not_add_up(options, rng):
    """10 equal classes, 10 audited units of each, 1 of them wrong: 0.9, whatever the options."""
    K, m, N = 10, 10, 6000
    h = np.repeat(np.arange(K), N // K)
    wrong = np.tile(np.arange(N // K) % 10 == 0, K)
    true = np.where(wrong, (h + 1 + np.arange(N) // 10 % (K - 1)) % K, h)
    table = pd.DataFrame({
        "id": np.arange(N), "predicted": h, "true": true, "y": 1 + rng.random(N),
        "p": 0.5 + rng.random(N) / 2, "j": (np.arange(N) + np.arange(N) // 10) % 2,
    })  # fmt: skip
    key, right = "true" if "design" in options else "predicted", table.true == table.predicted
    test = pd.concat([table[right].groupby(key).head(m - 1), table[~right].groupby(key).head(1)])
    est = tu.correct(
        table.drop(columns="true"), test, id="id", draws=400, seed=fresh_seed(), seconds=2,
        **options,
    )  # fmt: skip
    row = told(est, "accuracy")[None]
    sd = np.sqrt(0.9 * 0.1 / (K * m))
    assert row["mean"] == pytest.approx(0.9, abs=0.4 * sd)
    assert row["sd"] == pytest.approx(sd, rel=0.25)


def test_an_overall_accuracy_is_never_certain_without_errors_in_the_test_set():
    """No error among 90 units: the interval must reach about 3/90 below 1 (the rule of three)."""
    est = tu.correct_counts(30 * np.eye(3, dtype=int), [9_000] * 3, seed=fresh_seed())
    assert told(est, "accuracy")[None]["lower"] < 0.98
