"""What every test uses: a generator with a seed of its own, and rules about skips and clocks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.seeds import fresh

pytest_plugins = ["tests.second_chance", "tests.sharing"]
# compiling is most of the time of NUTS here, and a quarter of that makes the code faster
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# and what was compiled once is kept: a test that runs again takes a third of the time
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache/jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with a seed of this test's own, another in each run."""
    return fresh()


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an estimate have 200 draws unless the test says how many: for tests about messages."""
    import trueup as tu
    from trueup.draws.settings import make_settings  # of `check`

    for function in (tu.correct, tu.correct_counts, make_settings):
        monkeypatch.setitem(function.__kwdefaults__, "draws", 200)


@pytest.fixture
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chains stop long before they converge: for tests of what holds of every draw."""
    shorten_chains(monkeypatch)


@pytest.fixture
def one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chains over cells arrive, and stop after one batch: for studies of many estimates."""
    from trueup.draws import pooling
    from trueup.estimate import cell_totals

    # after 20 sweeps mean and sd were those after 60, to the 2% that ten seeds tell
    monkeypatch.setattr(cell_totals, "WARM_UP", 20)
    monkeypatch.setattr(cell_totals, "LEAST_SWEEPS", 20)
    monkeypatch.setattr(cell_totals, "MOST_BATCHES", 1)
    monkeypatch.setattr(pooling, "ENOUGH", 0.1)
    monkeypatch.setattr(pooling, "RHAT", 1.2)


def shorten_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every kind of chain stop after a few sweeps, and try fewer points of grids."""
    from trueup.aggregate.groups import concentration, layer
    from trueup.draws import pair_walk, pooling
    from trueup.draws.samplers import chain
    from trueup.estimate import cell_totals

    few = {
        chain: {"RHAT": np.inf},
        cell_totals: {"WARM_UP": 4, "LEAST_SWEEPS": 5, "MOST_BATCHES": 1},
        concentration: {"WARM_UP": 10, "KEEP": 5},
        layer: {"KAPPAS": layer.KAPPAS[::5], "FIRST": 4},
        pair_walk: {"WARM_UP": 10, "SWEEPS": 20, "ROUNDS": 1},
        pooling: {"ENOUGH": 0.0, "RHAT": np.inf},
    }
    for module, constants in few.items():
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture(scope="session", autouse=True)
def limits_in_processor_time() -> Iterator[None]:
    """Let chains that stop after so many seconds count processor time: machines may be busy."""
    from trueup.draws import pair_walk, pooling, rates
    from trueup.draws.samplers import chain, walk
    from trueup.estimate import cell_totals

    clock = SimpleNamespace(monotonic=time.process_time)
    with pytest.MonkeyPatch.context() as patch:
        for module in (cell_totals, chain, pair_walk, pooling, rates, walk):
            patch.setattr(module, "time", clock)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_engine() -> Iterator[None]:
    """Keep the engine that reads files: it ends with the last table, and starting takes 20 ms.

    A process that forks must not keep it, as its threads would be missing there.
    """
    import duckdb

    kept = [duckdb.connect(":memory:trueup")]

    def let_go() -> None:
        while kept:
            kept.pop().close()

    def keep() -> None:
        if not over:
            kept.append(duckdb.connect(":memory:trueup"))

    over = False
    os.register_at_fork(before=let_go, after_in_parent=keep)
    yield
    over = True
    let_go()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where nothing may be skipped (CI sets TRUEUP_NO_SKIPS), a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("TRUEUP_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
