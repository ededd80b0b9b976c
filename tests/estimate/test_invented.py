"""Flat priors that invent many units are told; the default is not."""

import warnings

import numpy as np
import pytest

import trueup as tu
from trueup.count.counts import make_counts
from trueup.estimate.doubts.cautions import invented
from trueup.prior import resolve_prior

WORDS = "invented units to each"


def square(K, each):
    """A test set of K classes with `each` units of every predicted class, 4 of 5 of them right."""
    n = np.full((K, K), each // 5 // (K - 1))
    np.fill_diagonal(n, each - (K - 1) * n[0, 1])
    return n


def told(K, each, prior, design="by_prediction", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tu.TrueupWarning)
        how = {"design": design, "seed": 1, "draws": 200, "seconds": 0.5}
        est = tu.correct_counts(square(K, each), [5000] * K, prior=prior, **how | options)
    return [text for text in est.info["warnings"] if WORDS in text]


def test_jeffreys_with_many_classes_is_told_and_perks_is_not():
    (text,) = told(15, 30, "jeffreys")
    assert "adds 7.5 invented units to each predicted class, beside 30 audited ones" in text
    assert '"perks", the default' in text
    assert not told(15, 30, "perks")
    assert not told(15, 5, "perks")
    assert not told(15, 2000, "jeffreys")
    assert not told(2, 5, "jeffreys")  # the same as perks
    assert told(15, 30, "uniform", method="joint")


def test_methods_by_true_class_count_rows():
    (text,) = told(4, 10, "uniform", "by_class")
    assert "adds 4 invented units to each true class, beside 10 audited ones" in text
    n = [[20, 0, 0], [0, 20, 0], [0, 400, 400]]  # few in rows, many in the median column
    prior = resolve_prior("uniform", 3)
    counts = make_counts(n, [900] * 3)
    assert invented(counts, prior, "full")
    assert not invented(counts, prior, "joint")


def test_a_prior_of_ones_own_is_meant_that_way():
    assert not told(15, 30, tu.Dirichlet(0.5))
    assert not told(4, 10, "uniform", "by_class", P=np.full((4, 4), 0.1) + 0.6 * np.eye(4))


@pytest.mark.parametrize(("K", "each", "said"), [(15, 30, True), (3, 300, False)])
def test_the_report_counts_what_another_prior_invents(K, each, said, tmp_path):
    est = tu.correct_counts(square(K, each), [5000] * K, design="by_prediction", seed=1, draws=200)
    text = est.report(tmp_path / "r.html").read_text(encoding="utf-8")
    words = "But prior &#x27;jeffreys&#x27; adds 7.5 invented units to each predicted class"
    assert (words in text) is said
    assert "Under jeffreys" in text
