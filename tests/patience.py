"""How long tests wait: for conditions, and in processor time where something may hang.

A busy machine makes everything slow by the clock, so no limit that a test may reach is by the
clock. PATIENCE only ends a test that hangs for ever.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 900.0
"""Seconds by the clock; nothing that works comes near it, however busy the machine is."""
IDLE = 0.05
"""Seconds of processor time that a server which only waits may use from one look to the next."""
ASLEEP = 300
"""A process that sleeps at so many looks in a row, a second apart, has stopped for good."""


def until(true: Callable[[], object]) -> None:
    """Wait for something that happens in another thread or process."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


class Watch:
    """Says when a process has used too much processor time, or sleeps and never wakes up."""

    def __init__(self, pid: int, most: float) -> None:
        self.pid, self.most = pid, most
        self.begun = self.used = processor_time(pid)
        self.asleep = 0

    def verdict(self) -> str | None:
        """Return why the process hangs, or None; to be asked about once a second."""
        used = processor_time(self.pid)
        if used - self.begun > self.most:
            return f"over {self.most:g} s of processor time"
        self.asleep = self.asleep + 1 if used - self.used < IDLE and sleeps(self.pid) else 0
        self.used = used
        return f"asleep for {ASLEEP} looks" if self.asleep >= ASLEEP else None


def processor_time(pid: int) -> float:
    """Return the processor time of a process; the clock's where the system does not tell."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def sleeps(pid: int) -> bool:
    """Return whether a process waits for something other than a processor."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return False
