"""Levels of groups from histograms: found where they differ, none where only class shares do."""

import numpy as np

from trueup.numerics.levels import find_levels


def rows(group, label, x):
    """Group by group, label and band."""
    each = np.stack([group, label, np.round(x).astype(int)])
    (group, label, band), units = np.unique(each, axis=1, return_counts=True)
    return group, label, band, units


def test_levels_are_found_to_a_band(rng):
    level = np.array([-6, -1, 0, 2, 5])
    group, label = rng.integers(0, 5, 20_000), (rng.random(20_000) < 0.3).astype(int)
    found = find_levels(*rows(group, label, rng.normal(3.0 * label + level[group], 4.0)))
    assert np.abs(found - level).max() <= 1


def test_no_levels_where_there_are_none(rng):
    """Chance alone is believed in one case in a hundred; then it is shrunk towards 0."""
    moved = 0
    for _ in range(40):
        group, label = rng.integers(0, 8, 2000), rng.integers(0, 3, 2000)
        moved += find_levels(*rows(group, label, rng.normal(2.0 * label, 4.0))).any()
    assert moved <= 5


def test_wrong_labels_and_other_shares_are_no_level(rng):
    """Units of class 1 are 16 bands (a factor of 16) larger, and 5 to 50% of the groups."""
    group = rng.integers(0, 6, 30_000)
    true = rng.random(30_000) < np.linspace(0.05, 0.4, 6)[group]
    label = true ^ (rng.random(30_000) < 0.1)
    found = find_levels(*rows(group, label.astype(int), rng.normal(16.0 * true, 4.0)))
    assert np.abs(found).max() <= 1


def test_classes_of_the_value_have_no_level(rng):
    x, label = rng.normal(0.0, 5.0, 20_000), rng.integers(0, 2, 20_000)
    classes = 8 * x.argsort().argsort() // len(x)
    assert not find_levels(*rows(classes, label, x)).any()
    noisy = 8 * (x + rng.normal(0.0, 3.5, len(x))).argsort().argsort() // len(x)
    assert find_levels(*rows(noisy, label, x)).any()


def test_pieces_of_one_distribution_are_told_from_levels_far_apart(rng):
    """Both hold nearly all of the variance; between levels there is hardly a unit."""
    x, label = rng.normal(0.0, 8.0, 20_000), rng.integers(0, 2, 20_000)
    unequal = np.searchsorted([-12.0, -3.0, 2.0, 9.0], x)
    assert not find_levels(*rows(unequal, label, x)).any()
    group, level = rng.permutation(5)[rng.integers(0, 5, 20_000)], np.array([-30, -8, 0, 9, 31])
    found = find_levels(*rows(group, label, rng.normal(level[group], 1.5)))
    assert np.abs(found - level - np.median(found - level)).max() <= 1


def test_small_groups_keep_to_the_mean(rng):
    group = np.concatenate([np.repeat([0, 1], 5000), [2, 2]])
    x = rng.normal(np.where(group == 0, -1.0, 1.0), 4.0)
    x[-2:] = 12.0
    found = find_levels(*rows(group, 0 * group, x))
    assert found[2] < 6
