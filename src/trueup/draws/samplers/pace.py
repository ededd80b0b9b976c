"""How far the proposals of chains go, learnt from their acceptance, and what is kept of a run."""

from dataclasses import dataclass, field

import numpy as np

from trueup.numerics.arrays import Bools, Floats

KEEP = np.array([0.0, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999])
"""How much of the old a proposal keeps; 0 is a fresh draw."""
FEW, MANY = 0.15, 0.5
"""Acceptance below which proposals keep more, and above which they keep less."""
FRESH_EVERY = 8
"""Sweeps between two in which every proposal is a fresh one."""


@dataclass
class Record:
    """Every `stride`-th array (D, C) of a run; when full, every other one is dropped."""

    capacity: int
    stride: int = 1
    items: list[Floats] = field(default_factory=list)
    sweeps: list[int] = field(default_factory=list)

    def wants(self, sweep: int) -> bool:
        """Whether it is this sweep's turn."""
        return sweep % self.stride == 0

    def add(self, sweep: int, item: Floats) -> None:
        """Remember an array."""
        self.items.append(item)
        self.sweeps.append(sweep)
        if len(self.items) > self.capacity:
            self.stride *= 2
            keep = [i for i, s in enumerate(self.sweeps) if s % self.stride == 0]
            self.items = [self.items[i] for i in keep]
            self.sweeps = [self.sweeps[i] for i in keep]

    def since(self, sweep: int) -> Floats:
        """What is remembered from `sweep` on, chains first: (C, sweeps, D)."""
        return np.moveaxis(np.stack(self.items[self.first(sweep) :]), -1, 0)

    def first(self, sweep: int) -> int:
        """Number of the first item from `sweep` on."""
        return int(np.searchsorted(self.sweeps, sweep))


class Pace:
    """How far the proposals of some moves go, learnt from their acceptance."""

    def __init__(self, moves: int, most_tries: int) -> None:
        self.most = most_tries
        self.level = np.zeros(moves, dtype=int)
        self.rate = np.ones(moves)
        self.tries = np.ones(moves, dtype=int)
        self.forget()

    def forget(self) -> None:
        """Count afresh."""
        self.kept, self.tried = np.zeros((2, len(self.level)))

    def count(self, i: int, inside: Bools) -> None:
        """Count proposals of move i that were accepted, and all of them."""
        self.kept[i] += np.count_nonzero(inside)
        self.tried[i] += inside.size

    def learn(self) -> bool:
        """Change what was accepted too rarely or too often; return whether anything changed."""
        self.rate = rate = (self.kept + 0.5) / (self.tried + 1.0)
        few = np.where(self.level == 0, FEW / self.most, FEW)
        level = self.level + (rate < few) - ((rate > MANY) & (self.level > 0))
        level = np.where(self.tried > 0, np.clip(level, 0, len(KEEP) - 1), self.level)
        changed = bool((level != self.level).any())
        fresh = (level == 0) & (self.level == 0)
        self.tries = np.where(fresh, np.clip(np.ceil(0.7 / rate), 1, self.most), 1).astype(int)
        self.level = level
        self.forget()
        return changed

    def slow_first(self) -> list[int]:
        """Order of the moves: those that are accepted least come first."""
        return [int(i) for i in np.lexsort([self.rate, -self.level])]

    def take(self, i: int, sweep: int) -> tuple[float, int]:
        """How much of the old move i keeps in this sweep, and how often it tries."""
        if sweep % FRESH_EVERY == FRESH_EVERY - 1:
            return 0.0, int(self.tries[i])
        return float(KEEP[self.level[i]]), int(self.tries[i])
