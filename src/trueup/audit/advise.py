"""How many labels each cell should get next: where the variance of the wanted figures falls most.

Units are in cells: the predicted class and, for totals, the band of the value that `correct` itself
uses. Let c_ℓ = Pr(s = g | cell ℓ), with mean and covariance C over the posterior that the pilot
leaves, and u_ℓ and w_ℓ the sums of y and y² of the cell's units that were not audited. The total of
class g among these has the variance

    u'Cu + Σ_ℓ s_ℓ w_ℓ,   s_ℓ = E[c_ℓ(1 − c_ℓ)]:

the uncertainty of the rates, and that of which units they are. A label of a random unit of cell ℓ
has the variance s_ℓ about c_ℓ, so that by linear Bayes it is expected to leave

    C − C_·ℓ C_ℓ· / (s_ℓ + C_ℓℓ),

and it takes an average unit out of u_ℓ and w_ℓ. With one Beta per predicted class that is exact; as
C has the cells' covariances, a label in one cell counts for those that resemble it. Labels are
handed out one by one, each where the variance falls most. A cell that is taken whole is known.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueup.errors import OptionError
from trueup.numerics.arrays import Floats, Integers

MOST_NEXT = 100_000
STEPS = 400
"""Labels are handed out one by one, or in so many equal portions."""


class Known(NamedTuple):
    """What is known of the cells for each class of interest, and the units not audited in them.

    `mean` (G, L), `cov` (G, L, L) and `spread` (G, L), E[c(1 − c)], of c; `v`, `u` and `w` (L,).
    """

    mean: Floats
    cov: Floats
    spread: Floats
    v: Integers
    u: Floats
    w: Floats


@dataclass(frozen=True, eq=False)
class Advice:
    """Labels per cell (L,), and the variance of each figure of interest before and after them."""

    labels: Integers
    before: Floats
    after: Floats


def dirichlet_columns(a: Floats, g: list[int], v: Integers, u: Floats, w: Floats) -> Known:
    """Columns that are independent: Dir(a_·ℓ)."""
    A = a.sum(axis=0)
    mean = a[g] / A
    var = mean * (1 - mean) / (A + 1)
    cov = var[:, :, None] * np.eye(a.shape[1])
    return Known(mean, cov, mean * (1 - mean) - var, v, u, w)


def advise(
    count: int, known: Known, scale: Floats | None = None, cost: Floats | float = 1.0
) -> Advice:
    """Divide labels over cells so that the variance of the figures of interest falls most.

    `scale` (G,) is the standard deviation wanted of each figure: a label serves the one that is
    furthest above it. `cost` (L,) is what a label costs in each cell.

    Examples
    --------
    Two predicted classes, one of which is perfectly known:

    >>> known = dirichlet_columns(np.array([[5.0, 1e-9], [5.0, 10.0]]), [0], np.array([100, 100]),
    ...                    np.array([100.0, 100.0]), np.array([100.0, 100.0]))
    >>> advise(3, known).labels
    array([3, 0])
    """
    if int(count) != count or not 1 <= count <= MOST_NEXT:
        raise OptionError(f"`next` must be a whole number from 1 to {MOST_NEXT:,}; got {count!r}.")
    G, L = known.mean.shape
    cov, left = known.cov.copy(), known.v.astype(float)
    y, y2 = known.u / np.maximum(left, 1), known.w / np.maximum(left, 1)
    scale = np.ones(G) if scale is None else scale
    given, before = np.zeros(L, np.int64), _variances(cov, known.spread, left, y, y2)
    count = int(min(count, known.v.sum()))
    step = max(1, count // STEPS)
    while given.sum() < count:
        k = np.minimum(min(step, count - int(given.sum())), left)
        u = left * y
        now = _variances(cov, known.spread, left, y, y2)
        worst = int((now / scale**2).argmax())
        C = cov[worst]
        noise = known.spread[worst] / np.maximum(k, 1) + np.diagonal(C)
        learned = (C @ u) ** 2 / np.maximum(noise, 1e-300)
        settled = 2 * k * y * (C @ u) + k * known.spread[worst] * y2
        gain = np.where(left > 0, (learned + settled) / (np.maximum(k, 1) * cost), -1.0)
        # where nothing is uncertain there is nothing to gain: to the largest cell
        cell = int(gain.argmax()) if gain.max() > 0 else int(left.argmax())
        for g in range(G):
            column = cov[g][:, cell]
            noise_g = known.spread[g][cell] / k[cell] + column[cell]
            cov[g] -= np.outer(column, column) / max(noise_g, 1e-300)
        given[cell] += int(k[cell])
        left[cell] -= k[cell]
    return Advice(given, before, _variances(cov, known.spread, left, y, y2))


def _variances(cov: Floats, spread: Floats, left: Floats, y: Floats, y2: Floats) -> Floats:
    """Variance (G,) of the totals of the units that are left."""
    u = left * y
    return np.asarray(np.einsum("l,glm,m->g", u, cov, u) + spread @ (left * y2))
