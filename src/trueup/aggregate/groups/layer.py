"""Error rates that differ between groups: how far, learned from the audited units in them.

With one P for all, a group's columns are c̃_gℓ ∝ c_gℓ β_bg/β_g: the whole's own columns, tilted by
the group's base rates, which its predictions tell. Where rates differ, predictions tell less, and
columns differ beyond the tilt. Two numbers say how much:

    c̃_gℓ ∝ c_gℓ (1 − λ + λ β_bg/β_g),     c^(b)_·ℓ ~ Dir(κ s_ℓ c̃_·ℓ).

λ = 1 and κ → ∞ is one P for all; λ = 0 ignores what a group's predictions say of its base rates.
Two families are weighed against each other. In "rows", each row of P varies as Dir(κ p_g): s_ℓ is
what that implies for the columns, by the delta method, and λ is close to the part of the
differences between the groups' predictions that rows leave to base rates. In "columns", s = 1 and
λ is free. The audited units of a cell are Dirichlet-multinomial given (family, λ, κ), which is
drawn on a grid; c^(b) given them is a Dirichlet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics import special

__all__ = ["Layer", "draw_layer", "learn_layer"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ONE_P = 0.2
"""Prior probability of one P for all groups: the last κ of the grid, with λ = 1."""
KAPPAS = np.append(np.exp(np.linspace(np.log(2.0), np.log(1500.0), 20)), 1e6)
POWER = -0.5
"""Grid of κ, and the power of κ in its prior, per unit of log κ."""
LAMBDAS = np.linspace(0.0, 1.0, 5)
FREE = np.array([1.0, 1.0, 1.0, 1.0, 3.0])
LINK = 0.1
"""Grid of λ; its prior in "columns", which favours one P; how closely λ follows κ in "rows"."""
LEAST = 0.5
"""Least concentration of a column."""


class Layer(NamedTuple):
    """Draws of λ (R,) and of the columns' concentrations κs (R, L)."""

    lam: Floats
    kappa: Floats


def learn_layer(
    n: Integers,
    v_hat: Integers,
    c: Floats,
    rows: Floats,
    beta: Floats,
    tilt: Floats,
    size: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Draw λ, κ and whether the family is "rows", `size` of each, given the audited units.

    Parameters
    ----------
    n : (B, K, L) ndarray of int
        Audited units of each group.
    v_hat : (B, L) ndarray of int
        Units of each group.
    c, rows, beta : (S, K, L), (S, K, L) and (S, K) ndarray
        Some draws of the whole's columns, of P and of the base rates.
    tilt : (S, B, K) ndarray
        β_b/β of the groups on the same draws, from their predictions alone.
    size : int
        How many draws to make.
    rng : numpy.random.Generator
        Source of randomness.
    """
    b, g, cell = np.nonzero(n)
    units = n[b, g, cell].astype(float)
    part, at = np.nonzero(n.sum(axis=1))
    total = n.sum(axis=1)[part, at].astype(float)
    scale = column_scale(rows, c)  # (S, L)
    fit = np.empty((2, len(LAMBDAS), len(KAPPAS), len(c)))
    for j, lam in enumerate(LAMBDAS):
        r = 1 - lam + lam * tilt  # (S, B, K)
        norm = np.einsum("skl,sbk->sbl", c, r)[:, b, cell]
        mean = c[:, g, cell] * r[:, b, g] / norm  # (S, audited cells)
        for f, s in enumerate((scale, np.ones_like(scale))):
            for i, kappa in enumerate(KAPPAS):
                k = np.maximum(kappa * s, LEAST)
                x = k[:, cell] * mean
                seen = (special.gammaln(x + units) - special.gammaln(x)).sum(axis=1)
                k = k[:, at]
                all_ = (special.gammaln(k + total) - special.gammaln(k)).sum(axis=1)
                fit[f, j, i] = seen - all_
    link = -0.5 * ((LAMBDAS[:, None] - _left_to_base_rates(v_hat, rows, beta)) / LINK) ** 2
    link -= np.log(np.exp(link).sum(axis=0))
    free = np.repeat(np.log(FREE / FREE.sum())[:, None], len(KAPPAS), axis=1)
    free[:, -1] = np.where(LAMBDAS == 1, 0.0, -np.inf)
    log_p = fit + (np.stack([link, free]) + _log_prior())[..., None]
    p = np.exp(log_p - log_p.max()).sum(axis=-1)
    pick = rng.choice(p.size, size, p=p.ravel() / p.sum())
    at_family, at_lam, at_kappa = np.unravel_index(pick, p.shape)
    return LAMBDAS[at_lam], KAPPAS[at_kappa], at_family == 0


def _log_prior() -> Floats:
    """Log prior of each κ."""
    p = KAPPAS**POWER
    p[:-1] *= (1 - ONE_P) / p[:-1].sum()
    p[-1] = ONE_P
    return np.asarray(np.log(p))


def column_scale(rows: Floats, c: Floats) -> Floats:
    """Return s (S, L): columns vary as Dir(κs c) where rows vary as Dir(κ p), by the delta method.

    p_gℓ then has the relative variance V = (1 − p)/(pκ), and a column's Σ_g Var(c_gℓ) is set
    against that of a Dirichlet, Σ_g c(1 − c)/(κs).
    """
    V = (1 - rows) / np.maximum(rows, 1e-9)
    own = c**2 * V
    var = c**2 * ((1 - 2 * c) * V + own.sum(axis=1, keepdims=True))
    return np.asarray((c * (1 - c)).sum(axis=1) / np.maximum(var.sum(axis=1), 1e-12))


def _left_to_base_rates(v_hat: Integers, rows: Floats, beta: Floats) -> Floats:
    """The part of the variance of predictions between groups that rows with κ leave, per κ."""
    size, N = v_hat.sum(axis=1), max(int(v_hat.sum()), 1)
    pi = v_hat.sum(axis=0) / N
    B = max(len(v_hat), 2)
    apart = v_hat / np.maximum(size, 1)[:, None] - pi
    seen = (size[:, None] * apart**2).sum() / N * B / (B - 1) - B * (pi * (1 - pi)).sum() / N
    P, base = rows.mean(axis=0), beta.mean(axis=0)
    of_rows = (base[:, None] ** 2 * P * (1 - P)).sum() / (KAPPAS + 1)
    return np.asarray(np.clip(1 - of_rows / max(float(seen), 1e-12), 0.0, 1.0))


def draw_layer(
    layer: Layer, c: Floats, tilt: Floats, n: Floats, rng: np.random.Generator
) -> Floats:
    """Draw the groups' columns c^(b) (K, r, L, B).

    `c` (r, K, L) are the whole's columns, `tilt` (K, r, B) is β_b/β, `n` (B, K, L) the audited
    units.
    """
    lam = layer.lam[:, None]
    mean = c.transpose(1, 0, 2)[..., None] * (1 - lam + lam * tilt)[:, :, None]
    mean /= mean.sum(axis=0)
    mean *= layer.kappa[None, :, :, None]
    mean += n.transpose(1, 2, 0)[:, None]
    drawn = np.maximum(rng.standard_gamma(mean), 1e-300)
    drawn /= drawn.sum(axis=0)
    return drawn
