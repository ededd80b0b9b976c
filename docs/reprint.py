"""Print the tables of the pages again: run the command in the first line of each, keep its output.

    python3 dev.py studies                 all tables: less than two hours on two cores
    python3 dev.py studies periods groups  only commands that contain one of these words
    python3 dev.py studies --again         also those that this commit has printed already
    python3 dev.py studies --list          the commands, and which commit printed each

A table is a `text` block that starts with `$ python studies/…` or `$ python bench/…`. A table that
another commit printed has that commit in its first line; what all tables share is in one line at
the top of docs/studies.md. After an interruption, the next run leaves out what is printed already.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.compile(
    r"^```text\n\$ (python (?:studies|bench)/[^\n#]*?)(?:  # ([^\n]*))?\n(.*?)^```$", re.M | re.S
)
STATE = re.compile(r"<!-- printed -->.*?<!-- /printed -->", re.S)
NOT_YET = "not printed yet"
MOST = "Tables without a commit of their own were printed on "


class Table(NamedTuple):
    """A block of a page: its command, and when and at which commit it was printed."""

    page: Path
    command: str
    printed: str | None


def tables(root: Path) -> Iterator[Table]:
    """Find every table on the pages; one without a date has that of the line at the top."""
    top = STATE.search((root / "docs" / "studies.md").read_text(encoding="utf-8"))
    usual = re.search(r"printed on ([^.]*)\.", top[0]) if top else None
    for page in sorted((root / "docs").rglob("*.md")):
        for found in TABLE.finditer(page.read_text(encoding="utf-8")):
            own = found[2] or (usual[1] if usual else None)
            yield Table(page, found[1].strip(), None if own == NOT_YET else own)


def reprint(root: Path, table: Table, printed: str) -> str | None:
    """Run a table's command and put its output onto the page; return why it failed, if it did."""
    words = [sys.executable, *shlex.split(table.command)[1:]]
    # each process of a pool has a core of its own: threads beside it only wait for each other
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} | os.environ
    run = subprocess.run(words, cwd=root, capture_output=True, text=True, env=environment)
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        return lines[-1] if lines else f"exit code {run.returncode}"
    write(table, printed, run.stdout)
    return None


def write(table: Table, printed: str | None, output: str | None = None) -> None:
    """Put a date and commit, or none, into the first line of a table, and new output below it."""
    text = table.page.read_text(encoding="utf-8")  # once more: it may have been edited meanwhile
    for found in TABLE.finditer(text):
        if found[1].strip() == table.command:
            body = found[3] if output is None else output.strip("\n") + "\n"
            lines = "".join(f"{line.rstrip()}\n" for line in body.splitlines())
            told = f"  # {printed}" if printed else ""
            block = f"```text\n$ {table.command}{told}\n{lines}```"
            text = text[: found.start()] + block + text[found.end() :]
            break
    table.page.write_text(text, encoding="utf-8")


def commit(root: Path) -> str:
    """Return the short name of the last commit of the code; with "+" if it was changed since."""
    git, code = ["git", "-C", str(root)], ["--", "src", "studies", "bench"]
    name, changed = (
        subprocess.run([*git, *words, *code], capture_output=True, text=True).stdout.strip()
        for words in (["log", "-1", "--abbrev=7", "--format=%h"], ["status", "--porcelain"])
    )
    return name + ("+" if changed else "")


def of_commit(printed: str | None) -> str | None:
    """Return the commit of a date and commit."""
    return printed.split(", ")[-1] if printed else None


def tidy(root: Path) -> None:
    """Write what most tables share into the line at the top, and only the others' into theirs."""
    found = list(tables(root))
    commits = Counter(of_commit(x.printed) for x in found if x.printed)
    most = commits.most_common(1)[0][0] if commits else None
    same = [x.printed for x in found if x.printed and of_commit(x.printed) == most]
    date_of = max(same, default="no day")
    for table in found:
        own = of_commit(table.printed) != most
        write(table, (table.printed or NOT_YET) if own else None)
    page = root / "docs" / "studies.md"
    every = len(commits) == 1 and all(x.printed for x in found)
    line = f"{'All tables were printed on ' if every else MOST}{date_of}."
    text = STATE.sub(lambda _: f"<!-- printed -->{line}<!-- /printed -->", page.read_text("utf-8"))
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Reprint the tables that were asked for; the exit code is 1 if a command failed."""
    found, now = list(tables(root)), commit(root)
    if "--list" in arguments:
        for table in found:
            print(f"{table.printed or 'no date':>20}  {table.command}")
        return 0
    wanted = [word for word in arguments if word != "--again"]
    chosen = [x for x in found if not wanted or any(word in x.command for word in wanted)]
    failed, begun = 0, time.monotonic()
    for i, table in enumerate(chosen, 1):
        print(f"[{i} of {len(chosen)}] {table.command} ...", end=" ", flush=True)
        if of_commit(table.printed) == now and "+" not in now and "--again" not in arguments:
            print("printed already")
            continue
        start = time.monotonic()
        why = reprint(root, table, f"{date.today()}, {now}")
        took, all_of_it = (f"{(time.monotonic() - x) / 60:.1f}" for x in (start, begun))
        print(f"failed: {why}" if why else f"{took} minutes; {all_of_it} so far", flush=True)
        failed += why is not None
    tidy(root)
    print(f"{len(chosen) - failed} of {len(chosen)} tables are printed.")
    return int(bool(failed) or not chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
