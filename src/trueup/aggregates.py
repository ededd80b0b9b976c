"""From draws of the error rates to draws of the counts and totals.

The paper stops at Qû. Three things are added here: which units were misclassified is random too,
so the units predicted as each class are allocated to true classes at random; totals of y ≥ 0 are
never negative; and audited units are known (the caller takes them out first). Draws that would be
impermissible are conditioned away with weights, never clipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.blocks import in_blocks
from trueup.contingency import solve_Q
from trueup.counts import Counts
from trueup.posterior import draw_dirichlet
from trueup.simplex_normal import draw_simplex_normal
from trueup.totals import totals_given_allocation

__all__ = [
    "Weighted",
    "allocate",
    "columns",
    "draw_beta",
    "exact_beta",
    "paper_aggregates",
    "rest_aggregates",
    "weigh_beta",
]

Floats = NDArray[np.float64]


class Weighted(NamedTuple):
    """Draws u (R, K) with the log of their weight (R,): minus infinity is impermissible."""

    u: Floats
    log_weight: Floats


def paper_aggregates(P: Floats, u_hat: Floats) -> Floats:
    """Step 3 of the paper: Qû for each draw of P, and nothing else."""
    return solve_Q(P, u_hat)


def draw_beta(
    P: Floats, v_hat: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw the base rates given P and v̂, on the simplex, with the log of each draw's weight.

    v̂/N estimates Pᵀβ with variance (diag ρ − ρρᵀ)/N, ρ = v̂/N, so β is normal around Qρ with
    that variance carried through Q. Where P lies outside Θ_K the weight is small.
    """
    return _normal_beta(P, v_hat / v_hat.sum(), v_hat.sum(), rng)


def exact_beta(
    P: Floats, v_hat: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw β given P and v̂ ~ Mult(N, Pᵀβ), uniform on the simplex before v̂ is seen.

    Then ρ = Pᵀβ is Dir(v̂ + 1), held to where β = Qρ ≥ 0: the weight of the other draws is 0.
    """
    beta = solve_Q(P, draw_dirichlet(v_hat + 1.0, len(P), rng))
    inside = (beta >= 0).all(axis=1)
    beta[~inside] = 1 / len(v_hat)
    return beta, np.where(inside, 0.0, -np.inf)


def weigh_beta(
    P: Floats, v_hat: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw from the same distribution where practically no draw of `exact_beta` has a weight.

    Normal draws on the simplex are a proposal, around r = (v̂ + 1)/(N + K). Their density is
    exp(−(N + K)χ²/2) with χ² = Σ_h (ρ_h − r_h)²/r_h; the weight makes the likelihood of it.
    """
    more = v_hat.sum() + len(v_hat)
    r = (v_hat + 1) / more
    beta, log_weight = _normal_beta(P, r, more, rng)
    rho = np.einsum("rgh,rg->rh", P, beta)
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = np.where(v_hat > 0, v_hat * np.log(rho / r), 0.0).sum(axis=1)
    return beta, log_weight + likelihood + more / 2 * ((rho - r) ** 2 / r).sum(axis=1)


def _normal_beta(
    P: Floats, rho: Floats, N: np.integer, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    Q = np.linalg.inv(np.swapaxes(P, 1, 2))
    spread = (Q * rho) @ np.swapaxes(Q, 1, 2)
    centre = Q @ rho
    cov = (spread - centre[:, :, None] * centre[:, None, :]) / N
    return draw_simplex_normal(centre, cov, 1.0, rng)


def columns(P: Floats, beta: Floats) -> Floats:
    """c_gh = Pr(s = g | ŝ = h) = p_gh β_g / Σ_k p_kh β_k: Bayes' rule, each column sums to 1."""
    theta = P * beta[:, :, None]
    rho = theta.sum(axis=1, keepdims=True)
    # a class that is never predicted has no units to allocate: any column will do
    return np.where(rho > 0, theta / np.where(rho > 0, rho, 1.0), 1 / P.shape[-1])


def allocate(c: Floats, v_hat: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many of the v̂_h units predicted h belong to each true class: Mult(v̂_h, c_·h).

    `c` is (R, K, K) with columns that sum to 1, c_gh = Pr(s = g | ŝ = h); M has the same shape.
    """
    if c.shape[-1] == 2:
        first = rng.binomial(v_hat, np.minimum(c[:, 0, :], 1.0))
        return np.stack([first, v_hat - first], axis=1)
    return np.swapaxes(rng.multinomial(v_hat, np.swapaxes(c, 1, 2)), 1, 2)


def rest_aggregates(
    c: Floats, P: Floats, rest: Counts, noise: bool, rng: np.random.Generator
) -> Weighted:
    """Draw the counts or totals of the units that were not audited, given c and P.

    Without noise, units are split in the expected proportions and totals are the paper's Qû, of
    which the impermissible ones have no weight.
    """
    even = np.zeros(len(c))
    if not noise and not rest.totals:
        return Weighted(c @ rest.v_hat, even)
    if not noise:
        u = paper_aggregates(P, rest.naive)
        inside = (u >= 0).all(axis=1) | rest.signed
        return Weighted(u, np.where(inside, 0.0, -np.inf))

    def some(part: slice, rng: np.random.Generator) -> Weighted:
        M = allocate(c[part], rest.v_hat, rng)
        if rest.u_hat is None:
            return Weighted(np.einsum("rgh->rg", M).astype(float), even[part])
        return Weighted(*totals_given_allocation(M, rest.u_hat, squares(rest), rng, rest.signed))

    found = list(in_blocks(some, len(c), c[0].size, rng))
    return Weighted(*(np.concatenate(x) for x in zip(*found, strict=True)))


def squares(counts: Counts) -> Floats:
    """Σy² per predicted class; if it was not given, the least it can be: equal values."""
    assert counts.u_hat is not None
    if counts.w_hat is not None:
        return counts.w_hat
    return np.asarray(counts.u_hat**2 / np.maximum(counts.v_hat, 1))
