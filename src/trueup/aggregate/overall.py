"""The overall accuracy under the prior "perks", without its bias.

That prior invents one unit for each predicted label, or by rows for each true class, spread evenly
over K classes: nearly all of it an error. Of one class that tells little, but in the overall
accuracy these errors add up: with 10 classes and 15 audited units of each it was 3 standard
deviations too low. So it has a prior of its own, Jeffreys' ½ right and ½ wrong for all together:

    Beta(½ + m s, ½ + m (1 − s)),   s = Σ w_h x_h / Σ w_h,   m = (Σ w_h)² / Σ (w_h² / n_h).

w_h are the units that were not audited, x_h is the share right of n_h audited ones, and m is what
these are worth together (Kish 1965). For test sets from the population h is a predicted label, in
each audit stratum; bands of the value or the score are left to chance by the design. By rows
(`by_class`, `shifted`) h is a true class, and its units are those of each draw: base rates times
recalls. A beta for each h instead, with one invented unit of the overall share, covered 65% to 93%
where this one covers 93% to 99%: a large label with few audited units and no error was certain.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.larger import larger_matrix
from trueup.count.counts import Counts, split
from trueup.draws.settings import FROM_POPULATION
from trueup.numerics.arrays import Floats, Integers, Rng


def overall_accuracy(
    of_classes: Floats, M: NDArray[Any], counts: Counts, info: Mapping[str, Any], combined: bool
) -> Floats | None:
    """Return draws of the overall accuracy (R,), or None where they would be too low.

    `of_classes` are those that follow from the draws of the classes, `M` (R, K, L). They serve with
    two classes and other priors. With periods, with `strata`, and where classes of a test set that
    was not drawn at random have been `combined`, there are no better ones.
    """
    by_rows = info["method"] in ("constrained", "full")
    by_label = info["method"] == "joint" and info["design"] in FROM_POPULATION
    many, J = combined or counts.K > 2, info.get("audit strata", 1)
    if many and info.get("period") is not None:
        return None
    if not many or info["prior"] != "perks" or not info["noise"] or not (by_rows or by_label):
        return of_classes
    if info.get("strata") or (combined and (by_rows or J > 1 or info["design"] != "random")):
        return None
    own = counts.same
    nothing = counts.n[:, own.any(axis=0)].sum() == 0 or split(counts, info["overlap"])[0].N == 0
    rng = np.random.Generator(np.random.SFC64([info["seed"], 2]))
    if nothing:
        return of_classes
    return (_by_rows if by_rows else _by_labels)(M, own, counts, info, rng)


def _by_labels(
    M: NDArray[Any], own: NDArray[np.bool_], counts: Counts, info: Mapping[str, Any], rng: Rng
) -> Floats:
    """Draw it from the share right of each predicted label, or each in each audit stratum."""
    J, cells = info.get("audit strata", 1), counts
    if J > 1:
        assert counts.bands is not None
        cells = counts.bands.coarser(counts.bands.v_hat.size // (counts.L * J))
    rest, _ = split(cells, info["overlap"])
    each = cells.n.reshape(counts.K, counts.L, -1)  # by true class, label and stratum
    n, right = (x.sum(axis=0).ravel() for x in (each, each * own[:, :, None]))
    can = np.repeat(own.any(axis=0), J)
    units = _right(n, right, rest.v_hat, can, info, len(M), rng)
    units = units + (0 if rest is cells else right.sum())
    if (larger := info.get("sample_of")) is None:
        return np.asarray(units / counts.N, dtype=float)
    two = np.stack([units, counts.N - units], axis=1)[:, :, None]
    found = larger_matrix(two, float(larger), np.zeros(2), rng)
    return np.asarray(found[:, 0, 0] / found.sum(axis=(1, 2)))


def _by_rows(
    M: NDArray[Any], own: NDArray[np.bool_], counts: Counts, info: Mapping[str, Any], rng: Rng
) -> Floats:
    """Draw it from the recall of each true class, and the draws' units of that class."""
    n, right, units = counts.n.sum(axis=1), (counts.n * own).sum(axis=1), M.sum(axis=2)
    known = info["overlap"] and info.get("sample_of") is None and bool((units >= n).all())
    rest = np.rint(units - n if known else units).astype(np.int64)
    found = _right(n, right, rest, np.asarray(own.any(axis=1)), info, len(M), rng)
    return np.asarray((found + (right.sum() if known else 0)) / units.sum(axis=1))


def _right(
    n: Integers,
    right: Integers,
    rest: Integers,
    can: NDArray[np.bool_],
    info: Mapping[str, Any],
    size: int,
    rng: Rng,
) -> Integers:
    """Draw how many of the units that were not audited, `rest` (…, H), are right.

    None is of those that cannot be: labels that are no class, classes that are never predicted.
    """
    seen, some = (n > 0) & can, np.maximum(n, 1)
    weight = np.where(seen, rest, 0.0)
    weight = np.where(weight.sum(axis=-1, keepdims=True) > 0, weight, np.where(seen, n, 0.0))
    total = weight.sum(axis=-1)
    share = (weight * right / some).sum(axis=-1) / total
    m = total**2 / (weight**2 / some).sum(axis=-1) / info.get("design_effect", 1.0)
    p = rng.beta(share * m + 0.5, np.maximum(1 - share, 0.0) * m + 0.5, size)
    return np.asarray(rng.binomial(np.where(can, rest, 0).sum(axis=-1), p, size))
