"""Whether predicted counts contradict the test set: rates that fit both are far from the second."""

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.dirichlet import dirichlet

RARE = 1e-3
"""Rates are far from the test set when a smaller share of what it allows is as far."""
NUMBERS = 1_000_000
"""Numbers to draw for the comparison, at least as many as show a share of RARE."""
FIRST, UNUSUAL = 200, 4
"""If more than the second of so many draws are as far, that share is not small."""
STEPS, NEWTON = 400, 8
"""Steps to the likeliest rates that fit v̂, and within each to the multipliers of the columns."""


def at_odds(a: Floats, rho: Floats) -> bool:
    """Whether no rates fit both the test set and v̂, before any chain is asked.

    The likeliest P in Θ_K(v̂) maximises Σ a log c − Σ_g a_g· log β_g over columns c, with β = cρ.
    With the tangent of the last term in place of it columns are c = a/(w + μ), w = a_g· ρ/β, and μ
    makes each sum to 1; repeated, this climbs to the top (an MM algorithm). Twice what is left to
    the test set's own likeliest rates is about χ² with at most K degrees of freedom.

    Examples
    --------
    A class with 5 to 90% in each row cannot be 99.6% of the predictions:

    >>> a = np.array([[90.0, 6, 4], [5, 80, 15], [3, 7, 90]])
    >>> at_odds(a, np.array([0.002, 0.002, 0.996])), at_odds(a, np.array([0.2, 0.3, 0.5]))
    (True, False)
    """
    total, limit = a.sum(axis=1), float(special.chdtri(len(a), RARE))
    best, c = float((a * np.log(a / total[:, None])).sum()), a / a.sum(axis=0)
    for _ in range(STEPS):
        beta = c @ rho
        P = c * rho / beta[:, None]
        if 2 * (best - float((a * np.log(np.maximum(P, 1e-300))).sum())) < limit:
            return False
        w = (total / beta)[:, None] * rho
        mu = (a - w).max(axis=0)
        for _ in range(NEWTON):  # from the left of a convex function: it never overshoots
            part = a / (w + mu)
            mu += (part.sum(axis=0) - 1) / (part / (w + mu)).sum(axis=0)
        c = a / (w + mu)
        c /= c.sum(axis=0)
    return True


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
