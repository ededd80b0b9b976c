"""The design check: right under `random`, loud when it is not."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import chdtrc
from tests.seeds import more

import trueup as tu
from trueup.count.counts import make_counts
from trueup.count.parts import Parts
from trueup.estimate.doubts.design import (
    _random_totals,
    chi_square_tail,
    design_doubts,
    design_p_value,
)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 14, 29, 200, 999])
def test_the_tail_of_chi_square_is_scipys(freedom, rng):
    for x in (0.0, 1e-9, 0.5, 1400.0, *rng.chisquare(freedom, 20), *(3 * freedom * rng.random(5))):
        assert chi_square_tail(freedom, x) == pytest.approx(chdtrc(freedom, x), rel=1e-11, abs=0)


@pytest.mark.parametrize(
    ("v_hat", "size"), [([900, 8100], 100), ([20, 80, 900], 40), ([5, 95], 50), ([300, 700], 500)]
)
@pytest.mark.parametrize("overlap", [True, False])
def test_p_values_of_random_test_sets_are_not_too_small(v_hat, size, overlap, rng):
    v_hat = np.array(v_hat)
    if overlap:
        drawn = rng.multivariate_hypergeometric(v_hat, size, 400)
    else:
        drawn = rng.multinomial(size, v_hat / v_hat.sum(), 400)
    p = np.array([design_p_value(np.diag(d), v_hat, overlap=overlap, rng=rng) for d in drawn])
    for level in (0.05, 0.2, 0.5):
        bound = level + 5 * np.sqrt(level * (1 - level) / len(p))
        assert (p <= level).mean() <= bound + 0.02  # chi-square is an approximation


def test_units_in_many_small_groups_are_tested_like_those_in_few(rng):
    """Test sets are drawn unit by unit where groups are many: compared with drawing all groups."""
    v_hat = rng.integers(1, 9, 4000)
    for overlap in (True, False):
        drawn = np.concatenate([*_random_totals(v_hat, 200, overlap, rng)])
        assert (drawn.sum(axis=1) == 200).all()
        assert not overlap or (drawn <= v_hat).all()
        expected = 200 * v_hat / v_hat.sum()
        found = ((drawn - expected) ** 2 / expected).sum(axis=1)
        R = more(1000)
        theirs = rng.multinomial(200, v_hat / v_hat.sum(), R)
        if overlap:
            theirs = rng.multivariate_hypergeometric(v_hat, 200, R, method="marginals")
        other = ((theirs - expected) ** 2 / expected).sum(axis=1)
        error = np.sqrt(found.var() / len(found) + other.var() / R)
        assert abs(found.mean() - other.mean()) < 5 * error
        p = design_p_value(theirs[:1], v_hat, overlap=overlap, rng=rng)
        error = np.sqrt(p * (1 - p) * (1 / len(found) + 1 / R))
        assert abs(p - (other >= other[0]).mean()) < 5 * error + 0.002
        early = np.zeros((1, 4000), int)
        early[0, :200] = 1  # only in the first groups, one in each
        share = v_hat[:200].sum() / v_hat.sum()
        assert share < 0.1
        assert design_p_value(10 * early, 10 * v_hat, overlap=overlap, rng=rng) < 0.001


def test_a_shifted_test_set_is_found():
    est = tu.correct_counts([[45, 5], [5, 45]], [900, 8100], design="random", draws=200)
    (warning,) = est.info["warnings"]
    for word in ("(p ", "50.0% of the test set", "10.0% of the population", "'shifted'"):
        assert word in warning


@pytest.mark.parametrize("design", ["by_prediction", "by_class", "shifted"])
def test_other_designs_are_not_tested(design):
    est = tu.correct_counts([[45, 5], [5, 45]], [900, 8100], design=design, draws=200)
    assert not any("random sample" in warning for warning in est.info["warnings"])


def test_a_method_that_does_not_fit_the_design_says_so():
    for method, design in (("joint", "shifted"), ("constrained", "by_prediction")):
        with pytest.warns(tu.TrueupWarning, match="Use method 'auto'"):
            tu.correct_counts([[45, 5], [5, 45]], [90, 810], design=design, method=method)


def test_check_names_what_is_doubtful(tmp_path):
    (tmp_path / "p.csv").write_text("predicted,y\n" + "a,1\n" * 500 + "b,1\n" * 499 + "b,5000\n")
    (tmp_path / "t.csv").write_text("predicted,true,y\n" + "a,a,1\n" * 30 + "a,b,1\n" + "b,b,1\n")
    found = tu.check(tmp_path / "p.csv", tmp_path / "t.csv", value="y")
    rows = {row["question"]: row for row in found.rows()}
    assert rows["design 'random'"]["doubt"]
    assert rows["largest units"]["doubt"]
    assert rows["effective size T²/Σy²"]["value"] == pytest.approx(5999**2 / (999 + 5000**2))
    assert rows["test units per true class"]["value"] == {"a": 30, "b": 2}
    assert not rows["true classes never audited"]["doubt"]
    assert str(found).endswith(f"\n{len(found.doubts)} findings to look at, marked with !.")
    one = replace(found, findings=tuple(x for x in found.findings if x.question == "largest units"))
    assert str(one).endswith("\n1 finding to look at, marked with !.")


def test_check_finds_classes_that_were_never_audited():
    from trueup.count.counts import make_counts
    from trueup.study.check import check_counts

    counts = make_counts([[9, 0, 0], [1, 8, 0], [0, 0, 0]], [50, 40, 10], classes=list("abc"))
    options = {"design": "shifted", "prior": "perks", "overlap": False, "interval": 0.95}
    rows = {row["question"]: row for row in check_counts(counts, **options).rows()}
    assert rows["true classes never audited"]["value"] == ["c"]
    assert rows["predicted classes never audited"]["value"] == ["c"]
    assert rows["growth of errors"]["doubt"]


def test_a_population_of_billions_is_tested_too(rng):
    v_hat = np.array([300_000, 13_000_000_000, 4_000_000_000])
    test = np.array([[0, 1, 1], [0, 900, 80], [0, 60, 270]])
    p = design_p_value(test, v_hat, overlap=True, rng=rng)
    assert p > 0.001


def sized(rng, by_size, N=5000, n=200):
    s = rng.random(N) < 0.3
    table = pd.DataFrame(
        {
            "predicted": np.where(rng.random(N) < 0.1, ~s, s).astype(int),
            "y": rng.lognormal(0, 1.5, N),
            "region": rng.choice(list("nsw"), N),
        }
    )
    p = table["y"] ** by_size
    audited = rng.choice(N, n, replace=False, p=p / p.sum())
    return table, table.iloc[audited].assign(true=s[audited].astype(int))


def test_a_sample_drawn_by_size_is_noticed(rng):
    table, test_set = sized(rng, 0.5)
    with pytest.warns(tu.TrueupWarning, match="values of the test set are larger"):
        tu.correct(table, test_set, value="y", draws=200)
    rows = {row["question"]: row for row in tu.check(table, test_set, value="y").rows()}
    assert rows["random values"]["doubt"]
    assert not rows["design 'random'"]["doubt"]


def test_a_sample_of_some_regions_is_noticed(rng):
    table, test_set = sized(rng, 0)
    test_set = test_set.drop(index=test_set.index[(test_set["region"] == "n")][20:])
    with pytest.warns(
        tu.TrueupWarning, match="labels in 'region' of the test set do not look like"
    ):
        tu.correct(table, test_set, by="region", draws=200)


def test_random_values_raise_one_false_alarm_in_a_hundred(rng):
    from trueup.count.gather import gather
    from trueup.count.names import Columns
    from trueup.estimate.doubts.design import design_doubts
    from trueup.read import open_table

    def p_values():
        tables = (open_table(x, "x") for x in sized(rng, 0, N=1000, n=60))
        counts = gather(*tables, Columns(value="y"), overlap=True, bands=True)
        return [doubt.p_value for doubt in design_doubts(counts, True)]

    count = more(40)
    p = np.array([p_values() for _ in range(count)])
    least = p.min(axis=1)
    assert (least < 0.05).mean() < 0.05 + 5 * np.sqrt(0.05 * 0.95 / count)
    # min(1, 2 p) has mean 3/4 and standard deviation 0.32; p itself, the planted bug, has mean 1/2
    assert p.shape[1] == 2
    assert (p.mean(axis=0) > 0.75 - 5 * 0.32 / np.sqrt(count)).all()


def test_a_transposed_matrix_is_suspected():
    matrix = np.array([[46, 4], [9, 41]])  # 50 of each predicted class, in rows
    with pytest.warns(tu.TrueupWarning, match="is the matrix transposed"):
        tu.correct_counts(matrix, [900, 8100], design="by_prediction", draws=200)
    est = tu.correct_counts(matrix.T, [900, 8100], design="by_prediction", draws=200)
    assert not any("transposed" in warning for warning in est.info["warnings"])
    with pytest.warns(tu.TrueupWarning, match="is the matrix transposed"):
        tu.correct_counts(matrix.T, [900, 8100], design="by_class", draws=200)


def in_strata(rng, sizes, shares, each=50):
    """Strata with base rates of their own, and as many audited units in each."""
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    s = (rng.random(len(stratum)) < np.array(shares)[stratum]).astype(int)
    predicted = np.where(rng.random(len(s)) < 0.1, 1 - s, s)
    units = pd.DataFrame({"id": np.arange(len(s)), "predicted": predicted, "stratum": stratum})
    audited = [rng.choice(np.flatnonzero(stratum == j), each, False) for j in range(len(sizes))]
    return units, units.assign(true=s).iloc[np.concatenate(audited)]


def test_the_same_number_of_units_from_each_stratum_is_no_false_alarm(rng):
    """Of 40 such samples the tests at 0.01 doubt 6 or more with a probability of 3e-6."""
    doubts = 0
    for _ in range(40):
        units, test = in_strata(rng, [300, 4000, 1500], [0.6, 0.1, 0.3])
        n, v_hat = np.zeros((3, 2, 2), dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
        np.add.at(n, (test["stratum"], test["true"], test["predicted"]), 1)
        np.add.at(v_hat, (units["stratum"], units["predicted"]), 1)
        within = make_counts(n, v_hat)
        whole = replace(make_counts(n.sum(axis=0), v_hat.sum(axis=0)), within=within)
        parts = {"stratum": Parts(("stratum",), [(0,), (1,), (2,)], within, True)}
        doubts += any(doubt.p_value < 0.01 for doubt in design_doubts(whole, True, parts))
    assert doubts <= 5
    for found in (
        tu.correct(units, test, id="id", strata="stratum", draws=100).info["warnings"],
        tu.check(units, test, id="id", strata="stratum").doubts,
    ):
        assert not any("do not look like" in words for words in found)
    with pytest.warns(tu.TrueupWarning, match="those of a random sample"):  # one P: it matters
        tu.correct(units, test, id="id", strata="stratum", pooling="complete", draws=100)


def test_units_chosen_by_prediction_within_a_stratum_are_noticed(rng):
    units, test = in_strata(rng, [3000, 4000], [0.5, 0.3], each=200)
    odd = test[(test["stratum"] == 0) | (test["predicted"] == 1) | (rng.random(len(test)) < 0.3)]
    with pytest.warns(tu.TrueupWarning, match="do not look like a random sample"):
        tu.correct(units, odd, id="id", strata="stratum", draws=100)
