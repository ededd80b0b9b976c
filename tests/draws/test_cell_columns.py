"""The columns of cells: simulation-based calibration, tables by their moments, known slopes."""

from itertools import islice

import numpy as np
import pytest
from tests.seeds import more

from trueup.aggregate.cells import draw_cells
from trueup.draws.cells.columns import BEYOND, KAPPAS, _log_kappa, learn_columns, scales
from trueup.draws.cells.frame import Frame, frame
from trueup.draws.cells.implied import ROUGH, implied_slopes
from trueup.draws.cells.tables import tables_of
from trueup.numerics.half_t import DF

K, H, B = 2, 2, 4
PHI = np.array(
    [
        [[-1.5, -0.5, 0.5, 1.5], [-1.0, -0.2, 0.4, 2.0]],
        [[1.2, -0.6, -0.8, 1.5], [0.9, -0.9, -0.6, 2.5]],
    ]
)
ALPHA = np.full((K, H), 0.5)
SWEEPS = 30
"""After which ranks are even to a hundredth."""
CENTRE, ERROR = np.array([0.8, -0.6]), np.array([0.3, 0.5])


def truth(rng):
    """Draw (κ, λ, c) from the prior, and the audited units from c."""
    upsilon = scales(2) * abs(rng.standard_t(DF, 2))
    lam, kappa = BEYOND * rng.random(), rng.choice(KAPPAS)
    coef = upsilon * rng.standard_normal((K, H, 2))
    coef[..., 0] += (lam * (CENTRE + ERROR * rng.standard_normal(K)))[:, None]
    x = np.maximum(rng.standard_gamma(ALPHA), 1e-300)
    m = x[..., None] * np.exp(np.clip(np.einsum("khr,rhb->khb", coef, PHI), -300, 300))
    m /= m.sum(axis=0)
    c = rng.standard_gamma(np.maximum(kappa * m, 1e-300))
    c = np.where(c.sum(axis=0) > 0, c / np.maximum(c.sum(axis=0), 1e-300), m)
    units = np.array([[4, 15, 12, 3], [6, 9, 20, 1]])
    n = np.moveaxis(rng.multinomial(units, np.moveaxis(c, 0, -1)), -1, 0)
    return kappa, lam, c.sum(axis=(1, 2))[0], n


def ranks(rng, replications, alpha=ALPHA, phi=PHI):
    """Where the truth stands among a draw of each of 40 chains: evenly, if all is right."""
    found = []
    for _ in range(replications):
        kappa, lam, share, n = truth(rng)
        states = learn_columns(n, Frame(phi, (CENTRE, ERROR)), alpha, rng, chains=40)
        last = next(islice(states, SWEEPS, None))
        c = draw_cells(last, n, rng).sum(axis=(2, 3))[:, 0]
        noise = rng.random(40) - 0.5  # κ is on a grid: ties are broken at random
        found.append(
            [
                (np.log(last.kappa) + 1e-3 * noise < np.log(kappa)).mean(),
                (last.lam < lam).mean(),
                (c < share).mean(),
            ]
        )
    return np.array(found)


def even(x):
    """Pearson's χ² of ranks in ten bins, in standard deviations above its mean."""
    seen = np.histogram(x, bins=10, range=(0, 1 + 1e-9))[0]
    expected = len(x) / 10
    return (((seen - expected) ** 2 / expected).sum() - 9) / np.sqrt(18)


def uneven(ranks):
    """Above 1 if ranks are not uniform: by bins, by their mean or by their spread."""
    u, count = np.asarray(ranks), len(ranks)
    mean = (u.mean() - 0.5) / np.sqrt(1 / 12 / count)
    spread = (np.square(u - 0.5).mean() - 1 / 12) / np.sqrt(1 / 180 / count)
    return max(even(u) / 7, abs(mean) / 5, abs(spread) / 5)  # of 7 Pr is below 1e-6


def assert_uniform(ranks):
    assert uneven(ranks) < 1


@pytest.mark.slow
def test_the_truth_has_an_even_rank(rng):
    """Simulation-based calibration (Talts et al. 2018): κ, λ and the share of a class."""
    for column in ranks(rng, more(60)).T:
        assert_uniform(column)


@pytest.mark.slow
def test_calibration_finds_slopes_of_the_wrong_sign(rng):
    found = ranks(rng, 100, phi=-PHI)
    assert max(uneven(column) for column in found.T) > 1


def test_tables_have_the_moments_of_their_sum(rng):
    """Σ_i Bernoulli(a/(a + i)), below and above the cut at EACH."""
    for n, a in ((3, 0.7), (40, 5.0), (400, 8.0), (400, 0.05)):
        size = 40_000
        draws = tables_of(np.full((size, 1), n))(np.full((size, 1), a), rng)[:, 0]
        p = a / (a + np.arange(n))
        mean, var = p.sum(), (p * (1 - p)).sum()
        assert abs(draws.mean() - mean) < 5 * np.sqrt(var / size) + 1e-12
        fourth = (p * (1 - p) * (1 - 6 * p * (1 - p))).sum() + 3 * var**2
        assert abs(draws.var() - var) < 5 * np.sqrt((fourth - var**2) / size) + 1e-12


def test_kappa_has_the_likelihood_of_cells_with_so_many_units():
    """Γ(κ)/Γ(κ + n) is 1/(κ(κ + 1) … (κ + n − 1)), for each cell."""
    expected = -np.log(KAPPAS[:, None] + [0, 1, 2, 0]).sum(axis=1)  # cells of 3, 1 and no units
    np.testing.assert_allclose(_log_kappa(np.array([3, 1, 0])), expected)


def test_slopes_are_those_of_two_normals(rng):
    """Scores N(0, 1) and N(2, 1): the log odds rise by 2 per unit of score between the classes."""
    score = np.linspace(-4, 6, 60)
    density = [np.exp(-((score - mean) ** 2) / 2) for mean in (0, 2)]
    n = np.array([[np.round(400 * p), np.round(40 * p)] for p in density]).astype(int)
    slopes, errors = implied_slopes(n, n.sum(axis=0), score)
    assert slopes[1] - slopes[0] == pytest.approx(2.0, abs=0.02)
    assert (errors**2 - (ROUGH * slopes) ** 2 < 0.1**2).all()


def test_slopes_are_those_within_size_classes():
    """Strata cut two normals into size classes, audited against size: the slope stays 2.

    Planted bug: scores of all strata together, in which class and score hardly go together.
    """
    score = np.linspace(-3, 5, 41)
    density = np.stack([np.exp(-((score - mean) ** 2) / 2) for mean in (0, 2)])
    v_hat, n = np.zeros((2, 3, 41), int), np.zeros((2, 2, 3, 41), int)
    for j, (some, part) in enumerate([(score < 0.5, 0.01), (score < 1.5, 0.1), (score < 9, 0.4)]):
        mine = np.where(some & (v_hat.sum(axis=(0, 1)) == 0), 20_000 * density, 0.0)
        for h, right in enumerate(([0.9, 0.1], [0.1, 0.9])):
            units = mine * np.array(right)[:, None]
            v_hat[h, j], n[:, h, j] = np.rint(units.sum(axis=0)), np.rint(part * units)
    slopes, _ = implied_slopes(n.reshape(2, 6, 41), v_hat.reshape(6, 41), score, strata=3)
    assert slopes[1] - slopes[0] == pytest.approx(2.0, rel=0.1)


def test_units_count_by_how_many_they_stand_for():
    """Of one predicted class, the rare stratum must not count ten times as much as it should."""
    score = np.array([-1.0, 1.0])
    whole = 100 * np.array([[[900, 300], [10, 90]], [[100, 100], [40, 160]]])
    drawn = whole.copy()
    drawn[:, 0] //= 10
    everything, _ = implied_slopes(whole, whole.sum(axis=0), score, strata=2)
    weighted, _ = implied_slopes(drawn, whole.sum(axis=0), score, strata=2)
    alike, _ = implied_slopes(drawn, drawn.sum(axis=0), score, strata=2)
    assert weighted == pytest.approx(everything, rel=0.02)
    assert alike != pytest.approx(everything, rel=0.02)


def test_the_bend_has_no_slope_and_no_middle():
    """φ_2 is unrelated to the score over the population; both are centred in each prediction."""
    v_hat = np.array([[40, 300, 500, 100, 9], [3, 60, 80, 40, 20]])
    z = np.array([-2.5, -0.8, 0.1, 1.1, 3.0])
    phi = frame(np.zeros((2, 2, 5), int), v_hat, z).phi
    assert (v_hat * phi).sum(axis=-1) == pytest.approx(np.zeros((2, 2)), abs=1e-9)
    one = phi[:, 0] - (v_hat.sum(axis=0) * phi[:, 0]).sum(axis=-1, keepdims=True) / v_hat.sum()
    assert (v_hat.sum(axis=0) * one[0] * one[1]).sum() == pytest.approx(0.0, abs=1e-9)
    assert (phi[1][:, [0, -1]] > phi[1][:, [2]]).all()  # higher at both ends than in the middle


def test_zeros_tell_a_class_by_a_step():
    """One class is zero in 20%, the other in 90%; otherwise they are as large: no slope in size."""
    size, zero = np.array([0.0, 50, 200, 200, 50]), np.array([0.2, 0.9])
    units = np.stack([(1 - q) * size for q in zero])
    units[:, 0] = 500 * zero
    v_hat = np.rint(20 * np.stack([r @ units for r in ([0.9, 0.2], [0.1, 0.8])])).astype(int)
    n = np.stack([np.rint(x * np.array([[0.9], [0.1]])) for x in units]).astype(int)
    n[1] = np.rint(units[1] * np.array([[0.2], [0.8]]))
    sign, z = np.array([0, 1, 1, 1, 1]), np.array([-4.0, -1.5, -0.5, 0.5, 1.5])
    known = frame(n, v_hat, z, sign=sign)
    assert known.phi.shape == (3, 2, 5)  # the score, the step, the bend
    slope, step = np.diff(known.slopes[0], axis=0)[0]
    height = known.phi[1, 0, 0] - known.phi[1, 0, 1]
    assert slope == pytest.approx(0.0, abs=0.05)
    assert step * height == pytest.approx(np.log(0.9 / 0.1) - np.log(0.2 / 0.8), rel=0.1)
    assert known.phi[0, :, 0] == pytest.approx(known.phi[0, :, 2:4].mean(axis=1), abs=1e-9)
    # as it was: zero as a very small value, which makes all small ones look like the second class
    slope = np.diff(frame(n, v_hat, z).slopes[0], axis=0)
    assert abs(slope[0, 0]) > 0.5


def test_within_losses_and_profits_a_slope_is_seen():
    """Normal values of mean −1 and 1: the log odds rise by 2 per unit, within each kind and over.

    The planted bug: scores centred within a kind are taken to have that mean in every class.
    """
    edges = np.linspace(-5, 5, 41)
    y = (edges[1:] + edges[:-1]) / 2
    density = np.stack([np.exp(-((y - mean) ** 2) / 2) / 4 for mean in (-1, 1)])
    right = np.array([[0.8, 0.1], [0.2, 0.9]])  # predicted, true
    each = 4000 * density[:, None] * right.T[:, :, None]
    v_hat, n = (np.rint(x).astype(int) for x in (20 * each.sum(axis=0), each))
    known = frame(n, v_hat, y, sign=np.sign(y).astype(int))
    rise = np.einsum("q,qhb->hb", np.diff(known.slopes[0], axis=0)[0], known.phi[:2])
    some = (v_hat > 20) & (y > 0)
    for h in (0, 1):
        slope = np.polyfit(y[some[h]], rise[h, some[h]], 1)[0]
        assert 1.3 < slope < 2.7
    over = np.interp([-1.0, 1.0], y, rise[0])
    assert over[1] - over[0] == pytest.approx(4.0, rel=0.3)


def test_a_class_at_both_ends_is_found_there(rng):
    """Shares 0.6, 0.1, 0.6 over small, middling and large values, and only one unit at the top."""
    z = np.linspace(-2.5, 2.5, 11)
    share = 0.1 + 0.5 * (np.abs(z) > 1.6)
    units = np.array([12, 20, 40, 60, 60, 60, 60, 60, 40, 20, 1])
    second = np.minimum(np.rint(share * units).astype(int), units)
    n = np.stack([units - second, second])[:, None]
    known = frame(n, 10 * n.sum(axis=0), z)
    states = learn_columns(n, known, np.full((2, 1), 0.5), rng, chains=40)
    m = np.mean([state.m[:, 1, 0].mean(axis=0) for state in islice(states, 60, 160)], axis=0)
    assert m[-1] > 0.4
    assert m[5] < 0.15
    straight = learn_columns(n, known._replace(phi=known.phi[:1]), np.full((2, 1), 0.5), rng, 40)
    m = np.mean([state.m[:, 1, 0].mean(axis=0) for state in islice(straight, 60, 160)], axis=0)
    assert m[-1] < 0.4  # the planted bug: no bend


def test_the_population_tells_slopes_too(rng):
    """Scores that depend on the class alone; the planted bug: shares of rows instead of columns."""
    edges = np.linspace(-3, 3, 13)
    score = np.r_[edges[0], (edges[1:] + edges[:-1]) / 2, edges[-1]]
    s = rng.random(200_000) < 0.1
    h = np.where(rng.random(len(s)) < 0.1, ~s, s).astype(int)
    band = np.digitize(rng.normal(np.where(s, 0.9, -0.1), 1.0), edges)
    v_hat = np.zeros((2, len(score)), int)
    np.add.at(v_hat, (h, band), 1)
    errors = []
    for _ in range(more(60)):
        i = rng.choice(len(s), 400, replace=False)
        n = np.zeros((2, *v_hat.shape), int)
        np.add.at(n, (s[i].astype(int), h[i], band[i]), 1)
        found = [implied_slopes(n, v_hat, score, within_classes=x)[0] for x in (False, True)]
        errors.append([np.diff(x)[0] - 1.0 for x in found])
    with_it, without = np.square(errors).mean(axis=0)
    assert with_it < 0.8 * without


def test_cells_beyond_the_audited_units():
    """Five audited units are in the fourth band or above, three in the fifth, none in the sixth."""
    z, v = np.array([-1.5, -0.5, 0.2, 0.8, 1.9, 4.0]), np.full((2, 6), 50)
    n = np.zeros((2, 2, 6), int)
    n[0, 0, :5], n[1, 1, :5] = [9, 9, 9, 1, 2], [9, 9, 9, 1, 1]
    over = frame(n, v, z).over
    assert over is not None
    np.testing.assert_allclose(over[0], np.tile([0, 0, 0, 0, 1.1, 3.2], (2, 1)))
    assert (over[1, :, :4] == 0).all()
    n[1, 1, 5] = 5
    assert frame(n, v, z).over is None


def test_classes_that_values_keep_apart_stay_numbers(rng):
    """Where a draw of x is tiny because log odds are large, shares of another band were 0/0.

    Planted bug: log odds beyond their bounds still gain from what units are seen there, so that υ
    grew to 1e70.
    """
    n = np.zeros((3, 3, 12), dtype=int)
    for g in range(3):
        n[g, g, 4 * g : 4 * g + 4] = 60
    phi = np.broadcast_to(np.linspace(-4, 4, 12), (1, 3, 12))
    far = Frame(phi, (np.array([-150.0, 0.0, 150.0]), np.full(3, 5.0)))
    states = learn_columns(n, far, np.full((3, 3), 0.1), rng)
    for state in islice(states, 150):
        np.testing.assert_allclose(state.m.sum(axis=1), 1)
        assert state.upsilon.max() < 1000
