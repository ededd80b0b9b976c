"""An expert's range as a Beta distribution."""

from __future__ import annotations

import numpy as np

from trueup.errors import OptionError
from trueup.numerics import special
from trueup.prior.belief import check_between


def match_beta(given: object, probability: float, what: str = "range") -> tuple[float, float]:
    """Return (a, b) of the Beta distribution with this central interval.

    For a given size a + b the mass below the interval falls as the mean rises; and at the mean
    that puts the right mass below, the mass above falls as the size grows: two nested bisections.
    """
    low, high = _check_range(given, probability, what)
    tail = (1 - probability) / 2

    def mean_at(size: float) -> float:
        below, above = 0.0, 1.0
        for _ in range(60):
            mean = (below + above) / 2
            if special.betainc(mean * size, (1 - mean) * size, low) > tail:
                below = mean
            else:
                above = mean
        return (below + above) / 2

    least, most = np.log(1e-3), np.log(1e9)
    for _ in range(60):
        size = float(np.exp((least + most) / 2))
        mean = mean_at(size)
        if 1 - special.betainc(mean * size, (1 - mean) * size, high) > tail:
            least = np.log(size)
        else:
            most = np.log(size)
    return mean * size, (1 - mean) * size


def _check_range(given: object, probability: float, what: str) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in given)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 < low < high < 1:
        raise OptionError(
            f"The {what} must be two numbers with 0 < low < high < 1; got {given!r}.",
            hint="write recall=(0.80, 0.95). For rates known exactly see the option P.",
        )
    check_between("probability", probability, 0, 1)
    return low, high
