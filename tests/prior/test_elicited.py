"""Priors that people have, written as concentrations."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta

import trueup as tu
from trueup.prior import resolve_prior

AUDIT = np.array([[40, 10], [2, 48]])
RANGES = [
    ((0.80, 0.95), 0.9),
    ((0.60, 0.61), 0.5),
    ((0.0001, 0.01), 0.95),
    ((0.99, 0.9999), 0.8),
    ((0.05, 0.95), 0.9),
    ((0.3, 0.9), 0.999),
]


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize(("recall", "probability"), RANGES)
def test_a_range_is_the_central_interval_of_the_recall(recall, probability, K):
    prior = tu.prior.from_range(1, recall=recall, probability=probability).for_classes(K)
    row = prior.alpha[1]
    marginal = beta(row[1], row.sum() - row[1])  # of one component of a Dirichlet
    tail = (1 - probability) / 2
    assert marginal.cdf(recall[0]) == pytest.approx(tail, rel=1e-5)
    assert marginal.sf(recall[1]) == pytest.approx(tail, rel=1e-5)
    others = np.delete(row, 1)
    assert others == pytest.approx(np.full(K - 1, others[0]))
    # rows that nobody spoke of, and base rates, are Jeffreys'
    assert np.delete(prior.alpha, 1, axis=0) == pytest.approx(0.5)
    assert prior.gamma == pytest.approx(K / 2)


def test_several_ranges_and_the_prior_of_the_rest():
    ranges = {"a": (0.8, 0.9), "c": (0.5, 0.7)}
    prior = tu.prior.from_range(ranges, rest="uniform").for_classes(3, ["a", "b", "c"])
    for g, label in ((0, "a"), (2, "c")):
        marginal = beta(prior.alpha[g, g], prior.alpha[g].sum() - prior.alpha[g, g])
        assert marginal.interval(0.9) == pytest.approx(ranges[label], abs=1e-5)
    assert prior.alpha[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("label", "labels"), [(7, [3, 7]), ("7", [3, 7]), ("b", ["a", "b"])])
def test_labels_are_found_as_they_are_and_as_text(label, labels):
    prior = tu.prior.from_range(label, recall=(0.8, 0.9)).for_classes(2, labels)
    assert prior.alpha[0].tolist() == [0.5, 0.5]
    assert prior.alpha[1, 1] > 10


@pytest.mark.parametrize(
    "recall", [(0.9, 0.8), (0.0, 0.5), (0.5, 1.0), (0.5,), 0.8, None, ("a", "b"), (np.nan, 0.9)]
)
def test_a_bad_range_is_refused(recall):
    with pytest.raises(tu.OptionError, match="0 < low < high < 1"):
        tu.prior.from_range("a", recall=recall)


@pytest.mark.parametrize("probability", [0, 1, 90, "0.9", None])
def test_a_bad_probability_is_refused(probability):
    with pytest.raises(tu.OptionError, match="probability"):
        tu.prior.from_range("a", recall=(0.8, 0.9), probability=probability)


@pytest.mark.parametrize(
    "prior",
    [
        tu.prior.from_range("c", recall=(0.8, 0.9)),
        tu.prior.per_class({"c": "uniform"}),
        tu.prior.robust(tu.prior.from_range("c", recall=(0.8, 0.9))),
    ],
)
def test_an_unknown_class_is_refused(prior):
    with pytest.raises(tu.OptionError, match=r"'c'.*\['a', 'b'\]"):
        resolve_prior(prior, 2, ["a", "b"])


def test_weight_one_is_as_good_as_new_and_weight_zero_is_nothing():
    perks = resolve_prior("perks", 2)
    whole = resolve_prior(tu.prior.from_counts(AUDIT, 1), 2)
    assert (whole.alpha == perks.alpha + AUDIT).all()
    assert (whole.gamma == perks.gamma).all()
    assert (resolve_prior(tu.prior.from_counts(AUDIT, 0), 2).alpha == perks.alpha).all()


def test_weight_one_and_this_test_set_are_the_two_test_sets_together():
    test = np.array([[14, 6], [3, 77]])
    options = {"design": "shifted", "seed": 3, "overlap": False, "draws": 500}
    apart = tu.correct_counts(test, [300, 700], prior=tu.prior.from_counts(AUDIT, 1), **options)
    together = tu.correct_counts(test + AUDIT, [300, 700], **options)
    assert apart.rows() == together.rows()


def test_a_weight_for_each_true_class_and_base_rates():
    prior = tu.prior.from_counts(AUDIT, [1, 0.5], rest="uniform", base_rates=True).for_classes(2)
    assert prior.alpha.tolist() == [[41, 11], [2, 25]]
    assert prior.gamma.tolist() == [51, 26]  # 1 and the 50 and 25 units of the true classes


def test_an_earlier_audit_may_name_its_classes():
    prior = tu.prior.from_counts(AUDIT, [1, 0.5], rest="uniform", classes=["web", "other"])
    assert prior.for_classes(2, ["other", "web"]).alpha.tolist() == [[25, 2], [11, 41]]
    for classes in (["web", "web"], ["web", "shop"]):
        wrong = tu.prior.from_counts(AUDIT, classes=classes)
        with pytest.raises(tu.OptionError, match="classes"):
            wrong.for_classes(2, ["other", "web"])


TURNED = pd.DataFrame(AUDIT[::-1], index=["other", "web"], columns=["web", "other"])


@pytest.mark.parametrize(
    "audit",
    [
        TURNED,
        TURNED[["other", "web"]],
        pl.DataFrame({"true": ["other", "web"], "other": AUDIT[::-1, 1], "web": AUDIT[::-1, 0]}),
    ],
    ids=["crosstab", "turned", "polars"],
)
@pytest.mark.parametrize("weight", [[0.5, 1], pd.Series({"web": 1, "other": 0.5})], ids=type)
def test_an_earlier_audit_with_labels_is_put_in_order_by_them(audit, weight):
    """A list of weights is in the order of its rows; the planted bug takes rows as they stand."""
    prior = tu.prior.from_counts(audit, weight, rest="uniform")
    plain = tu.prior.from_counts(AUDIT, [1, 0.5], rest="uniform", classes=["web", "other"])
    for labels in (["web", "other"], ["other", "web"]):
        expected = plain.for_classes(2, labels).alpha.tolist()
        assert prior.for_classes(2, labels).alpha.tolist() == expected
        assert pickle.loads(pickle.dumps(prior)).for_classes(2, labels).alpha.tolist() == expected
    assert "classes=['other', 'web']" in repr(prior)  # so that it can be made again
    assert "web" in str(prior)


def test_numbered_classes_of_an_earlier_audit_are_positions_of_named_ones():
    numbered = pd.DataFrame(AUDIT[::-1], index=[1, 0], columns=[0, 1])
    expected = tu.prior.from_counts(AUDIT).for_classes(2).alpha.tolist()
    in_order = tu.prior.from_counts(numbered.loc[[0, 1]])
    assert in_order.for_classes(2, ["a", "b"]).alpha.tolist() == expected
    assert in_order.for_classes(2, [1, 0]).alpha.tolist() == np.array(expected)[::-1, ::-1].tolist()
    with pytest.raises(tu.OptionError, match="must be one of the classes"):
        tu.prior.from_counts(numbered).for_classes(2, ["a", "b"])


@pytest.mark.parametrize(
    ("audit", "options", "words"),
    [
        (TURNED[["web"]], {}, "columns of the earlier test set must be .*got .'web'."),
        (TURNED.rename(columns={"web": "shop"}), {}, "columns .* must be .*'shop'"),
        (TURNED, {"classes": ["web", "shop"]}, "rows .* must be .*'shop'"),
        (TURNED, {"weight": pd.Series({"web": 1, "shop": 1})}, "labels of `weight` must be"),
    ],
)
def test_labels_of_an_earlier_audit_that_do_not_fit_are_refused(audit, options, words):
    with pytest.raises(tu.ClassError, match=words):
        tu.prior.from_counts(audit, **options)


@pytest.mark.parametrize("weight", [-0.1, 1.1, [1, 2], np.nan, "half", [0.1, 0.2, 0.3]])
def test_a_weight_outside_is_refused(weight):
    with pytest.raises(tu.OptionError, match="weight"):
        tu.prior.from_counts(AUDIT, weight)


@pytest.mark.parametrize(
    "previous", [[1, 2], [[1, 2, 3], [4, 5, 6]], [[1]], "a", [[1, -2], [3, 4]], [[1, np.nan]] * 2]
)
def test_an_earlier_audit_must_be_a_square_matrix_of_counts(previous):
    with pytest.raises(tu.OptionError, match="earlier test set"):
        tu.prior.from_counts(previous)


def test_an_earlier_audit_must_have_as_many_classes():
    with pytest.raises(tu.OptionError, match="same 3 classes; it has 2"):
        resolve_prior(tu.prior.from_counts(AUDIT), 3)


def test_diagonal_adds_correct_units():
    prior = tu.prior.diagonal(4, rest="jeffreys").for_classes(3)
    assert (prior.alpha == 0.5 + 4 * np.eye(3)).all()
    assert (prior.gamma == 1.5).all()


@pytest.mark.parametrize("strength", [0, -1, "2", None, np.inf])
def test_a_strength_that_is_not_positive_is_refused(strength):
    with pytest.raises(tu.OptionError, match="strength"):
        tu.prior.diagonal(strength)


def test_rows_of_several_priors_with_jeffreys_for_the_rest():
    rows = {"b": tu.prior.from_counts(AUDIT, 1, rest="uniform"), "a": "uniform"}
    prior = tu.prior.per_class({"b": rows["b"]}).for_classes(2, ["a", "b"])
    assert prior.alpha.tolist() == [[0.5, 0.5], [3, 49]]
    assert prior.gamma.tolist() == [1, 1]
    assert tu.prior.per_class(rows).for_classes(2, ["a", "b"]).alpha.tolist() == [[1, 1], [3, 49]]


@pytest.mark.parametrize(
    "build",
    [
        lambda tilted: tu.prior.from_range("a", recall=(0.8, 0.9), rest=tilted),
        lambda tilted: tu.prior.from_counts(AUDIT, rest=tilted),
        lambda tilted: tu.prior.diagonal(1, rest=tilted),
        lambda tilted: tu.prior.per_class({"a": tilted}),
        tu.prior.truncated,
        tu.prior.robust,
        lambda tilted: tu.prior.log_density(lambda P: 0.0, reference=tilted),
    ],
)
def test_conjugate_priors_do_not_build_on_others(build):
    with pytest.raises(tu.OptionError, match="conjugate"):
        resolve_prior(build(tu.prior.ordered()), 2, ["a", "b"])


def test_what_is_believed_in_words():
    said = tu.prior.from_range("web", recall=(0.6, 0.85)).describe(["web", "other"]).splitlines()
    assert said[0] == "Prior 'from_range': what it believes before any test unit is seen."
    assert said[2].split()[0] == "web"
    assert "60% and 85%" in said[2]
    assert "1% and 99%" in said[3]  # Jeffreys': Beta(1/2, 1/2)
    picture = said[2].split("|")[1]
    assert len(picture) == 25
    assert picture.index("█") in range(17, 20)  # its mode is 0.74
    assert len({line.index("|") for line in said[2:]}) == 1


def test_a_prior_without_units_is_described_by_its_draws():
    said = tu.prior.logistic_normal(error=0.2, sd=0.5).describe(3)
    recall = float(said.splitlines()[2].split("%")[0].split()[-1]) / 100
    # E[p_gg] with log odds of both errors normal around log(0.1 / 0.8)
    z = np.exp(np.random.default_rng(1).normal(np.log(0.1 / 0.8), 0.5, (200_000, 2)))
    assert recall == pytest.approx((1 / (1 + z.sum(axis=1))).mean(), abs=0.015)
    assert said.splitlines()[2].split()[1] == "–"


def test_a_prior_that_allows_next_to_nothing_cannot_be_described():
    far = tu.prior.log_density(lambda P: -np.inf)
    with pytest.raises(tu.OptionError, match="must allow some P"):
        far.describe(2)
