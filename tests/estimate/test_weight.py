"""Survey weights, and totals of a larger population: the sampling error is in the interval."""

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.seeds import fresh, fresh_seed, more

import trueup as tu
from trueup.aggregate.larger import class_squares, resampled
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
def test_the_larger_population_is_covered():
    """The planted bug, no sampling error in the interval, is what a plain total of weights has."""
    z, sd, times = [], {"y": 0.0, "z": 0.0}, more(18)
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


def test_factors_have_the_right_mean_and_covariance(rng):
    U, S, n, R = np.array([30.0, 500.0, 90.0]), np.array([200.0, 900.0, 150.0]), 400, 200_000
    drawn = resampled(np.tile(U, (R, 1)), np.tile(S, (R, 1)), n, 0.5, rng)
    wanted = 0.5 * n / (n - 1) * (np.diag(S) - np.outer(U, U) / n)
    error = np.sqrt(np.diag(wanted) / R)
    assert (np.abs(drawn.mean(axis=0) - U) < 5 * error).all()
    products = (drawn - U)[:, :, None] * (drawn - U)[:, None]
    error = products.std(axis=0) / np.sqrt(R)
    assert (np.abs(products.mean(axis=0) - wanted) < 5 * error).all()
    assert (drawn > 0).all()
    signed = resampled(np.tile(-U, (R, 1)), np.tile(S, (R, 1)), n, 0.5, rng)
    assert (np.abs(np.cov(signed.T) - wanted) < 6 * error).all()


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
        (None, {"by": "predicted"}, "cannot be combined with `by`"),
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
