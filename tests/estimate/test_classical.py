"""The classical estimators against unit-level formulas, exact variances and invariances."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimate.test_classical_published import run

from trueup.errors import EstimateError
from trueup.estimate import classical

ESTIMATORS = {
    "calibrated": lambda x, **k: run(classical.calibrated, *[*x.values()][:4], **k),
    "difference": lambda x, **k: run(classical.difference, *x.values(), **k),
    "plain": lambda x, **k: run(classical.difference, *x.values(), power_tuning=False, **k),
    "test_set": lambda x, **k: run(classical.test_set, *x.values(), **k),
    "test_set by prediction": lambda x, **k: run(
        classical.test_set, *x.values(), design="by_prediction", **k
    ),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def sums(s, s_hat, y, audited, K):
    """Sum units to cells; every unit has a true class, which only the audited ones show."""

    def table(x):
        out = np.zeros((K, K))
        np.add.at(out, (s[audited], s_hat[audited]), x[audited])
        return out

    v_hat, u_hat, w_hat = (np.bincount(s_hat, y**p, K) for p in (0, 1, 2))
    n, t, t2 = (table(y**p) for p in (0, 1, 2))
    return {"n": n, "v_hat": v_hat, "u_hat": u_hat, "w_hat": w_hat, "t": t, "t2": t2}


@st.composite
def populations(draw):
    """Draw a population and a test set, with at least two audited units per predicted class."""
    K = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    N = 60 * K
    s_hat = np.concatenate([np.repeat(np.arange(K), 5), rng.integers(0, K, N - 5 * K)])
    s = np.where(rng.random(N) < draw(st.floats(0.05, 0.6)), rng.integers(0, K, N), s_hat)
    y = rng.lognormal(0.0, draw(st.floats(0.1, 1.5)), N)
    first = np.concatenate([np.flatnonzero(s_hat == h)[:3] for h in range(K)])
    audited = np.unique(np.concatenate([first, rng.permutation(N)[:20]]))
    return sums(s, s_hat, y, audited, K)


@every_estimator
@given(x=populations(), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_relabelling_permutes(estimator, x, seed):
    order = np.random.default_rng(seed).permutation(len(x["v_hat"]))
    moved = {k: a[np.ix_(order, order)] if a.ndim == 2 else a[order] for k, a in x.items()}
    before, after = estimator(x), estimator(moved)
    np.testing.assert_allclose(after.estimate, before.estimate[order])
    np.testing.assert_allclose(after.sd, before.sd[order], rtol=1e-6, atol=1e-6)


@every_estimator
@given(x=populations(), c=st.floats(0.01, 1000))
@settings(max_examples=25, deadline=None)
def test_scaling_y_scales(estimator, x, c):
    scaled = x | {"u_hat": c * x["u_hat"], "w_hat": c * c * x["w_hat"]}
    scaled |= {"t": c * x["t"], "t2": c * c * x["t2"]}
    before, after = estimator(x), estimator(scaled)
    for name in ("estimate", "sd", "lower", "upper"):
        wanted = c * getattr(before, name)
        np.testing.assert_allclose(getattr(after, name), wanted, rtol=1e-6, atol=1e-6 * c)


@every_estimator
@given(x=populations())
@settings(max_examples=25, deadline=None)
def test_counts_are_totals_of_ones(estimator, x):
    counts = x | {"u_hat": None, "w_hat": None, "t": None, "t2": None}
    ones = x | {"u_hat": x["v_hat"], "w_hat": x["v_hat"], "t": x["n"], "t2": x["n"]}
    for name in ("estimate", "sd", "lower", "upper"):
        np.testing.assert_allclose(
            getattr(estimator(counts), name), getattr(estimator(ones), name), atol=1e-9
        )


@pytest.mark.parametrize("name", ["calibrated", "plain"])
@given(x=populations())
@settings(max_examples=25, deadline=None)
def test_classes_add_up_to_the_total(name, x):
    counts = x | {"u_hat": None, "w_hat": None, "t": None, "t2": None}
    np.testing.assert_allclose(ESTIMATORS[name](x).estimate.sum(), x["u_hat"].sum())
    np.testing.assert_allclose(ESTIMATORS[name](counts).estimate.sum(), x["v_hat"].sum())


@given(x=populations())
@settings(max_examples=25, deadline=None)
def test_counts_by_prediction_are_calibrated(x):
    """With the finite population correction, if much was audited, and without it."""
    audited = x["n"].sum(axis=0)
    for v_hat in (1e9 * x["v_hat"], 3 * audited, audited):
        calibrated = run(classical.calibrated, x["n"], v_hat)
        expanded = run(classical.test_set, x["n"], v_hat, design="by_prediction")
        np.testing.assert_allclose(expanded.estimate, calibrated.estimate)
        np.testing.assert_allclose(expanded.sd, calibrated.sd, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["calibrated", "plain"])
def test_a_perfect_test_set_leaves_the_sums(name):
    n, v_hat = np.diag([5.0, 7, 9]), np.array([30.0, 40, 80])
    y = np.array([2.0, 3, 10])
    x = {"n": n, "v_hat": v_hat, "u_hat": y * v_hat, "w_hat": y**2 * v_hat}
    x |= {"t": y * n, "t2": y**2 * n}
    point = ESTIMATORS[name](x, classes=["a", "b", "c"])
    np.testing.assert_allclose(point.estimate, x["u_hat"])
    if name == "calibrated":
        np.testing.assert_array_equal(point.sd, 0)
        assert "['a', 'b', 'c']" in classical.no_width(point.sd, ["a", "b", "c"])[0]


@every_estimator
def test_unit_level_formulas(estimator):
    """The cell sums lose nothing: the same figures straight from the units."""
    rng = np.random.default_rng(5)
    K, N = 3, 400
    s_hat = rng.integers(0, K, N)
    s = np.where(rng.random(N) < 0.3, rng.integers(0, K, N), s_hat)
    y = rng.lognormal(0, 1, N)
    audited = rng.permutation(N)[:60]
    x = sums(s, s_hat, y, audited, K)
    m, point = len(audited), estimator(x)
    for g in range(K):
        a, f = y * (s == g), y * (s_hat == g)
        a_test, f_test = a[audited], f[audited]
        if estimator is ESTIMATORS["plain"]:
            estimate = f.sum() + N / m * (a_test - f_test).sum()
            sd = N * np.sqrt(f.var() / N + (a_test - f_test).var() / m)
        elif estimator is ESTIMATORS["difference"]:
            pooled = np.concatenate([f, f_test]).var(ddof=1)
            lam = np.cov(a_test, f_test, ddof=0)[0, 1] / ((1 + m / N) * pooled)
            lam = min(max(lam, 0), 1)
            estimate = lam * f.sum() + N / m * (a_test - lam * f_test).sum()
            sd = N * np.sqrt((lam * f).var() / N + (a_test - lam * f_test).var() / m)
        elif estimator is ESTIMATORS["test_set"]:
            estimate = N * a_test.mean()
            sd = N * np.sqrt((1 - m / N) * a_test.var(ddof=1) / m)
        else:
            estimate = variance = 0.0
            for h in range(K):
                in_test, v = s_hat[audited] == h, (s_hat == h).sum()
                m_h = in_test.sum()
                if estimator is ESTIMATORS["calibrated"]:
                    c, y_h = (s[audited][in_test] == g).mean(), y[s_hat == h]
                    estimate += y_h.sum() * c
                    scale = c * (1 - c) * m_h / (m_h - 1)
                    left = 1 - m_h / v  # more than 5% of each class
                    variance += scale * (left * y_h.sum() ** 2 / m_h + v * y_h.var())
                else:
                    estimate += v * a_test[in_test].mean()
                    variance += v**2 * (1 - m_h / v) * a_test[in_test].var(ddof=1) / m_h
            sd = np.sqrt(variance)
        np.testing.assert_allclose(point.estimate[g], estimate)
        np.testing.assert_allclose(point.sd[g], sd)


def replicate(rng, c, y_of, m_of, R):
    """Draw R sets of true classes and test sets within predicted classes; errors and variances.

    K = 2, class 0. The audited units are the first m_h of every predicted class: their values are
    exchangeable with the others' and their true classes are drawn anew every time.
    """
    estimate, truth, variance = np.zeros(R), np.zeros(R), np.zeros(R)
    tables = np.zeros((R, 2, 2))
    for h, (y, m) in enumerate(zip(y_of, m_of, strict=True)):
        in_0 = rng.random((R, len(y))) < c[h]
        truth += in_0 @ y
        tables[:, 0, h] = in_0[:, :m].sum(axis=1)
        tables[:, 1, h] = m - tables[:, 0, h]
    v_hat, u_hat, w_hat = ([(y**p).sum() for y in y_of] for p in (0, 1, 2))
    for r in range(R):
        point = run(classical.calibrated, tables[r], v_hat, u_hat, w_hat, design="by_prediction")
        estimate[r], variance[r] = point.estimate[0], point.sd[0] ** 2
    return estimate - truth, variance


def test_calibrated_totals_have_the_variance_they_say():
    """Against the exact variance of the error; without the spread of y it would be 30% too small.

    With overlap, Var = Σ c(1−c)·[û²/n − 2û·Σ_test y/n + ŵ].
    """
    rng = np.random.default_rng(17)
    c, m_of, R = (0.7, 0.1), (150, 200), 4000
    y_of = [rng.lognormal(0, 1.2, size) for size in (600, 900)]
    # An audited part that is like the rest: the first m_h have the mean of their class.
    y_of = [y * np.where(np.arange(len(y)) < m, y.mean() / y[:m].mean(), 1.0)
            for y, m in zip(y_of, m_of, strict=True)]  # fmt: skip
    error, variance = replicate(rng, c, y_of, m_of, R)
    exact = spread = 0.0
    for c_h, y, m in zip(c, y_of, m_of, strict=True):
        u, w, v = y.sum(), (y**2).sum(), len(y)
        exact += c_h * (1 - c_h) * (u**2 / m - 2 * u * y[:m].sum() / m + w)
        spread += c_h * (1 - c_h) * (w - u**2 / v)
    tolerance = 5 * np.sqrt(2 / R)
    assert abs(error.mean()) < 5 * np.sqrt(exact / R)
    assert abs((error**2).mean() / exact - 1) < tolerance
    assert abs(variance.mean() - exact) < 5 * variance.std() / np.sqrt(R)
    assert spread / exact > 0.3


@pytest.mark.parametrize("overlap", [True, False])
def test_test_set_covers(overlap):
    """Coverage of a realised total within binomial bounds, by both signs of 1/N."""
    rng = np.random.default_rng(23)
    R, N, m, level = 3000, 300, 150, 0.9
    hits = np.zeros(R, dtype=bool)
    for r in range(R):
        source = rng.random((2, N)) < np.array([[0.4], [0.4]])
        tested = source[0, :m] if overlap else source[1, :m]
        k = tested.sum()
        point = run(
            classical.test_set, [[k, 0], [0, m - k]], [100, 200], overlap=overlap, interval=level
        )
        hits[r] = point.lower[0] <= source[0].sum() <= point.upper[0]
    # 5 standard errors, and 0.02 for the discreteness of a binomial count.
    assert abs(hits.mean() - level) < 5 * np.sqrt(level * (1 - level) / R) + 0.02


@pytest.mark.parametrize("few", [0, 1])
@pytest.mark.parametrize("name", ["calibrated", "test_set by prediction"])
def test_a_predicted_class_with_too_few_test_units(name, few):
    x = {"n": np.array([[9, few], [3, 0]]), "v_hat": [50, 4], "u_hat": None, "w_hat": None}
    x |= {"t": None, "t2": None}
    with pytest.raises(EstimateError, match=rf"{{'rare': {few}}}.*\n\nHint: merge"):
        ESTIMATORS[name](x, classes=["common", "rare"])


@pytest.mark.parametrize("name", ["calibrated", "test_set by prediction"])
def test_a_predicted_class_that_does_not_occur_is_no_problem(name):
    x = {"n": np.array([[9, 0], [3, 0]]), "v_hat": [60, 0], "u_hat": None, "w_hat": None}
    x |= {"t": None, "t2": None}
    np.testing.assert_allclose(ESTIMATORS[name](x).estimate, [45, 15])


@pytest.mark.parametrize("name", ["difference", "plain", "test_set"])
def test_one_test_unit_is_too_few(name):
    x = {"n": np.array([[1, 0], [0, 0]]), "v_hat": [60, 5], "u_hat": None, "w_hat": None}
    x |= {"t": None, "t2": None}
    with pytest.raises(EstimateError, match=r"at least 2 test units.*got 1"):
        ESTIMATORS[name](x)


@pytest.mark.parametrize("design", ["by_prediction", "by_class", "shifted"])
def test_difference_needs_a_random_test_set(design):
    with pytest.raises(EstimateError, match=rf"drawn at random.*'{design}'.*\n\nHint: use method"):
        run(classical.difference, [[4, 1], [2, 3]], [10, 90], design=design)


@pytest.mark.parametrize("design", ["by_class", "shifted"])
def test_designs_that_say_nothing_of_the_shares(design):
    with pytest.raises(EstimateError, match=rf"'{design}'.*\n\nHint: use method='constrained'"):
        run(classical.test_set, [[4, 1], [2, 3]], [10, 90], design=design)
    warned = run(classical.calibrated, [[4, 1], [2, 3]], [10, 90], design=design)
    assert f"{design!r} does not allow" in warned.info["warnings"][0]
    plain = run(classical.calibrated, [[4, 1], [2, 3]], [10, 90])
    np.testing.assert_array_equal(warned.estimate, plain.estimate)


@pytest.mark.parametrize("method", [classical.difference, classical.test_set])
def test_totals_need_the_values_of_the_test_units(method):
    with pytest.raises(EstimateError, match=r"Σy and Σy².*\n\nHint: call tu.correct"):
        run(method, [[4, 1], [2, 3]], [10, 90], [5, 5])


def test_more_test_units_than_population():
    with pytest.raises(EstimateError, match="overlap=False"):
        run(classical.test_set, [[4, 1], [2, 3]], [2, 3])
    assert run(classical.test_set, [[4, 1], [2, 3]], [2, 3], overlap=False).estimate.sum() == 5


def test_totals_without_squares_say_so():
    n, v_hat, u_hat = np.array([[8, 2], [3, 9]]), [40, 60], [100.0, 90]
    narrow = run(classical.calibrated, n, v_hat, u_hat)
    wide = run(classical.calibrated, n, v_hat, u_hat, [900.0, 500])
    assert "predicted_squares" in narrow.info["warnings"][0]
    assert wide.info["warnings"] == []
    assert np.all(narrow.sd < wide.sd)
    stand_in = run(classical.difference, n, v_hat, u_hat, None, 2.0 * n, 5.0 * n)
    given_them = run(
        classical.difference, n, v_hat, u_hat, 100 / 22 * (5.0 * n).sum(0), 2.0 * n, 5.0 * n
    )
    assert "predicted_squares" in stand_in.info["warnings"][0]
    np.testing.assert_allclose(stand_in.sd, given_them.sd)


def test_a_class_that_is_never_predicted_has_no_tuning():
    point = run(classical.difference, [[5, 3, 0], [1, 9, 0], [1, 1, 0]], [40, 60, 0])
    assert point.info["tuning"][2] == 0
    assert np.isfinite(point.sd).all()
    np.testing.assert_allclose(point.estimate[2], 100 * 2 / 20)


def test_scipy_stats_is_not_imported():
    code = "import sys, trueup.estimate.classical; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_calibrated_totals_use_the_audited_values(rng):
    """Class means tenfold apart: shares of units miss the totals, shares of value do not."""
    inside = {True: 0, False: 0}
    replications, N, n = 200, 4_000, 400
    for _ in range(replications):
        s = (rng.random(N) < 0.3).astype(int)
        s_hat = np.where(rng.random(N) < 0.15, 1 - s, s)
        y = rng.lognormal(0, 0.5, N) * np.where(s == 1, 10.0, 1.0)
        i = rng.choice(N, n, replace=False)
        v, u, w = (np.bincount(s_hat, y**k, 2) for k in (0, 1, 2))
        cells = [np.zeros((2, 2)) for _ in range(3)]
        for k, cell in enumerate(cells):
            np.add.at(cell, (s[i], s_hat[i]), y[i] ** k)
        truth = y[s == 1].sum()
        for informed in (True, False):
            values = cells[1:] if informed else []
            found = run(classical.calibrated, cells[0], v, u, w, *values)
            inside[informed] += found.lower[1] <= truth <= found.upper[1]
    assert inside[True] / replications > 0.94 - 5 * np.sqrt(0.94 * 0.06 / replications)
    assert inside[False] / replications < 0.5
