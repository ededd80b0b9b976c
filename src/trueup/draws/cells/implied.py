"""What homogeneity implies: values and error rates that depend on the true class alone."""

from __future__ import annotations

import numpy as np

from trueup.numerics.arrays import Floats, Integers

__all__ = ["implied_kinds", "implied_shares", "implied_slopes"]

APART = 0.3
APARTS = np.geomspace(0.01, 10.0, 60)
"""Scale and grid of τ, how far the mean scores of classes lie apart, in standard deviations."""
ROUGH = 0.25
"""Relative error of an implied slope besides that of its estimate: scores are not quite normal."""
RATES, NUMBERS, EM = 400, 20_000, 200
"""Draws of P for the base rates of strata, fewer if they have more numbers than these in all, and
steps towards the base rates of each draw."""
TINY = 1e-300
STEP = 0.15
"""The function of a kind of values (zero, negative) is 1/STEP there, so that slopes of scale 0.2
are log odds of scale 1.3. Scaled by the kind's own standard deviation instead, intervals of 0/1
values covered 87 and 88% where only false positives, or false negatives, are more often 1; now 91%
(300 test sets of 300; `studies/zero_or_one.py`)."""
LEAST_SHARE = 0.02
"""A kind's share of a class is taken to be between this and 1 less it."""


def implied_slopes(
    n: Integers,
    v_hat: Integers,
    z: Floats,
    within_classes: bool = False,
    strata: int = 1,
    sign: Integers | None = None,
) -> tuple[Floats, Floats]:
    """Return the slopes s_g (K,) that homogeneity implies, and their standard errors.

    If scores within a class are normal with mean μ_g and a common variance, whatever the
    prediction, the log odds of class g rise by μ_g/variance per unit of score. Two things tell μ:
    the audited units of a class, which count by how many of the population they stand for, v̂_h/n_h
    (alike if they were drawn within true classes); and the population, since the mean score of a
    predicted class is Σ_g c_gh μ_g. That is known but for the error of c, the audited shares.
    Of a predicted class in several audit strata, each unit counts in the same way.

    Parameters
    ----------
    n : (K, H, B) ndarray of int
        Audited units by true class, predicted class (in each of the strata) and band.
    v_hat : (H, B) ndarray of int
        Units of the population.
    z : (B,) or (H, B) ndarray
        Score of each band, or of each cell.
    within_classes : bool
        Whether the test set was drawn within true classes.
    strata : int
        How many audit strata there are.
    sign : (H, B) ndarray of int, optional
        The sign of each cell's values: scores are then those within losses, and within profits.
    """
    centre, error, within = implied_means(n, v_hat, z, within_classes, strata, sign)
    return centre / within, np.hypot(error, ROUGH * centre) / within


def implied_means(
    n: Integers,
    v_hat: Integers,
    z: Floats,
    within_classes: bool = False,
    strata: int = 1,
    sign: Integers | None = None,
) -> tuple[Floats, Floats, float]:
    """Return the mean score μ_g of each class, its error, and the variance within classes.

    Losses and profits have scores of their own: E z = μ_g + δ_k for the kind k, δ_k unknown.
    """
    K, L = len(n), n.shape[1] // strata
    n_h, v_h = n.sum(axis=(0, 2)), v_hat.sum(axis=1)
    weight = np.where(within_classes, 1.0, v_h / np.maximum(n_h, 1))
    weight = weight * n_h.sum() / max(float((weight * n_h).sum()), 1e-300)
    each = np.broadcast_to(weight[:, None], v_hat.shape).reshape(L, -1)
    z = np.broadcast_to(z, v_hat.shape).reshape(L, -1)
    kinds = [np.ones(z.shape, bool)]
    if sign is not None and (sign < 0).any() and (sign > 0).any():
        kinds = [np.reshape(sign, z.shape) == k for k in (-1, 1)]
    apart = np.eye(len(kinds)) if len(kinds) > 1 else np.zeros((1, 0))
    w = np.stack([n.reshape(K, L, -1) * each * mine for mine in kinds])
    units = w.sum(axis=(2, 3))
    mean = (w * z).sum(axis=(2, 3)) / np.maximum(units, 1e-9)
    within = ((w * (z - mean[:, :, None, None]) ** 2).sum() + 1.0) / (units.sum() + 1.0)
    noise = within * (w * each).sum(axis=(2, 3)) / np.maximum(units, 1e-9) ** 2
    noise = np.where(units > 0, noise, 1e9)
    A = np.concatenate([np.hstack([np.eye(K), np.tile(one, (K, 1))]) for one in apart])
    seen, noise = mean.ravel(), noise.ravel()
    centre, error = _shrunk(A, seen, noise, K)
    if not within_classes:
        told = []
        for mine, one, w_k in zip(kinds, apart, w, strict=True):
            v = v_hat.reshape(L, -1) * mine
            some = v.any(axis=1)
            v_h, w_h = v.sum(axis=1)[some], w_k.sum(axis=2)[:, some]
            n_h = w_h.sum(axis=0) ** 2 / np.maximum((w_k * each).sum(axis=(0, 2))[some], 1e-9)
            share = w_h * (n_h / np.maximum(w_h.sum(axis=0), 1e-9))
            c = (share + 1.0 / K) / (n_h + 1.0)
            told.append((c, np.tile(one, (len(v_h), 1)), n_h, v_h, (v * z).sum(axis=1)[some] / v_h))
        c, n_h, v_h, z_h = (np.concatenate([x[i] for x in told], axis=-1) for i in (0, 2, 3, 4))
        rows = np.hstack([c.T, np.concatenate([x[1] for x in told])])
        A, seen = np.concatenate([A, rows]), np.append(seen, z_h)
        for _ in range(2):  # the error of Σ_g c_gh μ_g depends on μ
            spread = centre**2 @ c - (centre @ c) ** 2
            more = spread / (n_h + 2.0) + within / v_h
            centre, error = _shrunk(A, seen, np.append(noise, more), K)
    return centre, error, float(within)


def _shrunk(A: Floats, seen: Floats, noise: Floats, K: int) -> tuple[Floats, Floats]:
    """Posterior mean and sd of μ_g ~ N(0, τ²), τ ~ half-Cauchy(APART), given A(μ, δ) + errors.

    `noise` are the variances of the errors. A class with few audited units is drawn to the others
    unless its values are clearly apart. Of δ nothing is known beforehand.
    """
    told = (A.T / noise) @ seen
    prior = np.diag([1.0] * K + [0.0] * (A.shape[1] - K)) / APARTS[:, None, None] ** 2
    free = np.diag([0.0] * K + [1e-4] * (A.shape[1] - K))
    precision = (A.T / noise) @ A + prior + free
    covariance = np.linalg.inv(precision)
    each = covariance @ told
    fit = 0.5 * (each @ told - np.linalg.slogdet(precision)[1]) - K * np.log(APARTS)
    weight = np.exp(fit - fit.max()) * APARTS / (1 + (APARTS / APART) ** 2)  # a grid even in log τ
    weight = weight / weight.sum()
    centre = weight @ each
    square = weight @ (np.diagonal(covariance, axis1=1, axis2=2) + each**2)
    return centre[:K], np.sqrt(np.maximum(square - centre**2, 1e-12))[:K]


def implied_shares(n: Integers, v_hat: Integers, alpha: Floats, rng: np.random.Generator) -> Floats:
    """Return the log base rates (K, J) of audit strata if error rates do not depend on them.

    P is drawn given the test set, each unit weighted by how many it stands for, which is worth
    fewer units with equal weights. For each draw, β_j has the greatest likelihood of the stratum's
    predicted units, with one unit of the whole's shares added; the mean over draws is returned.
    One P̂ would rule a class out of a stratum that has fewer predictions of it than P̂ has errors.

    Parameters
    ----------
    n : (K, L, J) ndarray of int
        Audited units by true class, predicted class and stratum.
    v_hat : (L, J) ndarray of int
        Units of the population.
    alpha : (K, L) ndarray
        Prior of the columns.
    rng : numpy.random.Generator
        Source of randomness.
    """
    weight = v_hat.sum(axis=0) / np.maximum(n.sum(axis=(0, 1)), 1)
    theta = (n * weight).sum(axis=2)
    effective = theta.sum() / max(float((n * weight**2).sum()), TINY)
    draws = max(min(RATES, NUMBERS // n.size), 40)
    theta = np.maximum(rng.standard_gamma(theta * effective + alpha, (draws, *alpha.shape)), TINY)
    whole = theta.sum(axis=2) / theta.sum(axis=(1, 2))[:, None]
    P = theta / theta.sum(axis=2, keepdims=True)
    beta = np.repeat(whole[..., None], v_hat.shape[1], axis=2)
    for _ in range(EM):
        rho = np.maximum(P.transpose(0, 2, 1) @ beta, TINY)
        beta = beta * (P @ (v_hat / rho)) + whole[..., None]
        beta /= beta.sum(axis=1, keepdims=True)
    log = np.log(np.maximum(beta.mean(axis=0), TINY))
    return np.asarray(log - log.mean(axis=0))


def _growth(z: Floats, sign: Integers, p: Floats, kinds: list[int], slope: Floats) -> Floats:
    """Return log E exp(s_g z) over the units of each kind, (K, kinds)."""
    found = []
    for k in kinds:
        x, part = z[sign == k], p[sign == k]
        found.append(np.log(np.exp(np.clip(slope[:, None] * x, -50, 50)) @ part / part.sum()))
    return np.stack(found, axis=1)


def implied_kinds(
    n: Integers,
    v_hat: Integers,
    of: tuple[Floats, Integers],
    found: tuple[list[int], list[float]],
    slope: Floats,
    within_classes: bool,
    strata: int,
) -> list[tuple[Floats, tuple[Floats, Floats]]]:
    """Return a function of each kind but the commonest, and the slopes that homogeneity implies.

    `of` are the score and the sign of each cell, `found` the kinds with their shares, the commonest
    last, and `slope` (K,) those in the score. The log odds of class g between a kind and the
    commonest rise by log q_g/q'_g, their shares of the class, less what the slope makes of these.
    """
    (z, sign), (kinds, shares) = of, found
    growth = _growth(z, sign, v_hat / max(int(v_hat.sum()), 1), kinds, slope)
    each = []
    for k, share in zip(kinds[:-1], shares, strict=False):
        sd = np.sqrt(share * (1 - share))
        mean, error, _ = implied_means(n, v_hat, ((sign == k) - share) / sd, within_classes, strata)
        q = np.clip(share + sd * mean, LEAST_SHARE, 1 - LEAST_SHARE)
        each.append((k, share, q, sd * error))
    common = np.clip(1 - sum(q for *_, q, _ in each), LEAST_SHARE, 1.0)
    made = []
    for i, (k, share, q, error) in enumerate(each):
        step = np.log(q / common) - np.log(share / shares[-1])
        step = STEP * (step - growth[:, i] + growth[:, -1])
        error = np.hypot(STEP * error * (1 / q + 1 / common), ROUGH * step)
        made.append((((sign == k) - share) / STEP, (step, error)))
    return made
