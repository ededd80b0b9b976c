"""The examples on the pages: found, run and compared with what the pages say they print.

- ```python blocks of a page run in order in one namespace, in an empty folder. A ```text block
  right below one is what it prints.
- ```console blocks hold commands after `$` with their output; ```bash blocks hold commands only.
  Lines that start with `trueup` or `python3 dev.py demo` run.
- ```r blocks run in `test_r.py`, where there is R.
- ```text blocks elsewhere do not run: output of long studies, or what only a cluster can do.

``python tests/docs/pages.py PAGE …`` runs the examples of pages and writes their output there.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "console", "bash", "text", "bibtex", "r"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, where the text is, and what stands before it."""

    language: str
    text: str
    start: int
    end: int
    follows: bool  # nothing but white space between it and the block before


def pages() -> list[Path]:
    """Every page: the README, the contributor's guide and all below docs."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    """The page as people write it."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    found: list[Block] = []
    before = 0
    for match in FENCE.finditer(text):
        follows = bool(found) and not text[before : match.start()].strip()
        found.append(Block(match[2].strip(), match[3], match.start(3), match.end(3), follows))
        before = match.end()
    return found


def steps(text: str) -> Iterator[tuple[str, str, tuple[int, int] | None]]:
    """What runs, in order: its kind, its source, and where its expected output is on the page."""
    found = blocks(text)
    for i, block in enumerate(found):
        if block.language == "python":
            claim = found[i + 1] if i + 1 < len(found) else None
            printed = claim is not None and claim.language == "text" and claim.follows
            yield "python", block.text, (claim.start, claim.end) if claim and printed else None
        elif block.language in ("console", "bash"):
            for command, span in _commands(block):
                yield "command", command, span


def _commands(block: Block) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """The commands of a block; those of a console end with a backslash when they go on."""
    if block.language == "bash":
        for line in block.text.splitlines():
            if line.strip() and not line.startswith("#"):
                yield line, None
        return
    starts = [m.start() for m in re.finditer(r"^\$ ", block.text, re.MULTILINE)]
    for start, stop in zip(starts, [*starts[1:], len(block.text)], strict=True):
        part = block.text[start:stop]
        command = re.match(r"\$ (?:.*\\\n)*.*\n?", part)
        assert command is not None
        rest = block.start + start + command.end()
        output = (rest, block.start + stop) if part[command.end() :].strip() else None
        yield command[0][2:].replace("\\\n", " "), output


def run_page(text: str, folder: Path) -> Iterator[tuple[str, str, tuple[int, int] | None]]:
    """Run the examples one by one; give each with what it printed and where that should stand."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, source, claim in steps(text):
            if source.strip() == "trueup demo" and claim is None:
                shutil.copytree(demo() / "trueup-demo", folder / "trueup-demo")
                printed: str | None = ""
            else:
                printed = run_python(source, namespace) if kind == "python" else run_command(source)
            if printed is not None:
                yield source, printed, claim


@cache
def demo() -> Path:
    """Make the tables of the demonstration once for all pages that only need them."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with contextlib.chdir(folder):
        run_command("trueup demo")
    return folder


def run_python(source: str, namespace: dict[str, Any]) -> str:
    """Run a block of Python and give what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "<page>", "exec"), namespace)
    return out.getvalue()


def run_command(line: str) -> str | None:
    """Run a command of ours and give what it prints; None for commands that set up a machine."""
    words = shlex.split(line, comments=True)
    if words[:3] == ["python3", "dev.py", "demo"]:
        words = ["trueup", *words[2:]]
    if words[:3] == ["python3", "dev.py", "run"]:
        words = words[3:]
    if words[0] != "trueup":
        return None
    from click.testing import CliRunner

    from trueup.cli import main

    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, f"$ {line}\n{result.output}{result.exception or ''}"
    return result.stdout


def same(printed: str, claimed: str) -> bool:
    """Whether the page shows what was printed: spaces at ends of lines aside.

    A line of the page that is only "…" stands for any number of lines.
    """
    parts = [re.escape(_trim(part)) for part in re.split(r"^…\n", claimed, flags=re.MULTILINE)]
    return re.fullmatch(r"(?:\n|.)*".join(parts), _trim(printed)) is not None


def _trim(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def rewrite(page: Path) -> bool:
    """Put what the examples print now onto the page; say whether that changed it."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        done = [(p, c) for _, p, c in run_page(text, Path(folder)) if c is not None]
    new = text
    for printed, (start, end) in reversed(done):
        if not same(printed, text[start:end]):
            new = new[:start] + _trim(printed) + "\n" + new[end:]
    page.write_text(new, encoding="utf-8")
    return new != text


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    for argument in sys.argv[1:]:
        print(argument, "changed" if rewrite(Path(argument).resolve()) else "is up to date")
