"""A pytest plugin: a random test that fails runs once more, with a new seed and more data.

The run fails only if the test fails twice, and first failures are listed at the end, so that
nothing is hidden. A test is random if it takes random numbers from `seeds.py`, runs the package
without a seed, or is a hypothesis test; any other test runs once. Tests marked `search` (and those
of hypothesis) look for a counterexample, and one that repeats is proof: their second run has the
seed of the first.

`--flakes N` runs each random test N times with fresh seeds and counts its failures instead. With
`--flakes-file FILE` it writes each count down and leaves out the runs that the file has already, so
that a maintainer can stop it and go on another day.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from tests import seeds

SLOWEST = 20
FRESH_ENTROPY = np.random.SeedSequence  # the real one
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Each worker has a core of its own: threads of linear algebra would only wait for each other."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("random tests")
    group.addoption("--flakes", type=int, default=0, help="run each random test N times")
    group.addoption(
        "--flakes-seconds", type=float, default=float("inf"),
        help="stop repeating a test after this much processor time",
    )  # fmt: skip
    group.addoption("--flakes-file", metavar="FILE", help="write counts to FILE, and go on there")
    group.addoption("--once", action="store_true", help="give random tests no second run")
    group.addoption("--summary", metavar="FILE", help="write what failed and why as JSON")


def pytest_configure(config: pytest.Config) -> None:
    if not os.environ.get("TRUEUP_SEED"):  # workers of xdist take that of the first process
        os.environ["TRUEUP_SEED"] = str(FRESH_ENTROPY().generate_state(1)[0])
    config.pluginmanager.register(Runner(config), "trueup-runner")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary(config), "trueup-summary")
        if getattr(config.option, "numprocesses", None):
            for name in THREADS:
                os.environ.setdefault(name, "1")
        # processes that tests start would compile the package again and again
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    np.random.SeedSequence = _seed_sequence  # type: ignore[misc,assignment]


def pytest_unconfigure() -> None:
    np.random.SeedSequence = FRESH_ENTROPY  # type: ignore[misc]


def _seed_sequence(entropy: Any = None, **options: Any) -> np.random.SeedSequence:
    """Return the real SeedSequence; one without entropy gets that of the test that runs."""
    if entropy is None and seeds._current:
        source = seeds.current()
        entropy = [source.seed, source.used]
    return FRESH_ENTROPY(entropy, **options)


def pytest_report_header() -> str:
    return f"random tests use seed {os.environ['TRUEUP_SEED']} (set TRUEUP_SEED to repeat)"


def plain_name(nodeid: str) -> str:
    """Return the name of a test without the group that xdist writes behind it."""
    return re.sub(r"@shared-\w+$", "", nodeid)


class Runner:
    """Runs tests, some of them more than once. Each worker of xdist has its own."""

    def __init__(self, config: pytest.Config) -> None:
        self.seed = int(os.environ["TRUEUP_SEED"])
        self.attempt = 1
        self.random_fixtures: set[Any] = set()
        self.times = config.getoption("--flakes")
        self.most = config.getoption("--flakes-seconds")
        self.once = config.getoption("--once")
        self.had = counts_in(config.getoption("--flakes-file"))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what the file has enough runs of, and tests that it knows as not random."""
        done = {name for name, x in self.had.items() if not 0 < x["runs"] < self.times}
        items[:] = [item for item in items if plain_name(item.nodeid) not in done]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Give a fixture that several tests share a source of its own."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname}"
        source = seeds.Source.of(self.seed, name, self.attempt)
        seeds._current.append(source)
        try:
            return (yield)
        finally:
            seeds._current.pop()
            if source.used:
                self.random_fixtures.add(fixturedef)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = self._repeat(item, nextitem) if self.times else self._run_twice(item, nextitem)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _run_twice(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> list[pytest.TestReport]:
        reports, random = self._run(item, nextitem, self.seed, 1)
        if self.once or not random or not (reason := reason_of(reports)):
            return reports
        first = {"seed": self.seed, "reason": reason}
        search = is_search(item)
        again, _ = self._run(item, nextitem, self.seed, 1 if search else 2, renew=True)
        again[-1].user_properties.append(("first failure", first))
        return again

    def _repeat(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        """Run a random test so many times; return the first run that fails, or else the last."""
        shown, failed, runs, used, reasons = None, 0, 0, 0.0, []
        had = self.had.get(plain_name(item.nodeid), {"runs": 0})["runs"]
        while had + runs < self.times and used < self.most:
            seed = self.seed + had + runs
            reports, random = self._run(item, nextitem, seed, 1, renew=runs > 0)
            if not random:
                return reports
            runs += 1
            used += dict(reports[-1].user_properties)["processor time"]
            if reports[0].skipped or any(report.skipped for report in reports):
                return reports
            if reason := reason_of(reports):
                failed += 1
                shown = shown or reports
                reasons.append({"seed": seed, "reason": reason})
        shown = shown or reports
        tally = {"failed": failed, "runs": runs, "used": used, "reasons": reasons[:5]}
        shown[-1].user_properties.append(("flakes", tally))
        return shown

    def _run(
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        seed: int,
        attempt: int,
        renew: bool = False,
    ) -> tuple[list[pytest.TestReport], bool]:
        """Run a test; return its reports and whether it is random."""
        shared = self._shared(item)
        if renew and shared:
            item.session._setupstate.teardown_exact(None)
        if renew and hasattr(item, "_initrequest"):
            item._initrequest()
        run_seed, self.seed, self.attempt = self.seed, seed, attempt
        source = seeds.Source.of(seed, plain_name(item.nodeid), attempt)
        seeds._current.append(source)
        if "hypothesis.core" in sys.modules:
            sys.modules["hypothesis.core"].global_force_seed = source.seed
        before = processor_time()
        try:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        finally:
            seeds._current.pop()
            self.seed, self.attempt = run_seed, 1
        used = processor_time() - before
        reports[-1].user_properties.append(("processor time", used))
        return reports, bool(source.used or self._shared(item) or is_search(item))

    def _shared(self, item: pytest.Item) -> bool:
        """Return whether the test uses a random fixture that it shares with others."""
        if not self.random_fixtures:
            return False
        found = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
        return any(x in self.random_fixtures for one in found.values() for x in one)


class Summary:
    """Collects what is told at the end. Only the first process has one."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.failed: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.first_failures: dict[str, dict[str, Any]] = {}
        self.used: dict[str, float] = {}
        self.flakes: dict[str, dict[str, Any]] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        report.nodeid = plain_name(report.nodeid)  # for everybody who reads the report
        self._note(report)
        found = dict(report.user_properties)
        if "processor time" in found:
            self.used[report.nodeid] = found["processor time"]
        if "first failure" in found:
            self.first_failures[report.nodeid] = found["first failure"]
        if "flakes" in found:
            self.flakes[report.nodeid] = found["flakes"]
        self._write_down(report.nodeid, found)

    def _write_down(self, nodeid: str, found: dict[str, Any]) -> None:
        """Append the runs of a test to the file; a test that is not random has none."""
        path = self.config.getoption("--flakes-file")
        plain = {"failed": 0, "runs": 0, "used": 0.0, "reasons": []}
        told = nodeid in self.skipped or (nodeid in self.failed and "flakes" not in found)
        if path and "processor time" in found and not told:
            with Path(path).open("a", encoding="utf-8") as file:
                print(json.dumps({"test": nodeid} | found.get("flakes", plain)), file=file)

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.failed:
            self.failed.setdefault(report.nodeid, reason_of([report]))
        elif report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            self.skipped[report.nodeid] = str(why).removeprefix("Skipped: ")

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        path = self.config.getoption("--flakes-file")
        counts = {name: x for name, x in counts_in(path).items() if x["runs"]}
        counts = counts or self.flakes
        for line in text_of_flakes(counts) if counts else self.text():
            terminalreporter.write_line(line)

    def text(self) -> list[str]:
        """Return the slowest tests and what failed once; all else is in pytest's own summary."""
        slowest = sorted(self.used.items(), key=lambda x: -x[1])[:SLOWEST]
        lines = ["", f"Slowest {len(slowest)} tests, in seconds of processor time:"]
        lines += [f"{used:8.1f}  {nodeid}" for nodeid, used in slowest]
        lines += lines_of_first_failures(self.first_failures)
        return lines

    def pytest_sessionfinish(self) -> None:
        if path := self.config.getoption("--summary"):
            told = {
                "seed": int(os.environ["TRUEUP_SEED"]), "failed": self.failed,
                "skipped": self.skipped, "first_failures": self.first_failures,
                "processor_time": self.used, "flakes": self.flakes,
            }  # fmt: skip
            Path(path).write_text(json.dumps(told), encoding="utf-8")


def text_of_flakes(counts: dict[str, dict[str, Any]]) -> list[str]:
    """Return a table of failure rates, worst first."""
    from scipy.stats import beta

    rows = []
    for nodeid, x in counts.items():
        k, n = x["failed"], x["runs"]
        bound = beta.ppf(0.95, k + 1, n - k) if k < n else 1.0
        rows.append((k / n, bound, k, n, x["used"] / n, nodeid))
    rows.sort(reverse=True)
    runs, failed = sum(x[3] for x in rows), sum(x[2] for x in rows)
    lines = ["", "failures/runs  rate is below (95%)  processor s per run  test"]
    lines += [
        f"{k:6}/{n:<6}  {bound:19.3%}  {used:19.2f}  {nodeid}"
        for _, bound, k, n, used, nodeid in rows
    ]
    lines.append(f"{len(rows)} random tests, {failed} of {runs} runs failed")
    for nodeid, x in counts.items():
        lines += [f"  TRUEUP_SEED={y['seed']} {nodeid}: {y['reason']}" for y in x["reasons"]]
    return lines


def counts_in(path: str | None) -> dict[str, dict[str, Any]]:
    """Return what a file says of each test, all its lines together."""
    found: dict[str, dict[str, Any]] = {}
    if not (path and Path(path).exists()):
        return found
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        new = json.loads(line)
        old = found.setdefault(new.pop("test"), {})
        for key, x in new.items():
            old[key] = old[key] + x if key in old else x
    return found


def lines_of_first_failures(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line for each random test that failed in its first run."""
    if not found:
        return []
    lines = ["", "Random tests that failed in their first run, and ran again with a new seed:"]
    for nodeid, x in found.items():
        lines.append(f"  TRUEUP_SEED={x['seed']} {nodeid}: {x['reason']}")
    return lines


def is_search(item: pytest.Item) -> bool:
    """Return whether a failure of the test is a counterexample rather than bad luck."""
    hypothesis = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return bool(hypothesis or item.get_closest_marker("search"))


def reason_of(reports: list[Any]) -> str:
    """Return in one line why a run failed; empty if it did not."""
    for report in reports:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            words = lines[0] if crash else lines[-1] if lines else "no reason given"
            return words if len(words) <= 160 else words[:157] + "..."
    return ""


def processor_time() -> float:
    """Return the processor time of this process and of its children that ended."""
    return sum(os.times()[:4])
