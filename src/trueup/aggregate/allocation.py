"""From draws of the error rates to draws of the counts and totals.

The paper stops at Qû. Three things are added here: which units were misclassified is random too,
so the units predicted as each class are allocated to true classes at random; totals of y ≥ 0 are
never negative; and audited units are known (the caller takes them out first). Draws that would be
impermissible are conditioned away with weights, never clipped.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.means import Audited
from trueup.aggregate.values import totals_given_allocation
from trueup.count.counts import Counts
from trueup.draws.contingency import solve_Q
from trueup.draws.settings import Settings
from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.blocks import in_blocks


class Weighted(NamedTuple):
    """Draws u (R, K) with the log of their weight (R,): minus infinity is impermissible.

    `M` (R, K, L) are the units behind them: of true class g and predicted h.
    """

    u: Floats
    log_weight: Floats
    M: NDArray[Any]


def allocate(c: Floats, v_hat: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
    """Draw how many of the v̂_h units predicted h belong to each true class: Mult(v̂_h, c_·h).

    `c` is (R, K, L) with columns that sum to 1, c_gh = Pr(s = g | ŝ = h); M has the same shape.
    """
    if c.shape[1] == 2:
        first = rng.binomial(v_hat, np.minimum(c[:, 0, :], 1.0))
        return np.stack([first, v_hat - first], axis=1)
    return np.swapaxes(rng.multinomial(v_hat, np.swapaxes(c, 1, 2)), 1, 2)


def rest_aggregates(c: Floats, P: Floats, rest: Counts, settings: Settings) -> Weighted:
    """Draw the counts or totals of the units that were not audited, given c and P.

    Without noise, units are split in the expected proportions and totals are the paper's Qû, of
    which the impermissible ones have no weight.
    """
    even, noise, rng = np.zeros(len(c)), settings.noise, settings.rng
    if not noise and not rest.totals:
        return Weighted(c @ rest.v_hat, even, c * rest.v_hat)
    if not noise:
        u = solve_Q(P, rest.naive)
        inside = (u >= 0).all(axis=1) | rest.signed
        return Weighted(u, np.where(inside, 0.0, -np.inf), c * rest.v_hat)

    def some(part: slice, rng: Rng) -> Weighted:
        M = allocate(c[part], rest.v_hat, rng)
        if rest.u_hat is None:
            return Weighted(np.einsum("rgh->rg", M).astype(float), even[part], M)
        audited = (
            Audited(rest.n, rest.t, rest.t2)
            if settings.values_carry and rest.t is not None
            else None
        )
        u, log_weight = totals_given_allocation(
            M, rest.u_hat, squares(rest), rng, rest.signed, audited
        )
        return Weighted(u, log_weight, M)

    found = list(in_blocks(some, len(c), c[0].size, rng))
    return Weighted(*(np.concatenate(x) for x in zip(*found, strict=True)))


def squares(counts: Counts) -> Floats:
    """Σy² per predicted class; if it was not given, the least it can be: equal values."""
    assert counts.u_hat is not None
    if counts.w_hat is not None:
        return counts.w_hat
    return np.asarray(counts.u_hat**2 / np.maximum(counts.v_hat, 1))
