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

Units may be drawn within *lots* of several cells, such as all bands of a predicted class in a
stratum: the label is then one of a random unit of the lot, of rate Σ W_ℓ c_ℓ, W_ℓ = v_ℓ/v the
cell's part of the lot. And a figure may be of a group, the total of its own cells alone.
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
    `lot` and `group` (L,): the lot and the group that each cell is in; by default each cell is a
    lot, and there is one group.
    """

    mean: Floats
    cov: Floats
    spread: Floats
    v: Integers
    u: Floats
    w: Floats
    lot: Integers | None = None
    group: Integers | None = None

    @property
    def parts(self) -> Floats:
        """Return the part W (M, L) that each cell has of its lot's units."""
        if self.lot is None:
            return np.eye(len(self.v))
        inside = (np.arange(self.lot.max() + 1)[:, None] == self.lot).astype(float)
        units = inside @ self.v
        even = inside / np.maximum(inside.sum(axis=1), 1)[:, None]
        some = units[:, None] > 0
        return np.asarray(np.where(some, inside * self.v / np.where(some, units[:, None], 1), even))

    @property
    def groups(self) -> Floats:
        """Return which cells are in each group: ones and zeros (B, L)."""
        if self.group is None:
            return np.ones((1, len(self.v)))
        return np.asarray(np.arange(self.group.max() + 1)[:, None] == self.group, dtype=float)


@dataclass(frozen=True, eq=False)
class Advice:
    """Labels per lot (M,), and the variance of each figure (G, B) before and after them."""

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

    `scale` (G, B) is the standard deviation wanted of each figure: a label serves the one that is
    furthest above it. `cost` (M,) is what a label costs in each lot.

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
    mean, cov, W = known.mean, known.cov.copy(), known.parts
    y, y2 = (x / np.maximum(known.v, 1) for x in (known.u, known.w))
    lots = np.rint(W.astype(bool) @ known.v.astype(float))
    left, given = lots.copy(), np.zeros(len(lots), np.int64)
    told = np.einsum("ml,glk->gmk", W, cov)  # Cov(rate of the lot, rate of the cell)
    own = np.einsum("gml,ml->gm", told, W)
    # E[r(1 − r)] of a lot's rate r: that of its cells, and how far their rates lie apart
    squares = (np.diagonal(cov, axis1=1, axis2=2) + mean**2) @ W.T
    spread = known.spread @ W.T + np.maximum(squares - own - (mean @ W.T) ** 2, 0.0)

    def variances() -> tuple[Floats, Floats]:
        """Variance (G, B) of the totals of the units that are left, and these units' values."""
        units = (left / np.maximum(lots, 1)) @ W.astype(bool) * known.v
        x = known.groups * units * y
        chance = np.einsum("gl,bl->gb", known.spread, known.groups * units * y2)
        return np.asarray(np.einsum("gbl,bl->gb", x @ cov, x) + chance), x

    before = variances()[0]
    scale = np.ones(before.shape) if scale is None else np.reshape(scale, before.shape)
    count = int(min(count, known.v.sum()))
    step = max(1, count // STEPS)
    while given.sum() < count:
        k = np.minimum(min(step, count - int(given.sum())), left)
        now, x = variances()
        g, b = np.unravel_index(int((now / scale**2).argmax()), now.shape)
        learned = (told[g] @ x[b]) ** 2 / np.maximum(spread[g] / np.maximum(k, 1) + own[g], 1e-300)
        known_now = known.groups[b] * (2 * y * (cov[g] @ x[b]) + known.spread[g] * y2)
        gain = np.where(left > 0, (learned + k * (W @ known_now)) / (np.maximum(k, 1) * cost), -1.0)
        # where nothing is uncertain there is nothing to gain: to the largest lot
        lot = int(gain.argmax()) if gain.max() > 0 else int(left.argmax())
        for i in range(len(mean)):
            column, other = told[i][lot].copy(), told[i] @ W[lot]
            noise = max(spread[i][lot] / k[lot] + own[i][lot], 1e-300)
            cov[i] -= np.outer(column, column) / noise
            told[i] -= np.outer(other, column) / noise
            own[i] -= other**2 / noise
        given[lot] += int(k[lot])
        left[lot] -= k[lot]
    return Advice(given, before, variances()[0])
