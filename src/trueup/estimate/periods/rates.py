"""The error rates of every period, from the audits, and how far base rates step.

In an audited period Pr(true | predicted) has its exact posterior, c, whose columns are Dirichlet,
and the shares q of the predicted classes are known from that period's predictions and its
neighbours', as they walk like base rates. So P_gh ∝ c_gh q_h over h, and one P holds for all
periods. What the other periods would add about c is not used (the model is "cut" there: Plummer
2015). It is little, and K² numbers that all periods inform could not be learned in seconds.

With several audits recalls may drift: see `drift.py`.
"""

import numpy as np

from trueup.estimate.periods.steps import draw_steps
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.base_rate_walk import Path, find_path
from trueup.numerics.dirichlet import draw_dirichlet


def draw_rates(n: Integers, q: Floats, alpha: Floats, rng: Rng, together: bool) -> Floats:
    """Draw P, unnormalised, from one audit or several, n (A, K, K), of periods with q (R, A, K).

    Σ_a n_a c_a,gh q_ah (R, K, K) is P_gh times the units of g that so many random units have.
    Audits of random units have one c `together`; those drawn within predicted classes have one
    each, as shares of the true classes differ between periods.
    """
    size = n.sum(axis=(1, 2)).astype(float)
    if together:
        n, q, size = n.sum(axis=0)[None], np.einsum("a,rah->rh", size, q)[:, None], np.ones(1)
    joint = np.full((len(q), *alpha.shape), 1e-12)
    for a, units in enumerate(size):
        c = draw_dirichlet((n[a] + alpha / len(n)).T, len(q), rng)
        joint += units * np.swapaxes(c, 1, 2) * q[:, a, None, :]
    return joint


def draw_predicted(v_hat: Floats, gaps: Floats, size: int, rng: Rng) -> Floats:
    """Draw the shares q (R, T, K) of the predicted classes: base rates that are seen directly."""
    seen = np.repeat(np.eye(v_hat.shape[1])[None], size, axis=0)
    a = np.zeros_like(v_hat)
    sigma, lam = draw_steps(seen, v_hat, a, gaps, size, rng)
    return find_path(seen, v_hat, a, sigma, gaps * lam).draw(rng)


def draw_path(
    P: Floats, v: Floats, a: Floats, gaps: Floats, rng: Rng, seen: int
) -> tuple[Path, float]:
    """Draw the sizes of the steps given some P, and find the path of each P.

    Returns the path and the median of σ. `v` and `a` are as in `find_path`; steps are learned from
    the first `seen` periods.
    """
    few = P if P.ndim == 3 else P[:, :seen]
    sigma, lam = draw_steps(few, v[:seen], a[:seen], gaps[: seen - 1], len(P), rng)
    if seen > 1:  # steps to come are like those that were learned
        lam = np.hstack([lam, rng.choice(lam, len(v) - seen, axis=1)])
    else:
        lam = np.ones((len(P), len(gaps)))
    path = find_path(P, v, a, sigma, gaps * lam)
    return path, float(np.median(sigma))
