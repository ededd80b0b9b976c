"""Bands of the score: within predicted classes, from one count of both tables, and bad scores."""

import numpy as np
import pyarrow as pa
import pytest

import trueup as tu
from trueup.count.gather import gather
from trueup.count.names import Columns
from trueup.count.scores import score_ranks
from trueup.read import open_table

N = 3_000
CLASSES = ["a", "b", "c"]


def population(rng):
    """Three classes, of which the predicted one has the highest of three probabilities."""
    P = rng.dirichlet([1.0, 0.7, 0.4], N)
    h = P.argmax(axis=1)
    s = np.where(rng.random(N) < P[np.arange(N), h], h, rng.integers(3, size=N))
    return {
        "unit": np.arange(N),
        "predicted": np.array(CLASSES)[h],
        "true": np.array(CLASSES)[s],
        "p": P[np.arange(N), h],
        **{label: P[:, g] for g, label in enumerate(CLASSES)},
        "y": rng.lognormal(2, 1, N),
    }


def tables(whole, rng, n=200):
    i = rng.choice(N, n, replace=False)
    known = {name: x for name, x in whole.items() if name != "true"}
    return pa.table(known), pa.table({name: x[i] for name, x in whole.items()}), i


def counted(*both, **columns):
    opened = open_table(both[0], "predictions"), open_table(both[1], "the test set")
    return gather(*opened, Columns(**columns), overlap=True, bands=True)


@pytest.mark.parametrize("value", [None, "y"])
@pytest.mark.parametrize("id", [None, "unit"])
def test_cells_are_bands_within_predicted_classes(rng, value, id):
    """Planted bugs: cells of another label; scores in the wrong order; test units elsewhere."""
    whole = population(rng)
    predictions, test, i = tables(whole, rng)
    counts = counted(predictions, test, score="p", value=value, id=id)
    cells, S = counts.bands, counts.bands.score_bands
    assert S > 3
    assert cells.score is not None
    by_band = cells.v_hat.reshape(3, -1, S).sum(axis=1)
    audited = cells.n.reshape(3, 3, -1, S).sum(axis=2)
    for h, label in enumerate(CLASSES):
        own = whole["predicted"] == label
        assert by_band[h].sum() == own.sum() == counts.v_hat[h]
        # as many units lie below each band's end as have the lowest scores
        p = np.sort(whole["p"][own])
        ends = np.cumsum(by_band[h])
        mean = (cells.score * cells.v_hat).reshape(3, -1, S).sum(axis=1)[h] / by_band[h]
        first = 0
        for s, end in enumerate(ends):
            assert mean[s] == pytest.approx(p[first:end].mean(), abs=0.02)
            inside = own[i] & (whole["p"][i] >= p[first]) & (whole["p"][i] <= p[end - 1])
            for g, true in enumerate(CLASSES):
                assert audited[g, h, s] == (inside & (whole["true"][i] == true)).sum()
            first = end
    if value is not None:
        assert cells.u_hat.sum() == pytest.approx(whole["y"].sum())
        plain = counted(predictions, test, value=value, id=id)
        assert cells.unscored().u_hat.reshape(3, -1).sum(axis=1) == pytest.approx(plain.u_hat)


def test_bands_grow_with_the_test_set(rng):
    whole = population(rng)
    bands = [counted(*tables(whole, rng, n)[:2], score="p").bands.score_bands for n in (20, 1000)]
    assert bands[0] < bands[1]


def test_ranks_are_normal_scores():
    z = score_ranks(np.array([[1, 1, 1, 1], [10, 0, 0, 30]]))
    assert z[0] == pytest.approx(-z[0, ::-1])
    assert (np.diff(z[0]) > 0).all()
    assert (z**2).mean(axis=1)[0] == pytest.approx(1)
    assert z[1] @ [10, 0, 0, 30] == pytest.approx(0)


def test_one_column_for_each_class_is_the_score_of_the_predicted_one(rng):
    predictions, test, _ = tables(population(rng), rng)
    options = {"classes": CLASSES, "draws": 400, "seed": 1}
    one = tu.correct(predictions, test, score="p", **options)
    each = tu.correct(predictions, test, score=CLASSES, **options)
    assert one.rows() == each.rows()
    assert not [text for text in each.info["warnings"] if "higher score" in text]


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_columns_in_the_wrong_order_are_told(rng):
    predictions, test, _ = tables(population(rng), rng)
    est = tu.correct(predictions, test, score=["b", "c", "a"], classes=CLASSES, draws=200)
    assert any("another class has a higher score" in text for text in est.info["warnings"])


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_a_constant_score_is_told_and_changes_nothing(rng):
    predictions, test, _ = tables(population(rng), rng)
    same = [pa.table({**x.to_pydict(), "p": [0.9] * len(x)}) for x in (predictions, test)]
    est = tu.correct(*same, score="p", draws=400, seed=1)
    assert any("nearly the same score" in text for text in est.info["warnings"])
    assert est.rows() == tu.correct(predictions, test, draws=400, seed=1).rows()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "q"}, "must have a column 'q'"),
        ({"score": "predicted"}, "must hold numbers to be a score"),
        ({"score": ["a", "b"], "classes": CLASSES}, "one for each class"),
        ({"score": CLASSES}, "no `classes`"),
        ({"score": "p", "by": "unit", "design": "by_class"}, "`score` with `by` needs design"),
        ({"score": "p", "strata": "unit"}, "combined with `strata`"),
        ({"score": "p", "drawn_within": "unit"}, "combined with `drawn_within`"),
        ({"score": "p", "period": "unit"}, "up to 2,000 periods"),
        ({"score": "p", "count": "unit"}, "combined with `count`"),
        ({"score": "p", "P": np.eye(3)}, "combined with `P`"),
        ({"score": "p", "method": "inverse"}, "'inverse' cannot use `score`"),
        ({"score": "p", "noise": False}, "noise=True"),
        ({"score": "p", "design": "shifted", "value": "y"}, "`value` for design 'shifted'"),
        ({"score": "p", "design": "shifted", "method": "constrained"}, "cannot use `score`"),
    ],
)
def test_what_a_score_cannot_be_combined_with_is_refused(rng, options, words):
    predictions, test, _ = tables(population(rng), rng)
    with pytest.raises(tu.TrueupError, match=words):
        tu.correct(predictions, test, **options)


def test_a_score_in_one_table_only_needs_an_id(rng):
    predictions, test, _ = tables(population(rng), rng)
    with pytest.raises(tu.TrueupError, match="has no column 'p'"):
        tu.correct(predictions, test.drop(["p"]), score="p")
    with pytest.raises(tu.TrueupError, match="must have a column 'p'"):
        tu.correct(predictions.drop(["p"]), test, score="p")
    both = tu.correct(predictions, test, score="p", id="unit", draws=200, seed=1)
    one = tu.correct(predictions, test.drop(["p"]), score="p", id="unit", draws=200, seed=1)
    assert both.rows() == one.rows()


def test_scores_of_another_model_in_the_test_set_are_refused(rng):
    predictions, test, _ = tables(population(rng), rng, n=1500)
    other = pa.table({**test.to_pydict(), "p": np.full(1500, test["p"][0].as_py())})
    with pytest.raises(tu.TrueupError, match="must have the scores that they have"):
        tu.correct(predictions, other, score="p")
