"""An estimate goes to another process or onto a disk, and works there."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import trueup as tu

pytestmark = pytest.mark.usefixtures("short_chains")
PECULIAR = ([[4, 1], [2, 3]], [10, 90])
UNITS = pd.DataFrame({"predicted": list("aababb") * 10, "region": list("nsns" * 15)})
AUDITED = UNITS.assign(true=list("abbabb") * 10).iloc[:12]

PRIORS = {
    "dirichlet": tu.Dirichlet([[3, 1], [1, 2]]),
    "elicited": tu.prior.from_range("a", recall=(0.7, 0.9)),
    "nested": tu.prior.robust(tu.prior.diagonal(2.0)),
    "walls": tu.prior.ordered(),
}


def through_pickle(est):
    return pickle.loads(pickle.dumps(est))


@pytest.mark.parametrize(
    ("copied", "options"),
    [(copy.deepcopy, {})]
    + [(through_pickle, options) for options in ({}, {"by": "region"}, {"strata": "region"})],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_a_copy_has_the_same_rows_table_and_second_run(copied, options):
    est = tu.correct(UNITS, AUDITED, draws=200, seed=3, progress=lambda done: None, **options)
    other = copied(est)
    assert other is not est
    assert other.rows() == est.rows()
    assert str(other) == str(est)
    pd.testing.assert_frame_equal(other.table, est.table)
    assert other.again().rows() == est.rows()
    if not options:  # groups and strata keep the same call
        assert other.again(prior="uniform").rows() == est.again(prior="uniform").rows()


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_every_kind_of_prior_goes_along(prior):
    est = through_pickle(tu.correct_counts(*PECULIAR, classes=["a", "b"], prior=prior, draws=200))
    assert repr(est.asked["prior"]) == repr(prior)
    assert est.again().rows() == est.rows()


def test_a_prior_prints_the_call_that_makes_it():
    earlier = np.array([[40, 10], [2, 48]])
    prior = tu.prior.robust(tu.prior.from_counts(earlier, classes="ba"), np.float64(0.7))
    assert repr(prior) == (
        "trueup.prior.robust(trueup.prior.from_counts([[40, 10], [2, 48]], classes='ba'), 0.7)"
    )
    same = eval(repr(prior), {"trueup": tu})
    numbers = {"test": PECULIAR[0], "predicted_counts": PECULIAR[1], "classes": ["a", "b"]}
    one, other = (tu.correct_counts(**numbers, prior=x, draws=200, seed=1) for x in (prior, same))
    assert one.rows() == other.rows()


def test_a_pickle_does_not_hold_the_population():
    units = pd.concat([UNITS] * 1000)
    assert len(pickle.dumps(tu.correct(units, AUDITED, overlap=False, draws=200))) < 100_000


def test_a_relation_is_a_local_table_in_another_process():
    duckdb = pytest.importorskip("duckdb")
    est = tu.correct(duckdb.from_df(UNITS), AUDITED, draws=200, seed=1)
    assert type(copy.deepcopy(est).table).__name__ == "DuckDBPyRelation"
    other = through_pickle(est).table
    assert isinstance(other, pd.DataFrame)
    np.testing.assert_allclose(other["estimate"], est.table.df()["estimate"])
