"""Fine bands and the bands that they are merged into."""

import numpy as np
import pytest
from tests.read.by_hand import fine_bands

from trueup.count.bands import in_order, merge_bands, scores
from trueup.count.parts import Figures
from trueup.read.table import NO_BAND, ZERO


def test_bands_are_in_the_order_of_their_values(rng):
    y = np.r_[rng.lognormal(0, 3, 300), -rng.lognormal(0, 3, 300), np.zeros(5)]
    fine = fine_bands(y)
    order = {band: i for i, band in enumerate(in_order(np.unique(fine)).tolist())}
    by_value = [order[band] for band in fine[np.argsort(y)].tolist()]
    assert (np.diff(by_value) >= 0).all()


def test_unusable_values_have_no_band():
    y = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e100, -1e100])
    assert fine_bands(y).tolist() == [NO_BAND] * 3 + [ZERO] * 3 + [1329, 1329 + 16_384]


def test_powers_of_two_are_in_the_middle_of_a_band():
    """Where values crowd, engines must agree: 8 and 8 less a rounding error are in one band."""
    y = 2.0 ** np.arange(-20, 60)
    assert (fine_bands(y) == fine_bands(y * (1 - 1e-12))).all()
    assert (fine_bands(y) == fine_bands(y * (1 + 1e-12))).all()


@pytest.mark.parametrize("most", [8, 24])
def test_bands_hold_one_sign_and_zero_alone(most, rng):
    y = np.r_[rng.lognormal(0, 2, 3000), -rng.lognormal(1, 1, 500), np.zeros(40)]
    every, at = np.unique(fine_bands(y), return_inverse=True)
    order = in_order(every)
    place = np.array([order.tolist().index(band) for band in every])[at]
    units, sums = np.bincount(place), np.bincount(place, y)
    band = merge_bands(order, units, sums, most)
    assert (np.diff(band) >= 0).all()
    assert (np.diff(band) <= 1).all()
    assert band.max() + 1 <= most + 3
    signs = {b: set(np.sign(y[band[place] == b])) for b in range(band.max() + 1)}
    assert all(len(found) == 1 for found in signs.values())


def test_one_value_is_one_band():
    assert merge_bands(np.array([0]), np.array([10]), np.array([10.0]), 24).tolist() == [0]


def test_scores_rise_with_the_value_and_are_standardised(rng):
    v_hat, mean = rng.integers(1, 50, (3, 6)), np.array([0.0, 1.0, 2.0, 5.0, 9.0, 100.0])
    z = scores(v_hat, v_hat * mean)
    p = v_hat.sum(axis=0) / v_hat.sum()
    assert z[0] < z[1]
    assert (np.diff(z[1:]) > 0).all()
    assert (p * z).sum() == pytest.approx(0, abs=1e-12)
    assert (p * z**2).sum() == pytest.approx(1)
    assert scores(v_hat, 1000 * v_hat * mean) == pytest.approx(z)


def test_sums_do_not_depend_on_the_order_of_the_rows(rng):
    """A scan by several threads returns its rows in any order; a seed then gives other digits."""
    y, at, units = rng.lognormal(0, 3, 500), rng.integers(4, size=500), np.ones(500, np.int64)

    def totals(order):
        rows = Figures([()] * 500, (at[order],), units, y[order], y[order] ** 2)
        return rows.added((at[order],), (4,))

    first = totals(np.arange(500))
    for _ in range(5):
        for x, again in zip(first, totals(rng.permutation(500)), strict=True):
            assert (x == again).all()
    in_order_of_rows = [np.bincount(at[i], y[i]) for i in map(rng.permutation, [500] * 5)]
    assert any((x != first[1]).any() for x in in_order_of_rows)


def test_zero_scores_below_every_positive_value():
    """With the score of the least positive cell, counts of 0 and 1 had the same odds."""
    z = scores(np.array([[40, 30, 20]]), np.array([[0.0, 30.0, 40.0]]))
    assert z[1] - z[0] == pytest.approx((z[2] - z[1]) / np.log(2))
