"""Whether correcting is seen to pay, and how many more labels that would take."""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trueup.text import roughly

MOST_TIMES = 20
"""Test units to add that are worth naming, in times of those that there are."""


def labels_to_pay(
    figures: dict[str, NDArray[np.float64] | None], interval: float, n: int
) -> int | None:
    """How many more test units it takes until correcting is seen to pay; None if it is.

    The mean squared error of the corrected figures is their standard error², that of the predicted
    ones their bias², both added up over classes. The distance² between the two is on average the
    sum of both: where nothing is gained it is a noncentral χ² with K − 1 degrees of freedom, whose
    median is 2 − 0.9/(K − 1) times the error² (to half a per cent). So half of the answers say it
    there. The error² shrinks with the number of test units.
    """
    naive, middle, lower, upper = (figures[x] for x in ("naive", "estimate", "lower", "upper"))
    if naive is None or middle is None or lower is None or upper is None or n == 0:
        return None
    width = 2 * NormalDist().inv_cdf((1 + interval) / 2)
    error = float((((upper - lower) / width) ** 2).sum())
    apart = float(((naive - middle) ** 2).sum())
    least = (2 - 0.9 / max(len(middle) - 1, 1)) * error
    if least <= apart:
        return None
    most = MOST_TIMES * n
    return int(min(np.ceil(n * (least / apart - 1)), most)) if apart > 0 else most


def correction_warning(more: int, n: int, N: int) -> str:
    """Say that correcting may be worse than not correcting, and what would change that."""
    many = f"all {N:,}" if n + more >= N else f"about {roughly(more)} more"
    words = f"For a figure better than the predicted one, label {many} units first."
    if n + more < N and more >= MOST_TIMES * n:
        words = "No realistic number of labels would change this."
    return (
        "With this test set the correction cannot be shown to beat no correction: the predicted "
        "and the corrected figures differ by no more than the error of the correction explains. "
        f"The interval allows for that error. {words}"
    )
