"""Dirichlet draws from gammas.

A row p ~ Dir(a) is X / ΣX with independent X_h ~ Gamma(a_h). Everything is kept in logs: at
a = 0.01 one gamma in a thousand is below the smallest double, and its logarithm is still needed.
Arrays are (..., K, C): classes, then chains.
"""

import numpy as np
from numpy.typing import ArrayLike

from trueup.numerics.arrays import Floats, Rng

# Below this shape NumPy's gamma draws underflow to 0 often enough for a row of zeros:
# Pr(X < 1e-308) is about 10^(-308·shape), 1e-31 at 0.1.
SMALL_SHAPE = 0.1
CHUNK = 16_000
"""Numbers that stay in the processor's cache while they are made."""
MOST_POWER = 64


def draw_dirichlet(a: ArrayLike, size: int, rng: Rng) -> Floats:
    """Draw (size, …, K) from Dir(a), one distribution for each row of `a` (…, K)."""
    a = np.asarray(a, float)
    shape = (size, *a.shape)
    if a.min() >= SMALL_SHAPE:
        x = rng.standard_gamma(a, size=shape)
    else:  # X ~ Gamma(a) is Gamma(a + 1)·U^(1/a): stay in logs until the largest is divided out
        log_x = np.log(rng.standard_gamma(a + 1, size=shape)) - rng.standard_exponential(shape) / a
        x = np.exp(log_x - log_x.max(axis=-1, keepdims=True))
    x /= np.einsum("...h->...", x)[..., None]  # twice as fast as x.sum() over a short axis
    return x


def log_gamma(a: Floats, shape: tuple[int, ...], rng: Rng) -> Floats:
    """Logarithms of Gamma(a) draws: G(a) is G(a + 1) U^(1/a), so log G(a) cannot underflow."""
    x = rng.standard_gamma(a + 1.0, size=shape)
    np.log(x, out=x)
    e = rng.standard_exponential(shape)
    e /= a
    x -= e
    return x


def fast_generator(rng: Rng) -> Rng:
    """A generator seeded by another one that draws gammas in seven eighths of the time."""
    return np.random.Generator(np.random.SFC64(rng.integers(2**63, size=4)))


class GammaDraws:
    """Gamma(a) draws, equal shapes together: NumPy is slow for arrays of shapes.

    Most cells of a test set are empty and have the prior's 1/K alone: see `_gammas_of_part`.
    """

    def __init__(self, a: Floats) -> None:
        shapes, which = np.unique(a, return_inverse=True)
        which = which.reshape(a.shape)
        self.cells = [(float(shape), np.nonzero(which == i)) for i, shape in enumerate(shapes)]

    def fill(self, out: Floats, rng: Rng) -> None:
        """Write draws into `out` (…, C)."""
        size = out.shape[-1]
        for shape, cells in self.cells:
            power, many = round(1.0 / shape) if shape < 1.0 else 0, len(cells[0])
            if 1 < power <= MOST_POWER and abs(power * shape - 1.0) < 1e-12:
                step = max(CHUNK // size, 1)
                for i in range(0, many, step):
                    some = tuple(x[i : i + step] for x in cells)
                    x = _gammas_of_part(power, len(some[0]) * size, rng)
                    out[some] = x.reshape(-1, size)
            else:
                out[cells] = rng.standard_gamma(shape, size=(many, size))


def _gammas_of_part(power: int, size: int, rng: Rng) -> Floats:
    """Gamma(1/power) draws: U^power, kept with probability e^−x, or else 1 + an exponential.

    These are the two parts of Ahrens and Dieter's envelope (1974), without a logarithm.
    """
    a = 1.0 / power
    beyond = a / (np.e + a)
    u, v, x = rng.random(size), rng.random(size), np.ones(size)
    u -= beyond
    u *= 1.0 / (1.0 - beyond)
    tail = np.flatnonzero(u < 0.0)
    u[tail] = 0.0
    while power:
        if power % 2:
            x *= u
        u *= u
        power //= 2
    doubtful = np.flatnonzero(v > 1.0 - x)  # e^−x ≥ 1 − x
    again = doubtful[v[doubtful] > np.exp(-x[doubtful])]
    x[tail] = y = 1.0 + rng.standard_exponential(len(tail))
    again = np.concatenate([again, tail[v[tail] > y ** (a - 1.0)]])
    x[again] = rng.standard_gamma(a, size=len(again))
    return x


def normalise(x: Floats) -> tuple[Floats, Floats]:
    """Rows and log rows (P, log P) from log gammas x, which it overwrites; classes on axis −2."""
    x -= x.max(axis=-2, keepdims=True)
    P = np.exp(x)
    total = P.sum(axis=-2, keepdims=True)
    P /= total
    x -= np.log(total)
    return P, x


def dirichlet(a: Floats, chains: int, rng: Rng) -> tuple[Floats, Floats]:
    """Independent draws of Dir(a) over the last axis of `a`, and their logs: (..., K, chains)."""
    return normalise(log_gamma(a[..., None], (*a.shape, chains), rng))


def log_add(x: Floats, y: Floats) -> Floats:
    """Compute log(e^x + e^y); six times faster than `numpy.logaddexp`, whose loop is scalar."""
    top = np.maximum(x, y)
    return np.asarray(top + np.log(1.0 + np.exp(np.minimum(x, y) - top)))


def normal(x: Floats, axis: int) -> Floats:
    """Normalise logs: their exponentials sum to 1 over the axis."""
    x = x - x.max(axis=axis, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=axis, keepdims=True)))
