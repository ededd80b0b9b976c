"""Plant one fault at a time in the core and see whether the quick tests notice.

    python3 dev.py mutants            all faults, two at a time
    python3 dev.py mutants 3 17       these two only
    python3 dev.py mutants --list     what they are

Each fault changes one line of a copy of `src`: a sign, a transposition, an axis, an index off by
one, a missing weight. The tests of the file's own room run first, then all others that are not
slow; the first failure ends the run. A fault that no test notices is printed as missed: write the
test that would have noticed it. This takes about half an hour, so CI does not run it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
QUICK = ["-x", "-q", "-n", "0", "-r", "fE", "--tb", "no", "-m", "not slow"]


class Fault(NamedTuple):
    """A line of a file, found by a part of it that occurs once, and what to write instead."""

    kind: str
    file: str
    now: str
    then: str


FAULTS = [
    Fault(**x) for x in tomllib.loads((ROOT / "tests" / "mutants.toml").read_text("utf-8"))["fault"]
]


def plant(fault: Fault, source: Path) -> None:
    """Change the one line of the copied source."""
    path = source / "trueup" / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.now) != 1:
        raise SystemExit(f"{fault.file} must have {fault.now!r} once; got {text.count(fault.now)}.")
    path.write_text(text.replace(fault.now, fault.then), encoding="utf-8")


def noticed_by(fault: Fault) -> str:
    """Return the first test that fails with the fault planted; empty if none does."""
    room = fault.file.split("/")[0]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        plant(fault, source)
        environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        own = [f"tests/{room}", str(source / "trueup" / fault.file)]
        for where in (own, ["tests", f"--ignore=tests/{room}"]):
            run = subprocess.run(
                [sys.executable, "-m", "pytest", *QUICK, *where],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
            )
            if run.returncode:
                found = [x for x in run.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]
                return found[0] if found else run.stdout[-300:] + run.stderr[-300:]
    return ""


def main(arguments: list[str]) -> int:
    """Try the faults; the exit code is 1 if more than two are missed."""
    if "--list" in arguments:
        for i, fault in enumerate(FAULTS, 1):
            print(f"{i:2} {fault.kind:10} {fault.file}: {fault.now}  →  {fault.then}")
        return 0
    chosen = [int(x) - 1 for x in arguments] or range(len(FAULTS))
    missed = 0
    with ThreadPoolExecutor(2) as pool:
        for i, test in zip(chosen, pool.map(noticed_by, [FAULTS[i] for i in chosen]), strict=True):
            fault = FAULTS[i]
            missed += not test
            word = f"noticed by {test}" if test else "MISSED"
            print(f"{i + 1:2} {fault.kind:10} {fault.file}: {word}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults noticed")
    return int(missed > 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
