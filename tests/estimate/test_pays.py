"""The warning that correcting may be worse than not correcting, against `compare`'s simulation."""

import numpy as np
import pytest
from tests.seeds import fresh_seed

import trueup as tu
from trueup.estimate.doubts.pays import correction_warning, unproven

WORDS = "cannot be shown to beat no correction"


@pytest.mark.parametrize(("off", "warns"), [(0.005, True), (0.12, False)])
def test_the_verdict_is_that_of_compare(off, warns):
    """A test set as expected; `off` is the net share that moves from one class to the other."""
    theta = np.array([[0.25, 0.03], [0.03 + off, 0.69 - off]])
    n = np.round(400 * theta).astype(int)
    v_hat = np.round(100_000 * theta.sum(axis=0)).astype(int)
    est = tu.correct_counts(n, v_hat, seed=fresh_seed())
    assert any(WORDS in text for text in est.info["warnings"]) == warns
    beta = theta.sum(axis=1)
    found = tu.compare(
        P=theta / beta[:, None], base_rates=beta, N=100_000, n=int(n.sum()),
        methods=["naive", "joint"], replications=200, draws=300, seed=fresh_seed(),
    )  # fmt: skip
    mse = {row["method"]: row["mse"] for row in found.rows() if row["class"] == found.interest}
    assert (mse["naive"] < mse["joint"]) == warns


def test_it_is_said_up_to_the_distance_that_no_gain_has_in_the_middle():
    figures = {"naive": [100.0, 0.0], "estimate": [99.0, 1.0], "lower": [97.04, -0.96]}
    figures = {k: np.array(x) for k, x in (figures | {"upper": [100.96, 2.96]}).items()}
    assert unproven(figures, 0.95, 100)  # both are 1: it takes 1.1
    assert not unproven(figures, 0.95, 0)
    figures["naive"] = np.array([99 + 1.06, 1 - 1.06])  # an error of 1 and √1.12 apart
    assert not unproven(figures, 0.95, 100)
    figures["naive"] = figures["estimate"]
    assert unproven(figures, 0.95, 100)
    assert not unproven(figures | {"lower": None}, 0.95, 100)


def test_where_nothing_is_gained_half_of_the_answers_say_so(rng):
    """A bias as large as the error: the distance between the two figures has both in it."""
    for K in (2, 5, 15):
        error = rng.standard_normal((400, K))
        error = (error - error.mean(axis=1, keepdims=True)) * np.sqrt(K / (K - 1))
        pairs = np.repeat([1.0, -1.0, 0.0], [K // 2, K // 2, K % 2])  # they add up to 0
        middle = pairs * np.sqrt(K / (K - K % 2)) + error
        said = [
            unproven(
                {"naive": np.zeros(K), "estimate": x, "lower": x - 1.96, "upper": x + 1.96},
                0.95, 100,
            )
            for x in middle
        ]  # fmt: skip
        assert np.mean(said) == pytest.approx(0.5, abs=0.125)  # five errors


def test_the_words_do_not_depend_on_chance(rng):
    """A number of labels would: a ratio of two noisy figures, from 1 to 20 times the test set."""
    said = set()
    for _ in range(30):
        test = np.reshape(rng.multinomial(200, [0.3, 0.02, 0.02, 0.66]), (2, 2))
        est = tu.correct_counts(test, [32_000, 68_000], draws=200, seed=fresh_seed())
        said |= {text for text in est.info["warnings"] if WORDS in text}
    assert said == {correction_warning(200, 100_000)}
    assert correction_warning(200, 100_000).endswith(
        "200 audited units are too few to say how many more labels would change this. Twice as "
        "many would reduce that error by up to a third."
    )
    assert correction_warning(900, 1000).endswith(
        "too few to say how many more labels would change this."
    )


def test_check_says_it_too():
    from trueup.count.counts import make_counts
    from trueup.study.check import check_counts

    counts = make_counts([[40, 5], [5, 60]], [3000, 7000])
    found = check_counts(counts, design="random", prior="perks", overlap=True, interval=0.95)
    assert any(WORDS in words for words in found.doubts)
