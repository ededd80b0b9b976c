"""From the table's own units and totals to those of a larger population that it is a sample of.

The n units of the table are draws from that population, z_i = w_i y_i with survey weights, each in
one cell of true and predicted class. Given the table's M, the population's shares of the classes
are Dir(γ + M_g·), since β ~ Dir(γ) before: with the M of `full` they are draws from the posterior
of β, and those of a finite population are Dirichlet-multinomial. The mean of class g differs from
the table's by an error of variance s²_g/M_g. So that the sums of n other units have the covariance
of n draws with replacement,

    n/(n − 1) (diag(S) − U Uᵀ/n),   S_g = Σ_{i in g} z_i²,

less the part 1 − n/N of it if the table is n of N units: those are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.numerics.arrays import Floats, Integers

__all__ = ["class_squares", "larger_matrix", "larger_totals"]


def larger_matrix(
    M: NDArray[np.float64], size: float, gamma: Floats, rng: np.random.Generator
) -> Floats:
    """Draw the larger population's units (R, K, L) by true and predicted class.

    `M` are those of the table, `gamma` (K,) the prior of the shares of the classes; how the γ_g of
    a class are spread over its cells has no effect on its share. Of an infinite
    population they are shares times the table's units.
    """
    R, K, L = M.shape
    M = np.maximum(M, 0.0)
    N = M.sum(axis=(1, 2), keepdims=True)
    share = rng.standard_gamma(M + gamma[:, None] / L)
    share /= share.sum(axis=(1, 2), keepdims=True)
    if np.isinf(size):
        return np.asarray(share * N)
    left = round(size - float(N[0, 0, 0]))
    return np.asarray(M + rng.multinomial(left, share.reshape(R, -1)).reshape(R, K, L))


def class_squares(U: Floats, M: Integers, v: Integers, u: Floats, w: Floats) -> Floats:
    """Return Σz² of each class (R, K), given its total U (R, K) and units M (R, K, L).

    Those of predicted label h have v, u and w (L,) units, Σz and Σz². A class's values vary about
    its own mean as those of its predictions do about theirs.
    """
    units = np.maximum(v, 1)
    squares, mean = M @ (w / units), M @ (u / units)
    usual = (U > 0) & (mean > 0)
    return np.asarray(squares * np.where(usual, U / np.where(usual, mean, 1.0), 1.0) ** 2)


def larger_totals(
    U: Floats, S: Floats, m: Floats, units: Floats, known: bool, rng: np.random.Generator
) -> Floats:
    """Draw the larger population's totals (R, K) from those of the table, U.

    `S` are the table's Σz² of each class, `m` its units and `units` those of the larger population.
    If these are `known` to hold the table's (N is finite), its part is exact. Positive totals stay
    positive: the mean of the other units has a lognormal factor. Totals that may be negative get
    normal errors.
    """
    some = m > 0
    size = np.where(some, m, 1.0)
    mean = np.where(some, U / size, 0.0)
    variance = np.maximum(S / size - mean**2, 0.0) / np.maximum(size - 1, 1.0)  # of the mean
    more = units - m if known else units
    if known:  # units that are not in the table have a mean of their own
        variance = variance * (1 + m / np.maximum(more, 1.0))
    normal = rng.standard_normal(U.shape)
    if bool((U >= 0).all()):
        log = np.log1p(variance / np.where(mean > 0, mean, 1.0) ** 2)
        mean = mean * np.exp(np.sqrt(log) * normal - log / 2)
    else:
        mean = mean + np.sqrt(variance) * normal
    return np.asarray(more * mean + (U if known else 0.0))
