"""The fuzzer: ``python -m tests.hostile.fuzz --cases 10000``.

Each case is made from a seed of its own, run in a worker process and judged: answered and equal to
a slow independent count, refused with one of trueup's own messages, or a bug: any other exception,
a warning of NumPy, a wrong answer, or no answer in time. Add a kind of input (such as the page's
endpoints) as one more function in KINDS.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import select
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from tests.patience import Watch

TIMEOUT = 30.0
"""Seconds of processor time after which a case hangs."""


def tables(seed: int, rng: random.Random, ending: str) -> str:
    """Correct a pair of files and compare n, v̂ and û with the slow count."""
    import trueup as tu
    from tests.hostile import cases, oracle

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if ending == "csv":
            *paths, _ = cases.write_csv_pair(folder, rng)
        else:
            *paths, _ = cases.write_binary_pair(folder, rng, ending)
        value = rng.choice([None, "y"])
        try:
            est = tu.correct(
                *map(str, paths), value=value, draws=100, method=rng.choice(["naive", "joint"]),
                overlap=rng.choice([True, False]), seed=seed % 2**32,
            )  # fmt: skip
        except tu.TrueupError:
            return "refused"
        rows = [oracle.read(path) for path in paths]
        if any(x is None for x in rows):
            return "unjudged"
        wrong = oracle.disagreement(est.counts, *rows, value)
        return f"WRONG {wrong}" if wrong else "answered"


def numbers(seed: int, rng: random.Random) -> str:
    """`correct_counts` with numbers at the edge of floats."""
    import numpy as np

    import trueup as tu
    from tests.hostile import cases

    case = cases.count_case(rng)
    try:
        est = tu.correct_counts(**case, draws=100, seed=seed % 2**32)
    except tu.TrueupError:
        return "refused"
    total = sum(float(x) for x in case.get("predicted_sums") or case["predicted_counts"])
    for row in est.rows():
        if not all(x is None or np.isfinite(x) for name, x in row.items() if name != "class"):
            return f"WRONG not finite: {row}"
        if row["lower"] is not None and not row["lower"] <= row["upper"]:
            return f"WRONG limits: {row}"
    if est.draws is not None:
        off = np.abs(est.draws.sum(axis=1) - total).max()
        size = max(np.abs(est.draws).max(), np.abs(est.counts.naive).sum())
        if not off <= 1e-6 * size:
            return f"WRONG draws do not add up to {total:g}: off by {off:g}"
    if [[float(x) for x in row] for row in case["test"]] != est.counts.n.tolist():
        return "WRONG n"
    return "answered"


def command(seed: int, rng: random.Random) -> str:
    """``trueup numbers`` with anything after --test, typed or in a file."""
    from click.testing import CliRunner

    from tests.hostile import cases
    from trueup.cli import main

    text = cases.matrix_text(rng)
    K = text.count(";") + 1 if rng.random() < 0.8 else rng.choice([1, 2, 3])
    counts = ",".join(str(rng.randint(0, 900)) for _ in range(K))
    with tempfile.TemporaryDirectory() as name:
        if rng.random() < 0.4:
            path = Path(name) / "matrix.csv"
            content = text.replace(";", "\n").encode()
            path.write_bytes(cases.damaged(content, rng) if rng.random() < 0.5 else content)
            test = str(path)
        else:
            test = text
        arguments = [
            "numbers",
            f"--test={test}",
            f"--predicted-counts={counts}",
            "--draws=100",
            "--json",
        ]
        result = CliRunner().invoke(main, [*arguments, f"--seed={seed % 2**32}"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        return "WRONG output beside an error" if result.stdout else "refused"
    json.loads(result.stdout)
    if test == text and result.exit_code == 0:
        given = [[float(x) for x in row.split(",")] for row in text.strip().strip(";").split(";")]
        naive = [row["naive"] for row in json.loads(result.stdout)["rows"]]
        if naive != [float(x) for x in counts.split(",")] or len(given) != len(naive):
            return "WRONG counts"
    return "answered"


KINDS = {
    "csv": lambda seed, rng: tables(seed, rng, "csv"),
    "parquet": lambda seed, rng: tables(seed, rng, "parquet"),
    "arrow": lambda seed, rng: tables(seed, rng, "arrow"),
    "numbers": numbers,
    "command": command,
}


def run_case(kind: str, seed: int) -> str:
    """One case: what became of it, in a word, or a traceback."""
    rng = random.Random(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            return KINDS[kind](seed, rng)
    except Exception:
        return "CRASH " + traceback.format_exc(limit=-4)


def worker() -> None:
    """Read kinds and seeds, write what became of them."""
    for line in sys.stdin:
        kind, seed = line.split()
        begun = time.process_time()
        outcome = run_case(kind, int(seed))
        spent = time.process_time() - begun
        print(json.dumps([kind, int(seed), outcome, spent]), flush=True)


class Worker:
    """A process that does one case after another, and is replaced when one hangs."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.fuzz", "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def do(self, kind: str, seed: int, timeout: float) -> tuple[str, float]:
        """What became of a case, and its seconds of processor time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{kind} {seed}\n")
        self.process.stdin.flush()
        watch, ready, hang = Watch(self.process.pid, timeout), [], None
        while not ready and hang is None:
            ready, _, _ = select.select([self.process.stdout], [], [], 1.0)
            hang = None if ready else watch.verdict()
        line = self.process.stdout.readline() if ready else ""
        if line:
            return tuple(json.loads(line)[2:])
        self.stop()
        self.start()
        return ("CRASH the process died" if ready else f"HANG {hang}"), timeout

    def stop(self) -> None:
        self.process.kill()
        with contextlib.suppress(BrokenPipeError), self.process:
            pass  # closes the pipes and waits


def fuzz(cases: int, seed: int, workers: int = 2, kinds: list[str] | None = None) -> list[tuple]:
    """Run so many cases; return (kind, seed, what became of it, its seconds) for each."""
    rng = random.Random(seed)
    chosen = kinds or list(KINDS)
    todo = [(chosen[i % len(chosen)], rng.getrandbits(48)) for i in range(cases)]
    found, lock = [], threading.Lock()

    def work() -> None:
        mine, first = Worker(), True
        try:
            while True:
                with lock:
                    if not todo:
                        return
                    kind, number = todo.pop()
                outcome, spent = mine.do(kind, number, TIMEOUT * (4 if first else 1))
                first = False
                with lock:
                    found.append((kind, number, outcome, spent))
        finally:
            mine.stop()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def bugs(found: list[tuple]) -> list[tuple]:
    """Those that are neither answered nor refused."""
    return [x for x in found if x[2].split()[0] not in ("answered", "refused", "unjudged")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args()
    if given.worker:
        worker()
        return 0
    seed = random.SystemRandom().getrandbits(32) if given.seed is None else given.seed
    begun = time.monotonic()
    found = fuzz(given.cases, seed, given.workers, given.kind)
    table = Counter((kind, outcome.split()[0]) for kind, _, outcome, _ in found)
    for (kind, outcome), count in sorted(table.items()):
        print(f"{kind:8} {outcome:9} {count:7,}")
    wrong = bugs(found)
    for kind, number, outcome, _ in wrong[:40]:
        print(f"\n{kind} {number}: {outcome}")
    print("\nSlowest cases, in seconds of processor time:")
    for kind, number, outcome, spent in sorted(found, key=lambda x: -x[3])[:5]:
        print(f"  {spent:6.1f}  {kind} {number}: {outcome.split()[0]}")
    print(
        f"\n{len(found):,} cases, {len(wrong)} bugs; seed {seed}, {time.monotonic() - begun:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
