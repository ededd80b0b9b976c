"""Value columns that break arithmetic: an answer with finite figures that add up, or a sentence."""

import re
import warnings

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu

pytestmark = pytest.mark.usefixtures("short_chains")
N = 600


def giant(y):
    y = y.copy()
    y[7] = 9 * (y.sum() - y[7])  # 90% of the total
    return y


VALUES = {
    "constant": lambda rng, y: np.full(N, 3.5),
    "all zero": lambda rng, y: np.zeros(N),
    "mostly zeros": lambda rng, y: np.where(rng.random(N) < 0.9, 0.0, y),
    "negative": lambda rng, y: y - np.median(y),
    "all negative": lambda rng, y: -y,
    "a giant": lambda rng, y: giant(y),
    "1e-300 and 1e95": lambda rng, y: np.where(rng.random(N) < 0.5, 1e-300, 1e95),
    "whole range": lambda rng, y: 10.0 ** rng.uniform(-300, 95, N),
}


def tables(rng, values, n, design="random"):
    s = (rng.random(N) < 0.3).astype(int)
    s_hat = np.where(rng.random(N) < 0.1, 1 - s, s)
    population = pa.table({"predicted": s_hat, "y": VALUES[values](rng, rng.lognormal(0, 1, N))})
    i = rng.choice(N, n, replace=False)
    if design == "by_class":
        i = np.concatenate([np.flatnonzero(s == g)[: n // 2] for g in (0, 1)])
    return population, population.take(i).append_column("true", pa.array(s[i]))


@pytest.mark.usefixtures("one_batch", "few_draws")
@pytest.mark.parametrize(
    ("values", "design"),
    [*((v, d) for v in VALUES for d in ("random", "shifted")), ("mostly zeros", "by_class")],
)
def test_odd_values_have_an_answer_that_adds_up(rng, values, design):
    """NumPy's own warnings are errors here."""
    population, test_set = tables(rng, values, 60, design)
    options = {"value": "y", "design": design, "classes": [0, 1]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", tu.TrueupWarning)
        est = tu.correct(population, test_set, draws=200, seed=1, **options)
        found = tu.check(population, test_set, **options)
    figures = np.array([[row[k] for k in ("estimate", "lower", "upper")] for row in est.rows()])
    assert np.isfinite(figures).all()
    total = float(np.sum(population["y"].to_numpy()))
    scale = np.abs(population["y"].to_numpy()).sum()
    assert est.draws.sum(axis=1) == pytest.approx(total, abs=1e-9 * scale)
    if values == "constant":  # y ≡ 3.5 gives 3.5 times whole numbers
        assert est.draws / 3.5 == pytest.approx(np.rint(est.draws / 3.5), abs=1e-9)
    assert not re.search(r"\bnan\b|\binf\b", f"{est} {found}")


@pytest.mark.parametrize("values", ["constant", "mostly zeros", "a giant"])
def test_a_test_set_of_five(rng, values):
    """Too small to tell anything: it says so, and every figure is finite."""
    population, test_set = tables(rng, values, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", tu.TrueupWarning)
        est = tu.correct(population, test_set, value="y", classes=[0, 1], draws=200, seed=1)
    assert all(np.isfinite([row["lower"], row["upper"]]).all() for row in est.rows())
    assert any("test unit" in x for x in est.info["warnings"])


def test_a_band_without_a_test_unit(rng):
    """The largest units were never audited: their cell is learned from the others."""
    population, _ = tables(rng, "constant", 5)
    y = np.where(np.arange(N) < 90, 1000.0, rng.lognormal(0, 0.2, N))
    s = population["predicted"].to_numpy()
    population = pa.table({"predicted": s, "y": y})
    i = rng.choice(np.arange(90, N), 100, replace=False)
    test_set = population.take(i).append_column("true", pa.array(s[i]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", tu.TrueupWarning)
        est = tu.correct(population, test_set, value="y", draws=200, seed=1)
    assert est.draws.sum(axis=1) == pytest.approx(y.sum())
    assert any("those of a random sample" in x for x in est.info["warnings"])
