"""What every test uses: a generator with a seed of its own, and a rule about skips."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.seeds import fresh

pytest_plugins = ["tests.second_chance"]


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with a seed of this test's own, another in each run."""
    return fresh()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where nothing may be skipped (CI sets TRUEUP_NO_SKIPS), a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("TRUEUP_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
