"""Move κμ while every group keeps its rank: for groups whose classes are hard to tell apart.

Given the allocated units κμ can hardly move, where the allocation says much of it that the labels
do not: it then takes hundreds of steps to forget. So between those moves the base rates are
β_b ∝ γ_b with γ_bg ~ Gamma(a_g), and a moves while the rank F(γ_bg; a_g) of each stays: rates
follow a, and the labels alone decide. (Both kinds of moves in turn: Yu and Meng 2011, "To center or
not to center", J. Comput. Graph. Stat. 20(3).)
"""

import numpy as np

from trueup.aggregate.groups.near import TINY
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.concentration import LOG_MOST, Prior
from trueup.numerics.dirichlet import log_gamma, normal

LOG_SMALL = -30.0
"""Below, F(γ; a) is γᵃ/Γ(a + 1) to all digits. In logarithms, as γ may be 1e-1000 and less."""


def log_rates(log_a: Floats, u: Floats, rng: Rng) -> Floats:
    """Draw log β (C, B, K) of groups, given log a (C, K) and their units u by true class."""
    return normal(log_gamma(np.exp(log_a)[:, None] + u, u.shape, rng), -1)


def walk_by_rank(
    log_a: Floats,
    log_beta: Floats,
    units: tuple[Integers, Floats, Floats],
    log_prior: Prior,
    step: Floats,
    rng: Rng,
) -> tuple[Floats, Floats, Floats]:
    """One round of moves of log a (C, K): each class in turn, then all together.

    log β (C, B, K) of the groups follows it. `units` are v̂ (B, L), the groups' units by label,
    those of known class (B, K), and P (C, K, L); `log_prior` and `step` are those of `walk`. Return
    log a, log β, and the share of each kind of move that was accepted, (K + 1,).
    """
    v_hat, known, P = units
    K = log_a.shape[-1]
    a = np.exp(log_a)[:, None]
    log_y = log_beta + log_gamma(a.sum(axis=-1), log_beta.shape[:-1], rng)[..., None]
    log_rank = log_ranks(log_y, a)

    def height(log_y: Floats, at: Floats) -> Floats:
        log_beta = normal(log_y, -1)
        log_pi = np.log(np.maximum(np.exp(log_beta) @ P, TINY))
        fit = (v_hat * log_pi).sum(axis=(1, 2)) + (known * log_beta).sum(axis=(1, 2))
        log_kappa = np.log(np.exp(at).sum(axis=-1))
        return np.where(np.abs(log_kappa) <= LOG_MOST, fit + log_prior(at), -np.inf)

    here = height(log_y, log_a)
    accepted = np.zeros(K + 1)
    for move in range(K + 1):
        some = slice(None) if move == K else slice(move, move + 1)
        proposal, new = log_a.copy(), log_y.copy()
        proposal[:, some] += (step[move] * rng.standard_normal(len(log_a)))[:, None]
        new[..., some] = of_ranks(log_rank[..., some], np.exp(proposal[:, None, some]))
        there = height(new, proposal)
        yes = -rng.standard_exponential(len(log_a)) < there - here
        log_a, here = np.where(yes[:, None], proposal, log_a), np.where(yes, there, here)
        log_y = np.where(yes[:, None, None], new, log_y)
        accepted[move] = yes.mean()
    return log_a, normal(log_y, -1), accepted


def log_ranks(log_y: Floats, a: Floats) -> Floats:
    """Return log F(y; a), where F is the distribution function of Gamma(a)."""
    exact = np.log(np.maximum(special.gammainc(a, np.exp(np.maximum(log_y, LOG_SMALL))), TINY))
    return np.asarray(np.where(log_y < LOG_SMALL, a * log_y - special.gammaln(a + 1), exact))


def of_ranks(log_rank: Floats, a: Floats) -> Floats:
    """Return log y where log F(y; a) is `log_rank`: the inverse of `log_ranks`."""
    small = (log_rank + special.gammaln(a + 1)) / a
    rank = np.exp(np.where(small < LOG_SMALL, -1.0, log_rank))
    exact = np.log(np.maximum(special.gammaincinv(a, np.minimum(rank, 1 - 1e-16)), TINY))
    return np.asarray(np.where(small < LOG_SMALL, small, exact))
