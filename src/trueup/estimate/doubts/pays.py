"""Whether correcting is seen to pay."""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

PAYS = "With this test set the correction cannot be shown to beat no correction"


def unproven(figures: dict[str, NDArray[np.float64] | None], interval: float, n: int) -> bool:
    """Whether the correction by `n` test units cannot be shown to beat no correction.

    The mean squared error of the corrected figures is their standard error², that of the predicted
    ones their bias², both added up over classes. The distance² between the two is on average the
    sum of both: where nothing is gained it is a noncentral χ² with K − 1 degrees of freedom, whose
    median is 2 − 0.9/(K − 1) times the error² (to half a per cent). So half of the answers say it
    there. How many labels would change it cannot be told: wherever this holds, the distance is
    also that of a bias of 0, which no number of labels would find.
    """
    naive, middle, lower, upper = (figures[x] for x in ("naive", "estimate", "lower", "upper"))
    if naive is None or middle is None or lower is None or upper is None or n == 0:
        return False
    width = 2 * NormalDist().inv_cdf((1 + interval) / 2)
    error = float((((upper - lower) / width) ** 2).sum())
    apart = float(((naive - middle) ** 2).sum())
    return apart < (2 - 0.9 / max(len(middle) - 1, 1)) * error


def correction_warning(n: int, N: int) -> str:
    """Say that correcting may be worse than not correcting, and what more labels would do."""
    # the variance falls from 1/n − 1/N to 1/2n − 1/N, by up to 5/9
    twice = " Twice as many would reduce that error by up to a third." if 10 * n <= N else ""
    few = "1 audited unit is" if n == 1 else f"{n:,} audited units are"
    return (
        f"{PAYS}: the predicted and the corrected figures differ by no more than the error of the "
        f"correction explains. The interval allows for that error. {few} too few to say how many "
        f"more labels would change this.{twice}"
    )
