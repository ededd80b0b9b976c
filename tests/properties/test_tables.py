"""What must hold for every table: row order, copies, chunks, engines, threads, groups, seeds."""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import shorten_chains

import trueup as tu

CLASSES = ["a", "b", "c"]
OPTIONS = {"draws": 100, "seed": 3, "value": "y"}


@pytest.fixture(scope="module", autouse=True)
def short_chains():
    """What is exact needs no chain that has arrived."""
    with pytest.MonkeyPatch.context() as patch:
        shorten_chains(patch)
        yield


@st.composite
def tables(draw):
    """A population (group, predicted, y) and audited units of it (group, predicted, true, y)."""
    K = draw(st.integers(2, 3))
    label = st.sampled_from(CLASSES[:K])
    y = st.sampled_from([0.0, 0.25, 1.0, 2.5, 40.0])
    group = st.sampled_from(["x", "y", "z"])
    units = draw(st.lists(st.tuples(group, label, y), min_size=10, max_size=60))
    units += [(g, c, 1.0) for g in "xyz" for c in CLASSES[:K] for _ in range(3)]
    true = draw(st.lists(label, min_size=8, max_size=20))
    audited = [(g, p, t, v) for (g, p, v), t in zip(units[-len(true) :], true, strict=False)]
    audited += [("x", c, c, 1.0) for c in CLASSES[:K]]
    units += [("x", c, 1.0) for c in CLASSES[:K]]
    return units, audited


def frames(units, audited, make=None):
    columns = ["group", "predicted", "y"], ["group", "predicted", "true", "y"]
    if make is None:
        import polars as pl

        make = pl.DataFrame
    return tuple(
        make({name: [row[i] for row in rows] for i, name in enumerate(names)})
        for rows, names in zip((units, audited), columns, strict=True)
    )


def figures(est):
    return [[row[name] for name in ("naive", "estimate", "lower", "upper")] for row in est.rows()]


@settings(max_examples=8, deadline=None)
@given(table=tables(), order=st.integers(0, 2**32))
def test_the_order_of_rows_does_not_matter(table, order):
    units, audited = table
    one = figures(tu.correct(*frames(units, audited), **OPTIONS))
    shuffled = [random.Random(order).sample(rows, len(rows)) for rows in table]
    other = figures(tu.correct(*frames(*shuffled), **OPTIONS))
    assert np.allclose(one, other, rtol=1e-9, atol=1e-9)


@settings(max_examples=5, deadline=None)
@given(table=tables())
def test_copies_of_the_population_multiply_its_counts_and_sums(table):
    units, audited = table
    one = tu.correct(*frames(units, audited), overlap=False, **OPTIONS).counts
    three = tu.correct(*frames(3 * units, audited), overlap=False, **OPTIONS).counts
    assert (three.v_hat == 3 * one.v_hat).all()
    assert np.allclose(three.u_hat, 3 * one.u_hat)
    assert np.allclose(three.w_hat, 3 * one.w_hat)
    assert (three.n == one.n).all()


@settings(max_examples=5, deadline=None)
@given(table=tables(), ending=st.sampled_from(["csv", "parquet", "arrow"]), chunk=st.integers(1, 9))
def test_files_folders_and_frames_give_the_same_numbers(table, ending, chunk):
    """One file, several files of some rows each, and a frame: the same counts, the same draws."""
    units, audited = table
    population, test = frames(units, audited)
    wanted = figures(tu.correct(population, test, **OPTIONS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "many").mkdir()
        write = {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}[ending]
        getattr(population, write)(folder / f"one.{ending}")
        step = -(-len(units) // chunk)
        for i in range(0, len(units), step):
            getattr(population[i : i + step], write)(folder / "many" / f"{i}.{ending}")
        for source in (folder / f"one.{ending}", folder / "many"):
            assert np.allclose(figures(tu.correct(str(source), test, **OPTIONS)), wanted, rtol=1e-9)


@settings(max_examples=5, deadline=None)
@given(table=tables())
def test_engines_agree(table):
    import duckdb
    import pandas as pd
    import pyarrow as pa

    wanted = figures(tu.correct(*frames(*table), **OPTIONS))
    makers = [pd.DataFrame, pa.table]
    for make in makers:
        assert np.allclose(figures(tu.correct(*frames(*table, make), **OPTIONS)), wanted, rtol=1e-9)
    with duckdb.connect() as connection:
        relations = [connection.from_arrow(x) for x in frames(*table, pa.table)]
        assert np.allclose(figures(tu.correct(*relations, **OPTIONS)), wanted, rtol=1e-9)


@settings(max_examples=5, deadline=None)
@given(table=tables())
def test_a_constant_group_changes_nothing_and_is_the_whole(table):
    """`by` a column that is the same for all: that group is the whole, draw by draw."""
    units = [("x", p, y) for _, p, y in table[0]]
    audited = [("x", p, t, y) for _, p, t, y in table[1]]
    est = tu.correct(*frames(units, audited), by="group", keep_draws=True, **OPTIONS)
    assert est.draws.shape[1] == 1
    assert np.allclose(est.draws[:, 0], est.whole, rtol=1e-9)
    assert np.allclose(est.whole.sum(axis=1), sum(y for *_, y in units))


@settings(max_examples=4, deadline=None)
@given(table=tables(), cut=st.integers(0, 2**32))
def test_splitting_a_group_keeps_every_sum(table, cut):
    """Groups add up to the whole however they are cut: counts, sums and every draw."""
    rng = random.Random(cut)
    whole = tu.correct(*frames(*table), by="group", keep_draws=True, **OPTIONS)
    halves = [(g + rng.choice("12"), p, y) for g, p, y in table[0]]
    # an audited unit's group must be one that the population has
    known = sorted({g for g, *_ in halves})
    tests = [(next(k for k in known if k.startswith(g)), p, t, y) for g, p, t, y in table[1]]
    split = tu.correct(
        *frames(halves, tests), by="group", keep_draws=True, overlap=False, **OPTIONS
    )
    assert np.allclose(split.counts.u_hat, whole.counts.u_hat)
    assert np.allclose(split.draws.sum(axis=1), split.whole, rtol=1e-9)
    naive = {}
    for row in split.rows():
        if row["group"] is not None:
            key = row["group"][0], row["class"]
            naive[key] = naive.get(key, 0.0) + row["naive"]
    for row in whole.rows():
        if row["group"] is not None:
            assert naive[row["group"], row["class"]] == pytest.approx(row["naive"])


@settings(max_examples=8, deadline=None)
@given(table=tables())
def test_relabelling_classes_relabels_the_counts(table):
    units, audited = table
    new = dict(zip("abc", ["zeta", "alpha", "mid"], strict=True))
    one = tu.correct(*frames(units, audited), **OPTIONS)
    other = tu.correct(
        *frames(
            [(g, new[p], y) for g, p, y in units],
            [(g, new[p], new[t], y) for g, p, t, y in audited],
        ),
        classes=[new[c] for c in one.classes],
        **OPTIONS,
    )
    # in the same order, so that even the draws are the same
    assert other.classes == tuple(new[c] for c in one.classes)
    assert np.array_equal(one.draws, other.draws)


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**64))
def test_a_seed_repeats_a_chain_and_another_does_not(seed):
    from trueup.draws.samplers import draw_full

    a, v_hat = np.full((2, 2), 0.5) + 3 * np.eye(2), np.array([30, 50])

    def draws(number):
        rng = np.random.default_rng(number)
        return draw_full(a, np.ones(2), v_hat, 100, rng).P

    assert np.array_equal(draws(seed), draws(seed))
    assert not np.array_equal(draws(seed), draws(seed + 1))
