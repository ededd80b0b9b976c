"""Groups on a real local Spark: drawn on its workers, with the numbers of this machine."""

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.aggregate.groups import draw


@pytest.fixture
def spark(servers):
    pytest.importorskip("pyspark")
    return servers.spark()


def tables(rng, N=1200):
    s = rng.random(N) < 0.3
    units = pd.DataFrame({"id": np.arange(N), "predicted": s ^ (rng.random(N) < 0.1)})
    units = units.astype({"predicted": int}).assign(region=rng.integers(30, size=N))
    audited = rng.choice(N, 200, replace=False)
    return units, units.iloc[audited].assign(true=s[audited].astype(int))


def test_workers_of_spark_give_the_numbers_of_this_machine(spark, rng, monkeypatch):
    monkeypatch.setattr(draw, "BLOCK", 5_000)  # several jobs
    units, test = tables(rng)
    options = {"by": "region", "id": "id", "draws": 200, "seed": 3}
    here = tu.correct(units, test, **options)
    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
    table = spark.createDataFrame(units.to_numpy().tolist(), list(units))
    there = tu.correct(table, test, executor=spark, **options)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) > before + 3
    assert (there.draws == here.draws).all()
    assert (there.whole == here.whole).all()
    assert type(there.table).__module__.startswith("pyspark")
    assert [row.asDict() for row in there.table.collect()] == here.tidy()


def test_a_job_that_fails_on_a_worker_is_an_error_of_ours(spark, rng, monkeypatch):
    units, test = tables(rng)
    monkeypatch.setattr(draw, "_draw", _fails)
    with pytest.raises(tu.TrueupError, match="The executor failed after 0 of"):
        tu.correct(units, test, by="region", id="id", draws=200, executor=spark)


def _fails(*job):
    raise RuntimeError("no memory left")


def test_what_is_no_executor_is_refused(rng):
    units, test = tables(rng)
    with pytest.raises(tu.TrueupError, match="Executor, or a session of Spark; got str"):
        tu.correct(units, test, by="region", id="id", executor="dask")
