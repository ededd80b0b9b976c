"""Unequal probabilities and clusters: textbook variances."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit
from tests.seeds import more

import trueup as tu
from trueup.audit.clusters import cluster_effects, design_effect, fewer
from trueup.audit.units import (
    Units,
    apart,
    by_value,
    few_behind,
    freedom,
    weighted_difference,
)
from trueup.estimate.doubts.design import design_p_value

SIDES = np.arange(2)[:, None]


def drawn(rng, n=60, scale=1.0):
    g = rng.integers(2, size=n)
    h = np.where(rng.random(n) < 0.2, 1 - g, g)
    return Units(g, h, rng.lognormal(0, 1, n), rng.uniform(0.02, 0.5, n) * scale)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_variance_is_that_of_a_weighted_mean(clustered, rng):
    """Linearised, between clusters (Särndal et al. 1992, 5.7).

    With tiny probabilities there is no finite population correction.
    """
    units = drawn(rng, scale=1e-9)
    cluster = np.repeat(np.arange(12), 5) if clustered else None
    units = Units(units.g, units.h, units.y, units.pi, cluster)
    estimate, variance = weighted_difference(units, np.array([300.0, 700.0]), 5000)
    d = units.y * ((units.g == SIDES).astype(float) - (units.h == SIDES))
    weight = 1 / units.pi / (1 / units.pi).sum()
    for k in range(2):
        mean = weight @ d[k]
        z = weight * (d[k] - mean)
        z = z.reshape(12, 5).sum(axis=1) if clustered else z
        assert estimate[k] == pytest.approx([300.0, 700.0][k] + 5000 * mean)
        se = np.sqrt(len(z) * z.var(ddof=1))
        assert np.sqrt(variance[k]) == pytest.approx(5000 * se, rel=1e-6)


def test_units_drawn_for_certain_add_no_variance(rng):
    units = drawn(rng)
    complete = Units(units.g, units.h, units.y, np.ones(60))
    estimate, variance = weighted_difference(complete, np.bincount(units.h, units.y), 60)
    np.testing.assert_allclose(variance, 0.0)
    np.testing.assert_allclose(estimate, np.bincount(units.g, units.y))


def test_estimate_and_variance_of_a_draw_by_size(rng):
    """Over many draws the mean is the truth, and the variance is that of the estimates."""
    N, R = 2000, more(400)
    s = (rng.random(N) < 0.3).astype(int)
    s_hat = np.where(rng.random(N) < 0.15, 1 - s, s)
    y = rng.lognormal(0, 1, N)
    pi = np.minimum(120 * y / y.sum(), 1.0)
    u_hat, truth = np.bincount(s_hat, y), np.bincount(s, y)
    found, variances = [], []
    for _ in range(R):
        u = rng.random(N)
        with np.errstate(divide="ignore"):
            i = np.argsort(u / (1 - u) * (1 - pi) / pi)[:120]
        estimate, variance = weighted_difference(Units(s[i], s_hat[i], y[i], pi[i]), u_hat, N)
        found.append(estimate[0])
        variances.append(variance[0])
    sd = np.std(found)
    assert (
        abs(np.mean(found) - truth[0]) < 5 * sd / np.sqrt(R) + 0.1 * sd
    )  # a ratio has a bias of 1/n
    assert np.mean(variances) == pytest.approx(sd**2, rel=0.1 + 5 * np.sqrt(2 / R))


def clustered(rng, clusters=40, size=10, icc=0.2, share=0.3):
    """Correctness within clusters that share their rate: beta-binomial with this correlation."""
    a = 1 / icc - 1
    rate = rng.beta(share * a, (1 - share) * a, clusters)
    g = (rng.random((clusters, size)) < rate[:, None]).astype(int).ravel()
    cluster = np.repeat(np.arange(clusters), size)
    return Units(g, np.zeros(len(g), int), np.ones(len(g)), None, cluster)


def test_the_design_effect_is_one_plus_nine_fifths(rng):
    found = [design_effect(clustered(rng), np.array([1000, 0])).whole for _ in range(more(200))]
    wider = (2.0227 / 1.95996) ** 2  # Student's t with 39 degrees of freedom
    mean, error = np.mean(found) / wider, np.std(found) / wider / np.sqrt(len(found))
    assert abs(mean - 2.8) < 5 * error + 0.1
    alone = [design_effect(clustered(rng, icc=1e-6), np.array([1000, 0])).whole for _ in range(50)]
    assert np.mean(alone) < 1.3


def test_every_prediction_has_a_design_effect_of_its_own():
    """Units predicted 0 err alone, those predicted 1 by whole clusters of ten."""
    cluster, h = np.repeat(np.arange(40), 20), np.tile(np.repeat([0, 1], 10), 40)
    wrong = np.where(h == 0, np.arange(800) % 20 < 2, cluster % 4 == 0)
    found = design_effect(Units(h ^ wrong, h, np.ones(800), None, cluster), np.array([4000, 4000]))
    wider = (2.0227 / 1.95996) ** 2  # Student's t with 39 degrees of freedom
    assert found.columns == pytest.approx([wider, 10 * wider], rel=0.04)
    assert found.columns[0] < found.whole < found.columns[1]


def test_few_clusters_with_all_errors_tell_little():
    """20 clusters of ten: two errors in each, or all 40 in four of them."""
    cluster, h = np.repeat(np.arange(20), 10), np.zeros(200, int)
    widened = []
    for wrong in (cluster % 5 == 0, np.arange(200) % 10 < 2 + (cluster % 2) - (cluster % 4 == 1)):
        units = Units(h + wrong, h, np.ones(200), None, cluster)
        z = wrong - wrong.mean()
        z = z.reshape(20, 10).sum(axis=1) ** 2
        plain = max(20 / 19 * z.sum() / (200 / 199 * 200 * wrong.mean() * (1 - wrong.mean())), 1)
        widened.append(design_effect(units, np.array([1000, 0])).whole / plain)
    part = np.array([64.0] * 4 + [4.0] * 16) / 320  # (8 or 2)² of the clusters
    nu = 2 / ((part**2).sum() - 1 / 20)
    assert widened[0] == pytest.approx((stdtrit(nu, 0.975) / 1.95996) ** 2, rel=1e-3)
    assert 1 < widened[1] < widened[0]


def test_predicted_classes_of_whole_clusters_are_no_doubt(rng):
    """Without the design effect, 15% of such test sets have a p-value below 0.01."""
    found = []
    for _ in range(more(400)):
        rate = rng.beta(0.9, 2.1, 400)  # correlation 1/4
        s_hat = (rng.random((400, 10)) > rate[:, None]).astype(int)
        mine = s_hat[rng.choice(400, 20, replace=False)].ravel()
        units = Units(mine, mine, np.ones(200), None, np.repeat(np.arange(20), 10))
        v_hat = np.bincount(s_hat.ravel(), minlength=2)
        n = np.diag(np.bincount(mine, minlength=2))
        effects = cluster_effects(units, v_hat)
        found.append(design_p_value(n, v_hat, overlap=True, rng=rng, clusters=effects))
    for level in (0.01, 0.1):
        error = np.sqrt(level * (1 - level) / len(found))
        assert abs(np.mean(np.array(found) < level) - level) < 5 * error + level / 2


def test_values_of_clusters_count_as_often_as_they_differ(rng):
    """Ten equal values in each cluster are worth one; independent ones are worth ten."""
    cluster, h = np.repeat(np.arange(40), 10), rng.integers(2, size=400)
    alike = Units(h, h, np.repeat(rng.permutation(40) + 0.5, 10), None, cluster)
    assert cluster_effects(alike, np.array([500, 500])).values == pytest.approx(10, rel=0.03)
    found = [
        cluster_effects(
            Units(h, h, rng.permutation(400) + 0.5, None, cluster), np.array([500, 500])
        )
        for _ in range(200)
    ]
    assert np.mean([x.values for x in found]) < 1.2
    assert found[0].freedom == 39


def test_degrees_of_freedom(rng):
    """All units err, half of them either way: every square is the same, and n − 1 are left."""
    g = np.arange(60) % 2
    equal = Units(g, 1 - g, np.ones(60), np.full(60, 0.1))
    assert freedom(equal, 2) == pytest.approx([59, 59])
    strata, blocks = np.repeat([0, 1], [20, 40]), np.repeat(np.arange(12), 5)
    assert freedom(replace(equal, stratum=strata), 2) == pytest.approx([58, 58])
    assert freedom(replace(equal, cluster=blocks), 2).max() <= 11 + 1e-9
    sure = np.where(np.arange(60) < 30, 1.0, 0.1)
    assert freedom(replace(equal, pi=sure), 2) == pytest.approx([29, 29])
    units = drawn(rng)
    w = 1 / units.pi
    assert (freedom(units, 2) <= w.sum() ** 2 / (w**2).sum() - 1).all()


def test_degrees_of_freedom_of_few_errors_are_those_of_their_variance():
    """Two for each error: m of them vary by a relative variance of 1/m, a chi-square by 2/df."""
    for m in (3, 10):
        h = (np.arange(2000) < m).astype(int)
        found = freedom(Units(0 * h, h, np.ones(2000), np.full(2000, 0.01)), 2)
        assert found == pytest.approx([2 * m, 2 * m], rel=0.02)
    # one of ten errors has three times the weight: (9 + 9)²/(9 + 81) is what they are worth
    pi = np.where(np.arange(2000) == 0, 0.01 / 3, 0.01)
    found = freedom(Units(0 * h, h, np.ones(2000), pi), 2)
    assert found == pytest.approx([2 * 18**2 / 90] * 2, rel=0.05)


def test_probabilities_that_rise_with_the_value_alone():
    y = np.array([3.0, 1.0, 2.0, 2.0, 9.0, 12.0])
    units = Units(0 * y.astype(int), 0 * y.astype(int), y, np.minimum(y / 8, 1.0))
    assert by_value(units)
    assert by_value(replace(units, pi=0.5 / y))
    assert by_value(replace(units, pi=units.pi * (1 + 1e-4 * np.array([1, -1, 1, -1, 0, 0]))))
    assert not by_value(replace(units, pi=units.pi[::-1]))
    assert not by_value(replace(units, pi=np.where(np.arange(6) == 2, 0.3, units.pi)))


def test_another_figure_by_weights_is_told():
    """Small units err, large ones do not: an answer that saw the large ones only is far off."""
    g, h = np.zeros(200, int), (np.arange(200) % 10 == 0).astype(int)
    units = Units(g, h, np.ones(200), np.where(h == 1, 0.01, 0.02))
    u_hat = np.array([8000.0, 2000.0])
    weighted, variance = weighted_difference(units, u_hat, 10_000)
    assert not apart(units, weighted + np.sqrt(variance), weighted, variance, "ab")
    (told,) = apart(units, weighted + 4 * np.sqrt(variance), weighted, variance, "ab")
    assert "Weighted by 1/probability" in told
    assert not apart(units, u_hat, u_hat, 0 * variance, "ab")


def test_few_units_behind_a_figure_are_named(rng):
    g = np.arange(60) % 2
    pi = np.full(60, 0.1)
    assert not few_behind(Units(g, g, np.ones(60), pi), "ab")
    one = np.where(np.arange(60) == 1, 1e-4, pi)
    told = few_behind(Units(g, g, np.ones(60), one), "ab")
    assert "the 60 audited units tell no more than 1 of equal weight" in told[0]
    assert "true class ['b'] count as fewer than 4" in told[1]
    by_size = few_behind(Units(g, g, one, one), "ab")  # a total of what they were drawn by
    assert not by_size
    assert few_behind(Units(np.r_[1, 1, 1, 0 * g[3:]], g, np.ones(60), pi), "ab")
    assert not few_behind(Units(g, g, np.ones(60), np.where(g == 1, 1.0, pi)), "ab")


def test_fewer_units_keep_the_sums_of_rows(rng):
    n = rng.poisson(2.0, (3, 40))
    less = fewer(n, 2.3)
    assert (less >= 0).all()
    np.testing.assert_allclose(less.sum(axis=1), n.sum(axis=1) / 2.3, atol=0.5)


def test_stehman_2014():
    """Stehman (2014), IJRS 35:4923: strata that are not map classes. Figures as printed there.

    Ten pixels of each stratum; the population has map classes in the same proportions.
    """
    pixels = {"A": 40_000, "B": 30_000, "C": 20_000, "D": 10_000}
    maps = {"A": "AAAAAAABBB", "B": "ABBBBBBBBB", "C": "BBCCCCCCBB", "D": "DDDDDDDDDD"}
    reference = {"A": "AAAAACBABC", "B": "ABBBBBAABB", "C": "CCCCCDDBBA", "D": "DDDDDDDCCB"}
    sample = pd.DataFrame(
        [(j, *pair) for j in pixels for pair in zip(maps[j], reference[j], strict=True)],
        columns=["stratum", "predicted", "true"],
    )
    every = sample.groupby(["stratum", "predicted"], as_index=False).size()
    every["count"] = every.pop("size") * every["stratum"].map(pixels) // 10
    options = {"count": "count", "drawn_within": "stratum", "seed": 1}
    textbook = tu.correct(every, sample, method="test_set", **options).rows()
    est = tu.correct(every, sample, draws=1000, **options)
    for g, area, error in ((0, 0.35, 0.082), (2, 0.20, 0.064)):
        assert round(textbook[g]["estimate"] / 1e5, 2) == area
        assert round(textbook[g]["sd"] / 1e5, 3) == error
        assert est.rows()[g]["lower"] < area * 1e5 < est.rows()[g]["upper"]
    printed = {(None, "accuracy"): 0.63, ("B", "precision"): 0.574, ("B", "recall"): 0.794}
    found = {(row["class"], row["measure"]): row for row in est.accuracy()}
    for what, share in printed.items():
        assert abs(found[what]["mean"] - share) < found[what]["sd"]


def test_equal_probabilities_in_strata_are_stratified_sampling(rng):
    """N_h² (1 − f) s²/n summed over strata (Cochran 1977, 5.6), with a stratum taken whole."""
    units, sizes, n = [400, 90, 15], [], [20, 30, 15]
    g = rng.integers(2, size=sum(n))
    stratum = np.repeat(np.arange(3), n)
    pi = np.repeat(np.array(n) / np.array(units), n)
    y = rng.lognormal(0, 1, sum(n))
    _, variance = weighted_difference(
        Units(g, 1 - g, y, pi, None, stratum), np.zeros(2), sum(units), lam=0.0
    )
    for j in range(3):
        a = y[stratum == j] * (g[stratum == j] == 0)
        sizes.append(units[j] ** 2 * (1 - n[j] / units[j]) * a.var(ddof=1) / n[j])
    assert variance[0] == pytest.approx(sum(sizes))
