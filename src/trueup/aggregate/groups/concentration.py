"""What groups have in common: κ and μ of their base rates, learned from all of them."""

from dataclasses import dataclass

import numpy as np

from trueup.aggregate.groups.allocate import allocate_groups
from trueup.aggregate.groups.near import TINY, Near, find_near
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
WARM_UP = 100
KEEP = 40
"""First 12 chains of 100 steps, each at one draw of P; their last 40 are where all others start.
From κ = 10 it takes about 50 steps to arrive where classes are hard to tell apart."""
AGAIN = 10
"""Steps after which proposals are fitted to where the chains are."""
BURN_IN = 5
STEPS = 20
MOST_DRAWS = 1000
"""Then each chain makes 5 + 20 steps, to follow its own draws of P: 1,000 of them. Others take κ
and the tilt of the nearest."""


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
    that allocation. What stays from one draw of P to the next is κ and the tilt μ/β only, so that
    μ follows the base rates of its own draw. They start where a few longer chains have arrived.

    `P` (R, K, K) and `beta` (R, K) are draws of the contingency matrix and of the population's base
    rates; `v_hat` and `known` (B, K) units per group and predicted class that are to be allocated,
    and those per true class that are known besides.
    """
    R, K = beta.shape
    most = max(MOST_GROUPS // (K - 1), LEAST_GROUPS)
    some = np.flatnonzero(v_hat.sum(axis=1) + known.sum(axis=1))
    if len(some) > most:
        some = np.sort(rng.choice(some, most, replace=False))
    v_hat, known = v_hat[some], known[some]
    log_beta = np.log(np.maximum(beta, TINY))
    step = np.full(K + 1, 0.5)

    def advance(
        r: Integers, offset: Floats, step: Floats, near: Near, round_: int | None = None
    ) -> tuple[Floats, Floats]:
        """Move the offset log a − log β of chains that are at the draws r of P."""
        here = offset + log_beta[r]
        a = np.exp(here)

        def some(part: slice, rng: Rng) -> Integers:
            own = near.of(part)
            return allocate_groups(P[r], a, v_hat[part], known[part], rng, start=own)

        blocks = in_blocks(some, len(v_hat), a.size, rng, block=100_000)
        X = np.concatenate(list(blocks), axis=1) + known  # (chains, groups, K)
        here, accepted = walk(here, X, _around(log_beta[r]), step, rng)
        if round_ is not None:
            step = adapt(step, accepted, round_)
        return here - log_beta[r], step

    def around(offset: Floats) -> Near:
        """Find where the groups' rates lie, given where the chains are."""
        a = np.exp(offset + log_beta.mean(axis=0)).mean(axis=0)
        return find_near(np.maximum(P.mean(axis=0), TINY), a + known, v_hat)

    warm = np.linspace(0, R - 1, WARM_CHAINS).astype(np.int64)
    offset = np.full((WARM_CHAINS, K), np.log(MIDDLE))
    arrived, near = [], around(offset)
    for i in range(WARM_UP):
        near = near if i % AGAIN else around(offset)
        offset, step = advance(warm, offset, step, near, i)
        if i >= WARM_UP - KEEP:
            arrived.append(offset)
    near, most = around(offset), min(R, MOST_DRAWS)
    some = np.arange(R) * most // R  # of which draw each takes κ and the tilt
    at = np.searchsorted(some, np.arange(most))
    chains = -(-most // STEPS)
    offset = rng.choice(np.concatenate(arrived), chains)
    every = np.empty((STEPS * chains, K))
    for i in range(-BURN_IN, STEPS):
        own = np.arange(chains) + chains * (i % STEPS)
        offset, _ = advance(at[own % most], offset, step, near)
        every[own] = offset
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
