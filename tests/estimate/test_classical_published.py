"""The classical estimators against printed figures and against another package.

Sources of the printed figures (the papers have the map, i.e. predicted, class in the rows; here
rows are true, hence the ``.T``):

* Olofsson et al. (2014), Remote Sensing of Environment 148:42–57, Table 8 and the results beside
  it (p. 54). Matrix and map areas as re-typed in the R package mapaccuracy (``olofsson.R``, its
  second example) and in accuracyAssessmentTools. Two repositories quote 235,086 ± 68,418 pixels of
  deforestation as the paper's result: satscout (README) and a Google Earth Engine script that was
  checked against the paper; a third (``dft_accuracy_estimate``) has it as 21,158 ha.
* Olofsson et al. (2013), the same 129:122–131, Table 4. Matrix, map areas and the printed shares
  .026, .598, .376 as re-typed in the tests of the R package teamlucc (``test-accuracy.R``), which
  also hold the areas, standard errors and half-widths below, to the hectare. The tests of the R
  package MapAccuracy (albhasan) hold the limits at ± 2 standard errors. The text of the paper
  rounds on the way, and mapaccuracy notes a typing error in one of its limits, so figures
  from the running text are not used.
"""

import numpy as np
import pytest
from scipy.special import ndtri

from trueup.count.counts import Counts
from trueup.draws.settings import make_settings
from trueup.estimate import classical

MAP_2014 = np.array([[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]])
PIXELS_2014 = np.array([200_000, 150_000, 3_200_000, 6_450_000])
MAP_2013 = np.array([[97, 0, 3], [3, 279, 18], [2, 1, 97]])
HECTARES_2013 = np.array([22_353, 1_122_543, 610_228])


def run(method, n, v_hat, *sums, classes=None, overlap=True, power_tuning=None, **options):
    """Answer of a classical method, from arrays in the order of `Counts`."""
    n, v_hat, *sums = (None if x is None else np.asarray(x, float) for x in (n, v_hat, *sums))
    counts = Counts(tuple(classes or range(len(n))), n, v_hat, *sums)
    own = {} if power_tuning is None else {"power_tuning": power_tuning}
    return method(counts, make_settings(len(n), overlap=overlap, **options), **own)


@pytest.mark.parametrize("design", ["random", "by_prediction"])
def test_olofsson_2014(design):
    area = run(classical.calibrated, MAP_2014.T, PIXELS_2014, design=design)
    assert round(area.estimate[0]) == 235_086
    assert round(1.96 * area.sd[0]) == 68_418
    hectares = run(classical.calibrated, MAP_2014.T, PIXELS_2014 * 0.09, design=design)
    assert round(hectares.estimate[0]) == 21_158
    assert 1.96 * hectares.sd[0] == pytest.approx(68_418 * 0.09, abs=0.05)
    assert area.info["warnings"] == []


def test_olofsson_2014_transposed_is_wrong():
    area = run(classical.calibrated, MAP_2014, PIXELS_2014)
    assert abs(area.estimate[0] - 235_086) > 10_000


def test_olofsson_2013():
    area = run(classical.calibrated, MAP_2013.T, HECTARES_2013, design="by_prediction")
    shares = area.estimate / HECTARES_2013.sum()
    np.testing.assert_array_equal(np.round(shares, 3), [0.026, 0.598, 0.376])
    np.testing.assert_array_equal(np.round(area.estimate), [45_112, 1_050_067, 659_944])
    np.testing.assert_array_equal(np.round(area.sd), [10_751, 17_652, 18_636])
    np.testing.assert_array_equal(np.round(1.96 * area.sd), [21_073, 34_598, 36_526])
    np.testing.assert_allclose(
        [area.estimate - 2 * area.sd, area.estimate + 2 * area.sd],
        [[23609.59, 1014763.18, 622672.62], [66615.21, 1085371.36, 697216.04]],
        atol=0.006,
    )


def test_olofsson_interval_is_normal():
    area = run(classical.calibrated, MAP_2013.T, HECTARES_2013, interval=0.9)
    half = 1.6448536269514722 * area.sd
    np.testing.assert_allclose(area.lower, area.estimate - half)
    np.testing.assert_allclose(area.upper, area.estimate + half)


def test_cochran_proportion():
    """With one true class against the rest this is Cochran's N·p ± with pq/(n−1)·(1−f)."""
    n, v_hat = np.array([[30, 10], [5, 55]]), np.array([400, 600])
    p, m, N = 0.4, 100, 1000
    expanded = run(classical.test_set, n, v_hat)
    np.testing.assert_allclose(expanded.estimate, [400, 600])
    np.testing.assert_allclose(expanded.sd, N * np.sqrt(p * (1 - p) / (m - 1) * (1 - m / N)))


def ppi_mean(Y, f_test, f, level=0.9, tuned=True):
    """PPI++ of a mean: estimate, lower and upper (Angelopoulos et al. 2023, section 6)."""
    n, N = len(Y), len(f)
    lam = 1.0
    if tuned:
        both = np.concatenate([f_test, f])
        lam = np.clip(np.cov(Y, f_test, ddof=0)[0, 1] / ((1 + n / N) * both.var(ddof=1)), 0, 1)
    point = lam * f.mean() + (Y - lam * f_test).mean()
    half = ndtri((1 + level) / 2) * np.sqrt(lam**2 * f.var() / N + (Y - lam * f_test).var() / n)
    return point, point - half, point + half


def units(seed, value, K=3, N=800, m=90):
    """Make unit-level arrays: the population's ŝ and y, the test units' s, ŝ and y."""
    rng = np.random.default_rng(seed)
    s = rng.choice(K, N, p=[0.15, 0.25, 0.6])
    s_hat = np.where(rng.random(N) < 0.25, rng.integers(0, K, N), s)
    y = {
        "count": np.ones(N),
        "positive": rng.lognormal(1.0, 1.0, N),
        "signed": rng.normal(0.5, 2.0, N),
    }[value]
    audited = rng.permutation(N)[:m]
    return s_hat, y, s[audited], s_hat[audited], y[audited]


def cells(s_hat, y, s, s_hat_test, y_test, K=3):
    """Sum the units to the arguments of the estimators."""

    def table(x):
        out = np.zeros((K, K))
        np.add.at(out, (s, s_hat_test), x)
        return out

    v_hat, u_hat, w_hat = (np.bincount(s_hat, y**p, K) for p in (0, 1, 2))
    return table(np.ones_like(y_test)), v_hat, u_hat, w_hat, table(y_test), table(y_test**2)


PACKAGE = {
    ("count", True): (0.178029955234007, 0.136645228455524, 0.219414682012491),
    ("count", False): (0.174166666666667, 0.127339068819918, 0.220994264513415),
    ("positive", True): (0.906113677513771, 0.688867052764891, 1.12336030226265),
    ("positive", False): (0.883911363218553, 0.665410547689538, 1.10241217874757),
    ("signed", True): (0.0796912807623058, 0.00222066718128992, 0.157161894343322),
    ("signed", False): (0.0648302979529545, -0.0251756116872399, 0.154836207593149),
}
"""What ppi-python 0.2.3 printed for class 0 of `units(0, value)`, by value and tuning: estimate,
lower and upper by `ppi_mean_pointestimate` and `ppi_mean_ci(…, alpha=0.1)`."""


@pytest.mark.parametrize(("value", "power_tuning"), PACKAGE)
def test_the_formula_is_that_of_ppi_python(value, power_tuning):
    s_hat, y, s, s_hat_test, y_test = units(0, value)
    arrays = (y_test * (s == 0), y_test * (s_hat_test == 0), y * (s_hat == 0))
    found = ppi_mean(*arrays, tuned=power_tuning)
    np.testing.assert_allclose(found, PACKAGE[value, power_tuning], rtol=1e-12)


@pytest.mark.parametrize("value", ["count", "positive", "signed"])
@pytest.mark.parametrize("power_tuning", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_difference_is_ppi(seed, power_tuning, value):
    s_hat, y, s, s_hat_test, y_test = units(seed, value)
    n, v_hat, u_hat, w_hat, t, t2 = cells(s_hat, y, s, s_hat_test, y_test)
    arguments = (n, v_hat) if value == "count" else (n, v_hat, u_hat, w_hat, t, t2)
    ours = run(classical.difference, *arguments, power_tuning=power_tuning, interval=0.9)
    for g in range(3):
        arrays = (y_test * (s == g), y_test * (s_hat_test == g), y * (s_hat == g))
        theirs = len(y) * np.array(ppi_mean(*arrays, tuned=power_tuning))
        found = [ours.estimate[g], ours.lower[g], ours.upper[g]]
        np.testing.assert_allclose(found, theirs, rtol=1e-9)
    assert ours.info["warnings"] == []


@pytest.mark.parametrize("anti", [False, True])
def test_tuning_at_its_bounds(anti):
    """A classifier that is always wrong has λ = 0; one that is right on the test set has λ ≤ 1."""
    s_hat = np.repeat([0, 1], [300, 500])
    s = np.repeat([0, 1], [60, 20])
    s_hat_test = 1 - s if anti else s
    y, y_test = np.ones(800), np.ones(80)
    ours = run(classical.difference, *cells(s_hat, y, s, s_hat_test, y_test, K=2))
    assert all(x == 0 if anti else 0 < x <= 1 for x in ours.info["tuning"])
    arrays = 1.0 * (s == 0), 1.0 * (s_hat_test == 0), 1.0 * (s_hat == 0)
    _, lower, upper = ppi_mean(*arrays, level=0.95)
    np.testing.assert_allclose([ours.lower[0], ours.upper[0]], [800 * lower, 800 * upper])
