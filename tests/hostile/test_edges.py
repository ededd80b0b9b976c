"""Input at the edges, kind by kind: what the fuzzer found, and what it would take long to find."""

import contextlib
import warnings

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu

TEST = [[40, 3], [4, 30]]


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e90])
@pytest.mark.parametrize("design", ["random", "shifted"])
def test_values_of_any_size_that_a_float_holds(scale, design):
    """Squares of squares once overflowed: now the answer scales with the values."""
    sums, squares = np.array([900.0, 1100.0]), np.array([9e3, 9e3])
    options = {"design": design, "draws": 500, "seed": 1, "overlap": False}
    one = tu.correct_counts(TEST, [430, 330], sums, squares, **options).rows()
    with np.errstate(all="raise", under="ignore"):
        other = tu.correct_counts(
            TEST, [430, 330], sums * scale, squares * scale * scale, **options
        )
    for a, b in zip(one, other.rows(), strict=True):
        assert b["estimate"] / scale == pytest.approx(a["estimate"], rel=0.02)
        assert b["upper"] / scale == pytest.approx(a["upper"], rel=0.02)


@pytest.mark.parametrize("x", [1e101, -1e101, 1e308])
def test_values_beyond_have_a_clear_limit(x):
    with pytest.raises(tu.DataError, match="at most 1e\\+100"):
        tu.correct_counts(TEST, [430, 330], [x, 1.0])


def test_a_table_whose_sum_is_too_large(tmp_path):
    (tmp_path / "p.csv").write_text("predicted,y\n" + "a,1e308\nb,1e308\n" * 20)
    (tmp_path / "t.csv").write_text("predicted,true,y\n" + "a,a,1\nb,b,1\na,b,1\nb,a,1\n" * 4)
    with pytest.raises(tu.TrueupError):
        tu.correct(str(tmp_path / "p.csv"), str(tmp_path / "t.csv"), value="y", draws=100)


def test_ten_thousand_classes_have_a_clear_limit(tmp_path):
    labels = [f"class {i}" for i in range(10_000)]
    (tmp_path / "p.csv").write_text("predicted\n" + "\n".join(labels) + "\n")
    (tmp_path / "t.csv").write_text("predicted,true\n" + "".join(f"{x},{x}\n" for x in labels))
    with pytest.raises(tu.ClassError, match="at most 500 classes; got 10000"):
        tu.correct(str(tmp_path / "p.csv"), str(tmp_path / "t.csv"))


@pytest.mark.parametrize(
    "names",
    [
        ("é", "e\u0301"),  # the same to the eye, two classes to a machine
        ("日本語", "🏪"),
        ("x" * 100_000, "x" * 99_999 + "y"),
        ("\u202eabc", "abc"),
        ("a,b", 'a"b'),
        ("a\nb", "a b"),
        (" a", "a"),
        ("=1+1", "-2"),
    ],
    ids=["accents", "scripts", "long", "bidi", "quotes", "newline", "space", "formula"],
)
def test_class_names_come_back_as_they_are(tmp_path, names):
    import csv

    def write(name, header, rows):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        return str(tmp_path / name)

    a, b = names
    population = write("p.csv", ["predicted"], [[a]] * 30 + [[b]] * 20)
    test = write("t.csv", ["predicted", "true"], [[a, a], [b, b]] * 8 + [[a, b], [b, a]])
    est = tu.correct(population, test, draws=100)
    units = dict(zip(est.classes, est.counts.v_hat.tolist(), strict=True))
    assert units == {a: 30, b: 20}
    assert {row["class"] for row in est.rows()} == {a, b}
    str(est)


def test_data_that_contradict_each_other_end_in_time():
    """Chains that sit in places of their own once ran for 44 seconds; now they say so in three."""
    from trueup.draws.samplers import draw_constrained

    a = np.array([[29, 33, 6, 36], [31, 17, 9, 28], [4, 10, 29, 26], [12, 37, 30, 27]]) + 0.5
    draws = draw_constrained(a, np.array([19, 21, 1200, 40.0]), 100, np.random.default_rng(0))
    assert draws.info["sampler"] == "rejection" or draws.info["sweeps"] <= 12_000
    assert draws.info["rhat"] is None or draws.info["rhat"] < 1.01 or draws.info["warnings"]
    assert draws.info["contradicted"] == [2]


def test_arrow_data_that_point_outside_their_buffers_are_refused(tmp_path):
    """DuckDB followed such offsets and the process died."""
    import pyarrow as pa

    offsets = np.array([0, 1, 2, 2_000_000_000], dtype=np.int32)
    good = pa.table({"predicted": ["a", "b", "a"], "true": ["a", "b", "b"]})
    for name, table in (("p", pa.table({"predicted": pa.array(["a", "b", "a"])})), ("t", good)):
        with pa.ipc.new_file(str(tmp_path / f"{name}.arrow"), table.schema) as file:
            file.write_table(table)
    content = (tmp_path / "p.arrow").read_bytes()
    sound = np.array([0, 1, 2, 3], dtype=np.int32).tobytes()
    assert sound in content
    (tmp_path / "p.arrow").write_bytes(content.replace(sound, offsets.tobytes()))
    with pytest.raises(tu.DataError, match="must be a readable Arrow file"):
        tu.correct(str(tmp_path / "p.arrow"), str(tmp_path / "t.arrow"), draws=100)


@pytest.mark.parametrize("text", ["4,1\x00;2,3.csv", "\x00.csv", "x" * 5000 + ".csv"])
def test_a_path_that_cannot_be_one(text):
    from trueup.cli.matrix import parse_matrix

    with pytest.raises(tu.TrueupError, match="--test"):
        parse_matrix("--test", text)


def test_counts_whose_sum_overflows_are_refused_without_a_warning_of_numpy():
    with np.errstate(all="raise"), pytest.raises(tu.DataError, match=r"at most 9,007"):
        tu.correct_counts([[1.7e308, 1.7e308], [1, 1]], [5, 5])


def test_a_population_that_was_audited_whole():
    """Nothing is left to estimate, so nothing can be doubted: once a division by almost 0."""
    with np.errstate(all="raise", under="ignore"):
        est = tu.correct_counts([[5, 1], [2, 8]], [7, 9], design="by_class", draws=100, seed=1)
    assert [row["estimate"] for row in est.rows()] == [6, 10]
    (words,) = est.info["warnings"]
    assert words.startswith("All 16 units of the population are in the test set")
    y = [1.1, 0.3, 7.7, 2.9]  # planted bugs: "few were predicted wrongly"; a sd of 1e-13
    units = pa.table({"id": [0, 1, 2, 3], "predicted": ["a", "a", "b", "b"], "y": y})
    audited = units.append_column("true", [["a", "b", "b", "b"]])
    est = tu.correct(units, audited, id="id", value="y", seed=1)
    assert [row["sd"] for row in est.rows()] == [0, 0]
    assert len(est.info["warnings"]) == 1


def test_a_first_draw_that_has_no_permissible_weight_is_not_a_warning_of_numpy():
    """All weights may be 0 for data that contradict each other: −∞ less −∞."""
    try:
        with np.errstate(all="raise", under="ignore", divide="ignore"):
            tu.correct_counts(
                [[22, 27], [15, 9]], [34, 0], method="bayes", design="shifted", prior="jeffreys",
                draws=100, seed=42385605862781 % 2**32,
            )  # fmt: skip
    except tu.EstimateError:
        pass  # refused in words


ODD = {
    "no test unit": ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [20, 50, 30]),
    "a class without test units": ([[9, 1, 0], [0, 0, 0], [1, 2, 5]], [20, 50, 30]),
    "a class never predicted right": ([[0, 9, 0], [9, 0, 1], [0, 1, 9]], [20, 50, 30]),
    "rows alike": ([[30, 32, 28], [29, 33, 30], [31, 30, 29]], [300, 200, 260]),
    "one class dominates": ([[9, 1, 0], [1, 7, 1], [0, 2, 5]], [1, 10**9, 2]),
    "counts at odds": ([[900, 9, 1], [9, 900, 9], [1, 9, 900]], [1, 1, 998]),
    "no unit of a class predicted": ([[9, 1, 0], [1, 7, 1], [0, 2, 5]], [60, 40, 0]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(
    "options",
    [
        {"design": "random"},
        {"design": "random", "method": "bayes"},
        {"design": "shifted"},
        {"design": "shifted", "alpha": 1e-3},
        {"design": "by_class"},
        {"design": "by_class", "gamma": 1e-6},
        {"design": "by_class", "alpha": 1e-4, "gamma": 1e-2},
    ],
    ids=str,
)
def test_no_warning_of_numpy_reaches_a_user(name, options):
    options, prior = dict(options), {}
    for which in ("alpha", "gamma"):
        if which in options:
            prior[which] = np.full((3, 3) if which == "alpha" else 3, options.pop(which))
    if prior:
        options["prior"] = tu.Dirichlet(**({"alpha": np.full((3, 3), 1 / 3)} | prior))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", tu.TrueupWarning)
        with contextlib.suppress(tu.TrueupError):
            tu.correct_counts(*ODD[name], draws=200, seconds=0.2, seed=1, overlap=False, **options)
