"""Advice to give groups rates of their own can be followed, whatever else was asked for."""

import re
import warnings
from ast import literal_eval

import numpy as np
import pandas as pd
import pytest

import trueup as tu

P = [[0.9, 0.1], [0.1, 0.9]]


@pytest.fixture
def tables(rng):
    """Three systems, one of which errs far more often, and 400 audited units."""
    N = 3000
    s, system = rng.random(N) < 0.4, rng.integers(0, 3, N)
    wrong = rng.random(N) < np.where(system == 2, 0.45, 0.03)
    units = pd.DataFrame(
        {
            "id": range(N), "predicted": np.where(s ^ wrong, "a", "b"),
            "system": np.array(["x", "y", "z"])[system], "p": rng.random(N),
            "second": rng.choice(["a", "b"], N), "y": rng.lognormal(size=N),
        }
    )  # fmt: skip
    true = np.where(s, "a", "b")
    return units, units.assign(true=true).iloc[rng.choice(N, 400, replace=False)], true


def told(call, *arguments, **options):
    """The answer, and its warnings that name strata or tables of one's own."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        answer = call(*arguments, **options)
    texts = [str(x.message) for x in found]
    return answer, [x for x in texts if re.search("strata|table of its own|tables of their own", x)]


def follow(advice, options):
    """The options as the advice changes them."""
    strata = re.search(r"strata=(\[.*?\])", advice)
    changed = options | {"strata": literal_eval(strata[1])}
    if 'pooling="none"' in advice:
        changed["pooling"] = "none"
    if "without pooling" in advice:
        changed["pooling"] = "partial"
    for name in ("score", "P"):
        if f"`{name}`" in advice.split("without")[-1]:
            changed.pop(name)
    if "a second `predicted` column" in advice:
        changed["predicted"] = options["predicted"][0]
    return changed


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"value": "y"},
        {"score": "p"},
        {"score": "p", "value": "y"},
        {"predicted": ["predicted", "second"]},
        {"P": P},
        {"design": "by_class"},
        {"design": "by_class", "P": P},
        {"design": "by_class", "method": "constrained"},
        {"design": "by_class", "prior": tu.prior.truncated(recall=(0.4, 1))},
        {"design": "by_class", "strata": "system", "pooling": "complete"},
        {"design": "shifted"},
    ],
    ids=str,
)
def test_advice_for_groups_works_when_it_is_typed(tables, options):
    units, test, _ = tables
    options = {"by": "system", "draws": 200, "seed": 1} | options
    est, advice = told(tu.correct, units, test, **options)
    more = told(est.contrast, "x", "y")[1]
    assert more or "design" in options
    advice += more + told(est.share)[1] + told(est.rank)[1]
    assert advice
    for text in advice:
        tu.correct(units, test, **follow(text, options))
    if "score" in options:
        assert all("without `score`" in text for text in advice)


def test_complete_pooling_is_what_is_left_out(tables):
    """By design "random" with a score, strata would be refused."""
    units, test, _ = tables
    with pytest.warns(tu.TrueupWarning, match=r"far too narrow. Leave out pooling='complete'"):
        est = tu.correct(units, test, by="system", score="p", pooling="complete", draws=200)
    assert "strata" not in str(est.info["warnings"])


@pytest.mark.parametrize("by_prediction", [False, True])
def test_a_list_drawn_within_columns_advises_tables(tables, by_prediction):
    units, _, true = tables
    drawn = tu.draw(units, 300, id="id", within="system", by_prediction=by_prediction, seed=1)
    drawn["true"] = true[drawn["id"]]
    est = told(tu.correct, units, drawn, by="system", draws=200)[0]
    (text,) = told(est.share)[1]
    assert "drawn_within=['system']" in text
    assert "without the column 'drawn'" in text
    design = {"design": "by_prediction"} if by_prediction else {}
    assert bool(design) == ("design='by_prediction'" in text)
    one, audited = (x[x["system"] == "x"] for x in (units, drawn.drop(columns="drawn")))
    told(tu.correct, one, audited, id="id", drawn_within=["system"], draws=200, **design)


def test_a_list_drawn_by_score_advises_more_labels(tables):
    units, _, true = tables
    drawn = tu.draw(units, 300, id="id", score="p", seed=1)
    drawn["true"] = true[drawn["id"]]
    est = told(tu.correct, units, drawn, by="system", draws=200)[0]
    assert not told(est.share)[1]
    with pytest.warns(tu.TrueupWarning, match="Audit more units of each"):
        est.share()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "if you cannot, give `strata` of units of similar size."),
        ({"method": "constrained"}, 'similar size with pooling="none".'),
        ({"method": "inverse"}, "similar size with method='auto'."),
        ({"P": P}, "similar size, without `P`."),
        ({"period": "t"}, "correct units of similar size as tables of their own."),
    ],
    ids=str,
)
def test_advice_on_size_can_be_followed(rng, options, words):
    N = 4000
    s = rng.random(N) < 0.5
    large = rng.random(N) < 0.5
    wrong = rng.random(N) < np.where(large, 0.02, 0.4)
    units = pd.DataFrame(
        {
            "predicted": np.where(s ^ wrong, "a", "b"), "t": 2020 + np.arange(N) % 2,
            "y": np.where(large, 50.0, 1.0) + rng.random(N), "size": large,
        }
    )  # fmt: skip
    test = units.assign(true=np.where(s, "a", "b")).iloc[rng.choice(N, 500, replace=False)]
    options = {"design": "shifted", "value": "y", "draws": 200, "seed": 1} | options
    advice = [x for x in told(tu.correct, units, test, **options)[1] if "do not depend" in x]
    assert all(words in text for text in advice)
    assert advice
    if "period" in options:
        return
    more = {"pooling": "none"} if 'pooling="none"' in advice[0] else {}
    more |= {"method": "auto"} if "method='auto'." in advice[0] else {}
    options.pop("P", None)
    told(tu.correct, units, test, strata="size", **options | more)


def test_check_advises_strata_without_a_score(tables):
    units, test, _ = tables
    for score in (None, "p"):
        found = str(tu.check(units, test, by="system", score=score, design="by_class"))
        assert "give `strata`" in found
        assert ("give `strata`, without `score`" in found) == (score is not None)
