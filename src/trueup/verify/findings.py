"""What each check found, and the table that shows all of it."""

from __future__ import annotations

from dataclasses import dataclass

from trueup.text import aligned

FALSE_ALARM = 1e-4
"""The most that a run of the whole command may fail by chance alone; each random section has a
fifth of it, divided over its tests (Bonferroni)."""
LEAST = 0.92
"""Coverage that a 95% interval must reach. Bayesian intervals are right on average over the prior,
not in every case, so they are allowed 0.03 less."""

HOLDS, BREACH, WARNED, SHOWN = "holds", "BREACH", "warned", "–"


@dataclass(frozen=True)
class Finding:
    """A line of the table: section, what, how many cells, the worst figure, its bound, verdict."""

    section: str
    what: str
    cells: int
    worst: str
    bound: str
    verdict: str

    @classmethod
    def judged(
        cls, section: str, what: str, cells: int, worst: str, bound: str, holds: bool
    ) -> Finding:
        """Return a finding that holds, or is a breach."""
        return cls(section, what, cells, worst, bound, HOLDS if holds else BREACH)

    @property
    def breach(self) -> bool:
        """Whether the command must fail because of it."""
        return self.verdict == BREACH


def table_text(findings: list[Finding]) -> str:
    """Set the table: words to the left, the number of cells to the right."""
    header = ("section", "what", "cells", "worst figure", "bound", "verdict")
    rows = ((f.section, f.what, f"{f.cells:,}", f.worst, f.bound, f.verdict) for f in findings)
    lines = aligned([header, *rows], left=(0, 1, 3, 4, 5))
    lines.insert(1, "─" * max(map(len, lines)))
    return "\n".join(lines)
