"""Exchanging two rows of P: the hull stays the same, and β changes only its order.

Rows of classes with hardly any test units can stand in for each other, and moving them one
at a time would have to pass through matrices of low probability. An exchange of rows g and k
changes the density by t = Π_h (p_kh / p_gh)^(a_gh − a_kh), times (β_k / β_g)^(γ_g − γ_k) under
`full`. All K(K−1)/2 exchanges are weighed at once and one is proposed with probability
w(t)/Z, w(t) = t/(1+t). Since w(t) = t·w(1/t), it is accepted with probability min(1, Z/Z')
(locally balanced proposals: Zanella, JASA 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.rows import State, Target
from trueup.numerics import special

__all__ = ["swap_rows"]

Floats = NDArray[np.float64]


def swap_rows(state: State, target: Target, rng: np.random.Generator) -> int:
    """Propose to exchange one pair of rows in every chain; return in how many it was done."""
    K, chains = state.beta.shape
    c = np.arange(chains)
    g_all, k_all = np.triu_indices(K, 1)
    # fit[k, g] = log density of row k as if it were class g's. K small products, not one large
    # one: BLAS would spread that over threads that fight with ours.
    fit = target.a @ state.log_P
    if target.gamma is not None:
        log_beta = np.log(np.maximum(state.beta, np.finfo(float).tiny))
        fit += target.gamma[:, None] * log_beta[:, None]
    weight = _weights(fit, g_all, k_all)
    cumulative = np.cumsum(weight, axis=0)
    chosen = (cumulative < rng.random(chains) * cumulative[-1]).sum(axis=0)
    chosen = np.minimum(chosen, len(g_all) - 1)
    g, k = g_all[chosen], k_all[chosen]
    swapped = fit.copy()
    swapped[g, :, c], swapped[k, :, c] = fit[k, :, c], fit[g, :, c]
    after = _weights(swapped, g_all, k_all).sum(axis=0)
    done = np.flatnonzero(rng.random(chains) * after < cumulative[-1])
    g, k = g[done], k[done]
    for x in (state.P, state.log_P, state.Q):
        x[g, :, done], x[k, :, done] = x[k, :, done], x[g, :, done]
    beta = state.beta
    beta[g, done], beta[k, done] = beta[k, done], beta[g, done]
    return len(done)


def _weights(fit: Floats, g: NDArray[np.intp], k: NDArray[np.intp]) -> Floats:
    """Compute w(t) of every pair (pairs, C)."""
    now = np.einsum("ggc->gc", fit)
    return np.asarray(special.expit(fit[g, k] + fit[k, g] - now[g] - now[k]))
