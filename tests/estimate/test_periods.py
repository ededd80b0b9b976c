"""Periods: against weighting of prior draws, over simulated series, and bad input."""

import datetime
import warnings

import numpy as np
import polars as pl
import pytest
from tests.seeds import more

import trueup as tu
from trueup.count.counts import make_counts
from trueup.draws.settings import make_settings
from trueup.errors import DataError, OptionError
from trueup.estimate.periods import draw
from trueup.estimate.periods.drift import drifting
from trueup.estimate.periods.labels import when
from trueup.estimate.periods.rates import draw_rates
from trueup.estimate.periods.steps import NU, USUAL, draw_steps
from trueup.present.sentences import citations, headline, question
from trueup.verify.populations import grouped, months

P = np.array([[0.8, 0.2], [0.15, 0.85]])


def series(rng, beta, units=500, audits=None, rates=None):
    """A table of months 1, 2, … and its test set; `audits` says how many units of which month."""
    tables, tests = [], []
    for t, share in enumerate(beta, start=1):
        s = (rng.random(units) >= share).astype(int)
        p = P if rates is None else rates[t - 1]
        s_hat = (rng.random(units) >= p[s, 0]).astype(int)
        table = pl.DataFrame({"month": [t] * units, "true": s, "predicted": s_hat})
        tables.append(table)
        if n := (audits or {1: 60}).get(t):
            tests.append(table.sample(n, seed=int(rng.integers(2**31))))
    return pl.concat(tables), pl.concat(tests)


@pytest.fixture
def few_particles(monkeypatch, few_draws):
    """For what is said, and what holds of every draw: four paths for each draw of the rates."""
    monkeypatch.setattr(draw, "PARTICLES", 50)


def correct(table, test, **options):
    options = {"period": "month", "classes": [0, 1], "seed": 1} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        return tu.correct(table.drop("true"), test, **options)


def weighted(n, v, a, rng, size=400_000):
    """Posterior mean and sd of the counts of class 0 by weighting draws of the prior."""
    rows = [rng.dirichlet(0.5 + n[g], size) for g in range(2)]
    p0, p1 = rows[0][:, 0], rows[1][:, 0]
    sigma = USUAL * abs(rng.standard_cauchy(size))
    x = 3.0 * np.sqrt(2) * rng.standard_normal(size)
    log_w, parts = np.zeros(size), []
    for t in range(len(v)):
        if t:
            x = x + np.sqrt(2) * sigma * rng.standard_t(NU, size)
        beta = 1 / (1 + np.exp(-np.clip(x, -500, 500)))
        q = beta * p0 + (1 - beta) * p1
        with np.errstate(divide="ignore", invalid="ignore"):
            log_w += v[t, 0] * np.log(q) + v[t, 1] * np.log(1 - q)
            log_w += np.where(a[t, 0] > 0, a[t, 0] * np.log(beta), 0.0)
            log_w += np.where(a[t, 1] > 0, a[t, 1] * np.log1p(-beta), 0.0)
            c = np.nan_to_num([beta * p0 / q, beta * (1 - p0) / (1 - q)])
        parts.append(rng.binomial(v[t][:, None], np.clip(c, 0, 1)).sum(axis=0) + a[t, 0])
    w = np.exp(np.nan_to_num(log_w, nan=-np.inf) - np.nanmax(log_w))
    w /= w.sum()
    u = np.stack(parts)
    mean = u @ w
    return mean, np.sqrt((u - mean[:, None]) ** 2 @ w), 1 / (w**2).sum()


def test_one_audit_agrees_with_weighted_draws_of_the_prior(rng):
    table, test = series(rng, [0.3, 0.4, 0.35], units=120, audits={2: 40})
    est = correct(table, test, prior=tu.Dirichlet(0.5, 0.5))
    n = np.zeros((2, 2))
    np.add.at(n, (test["true"].to_numpy(), test["predicted"].to_numpy()), 1)
    v = np.array([[(table.filter(pl.col("month") == t)["predicted"] == h).sum() for h in (0, 1)]
                  for t in (1, 2, 3)])  # fmt: skip
    a = np.zeros((3, 2))
    a[1] = n.sum(axis=1)
    v[1] -= n.sum(axis=0).astype(int)
    mean, sd, ess = weighted(n, v, a, rng)
    ours = [row for row in est.rows() if row["class"] == 0 and row["month"] is not None]
    error = 5 * sd * np.sqrt(1 / ess + 1 / est.info["ess"]) + 0.1 * sd
    assert (abs(np.array([row["mean"] for row in ours]) - mean) < error).all()
    assert np.array([row["sd"] for row in ours]) == pytest.approx(sd, rel=0.25)


def test_a_jump_is_not_smoothed_away(rng):
    """Planted bug: normal steps, with which the change is 15% too small."""
    beta = np.repeat([0.2, 0.35], 12)
    short = []
    for _ in range(more(6)):
        table, test = series(rng, beta, units=3000, audits={3: 400})
        est = correct(table, test, draws=1000, seed=int(rng.integers(2**31)))
        u = np.median(est.groups.draws[:, :, 0], axis=0)
        truth = table.filter(pl.col("true") == 0).group_by("month").len().sort("month")["len"]
        short.append((u[12] - u[11]) / (truth[12] - truth[11]))
    assert np.mean(short) > 0.93, short


def test_steps_to_where_a_class_is_absent_have_an_end(rng):
    """As any of them fits, they grew to 1e14, and a series of 1,500 periods ended in an error."""
    v = np.where(np.arange(100)[:, None] // 10 % 2, [2.0, 98.0], [15.0, 85.0])
    rates = np.repeat([[[0.85, 0.15], [0.15, 0.85]]], 60, axis=0)
    sigma, lam = draw_steps(rates, v, np.zeros((100, 2)), np.ones(99), 500, rng)
    assert (sigma[:, None] ** 2 * lam).max() <= 25.01


@pytest.mark.usefixtures("few_draws")
def test_predictions_unlike_those_around_are_said_so(rng):
    """One month of twelve, in which a class of four has a quarter of its units.

    Nearly every such series is warned of, and one in thirty of the others.
    """
    usual, P = months("constant", 4, 12)
    odd = usual.copy()
    odd[6, 0] /= 4
    told = {"odd": [], "usual": []}
    for _ in range(4):
        for name, beta in (("odd", odd / odd.sum(axis=1, keepdims=True)), ("usual", usual)):
            units = pl.DataFrame(grouped(beta, P, 2000, rng)).rename({"group": "month"})
            test = units.filter(pl.col("month") == 4).sample(200, seed=int(rng.integers(2**31)))
            warned = correct(units, test, classes=[0, 1, 2, 3]).info["warnings"]
            told[name] += [x for x in warned if "unlike what the periods around it suggest" in x]
    assert sum("period 6" in x for x in told["odd"]) >= 2
    assert len(told["usual"]) <= 2


@pytest.mark.slow
def test_errors_of_levels_and_changes_are_as_their_draws_say(rng):
    """With two audits; one audit is compared with an exact answer above.

    Planted bug: draws half as wide, of which (error/sd)² has a mean of 4.
    """
    beta, audits = 0.25 + 0.03 * np.arange(8), {2: 60, 7: 60}
    squares = []
    for _ in range(more(8)):
        table, test = series(rng, beta, units=1000, audits=audits)
        est = correct(table, test, draws=1000, seed=int(rng.integers(2**31)))
        truth = table.filter(pl.col("true") == 0).group_by("month").len().sort("month")["len"]
        u = est.groups.draws[:, :, 0]
        figures = np.column_stack([u, u[:, 4:] - u[:, :4]])
        true = np.r_[truth.to_numpy(), np.diff(truth.to_numpy().reshape(2, 4), axis=0)[0]]
        squares.append((((figures.mean(axis=0) - true) / figures.std(axis=0)) ** 2).mean())
    # months of one series share its audit: a series is one observation, with a sd of 1 at most
    assert np.mean(squares) < 1 + 5 / np.sqrt(len(squares))


@pytest.mark.usefixtures("few_particles")
def test_rates_that_drifted_are_said_so(rng):
    moved = [P] * 4 + [np.array([[0.4, 0.6], [0.15, 0.85]])] * 4
    table, test = series(rng, [0.5] * 8, 1000, {2: 300, 7: 300}, moved)
    est = correct(table, test, draws=500)
    assert any(
        "seem to have drifted between the audits of 2 and 7" in w for w in est.info["warnings"]
    )
    one = correct(table, test.filter(pl.col("month") == 2), draws=500)
    assert any("only period 2 was audited" in w for w in one.info["warnings"])


@pytest.mark.usefixtures("few_particles")
def test_predictions_that_no_base_rates_explain_are_said_so(rng):
    good = np.array([[0.9, 0.1], [0.5, 0.5]])
    bad = np.array([[0.2, 0.8], [0.1, 0.9]])
    table, test = series(rng, [0.5] * 3, 3000, {1: 400}, [good, good, bad])
    est = correct(table, test, draws=500)
    assert any("predictions of period 3 do not fit" in w for w in est.info["warnings"])


def test_a_panel_makes_changes_narrower_and_they_are_covered(rng):
    inside, widths = [], []
    for _ in range(more(8)):
        table, test = series(rng, [0.3] * 4, 2000, {1: 1500})
        s, s_hat = (
            table[name].to_numpy().reshape(4, 2000).copy() for name in ("true", "predicted")
        )
        for t in range(1, 4):  # nine units in ten are those of the month before
            old = rng.random(2000) < 0.9
            s[t, old], s_hat[t, old] = s[t - 1, old], s_hat[t - 1, old]
        table = table.with_columns(true=pl.Series(s.ravel()), predicted=pl.Series(s_hat.ravel()))
        test = table.filter(pl.col("month") == 1).sample(1500, seed=int(rng.integers(2**31)))
        true = np.diff((s == 0).sum(axis=1))[1:]
        both = []
        for panel in (0.9, 0.0):
            u = correct(table, test, panel=panel, draws=1000).draws[:, :, 0]
            low, high = np.quantile(np.diff(u, axis=1)[:, 1:], [0.025, 0.975], axis=0)
            both.append((((low <= true) & (true <= high)).mean(), (high - low).mean()))
        inside.append(both[0][0])
        widths.append(both[0][1] / both[1][1])
    assert np.mean(widths) < 0.8
    assert np.mean(inside) > 0.95 - 5 * np.sqrt(0.05 / len(inside))


@pytest.mark.usefixtures("few_particles")
def test_periods_add_up_to_the_whole_and_are_permissible(rng):
    table, test = series(rng, [0.3, 0.5, 0.4], 300, {1: 50, 3: 50})
    est = correct(table, test, draws=300)
    assert (est.groups.draws >= 0).all()
    assert np.array_equal(est.groups.draws.sum(axis=2), np.full((300, 3), 300.0))
    whole = [row["mean"] for row in est.rows() if row["month"] is None]
    assert est.draws.sum(axis=1).mean(axis=0) == pytest.approx(whole)
    again = correct(table, test, draws=300)
    assert np.array_equal(again.draws, est.draws)


@pytest.mark.usefixtures("few_particles")
def test_the_chart_is_in_order_of_time_and_marks_audited_periods(rng):
    table, test = series(rng, [0.3] * 11, 100, {10: 30})
    spec = correct(table, test, draws=200).plot().to_dict()
    layers = spec["concat"][0]["layer"]
    shown = [[row["time"] for row in layer["data"]["values"]] for layer in layers]
    assert shown[0] == [str(t) for t in range(1, 12)]
    assert shown[-1] == ["10"]


@pytest.mark.usefixtures("few_particles")
def test_the_report_says_what_must_hold_of_periods(rng, tmp_path):
    moved = [P, P, P[:, ::-1]]
    table, test = series(rng, [0.3] * 3, 300, {1: 40, 3: 40}, moved)
    text = correct(table, test, draws=200).report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Error rates may drift, a recall by about" in text
    assert "checked against the predictions there" in text


SAME = "(error rates are taken to be the same in all periods)"
DRIFT = "(error rates may drift, a recall by about"


@pytest.mark.usefixtures("few_particles")
@pytest.mark.parametrize(
    ("audits", "words"),
    [
        ({2: 40}, f"drawn at random in period 2 {SAME}"),
        ({1: 3, 2: 3}, f"drawn at random in periods 1 and 2 {DRIFT}"),
        (dict.fromkeys(range(1, 7), 2), f"drawn at random in 6 of 7 periods {DRIFT}"),
    ],
)
def test_what_is_published_says_which_periods_were_audited(rng, audits, words, monkeypatch):
    monkeypatch.setattr("trueup.estimate.periods.estimate.LIKELY", 0.0)  # audits agree
    est = correct(*series(rng, [0.3] * 7, 200, audits), draws=200)
    published = (est.to_markdown(), est.to_latex(), est.to_html(), question(est), headline(est))
    for text in (*published, *citations(est)):
        assert "from the population" not in text
        assert words in text
    title = words.replace("drawn at random", "design random")
    assert title in " ".join(str(est).split())


@pytest.mark.usefixtures("few_particles")
def test_rates_that_drift_are_published_as_such(rng):
    table, test = series(rng, [0.3] * 3, 300, {1: 100, 3: 100}, [P, P, P[:, ::-1]])
    words = "in periods 1 and 3 (error rates may drift, a recall by about"
    assert words in correct(table, test, draws=200).to_markdown()


@pytest.mark.usefixtures("few_particles")
def test_a_test_set_from_elsewhere_is_of_no_period(rng, tmp_path):
    table, _ = series(rng, [0.3, 0.5], 200)
    _, other = series(rng, [0.8], audits={1: 100})
    est = correct(table, other.drop("month"), design="shifted", draws=200)
    assert est.info["audited_periods"] == []
    assert f"drawn from another period or population {SAME}" in est.to_markdown()
    assert f"design shifted {SAME}" in " ".join(str(est).split())
    text = est.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The test set is of none of the periods" in text


@pytest.mark.usefixtures("few_particles")
def test_totals_of_periods(rng):
    table, test = series(rng, [0.3, 0.5, 0.4], 400, {2: 80})
    y = rng.lognormal(0, 0.5, len(table))
    table = table.with_columns(y=pl.Series(y), unit=pl.Series(np.arange(len(table))))
    test = table.filter(pl.col("month") == 2).sample(80, seed=1)
    est = correct(table, test, value="y", id="unit", draws=500)
    totals = table.group_by("month").agg(pl.col("y").sum()).sort("month")["y"].to_numpy()
    assert est.groups.draws.sum(axis=2) == pytest.approx(np.tile(totals, (500, 1)))
    ones = correct(table.with_columns(y=pl.lit(1.0)), test, value="y", id="unit", draws=500)
    counts = correct(table, test, id="unit", draws=500)
    assert ones.draws == pytest.approx(counts.draws)


def test_a_test_set_from_elsewhere_has_error_rates_only(rng):
    table, _ = series(rng, [0.3, 0.5, 0.4], 500)
    _, other = series(rng, [0.8], audits={1: 400})
    est = correct(table, other.drop("month"), design="shifted", draws=500)
    rows = [row for row in est.rows() if row["class"] == 0 and row["month"] is not None]
    true = [((table["month"] == t) & (table["true"] == 0)).sum() for t in (1, 2, 3)]
    # its share of 0.8 is not theirs
    assert all(abs(row["mean"] - t) < 4.5 * row["sd"] for row, t in zip(rows, true, strict=True))
    assert rows[0]["sd"] < 50
    with pytest.raises(DataError, match="must have the column 'month'"):
        tu.correct(table.drop("true"), other.drop("month"), period="month", classes=[0, 1])


@pytest.mark.parametrize(
    ("labels", "at"),
    [
        (["2024-11", "2024-12", "2025-02"], [0, 1, 3]),
        ([202411, 202412, 202501], [0, 1, 2]),
        (["2024Q3", "2024Q4", "2025Q1"], [0, 1, 2]),
        (["2020-W53", "2021-W01"], [0, 1]),
        ([2019, 2020, 2022], [0, 1, 3]),
        (["2024-02-28", "2024-02-29", "2024-03-01"], [0, 1, 2]),
        ([datetime.date(2024, 1, 31), datetime.date(2024, 3, 31)], [0, 1]),
        ([10, 1, 2], [9, 0, 1]),
    ],
)
def test_labels_say_when(labels, at):
    assert when(labels) == pytest.approx(at)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["Jan", "Feb"], "can be put in order"),
        (["2024-01", None], "must have a period"),
        (["2024-01"], "two periods or more"),
        (["2024-01", "202401"], "the same period"),
    ],
)
def test_labels_that_are_refused(labels, words):
    with pytest.raises(DataError, match=words):
        when(labels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": "month"}, "cannot be combined with `by`"),
        ({"panel": 1.0}, "`panel` must be a share"),
        ({"method": "bayes"}, r"has a method of its own.*got method 'bayes'\."),
        ({"noise": False}, r"got noise=False\."),
        ({"P": P}, r"got `P`\."),
        ({"drawn_within": "month"}, "`period` cannot be combined with `drawn_within`"),
        ({"prior": tu.prior.ordered()}, "needs a Dirichlet prior"),
    ],
)
def test_options_that_are_refused(options, words, rng):
    table, test = series(rng, [0.3, 0.4], 100, {1: 20})
    with pytest.raises(OptionError, match=words):
        tu.correct(table.drop("true"), test, period="month", classes=[0, 1], **options)


@pytest.mark.usefixtures("few_particles")
def test_accuracies_are_of_all_periods_and_mean_values_of_each(rng):
    """Every unit has the value 7 times its month: so has every mean. An audit of one month only."""
    table, test = series(rng, [0.3, 0.4, 0.35], audits={2: 200})
    valued = [x.with_columns(y=7.0 * pl.col("month")) for x in (table, test)]
    est = correct(*valued, value="y")
    assert est.M.sum(axis=1) == pytest.approx(np.tile(est.counts.v_hat, (len(est.M), 1)))
    for row in est.mean_value():
        figures = [row[name] for name in ("estimate", "lower", "upper")]
        assert figures == pytest.approx([7 * row["month"]] * 3, rel=0.05)
    joined = est.groups.units.sum(axis=(1, 2))
    assert (joined == len(table)).all()
    counted = correct(table, test)
    assert (counted.M.sum(axis=2) == counted.whole).all()
    right = table.filter(pl.col("true") == pl.col("predicted"))
    for row in counted.accuracy():
        if row["measure"] == "recall":
            some = [(x["true"] == row["class"]).sum() for x in (right, table)]
            assert abs(row["mean"] - some[0] / some[1]) < 5 * row["sd"]


def test_many_classes_have_no_overall_accuracy_with_periods():
    """It was one standard deviation too low with eight classes, and covered 13 of 16."""
    rows = [(i % 3 + 1, "abc"[i % 3], "abc"[(i + (i % 7 == 0)) % 3]) for i in range(120)]
    table = pl.DataFrame(rows, schema=["month", "predicted", "true"], orient="row")
    est = tu.correct(table.drop("true"), table[:60], period="month", draws=100, seed=1)
    assert {row["measure"] for row in est.accuracy()} == {"recall", "precision", "f1"}


def test_an_audit_of_a_period_outside_the_table_is_refused(rng):
    table, test = series(rng, [0.3, 0.4, 0.4], 100, {3: 20})
    with pytest.raises(DataError, match="does not hold"):
        tu.correct(table.filter(pl.col("month") < 3).drop("true"), test, period="month")


@pytest.mark.slow
@pytest.mark.usefixtures("few_particles")
def test_errors_with_many_classes_are_as_their_draws_say(rng):
    """Planted bug: P of the audit without the shares of the predicted classes (c by rows)."""
    K, T, units = 8, 5, 1000
    rates = 0.8 * np.eye(K) + 0.2 * rng.dirichlet(np.ones(K), K)
    squares = []
    for _ in range(more(5)):
        beta = np.arange(1, K + 1) * np.exp(0.2 * rng.standard_normal((T, K)).cumsum(axis=0))
        beta /= beta.sum(axis=1, keepdims=True)
        s = np.concatenate([rng.choice(K, units, p=b) for b in beta])
        s_hat = (rng.random((len(s), 1)) > rates[s].cumsum(axis=1)[:, :-1]).sum(axis=1)
        month = np.repeat(np.arange(T), units)
        table = pl.DataFrame({"month": month, "true": s, "predicted": s_hat})
        test = table.filter(pl.col("month") == 1).sample(200, seed=int(rng.integers(2**31)))
        est = correct(table, test, classes=range(K), draws=400, seed=int(rng.integers(2**31)))
        u, true = (
            est.groups.draws,
            np.stack([np.bincount(s[month == t], minlength=K) for t in range(T)]),
        )
        assert (u.sum(axis=2) == units).all()
        squares.append((((u.mean(axis=0) - true) / u.std(axis=0)) ** 2).mean())
    # classes and months of one series share its audit; their mean square has a sd of 0.3 at most
    assert np.mean(squares) < 1 + 5 * 0.3 / np.sqrt(len(squares))


@pytest.mark.parametrize("design", ["random", "by_prediction"])
def test_rates_of_large_audits_are_those_of_the_classifier(design, rng):
    """Planted bug: audits within predicted classes as one, whose base rates differ."""
    beta, drawn = np.array([[0.1, 0.9], [0.5, 0.5]]), np.array([[2e5, 8e5], [8e5, 2e5]])
    joint = beta[:, :, None] * P
    q = joint.sum(axis=1)
    n = 1e6 * joint if design == "random" else drawn[:, None] * joint / q[:, None]
    for together in (design == "random", True):
        found = draw_rates(n, np.repeat(q[None], 50, axis=0), np.full((2, 2), 0.5), rng, together)
        found /= found.sum(axis=2, keepdims=True)
        right = np.allclose(found.mean(axis=0), P, atol=0.002)
        assert right == (design == "random" or not together)


def test_rates_that_drift_are_those_of_an_audit_in_its_period_and_between_two_in_between(rng):
    """Three audits, log odds linear in time; before the first and after the last they stay."""
    audits, at = np.array([1.0, 5.0, 11.0]), np.arange(13.0)
    each = np.array([P, [[0.5, 0.5], [0.1, 0.9]], [[0.9, 0.1], [0.4, 0.6]]])
    found = drifting(np.repeat(each[None], 400, axis=0), audits, at, np.zeros((1, 2)), rng)
    for t, expected in zip((1, 5, 11), each, strict=True):
        np.testing.assert_allclose(found[:, t], np.repeat(expected[None], 400, axis=0))
    odds = np.log(found[:, :, :, 0] / found[:, :, :, 1])
    for t, (one, other, share) in {4: (1, 5, 0.75), 7: (5, 11, 1 / 3)}.items():
        np.testing.assert_allclose(odds[:, t], (1 - share) * odds[:, one] + share * odds[:, other])
    np.testing.assert_allclose(odds[:, [0, 12]], odds[:, [1, 11]])


def test_an_audited_period_has_the_true_shares_of_its_audit(rng):
    """Half of all units are of class 0, and 325 in 1,000 predicted so, audited ones as the others.

    Planted bug: the audit's units by predicted class, which has 458.
    """
    joint = 0.5 * np.array([[0.6, 0.4], [0.05, 0.95]])
    n = np.rint(400 * np.stack([joint, 0 * joint])).astype(int)
    counts = make_counts(n, np.rint(np.tile(1000 * joint.sum(axis=0), (2, 1))))
    settings = make_settings(2, design="random", draws=1000, seed=int(rng.integers(2**32)))
    u = draw.draw_periods(counts, np.arange(2.0), settings, draw.Assumed()).u[:, 0, 0]
    assert u.mean() == pytest.approx(500, abs=5 * u.std() / np.sqrt(1000) + 2)  # 2 for the prior


@pytest.mark.usefixtures("few_particles")
def test_rows_are_in_the_order_of_time_and_dates_are_written_as_such():
    table, test = series(np.random.default_rng(3), [0.3, 0.4, 0.5], audits={1: 60})
    as_text = pl.col("month").replace_strict({1: "9", 2: "10", 3: "11"})
    renamed = correct(*(x.with_columns(as_text) for x in (table, test))).rows()
    assert [row["month"] for row in renamed[:6]] == ["9", "9", "10", "10", "11", "11"]
    numbered = correct(table, test).rows()
    assert [row["estimate"] for row in renamed] == [row["estimate"] for row in numbered]
    date = pl.date(2024, pl.col("month"), 1).alias("month")
    dated = correct(*(x.with_columns(date) for x in (table, test)))
    assert "only period 2024-01-01 was audited" in dated.info["warnings"][0]


@pytest.mark.usefixtures("few_particles")
def test_periods_with_a_test_set_from_elsewhere_are_not_called_groups():
    table, test = series(np.random.default_rng(3), [0.3, 0.4], audits={1: 60})
    est = correct(table, test.drop("month"), design="shifted")
    assert not any("groups" in words for words in est.info["warnings"])
