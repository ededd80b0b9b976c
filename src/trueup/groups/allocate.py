"""Given P: how many units of each true class there are among each group's predicted units.

The model of one group b, given a draw of P and of the concentrations a = κμ that groups share:

    β_b ~ Dir(a),   s_i ~ β_b,   ŝ_i ~ p_{s_i}     for each unit i of the group.

Base rates are drawn first (`groups.rates`), with the units' classes summed out; given those, the
units of each predicted class are allocated, M_·h ~ Multinomial(v̂_bh, c_·h), c_gh ∝ β_bg p_gh.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.groups.rates import TINY, draw_rates

__all__ = ["allocate_groups", "log_ratios"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def allocate_groups(
    P: Floats,
    a: Floats,
    v_hat: Integers,
    known: Floats,
    rng: np.random.Generator,
    *,
    tilt: tuple[Floats, Floats] | None = None,
    sweeps: int | None = None,
) -> Integers:
    """Draw M (K, K, G, R), rows true: how the units of G groups fall, given P and a.

    Parameters
    ----------
    P : (R, K, K) ndarray
        Draws of the contingency matrix.
    a : (R, K) ndarray
        Concentrations κμ of the groups' base rates, for each draw.
    v_hat : (G, K) ndarray of int
        Units per group and predicted class.
    known : (G, K) ndarray
        Units of each true class that the group is known to have besides: they inform β_b.
    rng : numpy.random.Generator
        Source of randomness.
    tilt : (G, K) and (R, K) ndarray, optional
        For totals, powers and the mean value r_g of each true class: then
        c_gh ∝ β_bg p_gh r_g^power_bh (`totals.value_power`), so that units are allocated as
        they are met when value, not a unit, is picked at random.
    sweeps : int, optional
        How often each class of β_b is moved.
    """
    rows = np.maximum(np.ascontiguousarray(np.moveaxis(P, 0, -1)), TINY)  # (K, K, R)
    shape = np.ascontiguousarray(a.T)[:, None, :] + known.T[:, :, None]  # (K, G, R)
    beta = draw_rates(rows, shape, v_hat, rng, sweeps=sweeps)
    return _draw_columns(beta, rows, v_hat, rng, tilt)


def _draw_columns(
    beta: Floats,
    rows: Floats,
    v_hat: Integers,
    rng: np.random.Generator,
    tilt: tuple[Floats, Floats] | None = None,
) -> Integers:
    """M_·h ~ Multinomial(v̂_h, c_·h), c_gh ∝ β_g p_gh, as binomials one class after another."""
    K, G, R = beta.shape
    M = np.empty((K, K, G, R), dtype=np.int64)
    for h in range(K):
        n = np.ascontiguousarray(np.broadcast_to(v_hat[:, h, None], (G, R)))
        weight = [beta[g] * rows[g, h] for g in range(K)]
        if tilt is not None:
            power, means = tilt
            log_r = log_ratios(means)
            for g in range(K):
                weight[g] *= np.exp(power[:, h, None] * log_r[g])
        later = weight[K - 1]
        tails = [later]
        for g in range(K - 2, -1, -1):
            later = weight[g] + later
            tails.append(later)
        for g in range(K - 1):
            M[g, h] = rng.binomial(n, weight[g] / tails[K - 1 - g])
            n = n - M[g, h]
        M[K - 1, h] = n
    return M


def log_ratios(means: Floats) -> Floats:
    """log(r_g / max r) (K, R), of mean values (R, K); a class without value counts as 1e-25."""
    top = np.maximum(means.max(axis=1), np.finfo(float).tiny)
    return np.asarray(np.log(np.maximum(means.T / top, TINY**0.25)))
