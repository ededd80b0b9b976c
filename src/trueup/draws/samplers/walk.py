"""A block of chains that walk side by side: how far each row moves, and what is remembered.

During warm-up every distance r is tried in turn; after it each row keeps to the farthest one that
is accepted often enough, and a row that moves slowly is visited more often.
A block adapts on its own and has its own generator, so its draws do not depend on other blocks,
nor on the thread that runs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.columns import move_column
from trueup.draws.samplers.free import move_freely
from trueup.draws.samplers.pairs import move_pair
from trueup.draws.samplers.rows import Target, move_rho, move_row, start, tidy
from trueup.draws.samplers.swaps import swap_rows
from trueup.numerics.dirichlet import refresh

__all__ = ["Record", "Walk"]

Floats = NDArray[np.float64]

DISTANCES = np.array([0.0, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999])
"""How much of a row a proposal keeps; 0 is a fresh draw."""
LAST = len(DISTANCES) - 1
FREE = 4
"""Distances, from the farthest on, that the moves of free.py take in turn."""
OFTEN = 0.2
"""Acceptance that is often enough to go no shorter."""
MOST_VISITS = 4
SOME_COLUMNS, FEW_COLUMNS = 0.25, 0.02
"""Part of the columns that is moved in a sweep."""
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
        self.target, self.rng, self.chains, self.capacity = target, rng, chains, capacity
        self.state = start(target, chains, rng)
        # what moves: K rows and, under `full`, ρ ~ Dir(v̂ + 1) as one more
        extra = [] if target.gamma is None else [target.v_hat + 1.0]
        self.a = np.vstack([target.a, *extra])
        self.forget()

    def forget(self) -> None:
        """Start counting and remembering afresh, from where the chains are."""
        self.draws, self.beta = Record(self.capacity[0]), Record(self.capacity[1])
        self.sweeps = self.swapped = 0
        self.tried, self.kept = np.zeros((2, len(DISTANCES), len(self.a) + self.target.K))

    def sweep(self, moves: NDArray[np.intp], levels: NDArray[np.intp]) -> None:
        """Propose once for each of `moves`, all drawn at once, then try them one after another."""
        K, state = self.target.K, self.state
        now = state.log_P[moves[moves < K]]
        if moves[-1] == K:
            now = np.concatenate([now, np.log(state.rho)[None]])
        P, log_P = refresh(now, self.a[moves], DISTANCES[levels], self.rng)
        self.tried[levels, moves] += self.chains
        for i, (g, level) in enumerate(zip(moves, levels, strict=True)):
            if g < K:
                kept = move_row(state, g, P[i], log_P[i], self.target, self.rng)
            else:
                kept = move_rho(state, P[i], self.target, self.rng)
            self.kept[level, g] += kept

    def columns(self, which: Iterable[int], levels: NDArray[np.intp]) -> None:
        """Propose once for each of some columns."""
        for h, level in zip(which, levels, strict=True):
            r = float(DISTANCES[level])
            kept = move_column(self.state, h, r, self.target, self.rng)
            self.kept[level, len(self.a) + h] += kept
            self.tried[level, len(self.a) + h] += self.chains

    def warm_up(self, rounds: int) -> None:
        """Walk `rounds` times through all distances; learn from the second half."""
        everything = np.arange(len(self.a))
        for i in range(rounds):
            if i == rounds // 2:
                self.forget()
            for level in range(len(DISTANCES)):
                self.sweep(everything, np.full(len(self.a), level))
                move_freely(self.state, DISTANCES[level], self.target, self.rng)
                self.columns(range(self.target.K), np.full(self.target.K, level))
                g, k = self.rng.choice(self.target.K, 2, replace=False)
                move_pair(self.state, int(g), int(k), self.target, self.rng)
                self.swapped += swap_rows(self.state, self.target, self.rng)
            tidy(self.state, self.target)
        acceptance = (self.kept + 0.5) / (self.tried + 1.0)
        # the farthest moves that are still accepted often enough, or else the most local ones
        self.distance = np.where(acceptance > OFTEN, 1, 0).argmax(axis=0)
        self.distance[acceptance.max(axis=0) <= OFTEN] = len(DISTANCES) - 1
        rows = self.distance[everything]
        speed = acceptance[rows, everything] * (1.0 - DISTANCES[rows])
        self.visits = np.clip(np.round(0.5 / speed), 1, MOST_VISITS).astype(int)
        # where every row moves freely by itself, columns hardly ever have to
        slow = bool((self.visits > 1).any() or rows.any())
        self.some_columns = SOME_COLUMNS if slow else FEW_COLUMNS
        swaps = (rounds - rounds // 2) * len(DISTANCES) * self.chains
        self.swap_every = 1 if self.swapped > 0.002 * swaps else SWAP_EVERY
        self.forget()

    def advance(self, sweeps: int) -> None:
        """Walk on for some sweeps and remember them."""
        state = self.state
        for _ in range(sweeps):
            for visit in range(self.visits.max()):
                moves = np.flatnonzero(self.visits > visit)
                self.sweep(moves, self.levels(moves, visit))
            move_freely(state, DISTANCES[self.sweeps % FREE], self.target, self.rng)
            K, n = self.target.K, self.some_columns
            turn = range(int(self.sweeps * n * K), int((self.sweeps + 1) * n * K))
            which = np.array([h % K for h in turn], dtype=int)
            self.columns(which, self.distance[len(self.a) + which])
            for _ in range(max(1, int(n * K)) if n == SOME_COLUMNS else 0):
                g, k = self.rng.choice(K, 2, replace=False)
                move_pair(state, int(g), int(k), self.target, self.rng)
            if self.sweeps % self.swap_every == 0:
                self.swapped += swap_rows(state, self.target, self.rng)
            if self.sweeps % TIDY_EVERY == 0:
                tidy(state, self.target)
            self.beta.add(self.sweeps, (state.beta,))
            self.draws.add(self.sweeps, (*state.P, state.beta, state.rho))
            self.sweeps += 1

    def levels(self, moves: NDArray[np.intp], visit: int) -> NDArray[np.intp]:
        """Distances of this turn: what was learnt, and now and then a fresh or a shorter move."""
        turn = (self.sweeps + 3 * visit) % 8
        if turn == 0:
            return np.zeros_like(moves)
        shorter = int(turn == 4)
        learnt = self.distance[moves]
        return np.asarray(np.minimum(learnt + shorter * (learnt > 0), LAST))
