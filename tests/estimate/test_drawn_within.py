"""Test sets drawn within columns, with any allocation: audit strata are cells."""

from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.draws.test_cell_columns import assert_uniform
from tests.seeds import more

import trueup as tu
from trueup.cli import main
from trueup.count.gather import gather_groups
from trueup.count.names import Columns
from trueup.draws.cells.columns import KAPPAS, learn_columns
from trueup.draws.cells.frame import Frame
from trueup.draws.cells.implied import implied_shares
from trueup.draws.cells.strata import LEAN
from trueup.numerics.half_t import DF
from trueup.read import open_table


def population(rng, N=4000):
    """Base rates and error rates differ between strata, values are heavy-tailed."""
    j = rng.choice(4, N, p=[0.55, 0.3, 0.1, 0.05])
    s = (rng.random(N) < np.array([0.05, 0.1, 0.3, 0.5])[j]).astype(int)
    wrong = rng.random(N) < np.array([0.05, 0.08, 0.15, 0.2])[j]
    return {"j": j, "true": s, "predicted": np.where(wrong, 1 - s, s), "y": rng.lognormal(0, 1, N)}


def drawn(whole, rng, sizes):
    """Take `sizes` units of each stratum; None takes all."""
    at = []
    for k, m in enumerate(sizes):
        mine = np.flatnonzero(whole["j"] == k)
        at.append(mine if m is None else rng.choice(mine, min(m, len(mine)), replace=False))
    i = np.concatenate(at)
    return pa.table({name: x[i] for name, x in whole.items()})


def predictions(whole):
    return pa.table({name: x for name, x in whole.items() if name != "true"})


@pytest.mark.usefixtures("short_chains", "few_draws")
def test_a_stratum_audited_in_full_is_known(rng):
    whole = population(rng)
    test = drawn(whole, rng, [None, None, None, 40])
    for value in (None, "y"):
        est = tu.correct(predictions(whole), test, value=value, drawn_within="j", seed=1)
        y = whole["y"] if value else np.ones(len(whole["y"]))
        known = y[(whole["j"] < 3) & (whole["true"] == 1)].sum()
        rest = y[whole["j"] == 3].sum()
        assert est.draws[:, 1].min() >= known * (1 - 1e-9)
        assert est.draws[:, 1].max() <= (known + rest) * (1 + 1e-9)
        assert est.draws.sum(axis=1) == pytest.approx(y.sum())
    everything = drawn(whole, rng, [None] * 4)
    est = tu.correct(predictions(whole), everything, value="y", drawn_within="j", seed=1)
    truth = whole["y"][whole["true"] == 1].sum()
    assert est.rows()[1]["lower"] == pytest.approx(truth)
    assert est.rows()[1]["upper"] == pytest.approx(truth)


def test_the_textbook_estimators_by_hand(rng):
    """Σ_j N_j mean_j and its variance, stratum by stratum, from the units themselves."""
    whole = population(rng)
    test = drawn(whole, rng, [40, 30, 50, 60]).to_pydict()
    t = {name: np.array(x) for name, x in test.items()}
    for method, d in (
        ("test_set", t["y"] * (t["true"] == 1)),
        ("difference", t["y"] * ((t["true"] == 1) * 1.0 - (t["predicted"] == 1))),
    ):
        est = tu.correct(
            predictions(whole), pa.table(test), value="y", drawn_within="j", method=method
        )
        total = whole["y"][whole["predicted"] == 1].sum() if method == "difference" else 0.0
        variance = 0.0
        for k in range(4):
            N, mine = (whole["j"] == k).sum(), d[t["j"] == k]
            total += N * mine.mean()
            variance += N**2 * (1 / len(mine) - 1 / N) * mine.var(ddof=1)
        assert est.rows()[1]["estimate"] == pytest.approx(total)
        assert est.rows()[1]["sd"] == pytest.approx(np.sqrt(variance))


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize("value", [None, "y"])
def test_coverage_where_the_allocation_is_against_size(value, rng):
    """Planted bug: without `drawn_within` no interval covers, and the error is five times this."""
    count, z, errors, plain = more(5), [], [], []
    for _ in range(count):
        whole = population(rng)
        test = drawn(whole, rng, [16, 28, 85, 100])
        y = whole["y"] if value else np.ones(len(whole["y"]))
        truth = y[whole["true"] == 1].sum()
        row = tu.correct(
            predictions(whole), test, value=value, drawn_within="j", draws=400, seed=1
        ).rows()[1]
        z.append((row["mean"] - truth) / row["sd"])
        errors.append((row["estimate"] - truth) / y.sum())
        with pytest.warns(tu.TrueupWarning):
            other = tu.correct(predictions(whole), test, value=value, draws=400, seed=1).rows()[1]
        plain.append((other["estimate"] - truth) / y.sum())
    assert np.square(z).mean() < 1 + 5 * np.sqrt(2 / count)
    assert np.square(errors).mean() < np.square(plain).mean() / 4


def test_few_predictions_do_not_rule_a_class_out(rng):
    """Six of the six units audited as class 1 in the first two strata are wrong, by bad luck.

    Planted bug: base rates given one P̂, in which class 1 is then absent there, to one in 10⁵. The
    total was 7 standard deviations off.
    """
    n = np.array([[[12, 26, 50, 34], [4, 2, 14, 11]], [[0, 0, 5, 10], [0, 0, 16, 45]]])
    v_hat = np.array([[1978, 1020, 270, 87], [209, 167, 154, 115]])
    log_beta = implied_shares(n, v_hat, np.full((2, 2), 0.5), rng)
    odds = np.exp(log_beta[1] - log_beta[0])
    assert (odds[:2] > 0.003).all()
    assert (odds[:2] < 0.2).all()
    assert odds[3] > 0.5


@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize("value", [None, "y"])
def test_many_small_strata_are_the_textbooks(value, rng):
    """Sixty strata with three audited units; half of them hold 98% of the figure and more errors.

    They hold it by their units (counts) or by their values (totals). Planted bugs: strata that do
    not lean on their weight, and for totals the weight in units: the figure is then 1.9 to 2.7
    standard deviations below the textbook's, and at most .2 otherwise (6 runs of each).
    """
    heavy = np.arange(60) < 30
    size = np.where(heavy, 200, 4) if value is None else np.full(60, 100)
    j = np.repeat(np.arange(60), size)
    y = np.where(heavy[j], 50.0, 1.0) if value else np.ones(len(j))
    wrong = np.concatenate([rng.multivariate_hypergeometric([3] * 30, k) for k in (45, 14)])
    true = [name for x in wrong for name in ["b"] * x + ["a"] * (3 - x)]
    test = pa.table({"j": np.repeat(np.arange(60), 3), "true": true, "predicted": ["a"] * 180})
    table = {"j": j, "predicted": ["a"] * len(j)}
    if value:
        test = test.append_column("y", pa.array(np.where(heavy, 50.0, 1.0).repeat(3)))
        table["y"] = y
    options = {"value": value, "drawn_within": "j", "seed": 1, "classes": ["a", "b"]}
    row, book = (
        tu.correct(pa.table(table), test, method=method, **options).rows()[1]
        for method in ("auto", "difference")
    )
    assert abs(row["mean"] - book["estimate"]) < 0.7 * row["sd"]


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("value", [None, "y"])
@pytest.mark.parametrize("by", ["region", "j"])
def test_groups_of_a_stratified_audit_do_not_change_the_whole(by, value, rng):
    whole = population(rng) | {"region": rng.integers(0, 6, 4000)}
    test = drawn(whole, rng, [40, 40, 60, 60])
    options = {"value": value, "drawn_within": "j", "draws": 500, "seed": 1}
    est = tu.correct(predictions(whole), test, by=by, **options)
    alone = tu.correct(predictions(whole), test, **options)
    assert est.whole == pytest.approx(alone.whole, rel=1e-12)
    assert est.draws.sum(axis=1) == pytest.approx(est.whole)


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch")
def test_groups_are_not_biased_by_the_allocation(rng):
    """Strata 2 and 3 have most of the labels, and other error rates; regions 2 and 3 many of them.

    Planted bug: audited units taken as a random sample of their group. Over 14 populations the
    difference of z is 1.1 then, with a standard deviation of .9; otherwise .1 and .3.
    """
    apart = []
    for _ in range(more(8)):
        whole = population(rng, 12_000)
        few = rng.choice(6, 12_000, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05])
        whole["region"] = np.where(whole["j"] < 2, few, 5 - few)
        test = drawn(whole, rng, [40, 60, 600, 500])
        est = tu.correct(predictions(whole), test, by="region", drawn_within="j", draws=200, seed=1)
        draws = est.draws[:, :, 1]
        z = (draws.mean(axis=0) - np.bincount(whole["region"], whole["true"])) / draws.std(axis=0)
        apart.append(z[2:4].mean() - z[:2].mean())
    assert abs(np.mean(apart)) < 5 * 0.3 / np.sqrt(len(apart))


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch")
@pytest.mark.parametrize("value", [None, "y"])
def test_naming_the_groups_as_strata_costs_no_precision(value, rng):
    """Ten regions with the same error rates, 30 of 1,000 units audited in each.

    Planted bug: a label for each predicted class and stratum, also where groups are the strata.
    In six runs of four the squared error was then 3.5 to 10 times that without naming the strata,
    and .8 to 1.2 times it otherwise.
    """
    N, squares, z = 10_000, {"j": [], None: []}, []
    for _ in range(more(4)):
        j = rng.permutation(np.arange(N) % 10)
        s = (rng.random(N) < 0.15).astype(int)
        wrong = rng.random(N) < np.where(s == 1, 0.15, 0.06)
        y = rng.lognormal(0, 0.8, N) * np.exp(0.7 * s)
        whole = {"j": j, "true": s, "predicted": np.where(wrong, 1 - s, s), "y": y}
        test = drawn(whole, rng, [30] * 10)
        size = y if value else np.ones(N)
        truth, total = np.bincount(j, size * s), np.bincount(j, size)
        for within, found in squares.items():
            options = {"value": value, "drawn_within": within, "draws": 400, "seed": 1}
            draws = tu.correct(predictions(whole), test, by="j", **options).draws[:, :, 1]
            found.extend(np.square((draws.mean(axis=0) - truth) / total))
            if within:
                z.append(np.square((draws.mean(axis=0) - truth) / draws.std(axis=0)).mean())
    assert np.mean(squares["j"]) < 2 * np.mean(squares[None])
    assert np.mean(z) < 1 + 5 * np.sqrt(2 / len(z))  # groups share the error of the whole


@pytest.mark.parametrize(
    ("by", "within"), [("j", "j"), ("place", "j"), ("j", ("j", "size")), ("region", ("j", "size"))]
)
def test_cells_of_groups_are_made_of_those_of_strata(by, within, rng):
    """Units of the whole's cells, cut and added up, are those of the groups' cells.

    Groups that are strata, or parts of one, have bands of the value, and no label for each stratum.
    Regions have levels of their own.
    """
    whole = population(rng) | {"size": rng.integers(0, 2, 4000), "region": rng.integers(0, 3, 4000)}
    whole["y"] = whole["y"] * 4.0 ** whole["j"]
    whole["place"] = 10 * whole["j"] + rng.integers(0, 3, 4000)
    i = rng.choice(4000, 400, replace=False)
    tables = (open_table(x, "x") for x in (predictions(whole), pa.table(whole).take(i)))
    columns = Columns(value="y", by=[by], drawn_within=within)
    found = gather_groups(*tables, columns, overlap=True, bands=True)
    banded, cells = found.banded, found.whole.bands
    units = banded.merged(cells.v_hat.reshape(2, -1).astype(float))
    assert units == pytest.approx(banded.counts.v_hat.sum(axis=0))
    strata = {"region": 8, "place": 1, "j": 1 if within == "j" else 2}[by]
    assert banded.labels == 2 * strata
    assert banded.alike == (strata == 1)
    assert (banded.counts.v_hat.shape[1] > 2) or strata > 1
    assert (banded.counts.n.sum(axis=(0, 2)) == found.whole.n.sum(axis=1)).all()


@pytest.mark.usefixtures("short_chains", "few_draws")
def test_groups_that_are_the_strata(rng):
    """A stratum that was audited in full is a group without an interval."""
    whole = population(rng)
    test = drawn(whole, rng, [60, 60, 60, None])
    est = tu.correct(predictions(whole), test, by="j", drawn_within="j", value="y", seed=1)
    known = whole["y"][(whole["j"] == 3) & (whole["true"] == 1)].sum()
    row = est.rows()[7]
    assert (row["j"], row["class"]) == (3, 1)
    assert (row["lower"], row["upper"]) == pytest.approx((known, known))
    assert est.rows()[1]["upper"] > est.rows()[1]["lower"]


@pytest.mark.usefixtures("short_chains")
def test_a_constant_stratum_changes_little(rng):
    """One stratum for all is no stratum: the same numbers as without."""
    whole = population(rng) | {"one": np.ones(4000, dtype=int)}
    i = rng.choice(4000, 200, replace=False)
    test = pa.table({name: x[i] for name, x in whole.items()})
    with_one, without = (
        tu.correct(predictions(whole), test, value="y", drawn_within=column, seed=1).rows()
        for column in ("one", None)
    )
    for one, other in zip(with_one, without, strict=True):  # sums are rounded in another order
        assert one == pytest.approx(other, rel=1e-9)


def test_what_cannot_be_combined_is_refused(rng, tmp_path):
    whole = population(rng)
    test = drawn(whole, rng, [20, 20, 20, 20])
    for options in ({"strata": "j"}, {"design": "shifted"}, {"method": "bayes"}, {"noise": False}):
        with pytest.raises(tu.TrueupError, match="drawn_within"):
            tu.correct(predictions(whole), test, drawn_within="j", **options)
    strange = pa.table(test.to_pydict() | {"j": [9] * len(test)})
    with pytest.raises(tu.TrueupError, match="does not hold"):
        tu.correct(predictions(whole), strange, drawn_within="j")
    with pytest.warns(tu.TrueupWarning, match="No audited unit is in 1 of 4 strata"):
        tu.correct(predictions(whole), drawn(whole, rng, [20, 20, 20, 0]), drawn_within="j")
    with pytest.raises(tu.TrueupError, match="at least 2 test units in every stratum"):
        tu.correct(
            predictions(whole), drawn(whole, rng, [20, 20, 20, 1]), drawn_within="j",
            method="difference",
        )  # fmt: skip


@pytest.mark.usefixtures("short_chains")
def test_from_the_command_line(rng, tmp_path):
    from pyarrow import csv

    whole = population(rng)
    csv.write_csv(predictions(whole), tmp_path / "p.csv")
    csv.write_csv(drawn(whole, rng, [20, 30, 40, 50]), tmp_path / "t.csv")
    files = [str(tmp_path / name) for name in ("p.csv", "t.csv")]
    answer = CliRunner().invoke(
        main, ["correct", *files, "--drawn-within", "j", "--value", "y", "--seed", "1", "--json"]
    )
    assert answer.exit_code == 0
    assert '"audit strata": 4' in answer.stdout


@pytest.mark.slow
def test_strata_have_an_even_rank(rng):
    """Simulation-based calibration of the level that pools strata.

    Few units, so that what strata share decides. Planted bug: base rates of strata turned round;
    seen in 4 of 4 runs, and in 1 of 4 with base rates that differ a third as much. Strata
    lean on their weight too; `tests/draws/test_cell_strata.py` notices if they do not.
    """
    K, H, J = 2, 2, 3
    psi = np.array([[-0.4, 0.3, 1.6], [-1.2, 0.1, 0.8]])
    alpha, shares = np.full((K, H), 0.5), np.array([[1.2, -0.6, 2.7], [-1.2, 0.6, -2.7]])
    units = np.array([[2], [4], [8], [5], [1], [6]])
    ranks = []
    for _ in range(more(60)):
        tau, nu, kappa = rng.standard_gamma(0.5) / 10, rng.random(), rng.choice(KAPPAS)
        X = rng.standard_gamma(alpha) / max(tau, 1e-300)
        x = np.maximum(rng.standard_gamma(np.repeat(X, J, axis=1)), 1e-300)
        e = LEAN * abs(rng.standard_t(DF)) * rng.standard_normal((K, H))
        m = x * np.exp(nu * np.tile(shares, (1, H)) + np.repeat(e, J, axis=1) * psi.ravel())
        m /= m.sum(axis=0)
        c = np.maximum(rng.standard_gamma(np.maximum(kappa * m, 1e-300)), 1e-300)
        c /= c.sum(axis=0)
        n = np.moveaxis(rng.multinomial(units[:, 0], c.T), -1, 0)[..., None]
        flat = Frame(np.zeros((1, H * J, 1)), (np.zeros(K), np.full(K, 1e-6)), shares, leans=psi)
        states = learn_columns(n, flat, alpha, rng, chains=40)
        last = next(islice(states, 30, None))  # as many as in tests/draws
        a = np.maximum(last.kappa[:, None, None, None] * last.m + n, 1e-300)
        drawn_c = rng.standard_gamma(a)
        drawn_c = drawn_c[:, 0, :, 0] / np.maximum(drawn_c.sum(axis=1)[:, :, 0], 1e-300)
        figures = [np.ones(H * J), np.tile(shares[0], H), psi.ravel()]
        ranks.append([(drawn_c @ x < c[0] @ x).mean() for x in figures])
    for column in np.transpose(ranks):
        assert_uniform(column)


@pytest.mark.usefixtures("short_chains", "few_draws")
def test_a_work_list_drawn_within_columns_gives_groups(rng):
    whole = population(rng) | {"unit": np.arange(4000), "region": rng.integers(0, 5, 4000)}
    known = {name: x for name, x in whole.items() if name != "true"}
    todo = tu.draw(pa.table(known), 200, id="unit", within="j", allocation="equal", seed=1)
    labelled = todo.drop(["true"])
    labelled = labelled.append_column("true", pa.array(whole["true"][todo["unit"].to_numpy()]))
    est = tu.correct(pa.table(known), labelled, by="region", seed=1)
    assert est.info["audit strata"] == 4
    assert len(est.groups.labels) == 5
    assert "within" in est.to_markdown()


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("by", ["j", "region"])
def test_rows_without_a_stratum_are_in_no_group(by, rng):
    """Groups are those of the rows that the whole has, also where the strata are the groups."""
    whole = population(rng) | {"unit": np.arange(4000), "region": rng.integers(0, 3, 4000)}
    known = predictions(whole).to_pydict()
    known["j"][:50] = [None] * 50
    audited = rng.choice(4000, 200, replace=False)
    test = pa.table({"unit": audited, "true": whole["true"][audited]})
    with pytest.warns(tu.TrueupWarning, match="Left out 50 rows"):
        est = tu.correct(
            pa.table(known), test, id="unit", by=by, drawn_within="j", missing="leave_out",
            draws=200, seed=1,
        )  # fmt: skip
    naive = np.array([row["naive"] for row in est.rows()]).reshape(-1, 2)
    assert naive[:-1].sum(axis=0) == pytest.approx(naive[-1])
    assert naive[-1].sum() == 3950
    assert est.draws.sum(axis=(1, 2)) == pytest.approx(3950)
