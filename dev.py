#!/usr/bin/env python3
"""Everything a developer runs, on a machine that has only Python 3.11 or newer.

python3 dev.py demo            a small data set, corrected with each method
python3 dev.py test            lint, types and all tests
python3 dev.py test --quick    the same without the slow studies
python3 dev.py docs            the documentation, as a site in `site/`
python3 dev.py run CMD ...     any command inside the environment

The first use makes `.venv` beside this file: with uv where it works, else with venv and pip.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / ".trueup-installed"


def main(arguments: list[str]) -> int:
    """Run one command; its exit code is ours."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command not in ("demo", "docs", "test", "run") or (command == "run" and not rest):
        print(__doc__)
        return 2
    if sys.version_info < (3, 11):  # noqa: UP036  (somebody may call it with an older one)
        print(f"trueup needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
        return 2
    install({"demo": "plot", "docs": "docs", "test": "test"}.get(command, ""))
    if command == "demo":
        return call(PYTHON, "-m", "trueup", "demo", *rest)
    if command == "docs":
        return docs(rest)
    if command == "run":
        return call(*rest)
    return test(rest)


def test(arguments: list[str]) -> int:
    """Lint, format, types and tests; every step runs, and any failure fails the whole."""
    quick = "--quick" in arguments
    rest = [argument for argument in arguments if argument != "--quick"]
    steps: list[list[str | Path]] = [
        [PYTHON, "-m", "ruff", "check", "."],
        [PYTHON, "-m", "ruff", "format", "--check", "."],
        [PYTHON, "-m", "mypy"],
        [PYTHON, "-m", "pytest", "-n", "auto", *(["-m", "not slow"] if quick else []), *rest],
    ]
    failed = []
    for step in steps:
        print(f"\n$ {' '.join(str(word) for word in step[1:])}", flush=True)
        if call(*step):
            failed.append(" ".join(str(word) for word in step[2:4]))
    print("\nFailed: " + ", ".join(failed) if failed else "\nAll checks passed.")
    return 1 if failed else 0


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
    if not (PYTHON.exists() and call(PYTHON, "-m", "pip", "--version", quiet=True) == 0):
        shutil.rmtree(VENV, ignore_errors=True)
        if call(sys.executable, "-m", "venv", VENV):
            sys.exit("Could not make .venv: is the venv module of this Python installed?")
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if call(PYTHON, *pip, *packages):
        sys.exit("Could not install the packages: is a package index within reach?")


def call(*command: str | Path, quiet: bool = False) -> int:
    """Run a command from the project's root with `.venv` first on the path."""
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        "VIRTUAL_ENV": str(VENV),
    }
    sink = subprocess.DEVNULL if quiet else None
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=environment, stdout=sink, stderr=sink).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
