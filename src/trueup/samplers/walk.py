"""A block of chains that walk side by side: how far each row moves, and what is remembered.

During warm-up every distance r is tried in turn; after it each row keeps to the one that moves
fastest, measured as acceptance × (1 − r), and a row that is seldom accepted is visited more often.
A block adapts on its own and has its own generator, so its draws do not depend on other blocks,
nor on the thread that runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trueup.samplers.rows import Target, move_rho, move_row, start, tidy
from trueup.samplers.swaps import swap_rows

__all__ = ["Record", "Walk"]

Floats = NDArray[np.float64]

DISTANCES = np.array([0.0, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999])
"""How much of a row a proposal keeps; 0 is a fresh draw."""
TIDY_EVERY = 16
SWAP_EVERY = 4
"""Sweeps between exchanges where they hardly ever happen."""


@dataclass
class Record:
    """Every `stride`-th array of a run; when full, every other one is dropped."""

    capacity: int
    stride: int = 1
    items: list[Floats] = field(default_factory=list)
    sweeps: list[int] = field(default_factory=list)

    def add(self, sweep: int, parts: tuple[Floats, ...]) -> None:
        """Remember a copy of some (K, C) arrays, if it is this sweep's turn."""
        if sweep % self.stride:
            return
        self.items.append(np.stack(parts))
        self.sweeps.append(sweep)
        if len(self.items) > self.capacity:
            self.stride *= 2
            keep = [i for i, s in enumerate(self.sweeps) if s % self.stride == 0]
            self.items = [self.items[i] for i in keep]
            self.sweeps = [self.sweeps[i] for i in keep]

    def since(self, sweep: int) -> Floats:
        """What is remembered from `sweep` on, chains first: (C, sweeps, parts, K)."""
        i = int(np.searchsorted(self.sweeps, sweep))
        return np.moveaxis(np.stack(self.items[i:]), -1, 0)


class Walk:
    """C chains in step.

    Parameters
    ----------
    target : Target
        What to draw from.
    chains : int
        How many.
    rng : numpy.random.Generator
        This block's own.
    capacity : tuple of int
        Sweeps to remember of whole draws (P, β, ρ) and of β alone.
    """

    def __init__(
        self, target: Target, chains: int, rng: np.random.Generator, capacity: tuple[int, int]
    ) -> None:
        self.target, self.rng, self.chains = target, rng, chains
        self.state = start(target, chains, rng)
        self.draws, self.beta = Record(capacity[0]), Record(capacity[1])
        self.sweeps = 0
        moves = target.K + (target.gamma is not None)  # the last one is ρ's
        self.tried = np.zeros((len(DISTANCES), moves))
        self.kept = np.zeros((len(DISTANCES), moves))
        self.distance = np.zeros(moves, dtype=int)
        self.visits = np.ones(moves, dtype=int)
        self.swap_every = 1
        self.swapped = 0

    def move(self, g: int, level: int) -> None:
        """One proposal for row g (g = K: for ρ), counted."""
        r = float(DISTANCES[level])
        if g < self.target.K:
            kept = move_row(self.state, g, r, self.target, self.rng)
        else:
            kept = move_rho(self.state, r, self.target, self.rng)
        self.kept[level, g] += kept
        self.tried[level, g] += self.chains

    def warm_up(self, rounds: int) -> None:
        """Walk `rounds` times through all distances; learn from the second half."""
        for i in range(rounds):
            if i == rounds // 2:
                self.kept[:], self.tried[:] = 0.0, 0.0
                self.swapped = 0
            for level in range(len(DISTANCES)):
                for g in range(len(self.visits)):
                    self.move(g, level)
                self.swapped += swap_rows(self.state, self.target, self.rng)
            tidy(self.state)
        speed = (self.kept + 0.5) / (self.tried + 1.0) * (1.0 - DISTANCES)[:, None]
        self.distance = speed.argmax(axis=0)
        self.visits = np.clip(np.round(0.5 / speed.max(axis=0)), 1, 4).astype(int)
        swaps = (rounds - rounds // 2) * len(DISTANCES) * self.chains
        self.swap_every = 1 if self.swapped > 0.002 * swaps else SWAP_EVERY
        self.kept[:], self.tried[:] = 0.0, 0.0

    def advance(self, sweeps: int) -> None:
        """Walk on for some sweeps and remember them."""
        for _ in range(sweeps):
            for g, visits in enumerate(self.visits):
                for visit in range(visits):
                    # now and then a fresh draw, whatever was learnt
                    fresh = self.sweeps % 8 == 0 and visit == 0
                    self.move(g, 0 if fresh else self.distance[g])
            if self.sweeps % self.swap_every == 0:
                swap_rows(self.state, self.target, self.rng)
            if self.sweeps % TIDY_EVERY == 0:
                tidy(self.state)
            state = self.state
            self.beta.add(self.sweeps, (state.beta,))
            self.draws.add(self.sweeps, (*state.P, state.beta, state.rho))
            self.sweeps += 1
