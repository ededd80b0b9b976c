"""Plant one fault at a time in the core and see whether the quick tests notice.

    python3 dev.py mutants            all faults, one after the other
    python3 dev.py mutants 3 17       these two only
    python3 dev.py mutants --near     only the tests near each fault: minutes
    python3 dev.py mutants --list     what they are

Each fault changes one line of a copy of `src`: a sign, a transposition, an axis, an index off by
one, a missing weight. The tests nearest to the file run first, then all others that are not slow,
and the first failure ends the run; it counts if the same test passes without the fault. A fault
that no test notices is printed as missed: write the test that would have noticed it. A noticed
fault takes from seconds to a few minutes and a missed one as long as all quick tests, so CI does
not run this.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
QUICK = ["-x", "-q", "-n", "0", "--tb", "no", "-m", "not slow", "-p", "no:cacheprovider",
         "-p", "tests.second_chance"]  # fmt: skip
LAST = ("docs", "hostile", "read", "web")
"""Rooms whose tests take long and say little of the core."""
NOTHING_RAN = 5
LONGEST = 2 * 3600
"""Seconds: a fault may let a loop run forever, and that is noticed too."""


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


def by_distance(fault: Fault) -> tuple[list[str], list[str]]:
    """List the test files near a fault, the nearest first, and all others.

    Near are those named after its module or folder, those that import it, and those of its room.
    """
    room, *inner = fault.file.removesuffix(".py").split("/")
    module = ".".join(["trueup", room, *inner])

    def distance(path: Path) -> int:
        own = path.relative_to(ROOT / "tests").parts[0]
        if own == room and path.stem.removeprefix("test_") in inner:
            return 0
        if module in path.read_text(encoding="utf-8"):
            return 1
        return 2 if own == room else 4 if own in LAST else 3

    files = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda path: (distance(path), path))
    near, far = ([str(x) for x in files if (distance(x) > 2) == away] for away in (False, True))
    return near, far


def failed(where: list[str], source: Path, seed: str) -> str:
    """Run quick tests with the package in `source`: the first that fails, or nothing."""
    summary = source.parent / "summary.json"
    summary.unlink(missing_ok=True)
    more = {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "TRUEUP_SEED": seed}
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *QUICK, "--summary", str(summary), *where],
            cwd=ROOT, env=os.environ | more, capture_output=True, text=True, timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "tests that do not end"
    if run.returncode in (0, NOTHING_RAN):
        return ""
    found = json.loads(summary.read_text("utf-8"))["failed"] if summary.exists() else {}
    return next(iter(found), "") or (run.stdout + run.stderr)[-300:]


def noticed_by(fault: Fault, seed: str, only_near: bool) -> str:
    """Return the first test that fails with the fault planted and passes without; or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        sound, faulty = (Path(folder) / name / "src" for name in ("sound", "faulty"))
        for source in (sound, faulty):
            shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        plant(fault, faulty)
        near, far = by_distance(fault)
        own = str(Path("trueup") / fault.file)  # its docstring has examples
        in_vain: list[str] = []
        for files in ([str(faulty / own), *near], *([] if only_near else [far])):
            while found := failed([*files, *in_vain], faulty, seed):
                alone = found if found.startswith("tests/") else str(sound / own)
                if not failed([alone], sound, seed):
                    return found
                print(f"   fails without the fault too: {found}", flush=True)
                in_vain += ["--deselect", found]
    return ""


def main(arguments: list[str]) -> int:
    """Try the faults; the exit code is 1 if more than two are missed."""
    if "--list" in arguments:
        for i, fault in enumerate(FAULTS, 1):
            print(f"{i:2} {fault.kind:10} {fault.file}: {fault.now}  →  {fault.then}")
        return 0
    only_near = "--near" in arguments
    chosen = [int(x) - 1 for x in arguments if x.isdecimal()] or range(len(FAULTS))
    seed, missed = str(np.random.SeedSequence().generate_state(1)[0]), 0
    print(f"TRUEUP_SEED={seed}", flush=True)
    for i in chosen:
        fault, begun = FAULTS[i], time.monotonic()
        test = noticed_by(fault, seed, only_near)
        missed += not test
        word = f"noticed by {test}" if test else "MISSED"
        took = time.monotonic() - begun
        print(f"{i + 1:2} {fault.kind:10} {fault.file}: {word} ({took:.0f} s)", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults noticed")
    return int(missed > 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
