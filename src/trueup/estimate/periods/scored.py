"""Scores in periods: how the scores of a class's units are spread is the same in all of them.

A label is a predicted class h and a band s of the score. In the audited periods Pr(true | label) is
learned as elsewhere (`estimate.cell_totals`); with the shares of the labels there it gives P_g,hs,
the error rates by label, which hold for all periods. The scores of a period then tell more of its
base rates than its predicted classes do. If recalls drift, P_gh does, and the spread of the score
given g and h stays.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts, split
from trueup.count.parts import GroupCounts
from trueup.draws.settings import Settings
from trueup.estimate.methods import METHODS
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.dirichlet import draw_dirichlet

LEAST = 1e-12


class Scored(NamedTuple):
    """Periods (T) by label, and draws of P_g,hs (R, K, K·S) or of Pr(true g | label)."""

    counts: Counts
    x: Floats

    def rates(self, q: Floats | None, size: int, rng: Rng) -> Floats:
        """Return P_g,hs (size, K, K·S), unnormalised: the units of g that random audits would have.

        q (size, A, K) are the shares of predicted classes in the audited periods, if the test set
        was drawn from these.
        """
        x = self.x[np.arange(size) % len(self.x)]
        if q is None:
            return x
        n, v_hat, K = self.counts.n, self.counts.v_hat, x.shape[1]
        audited = np.flatnonzero(n.any(axis=(1, 2)))
        shares = np.zeros(x[:, 0].shape)
        for a, t in enumerate(audited):
            bands = draw_dirichlet(v_hat[t].reshape(K, -1) + 0.5, size, rng)
            shares += n[t].sum() * (q[:, a, :, None] * bands).reshape(size, -1)
        return np.asarray(x * shares[:, None])

    def units(self, overlap: bool) -> Integers:
        """Return the units (T, K·S) that were not audited."""
        rest, _ = split(self.counts, overlap)
        return rest.v_hat


def spread(P: Floats, fine: Floats) -> Floats:
    """Spread error rates (R, …, K, K) over the bands as `fine` (R, K, K·S) does."""
    each = fine.reshape(*fine.shape[:2], fine.shape[1], -1)
    each = each / each.sum(axis=3, keepdims=True)
    found = P[..., None] * (each if P.ndim == 3 else each[:, None])
    return np.asarray(found.reshape(*P.shape[:-1], -1))


def by_class(M: NDArray[Any], K: int) -> NDArray[Any]:
    """Add up (…, K·S) over the bands of each of K predicted classes."""
    return np.asarray(M.reshape(*M.shape[:-1], K, -1).sum(axis=-1))


def learn_scores(
    found: GroupCounts, order: Integers, settings: Settings
) -> tuple[Scored, dict[str, Any]] | None:
    """Learn rates by label from the audited periods; also what the chain says of itself.

    Base rates outside the audited periods must not be mixed with theirs, so that these periods are
    the population here. A test set from elsewhere has all of them. None without a score.
    """
    banded, whole = found.banded, found.whole
    if banded is None or whole.bands is None:
        return None
    counts = banded.counts.part(order)
    audited = counts.n.any(axis=(1, 2)) if settings.from_population else slice(None)
    cells = replace(whole.bands, v_hat=counts.v_hat[audited].sum(axis=0))
    pool = replace(whole, v_hat=by_class(cells.v_hat, whole.K), bands=cells)
    answer = METHODS[settings.method](pool, replace(settings, banded=banded))
    assert answer.cells is not None
    assert answer.beta is not None
    x = np.maximum(answer.cells, LEAST)
    if settings.from_population:
        x = x * answer.beta[:, :, None]
        x /= x.sum(axis=1, keepdims=True)
    names = ("score_bands", "score_slope", "calibration", "rhat", "warnings")
    return Scored(counts, x), {name: answer.info[name] for name in names if name in answer.info}
