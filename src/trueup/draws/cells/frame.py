"""What the log odds of a class in a cell may depend on: functions of the value and of the score.

And what homogeneity implies for them, values and error rates that depend on the true class alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueup.numerics.arrays import Floats, Integers

__all__ = ["Frame", "frame", "implied_shares", "implied_slopes"]

BEND = 2.5
"""Makes the bend of normal scores vary about as much as the scores: its deviation is about 1."""
APART = 0.3
APARTS = np.geomspace(0.01, 10.0, 60)
"""Scale and grid of τ, how far the mean scores of classes lie apart, in standard deviations."""
ROUGH = 0.25
"""Relative error of an implied slope besides that of its estimate: scores are not quite normal."""
RATES, NUMBERS, EM = 400, 20_000, 200
"""Draws of P for the base rates of strata, fewer if they have more numbers than these in all, and
steps towards the base rates of each draw."""
TINY = 1e-300
AS_LARGE = 5
"""Audited units that must be as large as a unit, or larger, for its class not to be a guess."""


class Frame(NamedTuple):
    """What the log odds of a class in a cell may depend on, besides its predicted class.

    φ (R, H, B): functions of the cell, centred in each predicted class, each with coefficients of
    its own; `slopes`: those of the first that homogeneity implies, and their errors, both (K,);
    `shares` (K, J): the log base rates of audit strata that it implies, with J > 1. With a score of
    the classifier, the last function is that, and `right` (K, H) is 1 where h is class g. `over`
    (R, H, B) is how far the functions of the value lie above those of the largest audited units.
    `leans` (H/J, J) is the weight of an audited unit in each stratum (`strata.leaning`).
    """

    phi: Floats
    slopes: tuple[Floats, Floats]
    shares: Floats | None = None
    right: Floats | None = None
    over: Floats | None = None
    leans: Floats | None = None


def frame(
    n: Integers,
    v_hat: Integers,
    z: Floats,
    within_classes: bool = False,
    shares: Floats | None = None,
    confidence: tuple[Floats, Floats] | None = None,
    leans: Floats | None = None,
) -> Frame:
    """Return the frame of cells with a score: φ_1 is the score, φ_2 its bend BEND·√(1 + z²).

    The bend has its linear part taken out; far from the middle it rises as |z| does, so that the
    few largest units are not extrapolated by a square. Arguments are those of `implied_slopes`;
    `confidence` is the classifier's own score of each cell (H, B), and where it is right (K, H).
    """
    slopes = implied_slopes(n, v_hat, z, within_classes, 1 if shares is None else shares.shape[1])
    z = np.broadcast_to(z, v_hat.shape)
    p = v_hat / max(int(v_hat.sum()), 1)
    bend = BEND * np.sqrt(1 + z**2)
    linear = z - (p * z).sum()
    spread = float((p * linear**2).sum())
    bend = bend - linear * ((p * linear * bend).sum() / spread if spread > 0 else 0.0)
    own = [] if confidence is None else [confidence[0]]
    phi = np.stack([z, bend, *own] if spread > 0 else [z, *own])
    middle = (v_hat * phi).sum(axis=-1) / np.maximum(v_hat.sum(axis=-1), 1)
    right = None if confidence is None else confidence[1]
    over = _over(phi[: len(phi) - len(own)], n.sum(axis=0), z)
    if over is not None and own:
        over = np.concatenate([over, np.zeros((1, *z.shape))])
    return Frame(phi - middle[..., None], slopes, shares, right, over, leans)


def _over(phi: Floats, n: Integers, z: Floats) -> Floats | None:
    """How far functions of the value (R, H, B) lie above those of the largest audited units.

    These are AS_LARGE units, or few more. 0 up to there, and None if no cell is larger.
    """
    order = np.argsort(-z, axis=None, kind="stable")
    enough = np.cumsum(n.ravel()[order]) >= AS_LARGE
    edge = order[int(enough.argmax())] if enough.any() else order[-1]
    past = z > z.ravel()[edge]
    if not past.any():
        return None
    return np.where(past, phi - phi.reshape(len(phi), -1)[:, edge, None, None], 0.0)


def implied_slopes(
    n: Integers, v_hat: Integers, z: Floats, within_classes: bool = False, strata: int = 1
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
    """
    K, L = len(n), n.shape[1] // strata
    n_h, v_h = n.sum(axis=(0, 2)), v_hat.sum(axis=1)
    weight = np.where(within_classes, 1.0, v_h / np.maximum(n_h, 1))
    weight = weight * n_h.sum() / max(float((weight * n_h).sum()), 1e-300)
    each = np.broadcast_to(weight[:, None], v_hat.shape).reshape(L, -1)
    z = np.broadcast_to(z, v_hat.shape).reshape(L, -1)
    v_hat = v_hat.reshape(L, -1)
    w = n.reshape(K, L, -1) * each
    units = w.sum(axis=(1, 2))
    mean = (w * z).sum(axis=(1, 2)) / np.maximum(units, 1e-9)
    within = ((w * (z - mean[:, None, None]) ** 2).sum() + 1.0) / (units.sum() + 1.0)
    noise = within * (w * each).sum(axis=(1, 2)) / np.maximum(units, 1e-9) ** 2
    A, noise = np.eye(K), np.where(units > 0, noise, 1e9)
    centre, error = _shrunk(A, mean, noise)
    if not within_classes:
        some = v_hat.any(axis=1)
        v_h, w_h = v_hat.sum(axis=1)[some], w.sum(axis=2)[:, some]
        n_h = w_h.sum(axis=0) ** 2 / np.maximum((w * each).sum(axis=(0, 2))[some], 1e-9)
        share = w_h * (n_h / np.maximum(w_h.sum(axis=0), 1e-9))
        c = (share + 1.0 / K) / (n_h + 1.0)
        z_h = (v_hat * z).sum(axis=1)[some] / v_h
        A, seen = np.concatenate([A, c.T]), np.append(mean, z_h)
        for _ in range(2):  # the error of Σ_g c_gh μ_g depends on μ
            spread = centre**2 @ c - (centre @ c) ** 2
            more = spread / (n_h + 2.0) + within / v_h
            centre, error = _shrunk(A, seen, np.append(noise, more))
    return centre / within, np.hypot(error, ROUGH * centre) / within


def _shrunk(A: Floats, seen: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Posterior mean and sd of μ_g ~ N(0, τ²), τ ~ half-Cauchy(APART), given Aμ + errors.

    `noise` are the variances of the errors. A class with few audited units is drawn to the others
    unless its values are clearly apart.
    """
    K, told = A.shape[1], (A.T / noise) @ seen
    precision = (A.T / noise) @ A + np.eye(K) / APARTS[:, None, None] ** 2
    covariance = np.linalg.inv(precision)
    each = covariance @ told
    fit = 0.5 * (each @ told - np.linalg.slogdet(precision)[1]) - K * np.log(APARTS)
    weight = np.exp(fit - fit.max()) * APARTS / (1 + (APARTS / APART) ** 2)  # a grid even in log τ
    weight = weight / weight.sum()
    centre = weight @ each
    square = weight @ (np.diagonal(covariance, axis1=1, axis2=2) + each**2)
    return centre, np.sqrt(np.maximum(square - centre**2, 1e-12))


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
