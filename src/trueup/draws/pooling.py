"""Error rates that differ: a contingency matrix for each stratum, partially pooled.

Rows of P of the strata j = 1 … J are drawn towards each other, p_g^(j) ~ Dir(κ_g m_g). Given
(κ, m) each stratum is conjugate: its prior is alpha_gh = κ_g m_gh. (κ, m) is learned from the test
sets of all strata, which are Dirichlet-multinomial given it, and several draws of it carry its
uncertainty. With a `random` test set the default method works in columns,
Pr(true g | predicted h); those depend on base rates, which differ between strata far more than
error rates do, so rows are pooled there too: `draw_rows` draws P given pooled rows and such a test
set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueup.draws.contingency import solve_Q
from trueup.errors import EstimateError, OptionError
from trueup.numerics import special
from trueup.numerics.concentration import MIDDLE, adapt, log_middle, walk
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.numerics.weights import effective_size, resample
from trueup.prior import Concentrations

__all__ = ["POOLINGS", "RowDraws", "StrataPrior", "draw_rows", "pool_strata"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POOLINGS = ("partial", "none", "complete")
LEVELS = 50
"""Draws of (κ, m); the draws of P are shared out between them."""
ROUNDS = 300
"""Rounds of the random walk before (κ, m) is taken; half of them tune its steps."""
MOST_POOLS = 30
ENOUGH = 0.8


@dataclass(frozen=True, eq=False)
class StrataPrior:
    """The prior that each stratum has once the others are known.

    Attributes
    ----------
    alpha : (L, J, K, K) ndarray
        Of L draws of (κ, m) and J strata: rows true, columns predicted. L is 1 unless pooling is
        partial. The posterior of stratum j is alpha[:, j] + n[j].
    gamma : (K,) ndarray
        Prior of base rates; these are not pooled.
    kappa : (L, K) ndarray or None
        Learned concentration of each row: how many test units the other strata are worth.
    without_test : (J,) ndarray of bool
        Strata without a test unit, which rest on the others.
    """

    alpha: Floats
    gamma: Floats
    kappa: Floats | None
    without_test: NDArray[np.bool_]


def pool_strata(
    n: Integers,
    prior: Concentrations,
    rng: np.random.Generator,
    *,
    pooling: str = "partial",
    levels: int = LEVELS,
) -> StrataPrior:
    """Turn the test sets of J strata into a prior for each of them.

    Parameters
    ----------
    n : (J, K, K) ndarray of int
        Test units of each stratum by true and predicted class.
    prior : Concentrations
        The user's prior. With partial pooling it is the prior of the common means m_g.
    rng : numpy.random.Generator
        Source of randomness.
    pooling : {"partial", "none", "complete"}
        Learn how alike strata are, treat each alone, or take one P for all. The last is right
        for each stratum; for the sum over strata leave strata out altogether, since draws of one
        P that all share must not be independent.
    levels : int
        How many draws of (κ, m) to make.
    """
    if pooling not in POOLINGS:
        raise OptionError(f"`pooling` must be one of {list(POOLINGS)}; got {pooling!r}.")
    without_test = n.sum(axis=(1, 2)) == 0
    if pooling == "none":
        alpha = np.broadcast_to(prior.alpha, (1, *n.shape)).copy()
        return StrataPrior(alpha, prior.gamma, None, without_test)
    if pooling == "complete":
        alpha = (prior.alpha + n.sum(axis=0) - n)[None]
        return StrataPrior(alpha, prior.gamma, None, without_test)
    a = _learn(n, prior.alpha, levels, rng)
    alpha = np.repeat(a[:, None], len(n), axis=1)
    return StrataPrior(alpha, prior.gamma, a.sum(axis=2), without_test)


def _learn(n: Integers, alpha: Floats, levels: int, rng: np.random.Generator) -> Floats:
    """Draw κ_g m_g (levels, K, K) given the test sets of all strata.

    κ_g/(κ_g + 10) is uniform and m_g ~ Dir(alpha_g) in the prior. One chain for each draw.
    """
    X = n.swapaxes(0, 1).astype(float)  # (K rows, J, K)
    start = alpha + n.sum(axis=0)
    start = start / start.sum(axis=1, keepdims=True)
    log_a = np.log(MIDDLE * draw_dirichlet(20.0 * start + alpha, levels, rng))
    log_a = np.maximum(log_a, np.log(1e-6))

    def log_prior(at: Floats) -> Floats:
        kappa = np.exp(at).sum(axis=-1)
        log_m = at - np.log(kappa)[..., None]
        return np.asarray(log_middle(kappa) + (alpha * log_m).sum(axis=-1))

    step = np.full(alpha.shape[1] + 1, 0.7)
    for i in range(ROUNDS):
        log_a, accepted = walk(log_a, X, log_prior, step, rng)
        if i < ROUNDS // 2:
            step = adapt(step, accepted, i)
    return np.exp(log_a)


@dataclass(frozen=True, eq=False)
class RowDraws:
    """Draws of P (R, K, K) and β (R, K) of one stratum, and how many independent ones they equal.

    Draw r belongs to level r mod L of (κ, m) in every stratum, so that sums over strata carry what
    is not known about (κ, m).
    """

    P: Floats
    beta: Floats
    ess: float


def draw_rows(
    a: Floats,
    gamma: Floats,
    v_hat: Integers,
    size: int,
    rng: np.random.Generator,
) -> RowDraws:
    """Draw P from Dirichlet rows, and β with Pᵀβ = ρ, given a prior or a test set for β.

    The model is p_g ~ Dir(a_g), β ~ Dir(gamma), v̂ ~ Mult(N, Pᵀβ). In the variables P and ρ = Pᵀβ
    it is Dir(P; a) · Dir(ρ; v̂ + 1) · Π β_g^(gamma_g − 1) / |det P| with β = Qρ ≥ 0: rows and ρ are
    drawn and weighted by the last part.

    Parameters
    ----------
    a : (L, K, K) ndarray
        Posterior rows alpha + n of the stratum, one set for each draw of (κ, m).
    gamma : (K,) ndarray
        For a test set drawn at random or within predicted classes the prior's gamma plus its
        units per true class, which makes this the posterior of `joint` for any rows; for other
        designs the prior's gamma, the posterior of `full`.
    v_hat : (K,) ndarray of int
        Units of the stratum per predicted class.
    size : int
        How many draws to make.
    rng : numpy.random.Generator
        Source of randomness.
    """
    L, K = a.shape[:2]
    each = -(-size // L)
    pools: list[tuple[Floats, Floats, Floats]] = []
    ess = 0.0
    while len(pools) < MOST_POOLS and ess < ENOUGH * size:
        pools.append(_weighted_rows(a, gamma, v_hat, each, rng))
        log_weight = np.concatenate([pool[2] for pool in pools], axis=1)  # (L, pools · each)
        ess = sum(effective_size(x) for x in log_weight)
    if ess == 0:
        raise EstimateError(
            "None of the draws of P is permissible for a stratum's predicted counts.",
            hint='the test set and the stratum contradict each other; pooling="none" may help.',
        )
    P, beta = (np.concatenate([pool[i] for pool in pools], axis=1) for i in (0, 1))
    possible = np.flatnonzero(np.isfinite(log_weight).any(axis=1))
    kept_P, kept_beta = np.empty((each, L, K, K)), np.empty((each, L, K))
    for level in range(L):  # what was learned of (κ, m) stays: each level keeps its share
        source = level if level in possible else int(rng.choice(possible))
        kept = resample(log_weight[source], each, rng).indices
        kept_P[:, level], kept_beta[:, level] = P[source, kept], beta[source, kept]
    return RowDraws(
        kept_P.reshape(-1, K, K)[:size], kept_beta.reshape(-1, K)[:size], min(ess, float(size))
    )


def _weighted_rows(
    a: Floats, gamma: Floats, v_hat: Integers, size: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw P (L, size, K, K) and β (L, size, K) with the log of their weights (L, size)."""
    P = np.swapaxes(draw_dirichlet(a, size, rng), 0, 1)
    rho = draw_dirichlet(v_hat + 1.0, size * len(a), rng).reshape(P.shape[:3])
    beta = solve_Q(P, rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.asarray((beta >= 0).all(axis=-1))
        beta = np.where(inside[..., None], beta, 1.0)
        log_det = np.linalg.slogdet(P)[1]
        log_weight = special.xlogy(gamma - 1.0, beta).sum(axis=-1) - log_det
    log_weight = np.where(inside & np.isfinite(log_weight), log_weight, -np.inf)
    return P, beta / beta.sum(axis=-1, keepdims=True), log_weight
