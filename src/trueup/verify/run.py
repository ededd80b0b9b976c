"""All checks in a pool of processes: `verify`."""

import multiprocessing
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.errors import OptionError, TrueupWarning
from trueup.numerics.arrays import Progress, Rng, fresh_seed
from trueup.verify import judgement
from trueup.verify.calibration import RankCase, rank_cases, ranks, uniformity
from trueup.verify.findings import WARNED, Finding, table_text
from trueup.verify.grid import Cell, every_cell, run_cell
from trueup.verify.published import published
from trueup.verify.scenario import Scenario, run_scenario
from trueup.verify.sections import every_scenario, whole_stays
from trueup.verify.tally import Tally

AGAIN = 4
"""Doubtful cells run again with this many times the replications."""
QUICK_CELLS = 12
"""The quick form takes one cell in this many, a new choice for every seed."""
QUICK_SCENARIOS = {"groups": 20, "group rates": 2, "periods": 2}
"""The quick form takes so many of a section, otherwise three, and half the replications."""


@dataclass(frozen=True, eq=False)
class Verification:
    """The findings of a run; print it, and fail when `breaches` is not empty."""

    findings: list[Finding]
    tallies: list[Tally]
    info: dict[str, Any]

    @property
    def breaches(self) -> list[Finding]:
        """Findings that make the command fail."""
        return [finding for finding in self.findings if finding.breach]

    def __str__(self) -> str:
        info = self.info
        lines = [table_text(self.findings), ""]
        silent = [t for t in self.tallies if not t.mostly_warned]
        worst = {"Worst of all": self.tallies, "Worst without a warning": silent}
        for words, tallies in worst.items():
            if tallies:
                t = judgement.worst_cell(tallies)
                lines.append(
                    f"{words}: {t.cell.section}, {t.cell}: covers {t.least:.1%} of {t.answered}, "
                    f"warns in {t.warned / max(t.answered, 1):.0%}"
                )
        lines.append(
            f"{info['answers']:,} answers in {info['cells']:,} cells, {info['refused']} refused; "
            f"{'quick' if info['quick'] else 'full'} form"
            f"{''.join(f', {name}' for name in info['only'])}, seed {info['seed']}, "
            f"{info['seconds']:.0f} s on {info['processes']} processes"
        )
        n = len(self.breaches)
        lines.append("No breach." if not n else f"{n} breach{'es' if n > 1 else ''}.")
        return "\n".join(lines)

    def answer(self) -> dict[str, Any]:
        """Return rows and info as plain values, for JSON."""
        worst = judgement.worst_cell(self.tallies) if self.tallies else None
        return {
            "rows": [dict(vars(finding)) for finding in self.findings],
            "info": self.info
            | {
                "breaches": len(self.breaches),
                "worst_cell": None if worst is None else str(worst.cell),
                "warned": sum(f.cells for f in self.findings if f.verdict == WARNED),
            },
        }


def verify(
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    seed: int | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Run every check and judge it; the same seed gives the same table on any number of cores.

    `only` names the sections to run, by default all; the data of each do not depend on it.
    """
    begun = time.monotonic()
    if seed is None:
        seed = fresh_seed()
    processes = processes or min(2, os.cpu_count() or 1)
    rng = np.random.default_rng(seed)
    jobs, left_out = _jobs(quick, rng)
    listed, skipped = every_scenario()
    order = [*dict.fromkeys(x.section for x in listed)]
    if only:
        jobs = _of_sections(jobs, only)
        skipped = [finding for finding in skipped if finding.section in only]
    answers = _in_processes(jobs, processes, progress)
    found = defaultdict(list)
    for (kind, case, _), answer in zip(jobs, answers, strict=True):
        found[kind].append((case, answer))
    cells, scenarios = ([tally for _, tally in found[kind]] for kind in ("cell", "scenario"))
    scenarios.sort(key=lambda t: order.index(t.cell.section))
    tallies = [*cells, *scenarios]
    more = []
    for t in filter(judgement.doubtful, tallies):
        longer = replace(t.cell, replications=AGAIN * t.cell.replications)
        kind = "cell" if isinstance(longer, Cell) else "scenario"
        more.append((kind, longer, int(rng.integers(2**32))))
    again = _in_processes(more, processes, progress)
    findings = [
        *judgement.judge_calibration(found["ranks"]),
        *(judgement.judge_coverage(cells, left_out) if cells else ()),
        *judgement.judge_scenarios(scenarios),
        *judgement.judge_again(again),
        *(finding for _, findings in found["others"] for finding in findings),
        *skipped,
    ]
    info = {
        "seed": seed,
        "quick": quick,
        "only": [*only],
        "processes": processes,
        "seconds": time.monotonic() - begun,
        "cells": len(tallies),
        "answers": sum(t.answered for t in [*tallies, *again]),
        "refused": sum(t.refused for t in [*tallies, *again]),
    }
    return Verification(findings, tallies, info)


def _of_sections(
    jobs: list[tuple[str, Any, int]], only: Sequence[str]
) -> list[tuple[str, Any, int]]:
    """Return the jobs of these sections, each with the seed that it had among the others."""
    known = [*dict.fromkeys(_section(kind, what) for kind, what, _ in jobs)]
    if unknown := [name for name in only if name not in known]:
        raise OptionError(
            f"`only` must name sections that can run here; got {unknown[0]!r}.",
            hint=f"the sections are {', '.join(map(repr, sorted(known)))}.",
        )
    return [job for job in jobs if _section(*job[:2]) in only]


def _section(kind: str, what: Any) -> str:
    if kind == "others":
        return "groups" if what is whole_stays else "published"
    return "calibration" if kind == "ranks" else str(what.section)


def _jobs(quick: bool, rng: Rng) -> tuple[list[tuple[str, Any, int]], int]:
    """List everything to do, each with a seed of its own, the longest first."""
    cases = rank_cases(0.25 if quick else 1.0)
    cells, left_out = every_cell(0.5 if quick else 1.0)
    scenarios, _ = every_scenario()
    if quick:
        cases = [case for case in cases if case.K < 5 or not case.by_chain]
        chosen = rng.permutation(len(cells))[: len(cells) // QUICK_CELLS]
        left_out += len(cells) - len(chosen)
        cells = [cells[i] for i in sorted(chosen)]
        scenarios = _some(scenarios, rng)
    todo: list[tuple[str, Any]] = [("ranks", case) for case in cases]
    todo += [("cell", cell) for cell in cells]
    todo += [("scenario", scenario) for scenario in scenarios]
    todo += [("others", whole_stays), ("others", published)]
    todo.sort(key=lambda job: -_cost(*job))
    return [(kind, what, int(rng.integers(2**32))) for kind, what in todo], left_out


def _some(scenarios: list[Scenario], rng: Rng) -> list[Scenario]:
    """Choose a few scenarios of every section, with half the replications."""
    left: dict[str, int] = {}
    taken = []
    for i in rng.permutation(len(scenarios)):
        it = scenarios[i]
        left[it.section] = left.get(it.section, QUICK_SCENARIOS.get(it.section, 3)) - 1
        if left[it.section] >= 0:
            taken.append(replace(it, replications=(it.replications + 1) // 2))
    return taken


def _cost(kind: str, what: Any) -> float:
    """Return the seconds that a job takes, roughly."""
    if kind == "cell":
        cell: Cell = what
        return float(cell.replications * 1e-3 * cell.K**1.5)
    if kind == "ranks":
        case: RankCase = what
        return case.replications * (0.1 * case.K**1.7 if case.by_chain else 0.002 * case.K)
    return float(what.replications * what.seconds) if kind == "scenario" else 20.0


def _in_processes(
    jobs: list[tuple[str, Any, int]], processes: int, progress: Progress | None
) -> list[Any]:
    work = np.array([_cost(kind, what) for kind, what, _ in jobs])
    answers: list[Any] = [None] * len(jobs)
    done = 0.0
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ.update(dict.fromkeys(before, "1"))  # small matrices: threads only slow them down
    try:
        with ProcessPoolExecutor(
            processes, mp_context=multiprocessing.get_context("spawn")
        ) as pool:
            futures = {pool.submit(_do, *job): i for i, job in enumerate(jobs)}
            for future in as_completed(futures):
                answers[futures[future]] = future.result()
                done += work[futures[future]]
                if progress is not None:
                    progress(done / work.sum())
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
    return answers


def _do(kind: str, what: Any, seed: int) -> Any:
    with warnings.catch_warnings(action="ignore", category=TrueupWarning):
        if kind == "ranks":
            return uniformity(ranks(what, seed), what.bins)
        if kind == "cell":
            return run_cell(what, seed)
        return run_scenario(what, seed) if kind == "scenario" else what(seed)
