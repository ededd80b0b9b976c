"""Given P: how many units of each true class there are among each group's predicted units.

The model of one group b, given a draw of P and of the concentrations a = κμ that groups share:

    β_b ~ Dir(a),   s_i ~ β_b,   ŝ_i ~ p_{s_i}     for each unit i of the group.

Data augmentation draws M_·h ~ Multinomial(v̂_bh, c_·h), c_gh ∝ β_bg p_gh, and β_b ~ Dir(a + M_b) in
turn. Every draw of P has a chain of its own, so nothing of one draw of P lingers in the next; each
chain starts from an approximation of its target, and a few sweeps are enough.

Inside, classes come first and draws last, (K, …, G, R): each step then works on long rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.contingency import solve_Q

__all__ = ["allocate_groups", "base_rates", "log_ratios"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SWEEPS = 3
"""Sweeps for each draw of P; `bench/groups.py` measures what is left of the start."""

# A rate that underflowed to 0 would leave a predicted unit without any class: 0/0. The product of
# three of these is still a positive float.
TINY = 1e-100


def allocate_groups(
    P: Floats,
    a: Floats,
    v_hat: Integers,
    known: Floats,
    rng: np.random.Generator,
    *,
    tilt: tuple[Floats, Floats] | None = None,
    sweeps: int = SWEEPS,
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
        For totals, powers and the mean value r_g of each true class: the last draw of M has
        c_gh ∝ β_bg p_gh r_g^power_bh (`totals.value_power`), so that units are allocated as
        they are met when value, not a unit, is picked at random.
    sweeps : int
        How often M and β_b are drawn in turn, from the start on.
    """
    rows = np.maximum(np.ascontiguousarray(np.moveaxis(P, 0, -1)), TINY)  # (K, K, R)
    shape = np.ascontiguousarray(a.T)[:, None, :] + known.T[:, :, None]  # (K, G, R)
    beta = _start(rows, a, v_hat, known, rng)
    for _ in range(sweeps - 1):
        M = _draw_columns(beta, rows, v_hat, rng)
        beta = rng.standard_gamma(shape + M.sum(axis=1))
        np.maximum(beta, TINY, out=beta)
    return _draw_columns(np.maximum(beta, TINY), rows, v_hat, rng, tilt)


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


def _start(
    rows: Floats, a: Floats, v_hat: Integers, known: Floats, rng: np.random.Generator
) -> Floats:
    """Draw β (K, G, R), not normalised, near its posterior given each draw of P.

    One step of the expectation map F from the fixed point β̄ at the mean of P, stretched by
    (I − ∂F/∂β)⁻¹, follows the fixed point to first order as P varies (Newton's step). The same
    factor turns the variance for known classes into that for unknown ones (Dempster, Laird and
    Rubin 1977), and a Dirichlet with that much variance is the start.
    """
    P_mean, a_mean = rows.mean(axis=-1), a.mean(axis=0)
    total = a_mean.sum() + known.sum(axis=1) + v_hat.sum(axis=1)
    centre, stretch = _fixed_point(P_mean, a_mean + known, v_hat)
    spread = centre * (1.0 - centre)
    trace = np.einsum("bgg,bg->b", stretch, centre) - np.einsum(
        "bgk,bk,bg->b", stretch, centre, centre
    )
    some = trace > 1e-12  # else one class has all but rounding
    size = (total + 1.0) * spread.sum(axis=1) / np.where(some, trace, 1.0) - 1.0
    size = np.where(some, np.maximum(size, 0.5), total)

    step = _expect_draws(centre, rows, a, v_hat, known)  # F(β̄) for each draw: (K, G, R)
    near = np.empty_like(step)
    for g in range(len(step)):
        near[g] = centre[:, g, None]
        for k in range(len(step)):
            near[g] += stretch[:, g, k, None] * (step[k] - centre[:, k, None])
    np.maximum(near, 0.2 * step, out=near)
    near *= size[:, None] / near.sum(axis=0)
    start = rng.standard_gamma(near)
    return np.maximum(start, TINY, out=start)


def _expect_draws(
    centre: Floats, rows: Floats, a: Floats, v_hat: Integers, known: Floats
) -> Floats:
    """F(β̄; P_r, a_r) = (a + E[M | β̄]) / total, for each draw r: (K, G, R)."""
    counts = np.ascontiguousarray(a.T)[:, None, :] + known.T[:, :, None]
    for h in range(rows.shape[1]):
        weight = centre.T[:, :, None] * rows[:, h, None, :]
        counts += weight * (v_hat[:, h, None] / weight.sum(axis=0))
    return np.asarray(counts / counts.sum(axis=0))


def _fixed_point(P: Floats, shape: Floats, v_hat: Integers) -> tuple[Floats, Floats]:
    """β̄ = F(β̄) for each group, given one P, and (I − ∂F/∂β)⁻¹ there."""
    total = shape.sum(axis=1) + v_hat.sum(axis=1)
    beta = (shape + v_hat.sum(axis=1, keepdims=True) * _rates(shape)) / total[:, None]
    for step in range(15):
        mapped, slope = _map(beta, P, shape, v_hat, total)
        if step % 3 < 2:  # plain steps are slow and safe; every third is Newton's
            beta = mapped
            continue
        newton = beta + np.linalg.solve(slope, (mapped - beta)[:, :, None])[:, :, 0]
        beta = _rates(np.maximum(newton, 0.2 * mapped))
    _, slope = _map(beta, P, shape, v_hat, total)
    return beta, np.asarray(np.linalg.inv(slope))


def _map(
    beta: Floats, P: Floats, shape: Floats, v_hat: Integers, total: Floats
) -> tuple[Floats, Floats]:
    """F(β) (G, K) and I − ∂F/∂β (G, K, K)."""
    ratio = v_hat / (beta @ P) / total[:, None]  # v̂_h / π_h, per unit
    gain = ratio @ P.T
    mapped = shape / total[:, None] + beta * gain
    curve = np.einsum("bh,gh,kh->bgk", ratio / (beta @ P), P, P)
    slope = beta[:, :, None] * curve
    diagonal = np.arange(len(P))
    slope[:, diagonal, diagonal] += 1.0 - gain
    return mapped, slope


def _rates(x: Floats) -> Floats:
    return np.asarray(x / x.sum(axis=-1, keepdims=True))


def base_rates(P: Floats, v_hat: Integers, *, steps: int = 200) -> Floats:
    """The population's base rates β (R, K) that make v̂ most likely given each draw of P.

    For P in Θ_K(v̂) they are Qv̂/N; for others the nearest in likelihood, never negative. The
    expectation map, started from Qv̂ where that is permissible.
    """
    N = v_hat.sum()
    beta = solve_Q(P, v_hat / N)
    inside = np.isfinite(beta).all(axis=1) & (beta > 0).all(axis=1)
    outside = ~inside
    if outside.any():
        K = P.shape[1]
        x, rows = np.full((int(outside.sum()), K), 1.0 / K), np.maximum(P[outside], TINY)
        for _ in range(steps):
            pi = np.einsum("rg,rgh->rh", x, rows)
            x = x * np.einsum("rgh,rh->rg", rows, v_hat / N / pi)
        beta[outside] = _rates(np.maximum(x, TINY))
    return _rates(beta)
