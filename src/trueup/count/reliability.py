"""How often predictions are right in each band of the score, and what the scores say of it.

The estimate believes only the order of the scores within a predicted class. Here they are compared
with what they say as probabilities, which users and other methods may believe.
"""

from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.numerics import special
from trueup.numerics.arrays import Floats

SCALES = {
    "probability": "probabilities",
    "log-probability": "log-probabilities (natural logarithm)",
    "margin": "margins, that is log odds",
}


def score_scale(score: Floats, units: Any) -> str:
    """What kind of number the scores are taken for, where they must be probabilities.

    Examples
    --------
    >>> score_scale(np.array([0.6, 0.9]), np.array([1, 1]))
    'probability'
    >>> score_scale(np.array([-2.0, -0.1]), np.array([1, 1]))
    'log-probability'
    """
    some = score[np.asarray(units) > 0]
    if (some >= 0).all() and (some <= 1).all():
        return "probability"
    return "log-probability" if (some <= 0).all() else "margin"


def as_probability(score: Floats, scale: str) -> Floats:
    """Return scores as probabilities that the predicted class is right."""
    if scale == "probability":
        return np.asarray(np.clip(score, 0.0, 1.0))
    if scale == "log-probability":
        return np.asarray(np.exp(np.minimum(score, 0.0)))
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -300.0, 300.0))))


def given_probabilities(counts: Counts) -> Floats:
    """The probability of each class in each cell if scores are believed: (K, L·B·S).

    What the predicted class does not have is divided equally between the other classes.
    """
    cells, K, L = counts.bands, counts.K, counts.L
    assert cells is not None
    assert cells.score is not None
    p = as_probability(cells.score, score_scale(cells.score, cells.v_hat))
    each = np.repeat(counts.same, cells.v_hat.size // L, axis=1)
    known = each.any(axis=0)
    rest = np.where(known, (1 - p) / (K - 1), 1 / K)
    return np.asarray(np.where(each, p, rest))


def reliability(counts: Counts, interval: float, learned: Any = None) -> list[dict[str, Any]]:
    """Return a row for each predicted class and band of its score.

    `given` is what the scores say as probabilities; `right` of `audited` units were predicted
    right, with the interval `lower` to `upper` for that share (Jeffreys). `learned` (3, L, S), the
    median and ends of the posterior of the share that is right, adds three figures more.
    """
    by_band = by_score(counts)
    if by_band is None:
        return []
    units, audited, right, given = by_band
    tail, rows = (1 - interval) / 2, []
    for h, label in enumerate(counts.predicted):
        for s in range(units.shape[1]):
            if label not in counts.classes or not units[h, s]:
                continue
            a, m = int(right[h, s]), int(audited[h, s])
            lower, upper = (special.betaincinv(a + 0.5, m - a + 0.5, q) for q in (tail, 1 - tail))
            row = {
                "predicted": label,
                "given": float(given[h, s]),
                "units": int(units[h, s]),
                "audited": m,
                "right": a,
                "lower": float(lower) if m else None,
                "upper": float(upper) if m else None,
            }
            if learned is not None:
                names = ("learned", "learned_lower", "learned_upper")
                row |= {name: float(x) for name, x in zip(names, learned[:, h, s], strict=True)}
            rows.append(row)
    return rows


def by_score(counts: Counts) -> tuple[Any, Any, Any, Floats] | None:
    """Units, audited units, those predicted right, and given probability: each (L, S)."""
    cells, L = counts.bands, counts.L
    if cells is None or cells.score is None or cells.score_bands == 1:
        return None
    S = cells.score_bands
    units = cells.v_hat.reshape(L, -1, S).sum(axis=1)
    n = cells.n.reshape(counts.K, L, -1, S).sum(axis=2)
    p = as_probability(cells.score, score_scale(cells.score, cells.v_hat)) * cells.v_hat
    given = p.reshape(L, -1, S).sum(axis=1) / np.maximum(units, 1)
    return units, n.sum(axis=0), (n * counts.same[..., None]).sum(axis=0), given
