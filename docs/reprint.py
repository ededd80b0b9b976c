"""Print the tables of the pages again: run the command in the first line of each, keep its output.

    python3 dev.py studies                 all tables: hours
    python3 dev.py studies periods groups  only commands that contain one of these words
    python3 dev.py studies --list          the commands, and when each was last printed

A table is a `text` block that starts with `$ python studies/…` or `$ python bench/…`. Its first
line keeps the date and the commit; a line near the top of docs/studies.md says whether all
tables are of one commit.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.compile(
    r"^```text\n\$ (python (?:studies|bench)/[^\n#]*?)(?:  # ([^\n]*))?\n(.*?)^```$", re.M | re.S
)
STATE = re.compile(r"<!-- printed -->.*?<!-- /printed -->", re.S)


class Table(NamedTuple):
    """A block of a page: its command, and when and at which commit it was printed."""

    page: Path
    command: str
    printed: str | None


def tables() -> Iterator[Table]:
    """Find every table on the pages."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for found in TABLE.finditer(page.read_text(encoding="utf-8")):
            yield Table(page, found[1].strip(), found[2])


def reprint(table: Table) -> str | None:
    """Run a table's command and put its output onto the page; return why it failed, if it did."""
    words = [sys.executable, *shlex.split(table.command)[1:]]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        return lines[-1] if lines else f"exit code {run.returncode}"
    output = "\n".join(line.rstrip() for line in run.stdout.strip("\n").split("\n"))
    block = f"```text\n$ {table.command}  # {date.today()}, {commit()}\n{output}\n```"
    text = table.page.read_text(encoding="utf-8")  # anew: somebody may have edited it meanwhile
    for found in TABLE.finditer(text):
        if found[1].strip() == table.command:
            text = text[: found.start()] + block + text[found.end() :]
            break
    table.page.write_text(text, encoding="utf-8")
    return None


def commit() -> str:
    """Return the short name of the commit; with "+" if the code was changed since."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.run([*git, "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--", "src", "studies", "bench"],
        capture_output=True, text=True,
    )  # fmt: skip
    return name.stdout.strip() + ("+" if changed.stdout.strip() else "")


def state() -> str:
    """Say in one line at which commits the tables were printed."""
    printed = {table.printed for table in tables()}
    dates = sorted(x for x in printed if x)
    if len(printed) == 1 and dates:
        return f"All tables were printed on {dates[0]}."
    return "Tables are from several commits: the first line of each names its own" + (
        ", or it is older than that rule." if None in printed else "."
    )


def main(arguments: list[str]) -> int:
    """Reprint the tables that were asked for; the exit code is 1 if a command failed."""
    found = list(tables())
    if "--list" in arguments:
        for table in found:
            print(f"{table.printed or 'no date':>20}  {table.command}")
        return 0
    chosen = [x for x in found if not arguments or any(word in x.command for word in arguments)]
    failed = 0
    for i, table in enumerate(chosen, 1):
        print(f"[{i} of {len(chosen)}] {table.command} ...", end=" ", flush=True)
        begun = time.monotonic()
        why = reprint(table)
        print(f"failed: {why}" if why else f"{(time.monotonic() - begun) / 60:.1f} minutes")
        failed += why is not None
    page = ROOT / "docs" / "studies.md"
    text = page.read_text(encoding="utf-8")
    line = f"<!-- printed -->{state()}<!-- /printed -->"
    page.write_text(STATE.sub(lambda _: line, text), encoding="utf-8")
    return int(bool(failed) or not chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
