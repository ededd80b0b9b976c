"""Groups on a real local Dask cluster: the same seed gives the same numbers wherever it runs."""

import numpy as np
import pandas as pd
import pytest

import trueup as tu
from trueup.aggregate.groups import concentration, draw


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def done(client):
    """Return how many jobs the cluster has run."""
    return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


@pytest.mark.parametrize("value", [None, "y"])
def test_a_cluster_gives_the_numbers_of_this_machine(client, value, rng, monkeypatch):
    monkeypatch.setattr(concentration, "WARM_UP", 10)  # what groups share is learned here
    monkeypatch.setattr(concentration, "KEEP", 5)
    monkeypatch.setattr(draw, "BLOCK", 5_000)  # several jobs
    N = 1200
    s = rng.random(N) < 0.3
    units = pd.DataFrame({"id": np.arange(N), "predicted": s ^ (rng.random(N) < 0.1)})
    units = units.astype({"predicted": int}).assign(y=rng.lognormal(size=N))
    units["region"] = rng.integers(30, size=N)
    audited = rng.choice(N, 200, replace=False)
    test = units.iloc[audited].assign(true=s[audited].astype(int))
    options = {"by": "region", "id": "id", "value": value, "draws": 200, "seed": 3}
    here = tu.correct(units, test, **options)
    before = done(client)
    there = tu.correct(units, test, executor=client.get_executor(), **options)
    assert done(client) > before + 1, "the cluster did nothing"
    assert (there.draws == here.draws).all()
    assert (there.whole == here.whole).all()
