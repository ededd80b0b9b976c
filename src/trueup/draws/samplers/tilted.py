"""Moves of `full` in the columns c_gh = Pr(true g | predicted h), for K classes and L columns.

With θ_gh = c_gh ρ_h, β = cρ and p_gh = θ_gh / β_g the posterior of (c, ρ) is

    Π c_gh^(a_gh − 1) · Π ρ_h^(v̂_h + a_·h − 1) · Π β_g^(γ_g − a_g·).

*Columns.* β^(−e) is the integral of t^(e−1) exp(−tβ): given t_g ~ Gamma(a_g· − γ_g) / β_g the
columns are independent, each with the density Π c^(a−1) exp(−Σ r_g c_g), r_g = t_g ρ_h, on its
simplex, and so is ρ. Such a density is that of gammas with rates r + τ given that their sum is 1,
for any τ. With the τ at which they sum to 1 on average, gammas divided by their sum are a proposal
that is nearly always accepted.

*Scales.* Multiplying the odds of class g by s_g in every column moves β and leaves ρ; multiplying
row g of θ moves β and ρ and leaves P. In logs both are steps of K numbers: differences between
other chains, which have the posterior's own shape (ter Braak, 2006), and for one class at a time a
draw that does not depend on where it is, so that a class can go to almost 0 and come back, also
with a new row (`renew`).

Everything is in logs: with a small γ, β_g = 1e-400 is an ordinary value.
"""

from dataclasses import dataclass
from math import lgamma

import numpy as np

from trueup.numerics.arrays import Bools, Floats, Rng
from trueup.numerics.dirichlet import log_add, log_gamma

NEWTON = 6
LARGEST = 650.0
"""Logarithm of the largest rate that is used as a number."""
SMALL = 1e-300
WIDE = 8.0
"""Log odds within which `jump` proposes uniformly; below them it follows γ's own tail."""
FAR = -1e9
"""The log of no chance at all."""
AIM = 8
"""Chains in which a class is there, to learn from."""
SEEN, WIDER, TRIES = 4, 1.5, 8
"""For `renew`: rounds of warm-up to learn rows from, how much wider than those its proposals are (a
ratio of variances), and places to choose from."""
NUDGE = 1e-3
"""Spread of what is added to differences between chains, so that they reach everything."""


@dataclass
class Columns:
    """C chains: log c (K, L, C) and log ρ (L, C), with a (K, L), γ (K,) and v̂ (L,).

    `aim` has the centre and spread of each class's largest log odds, for `jump`; `rows` the mean
    and the root of the covariance of its log odds in all columns, `seen` so far, for `renew`.
    """

    log_c: Floats
    log_rho: Floats
    a: Floats
    gamma: Floats
    v_hat: Floats

    def __post_init__(self) -> None:
        self.aim = np.outer([0.0, WIDE / 2.0], np.ones(len(self.a)))
        self.seen: list[list[Floats]] = [[] for _ in self.a]
        self.rows: list[tuple[Floats, Floats] | None] = [None for _ in self.a]

    def log_beta(self) -> Floats:
        """Log base rates (K, C)."""
        return log_sum(self.log_c + self.log_rho, 1)

    def keep(self, accepted: Bools, log_c: Floats, log_rho: Floats | None = None) -> None:
        """Go to new columns in the chains that accepted."""
        np.copyto(self.log_c, log_c, where=accepted)
        if log_rho is not None:
            np.copyto(self.log_rho, log_rho, where=accepted)


def log_sum(x: Floats, axis: int) -> Floats:
    """Compute log Σ exp(x) over an axis."""
    top = x.max(axis=axis, keepdims=True)
    return np.asarray(np.squeeze(top + np.log(np.exp(x - top).sum(axis=axis, keepdims=True)), axis))


def log_rates(a: Floats, log_r: Floats) -> Floats:
    """Return log(r + τ), with the τ at which gammas of shape a and these rates sum to 1."""
    r = np.exp(np.minimum(log_r, LARGEST))
    tau = np.maximum((a - r).max(axis=0), 0.0)
    for _ in range(NEWTON):  # from the left: Σ a/(r + τ) falls and is convex
        share = 1.0 / (r + tau + SMALL)
        mean = a * share
        slope = np.maximum((mean * share).sum(axis=0), SMALL)
        tau = np.maximum(tau + (mean.sum(axis=0) - 1.0) / slope, 0.0)
    return log_add(log_r, np.log(np.maximum(tau, SMALL)))


@np.errstate(over="ignore", invalid="ignore")  # where a rate is too large, nothing is accepted
def tilted(x: Floats, a: Floats, log_r: Floats, rng: Rng) -> tuple[Floats, Floats]:
    """Propose simplices (over axis 0, in logs) for Π x^(a−1) exp(−Σ r x), with the log ratio."""
    rate = log_rates(a, log_r)
    new = log_gamma(np.broadcast_to(a, x.shape), x.shape, rng) - rate
    new -= log_sum(new, 0)
    A = a.sum(axis=0)
    # s^A exp(−s), s = Σ rate·x, relative to its top at s = A: no digits are lost for large A
    before, after = (np.exp(rate + y).sum(axis=0) / A - 1.0 for y in (x, new))
    return new, A * (np.log1p(after) - after - np.log1p(before) + before)


def move_columns(state: Columns, rng: Rng) -> None:
    """Redraw every column of c, then ρ."""
    a, (K, L, chains) = state.a, state.log_c.shape
    log_beta = state.log_beta()
    own = a.sum(axis=1)
    e = own - state.gamma
    log_t = np.full((K, chains), -np.inf)
    some = e > 0
    shape = (int(some.sum()), chains)
    log_t[some] = log_gamma(e[some][:, None], shape, rng) - log_beta[some]
    extra = np.maximum(-e, 0.0)  # powers of β that are left, where γ_g > a_g·
    # with such powers columns depend on each other: one at a time
    for part in [slice(None)] if not extra.any() else [slice(h, h + 1) for h in range(L)]:
        old = state.log_c[:, part]
        new, log_ratio = tilted(old, a[:, part, None], log_t[:, None] + state.log_rho[part], rng)
        if extra.any():
            proposed = state.log_c.copy()
            proposed[:, part] = new
            after = log_sum(proposed + state.log_rho, 1)
            log_ratio = log_ratio + np.einsum("g,gc->c", extra, after - state.log_beta())
        kept = log_ratio > -rng.standard_exponential(log_ratio.shape)
        state.log_c[:, part] = np.where(kept, new, old)
    rates = log_sum(np.maximum(log_t[:, None], -1e9) + state.log_c, 0)
    total = (state.v_hat + a.sum(axis=0))[:, None]
    new, log_ratio = tilted(state.log_rho, total, rates, rng)
    if extra.any():
        after = log_sum(state.log_c + new, 1)
        log_ratio = log_ratio + np.einsum("g,gc->c", extra, after - state.log_beta())
    state.keep(log_ratio > -rng.standard_exponential(chains), state.log_c, new)


def scale(state: Columns, rng: Rng) -> None:
    """Move the base rates of each half of the chains by differences between those of the other."""
    K, _, chains = state.log_c.shape
    sizes = np.array([1.0, 2.38 / np.sqrt(2.0 * max(K - 1, 1)), 0.5 / np.sqrt(max(K - 1, 1))])
    half = np.arange(chains) < chains // 2
    for mine in (half, ~half):
        others, n = np.flatnonzero(~mine), int(mine.sum())
        for move in (_odds, _rows):
            log_beta = state.log_beta()
            i, j = rng.choice(others, n), rng.choice(others, n)
            step = np.zeros((K, chains))
            step[:, mine] = rng.choice(sizes, n) * (log_beta[:, i] - log_beta[:, j])
            step[:, mine] += NUDGE * rng.standard_normal((K, n))
            log_c, log_rho, log_ratio, _ = move(state, log_beta, step)
            kept = mine & (log_ratio > -rng.standard_exponential(chains))
            state.keep(kept, log_c, log_rho)


def _odds(state: Columns, log_beta: Floats, step: Floats) -> tuple[Floats, ...]:
    """Add a step (K, C) to the log odds of every class in every column; ρ stays.

    Returned are log c, log ρ, the log ratio of densities and log β.
    """
    log_c = state.log_c + step[:, None]
    total = log_sum(log_c, 0)
    log_c -= total
    after = log_sum(log_c + state.log_rho, 1)
    own = state.a.sum(axis=1)
    log_ratio = np.einsum("g,gc->c", own, step) - np.einsum("h,hc->c", state.a.sum(axis=0), total)
    log_ratio += np.einsum("g,gc->c", state.gamma - own, after - log_beta)
    return log_c, state.log_rho, log_ratio, after


def _rows(state: Columns, log_beta: Floats, step: Floats) -> tuple[Floats, ...]:
    """Multiply every row of θ by the exponential of its step; P stays."""
    log_theta = state.log_c + state.log_rho + step[:, None]
    log_rho = log_sum(log_theta, 0)
    log_c = log_theta - log_rho
    total = log_sum(log_rho, 0)
    log_rho -= total
    log_ratio = np.einsum("g,gc->c", state.gamma, step - total)
    log_ratio += np.einsum("h,hc->c", state.v_hat, log_rho - state.log_rho)
    return log_c, log_rho, log_ratio, log_beta + step - total


def aim(state: Columns) -> None:
    """Learn from the chains where the classes that are there have their log odds."""
    for g in range(len(state.a)):
        x = _largest_odds(state, g)
        there = np.abs(x) < WIDE
        if there.sum() >= AIM:
            state.aim[:, g] = x[there].mean(), 1.5 * max(float(x[there].std()), 0.1)
        state.seen[g] = [*state.seen[g][1 - SEEN :], _odds_of(state, g)[0][:, there]]
        seen = np.concatenate(state.seen[g], axis=1)
        if seen.shape[1] >= 4 * len(seen) + AIM:
            spread = WIDER * np.atleast_2d(np.cov(seen)) + 0.01 * np.eye(len(seen))
            state.rows[g] = seen.mean(axis=1), np.asarray(np.linalg.cholesky(spread), float)


def _odds_of(state: Columns, g: int) -> tuple[Floats, Floats]:
    """Log odds of class g in every column, and the log of what is left for the others (L, C)."""
    rest = log_sum(np.delete(state.log_c, g, axis=0), 0)
    return state.log_c[g] - rest, rest


def _largest_odds(state: Columns, g: int) -> Floats:
    log_c = state.log_c[g]
    rest = np.maximum(-np.expm1(log_c), np.finfo(float).eps)
    return np.asarray((log_c - np.log(rest)).max(axis=0))


def jump(state: Columns, rng: Rng) -> None:
    """Put one class after the other anywhere, from nothing to everything, ρ fixed."""
    K, _, chains = state.log_c.shape
    log_beta, shape = state.log_beta(), (K, chains)
    centre, spread = state.aim[:, :, None]
    kind = rng.random(shape)
    tail = -WIDE - rng.standard_exponential(shape) / state.gamma[:, None]
    new = np.where(kind < 0.5, tail, rng.uniform(-WIDE, WIDE, shape))
    new = np.where(kind > 0.75, centre + spread * rng.standard_normal(shape), new)
    chance = -rng.standard_exponential(shape)
    for g in range(K):
        now = _largest_odds(state, g)
        step = np.zeros(shape)
        step[g] = new[g] - now
        log_c, _, log_ratio, after = _odds(state, log_beta, step)
        there, back = _log_jump(np.stack([new[g], now]), state, g)
        kept = log_ratio + back - there > chance[g]
        state.keep(kept, log_c)
        log_beta = np.where(kept, after, log_beta)


def _log_jump(x: Floats, state: Columns, g: int) -> Floats:
    """Log density of the proposals of `jump`, up to a constant."""
    gamma, (centre, spread) = state.gamma[g], state.aim[:, g]
    near = np.exp(-0.5 * ((x - centre) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
    near += (np.abs(x) < WIDE) / (2.0 * WIDE)
    tail = np.where(x < -WIDE, np.log(2.0 * gamma) + gamma * (x + WIDE), FAR)
    return log_add(np.log(np.maximum(near, SMALL)), tail)


def renew(state: Columns, rng: Rng) -> None:
    """Put one class after the other in or out, with a new row: log odds that fit where it goes.

    A class that is out has a row of Dir(a_g) and β_g of γ's tail; one that is in has odds as the
    warm-up saw them. One of several places is chosen in proportion to its density over that of
    proposing it, and accepted by their sum against that with the old place in its stead (Liu,
    Liang and Wong, 2000).
    """
    (K, L, chains), chain = state.log_c.shape, np.arange(state.log_c.shape[2])
    for g in range(K):
        if (row := state.rows[g]) is None:
            continue
        own, gamma, shape = state.a[g], state.gamma[g], (L, TRIES, chains)
        log_P = log_gamma(own[:, None, None], shape, rng)
        log_P -= log_sum(log_P, 0)
        size = -WIDE - rng.standard_exponential(shape[1:]) / gamma
        out = size + log_P - state.log_rho[:, None]
        within = row[0][:, None, None] + np.tensordot(row[1], rng.standard_normal(shape), 1)
        now, rest = _odds_of(state, g)
        x = np.where(rng.random(shape[1:]) < 0.5, out, within)
        x = np.concatenate([now[:, None], x], axis=1)  # (L, 1 + TRIES, C)
        log_c = (state.log_c - rest)[:, :, None] - log_add(np.zeros(1), x)
        log_c[g] += x - (state.log_c[g] - rest)[:, None]
        log_rho = state.log_rho[:, None]
        log_beta = log_sum(log_c + log_rho, 1)
        # the density of log odds: Π odds^a_gh (1 − c_gh)^a_·h Π β^(γ − a_g·)
        weight = np.einsum("h,hmc->mc", own, x)
        weight += np.einsum("h,hmc->mc", state.a.sum(axis=0), log_c[g] - x)
        weight += np.einsum("g,gmc->mc", state.gamma - state.a.sum(axis=1), log_beta)
        weight -= _log_renew(x, log_rho, own, gamma, row)
        best = 1 + (weight[1:] - np.log(rng.standard_exponential(size.shape))).argmax(axis=0)
        total = log_sum(weight[1:], 0)
        weight[best, chain] = weight[0]
        kept = total - log_sum(weight[1:], 0) > -rng.standard_exponential(chains)
        state.keep(kept, log_c[:, :, best, chain])


def _log_renew(
    x: Floats, log_rho: Floats, own: Floats, gamma: float, row: tuple[Floats, Floats]
) -> Floats:
    """Log density of the proposals of `renew`, half of them out and half within."""
    log_theta = x + log_rho
    size = log_sum(log_theta, 0)
    out = np.where(size < -WIDE, np.log(gamma) + gamma * (size + WIDE), FAR)
    out += np.einsum("h,hmc->mc", own, log_theta - size)
    out += lgamma(own.sum()) - sum(map(lgamma, own))
    z = np.tensordot(np.linalg.inv(row[1]), x - row[0][:, None, None], 1)
    within = -0.5 * np.einsum("hmc,hmc->mc", z, z) - np.log(np.diag(row[1])).sum()
    return log_add(out, within - 0.5 * len(own) * np.log(2.0 * np.pi))


def swap_classes(state: Columns, rng: Rng) -> None:
    """Exchange two classes in every chain, where accepted."""
    g, k = rng.choice(len(state.a), 2, replace=False)
    log_beta = state.log_beta()
    e = state.gamma - state.a.sum(axis=1)
    log_ratio = np.einsum("h,hc->c", state.a[g] - state.a[k], state.log_c[k] - state.log_c[g])
    log_ratio += (e[g] - e[k]) * (log_beta[k] - log_beta[g])
    kept = log_ratio > -rng.standard_exponential(log_ratio.shape)
    swapped = state.log_c.copy()
    swapped[[g, k]] = state.log_c[[k, g]]
    state.keep(kept, swapped)
