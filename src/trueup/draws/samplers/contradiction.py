"""Whether predicted counts contradict the test set: rates that fit both are far from the second."""

import numpy as np

from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.dirichlet import dirichlet

RARE = 1e-3
"""Rates are far from the test set when a smaller share of what it allows is as far."""
NUMBERS = 1_000_000
"""Numbers to draw for the comparison, at least as many as show a share of RARE."""
FIRST, UNUSUAL = 200, 4
"""If more than the second of so many draws are as far, that share is not small."""


def contradicted(a: Floats, P: Floats, rng: Rng) -> list[int]:
    """Return the classes whose rates are far from the test set in half of the draws and more.

    Rows are Dir(a_g) given the test set alone, and P (R, K, L) are draws given v̂ as well.

    Examples
    --------
    The test set says that a tenth of class 1 is predicted 0; the draws say 2 in 1,000:

    >>> a = np.array([[900.0, 100.0], [100.0, 900.0]])
    >>> P = np.array([[[0.9, 0.1], [0.002, 0.998]]])
    >>> contradicted(a, P, np.random.default_rng(1))
    [1]
    """
    floor = np.log(np.finfo(float).tiny)
    found = []
    for g, row in enumerate(a):
        with np.errstate(divide="ignore"):
            ours = np.median(np.maximum(np.log(P[:, g]), floor) @ row)
        for size in (FIRST, max(NUMBERS // a.size, int(4 / RARE))):  # most rows need few draws
            alone = np.einsum("h,hr->r", row, np.maximum(dirichlet(row, size, rng)[1], floor))
            farther = int((alone <= ours).sum())
            if farther > UNUSUAL:
                break
        if farther < RARE * size:
            found.append(g)
    return found
