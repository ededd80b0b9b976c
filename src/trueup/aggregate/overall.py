"""The overall accuracy under the prior "perks", without its bias.

That prior invents one unit for each predicted label, spread evenly over K true classes: nearly all
of it an error. Of one class that tells little, but in the overall accuracy the labels' errors add
up: with 15 classes and 30 audited units of each it was 1.3 standard deviations too low. So the
invented unit is right here as often as the audited units of all labels are.

With audit strata there are few units of a label in each, too few for an invented one: with 3 labels
in 4 strata it was 0.9 too low. There the mean and variance of units that were not audited are those
of stratified sampling (Cochran 1977, 5.6).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.aggregate.larger import larger_matrix
from trueup.count.counts import Counts, split
from trueup.draws.settings import FROM_POPULATION
from trueup.numerics.arrays import Floats, Integers, Rng


def overall_accuracy(counts: Counts, info: Mapping[str, Any], size: int) -> Floats | None:
    """Draw the overall accuracy (R,), or None where it is that of the draws of the classes.

    That is with two classes, labels that are not the classes, other priors and designs, where the
    error rates are of bands, `strata` or periods, or known, and where every audited unit was right.
    """
    by_label = info["method"] == "joint" and info["prior"] == "perks" and info["noise"]
    inside = counts.bands if info.get("audit strata") and info["bands"] == 1 else None
    names = ("strata", "period", "design_effect", *(() if inside else ("bands",)))
    if counts.K == 2 or counts.columns is not None or not by_label or any(map(info.get, names)):
        return None
    if info["design"] not in FROM_POPULATION:
        return None
    cells = counts if inside is None else inside
    rest, _ = split(cells, info["overlap"])
    rng = np.random.Generator(np.random.SFC64([info["seed"], 2]))
    each = cells.n.reshape(counts.K, counts.K, -1)  # by true class, label and stratum
    n, right = each.sum(axis=0), each[np.arange(counts.K), np.arange(counts.K)]
    if right.sum() in (0, n.sum()) or rest.N == 0:
        return None
    draw = _of_labels if inside is None else _of_strata
    units = draw(n, right, cells.v_hat.reshape(n.shape), rest.v_hat.reshape(n.shape), size, rng)
    units = units + (0 if rest is cells else right.sum())
    if (larger := info.get("sample_of")) is None:
        return np.asarray(units / counts.N, dtype=float)
    M = np.stack([units, counts.N - units], axis=1)[:, :, None]
    found = larger_matrix(M, float(larger), 0.0, rng)
    return np.asarray(found[:, 0, 0] / found.sum(axis=(1, 2)))


def _of_labels(
    n: Integers, right: Integers, v_hat: Integers, rest: Integers, size: int, rng: Rng
) -> Floats:
    """Draw how many of the units that were not audited, `rest`, are right."""
    v = np.where(n > 0, v_hat, 0)
    share = (v * right / np.maximum(n, 1)).sum() / max(v.sum(), 1)
    share = np.clip(share, 1e-9, 1 - 1e-9)  # a beta needs both
    p = rng.beta(right + share, n - right + 1 - share, (size, *n.shape))
    return np.asarray(rng.binomial(rest, p).sum(axis=(1, 2)), float)


def _of_strata(
    n: Integers, right: Integers, v_hat: Integers, rest: Integers, size: int, rng: Rng
) -> Floats:
    """Draw the same from a beta with the mean and variance of stratified sampling.

    p(1 − p) of a cell is taken from its share right with one more unit of the overall share, and
    divided by what that loses on average. A cell without audited units has the overall share,
    and any accuracy.
    """
    seen = n > 0
    some, more = np.maximum(n, 1), np.where(seen, rest, 0.0)
    share = (v_hat * right / some)[seen].sum() / v_hat[seen].sum()
    near = (right + share) / (n + 1)
    variance = near * (1 - near) / (1 - n / (n + 1) ** 2)
    unseen = rest.sum() - more.sum()
    weight = more + unseen * np.where(seen, v_hat, 0.0) / v_hat[seen].sum()  # also for those
    mean = (weight * right / some).sum() / rest.sum()
    parts = np.where(seen, weight**2 / some, rest**2.0 / 2) + rest
    spread = (parts * variance).sum() / rest.sum() ** 2
    mean = np.clip(mean, 1e-9, 1 - 1e-9)
    t = max(mean * (1 - mean) / spread - 1, 1e-3)
    return np.asarray(rest.sum() * rng.beta(mean * t, (1 - mean) * t, size))
