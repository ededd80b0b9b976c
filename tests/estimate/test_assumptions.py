"""What the product says when values break an assumption, and how often it says so for nothing."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import special
from tests.docs.messages import SURE, _contradicted_prior
from tests.seeds import more

import trueup as tu
from trueup.count.counts import make_counts
from trueup.count.gather import gather
from trueup.count.names import Columns
from trueup.estimate.doubts.cautions import DIFFERENT
from trueup.estimate.doubts.rates import prior_conflict
from trueup.estimate.doubts.values import values_differ
from trueup.read import open_table


def tables(rng, factor=1.0, sigma=1.0, n=200, design="random", N=5000):
    """Both tables of a population in which misclassified units are `factor` times as large."""
    s = (rng.random(N) < 0.2).astype(int)
    wrong = rng.random(N) < 0.1
    s_hat = np.where(wrong, 1 - s, s)
    y = rng.lognormal(0, sigma, N) * np.where(wrong, factor, 1.0)
    i = rng.choice(N, n, replace=False)
    if design == "shifted":
        i = np.concatenate(
            [rng.choice(np.flatnonzero(s == g), n // 2, replace=False) for g in (0, 1)]
        )
    population = pa.table({"predicted": s_hat, "y": y})
    return population, population.take(i).append_column("true", pa.array(s[i]))


def counted(population, test_set, overlap=True):
    both = open_table(population, "predictions"), open_table(test_set, "the test set")
    return gather(*both, Columns(value="y"), overlap=overlap, bands=True)


def fires(rng, factor, sigma, design, replications):
    found = [
        values_differ(counted(*tables(rng, factor, sigma, design=design), design != "shifted"))
        for _ in range(replications)
    ]
    return np.mean([x is not None and x.p_value < DIFFERENT for x in found])


@pytest.mark.parametrize("design", ["random", "shifted"])
def test_values_that_differ_are_noticed(rng, design):
    """The planted bug is a test of values, not of logs: it sees a third of σ = 1 and factor 0.3."""
    for factor in (0.3, 3.0):
        assert fires(rng, factor, 1.0, design, 30) > 0.85 - 5 * np.sqrt(0.85 * 0.15 / 30)


def test_tails_so_heavy_that_no_test_could_see_more(rng):
    """With σ = 2 the most powerful unbiased test of this level sees factor 3 in 46%.

    Its power is Φ(log 3 √(0.09 n)/σ − 2.43): 85% would need 440 units. Ours is within 12 points.
    """
    best = special.ndtr(np.log(3) * np.sqrt(0.09 * 200) / 2 - special.ndtri(1 - DIFFERENT / 2))
    assert fires(rng, 3.0, 2.0, "shifted", 80) > best - 0.12 - 5 * np.sqrt(0.25 / 80)


def shuffled(rng, values):
    """The p-value of one test set whose predictions are wrong whatever the value."""
    s, wrong = (rng.random(200) < 0.3).astype(int), rng.random(200) < 0.12
    table = {"predicted": np.where(wrong, 1 - s, s), "y": values(rng, s), "true": s}
    found = values_differ(counted(pa.table(table).drop(["true"]), pa.table(table)))
    return 1.0 if found is None else found.p_value


@pytest.mark.parametrize(
    "values",
    [
        lambda rng, s: rng.lognormal(0, 2, 200) * np.where(s == 1, 100.0, 1.0),
        lambda rng, s: np.where(rng.random(200) < 0.3, 0.0, rng.lognormal(0, 1, 200)),
        lambda rng, s: rng.standard_normal(200),
        lambda rng, s: np.where(rng.random(200) < 0.95, 1.0, 1000.0),
    ],
    ids=["classes a hundred times apart", "zeros", "negative values", "ties"],
)
def test_equal_values_are_rarely_called_different(rng, values):
    """The planted bug is a tail of one side: p-values are half of what they should be."""
    count = more(30)
    p = np.array([shuffled(rng, values) for _ in range(count)])
    assert (p < DIFFERENT).mean() < DIFFERENT + 5 * np.sqrt(DIFFERENT / count)
    assert p.mean() > 0.5 - 5 * np.sqrt(1 / 12 / count)  # at least: of ties p is larger


@pytest.mark.filterwarnings("ignore")
def test_what_a_small_test_set_could_not_show_is_said(rng):
    """Heavy tails hide a factor of 3; with the default of a random test set it does not matter."""
    words, said = ("would hardly show it", "do not depend on what was predicted"), 0
    for _ in range(8):  # 40 of 40 say it; with 100 units 18 of 25, as intervals are wide
        heavy = tables(rng, 3.0, 2.0, n=400, design="shifted")
        est = tu.correct(*heavy, value="y", design="shifted", draws=400, seed=1)
        said += any(part in text for part in words for text in est.info["warnings"])
    assert said >= 5
    light = tables(rng, 1.0, 0.5, design="shifted")
    told = " ".join(tu.correct(*light, value="y", design="shifted", seed=1).info["warnings"])
    assert "would hardly show it" not in told
    told = " ".join(tu.correct(*tables(rng, 1.0, 2.0), value="y", seed=1).info["warnings"])
    assert "depend on" not in told


@pytest.mark.filterwarnings("ignore")
def test_values_from_elsewhere_go_to_the_nearest_band(rng):
    """Values of another year that the population does not have: they are tested all the same.

    The planted bug is that its bands were dropped when one value did not fit.
    """
    population, test_set = tables(rng, 3.0, design="shifted")
    larger = pa.array(test_set["y"].to_numpy() * 1e6)
    moved = test_set.set_column(test_set.column_names.index("y"), "y", larger)
    cells = counted(population, moved, overlap=False).bands
    assert cells.n.sum() == 200
    assert cells.n.reshape(2, 2, -1)[..., -1].sum() == 200
    assert counted(population, moved).bands is None


@pytest.mark.filterwarnings("ignore")
def test_a_total_near_zero_is_told(rng):
    """A class of 5% whose units are 1/50 as large: its interval lay too high without a word."""
    N = 20_000
    s = (rng.random(N) < 0.05).astype(int)
    s_hat = np.where(rng.random(N) < np.where(s == 1, 0.1, 0.01), 1 - s, s)
    y = rng.lognormal(0, 1, N) * np.where(s == 1, 0.02, 1.0)
    # as many errors as expected: with four of the first class the share is told of instead
    expected = {(0, 0): 99, (0, 1): 1, (1, 0): 10, (1, 1): 90}
    i = np.concatenate([
        rng.choice(np.flatnonzero((s == g) & (s_hat == h)), times, replace=False)
        for (g, h), times in expected.items()
    ])  # fmt: skip
    population = pa.table({"predicted": s_hat, "y": y})
    test_set = population.take(i).append_column("true", pa.array(s[i]))
    for value, told in (("y", True), (None, False)):
        est = tu.correct(population, test_set, value=value, design="shifted", seed=1)
        assert any("cannot tell the total of class 1" in x for x in est.info["warnings"]) == told


@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", ["y", None])
def test_a_prior_that_the_audit_contradicts_is_noticed(value):
    """The planted bug is the posterior predictive residual of before, which saw totals alone."""
    population, test_set = _contradicted_prior()
    right = tu.Dirichlet([[40, 20], [1, 60]], [61, 61])
    for prior, told in ((SURE, True), (right, False), ("perks", False)):
        est = tu.correct(population, test_set, value=value, prior=prior, seed=1)
        assert (
            any("contradict each other: it does not expect" in x for x in est.info["warnings"])
            == told
        )
    found = tu.check(population, test_set, value=value, prior=SURE)
    assert any("contradict each other" in words for words in found.doubts)


def test_draws_from_the_prior_rarely_contradict_it(rng):
    """By definition; the planted bug is a p-value without the multinomial coefficient."""
    alpha = np.array([[30.0, 3.0, 1.0], [2.0, 20.0, 2.0], [1.0, 1.0, 8.0]])
    p = []
    for _ in range(300):
        rows = [rng.multinomial(40, rng.dirichlet(a)) for a in alpha]
        p.append(prior_conflict(make_counts(rows, [900, 900, 900]), alpha, False).p_value)
    assert abs(np.mean(p) - 0.5) < 5 * np.sqrt(1 / 12 / 300)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("design", ["random", "by_prediction"])
def test_check_says_what_correct_would_warn_of(rng, design):
    """The planted bug: `check` was content where `correct` warned of three units of a class."""
    population, test_set = tables(rng, n=300)
    s = test_set["true"].to_numpy()
    few = test_set.take(np.r_[np.flatnonzero(s == 0), np.flatnonzero(s == 1)[:3]])
    est = tu.correct(population, few, value="y", design=design, seed=1)
    assert any("Fewer than 5" in x for x in est.info["warnings"])
    found = tu.check(population, few, value="y", design=design)
    assert any("Fewer than 5" in words for words in found.doubts)
    assert "Nothing here gives reason to doubt" not in str(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("design", ["random", "shifted", "by_class"])
def test_a_class_far_larger_than_the_others_is_told(design):
    """The issue's defect: 2,000 units at their expectation, one class a hundred times as large."""
    n, mean = np.array([[36, 4], [80, 7880]]), np.array([[100.0, 100.0], [1.0, 1.0]])
    units = np.array([[180, 20], [398, 39402]])
    est = tu.correct_counts(
        n, units.sum(axis=0), (units * mean).sum(axis=0), np.e * (units * mean**2).sum(axis=0),
        n * mean, np.e * n * mean**2, design=design, seed=1,
    )  # fmt: skip
    assert any("times as large as all units" in x for x in est.info["warnings"])
    row = est.rows()[0]
    if design != "shifted":
        assert row["lower"] < 20_000 < row["upper"]


@pytest.mark.filterwarnings("ignore")
def test_constrained_says_that_a_class_was_audited_in_full():
    """`full` has 87 (40–113) and 293 (267–340), by quadrature in the issue."""
    known_cases = [[20, 0, 0], [0, 26, 4], [0, 2, 28]], [20, 95, 285]
    options = {"design": "by_class", "draws": 1000, "seed": 1}
    paper = tu.correct_counts(*known_cases, method="constrained", **options)
    assert any("was audited" in x for x in paper.info["warnings"])
    est = tu.correct_counts(*known_cases, **options)
    assert not any("was audited" in x for x in est.info["warnings"])
    assert est.info["method"] == "full"
    assert [row["estimate"] for row in est.rows()] == pytest.approx([20, 87, 293], abs=4)


@pytest.mark.filterwarnings("ignore")
def test_two_classes_with_one_audited_in_full():
    """It was refused with the wrong reason. The exact posterior, by quadrature over both rates."""
    n, v_hat = np.array([[18, 2], [2, 28]]), [20, 380]
    est = tu.correct_counts(n, v_hat, design="by_class", seed=1)
    assert est.info["method"] == "full"
    # 360 units predicted 1 are left: Pr(true 0 | predicted 1) = β p01/(β p01 + (1 − β) p11), and
    # none of 360 is predicted 0; Perks' prior Beta(½, ½) of rows and of β
    x, w = special.roots_legendre(80)
    x, w = (x + 1) / 2, w / 2
    p, q, b = np.meshgrid(x, x, x, indexing="ij")  # Pr(pred 0 | true 0), Pr(pred 0 | true 1), β
    log_f = 17.5 * np.log(p) + 1.5 * np.log1p(-p) + 1.5 * np.log(q) + 27.5 * np.log1p(-q)
    right = b * (1 - p) + (1 - b) * (1 - q)
    log_f += 360 * np.log(right) - 0.5 * (np.log(b) + np.log1p(-b))
    f = np.exp(log_f - log_f.max()) * w[:, None, None] * w[:, None] * w
    mean = 20 + 360 * (f * b * (1 - p) / right).sum() / f.sum()
    assert est.rows()[0]["mean"] == pytest.approx(mean, abs=5 * est.rows()[0]["sd"] / 30)


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch")
@pytest.mark.filterwarnings("ignore")
def test_by_class_totals_hold_where_wrong_units_are_larger(rng):
    """The planted bug is the class-mean model: it misses by ten times its error with n = 2,000."""
    N = 20_000
    for _ in range(more(1)):
        s = (rng.random(N) < 0.2).astype(int)
        wrong = rng.random(N) < 0.1
        s_hat, y = np.where(wrong, 1 - s, s), rng.lognormal(0, 1, N) * np.where(wrong, 3.0, 1.0)
        i = np.concatenate(
            [rng.choice(np.flatnonzero(s == g), 1000, replace=False) for g in (0, 1)]
        )
        population = pd.DataFrame({"predicted": s_hat, "y": y})
        test_set = population.iloc[i].assign(true=s[i])
        est = tu.correct(population, test_set, value="y", design="by_class", draws=400, seed=1)
        assert est.info["method"] == "full"
        assert est.draws.sum(axis=1) == pytest.approx(y.sum())
        row = est.rows()[1]
        assert abs(row["mean"] - y[s == 1].sum()) < 5 * row["sd"]


@pytest.mark.usefixtures("short_chains", "few_draws")
def test_half_a_total_behind_hardly_any_audited_unit_is_told():
    """Ten units in a thousand have most of the value. Planted bug: audited units of any size."""
    y = np.where(np.arange(1000) % 100 == 0, 500.0, 1.0 + np.arange(1000) % 7)
    population = pa.table({"predicted": np.arange(1000) // 500, "y": y})
    small = np.flatnonzero(y < 100)[::9]
    for large, told in ((0, True), (2, True), (5, False)):
        some = np.append(small, np.flatnonzero(y > 100).reshape(2, 5)[:, :large].ravel())
        s = np.where(some % 6 == 1, 1 - some // 500, some // 500)
        test = pa.table({"predicted": some // 500, "true": s, "y": y[some]})
        est = tu.correct(population, test, value="y", design="by_prediction", seed=1)
        assert any("Half of the total" in x for x in est.info["warnings"]) == told


@pytest.mark.usefixtures("short_chains", "few_draws")
def test_half_a_total_in_one_unit_is_told_of_one():
    y = np.where(np.arange(1000) == 999, 5000.0, 1.0 + np.arange(1000) % 7)
    population = pa.table({"predicted": np.arange(1000) // 500, "y": y})
    some = np.arange(0, 990, 9)
    s = np.where(some % 6 == 0, 1 - some // 500, some // 500)
    test = pa.table({"predicted": some // 500, "true": s, "y": y[some]})
    est = tu.correct(population, test, value="y", design="by_prediction", seed=1)
    assert any("is in 1 unit, which was not audited: that" in x for x in est.info["warnings"])


def giants(rng, number, N=12_000, n=600):
    """Return tables in which errors rise with size, but a few giants are predicted right."""
    s = (rng.random(N) < 0.7).astype(int)
    size = rng.normal(0, 1, N) + 0.8 * (1 - s)
    rises = rng.random(N) < 1 / (1 + np.exp(0.5 - size))
    s_hat = np.where(s == 1, rng.random(N) < 0.95, rises).astype(int)
    size[:number], s[:number], s_hat[:number] = 6 + rng.normal(0, 0.3, number), 1, 1
    population = pd.DataFrame({"predicted": s_hat, "y": np.exp(size)})
    some = rng.choice(N, n, replace=False)
    return population, population.iloc[some].assign(true=s[some]), np.exp(size)[s == 0].sum()


@pytest.mark.usefixtures("one_batch")
def test_giants_beyond_the_audited_units_are_told(rng):
    """Planted bug: trends that go on as before beyond them, which no message then tells of."""
    told = {0: 0, 12: 0}
    for number in told:
        for _ in range(5):
            population, test_set, _ = giants(rng, number)
            est = tu.correct(population, test_set, value="y", draws=400, seed=1)
            told[number] += any("larger than nearly all" in x for x in est.info["warnings"])
    assert told[12] >= 3
    assert told[0] <= 2


@pytest.mark.usefixtures("short_chains", "few_draws")
def test_strata_without_an_audited_error_are_told():
    """The textbook's variance is 0 there: 95% intervals covered 66% with more than half of it."""
    h, region = np.arange(600) % 2, np.arange(600) // 300
    wrong = (np.arange(600) % 5 == 0) & (region == 1)
    test = np.arange(0, 600, 7)
    columns = {"predicted": h, "region": region, "true": np.where(wrong, 1 - h, h)}
    tables = pa.table(columns).drop(["true"]), pa.table({k: x[test] for k, x in columns.items()})
    for method in ("difference", "auto"):
        est = tu.correct(*tables, drawn_within="region", method=method, seed=1)
        told = any("do not vary" in x for x in est.info["warnings"])
        assert told == (method == "difference")
