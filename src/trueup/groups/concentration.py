"""How much groups, or strata, differ: the concentration κ and the mean μ of a Dirichlet family.

Counts X_j (K,) of several groups j with rates ~ Dir(a), a = κμ, follow a Dirichlet-multinomial.
A large κ says that groups hardly differ, and each is then drawn towards μ; with κ near 0 each
stands for itself. κ and μ are drawn from their posterior by a random walk on log a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueup import special
from trueup.blocks import in_blocks
from trueup.groups.allocate import allocate_groups
from trueup.groups.rates import TINY

__all__ = ["GroupPrior", "fit_groups", "walk"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Prior = Callable[[Floats], Floats]

MIDDLE = 10.0
"""Prior median of κ: κ/(κ + 10) is uniform on (0, 1), so no degree of pooling is favoured."""
TILT = 0.5
"""Prior standard deviation of log μ_g around the log of the population's base rate."""
MOST_GROUPS = 500
LEAST_GROUPS = 100
"""Groups that κ and μ are learned from: 500/(K − 1), since each says K − 1 things, but at least
100; a random choice of them when there are more."""
WARM_CHAINS = 20
WARM_UP = 100
KEEP = 40
"""First 20 chains of 100 steps, each at one draw of P; their last 40 are where all others start.
From κ = 10 it takes about 50 steps to arrive where classes are hard to tell apart."""
BURN_IN = 10
STEPS = 10
MOVES = 2
"""Then each chain makes 10 + 10 steps of two rounds, to follow its own draws of P."""
# κ beyond this is complete pooling, and below its inverse none: only floating point could tell.
LOG_MOST = np.log(1e7)


@dataclass(frozen=True, eq=False)
class GroupPrior:
    """Draws of what groups have in common: κ (R,) and μ (R, K)."""

    kappa: Floats
    mu: Floats

    @property
    def a(self) -> Floats:
        """The concentrations κμ (R, K)."""
        return np.asarray(self.kappa[:, None] * self.mu)


def log_middle(kappa: Floats) -> Floats:
    """Log density of log κ when κ/(κ + MIDDLE) is uniform."""
    return np.asarray(np.log(kappa) - 2.0 * np.log(kappa + MIDDLE))


def log_dirichlet_multinomial(log_a: Floats, X: Floats) -> Floats:
    """Σ_j log Pr(X_j | a), without the part that a does not touch.

    ``log_a`` is (…, K) and ``X`` (…, J, K); the answer has the leading shape.
    """
    a = np.exp(log_a)[..., None, :]
    kappa, size = a.sum(axis=-1), X.sum(axis=-1)
    one = special.gammaln(kappa) - special.gammaln(kappa + size)
    each = np.where(X > 0, special.gammaln(a + X) - special.gammaln(a), 0.0)
    return np.asarray((one + each.sum(axis=-1)).sum(axis=-1))


def walk(
    log_a: Floats, X: Floats, log_prior: Prior, step: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """One round of a random walk on log a: each class in turn, then all together.

    Parameters
    ----------
    log_a : (…, K) ndarray
        Where the chains stand.
    X : (…, J, K) ndarray
        The counts, that broadcast with the chains.
    log_prior : callable
        Log density of the prior with respect to log a.
    step : (K + 1,) ndarray
        Standard deviation of each move; the last is the common one.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    log_a, accepted
        The new places, and which share of each kind of move was accepted, (K + 1,).
    """
    K = log_a.shape[-1]

    def target(at: Floats) -> Floats:
        inside = np.abs(np.log(np.exp(at).sum(axis=-1))) <= LOG_MOST
        value = log_dirichlet_multinomial(at, X) + log_prior(at)
        return np.where(inside, value, -np.inf)

    here = target(log_a)
    accepted = np.zeros(K + 1)
    for move in range(K + 1):
        direction = np.ones(K) if move == K else np.eye(K)[move]
        size = step[move] * rng.standard_normal(log_a.shape[:-1])
        proposal = log_a + size[..., None] * direction
        there = target(proposal)
        with np.errstate(invalid="ignore"):
            accept = np.log(rng.random(size.shape)) < there - here
        log_a = np.where(accept[..., None], proposal, log_a)
        here = np.where(accept, there, here)
        accepted[move] = accept.mean()
    return log_a, accepted


def adapt(step: Floats, accepted: Floats, round_: int) -> Floats:
    """Widen moves that are accepted more than 44% of the time, and narrow the others."""
    return np.asarray(np.clip(step * np.exp((accepted - 0.44) / np.sqrt(1.0 + round_)), 0.01, 5.0))


def fit_groups(
    P: Floats,
    beta: Floats,
    v_hat: Integers,
    known: Floats,
    rng: np.random.Generator,
    *,
    most_groups: int | None = None,
) -> GroupPrior:
    """Learn κ and μ from the groups, one draw for each draw of P.

    Chains side by side, each for STEPS draws of P after BURN_IN others, alternate: the units of
    up to `most_groups` groups are allocated given κμ and the next draw of P, then κμ moves given
    that allocation. What stays from one draw of P to the next is κ and the tilt μ/β only, so that
    μ follows the base rates of its own draw. They start where a few longer chains have arrived.

    Parameters
    ----------
    P, beta : (R, K, K) and (R, K) ndarray
        Draws of the contingency matrix and the population's base rates on each.
    v_hat, known : (B, K) ndarray
        Units per group and predicted class that are to be allocated, and those per true class
        that are known besides.
    rng : numpy.random.Generator
        Source of randomness.
    most_groups : int, optional
        How many groups to learn from, at most.
    """
    R, K = beta.shape
    most_groups = most_groups or max(MOST_GROUPS // (K - 1), LEAST_GROUPS)
    some = np.flatnonzero(v_hat.sum(axis=1) + known.sum(axis=1))
    if len(some) > most_groups:
        some = np.sort(rng.choice(some, most_groups, replace=False))
    v_hat, known = v_hat[some], known[some]
    log_beta = np.log(np.maximum(beta, TINY))
    step = np.full(K + 1, 0.5)

    def advance(
        r: Integers, offset: Floats, step: Floats, round_: int | None = None
    ) -> tuple[Floats, Floats]:
        """Move the offset log a − log β of chains that are at the draws r of P."""
        here = offset + log_beta[r]
        v = _true_counts(P[r], np.exp(here), v_hat, known, rng)
        X = np.moveaxis(v, 0, -1).swapaxes(0, 1) + known  # (chains, groups, K)
        for _ in range(MOVES):
            here, accepted = walk(here, X, _around(log_beta[r]), step, rng)
            if round_ is not None:
                step = adapt(step, accepted, round_)
        return here - log_beta[r], step

    warm = np.linspace(0, R - 1, WARM_CHAINS).astype(np.int64)
    offset = np.full((WARM_CHAINS, K), np.log(MIDDLE))
    arrived = []
    for i in range(WARM_UP):
        offset, step = advance(warm, offset, step, i)
        if i >= WARM_UP - KEEP:
            arrived.append(offset)
    chains = -(-R // STEPS)
    offset = rng.choice(np.concatenate(arrived), chains)
    log_a = np.empty((STEPS * chains, K))
    for i in range(-BURN_IN, STEPS):
        own = np.arange(chains) + chains * (i % STEPS)
        offset, _ = advance(own % R, offset, step)
        log_a[own] = offset + log_beta[own % R]
    a = np.exp(log_a[:R])
    kappa = a.sum(axis=1)
    return GroupPrior(kappa, a / kappa[:, None])


def _true_counts(
    P: Floats, a: Floats, v_hat: Integers, known: Floats, rng: np.random.Generator
) -> Integers:
    """Draw the units of each true class (K, G, R) in each group."""

    def some(part: slice, rng: np.random.Generator) -> Integers:
        return np.asarray(allocate_groups(P, a, v_hat[part], known[part], rng).sum(axis=1))

    return np.concatenate(list(in_blocks(some, len(v_hat), a.size, rng, block=100_000)), axis=1)


def _around(log_beta: Floats) -> Prior:
    """κ log-logistic, and log μ_g normal around log β_g."""

    def log_prior(log_a: Floats) -> Floats:
        log_kappa = np.log(np.exp(log_a).sum(axis=-1))
        away = log_a - log_kappa[..., None] - log_beta
        return np.asarray(log_middle(np.exp(log_kappa)) - 0.5 * (away**2).sum(axis=-1) / TILT**2)

    return log_prior
