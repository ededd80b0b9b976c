"""`check --by` and `--strata`: whether error rates differ, who was audited and who was not."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import beta
from tests.seeds import more

import trueup as tu
from trueup.cli import main
from trueup.estimate.doubts import Evidence
from trueup.study.findings import evidence_of

RATES = "error rates differ by 'region'"
SPREAD = "random labels in 'region'"
NEVER = "never audited in 'region'"


@pytest.mark.parametrize(("p", "words"), [(0.058, "no sign of it"), (0.02, "some sign of it")])
def test_a_sign_is_below_five_per_cent(p, words):
    assert evidence_of("rates", Evidence(p, "they differ"), "say so").words.startswith(words)


def tables(rng, spread=None, n=1500):
    """Ten regions of 600 units; their rates are ten of a Beta(spread·p), or are the same.

    They are the middles of its tenths: ten at random may be nearly the same. Of the tests with
    a spread of 20 at random, 6% had a shuffle that was as uneven; with these, 2 in ten million.
    """
    region, s = np.repeat([f"r{b}" for b in range(10)], 600), rng.integers(0, 2, 6_000)
    right = np.full((2, 10), [[0.9], [0.85]])
    if spread is not None:
        middles = (np.arange(10) + 0.5) / 10
        right = beta.ppf(middles, spread * right, spread * (1 - right))
        right = rng.permuted(right, axis=1)
    wrong = rng.random(6_000) > right[s, np.repeat(np.arange(10), 600)]
    units = pd.DataFrame(
        {"id": np.arange(6_000), "region": region, "predicted": np.where(wrong, 1 - s, s)}
    )
    audited = rng.choice(6_000, n, replace=False)
    return units, units.iloc[audited].assign(true=s[audited])


def findings(*tables, **options):
    return {row["question"]: row for row in tu.check(*tables, **options).rows()}


@pytest.mark.parametrize("option", ["by", "strata"])
def test_rates_that_differ_are_seen_with_the_way_out(rng, option):
    units, test = tables(rng, spread=10)
    found = findings(units, test[["id", "true"]], id="id", **{option: "region"})
    assert found[RATES]["doubt"]
    assert found[RATES]["value"] == 1 / 500  # no shuffle of 499 is as uneven
    parts = "groups" if option == "by" else "strata"
    assert f"predicted differently in different {parts} (p = 0.002)" in found[RATES]["words"]
    assert "leave `pooling` at its default" in found[RATES]["words"]
    # strata may have been audited in any proportion, groups of a random test set may not
    assert SPREAD not in found if option == "strata" else found[SPREAD]["value"] > 1e-6
    assert found[NEVER] == {"question": NEVER, "value": {}, "doubt": False, "words": "none"}


def test_groups_share_one_P_under_designs_without_base_rates(rng):
    units, test = tables(rng, spread=10)
    by = findings(units, test, by="region", design="by_class")
    assert "groups share one set of rates; give `strata`" in by[RATES]["words"]
    assert SPREAD not in by  # only a test set called random is tested
    both = findings(units, test, by="region", strata="region", design="by_class")
    assert "leave `pooling` at its default" in both[RATES]["words"]


def test_where_rates_are_the_same_p_values_are_uniform(rng):
    p = []
    for _ in range(more(12)):
        found = findings(*tables(rng), by="region")
        p.append(found[RATES]["value"])
        assert ("sign of it (p =" in found[RATES]["words"]) == (p[-1] >= 0.01)
        assert found[RATES]["words"].startswith("no sign") == (p[-1] > 0.05)
    assert abs(np.mean(p) - 0.5) < 5 * np.sqrt(1 / 12 / len(p))


@pytest.mark.usefixtures("few_draws", "short_chains")
def test_the_rest_of_the_check_is_that_without_groups(rng):
    units, test = tables(rng, n=300)
    y = pd.Series(rng.lognormal(3, 1, len(units)))
    units, test = units.assign(y=y), test.assign(y=y)
    alone = findings(units, test, value="y", design="by_prediction")
    found = findings(units, test, value="y", design="by_prediction", by="region", strata="id")
    assert {question: found[question] for question in alone} == alone
    assert set(found) - set(alone) == {
        RATES,
        NEVER,
        "error rates differ by 'id'",
        "never audited in 'id'",
        "the tables",  # which say that 'id' looks like an id
    }


def test_an_adjusted_p_value_is_called_so(rng):
    units, test = tables(rng, n=300)
    random = "design 'random'"
    alone, one = (findings(units, test, **given)[random] for given in ({}, {"by": "region"}))
    assert one["value"] == pytest.approx(min(2 * alone["value"], 1))
    assert "adjusted" not in alone["words"]
    assert one["doubt"] or ", adjusted for several tests: the test set's" in one["words"]


def test_audited_units_in_a_few_groups_only_are_seen_and_the_others_named(rng):
    units, test = tables(rng)
    test = test[test["region"].isin(["r0", "r1", "r2", "r3"])]
    found = findings(units, test, by="region")
    assert found["design 'random'"]["value"] > 1e-6  # predictions do not tell
    assert found[SPREAD]["doubt"]
    assert "`drawn_within`" in found[SPREAD]["words"]
    assert found[NEVER]["value"] == {f"r{b}": 0.1 for b in range(4, 10)}
    assert found[NEVER]["words"] == (
        "6 of 10, with 60.0% of the population: r4 (10.0%), r5 (10.0%), r6 (10.0%), r7 (10.0%), "
        "r8 (10.0%), …. Their figures rest on the others"
    )
    one = findings(units, test[test["region"] == "r0"], by="region")
    assert one[RATES]["value"] is None
    assert "cannot be seen" in one[RATES]["words"]


def test_without_a_column_or_an_id_nothing_can_be_seen(rng):
    units, test = tables(rng, spread=10)
    nowhere = test.drop(columns="region")
    found = findings(units, nowhere, by="region")
    assert RATES not in found
    assert found["the tables"]["doubt"]
    assert "no column 'region'" in found["the tables"]["words"]
    assert "cannot be seen. Name the `id` column" in found["the tables"]["words"]
    away = findings(units, nowhere, by="region", design="by_class", overlap=False)["the tables"]
    assert "One set of error rates is taken for all groups." in away["words"]
    assert "the units of the test set are not in the population" in away["words"]
    assert "`id`" not in away["words"]
    with pytest.raises(tu.TrueupError, match="must have a column 'region'"):
        tu.check(units, nowhere, strata="region")
    with pytest.raises(tu.TrueupError, match="must have a column 'county'"):
        tu.check(units, test, by="county")


def test_the_command_says_the_same(rng, tmp_path):
    units, test = tables(rng, spread=10)
    units["size"] = np.where(units["id"] % 3, "small", "large")
    paths = [str(tmp_path / "units.csv"), str(tmp_path / "test.csv")]
    units.to_csv(paths[0], index=False)
    test[test["region"] != "r7"][["id", "true"]].to_csv(paths[1], index=False)
    arguments = [
        "check",
        *paths,
        "--id",
        "id",
        "--by",
        "region",
        "--by",
        "size",
        "--strata",
        "region",
    ]
    result = CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False)
    found = {row["question"]: row for row in json.loads(result.stdout)}
    both = "'region', 'size'"
    assert set(found[f"never audited in {both}"]["value"]) == {"r7 / large", "r7 / small"}
    assert found[NEVER]["value"] == {"r7": 0.1}
    assert found[RATES]["doubt"]
    assert found[f"error rates differ by {both}"]["doubt"]
    assert f"random labels in {both}" in found
    text = CliRunner().invoke(main, arguments, catch_exceptions=False).stdout
    assert f"! {RATES}: {found[RATES]['words']}\n" in text


def test_the_verdict_does_not_need_other_priors():
    """With five classes other priors are not tried, for they may need long chains."""
    from trueup.count.counts import make_counts
    from trueup.study.check import check_counts

    counts = make_counts(20 * np.eye(5, dtype=int) + 2, [200, 210, 190, 205, 195])
    how = {"design": "shifted", "prior": "perks", "overlap": False, "interval": 0.95}
    found = {finding.question: finding for finding in check_counts(counts, **how).findings}
    assert found["prior influence"].value is None
    assert found["does correcting pay"].doubt


@pytest.mark.usefixtures("few_draws", "short_chains")
def test_a_test_set_drawn_within_columns_is_checked_within_them(rng):
    """Ten times as many from one region, and there predictions are others: still as drawn."""
    units, _ = tables(rng)
    more_common = units["region"].eq("r0") & (rng.random(len(units)) < 0.8)
    units["predicted"] = units["predicted"].where(~more_common, 1)
    sizes = [200, *[20] * 9]
    chosen = np.concatenate([
        rng.choice(np.flatnonzero(units["region"] == f"r{b}"), m, replace=False)
        for b, m in enumerate(sizes)
    ])  # fmt: skip
    test = units.iloc[chosen].assign(true=lambda x: x["predicted"])
    random, within = "design 'random'", {"drawn_within": "region"}
    assert findings(units, test)[random]["doubt"]
    assert findings(units, test, **within)[random]["value"] > 1e-4
    assert SPREAD not in findings(units, test, by="region", **within)
    fewer = 9 * (test["predicted"] == 0).sum() // 10  # of one class than were drawn
    wrong = test.sort_values("predicted").iloc[fewer:]
    assert findings(units, wrong, **within)[random]["doubt"]
    with pytest.raises(tu.OptionError, match="`drawn_within` needs"):
        tu.check(units, test, design="shifted", **within)
    with pytest.raises(tu.OptionError, match="cannot be combined with `strata`"):
        tu.check(units, test, strata="region", **within)


def test_audit_strata_of_the_command(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    units, test = tables(rng, n=300)
    units.to_csv("p.csv", index=False)
    test.to_csv("t.csv", index=False)
    done = CliRunner().invoke(main, ["check", "p.csv", "t.csv", "--drawn-within", "region"])
    assert done.exit_code == 0, done.output
    assert "design 'random'" in done.output
