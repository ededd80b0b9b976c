"""What a check found, and the one table that shows all of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FALSE_ALARM", "LEAST", "Finding", "table_text"]

FALSE_ALARM = 1e-4
"""The chance that a run of the whole command fails though nothing is wrong, at most; a fifth of
it for each section that is random, shared out over its tests (Bonferroni)."""
LEAST = 0.92
"""Coverage that a 95% interval must reach. Bayesian intervals are right on average over the prior,
not in every case; 0.03 is the room they have."""

HOLDS, BREACH, SAYS_SO, SKIPPED, SHOWN = "holds", "BREACH", "says so", "skipped", "–"


@dataclass(frozen=True)
class Finding:
    """A line of the table: section, what, how many cells, the worst figure, its bound, verdict."""

    section: str
    what: str
    cells: int
    worst: str
    bound: str
    verdict: str

    @property
    def breach(self) -> bool:
        """Whether the command must fail because of it."""
        return self.verdict == BREACH

    def row(self) -> dict[str, Any]:
        """Give it as a plain dict."""
        return asdict(self)


def table_text(findings: list[Finding]) -> str:
    """Set the table: words to the left, figures to the right."""
    header = ("section", "what", "cells", "worst figure", "bound", "verdict")
    rows = [
        header,
        *((f.section, f.what, f"{f.cells:,}", f.worst, f.bound, f.verdict) for f in findings),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i == 2 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(lines)
