"""Chains that walk side by side: one sweep of each posterior.

During warm-up every column and row learns how far its proposals may go: fresh ones, tried several
times where few stay inside, or ones that keep a part of the old.
"""

import time

import numpy as np

from trueup.draws.samplers import tilted
from trueup.draws.samplers.gammas import (
    Gammas,
    invert,
    move_columns,
    move_row,
    propose,
    propose_columns,
    swap_rows,
)
from trueup.draws.samplers.pace import KEEP, Pace, Record
from trueup.draws.samplers.tilted import log_sum
from trueup.numerics.arrays import Bools, Floats, Rng
from trueup.numerics.dirichlet import dirichlet, fast_generator, log_gamma

MOST_TRIES = 16
ROUND = 5
"""Sweeps after which the warm-up looks at the acceptance."""
ROWS = 10
"""One in so many rows moves in a sweep."""
MANY_CLASSES, PASSES = 20, 3
"""With more classes than the first, the slowest columns move several times in a sweep."""
SMALL_GAMMA, FEW_CLASSES, JUMPS = 0.5, 5, 6
"""With a smaller γ than the first, a class is there or not: of few it is renewed with its row, of
more it jumps so often in a sweep."""
ENOUGH_OF_MANY, ENOUGH_OF_SMALL = 0.25, 0.5
"""Effective draws to wait for, as a part of those asked for, with many classes and a small γ: the
rest would take most of the time."""
ROUNDING = 1e-9
"""A β_g that is negative by more than this is not due to rounding of a permissible one."""
TINY = np.finfo(float).tiny


class Walk:
    """C chains in step; what they walk through is a subclass's.

    `capacity` are the sweeps to remember of whole draws (P, β, ρ) and of β alone.
    """

    shape: tuple[int, int]
    paces: list[Pace]
    enough = 0.9
    """Draws are enough when their effective number is this part of the number asked for."""
    deadline = np.inf
    """Time (of `time.monotonic`) after which no sweep begins."""

    def __init__(self, chains: int, rng: Rng, capacity: tuple[int, int]) -> None:
        self.chains, self.capacity = chains, capacity
        self.rng = fast_generator(rng)
        self.forget()

    def forget(self) -> None:
        """Start remembering afresh, from where the chains are."""
        self.draws, self.beta = Record(self.capacity[0]), Record(self.capacity[1])
        self.sweeps = 0

    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline

    def sweep(self) -> None:
        """Move everything once."""
        raise NotImplementedError

    def now(self) -> tuple[Floats, Floats, Floats]:
        """P (K, L, C), β (K, C) and ρ (L, C)."""
        raise NotImplementedError

    def warm_up(self, rounds: int) -> None:
        """Walk until the proposals have found their lengths, at least `rounds` rounds."""
        for i in range(rounds + len(KEEP)):
            for _ in range(ROUND):
                if not self.late():
                    self.sweep()
                self.sweeps += 1
            if not self.adapt() and i + 1 >= rounds:
                break
        self.forget()

    def adapt(self) -> bool:
        """Learn from the acceptance since the last time; return whether anything changed."""
        changed = [pace.learn() for pace in self.paces]
        return any(changed)

    def advance(self, sweeps: int) -> None:
        """Walk on for some sweeps and remember them."""
        for _ in range(sweeps):
            if self.sweeps and self.late():
                break
            self.sweep()
            if self.draws.wants(self.sweeps) or self.beta.wants(self.sweeps):
                P, beta, rho = self.now()
                if self.beta.wants(self.sweeps):
                    self.beta.add(self.sweeps, beta)
                if self.draws.wants(self.sweeps):
                    flat = P.reshape(-1, self.chains)
                    self.draws.add(self.sweeps, np.concatenate([flat, beta, rho]))
            self.sweeps += 1

    def acceptance(self) -> float:
        """Share of the proposals since the warm-up that were accepted."""
        kept = sum(float(pace.kept.sum()) for pace in self.paces)
        return kept / max(sum(float(pace.tried.sum()) for pace in self.paces), 1.0)


class Constrained(Walk):
    """Rows Dir(a) inside Θ_K(v̂)."""

    def __init__(
        self, a: Floats, v_hat: Floats, chains: int, rng: Rng, capacity: tuple[int, int]
    ) -> None:
        self.a, self.shape = a, a.shape
        rho = np.repeat((v_hat / v_hat.sum())[:, None], chains, axis=1)
        X = start(a, rho, rng)
        lost = outside(invert(X, rho))
        X[:, :, lost] = start(a, rho[:, lost], rng, plain=True)
        self.state = invert(X, rho)
        self.paces = [Pace(len(a), MOST_TRIES), Pace(len(a), MOST_TRIES)]
        # rows with few test units are those that columns alone move slowly
        self.some, few = -(-len(a) // ROWS), 1.0 / a.sum(axis=1)
        self.chance = few / few.sum()
        if len(a) > MANY_CLASSES:
            self.enough = ENOUGH_OF_MANY
        super().__init__(chains, rng, capacity)

    def sweep(self) -> None:
        """Move some rows, every column; exchange two rows."""
        a, rng, (columns, rows) = self.a, self.rng, self.paces
        state, before = self.state, self.state.X.copy()
        for g in rng.choice(len(a), self.some, replace=False, p=self.chance):
            x = propose(state.X[g], a[g], *rows.take(g, self.sweeps), rng)
            rows.count(g, move_row(state, g, x))
        passes = PASSES if len(a) > MANY_CLASSES else 1
        for k, inside in move_columns(state, columns.slow_first(), passes, self.fresh, rng):
            columns.count(k, inside)
        swap_rows(state.X, a, rng)
        self.state = invert(state.X, state.rho)
        # next to a singular P, rounding may have let a chain out of Θ_K: it takes the sweep back
        lost = outside(self.state)
        if lost.any():
            self.state.X[:, :, lost] = before[:, :, lost]
            self.state = invert(self.state.X, state.rho)

    def fresh(self, columns: list[int]) -> list[Floats]:
        """Proposals for some columns."""
        paces = [self.paces[0].take(k, self.sweeps) for k in columns]
        return propose_columns(self.state.X, self.a, columns, paces, self.rng)

    def now(self) -> tuple[Floats, Floats, Floats]:
        """P, β and ρ."""
        X = self.state.X
        return X / X.sum(axis=1)[:, None], self.state.beta(), self.state.rho


def outside(state: Gammas) -> Bools:
    """Which chains are not in Θ_K, or too near to a singular P to say."""
    return np.asarray(~((state.w * state.X.sum(axis=1)).min(axis=0) > -ROUNDING))


def start(a: Floats, rho: Floats, rng: Rng, *, plain: bool = False) -> Floats:
    """Start in Θ_K: columns c_·h ~ Dir(a_·h) give θ = cρ, whose rows are scaled to gammas.

    That P may be singular to the last digits (α near zero). The `plain` start is a blend of the
    identity and ρ in every row; its base rates are ρ.
    """
    K, chains = rho.shape
    if plain:
        P = 0.5 * np.eye(K)[:, :, None] + 0.5 * rho
    else:
        _, log_c = dirichlet(np.ascontiguousarray(a.T), chains, rng)
        log_P = log_c.transpose(1, 0, 2) + np.log(rho)
        P = np.exp(log_P - log_sum(log_P, 1)[:, None])
    total = np.maximum(rng.standard_gamma(a.sum(axis=1)[:, None], size=rho.shape), 1e-100)
    return np.asarray(P * total[:, None])


def start_columns(a: Floats, gamma: Floats, v_hat: Floats, chains: int, rng: Rng) -> tilted.Columns:
    """Start as if the test set had the population's base rates."""
    x = log_gamma(a[:, :, None], (*a.shape, chains), rng)
    log_c = x - log_sum(x, 0)
    x = log_gamma((v_hat + a.sum(axis=0))[:, None], (a.shape[1], chains), rng)
    return tilted.Columns(log_c, x - log_sum(x, 0), a, gamma, v_hat)


class Full(Walk):
    """Rows Dir(a) and β ~ Dir(γ), with v̂ ~ Mult(N, Pᵀβ); K classes, L predicted ones."""

    def __init__(
        self,
        a: Floats,
        gamma: Floats,
        v_hat: Floats,
        chains: int,
        rng: Rng,
        capacity: tuple[int, int],
    ) -> None:
        self.shape = a.shape
        self.state = start_columns(a, gamma, v_hat, chains, rng)
        # with a small γ a class is there or not, and only jumps lead from one to the other
        small = bool(gamma.min() < SMALL_GAMMA)
        self.renews = small and len(a) <= FEW_CLASSES
        self.jumps = JUMPS if small and not self.renews else 1
        if small:
            self.enough = ENOUGH_OF_SMALL
        square = a.shape[0] == a.shape[1]
        self.paces = [Pace(len(a), 1)] if square and not small else []
        super().__init__(chains, rng, capacity)

    def sweep(self) -> None:
        """Move columns given the scales, scales, and (where it helps) columns with ρ fixed."""
        tilted.move_columns(self.state, self.rng)
        tilted.scale(self.state, self.rng)
        for _ in range(self.jumps):
            tilted.jump(self.state, self.rng)
        if self.renews:
            tilted.renew(self.state, self.rng)
        tilted.swap_classes(self.state, self.rng)
        if self.paces:
            self.gammas()

    def adapt(self) -> bool:
        """Learn where classes are, too."""
        tilted.aim(self.state)
        return super().adapt()

    def gammas(self) -> None:
        """Write θ as w X with X ~ Gamma(a), and move its columns as `constrained` does."""
        state, (pace,), rng = self.state, self.paces, self.rng
        log_theta = state.log_c + state.log_rho
        log_t = log_gamma(state.a.sum(axis=1)[:, None], (len(state.a), self.chains), rng)
        log_t -= state.log_beta()
        X = np.exp(log_theta + log_t[:, None])
        it = invert(X, np.exp(state.log_rho), state.gamma)

        def fresh(columns: list[int]) -> list[Floats]:
            paces = [(pace.take(k, self.sweeps)[0], 1) for k in columns]
            return propose_columns(it.X, state.a, columns, paces, rng)

        for k, kept in move_columns(it, pace.slow_first(), 1, fresh, rng):
            pace.count(k, kept[:, it.regular])
        log_c = np.log(np.maximum(it.X, TINY)) + np.log(np.maximum(it.w, TINY))[:, None]
        log_c -= log_sum(log_c, 0)
        state.keep(it.regular, log_c)

    def now(self) -> tuple[Floats, Floats, Floats]:
        """P, β and ρ."""
        log_beta = self.state.log_beta()
        P = np.exp(self.state.log_c + self.state.log_rho - log_beta[:, None])
        P /= P.sum(axis=1)[:, None]
        return P, np.exp(log_beta), np.exp(self.state.log_rho)
