"""Antoniak's tables: the auxiliary counts that make a Dirichlet-multinomial conjugate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers

EACH = 64
"""Tables of a cell's first 64 units of a class are drawn unit by unit, the rest by moments."""


def tables_of(n: Integers) -> Callable[[Floats, np.random.Generator], Floats]:
    """Prepare Antoniak's tables: t(a, rng) draws Σ_i Bernoulli(a/(a + i)), i = 0 … n − 1.

    Beyond the first EACH units, a rounded normal has the sum's mean and variance; a Poisson has its
    mean where that is below 5.
    """
    flat = n.ravel()
    first = (flat > 0).astype(float)
    some = np.flatnonzero(flat > 1)
    more = np.minimum(flat[some], EACH) - 1
    start = np.cumsum(more) - more
    i = 1.0 + np.arange(more.sum()) - np.repeat(start, more)
    big = np.flatnonzero(flat > EACH)
    units = flat[big].astype(float)

    def draw(a: Floats, rng: np.random.Generator) -> Floats:
        a = a.ravel()
        p, t = np.repeat(a[some], more), first.copy()
        if len(some):
            t[some] += np.add.reduceat((rng.random(len(p)) * (p + i) < p).astype(float), start)
        if len(big):
            s = np.maximum(a[big], 1e-12)
            mean = s * (special.digamma(s + units) - special.digamma(s + EACH))
            less = s**2 * (special.polygamma(1, s + EACH) - special.polygamma(1, s + units))
            spread = np.sqrt(np.maximum(mean - less, 0.0))
            normal = np.rint(mean + spread * rng.standard_normal(len(s)))
            rest = np.where(mean < 5, rng.poisson(np.minimum(mean, 5.0)), normal)
            t[big] += np.clip(rest, 0.0, units - EACH)
        return np.asarray(t.reshape(n.shape))

    return draw
