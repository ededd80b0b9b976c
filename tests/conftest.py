"""What every test uses: a fresh seed for the statistical ones, and a count of the skips."""

from __future__ import annotations

import os

import numpy as np
import pytest

FRESH_SEED = int(os.environ.get("TRUEUP_SEED", np.random.SeedSequence().generate_state(1)[0]))


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fresh seed: tolerances are 5 Monte Carlo errors, so none is chosen."""
    return np.random.default_rng(FRESH_SEED)


def pytest_configure(config: pytest.Config) -> None:
    # xdist's workers are separate processes: they take the seed that the first process chose
    os.environ.setdefault("TRUEUP_SEED", str(FRESH_SEED))


def pytest_report_header() -> str:
    return f"statistical tests use seed {os.environ['TRUEUP_SEED']} (set TRUEUP_SEED to repeat)"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.write_line(f"Skipped: {len(skipped)}")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"  {report.nodeid}: {reason}")
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"Seed of the statistical tests: {FRESH_SEED}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where nothing may be skipped (CI sets TRUEUP_NO_SKIPS), a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("TRUEUP_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
