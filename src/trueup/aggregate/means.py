"""What audited values say of the mean value of each true class within each predicted one.

The mean of cell (g, h) is μ_g + ε_gh. The cell's audited units have mean t_gh/n_gh with variance
σ²_gh/n_gh, so with ε_gh ~ N(0, ω²) and B = ω²/(ω² + σ²_gh/n_gh)

    μ_g + ε_gh  given the audited values and μ_g  ~  N(B t_gh/n_gh + (1 − B)μ_g, (1 − B)ω²):

the cell's own mean as far as it can be believed, and the class's for the rest. How far cells of one
class differ (ω, relative to the class's values) is learned from all classes, and how far a class
is from the others (τ_g) from its own audited values, both on a grid: half-Cauchy, so that cells of
one class are alike unless the values show otherwise, and a class may be a hundred times as large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.arrays import Floats, Rng

APART = 0.2
"""Prior scale of ω, relative to the values of the class."""
GRID = np.r_[0.0, np.geomspace(0.02, 20.0, 30)]
"""Values of ω / the class's typical value, and (without 0, times 10) of τ_g / τ."""
FAR = 2.0
"""Squared relative distance between class means at which one weighs prior and test set alike."""
PASSES = 3
"""Typical values and variances depend on each other; more passes change nothing to be seen."""
LEAST = 1e-6
LEAST_FACTOR = 0.25
"""The population's Σy² may shrink variances to this part: cell sizes are uncertain."""


@dataclass(frozen=True, eq=False)
class Audited:
    """The test set: units n, Σy and Σy² (or None) per true and predicted class (K, K)."""

    n: NDArray[np.int64]
    t: Floats
    t2: Floats | None

    def in_units_of(self, unit: float) -> Audited:
        """The same values, divided by `unit`."""
        t2 = None if self.t2 is None else self.t2 / unit / unit
        return Audited(self.n, self.t / unit, t2)


class Means(NamedTuple):
    """Cell means given μ_g: `known` + `slope`·μ_g (R, K, K), with variance `own`; μ_g ~ N(m, V).

    `sigma2` (K, K) is the variance of a unit within each cell.
    """

    known: Floats
    slope: Floats
    own: Floats
    m: Floats
    V: Floats
    sigma2: Floats


def learn_means(
    audited: Audited,
    M: Floats,
    w_hat: Floats,
    y_bar: float,
    tau2: float,
    signed: bool,
    size: int,
    rng: Rng,
) -> Means:
    """Draw `size` times what the audited values leave open about the means.

    `M` (K, K) are the units to allocate, as expected, true by predicted class, and `w_hat` (K,) is
    their Σy² per predicted class. `y_bar` is the population's mean and `tau2` the prior variance of
    the mean of a class without audited units. If some y is negative (`signed`), deviations are
    relative to the root mean square.
    """
    n, t = audited.n.astype(float), audited.t
    n_g = n.sum(axis=1)
    square = w_hat.sum() / max(M.sum(), 1.0)
    cv2 = square / y_bar**2 - 1.0 if y_bar else np.inf
    for _ in range(PASSES):
        typical = _typical(n, t, y_bar, min(max(cv2, 0.1), 1e9))
        if signed:
            typical = np.sqrt(typical**2 + square)
        typical = np.maximum(np.abs(typical), 1e-9)
        sigma2 = _variances(audited, typical, M, w_hat, cv2)
        cv2 = float((M * sigma2).sum() / (M * typical**2).sum())
    size_g = (n * typical).sum(axis=1) / np.maximum(n_g, 1)
    size_g = np.where(n_g > 0, size_g, typical[:, 0])
    cell = np.where(n > 0, t / np.maximum(n, 1), 0.0)
    error = np.where(n > 0, sigma2 / np.maximum(n, 1), np.inf)  # of the cell's mean

    omega = GRID[_draw(_log_apart(cell, error, size_g), size, rng)]  # (R,)
    own = np.square(omega[:, None] * size_g)[:, :, None]  # ω² (R, K, 1)
    precision = 1.0 / (own + error)  # of μ_g, from each cell
    total = precision.sum(axis=2)
    told = (precision * cell).sum(axis=2) / np.maximum(total, 1e-300)
    tau = _tau(told, total, n_g, y_bar, tau2, size, rng)
    V = 1.0 / (total + 1.0 / tau)
    m = V * (total * told + y_bar / tau)
    believed = np.where(n > 0, own * precision, 0.0)  # B
    return Means(
        known=believed * cell,
        slope=1.0 - believed,
        own=(1.0 - believed) * own,
        m=m,
        V=V,
        sigma2=sigma2,
    )


def _typical(n: Floats, t: Floats, y_bar: float, cv2: float) -> Floats:
    """Return each cell's typical value (K, K): the audited mean as far as so few units can tell.

    The mean of n units errs by a relative variance of cv²/n. Where tails are heavy a small mean
    comes with a small variance and would be believed: so a cell borrows cv² units of its class, and
    a class cv²/FAR units of the population. Without it 95% intervals covered 79% for a class of 10%
    with lognormal values, σ = 2, and 200 test units (`trueup verify`).
    """
    mean = (t.sum(axis=1) + cv2 / FAR * y_bar) / (n.sum(axis=1) + cv2 / FAR)
    return np.asarray((t + cv2 * mean[:, None]) / (n + cv2))


def _variances(audited: Audited, typical: Floats, M: Floats, w_hat: Floats, cv2: float) -> Floats:
    """σ²_gh (K, K): a relative variance per class from the audited units, scaled to fit ŵ.

    The sum over a predicted class of M(typical² + σ²) is its known Σy². With heavy tails that says
    more of the variance than any test set does. Variances err in proportion to themselves, so what
    is missing is split between two parties, the cell that has most of Mσ² and all others together,
    in proportion to the squares of their Mσ² (to Mσ² itself where the others have more): a class
    of large values decides ŵ, which says nothing of the others. With each cell's own square,
    fourteen wrong classes together got a thirtieth of it instead of a third
    (`studies/missing_squares.py`). A class's own variance counts as far as n units
    can tell it: a lognormal of that cv² has kurtosis w⁴ + 2w³ + 3w² − 3, w = 1 + cv².
    """
    relative = np.ones(len(typical))
    if audited.t2 is not None:
        within = audited.t2 - np.where(audited.n > 0, audited.t**2 / np.maximum(audited.n, 1), 0.0)
        freedom = np.maximum(audited.n - 1, 0).sum(axis=1)
        found = (np.maximum(within, 0.0) / typical**2).sum(axis=1)
        pooled = (found.sum() + 1.0) / (freedom.sum() + 1.0)
        w = 1.0 + min(cv2, 1e9)
        few = 0.5 * (w**4 + 2 * w**3 + 3 * w**2 - 4)  # (kurtosis − 1)/2
        relative = (found + few * pooled) / (freedom + few)
    sigma2 = np.maximum(relative, LEAST)[:, None] * typical**2
    part = M * sigma2
    left = w_hat - (M * typical**2).sum(axis=0) - part.sum(axis=0)
    most = part.max(axis=0)
    own = np.where(part == most, most, np.minimum(part.sum(axis=0) - most, most))
    factor = 1.0 + left * own / np.maximum((part * own).sum(axis=0), 1e-300)
    return np.asarray(sigma2 * np.maximum(factor, LEAST_FACTOR))


def _log_apart(cell: Floats, error: Floats, size_g: Floats) -> Floats:
    """Log posterior of ω on GRID: cell means are N(μ_g, ω² + error), μ_g flat."""
    var = np.square(GRID[:, None] * size_g)[:, :, None] + error
    weight = 1.0 / var
    total = weight.sum(axis=2)
    centre = (weight * cell).sum(axis=2) / np.maximum(total, 1e-300)
    seen = np.isfinite(error)
    several = seen.sum(axis=1) > 1
    log_var = np.where(seen, np.log(np.where(seen, var, 1.0)), 0.0).sum(axis=2)
    away = np.where(seen, weight * (cell - centre[:, :, None]) ** 2, 0.0).sum(axis=2)
    fit = -0.5 * (log_var + away + np.log(np.maximum(total, 1e-300)))
    return np.asarray(fit[:, several].sum(axis=1) + _log_half_cauchy(GRID, APART))


def _tau(
    told: Floats, total: Floats, n_g: Floats, y_bar: float, tau2: float, size: int, rng: Rng
) -> Floats:
    """Draw τ²_g (R, K), half-Cauchy, scaled by the spread of a class without audited units."""
    grid = 10 * GRID[1:]
    error = 1.0 / np.maximum(total.mean(axis=0), 1e-300)
    var = np.square(grid[:, None]) * tau2 + error
    fit = -0.5 * (np.log(var) + (told.mean(axis=0) - y_bar) ** 2 / var)
    log_p = fit + _log_half_cauchy(grid, 1.0)[:, None]
    found = np.empty((size, len(n_g)))
    for g in range(len(n_g)):
        found[:, g] = tau2 * grid[_draw(log_p[:, g], size, rng)] ** 2 if n_g[g] else tau2
    return found


def _log_half_cauchy(x: Floats, scale: float) -> Floats:
    """Log of the half-Cauchy mass around each point of a grid, its first point holding 0."""
    edges = np.r_[0.0, 0.5 * (x[1:] + x[:-1]), np.inf]
    return np.asarray(np.log(np.diff(np.arctan(edges / scale))))


def _draw(log_p: Floats, size: int, rng: Rng) -> NDArray[np.int64]:
    p = np.exp(log_p - log_p.max())
    return np.asarray(rng.choice(len(p), size, p=p / p.sum()))
