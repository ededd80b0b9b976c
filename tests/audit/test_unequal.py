"""`correct` with probabilities and clusters, from tables and the command."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import stdtrit

import trueup as tu
from trueup.audit.clusters import design_effect
from trueup.audit.units import Units, freedom, weighted_difference
from trueup.cli import main
from trueup.count.counts import Counts
from trueup.errors import DataError, OptionError
from trueup.estimate.doubts.values import thin_small
from trueup.present.report import sections


@pytest.fixture
def tables(rng):
    N = 1500
    s = (rng.random(N) < 0.3).astype(int)
    table = pd.DataFrame(
        {
            "unit": np.arange(N),
            "predicted": np.where(rng.random(N) < 0.15, 1 - s, s),
            "y": np.round(rng.lognormal(0, 1, N), 3),
        }
    )
    audit = tu.draw(table, 150, id="unit", size="y", seed=int(rng.integers(2**32)))
    audit["true"] = s[audit["unit"].to_numpy()]
    return table, audit


def by_hand(table, audit, y):
    units = Units(*(audit[x].to_numpy() for x in ("true", "predicted")), y, audit["probability"])
    u_hat = (
        table.groupby("predicted")["y"].sum()
        if (y != 1).any()
        else table["predicted"].value_counts()
    )
    units = Units(units.g.astype(int), units.h, units.y, units.pi.to_numpy())
    return weighted_difference(units, u_hat.sort_index().to_numpy(float), len(table))


def test_a_list_drawn_by_size_is_read(tables):
    table, audit = tables
    est = tu.correct(table, audit, value="y", seed=1)
    assert est.info["method"] == "joint"
    assert not any("random sample" in text for text in est.info["warnings"])
    y = audit["y"].to_numpy()
    rows = tu.correct(table, audit, value="y", method="difference").rows()
    estimate, variance = by_hand(table, audit, y)
    for row, x, v in zip(rows, estimate, variance, strict=True):
        assert row["estimate"] == pytest.approx(x)
        assert row["sd"] == pytest.approx(np.sqrt(v))


def test_a_list_drawn_by_size_does_not_know_how_often_small_units_are_wrong(tables):
    """Within a band the larger units were drawn: accuracies of all units would be too high."""
    table, audit = tables
    est = tu.correct(table, audit, value="y", seed=1, draws=200)
    for figures in (est.accuracy, est.error_matrix, est.mean_value):
        with pytest.raises(tu.EstimateError, match="not known from a test set drawn by size"):
            figures()
    assert "drawn by size" in str(sections.accuracies(est))


def test_counts_of_a_list_drawn_by_size_are_those_of_bands_of_it(tables):
    """The weighted estimator stands beside them, and is there by name."""
    table, audit = tables
    est = tu.correct(table, audit, seed=1, draws=400)
    assert est.info["method"] == "joint"
    assert est.info["bands"] > 8
    assert est.draws.sum(axis=1) == pytest.approx(len(table))
    weighted = by_hand(table, audit, np.ones(len(audit)))
    assert est.info["weighted_difference"]["estimate"] == pytest.approx(weighted[0].tolist())
    rows = tu.correct(table, audit, method="difference").rows()
    assert [row["estimate"] for row in rows] == pytest.approx(weighted[0].tolist())
    # the same with the column of the probabilities in both tables, drawn by whatever it was
    rate = (audit["probability"] / audit["y"])[audit["probability"] < 1].mean()
    table = table.assign(pi=np.minimum(rate * table["y"], 1.0))
    plain = audit[["unit", "true"]]
    own = tu.correct(
        table, plain.assign(pi=table["pi"][plain["unit"]].to_numpy()), probability="pi", id="unit",
        seed=1, draws=400,
    )  # fmt: skip
    assert own.rows()[0]["mean"] == pytest.approx(est.rows()[0]["mean"], abs=est.rows()[0]["sd"])


def test_probabilities_that_only_the_audit_has_are_weights(tables):
    table, audit = tables
    plain = audit[["predicted", "true"]].assign(pi=audit["probability"])
    with pytest.warns(tu.TrueupWarning, match="weighted difference estimator"):
        est = tu.correct(table, plain, probability="pi")
    assert [row["estimate"] for row in est.rows()] == pytest.approx(
        by_hand(table, audit, np.ones(len(audit)))[0].tolist()
    )


@pytest.mark.parametrize("value", [None, "y"])
@pytest.mark.parametrize("cluster", [None, "village"])
def test_one_probability_for_all_units_says_nothing(tables, value, cluster):
    """Planted bug: the weighted difference estimator, which has no draws, takes its place."""
    table, audit = tables
    test = audit[["unit", "predicted", "true"]].assign(village=np.arange(len(audit)) // 5)
    options = {"value": value, "cluster": cluster, "id": "unit", "draws": 400, "seed": 1}
    plain = tu.correct(table, test, **options)
    given = tu.correct(table, test.assign(pi=0.05), probability="pi", **options)
    assert given.rows() == plain.rows()
    weighted = tu.correct(
        table, test.assign(pi=0.05), probability="pi", method="difference", **options
    )
    assert weighted.draws is None


@pytest.mark.parametrize("value", [None, "y"])
def test_strata_with_one_probability_are_strata(rng, value):
    """Where error rates differ much, the textbook's estimators need them: here twice as sure."""
    N = 4000
    table = pd.DataFrame({"unit": np.arange(N), "r": np.arange(N) // 2 % 2, "y": 2.0})
    table["predicted"] = np.arange(N) % 2
    s = np.where(table["r"] == 1, 1 - table["predicted"], table["predicted"])
    audit = tu.draw(
        table, 200, id="unit", by_prediction=True, within="r", seed=int(rng.integers(2**32))
    )
    assert audit["probability"].nunique() == 1
    wrong = rng.random(N) < 0.1
    audit["true"] = np.where(wrong, 1 - s, s)[audit["unit"]]
    assert tu.check(table, audit, value=value).findings
    alone = audit[["unit", "true"]]
    for method in ("difference", "test_set"):
        listed = tu.correct(table, audit, value=value, method=method).rows()[1]
        simple = tu.correct(table, alone, value=value, method=method, id="unit").rows()[1]
        assert listed["sd"] < 0.75 * simple["sd"]


def test_small_units_that_err_most_are_not_forgotten(rng):
    """Four audits by size. Without bands the count is too high by the errors of small units."""
    off = []
    for _ in range(4):
        N = 4000
        s, y = (rng.random(N) < 0.2).astype(int), rng.lognormal(0, 1, N)
        s_hat = np.where(rng.random(N) < np.where(y < 1, 0.3, 0.02), 1 - s, s)
        table = pd.DataFrame({"unit": np.arange(N), "predicted": s_hat, "y": y})
        audit = tu.draw(table, 400, id="unit", size="y", seed=int(rng.integers(2**32)))
        audit["true"] = s[audit["unit"].to_numpy()]
        row = tu.correct(table, audit, seed=1, draws=500).rows()[1]
        off.append((row["mean"] - s.sum()) / row["sd"])
    assert abs(np.mean(off)) < 5 / np.sqrt(len(off)) + 0.5


def test_probabilities_of_ones_own(tables, tmp_path, monkeypatch):
    table, audit = tables
    plain = audit[["predicted", "true", "y", "probability"]].rename(columns={"probability": "pi"})
    est = tu.correct(table, plain, value="y", probability="pi", method="difference")
    assert [row["estimate"] for row in est.rows()] == pytest.approx(
        by_hand(table, audit, audit["y"].to_numpy())[0].tolist()
    )
    monkeypatch.chdir(tmp_path)
    table.to_csv("all.csv", index=False)
    plain.to_csv("audit.csv", index=False)
    command = ["correct", "all.csv", "audit.csv", "--value", "y", "--probability", "pi"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "method joint" in done.output  # probabilities that rise with the value are bands of it
    plain["pi"] = plain["pi"].to_numpy()[::-1]
    plain.to_csv("audit.csv", index=False)
    done = CliRunner().invoke(main, command)
    assert "method difference" in done.output


@pytest.mark.parametrize("bad", [0.0, 1.5, -0.1, None])
def test_probabilities_that_are_none(tables, bad):
    table, audit = tables
    plain = audit[["predicted", "true", "probability"]].rename(columns={"probability": "pi"})
    plain["pi"] = [bad, *plain["pi"][1:]]
    with pytest.raises(DataError, match=r"inclusion probabilities|usable value"):
        tu.correct(table, plain, probability="pi")


@pytest.mark.parametrize(
    "more", [{"design": "shifted"}, {"by": "unit"}, {"method": "joint"}, {"strata": "unit"}]
)
def test_probabilities_do_not_go_with_everything(tables, more):
    table, audit = tables
    plain = audit.drop(columns=["drawn"])
    with pytest.raises(OptionError, match="`probability` needs"):
        tu.correct(table, plain, probability="probability", **more)


def test_clusters_widen_every_methods_interval(tables, rng):
    table, _ = tables
    audit = table.iloc[:200].assign(block=np.arange(200) // 10, true=table["predicted"][:200])
    same = np.isin(audit["block"], [0, 3, 7])  # whole blocks are of class 1
    audit["true"] = np.where(same, 1, audit["true"])
    units = Units(*(audit[x].to_numpy() for x in ("true", "predicted")), np.ones(200), None,
                  audit["block"].to_numpy())  # fmt: skip
    effect = design_effect(units, table["predicted"].value_counts().sort_index().to_numpy()).whole
    assert effect > 3
    for method in ("auto", "calibrated", "test_set"):
        for value in (None, "y"):
            options = {"value": value, "method": method, "seed": 1, "id": "unit"}
            alone = tu.correct(table, audit, **options).rows()[0]
            together = tu.correct(table, audit, cluster="block", **options)
            row = together.rows()[0]
            ratio = (row["upper"] - row["lower"]) / (alone["upper"] - alone["lower"])
            assert 1.2 < ratio < 1.3 * np.sqrt(together.info["design_effect"])
            if method == "auto":
                total = len(table) if value is None else table["y"].sum()
                assert together.draws.sum(axis=1) == pytest.approx(total)


def test_units_with_a_label_that_is_no_class(tables):
    """A prediction such as "unknown" has a column but no row, with these options too."""
    table, audit = tables
    table = table.assign(predicted=np.where(table["unit"] % 9 == 0, 7, table["predicted"]))
    audit = audit.assign(
        predicted=table["predicted"][audit["unit"]].to_numpy(), block=audit["unit"] % 15
    )
    plain = audit[["unit", "predicted", "true", "block"]].assign(p=audit["probability"])
    for more in ({"cluster": "block"}, {"probability": "p"}, {"cluster": "block", "value": "y"}):
        est = tu.correct(table, plain, id="unit", classes=[0, 1], seed=1, draws=200, **more)
        assert [row["class"] for row in est.rows()] == [0, 1]
        if est.draws is not None:
            whole = table["y"].sum() if "value" in more else len(table)
            assert est.draws.sum(axis=1) == pytest.approx(whole)


def test_clusters_with_probabilities_tell_their_design_effect(tables):
    table, audit = tables
    pi = audit["probability"]
    plain = audit[["predicted", "true"]].assign(p=(pi + 4 * pi.mean()) / 5)  # no unit decides alone
    kind = 2 * plain["true"] + plain["predicted"]
    plain["block"] = kind.rank(method="first") // 10  # nearly all of one kind each
    options = {"probability": "p", "method": "difference"}
    alone = tu.correct(table, plain, **options)
    together = tu.correct(table, plain, cluster="block", **options)
    variance = [sum(row["sd"] ** 2 for row in est.rows()) for est in (together, alone)]
    assert together.info["design_effect"] == pytest.approx(variance[0] / variance[1])
    assert together.info["design_effect"] > 1  # clusters taken for single units: 1
    assert "design_effect" not in alone.info


def test_clusters_are_no_doubt_about_the_design(rng):
    """Clusters of one prediction each, 14 of 20 of class 1: as likely as 14 heads of 20."""
    block = np.repeat(np.arange(400), 10)
    table = pd.DataFrame({"unit": np.arange(4000), "block": block, "predicted": block % 2})
    few = np.r_[np.arange(1, 29, 2), np.arange(0, 12, 2)]
    audit = table[np.isin(block, few)].assign(true=lambda x: x["predicted"])
    with pytest.warns(tu.TrueupWarning, match="do not look like a random sample"):
        tu.correct(table, audit, id="unit", seed=1)
    est = tu.correct(table, audit, id="unit", cluster="block", seed=1)
    assert not any("random sample" in text for text in est.info["warnings"])


def test_the_interval_of_unequal_probabilities_is_students(tables):
    table, audit = tables
    row = tu.correct(table, audit, method="difference").rows()[0]
    w = 1 / audit["probability"][audit["probability"] < 1]
    least, most = stdtrit([w.sum() ** 2 / (w**2).sum() - 1, 1], 0.975)
    found = (row["upper"] - row["estimate"]) / row["sd"]
    assert least < found < most
    pi = audit["probability"].to_numpy()
    own = freedom(Units(*audit[["true", "predicted"]].to_numpy().T, np.ones(len(pi)), pi), 2)
    assert found == pytest.approx(stdtrit(own[0], 0.975))
    rare = audit.assign(true=np.arange(len(audit)) < 2)
    with pytest.warns(tu.TrueupWarning, match="count as fewer than 4"):
        tu.correct(table, rare.assign(true=rare["true"].astype(int)), method="difference")


@pytest.mark.parametrize("ask", ["accuracy", "share"])
def test_the_way_to_draws_is_not_the_method_that_was_used(tables, ask):
    table, audit = tables
    plain = audit[["predicted", "true"]].assign(p=audit["probability"])
    with pytest.warns(tu.TrueupWarning, match="no draws"):
        est = tu.correct(table, plain, probability="p")
    with pytest.raises(tu.EstimateError, match="by whose size `draw` drew the units"):
        getattr(est, ask)()
    naive = tu.correct_counts([[4, 1], [2, 3]], [10, 90], method="naive")
    with pytest.raises(tu.EstimateError, match=r'use method="auto"\.$'):
        getattr(naive, ask)()


def test_too_few_clusters(tables):
    table, audit = tables
    plain = audit[["predicted", "true"]].assign(block=np.arange(len(audit)) % 2)
    with pytest.raises(DataError, match="at least 3 clusters"):
        tu.correct(table, plain, cluster="block")
    with pytest.raises(OptionError, match="`cluster` cannot be combined"):
        tu.correct(table, plain, cluster="block", by="y")


def test_a_list_drawn_within_columns_is_read(rng):
    """Ten times as many from the small region: unweighted it would be far off."""
    N = 4000
    region = np.where(np.arange(N) < 400, "small", "large")
    s = (rng.random(N) < np.where(region == "small", 0.8, 0.1)).astype(int)
    table = pd.DataFrame({"unit": np.arange(N), "region": region, "predicted": 0})
    table["predicted"] = np.where(rng.random(N) < 0.2, 1 - s, s)
    audit = tu.draw(table, {"small": 200, "large": 200}, id="unit", within="region", seed=3)
    audit["true"] = s[audit["unit"].to_numpy()]
    row = tu.correct(table, audit, method="test_set").rows()[1]
    mine = [audit[audit["region"] == x]["true"] for x in ("small", "large")]
    assert row["estimate"] == pytest.approx(400 * mine[0].mean() + 3600 * mine[1].mean())
    error = sum(
        units**2 * (1 - 200 / units) * a.var() / 200
        for units, a in zip((400, 3600), mine, strict=True)
    )
    assert row["sd"] == pytest.approx(np.sqrt(error))
    rows = tu.correct(table, audit, method="difference").rows()
    assert abs(rows[1]["estimate"] - s.sum()) < 5 * rows[1]["sd"]
    with pytest.raises(DataError, match="must be the population"):
        tu.correct(table.assign(region="large"), audit)
    est = tu.correct(table, audit, seed=1)
    plain = audit[["unit", "true"]]
    same = tu.correct(table, plain, id="unit", drawn_within="region", seed=1)
    assert est.info["method"] == "joint"
    assert est.rows() == same.rows()
    assert est.rows() == tu.correct(table, audit, drawn_within="region", seed=1).rows()
    assert "drawn within 'region'; method" in est.to_markdown()
    assert "drawn within 'region'; method" in same.to_markdown()
    for options in ({"strata": "region"}, {"score": "unit"}):
        with pytest.raises(OptionError, match=r"yet with a test set that was drawn within columns"):
            tu.correct(table, audit, **options)
    for options in ({"drawn_within": "unit"}, {"design": "by_prediction"}):
        with pytest.raises(OptionError, match=r"drawn within 'region'; got (drawn_within|design)="):
            tu.correct(table, audit, **options)


def test_a_list_drawn_within_both_is_read(rng):
    """Strata of `difference` are of prediction and region; `joint` has both as cells."""
    N = 2000
    s = (rng.random(N) < 0.3).astype(int)
    table = pd.DataFrame({"unit": np.arange(N), "region": np.where(np.arange(N) < 400, "s", "l")})
    table["predicted"] = np.where(rng.random(N) < 0.2, 1 - s, s)
    audit = tu.draw(table, 80, id="unit", within="region", by_prediction=True, allocation="equal",
                    seed=3)  # fmt: skip
    audit["true"] = s[audit["unit"].to_numpy()]
    est = tu.correct(table, audit, seed=1)
    assert (est.info["method"], est.info["design"]) == ("joint", "by_prediction")
    assert "drawn within predicted classes, 'region'" in est.to_markdown()
    cells = audit.groupby(["predicted", "region"])
    wanted = (cells["true"].mean() * table.groupby(["predicted", "region"]).size()).sum()
    row = tu.correct(table, audit, method="test_set").rows()[1]
    assert row["estimate"] == pytest.approx(wanted)
    own = {"id": "unit", "drawn_within": "region", "design": "by_prediction"}
    plain = audit[["unit", "true"]]
    row = tu.correct(table, plain, method="calibrated", **own).rows()[1]
    assert row["estimate"] == pytest.approx(wanted)
    with pytest.raises(OptionError, match="drawn at random within its strata"):
        tu.correct(table, plain, method="test_set", **own)


@pytest.mark.parametrize("value", [None, "y", "z"])
def test_check_announces_what_correct_warns_of_a_list_drawn_by_size(rng, value):
    """Large units only: of 60, two or so are of the smaller half. By another value: weighted."""
    size, seed = rng.lognormal(0, 2.5, 3000), int(rng.integers(2**32))
    table = pd.DataFrame({"unit": np.arange(3000), "predicted": np.arange(3000) % 2, "y": size})
    table["z"] = rng.lognormal(0, 1, 3000)
    audit = tu.draw(table, 60, id="unit", size="y", seed=seed)
    audit["true"] = np.where(np.arange(len(audit)) < 8, 0, audit["predicted"])
    warned = tu.correct(table, audit, value=value, seed=0).info["warnings"]
    told = {None: "least likely to be drawn", "y": "Few test units", "z": "weight 1/probability"}
    assert any(told[value] in words for words in warned)
    assert {words for words in warned if "no correction" not in words} <= {
        *tu.check(table, audit, value=value).doubts
    }


@pytest.mark.parametrize(
    ("audited", "words"), [(0, "none was"), (1, "only 1 was"), (2, "2 were"), (9, "9 were")]
)
def test_how_many_small_units_were_audited_is_told_in_words(audited, words):
    n, v_hat = np.array([[audited, 40], [0, 40]]), np.array([900, 600])
    bands = Counts(("a", "b"), n, v_hat, u_hat=np.array([9.0, 6000.0]))
    counts = Counts(("a", "b"), n, v_hat, bands=bands)
    told = f"Of the 900 units that were least likely to be drawn, {words} audited: how often"
    assert thin_small(counts)[0].startswith(told)


def test_outputs_say_how_units_were_drawn(tables):
    table, audit = tables
    assert "drawn by size of 'y'" in tu.correct(table, audit, value="y", seed=1).to_markdown()
    with pytest.raises(OptionError, match=r"A test set drawn by size of 'y' needs .* got `by`"):
        tu.correct(table, audit, by="y")
    with pytest.raises(OptionError, match="drawn by size of 'y'; got design='random'"):
        tu.correct(table, audit, value="y", design="random")
    plain = table.iloc[:200].assign(true=table["predicted"], block=np.arange(200) // 10)
    est = tu.correct(table, plain, id="unit", cluster="block", seed=1)
    report = est._repr_html_() + est.to_markdown() + str(sections.method(est))
    assert "drawn in clusters of 'block'" in report
    assert "at random" not in report
    assert "misclassified independently" not in report
    plain["pi"] = 0.1
    est = tu.correct(table, plain, id="unit", probability="pi")
    assert "drawn with the probabilities in 'pi'" in est.to_markdown()


@pytest.mark.parametrize(("study", "options"), [(tu.compare, {}), (tu.plan, {"next": 5})])
def test_studies_refuse_a_list_drawn_by_size(tables, study, options):
    """They would simulate a draw within predicted classes, with intervals a third wider."""
    with pytest.raises(OptionError, match=r"no other is simulated.*drawn .*'y'"):
        study(*tables, value="y", **options)
