"""Estimates with a score: they hold, and mostly gain, whatever was done to the score."""

import numpy as np
import pyarrow as pa
import pytest
from tests.read.by_hand import fine_scores
from tests.seeds import more

import trueup as tu
from trueup.estimate.doubts.rates import score_as_given, score_helps
from trueup.read.table import score_of

N = 4_000


def population(rng, sure=1.7):
    """Two classes, a feature, and the probability that is right given it."""
    s = (rng.random(N) < 0.3).astype(int)
    x = sure * s + rng.standard_normal(N)
    p1 = 1 / (1 + np.exp(-(sure * x - sure**2 / 2 + np.log(0.3 / 0.7))))
    h = (p1 > 0.5).astype(int)
    return {"predicted": h, "true": s, "p": np.where(h == 1, p1, 1 - p1)}


def tables(whole, i, **others):
    columns = whole | others
    known = pa.table({name: x for name, x in columns.items() if name != "true"})
    return known, pa.table({name: x[i] for name, x in columns.items()})


SPOILT = {
    "as it is": lambda p: p,
    "log-probability": np.log,
    "margin": lambda p: 10 + 3 * np.log(p / (1 - p)),
    "turned round": lambda p: -p,
    "noise": lambda p: np.random.default_rng(3).random(len(p)),
}


@pytest.mark.slow
def test_intervals_cover_whatever_was_done_to_the_score(rng):
    """Traps: trusting the score covered 71% when it was spoilt, a plug-in curve 80 to 86%."""
    spoilt = [how for how in SPOILT if how != "log-probability"]
    covered, gain, reps = dict.fromkeys(spoilt, 0), {how: [] for how in spoilt}, more(40)
    for r in range(reps):
        whole = population(rng)
        i = rng.choice(N, 120, replace=False)
        truth = whole["true"].sum()
        hard = tu.correct(*tables(whole, i), draws=800, seed=r).rows()[1]
        for how in spoilt:
            both = tables(whole, i, q=SPOILT[how](whole["p"]))
            row = tu.correct(*both, draws=800, seed=r, score="q").rows()[1]
            covered[how] += row["lower"] <= truth <= row["upper"]
            gain[how].append([(x["estimate"] - truth) ** 2 for x in (hard, row)])
    for how in spoilt:
        assert covered[how] / reps > 0.95 - 5 * np.sqrt(0.95 * 0.05 / reps), how
        before, after = np.array(gain[how]).T
        difference = (after - before) / before.mean()
        assert difference.mean() < 0.1 + 5 * difference.std() / np.sqrt(reps), how


@pytest.mark.slow
def test_a_good_score_makes_the_interval_narrower(rng):
    width = []
    for r in range(12):
        whole = population(rng)
        both = tables(whole, rng.choice(N, 500, replace=False))
        rows = [tu.correct(*both, draws=2000, seed=r, **x).rows()[1] for x in ({}, {"score": "p"})]
        width.append([row["upper"] - row["lower"] for row in rows])
    hard, scored = np.array(width).T
    ratio = scored / hard
    assert ratio.mean() + 2 * ratio.std() / np.sqrt(12) < 0.99


def test_stretched_scores_give_nearly_the_same_answer(rng):
    """Only the order is used; bands are cut by the score itself as well, so nearly."""
    whole = population(rng)
    i = rng.choice(N, 300, replace=False)
    rows = [
        tu.correct(*tables(whole, i, q=f(whole["p"])), score="q", draws=4000, seed=1).rows()[1]
        for f in (SPOILT["as it is"], SPOILT["margin"], SPOILT["log-probability"])
    ]
    for other in rows[1:]:
        assert abs(other["estimate"] - rows[0]["estimate"]) < 0.4 * rows[0]["sd"]


def test_ppi_on_scores_is_that_of_its_formula(rng):
    """PPI++ (Angelopoulos et al. 2023) by units, with f the probability of each unit's band."""
    whole = population(rng)
    whole["p"] = rng.choice([0.55, 0.8, 0.97], N)  # few values: bands are these
    i = rng.choice(N, 150, replace=False)
    est = tu.correct(*tables(whole, i), score="p", method="difference")
    p = score_of(fine_scores(whole["p"]).astype(int))
    for g, row in enumerate(est.rows()):
        f = np.where(whole["predicted"] == g, p, 1 - p)
        a = (whole["true"][i] == g).astype(float)
        lam = np.cov(a, f[i], ddof=0)[0, 1] / ((1 + 150 / N) * np.var(np.r_[f, f[i]], ddof=1))
        lam = np.clip(lam, 0, 1)
        assert row["estimate"] == pytest.approx(lam * f.sum() + N * (a - lam * f[i]).mean())
        var = lam**2 * f.var() / N + (a - lam * f[i]).var() / 150
        assert row["sd"] == pytest.approx(N * np.sqrt(var))


def test_calibration_counts_the_audited_units_of_each_band(rng):
    whole = population(rng)
    i = rng.choice(N, 400, replace=False)
    est = tu.correct(*tables(whole, i), score="p", draws=500, seed=1)
    rows = est.info["calibration"]
    assert sum(row["units"] for row in rows) == N
    assert sum(row["audited"] for row in rows) == 400
    assert sum(row["right"] for row in rows) == (whole["predicted"] == whole["true"])[i].sum()
    for row in rows:
        assert row["learned_lower"] <= row["learned"] <= row["learned_upper"]
        own = whole["predicted"] == row["predicted"]
        near = np.abs(whole["p"][own] - row["given"]) < 0.1
        assert near.any()
    given = [row["given"] for row in rows if row["predicted"] == 0]
    assert given == sorted(given)


def test_the_score_is_tested(rng):
    whole = population(rng)
    i = rng.choice(N, 1500, replace=False)

    def counts(**others):
        return tu.correct(*tables(whole, i, **others), score="q", draws=200, seed=1).counts

    right = counts(q=whole["p"])
    assert score_helps(right).p_value > 0.5
    assert score_as_given(right).p_value > 1e-6
    assert score_helps(counts(q=-whole["p"])).p_value < 1e-6
    assert score_as_given(counts(q=whole["p"] ** 4)).p_value < 1e-6
    found = {row["question"]: row for row in tu.check(*tables(whole, i), score="p").rows()}
    assert not found["order of the scores"]["doubt"]
    turned = tu.check(*tables(whole, i, q=1 - whole["p"]), score="q").rows()
    assert {row["question"]: row for row in turned}["order of the scores"]["doubt"]


@pytest.mark.parametrize("design", ["by_class", "shifted"])
def test_rows_over_bands_of_the_score_carry_over(design, rng):
    """A test set with as many units of either class: `joint` would be wrong by 20 points."""
    whole = population(rng)
    parts = [rng.choice(np.flatnonzero(whole["true"] == g), 300, replace=False) for g in (0, 1)]
    est = tu.correct(
        *tables(whole, np.concatenate(parts)), score="p", design=design, seed=1, draws=800
    )
    assert est.info["method"] == "full"
    row = est.rows()[1]
    assert abs(row["estimate"] - whole["true"].sum()) < 5 * row["sd"]
    assert row["sd"] < 0.04 * N


@pytest.mark.parametrize(
    "prior",
    [tu.prior.ordered(), tu.prior.regression("p")],
    ids=["not conjugate", "regression"],
)
def test_a_prior_that_would_ignore_the_score_is_refused(prior, rng):
    both = tables(population(rng), np.arange(100))
    with pytest.raises(tu.TrueupError, match="`score`"):
        tu.correct(*both, score="p", prior=prior, draws=100)
