"""Survey weights, and totals of a larger population: the sampling error is in the interval."""

import warnings

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.seeds import fresh, fresh_seed, more

import trueup as tu
from trueup.aggregate.larger import class_squares, larger_matrix, larger_totals
from trueup.cli import main


def survey(rng, size=1500, n=300, N=40_000):
    """A population, a sample of it by size with its weights, and audited units of that sample."""
    s = rng.random(N) < 0.3
    y = rng.lognormal(s * 0.5, 0.8)
    probability = size * np.sqrt(y) / np.sqrt(y).sum()
    i = np.flatnonzero(rng.random(N) < probability)
    wrong = rng.random(len(i)) < 0.12
    label = np.array(["b", "a"])
    table = pl.DataFrame(
        {
            "id": i, "predicted": label[(s[i] ^ wrong).astype(int)], "y": y[i],
            "w": 1 / probability[i], "true": label[s[i].astype(int)],
        }
    )  # fmt: skip
    test = table.sample(n, seed=int(rng.integers(2**31)))
    return table.drop("true"), test, s, y


def test_without_errors_the_variance_is_the_textbook_s(rng):
    """All units audited, so that sampling is all the error: n/(n−1) Σ(z − z̄)², with replacement."""
    table, _, s, _ = survey(rng)
    label = np.array(["b", "a"])
    test = table.with_columns(true=pl.Series(label[s[table["id"].to_numpy()].astype(int)]))
    for value, z in (("y", table["y"] * table["w"]), (None, table["w"])):
        est = tu.correct(table, test, value=value, weight="w", draws=10_000, seed=fresh_seed())
        for row, name in zip(est.rows(), "ab", strict=True):
            own = (z * (test["true"] == name)).to_numpy()
            sd = np.sqrt(len(own) / (len(own) - 1) * ((own - own.mean()) ** 2).sum())
            assert row["naive"] == pytest.approx((z * (table["predicted"] == name)).sum())
            assert row["mean"] == pytest.approx(own.sum(), abs=5 * sd / 100)
            # Σz² of a class is inferred from that of its predictions
            assert row["sd"] == pytest.approx(sd, rel=0.12)
        effective = est.info["effective_size"]
        assert effective == pytest.approx(table["w"].sum() ** 2 / (table["w"] ** 2).sum())


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch")
def test_the_larger_population_is_covered():
    """The planted bug, no sampling error in the interval, is what a plain total of weights has."""
    z, sd, times = [], {"y": 0.0, "z": 0.0}, more(12)
    for i in range(times):
        rng = fresh(i)
        table, test, s, y = survey(rng, size=800, n=400)
        truth = y[s].sum()
        table, test = (x.with_columns(z=x["w"] * x["y"]) for x in (table, test))
        for options in ({"value": "y", "weight": "w"}, {"value": "z"}):
            row = tu.correct(table, test, draws=400, seed=i, **options).rows()[0]
            sd[options["value"]] += row["sd"] / times
            if "weight" in options:
                z.append((row["mean"] - truth) / row["sd"])
    assert np.square(z).mean() < 1 + 5 * np.sqrt(2 / times)
    assert sd["z"] < 0.6 * sd["y"]  # whose squared errors would have a mean of 3 and more


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("left", [1.0, 0.5])
def test_totals_have_the_right_mean_and_covariance(left, sign, rng):
    """n draws with replacement, times N/n, less the part of a finite population that is known."""
    m, n, R = np.array([4_000, 25_000, 11_000]), 40_000, 100_000
    U, size = sign * m * np.array([1.0, 3.0, 0.5]), n / (1 - left) if left < 1 else np.inf
    S = m * np.array([2.0, 9.5, 1.0])
    M = np.repeat(m[None, :, None], R, axis=0)
    units = larger_matrix(M, size, np.zeros(3), rng).sum(axis=2)
    finite = np.isfinite(size)
    drawn = larger_totals(np.tile(U, (R, 1)), np.tile(S, (R, 1)), M[:, :, 0], units, finite, rng)
    scale = size / n if finite else 1.0
    wanted = scale**2 * left * n / (n - 1) * (np.diag(S) - np.outer(U, U) / n)
    error = np.sqrt(np.diag(wanted) / R)
    assert (np.abs(drawn.mean(axis=0) - scale * U) < 5 * error).all()
    products = (drawn - scale * U)[:, :, None] * (drawn - scale * U)[:, None]
    error = products.std(axis=0) / np.sqrt(R)
    assert (np.abs(products.mean(axis=0) - wanted) < 5 * error).all()
    assert (sign * drawn > 0).all()


def test_equal_values_have_the_variance_of_counts():
    M = np.array([[[40, 10], [50, 300]]])
    v, ones = M[0].sum(axis=0), M[0].sum(axis=0).astype(float)
    assert class_squares(M.sum(axis=2).astype(float), M, v, ones, ones).tolist() == [[50, 350]]


def test_a_larger_population_s_totals(rng):
    """Twice the table has twice the total, and the sampling error of half its units."""
    table, test, *_ = survey(rng)
    options = {"value": "y", "draws": 6_000, "seed": fresh_seed()}
    own = tu.correct(table, test, **options).rows()[0]
    larger = tu.correct(table, test, sample_of=2 * len(table), **options).rows()[0]
    assert larger["naive"] == pytest.approx(2 * own["naive"])
    assert larger["mean"] == pytest.approx(2 * own["mean"], abs=5 * larger["sd"] / 50)
    assert larger["sd"] > 2 * own["sd"]
    same = tu.correct(table, test, sample_of=len(table), **options).rows()[0]
    assert same["lower"] == pytest.approx(own["lower"])


@pytest.mark.usefixtures("short_chains")
def test_weights_by_every_engine_and_from_the_command_line(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    table, test, *_ = survey(rng)
    table.write_csv("p.csv")
    test.write_csv("t.csv")
    table.write_parquet("p.parquet")
    options = {"value": "y", "weight": "w", "draws": 200, "seed": 1}
    first = tu.correct(table, test, **options)
    made = duckdb.sql("FROM 'p.parquet'")
    for source in ("p.csv", "p.parquet", table.lazy(), table.to_pandas(), table.to_arrow(), made):
        again = tu.correct(source, test, **options)
        assert again.draws == pytest.approx(first.draws, rel=1e-9)
    by_id = tu.correct(table, test.select("id", "true"), id="id", **options)
    assert by_id.draws == pytest.approx(first.draws, rel=1e-9)
    words = [
        "correct",
        "p.csv",
        "t.csv",
        "--value",
        "y",
        "--weight",
        "w",
        "--draws",
        "200",
        "--seed",
        "1",
        "--json",
        "--quiet",
    ]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.stderr
    assert '"effective_size"' in done.stdout


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (-1.0, {}, "some are negative"),
        (0.0, {}, "all are 0"),
        (None, {"by": "y"}, "cannot be combined with `by`"),
        (None, {"sample_of": "inf"}, "cannot be combined with `sample_of`"),
        (None, {"method": "difference"}, "a method with draws"),
        (None, {"weight": "ww"}, "must have a column 'ww'"),
        (None, {"weight": "predicted"}, "must hold numbers"),
        (float("nan"), {}, "usable value"),
    ],
)
def test_weights_that_cannot_be(change, options, words, rng):
    table, test, *_ = survey(rng)
    if change is not None:
        table = table.with_columns(w=pl.lit(change))
    with pytest.raises(tu.TrueupError, match=words):
        tu.correct(table, test, **{"weight": "w", "value": "y", "seed": 1} | options)


def warned(*tables, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tu.correct(*tables, **{"draws": 200, "seed": 1, "weight": "w"} | options)
    return [str(x.message) for x in found if "look like probabilities" in str(x.message)]


@pytest.mark.usefixtures("short_chains")
def test_probabilities_taken_for_weights_are_seen(rng):
    """Figures of 1,500 units would be of 60, and their intervals those of other units."""
    table, test, *_ = survey(rng)
    for options in ({}, {"value": "y"}, {"score": "score"}, {"design": "by_class"}):
        both = [x.with_columns(w=1 / pl.col("w"), score="y") for x in (table, test)]
        (text,) = warned(*both, **options)
        assert "the weight is 1 divided by them" in text
        assert ("probability='w'" in text) == ("design" not in options)
        if "design" not in options:  # the advice works when it is typed
            options.pop("score", None if "without `score`" in text else "kept")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tu.correct(*both, probability="w", draws=200, seed=1, **options)


@pytest.mark.parametrize(
    "scale",
    [
        lambda w: w,
        lambda w: w / w.mean(),  # many are below 1
        lambda w: w / w.sum(),  # figures are shares
        lambda w: pl.lit(1),
        lambda w: (w > 20).cast(int),  # who belongs to the population
    ],
    ids=["units", "mean 1", "shares", "ones", "scope"],
)
def test_weights_that_may_be_below_1_are_no_probabilities(scale, rng):
    table, test, *_ = survey(rng)
    table = table.with_columns(w=scale(pl.col("w")))
    test = test.drop("w").join(table.select("id", "w"), on="id")
    assert not warned(table, test)


def test_every_output_names_the_population_of_a_figure(tmp_path, rng):
    table, test, *_ = survey(rng)
    options = {"draws": 200, "seed": 1}
    for more_options, words in (
        ({"weight": "w"}, "the larger population that the weights in 'w' stand for"),
        ({"sample_of": 5_000}, "about the 5,000 units that these"),
        ({"sample_of": float("inf")}, "shares in the population that these"),
    ):
        est = tu.correct(table, test, **options, **more_options)
        est.report(tmp_path / "r.html")
        report = (tmp_path / "r.html").read_text("utf-8")
        for text in (str(est), est.to_markdown(), est.to_html(), report):
            assert words in " ".join(text.replace("&#x27;", "'").replace("&#39;", "'").split())
    assert "these" not in str(tu.correct(table, test, **options)).split("Warning")[0]


@pytest.mark.parametrize("sample_of", [30_000, "inf"])
def test_mean_values_and_accuracies_are_of_the_larger_population(sample_of, rng):
    """Every unit audited: means with the variance s²/m, less what a finite population knows.

    The planted bug, a total of the larger population over units of the table, is 20 times as large.
    """
    s = np.repeat(["a", "b"], [600, 900])
    predicted = np.where(np.arange(1500) % 10 == 0, "b", s)
    table = pl.DataFrame({"predicted": predicted, "y": rng.lognormal(0, 0.5, 1500)})
    test = table.with_columns(true=pl.Series(s))
    options = {"value": "y", "sample_of": sample_of, "draws": 4_000, "seed": fresh_seed()}
    est = tu.correct(table, test, **options)
    left = 1.0 if sample_of == "inf" else 1 - 1500 / sample_of
    for row, label in zip(est.mean_value(), "ab", strict=True):
        own = test.filter(pl.col("true") == label)["y"].to_numpy()
        half = 1.96 * own.std() * np.sqrt(left / len(own))
        assert row["estimate"] == pytest.approx(own.mean(), abs=half / 10)
        assert (row["upper"] - row["lower"]) / 2 == pytest.approx(half, rel=0.12)
    right = (predicted == s).mean()
    for measure in est.accuracy():
        assert measure["sd"] > 0
    assert measure["mean"] == pytest.approx(right, abs=0.001)
    assert measure["sd"] == pytest.approx(np.sqrt(left * right * (1 - right) / 1500), rel=0.1)


def test_the_overall_accuracy_of_three_classes_has_its_sampling_error(rng):
    """Nearly all audited: what is left is that the table is 900 of many."""
    n = np.array([[240, 20, 30], [25, 250, 15], [30, 20, 270]])
    est = tu.correct_counts(n, n.sum(axis=0) + 1, sample_of="inf", seed=fresh_seed())
    overall, right = est.accuracy()[-1], np.trace(n) / n.sum()
    assert overall["sd"] == pytest.approx(np.sqrt(right * (1 - right) / n.sum()), rel=0.1)


def test_what_describes_only_the_table_is_not_said_of_the_population(tmp_path, rng):
    table, test, *_ = survey(rng)
    est = tu.correct(table, test, value="y", weight="w", draws=100, seed=1)
    for figures in (est.mean_value, est.accuracy, est.error_matrix):
        with pytest.raises(tu.EstimateError, match="not known with `weight`"):
            figures()
    est.report(tmp_path / "r.html")
    report = (tmp_path / "r.html").read_text("utf-8")
    assert "Accuracies of the population are not known with `weight`" in report
    assert "Accuracy in the population" not in report


def test_units_with_weights_are_counts(tmp_path, rng):
    table, test, *_ = survey(rng)
    options = {"draws": 200, "seed": 1, "overlap": False}
    weighted = tu.correct(table, test, weight="w", **options)
    assert str(weighted).startswith("Corrected counts")
    plain = tu.correct(table, test[:-1], **options)
    assert [row["class"] for row in weighted.contrast(plain)] == list(weighted.classes)
    total = tu.correct(table, test, weight="w", value="y", **options)
    assert str(total).startswith("Corrected totals")
    with pytest.raises(tu.OptionError, match="both be counts, or both totals"):
        weighted.contrast(total)
    with pytest.raises(tu.OptionError, match="`mean_value` needs an estimate with `value`"):
        weighted.mean_value()
    text = weighted.report(tmp_path / "r.html").read_text("utf-8")
    assert "predicted total" not in text
    assert "umber of units" in text
