"""The overall accuracy under the prior "perks", without its bias.

That prior invents one unit for each predicted label, spread evenly over K true classes: nearly all
of it an error. Of one class that tells little, but in the overall accuracy the labels' errors add
up: with 15 classes and 30 audited units of each it was 1.3 standard deviations too low. So the
invented unit is right here as often as the audited units of all labels are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.aggregate.larger import larger_matrix
from trueup.count.counts import Counts, split
from trueup.draws.settings import FROM_POPULATION
from trueup.numerics.arrays import Floats


def overall_accuracy(counts: Counts, info: Mapping[str, Any], size: int) -> Floats | None:
    """Draw the overall accuracy (R,), or None where the draws of the classes have no such bias.

    That is with two classes, labels that are not the classes, other priors and designs, and where
    the error rates are of cells or strata, or known.
    """
    by_label = info["method"] == "joint" and info["prior"] == "perks" and info["noise"]
    within = any(info.get(name) for name in ("strata", "audit strata", "bands", "design_effect"))
    if counts.K == 2 or counts.columns is not None or not by_label or within:
        return None
    if info["design"] not in FROM_POPULATION:
        return None
    rest, _ = split(counts, info["overlap"])
    rng = np.random.Generator(np.random.SFC64([info["seed"], 2]))
    n, right = counts.n.sum(axis=0), np.diag(counts.n)
    v = np.where(n > 0, counts.v_hat, 0)
    share = (v * right / np.maximum(n, 1)).sum() / max(v.sum(), 1)
    share = np.clip(share, 1e-9, 1 - 1e-9)  # all right, or none: a beta needs both
    p = rng.beta(right + share, n - right + 1 - share, (size, counts.K))
    units = rng.binomial(rest.v_hat, p).sum(axis=1) + (0 if rest is counts else right.sum())
    if (larger := info.get("sample_of")) is None:
        return np.asarray(units / max(counts.N, 1), dtype=float)
    wrong = counts.N - units
    M = np.stack([units, wrong], axis=1)[:, :, None]
    found = larger_matrix(M, float(larger), 0.0, rng)
    return np.asarray(found[:, 0, 0] / found.sum(axis=(1, 2)))
