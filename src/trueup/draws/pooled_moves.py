"""Moves of chains of pooled strata: one stratum, what strata have in common, or both at once.

A move of some chains adds a multiple of the difference of two *other* chains (ter Braak 2006),
which has the scale and the correlations of the posterior. Densities are those of `draws.pooling`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Bools, Floats, Rng
from trueup.numerics.concentration import LOG_MOST, log_middle
from trueup.numerics.dirichlet import normal

LEAST_LOG = 340.0
"""Rates stay above exp(−340); `_log_volume` is the mass of their prior there."""


class State(NamedTuple):
    """The chains: logs of c (K, K, J, C), ρ (K, J, C), a (K, K, C) and b = κ_0 μ (K, C)."""

    c: Floats
    rho: Floats
    a: Floats
    b: Floats

    def some(self, chains: slice) -> State:
        """Return the state of some chains."""
        return State(*(x[..., chains] for x in self))

    def log_beta(self) -> Floats:
        """Log base rates (K, J, C)."""
        return np.asarray(np.log(np.exp(self.c + self.rho).sum(axis=1)))


class Data(NamedTuple):
    """Test units n (K, K, J, 1), what v̂ and n say of ρ (K, J, 1), and n_g of β in two roles."""

    n: Floats
    r: Floats
    rows: Floats
    """n_g where the test set tells of rows alone, which takes it out of β's exponent; else 0."""
    alpha: Floats
    gamma: Floats


def _apart(x: Floats, mine: slice, other: slice, dims: int, rng: Rng) -> Floats:
    """Draw steps (…, mine): the difference of two chains of the other half, times a factor.

    The factor is one for all classes, and differs between the strata, or rows, on the last axis but
    one. Now and then it is 1, which leads from one mode to another.
    """
    half, size = other.stop - other.start, mine.stop - mine.start
    i = rng.integers(half, size=size)
    k = (i + rng.integers(1, half, size=size)) % half
    factor = 2.38 / np.sqrt(2 * dims) * np.exp(0.5 * rng.standard_normal((x.shape[-2], size)))
    factor[:, rng.random(size) < 0.1] = 1.0
    first, second = x.take(other.start + i, axis=-1), x.take(other.start + k, axis=-1)
    return np.asarray(factor * (first - second))


def _accept(gain: Floats, rng: Rng) -> Bools:
    return np.asarray(-rng.standard_exponential(gain.shape) < gain)


def move_strata(state: State, mine: slice, other: slice, data: Data, rng: Rng) -> State:
    """Move c and ρ of each stratum given (κ, m), then one column of c, or both again for K = 2."""
    now = state.some(mine)
    c, rho, a, b = now.c, now.rho, np.exp(now.a), np.exp(now.b)
    K = len(rho)
    here = _stratum_density(c, rho, a, b, data)
    for one_column in (False, K > 2):
        if one_column:
            chosen = rng.integers(K, size=rho.shape[1:]) == np.arange(K)[:, None, None]
            step = _apart(state.c, mine, other, K - 1, rng) * chosen
            new_rho = rho
        else:
            both = np.concatenate([state.c.reshape(K * K, *state.rho.shape[1:]), state.rho])
            step = _apart(both, mine, other, K * K - 1, rng)
            new_rho = normal(rho + step[K * K :], 0)
            step = step[: K * K].reshape(c.shape)
        new_c = normal(c + step, 0)
        there = _stratum_density(new_c, new_rho, a, b, data)
        yes = _accept(there - here, rng)
        c, rho, here = (np.where(yes, *x) for x in ((new_c, c), (new_rho, rho), (there, here)))
    return now._replace(c=c, rho=rho)


def _stratum_density(c: Floats, rho: Floats, a: Floats, b: Floats, data: Data) -> Floats:
    """Log density (J, C) of the log ratios of c's columns and of ρ."""
    theta = c + rho
    log_beta = np.log(np.exp(np.maximum(theta, -700.0)).sum(axis=1))
    e = (b - a.sum(axis=1))[:, None] - data.rows
    value = ((a[:, :, None] + data.n) * c).sum(axis=(0, 1))
    value += (e * log_beta).sum(axis=0) + ((a.sum(axis=0)[:, None] + data.r) * rho).sum(axis=0)
    low = np.minimum((theta - log_beta[:, None]).min(axis=(0, 1)), log_beta.min(axis=0))
    return np.where(low > -LEAST_LOG, value, -np.inf)


def move_common(state: State, mine: slice, other: slice, data: Data, rng: Rng) -> State:
    """Move κ_g m_g of each row, and κ_0 μ, given the rates of all strata, twice."""
    now = state.some(mine)
    log_beta = now.log_beta()
    K, J = log_beta.shape[:2]
    rows = (now.c + now.rho - log_beta[:, None]).sum(axis=2)
    total = np.concatenate([rows, log_beta.sum(axis=1)[None]]).swapaxes(0, 1)  # (K, rows, C)
    prior = np.concatenate([data.alpha, data.gamma[None]]).swapaxes(0, 1)
    every = np.concatenate([state.a, state.b[None]]).swapaxes(0, 1)
    x = every[..., mine]
    here = _common_density(x, prior, total, J)
    for _ in range(2):
        step = _apart(every, mine, other, K, rng) + 0.01 * rng.standard_normal(x.shape)
        there = _common_density(x + step, prior, total, J)
        yes = _accept(there - here, rng)
        x, here = np.where(yes, x + step, x), np.where(yes, there, here)
    return now._replace(a=x[:, :K].swapaxes(0, 1), b=x[:, K])


def _common_density(x: Floats, prior: Floats, total: Floats, J: int) -> Floats:
    """Log density of x = log κm (K, …) given the sum over J strata of their log rates."""
    a = np.exp(np.clip(x, -300.0, LOG_MOST))
    kappa = a.sum(axis=0)
    log_kappa = np.log(kappa)
    value = log_middle(kappa) + (prior * (x - log_kappa)).sum(axis=0)
    value += (a * total).sum(axis=0) - J * _log_volume(a, kappa)
    inside = (np.abs(log_kappa) < LOG_MOST) & (x.min(axis=0) > -300.0)
    return np.where(inside, value, -np.inf)


def _log_volume(a: Floats, kappa: Floats) -> Floats:
    """The log of ∫ Π p_h^(a_h − 1) over the rates with log p_h above −LEAST_LOG = −T.

    That is Π Γ(a_h)/Γ(κ) times Pr(all log p_h > −T). For small a, log p_h is −Y_h less its maximum
    with Y_h exponential of rate a_h, so Pr = Σ_h (a_h/κ) Π_{k≠h} (1 − exp(−T a_k)); for other a
    it is 1 in either form.
    """
    inside = -np.expm1(-LEAST_LOG * a)
    value = (special.gammaln(a) + np.log(inside)).sum(axis=0)
    return np.asarray(value + np.log((a / kappa / inside).sum(axis=0)) - special.gammaln(kappa))


def move_row(state: State, mine: slice, other: slice, g: int, data: Data, rng: Rng) -> State:
    """Move m_g, then κ_g, together with row g of every stratum.

    ρ stays, so that v̂ hardly minds; μ goes with the mean of β, which shifts in all strata alike.
    """
    now = state.some(mine)
    K, J = now.rho.shape[:2]
    log_beta = now.log_beta()
    log_P = now.c + now.rho - log_beta[:, None]
    a, b = now.a.copy(), now.b
    log_kappa = np.log(np.exp(state.a[g]).sum(axis=0))[None]  # of all chains
    here = _row_density(log_P, log_beta, now, a[g], b, g, data)
    for scale in (False, True):
        m, new_P = normal(a[g], 0), log_P.copy()
        if scale:  # distances from m_g go with 1/√κ
            log_f = -0.5 * _apart(log_kappa, mine, other, 1, rng)[0]
            new_a = a[g] - 2.0 * log_f
            new_P[g] = normal(m[:, None] + np.exp(log_f) * (log_P[g] - m[:, None]), 0)
            jacobian = J * (K - 1) * log_f
        else:
            step = _apart(state.a[g][:, None], mine, other, K - 1, rng)[:, 0]
            new_a = normal(m + step, 0) + log_kappa[0, mine]
            new_P[g] = normal(log_P[g] + step[:, None], 0)
            jacobian = np.zeros(step.shape[-1])
        _, beta = _solve(np.exp(new_P), np.exp(now.rho))
        possible = (beta > np.exp(-LEAST_LOG)).all(axis=(0, 1))
        new_beta = np.log(np.where(possible, beta, 1.0 / K))
        shift = np.log(np.exp(new_beta).mean(axis=1)) - np.log(np.exp(log_beta).mean(axis=1))
        new_b = normal(b + shift, 0) + np.log(np.exp(b).sum(axis=0))
        there = _row_density(new_P, new_beta, now, new_a, new_b, g, data)
        with np.errstate(invalid="ignore"):
            yes = _accept(there - here + jacobian, rng) & np.isfinite(here) & possible
        log_P, log_beta = np.where(yes, new_P, log_P), np.where(yes, new_beta, log_beta)
        a[g], b = np.where(yes, new_a, a[g]), np.where(yes, new_b, b)
        here = np.where(yes, there, here)
    return now._replace(c=normal(log_P + log_beta[:, None] - now.rho, 0), a=a, b=b)


def _row_density(
    log_P: Floats, log_beta: Floats, now: State, log_a: Floats, b: Floats, g: int, data: Data
) -> Floats:
    """Log density (C,) of row g, κ_g m_g and κ_0 μ in (P, ρ): Dir(P) Π β^(b + n_g − 1)/|det P|."""
    J = log_P.shape[2]
    log_det, _ = _solve(np.exp(log_P), np.exp(now.rho))
    low = np.minimum(log_P[g].min(axis=(0, 1)), now.rho.min(axis=(0, 1)))
    told = data.n.sum(axis=1) - data.rows
    value = ((np.exp(log_a)[:, None] + data.n[g]) * log_P[g]).sum(axis=(0, 1)) - log_det.sum(axis=0)
    value += ((np.exp(b)[:, None] + told - 1.0) * log_beta).sum(axis=(0, 1))
    value += _common_density(log_a, data.alpha[g], np.zeros_like(log_a), J)
    value += _common_density(b, data.gamma, np.zeros_like(b), J)
    return np.where(low > -LEAST_LOG, value, -np.inf)


def _solve(P: Floats, rho: Floats) -> tuple[Floats, Floats]:
    """log |det P| (J, C) and β = Qρ (K, J, C); Cramer's rule for two classes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(P) == 2:
            det = P[0, 0] * P[1, 1] - P[0, 1] * P[1, 0]
            first = (P[1, 1] * rho[0] - P[1, 0] * rho[1]) / det
            beta = np.stack([first, (P[0, 0] * rho[1] - P[0, 1] * rho[0]) / det])
            return np.log(np.abs(det)), np.nan_to_num(beta, nan=-1.0)
        by_chain = np.moveaxis(P, (0, 1), (3, 2))  # (J, C, h, g): the transposed matrices
        log_det = np.linalg.slogdet(by_chain)[1]
        regular = np.isfinite(log_det) & (log_det > -600.0)
        safe = np.where(regular[..., None, None], by_chain, np.eye(len(P)))
        beta = np.linalg.solve(safe, np.moveaxis(rho, 0, 2)[..., None])[..., 0]
        beta = np.where(regular[..., None], beta, -1.0)
        return np.where(regular, log_det, 0.0), np.moveaxis(beta, 2, 0)
