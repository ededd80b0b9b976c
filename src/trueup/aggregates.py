"""From draws of the error rates to draws of the counts and totals u.

Three things that the paper's Qû leaves out are added here: which units were misclassified is random
too, totals of y ≥ 0 are never negative, and audited units are known. Draws that would be
impermissible are conditioned away with weights, never clipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.contingency import solve_Q
from trueup.counts import Counts
from trueup.noise import classification_noise, noise_covariance
from trueup.simplex_normal import draw_simplex_normal

__all__ = ["Weighted", "allocate", "paper_aggregates", "totals_from_P", "totals_from_allocation"]

Floats = NDArray[np.float64]


class Weighted(NamedTuple):
    """Draws u (R, K) with the log of their weight (R,): minus infinity is impermissible."""

    u: Floats
    log_weight: Floats


def paper_aggregates(P: Floats, u_hat: Floats) -> Floats:
    """Step 3 of the paper: Qû for each draw of P, and nothing else."""
    return solve_Q(P, u_hat)


def totals_from_P(P: Floats, counts: Counts, rng: np.random.Generator) -> Weighted:
    """Draw u given P and û: normal around Qû with the classification noise, on the simplex.

    û = Pᵀu + noise with Var(noise) = Σ_g W_g (diag p_g − p_g p_gᵀ), and W = Qŵ held to what is
    possible, [0, Σŵ]. The noise only moves value between classes, so Σ_g u_g = T on every draw.
    """
    w_hat = squares(counts)
    W = np.clip(solve_Q(P, w_hat), 0.0, w_hat.sum())
    return _on_simplex(P, W, counts, rng)


def _on_simplex(P: Floats, W: Floats, counts: Counts, rng: np.random.Generator) -> Weighted:
    u_hat = counts.naive
    if counts.signed:  # no bound at 0, so nothing to condition on
        u = solve_Q(P, u_hat - classification_noise(P, W, rng))
        return Weighted(u, np.zeros(len(P)))
    Q = np.linalg.inv(np.swapaxes(P, 1, 2))
    cov = Q @ noise_covariance(P, W) @ np.swapaxes(Q, 1, 2)
    return Weighted(*draw_simplex_normal(Q @ u_hat, cov, u_hat.sum(), rng))


def squares(counts: Counts) -> Floats:
    """Σy² per predicted class; if it was not given, the least it can be: equal values."""
    if counts.u_hat is None:
        return counts.v_hat.astype(float)
    if counts.w_hat is not None:
        return counts.w_hat
    return np.asarray(counts.u_hat**2 / np.maximum(counts.v_hat, 1))


def allocate(c: Floats, v_hat: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many of the v̂_h units predicted h belong to each true class: M_·h ~ Mult(v̂_h, c_·h).

    `c` is (R, K, K) with columns that sum to 1, c_gh = Pr(s = g | ŝ = h); M has the same shape.
    """
    columns = np.swapaxes(c, 1, 2)
    return np.swapaxes(rng.multinomial(v_hat, columns), 1, 2)


def totals_from_allocation(
    M: NDArray[np.int64], P: Floats, counts: Counts, rng: np.random.Generator
) -> Weighted:
    """Draw u given how many units of each class were predicted as each class.

    Given M, the rates that really occurred are P̃ = M/v, and û = P̃ᵀu + noise, where only *which*
    values went where is random: Var = Σ_g D_g (diag p̃_g − p̃_g p̃_gᵀ) with D_g the sum of squared
    deviations of y within true class g. With y = 1, D = 0 and u = v: totals and counts agree.
    """
    v = M.sum(axis=2)
    P_real = np.where(v[:, :, None] > 0, M / np.maximum(v, 1)[:, :, None], P)
    w_hat = squares(counts)
    W = np.clip(solve_Q(P_real, w_hat), 0.0, w_hat.sum())
    u = solve_Q(P_real, counts.naive)
    D = np.maximum(W - u**2 / np.maximum(v, 1), 0.0)
    return _on_simplex(P_real, D, counts, rng)
