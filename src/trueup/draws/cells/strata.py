"""Audit strata: what those of a predicted class have in common, and how they differ in order.

Strata j of a predicted class i have columns with the prior Dir(X_·i), so that they are alike if ΣX
is large. That alone would mislead the whole: with few audited units in each, strata are drawn to
the mean of all *audited* units, and those of which one unit in fifty was drawn count in the
whole for more than those of which every second was. If they differ in error rates too, as small
units do from large ones, the sum is biased however many strata there are. So log odds may lean on
the weight of the stratum, how many units one audited unit stands for, by e_gi ψ_j. A logistic
regression on the weight has residuals that sum to 0 with these weights, whatever the truth is:
the whole is then what the textbook's weighted estimator says (Firth and Bennett 1998, "internal
bias calibration"). How far strata lean, e_gi ~ N(0, υ²), is learned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup.draws.cells.tables import tables_of
from trueup.numerics import half_t
from trueup.numerics.arrays import Floats, Integers

__all__ = ["leaning", "offset", "pooled", "step_leans", "step_share"]

ALIKE = 10.0
"""Prior of τ: Gamma(½) with this rate, so that strata of a predicted class share about as much as
ten units of each would tell, unless the audited ones say otherwise."""
RANGE, LEAN = 2.0, 1.0
"""Range of ψ, and scale of υ."""
TINY = 1e-300


def leaning(m: Integers, v_hat: Floats) -> Floats:
    """Return ψ (L, J): what an audited unit of each stratum stands for, v̂/m, as log odds may lean.

    `m` are the audited units, (L, J) or, if strata were not drawn within predicted classes, (1, J).
    `v_hat` (L, J) are the units of the population, or their values where these are added up. ψ is
    centred in each predicted class. Its range is 2, or less where the weights are nearly the same:
    the log of their ratio. A stratum without an audited unit is as the one with the largest weight.
    """
    size = np.broadcast_to(v_hat.sum(axis=0), v_hat.shape) if len(m) == 1 else v_hat
    some, seen = size > 0, (size > 0) & (m > 0)
    if not seen.any():
        return np.zeros(v_hat.shape)
    weight = np.where(seen, size / np.maximum(m, 1), 0.0)
    most, least = weight.max(), weight[seen].min()
    if most <= least * (1 + 1e-9):
        return np.zeros(v_hat.shape)
    weight = np.where(some & ~seen, most, weight)
    middle = (v_hat * weight).sum(axis=1) / np.maximum(v_hat.sum(axis=1), TINY)
    spread = min(RANGE, float(np.log(most / least))) / (most - least)
    return np.asarray(np.where(some, weight - middle[:, None], 0.0) * spread)


def offset(nu: Floats, shares: Floats, e: Floats, psi: Floats) -> Floats:
    """Log odds (C, K, L·J) of strata: ν o_gj + e_gi ψ_ij, from (C,), (K, J), (C, K, L), (L, J)."""
    C, K, L = e.shape
    each = nu[:, None, None, None] * shares[:, None] + e[..., None] * psi
    return np.asarray(each.reshape(C, K, L * psi.shape[1]))


def pooled(
    X: Floats, tau: Floats, t: Floats, grown: Floats, alpha: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw X (C, K, L), what the strata of a predicted class have in common, and its scale τ.

    `t` and `grown` = Σ wE are (C, K, L·J). τ ~ Gamma(½) scaled so that few predicted classes do not
    decide it: log-uniform would be improper where strata are alike.
    """
    each = np.repeat(X, t.shape[2] // X.shape[2], axis=2)
    r = tables_of(t.astype(np.int64))(each, rng).reshape(*X.shape, -1).sum(axis=-1)
    rate = np.log1p(grown).reshape(*X.shape, -1).sum(axis=-1)
    X = rng.standard_gamma(alpha + r) / (tau[:, None, None] + rate)
    X = np.maximum(X, TINY)
    tau = rng.standard_gamma(0.5 + alpha.sum(), len(X)) / (ALIKE + X.sum(axis=(1, 2)))
    return X, tau


def step_share(nu: Floats, fit: Callable[[Floats], Floats], rng: np.random.Generator) -> Floats:
    """Move ν ~ U(0, 1) near and far; `fit` is the log likelihood (C, K, L·J) of each."""
    here = fit(nu).sum(axis=(1, 2))
    near = np.abs(nu + 0.2 * rng.standard_normal(len(nu)))
    for new in (1 - np.abs(1 - near % 2), rng.random(len(nu))):
        there = fit(new).sum(axis=(1, 2))
        yes = -rng.standard_exponential(len(nu)) < there - here
        nu, here = np.where(yes, new, nu), np.where(yes, there, here)
    return nu


def step_leans(
    e: Floats,
    upsilon: Floats,
    fit: Callable[[Floats], Floats],
    information: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Move e (C, K, L), each by itself, and its standard deviation υ (C,).

    `fit` is the log likelihood (C, K, L·J) of e, `information` (C, K, L) about how sharp it is.
    Then all of e and υ are multiplied by one factor, and υ is drawn given e.
    """

    def each(e: Floats) -> Floats:
        return np.asarray(fit(e).reshape(*e.shape, -1).sum(axis=-1))

    precision, here = upsilon[:, None, None] ** -2, each(e)
    for size in (2.4, 0.8):
        new = e + size / np.sqrt(information + precision) * rng.standard_normal(e.shape)
        there = each(new)
        gain = there - here - precision * (new**2 - e**2) / 2
        yes = -rng.standard_exponential(e.shape) < gain
        e, here = np.where(yes, new, e), np.where(yes, there, here)
    factor = np.exp(0.6 * rng.standard_normal(len(e)))
    new = e * factor[:, None, None]
    gain = (each(new) - here).sum(axis=(1, 2)) + np.log(factor)
    gain += half_t.log_density(upsilon * factor, LEAN) - half_t.log_density(upsilon, LEAN)
    yes = -rng.standard_exponential(len(e)) < gain
    e, upsilon = np.where(yes[:, None, None], new, e), np.where(yes, upsilon * factor, upsilon)
    return e, half_t.draw(upsilon, (e**2).sum(axis=(1, 2)), e[0].size, LEAN, rng)
