#!/usr/bin/env python3
"""Everything a developer runs, on a machine that has only Python 3.11 or newer.

python3 dev.py demo            a small data set, corrected with each method
python3 dev.py test            lint, types and all tests; other words go to pytest
python3 dev.py test --quick    the same without the slow studies
python3 dev.py flakes          run each random test 100 times with fresh seeds, on all cores, and
                               print how often each fails; --times N for another number,
                               --seconds S to stop repeating a test after S seconds of processor
                               time, --file F to write the counts to F as they come and to go on
                               from there the next time; other words go to pytest
python3 dev.py docs            the documentation, as a site in `site/`
python3 dev.py studies         print the tables of the pages again: two hours; words choose some
python3 dev.py mutants         plant faults in the core, one at a time: do the quick tests notice?
python3 dev.py run CMD ...     any command inside the environment

The first use makes `.venv` beside this file: with uv where it works, else with venv and pip.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / ".trueup-installed"
COMMANDS = {
    "demo": "plot", "docs": "docs", "flakes": "test", "mutants": "test", "run": "",
    "studies": "test", "test": "test",
}  # fmt: skip
"""Each command, and the extra that it needs."""
SCRIPTS = {"mutants": "tests/mutants.py", "studies": "docs/reprint.py"}
WORKERS = ("-n", "auto", "--dist", "loadgroup", "--max-worker-restart", "0")
"""A worker that dies ends the run: xdist waits for ever after it has put another in its place."""


def main(arguments: list[str]) -> int:
    """Run one command; its exit code is ours."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command not in COMMANDS or (command == "run" and not rest):
        print(__doc__)
        return 2
    if sys.version_info < (3, 11):  # noqa: UP036  (somebody may call it with an older one)
        print(f"trueup needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
        return 2
    install(COMMANDS[command])
    if command == "demo":
        return call(PYTHON, "-m", "trueup", "demo", *rest)
    if command == "docs":
        return docs(rest)
    if command in SCRIPTS:
        return call(PYTHON, SCRIPTS[command], *rest)
    if command == "run":
        return call(*rest)
    return flakes(rest) if command == "flakes" else test(rest)


def test(arguments: list[str]) -> int:
    """Lint, format, types and tests; every step runs, and any failure fails the whole.

    Types are checked beside the tests, as one process would leave the other cores idle.
    """
    quick = "--quick" in arguments
    rest = [argument for argument in arguments if argument != "--quick"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.json"
        steps: dict[str, list[str | Path]] = {
            "lint": ["ruff", "check", "."],
            "format": ["ruff", "format", "--check", "."],
            "tests": [
                "pytest", *WORKERS, "-r", "N", "--summary", path,
                *(["-m", "not slow"] if quick else []), *rest,
            ],
        }  # fmt: skip
        failed = []
        with (Path(folder) / "types.txt").open("w+") as types, ThreadPoolExecutor(1) as pool:
            beside = pool.submit(call, PYTHON, "-m", "mypy", sink=types)
            for name, step in steps.items():
                print(f"\n$ {' '.join(str(word) for word in step)}", flush=True)
                if call(PYTHON, "-m", *step):
                    failed.append(name)
            if beside.result():
                failed.append("types")
            types.seek(0)
            print(f"\n$ mypy\n{types.read()}", end="", flush=True)
        told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    print("\n" + "\n".join(summary(failed, told)))
    return 1 if failed else 0


def summary(failed: list[str], told: dict[str, Any]) -> list[str]:
    """Return what failed and why, what was skipped and why, and the command to repeat it."""
    lines = []
    if found := told.get("first_failures"):
        lines.append(f"Failed once, then ran again with a new seed and more data ({len(found)}):")
        lines += [f"  {test}: {x['reason']} (seed {x['seed']})" for test, x in found.items()]
    if found := told.get("skipped"):
        lines.append(f"Skipped ({len(found)}):")
        lines += [f"  {count} × {why}" for why, count in Counter(found.values()).most_common()]
    repeat = {
        "lint": "python3 dev.py run ruff check .",
        "format": "python3 dev.py run ruff format .",
        "types": "python3 dev.py run mypy",
    }
    for name in failed:
        if name in repeat:
            lines.append(f"Failed: {name}. Repeat it with\n  {repeat[name]}")
    if "tests" in failed and (found := told.get("failed")):
        lines.append(f"Failed tests ({len(found)}):")
        lines += [f"  {test}: {why}" for test, why in found.items()]
        names = shlex.join(found) if len(found) <= 10 else "--last-failed"
        lines += [
            "Repeat them with",
            f"  TRUEUP_SEED={told['seed']} python3 dev.py run pytest {names}",
        ]
    elif "tests" in failed and told.get("skipped") and os.environ.get("TRUEUP_NO_SKIPS"):
        lines.append("Failed: tests were skipped, and TRUEUP_NO_SKIPS is set.")
    elif "tests" in failed:
        lines.append("Failed: pytest stopped before its end; its message is above.")
    return lines if failed else [*lines, "All checks passed."]


def flakes(arguments: list[str]) -> int:
    """Run each random test many times without a second chance; print how often each fails."""
    rest, repeat = list(arguments), ["--flakes", "100"]
    for name in ("--times", "--seconds", "--file"):
        if name in rest[:-1]:
            at = rest.index(name)
            option = "--flakes" if name == "--times" else f"--flakes{name[1:]}"
            # in one word: pytest would take a file that is there for a place of tests
            repeat.append(f"{option}={rest[at + 1]}")
            del rest[at : at + 2]
    return call(PYTHON, "-m", "pytest", *WORKERS, "-q", "-r", "N", *repeat, *rest)


def docs(arguments: list[str]) -> int:
    """Build the site; a broken link or any other warning fails."""
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # advertising of the theme's maker
    code = call(PYTHON, "-m", "mkdocs", "build", "--strict", *arguments)
    if code == 0:
        print(f"\nOpen {ROOT / 'site' / 'index.html'}")
    return code


def install(extra: str) -> None:
    """Make `.venv` with the package and an extra, unless it is there and up to date."""
    inputs = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    wanted = f"{hashlib.sha256(inputs).hexdigest()} {sys.version_info[:2]}"
    done = STAMP.read_text().split("\n") if STAMP.exists() else []
    if PYTHON.exists() and done and done[0] == wanted and extra in done[1:]:
        return
    print(f"Setting up .venv{f' with extra {extra}' if extra else ''} ...", flush=True)
    if not (done and done[0] == wanted):
        shutil.rmtree(VENV, ignore_errors=True)
        done = [wanted]
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    packages = ["-c", str(ROOT / "constraints.txt"), "-e", target]
    uv = shutil.which("uv")
    if not (uv and _install_with_uv(uv, packages)):
        _install_with_pip(packages)
    STAMP.write_text("\n".join([*done, "", extra]))


def _install_with_uv(uv: str, packages: list[str]) -> bool:
    quiet: list[str | Path] = [uv, "--quiet", "--no-config"]
    if not PYTHON.exists() and call(*quiet, "venv", "--python", sys.executable, VENV):
        return False
    return call(*quiet, "pip", "install", "--python", PYTHON, *packages) == 0


def _install_with_pip(packages: list[str]) -> None:
    if not (
        PYTHON.exists() and call(PYTHON, "-m", "pip", "--version", sink=subprocess.DEVNULL) == 0
    ):
        shutil.rmtree(VENV, ignore_errors=True)
        if call(sys.executable, "-m", "venv", VENV):
            sys.exit("Could not make .venv: is the venv module of this Python installed?")
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if call(PYTHON, *pip, *packages):
        sys.exit("Could not install the packages: is a package index within reach?")


def call(*command: str | Path, sink: IO[str] | int | None = None) -> int:
    """Run a command from the project's root with `.venv` first on the path; its exit code."""
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        "VIRTUAL_ENV": str(VENV),
    }
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=environment, stdout=sink, stderr=sink).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
