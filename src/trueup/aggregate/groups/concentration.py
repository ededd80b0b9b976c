"""What groups have in common: κ and μ of their base rates, learned from all of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueup.aggregate.groups.allocate import allocate_groups
from trueup.aggregate.groups.near import TINY, Near, find_near
from trueup.aggregate.groups.ranks import log_rates, walk_by_rank
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.blocks import in_blocks
from trueup.numerics.concentration import MIDDLE, Prior, adapt, log_middle, walk

TILT = 0.5
"""Prior standard deviation of log μ_g around the log of the population's base rate."""
MOST_GROUPS = 500
LEAST_GROUPS = 100
"""Groups that κ and μ are learned from: 500/(K − 1), since each says K − 1 things, but at least
100; a random choice of them when there are more."""
WARM_CHAINS = 12
WARM_UP = 70
KEEP = 25
"""First 12 chains of 70 steps, each at one draw of P; their last 25 are where all others start."""
BY_RANK = 2
"""Every second step also moves with the groups' ranks held, which costs as much as all the rest.
Where classes are hard to tell apart (accuracy .7, 15 units each) chains forget in 120 steps without
these moves, and in about 30 with them."""
AGAIN = 10
"""Steps after which proposals are fitted to where the chains are."""
BURN_IN = 5
STEPS = 20
MOST_DRAWS = 1000
"""Then each chain makes 5 + 20 steps, to follow its own draws of P: 1,000 of them. Others take κ
and the tilt of the nearest."""


class State(NamedTuple):
    """Where chains are: log a − log β (C, K), log β of the groups (C, B, K), lengths of moves."""

    offset: Floats
    log_beta: Floats | None
    step: tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class GroupPrior:
    """Draws of what groups have in common: κ (R,) and μ (R, K)."""

    kappa: Floats
    mu: Floats

    @property
    def a(self) -> Floats:
        """The concentrations κμ (R, K)."""
        return np.asarray(self.kappa[:, None] * self.mu)


def fit_groups(
    P: Floats,
    beta: Floats,
    v_hat: Integers,
    known: Floats,
    rng: Rng,
) -> GroupPrior:
    """Learn κ and μ from the groups, one draw for each draw of P.

    Chains side by side, each for STEPS draws of P after BURN_IN others, alternate: the units of
    up to `MOST_GROUPS` groups are allocated given κμ and the next draw of P, then κμ moves given
    that allocation, and in every second step again with the groups' ranks held. What stays from
    one draw of P to the next is where the groups' rates are, κ, and the tilt μ/β, so that μ follows
    the base rates of its own draw. They start where a few longer chains have arrived.

    `P` (R, K, K) and `beta` (R, K) are draws of the contingency matrix and of the population's base
    rates; `v_hat` and `known` (B, K) units per group and predicted class that are to be allocated,
    and those per true class that are known besides.
    """
    R, K = beta.shape
    most = max(MOST_GROUPS // (K - 1), LEAST_GROUPS)
    some = np.flatnonzero(v_hat.sum(axis=1) + known.sum(axis=1))
    if not len(some):  # every unit was audited: nothing is left to learn
        return GroupPrior(np.full(R, MIDDLE), beta)
    if len(some) > most:
        some = np.sort(rng.choice(some, most, replace=False))
    v_hat, known = v_hat[some], known[some]
    log_beta = np.log(np.maximum(beta, TINY))

    def advance(at: State, r: Integers, near: Near, i: int, adapting: bool = False) -> State:
        """Make step i of the chains, which are at the draws r of P."""
        here, (own, follow) = at.offset + log_beta[r], at.step

        def some(part: slice, rng: Rng) -> Integers:
            beta = None if at.log_beta is None else at.log_beta[:, part]
            v, start = v_hat[part], near.of(part)
            return allocate_groups(P[r], np.exp(here), v, known[part], rng, start=start, at=beta)

        blocks = in_blocks(some, len(v_hat), here.size, rng, block=100_000)
        X = np.concatenate(list(blocks), axis=1) + known  # (chains, groups, K)
        prior = _around(log_beta[r])
        here, accepted = walk(here, X, prior, own, rng)
        own = adapt(own, accepted, i) if adapting else own
        rates = log_rates(here, X, rng)
        if i % BY_RANK == 0:
            units = (v_hat, known, P[r])
            here, rates, accepted = walk_by_rank(here, rates, units, prior, follow, rng)
            follow = adapt(follow, accepted, i // BY_RANK) if adapting else follow
        return State(here - log_beta[r], rates, (own, follow))

    def around(offset: Floats) -> Near:
        """Find where the groups' rates lie, given where the chains are: in the middle of them."""
        a = np.exp(offset.mean(axis=0) + log_beta.mean(axis=0))
        return find_near(np.maximum(P.mean(axis=0), TINY), a + known, v_hat)

    warm = np.linspace(0, R - 1, WARM_CHAINS).astype(np.int64)
    at = State(np.full((WARM_CHAINS, K), np.log(MIDDLE)), None, (np.full(K + 1, 0.5),) * 2)
    arrived, near = [], around(at.offset)
    for i in range(WARM_UP):
        near = near if i % AGAIN else around(at.offset)
        at = advance(at, warm, near, i, adapting=True)
        if i >= WARM_UP - KEEP:
            arrived.append(at.offset)
    near, most = around(np.concatenate(arrived)), min(R, MOST_DRAWS)
    some = np.arange(R) * most // R  # of which draw each takes κ and the tilt
    draw = np.searchsorted(some, np.arange(most))
    chains = -(-most // STEPS)
    at = State(rng.choice(np.concatenate(arrived), chains), None, at.step)
    every = np.empty((STEPS * chains, K))
    for i in range(-BURN_IN, STEPS):
        own = np.arange(chains) + chains * (i % STEPS)
        at = advance(at, draw[own % most], near, i)
        every[own] = at.offset
    a = np.exp(every[some] + log_beta)
    kappa = a.sum(axis=1)
    return GroupPrior(kappa, a / kappa[:, None])


def _around(log_beta: Floats) -> Prior:
    """κ log-logistic, and log μ_g normal around log β_g."""

    def log_prior(log_a: Floats) -> Floats:
        log_kappa = np.log(np.exp(log_a).sum(axis=-1))
        away = log_a - log_kappa[..., None] - log_beta
        return np.asarray(log_middle(np.exp(log_kappa)) - 0.5 * (away**2).sum(axis=-1) / TILT**2)

    return log_prior
