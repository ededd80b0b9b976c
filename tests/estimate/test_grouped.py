"""`by` and `strata` from the outside: additive, exact where audited, honest about the rest."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.seeds import fresh_seed, more

import trueup as tu
from trueup.aggregate.groups import concentration
from trueup.count.gather import gather_groups
from trueup.count.names import Columns
from trueup.estimate.doubts.rates import rates_differ
from trueup.read import open_table

K_LABELS = np.array(["a", "b", "c"])
P = np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])


@pytest.fixture
def tables(rng):
    """Four regions of very different size, two sectors, three classes, and 300 audited units."""
    region = np.repeat(["north", "east", "south", "west"], [2000, 600, 60, 7])
    N = len(region)
    s = rng.choice(3, N, p=[0.6, 0.3, 0.1])
    s_hat = (rng.random(N)[:, None] > P.cumsum(axis=1)[s][:, :2]).sum(axis=1)
    units = pd.DataFrame(
        {
            "id": np.arange(N),
            "predicted": K_LABELS[s_hat],
            "region": region,
            "sector": rng.choice(["x", "y"], N),
            "y": rng.lognormal(0, 1, N) * (1 + s),
        }
    )
    audited = rng.choice(N, 300, replace=False)
    test = units.iloc[audited].assign(true=K_LABELS[s[audited]])
    return units, test, K_LABELS[s]


def correct(tables, **options):
    units, test, _ = tables
    return tu.correct(units, test, draws=options.pop("draws", 400), **options)


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("value", [None, "y"])
@pytest.mark.parametrize("strata", [None, "sector"])
def test_draws_add_up_over_classes_and_groups(tables, value, strata):
    short = {"seconds": 0.01} if strata else {}  # sums hold before chains converge
    est = correct(tables, by="region", value=value, strata=strata, **short)
    units, *_ = tables
    known = units.groupby("region")["y"].sum() if value else units["region"].value_counts()
    assert est.draws.shape == (400, 4, 3)
    assert (est.draws >= 0).all()
    for b, (label,) in enumerate(est.groups.labels):
        assert np.allclose(est.draws[:, b].sum(axis=1), known[label])
    assert np.allclose(est.draws.sum(axis=1), est.whole)


@pytest.mark.usefixtures("short_chains")
def test_groups_that_are_the_strata_have_as_many_draws_as_the_chains_kept(tables):
    """Chains that converge at once keep 3,776 draws of 4,000; this was a traceback."""
    est = correct(tables, by="sector", strata="sector", draws=2000)
    assert len(est.draws) == len(est.whole) == est.info["draws"]
    assert np.allclose(est.draws.sum(axis=1), est.whole)


@pytest.mark.usefixtures("short_chains")
def test_rows_are_groups_first_then_the_whole(tables):
    est = correct(tables, by=["region", "sector"])
    rows = est.rows()
    assert len(rows) == (8 + 1) * 3
    assert list(rows[0])[:3] == ["region", "sector", "class"]
    assert [row["region"] for row in rows[-3:]] == [None] * 3
    naive = sum(row["naive"] for row in rows[:-3] if row["class"] == "b")
    assert naive == rows[-2]["naive"]
    table = est.table
    assert isinstance(table, pd.DataFrame)
    assert len(table) == len(rows)


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("design", ["random", "by_prediction", "by_class", "shifted"])
@pytest.mark.parametrize("value", [None, "y"])
def test_asking_for_groups_never_changes_the_whole(tables, design, value):
    units, test, _ = tables
    options = {"value": value, "design": design, "draws": 100, "seed": 5}
    alone = tu.correct(units, test, **options)
    # one column or two, with and without values, of test sets that tell of groups and that do not
    one = (value is None) == (design in ("random", "by_class"))
    est = tu.correct(units, test, by="region" if one else ["region", "sector"], **options)
    assert (est.whole == alone.whole).all()
    for row, other in zip(est.rows()[-3:], alone.rows(), strict=True):
        assert {name: row[name] for name in other if name != "part"} == {
            name: x for name, x in other.items() if name != "part"
        }


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("value", [None, "y"])
def test_groups_of_one_unit_add_up_to_the_whole_without_groups(tables, value):
    units, test = (x[x["id"] >= 2450] for x in tables[:2])  # 217 units, none of them in the north
    options = {"value": value, "id": "id", "draws": 100, "seed": 5, "classes": K_LABELS}
    est = tu.correct(units.assign(unit=units["id"]), test, by="unit", **options)
    assert (est.whole == tu.correct(units, test, **options).whole).all()
    assert np.allclose(est.draws.sum(axis=1), est.whole)


@pytest.mark.usefixtures("short_chains")
def test_audited_units_are_exact_in_their_group(tables):
    units, _, truth = tables
    test = units.assign(true=truth)
    test = pd.concat([test[test["region"] == "west"], test[test["region"] == "north"].head(200)])
    est = tu.correct(units, test, by="region", design="by_prediction", draws=300)
    west = [label for (label,) in est.groups.labels].index("west")
    exact = [(test[test["region"] == "west"]["true"] == k).sum() for k in K_LABELS]
    assert (est.draws[:, west] == exact).all()


def test_groups_of_a_population_that_was_audited_completely(tables):
    """Once a ZeroDivisionError: no group had a unit left to learn from."""
    units, _, truth = tables
    est = tu.correct(units, units.assign(true=truth), by="region", id="id", draws=200)
    for label, draws in zip(est.groups.labels, est.draws.transpose(1, 0, 2), strict=True):
        mine = truth[units["region"] == label[0]]
        assert (draws == [(mine == k).sum() for k in K_LABELS]).all()


@pytest.mark.parametrize("pooling", ["partial", "complete"])
def test_groups_without_audited_units_and_with_nothing_else(tables, pooling):
    """Totals: 'west' is known to the last unit, 'south' rests on the others, in bands too."""
    units, _, truth = tables
    test = units.assign(true=truth)
    some = test[test["region"].isin(["north", "east"])].iloc[::10]
    test = pd.concat([test[test["region"] == "west"], some])
    est = tu.correct(
        units, test, by="region", value="y", id="id", design="by_prediction", draws=200,
        pooling=pooling,
    )  # fmt: skip
    names = [label for (label,) in est.groups.labels]
    west, south = (units["region"] == name for name in ("west", "south"))
    exact = [units["y"][west & (truth == k)].sum() for k in K_LABELS]
    np.testing.assert_allclose(est.draws[:, names.index("west")], [exact] * 200)
    figures = est.groups.figures
    for g, k in enumerate(K_LABELS):
        off = figures["mean"][names.index("south"), g] - units["y"][south & (truth == k)].sum()
        assert abs(off) < 6 * figures["sd"][names.index("south"), g]
    assert np.allclose(est.draws.sum(axis=1), est.whole)


@pytest.mark.usefixtures("short_chains")
def test_audited_units_of_a_group_that_the_population_lacks(tables):
    units, test, _ = tables
    test = test.assign(region=np.where(np.arange(len(test)) < 5, "Atlantis", test["region"]))
    with pytest.raises(tu.DataError, match=r"does not hold: 5; the first is in .*Atlantis"):
        tu.correct(units, test, by="region", value="y", draws=100)
    with pytest.warns(tu.TrueupWarning, match="inform the whole, but no group"):
        tu.correct(units, test, by="region", value="y", draws=100, overlap=False)


def squared_errors(rng):
    """Return the mean over nine groups of (error/sd)², for one new test set."""
    group = np.repeat(np.arange(9), np.repeat([20, 100, 300], 3))
    base = rng.beta(1.5, 10, 9)
    s = (rng.random(len(group)) < base[group]).astype(int)
    s_hat = np.where(rng.random(len(group)) < np.where(s == 1, 0.15, 0.05), 1 - s, s)
    units = pd.DataFrame({"predicted": s_hat, "group": group})
    test = units.assign(true=s).iloc[rng.choice(len(group), 200, replace=False)]
    est = tu.correct(units, test, by="group", draws=200, seed=int(rng.integers(2**32)))
    u = est.draws[:, :, 1]
    return (((u.mean(axis=0) - np.bincount(group, s)) / np.maximum(u.std(axis=0), 0.3)) ** 2).mean()


def test_errors_of_groups_are_as_their_draws_say(rng):
    """Groups share one P, so a test set is one observation: it has a sd of 1 at most.

    Planted bug: draws half as wide, which have a mean of 4.
    """
    found = np.array([squared_errors(rng) for _ in range(more(7))])
    assert found.mean() < 1 + 5 / np.sqrt(len(found))


@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize(("level", "pooling"), [(3.0, "partial"), (-2.0, "complete")])
def test_signed_totals_of_small_groups_add_up_to_the_whole_without_groups(
    rng, level, pooling, monkeypatch
):
    """Classes differ in value: units allocated without a look at theirs lose that by groups."""
    monkeypatch.setattr(concentration, "WARM_UP", 10)  # of which the whole knows nothing
    monkeypatch.setattr(concentration, "KEEP", 5)
    size = rng.integers(1, 6, 300)
    group = np.repeat(np.arange(300), size)
    s = (rng.random(len(group)) < rng.beta(4, 1, 300)[group]).astype(int)
    y = np.where(s == 0, level, 1.0) + rng.normal(size=len(s))
    units = pd.DataFrame({"id": np.arange(len(s)), "group": group, "y": y})
    units["predicted"] = s ^ (rng.random(len(s)) < 0.15)
    test = units.assign(true=s).iloc[rng.choice(len(s), 300, replace=False)]
    est = tu.correct(units, test, by="group", id="id", value="y", pooling=pooling, draws=200)
    by, without = (
        est.rows()[-2],
        tu.correct(units, test, id="id", value="y", draws=400).rows()[0],
    )
    assert abs(by["estimate"] - without["estimate"]) < 2 * without["sd"]
    assert abs(by["estimate"] - y[s == 0].sum()) < 5 * without["sd"]
    assert np.allclose(est.draws.sum(axis=2), np.bincount(group, y))
    assert np.allclose(est.draws.sum(axis=1), est.whole)


@pytest.mark.usefixtures("short_chains")
def test_counts_by_group_and_stratum_have_mid_quantiles(tables):
    est = correct(tables, by="region", strata="sector")
    for name, level in {"estimate": 0.5, "lower": 0.025, "upper": 0.975}.items():
        expected = np.apply_along_axis(mid_quantile, 0, est.draws, level)
        np.testing.assert_allclose(est.groups.figures[name], expected)
    assert (est.groups.figures["estimate"] % 0.5 > 0).any()  # no median of whole numbers is that


def mid_quantile(x, level):
    """By definition: the mid-distribution function Pr(X < k) + Pr(X = k)/2, interpolated."""
    values, times = np.unique(x, return_counts=True)
    return np.interp(level, (times.cumsum() - times / 2) / len(x), values)


@pytest.mark.parametrize("strata", [None, "sector"])
def test_more_audited_units_than_a_group_holds_are_refused_by_name(tables, strata):
    units, test, _ = tables
    sector = units.loc[units["region"] == "west", "sector"].iloc[0]  # one that is there
    lost = test.assign(region="west", predicted="b", sector=sector)  # more than are there
    names = r"test set has \d+ units predicted 'b' in '(. / )?west'"
    with pytest.raises(tu.DataError, match=names):
        tu.correct(units, lost, by="region", strata=strata, draws=200)


@pytest.mark.usefixtures("short_chains")
def test_derived_quantities(tables):
    est = correct(tables, by="region", value="y")
    shares = est.share()
    assert sum(row["estimate"] for row in shares[:3]) == pytest.approx(1, abs=0.1)
    whole = np.median(est.whole / est.whole.sum(axis=1, keepdims=True), axis=0)
    assert [row["region"] for row in shares] == [row["region"] for row in est.rows()]
    assert [row["estimate"] for row in shares[-3:]] == pytest.approx(list(whole))
    change = est.contrast("north", "east")
    draws = est.draws[:, [label for (label,) in est.groups.labels].index("east"), 0]
    other = est.draws[:, [label for (label,) in est.groups.labels].index("north"), 0]
    assert change[0]["estimate"] == pytest.approx(np.median(draws - other))
    assert change[0]["growth_estimate"] == pytest.approx(np.median(draws / other - 1))
    ranks = {row["region"]: row["estimate"] for row in est.rank() if row["class"] == "a"}
    assert ranks["north"] == 1
    chance = est.probability(above=0)
    assert all(0 <= row["probability"] <= 1 for row in chance)
    with pytest.raises(tu.OptionError, match="must be a group"):
        est.contrast("north", "nowhere")
    with pytest.raises(tu.OptionError, match=r"two groups, .*; got 'north' alone"):
        est.contrast("north")
    with pytest.raises(tu.OptionError, match=r"`again` changes design, .*; got 'by' and 'drawz'"):
        est.again(by="sector", drawz=5)


@pytest.mark.parametrize(
    ("groups", "m", "options", "warns"),
    [
        (2, 50, {}, True),
        (2, 1000, {}, False),
        (4, 50, {}, False),
        (2, 50, {"pooling": "complete"}, False),
        (2, 50, {"strata": "region", "pooling": "none"}, False),
    ],
    ids=str,
)
def test_a_contrast_of_few_groups_with_few_audited_units_warns(groups, m, options, warns):
    """From two groups little is learned of how far rates differ."""
    N = groups * 1200
    table = pd.DataFrame({"id": range(N), "region": np.repeat([*"nswe"[:groups]], 1200)})
    table["predicted"], table["true"] = [*"aabb"] * (N // 4), [*"abbb"] * (N // 4)
    test = table.groupby("region").head(m)[["id", "true"]]
    est = tu.correct(
        table.drop(columns="true"), test, id="id", by="region", draws=200, seed=1, **options
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        est.contrast("n", "s")
        est.contrast("a", "b")  # of classes
        est.share()
        est.rank()
    assert len(told) == 3 * warns  # figures of groups are compared in three of these
    assert {x.filename for x in told} <= {__file__}
    assert all(f"With {groups} groups and {m} audited units" in str(x.message) for x in told)


@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize("pooling", ["partial", "none", "complete"])
@pytest.mark.parametrize("design", ["random", "by_class"])
def test_strata_answer_under_every_pooling(tables, pooling, design):
    units, _, truth = tables
    est = correct(tables, strata="sector", pooling=pooling, design=design, draws=200)
    exact = np.array([(truth == k).sum() for k in K_LABELS])
    for row, count in zip(est.rows(), exact, strict=True):
        assert abs(row["estimate"] - count) < 6 * row["sd"] + 1
    assert est.info["pooling"] == pooling
    assert ("concentration" in est.info) == (pooling == "partial")
    assert est.whole.sum(axis=1) == pytest.approx(len(units))


@pytest.mark.usefixtures("short_chains")
def test_a_stratum_without_test_units_is_flagged(tables):
    units, test, _ = tables
    test = test[test["region"] != "west"]
    with pytest.warns(tu.TrueupWarning, match="no test unit"):
        est = tu.correct(units, test, strata="region", draws=300)
    assert est.info["strata_without_test"] == ["west"]


@pytest.mark.usefixtures("short_chains")
def test_group_labels_that_are_null_are_a_group(tables):
    units, test, _ = tables
    units = units.assign(region=units["region"].where(units["region"] != "west"))
    test = test.assign(region=test["region"].where(test["region"] != "west"))
    est = tu.correct(units, test, by="region", draws=200)
    assert est.groups.labels[-1] == (None,)


@pytest.mark.usefixtures("short_chains")
def test_a_test_set_without_the_group_column_informs_all(tables):
    units, test, _ = tables
    with pytest.warns(tu.TrueupWarning, match="not known exactly in any"):
        est = tu.correct(units, test.drop(columns="region"), by="region", draws=200)
    assert len(est.groups.labels) == 4


@pytest.mark.parametrize("call", [tu.correct, tu.check])
@pytest.mark.parametrize("option", ["by", "strata", "period", "drawn_within"])
def test_classes_are_no_groups(tables, call, option):
    """Each would be a group of one class; where audited units alone have it, it is no column."""
    units, test, truth = tables
    for true in (units, units.assign(true=truth)):
        with pytest.raises(tu.OptionError, match="'true' is the true class"):
            call(true, test, **{option: "true"})
    if option != "drawn_within":
        with pytest.raises(
            tu.OptionError, match=r"other than the predicted class; got 'predicted'"
        ):
            call(units, test, **{option: "predicted"})
    if option != "period":
        other = {"predicted": "label", "true": "truth", option: "predicted"}
        units, test = (x.assign(label=x["predicted"], predicted=x["sector"]) for x in (units, test))
        call(units, test.rename(columns={"true": "truth"}), **other)  # a name is only a name


def test_bad_input(tables):
    with pytest.raises(tu.DataError, match="reigon"):
        correct(tables, by="reigon")
    with pytest.raises(tu.OptionError, match="pooling"):
        correct(tables, strata="sector", pooling="some")
    with pytest.raises(tu.OptionError, match="draws of P"):
        correct(tables, by="region", method="inverse")
    with pytest.raises(tu.OptionError, match="must have `noise`"):
        correct(tables, by="region", noise=False)
    with pytest.raises(tu.OptionError, match="without `by`"):
        correct(tables).rank()


def two_regions(rng, differ):
    """Two regions in one of which the classifier errs more, or does not, and 400 audited units."""
    region = rng.integers(0, 2, 6000)
    s = (rng.random(6000) < 0.4).astype(int)
    wrong = rng.random(6000) < np.where(region == 1, 0.3 if differ else 0.05, 0.05)
    units = pd.DataFrame({"predicted": np.where(wrong, 1 - s, s), "region": region})
    return units, units.assign(true=s).iloc[rng.choice(6000, 400, replace=False)]


@pytest.mark.parametrize("options", [{"pooling": "complete"}, {"design": "by_class"}])
def test_one_P_for_groups_is_doubted_where_the_audited_units_speak_against_it(rng, options):
    units, test = two_regions(rng, differ=True)
    with pytest.warns(tu.TrueupWarning, match="predicted differently in different groups"):
        tu.correct(units, test, by="region", draws=200, **options)


def test_one_P_for_groups_is_rarely_doubted_where_it_holds(rng):
    _, test = two_regions(rng, differ=False)
    n = np.zeros((2, 2, 2), dtype=np.int64)
    doubts = 0
    for _ in range(40):
        shuffled = rng.permutation(test["region"].to_numpy())
        n[:] = 0
        np.add.at(n, (shuffled, test["true"], test["predicted"]), 1)
        doubts += rates_differ(n, [0, 1]).p_value < 0.01
    assert doubts <= 5  # of 40, at 0.01 each: 6 or more have a probability of 3e-6


def one_of_six(rng, wrong):
    """Six regions of 1,000 units, with more errors in the last one, and 600 audited units."""
    region = np.arange(6000) % 6
    s = (rng.random(6000) < 0.3).astype(int)
    rate = np.where(region == 5, wrong, 0.05)
    s_hat = np.where(rng.random(6000) < rate, 1 - s, s)
    units = pd.DataFrame({"predicted": s_hat, "region": region})
    test = units.assign(true=s).iloc[rng.choice(6000, 600, replace=False)]
    est = tu.correct(units, test, by="region", draws=200, seed=int(rng.integers(2**32)))
    return [x for x in est.info["warnings"] if "suggest other error rates" in x]


def test_a_group_unlike_the_others_is_named(rng):
    """Its interval may miss the truth; where rates are equal, hardly any answer names a group."""
    told = [one_of_six(rng, 0.4) for _ in range(12)]
    assert sum(any("'5'" in x for x in each) for each in told) >= 2  # half of them do
    assert sum(bool(one_of_six(rng, 0.05)) for _ in range(6)) <= 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pooling": "none"}, "got 'none' with neither"),
        ({"pooling": "none", "by": "region"}, "got 'none' with `by`"),
        ({"pooling": "complete", "period": "year"}, "got 'complete' with `period`"),
        ({"pooling": "complete", "drawn_within": "region"}, "with `drawn_within`"),
        ({"by": "region", "sample_of": 10**6}, "`sample_of` cannot be combined with `by`"),
        ({"by": "region", "cluster": "sector"}, "or `strata`; got `by`"),
        ({"weight": "w", "cluster": "sector"}, "`weight` cannot be combined with `cluster`"),
        ({"probability": "w", "sample_of": 10**6}, "or `P`; got `sample_of`"),
    ],
    ids=str,
)
def test_options_without_an_effect_are_refused_before_any_work(options, words):
    """Tables that are not there would be an error of their own."""
    with pytest.raises(tu.OptionError, match=words) as error:
        tu.correct(pd.DataFrame(), pd.DataFrame(), **options)
    assert "each part of `cluster`" not in str(error.value)


@pytest.mark.usefixtures("one_batch")
def test_a_unit_of_a_dear_region_is_not_large_because_of_its_class(rng):
    """With bands of the value as it is, cheap regions were 4.4 standard errors too low."""
    levels, off = np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]), []
    for _ in range(more(2)):
        region, true = rng.integers(0, 6, 8000), rng.random(8000) < 0.3
        predicted = true ^ (rng.random(8000) < 0.12)
        value = rng.lognormal(np.where(true, 0.7, 0.0) + levels[region], 0.7)
        units = {"predicted": predicted, "region": region, "value": value}
        audited = rng.choice(8000, 400, replace=False)
        test_set = {name: x[audited] for name, x in units.items()} | {"true": true[audited]}
        est = tu.correct(
            pd.DataFrame(units), pd.DataFrame(test_set), value="value", by="region", draws=200,
            seed=fresh_seed(),
        )  # fmt: skip
        assert est.info["group_levels_differ"]
        truth = np.bincount(region[true], value[true], 6)
        rows = [row for row in est.rows() if row["class"] and row["region"] is not None]
        z = [(truth[row["region"]] - row["mean"]) / row["sd"] for row in rows]
        off.append(np.dot(z, levels) / np.sqrt((levels**2).sum()))
    assert abs(np.mean(off)) < 2.5


@pytest.mark.parametrize("option", ["by", "strata", "drawn_within"])
@pytest.mark.parametrize("function", [tu.correct, tu.check])
def test_the_id_is_no_column_of_groups(tables, function, option):
    with pytest.raises(tu.OptionError, match=f"`{option}` must name groups of units; 'id' names"):
        function(*tables[:2], id="id", **{option: "id"})


@pytest.mark.parametrize("pairs", [True, False])
def test_a_column_that_looks_like_an_id_is_told(tables, pairs):
    """2,667 units in 1,334 groups, and in 889."""
    units, test, _ = tables
    units = units.assign(code=units["id"] // (2 if pairs else 3))
    found = gather_groups(
        open_table(units, "units"),
        open_table(test[["id", "true"]], "test"),
        Columns(id="id", by="code"),
        overlap=True,
    )
    told = [x for x in found.warnings if "nearly every unit is a group of its own" in x]
    assert len(told) == pairs
