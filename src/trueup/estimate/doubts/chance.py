"""Whether predictions are right less often than by chance: rows or columns may be interchanged."""

from collections.abc import Hashable, Sequence
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.estimate.doubts import Evidence
from trueup.text import p_text

SWAPPED = 0.001
"""Below this p-value rows or columns are said to be interchanged."""


def below_chance(
    n: NDArray[Any], classes: Sequence[Hashable], alike: float = 1.0
) -> Evidence | None:
    """Test that predictions are right as often as by chance, against: less often.

    In the whole test set, and between each two classes, which finds two that were interchanged.
    P-values are adjusted (Bonferroni). Units of clusters have `alike` times the variance.
    """
    K, size = len(n), int(n.sum())
    if size < 2:
        return None
    by_chance, z = _whole(np.asarray(n, dtype=float))
    p = _tail(z, alike) * (2 if K > 2 else 1)
    words = (
        f"{int(n.trace()):,} of the {size:,} audited units are predicted right, and by chance it "
        f"would be about {by_chance:,.0f}"
    )
    if K == 2 or p < SWAPPED:
        return Evidence(min(p, 1.0), words)
    every = _pairs(np.asarray(n, dtype=float))
    g, h = sorted(divmod(int(every.argmin()), K))
    p = _tail(float(every[g, h]), alike) * K * (K - 1)  # K(K − 1)/2 pairs, and the whole
    words = (
        f"units of class {classes[g]!r} and {classes[h]!r} are predicted as the "
        "other of the two more often than by chance"
    )
    return Evidence(min(p, 1.0), words)


def chance_warning(n: NDArray[Any], classes: Sequence[Hashable], alike: float = 1.0) -> list[str]:
    """Say that rows or columns seem to be interchanged, if they do."""
    evidence = below_chance(n, classes, alike)
    if evidence is None or evidence.p_value >= SWAPPED:
        return []
    return [
        f"The predictions are right less often than chance would have it: {evidence.words} "
        f"({p_text(evidence.p_value)}). Are the rows the true classes, and the columns in the same "
        "order? In tables, do labels mean the same in both columns of classes?"
    ]


def _whole(n: NDArray[Any]) -> tuple[float, float]:
    """The right predictions to expect by chance, and how far theirs are from it, standardised.

    Given the margins r and c, Σ n_gg has the mean Σ rc/n and the variance of units that are matched
    at random (Hoeffding 1951, theorem 2).
    """
    size, r, c = n.sum(), n.sum(axis=1), n.sum(axis=0)
    mean = float((r * c).sum() / size)
    apart = np.eye(len(n)) - c[:, None] / size - r / size + mean / size
    variance = float((np.outer(r, c) * apart**2).sum()) / (size - 1)
    return mean, (n.trace() + 0.5 - mean) / sqrt(variance) if variance > 0 else 0.0


def _pairs(n: NDArray[Any]) -> NDArray[Any]:
    """The same for the units of each two classes, by the hypergeometric distribution, (K, K)."""
    right = n.diagonal()
    r, c = right[:, None] + n, right[:, None] + n.T  # of class g among those of g and h
    size = r + r.T
    variance = r * r.T * c * c.T / np.maximum(size**2 * (size - 1), 1.0)
    apart = right[:, None] + 0.5 - r * c / np.maximum(size, 1.0)
    z = apart / np.sqrt(np.where(variance > 0, variance, np.inf))
    np.fill_diagonal(z, 0.0)
    return np.asarray(z)


def _tail(z: float, alike: float) -> float:
    """Pr(Z < z) of a normal Z with variance `alike`."""
    return 0.5 * erfc(-z / sqrt(2 * alike))
