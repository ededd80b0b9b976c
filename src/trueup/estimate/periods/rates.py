"""The error rates of every period, from the audits, and how far base rates step.

In an audited period Pr(true | predicted) has its exact posterior, c, whose columns are Dirichlet,
and the shares q of the predicted classes are known from that period's predictions and its
neighbours', as they walk like base rates. So P_gh ∝ c_gh q_h over h, and one P holds for all
periods. What the other periods would add about c is not used (the model is "cut" there: Plummer
2015). It is little, and K² numbers that all periods inform could not be learned in seconds.

With several audits recalls may drift: see `drift.py`.
"""

import numpy as np

from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.base_rate_walk import Path, find_path
from trueup.numerics.dirichlet import draw_dirichlet

USUAL = 0.2
"""Scale of the half-Cauchy prior of σ, the step of log odds from one period to the next."""
STEPS = np.exp(np.linspace(np.log(0.003), np.log(1.0), 11))
"""The values of σ that are weighed, with SOME draws of P: all of these say nearly the same."""
SOME = 16


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
    seen = np.repeat(np.eye(v_hat.shape[1])[None], len(STEPS), axis=0)
    path = find_path(seen, v_hat, np.zeros_like(v_hat), STEPS, gaps)
    return path.take(_draw_steps(path.log_likelihood, size, rng)).draw(rng)


def draw_path(
    P: Floats, v: Floats, a: Floats, gaps: Floats, rng: Rng, seen: int
) -> tuple[Path, float]:
    """Draw σ by its mean log likelihood over some P, and find the path of each P.

    Returns the path and the median of σ. `v` and `a` are as in `find_path`; σ is learned from the
    first `seen` periods.
    """
    few = P[:SOME] if P.ndim == 3 else P[:SOME, :seen]
    first = (v[:seen], a[:seen])
    fit = [
        find_path(few, *first, np.full(len(few), step), gaps[: seen - 1]).log_likelihood
        for step in STEPS
    ]
    sigma = STEPS[_draw_steps(np.mean(fit, axis=1), len(P), rng)]
    return find_path(P, v, a, sigma, gaps), float(np.median(sigma))


def _draw_steps(log_likelihood: Floats, size: int, rng: Rng) -> Integers:
    """Draw places in STEPS; the prior is half-Cauchy in σ, on a grid of log σ."""
    weight = log_likelihood + np.log(STEPS) - np.log1p((STEPS / USUAL) ** 2)
    weight = np.exp(weight - weight.max())
    return np.asarray(rng.choice(len(STEPS), size, p=weight / weight.sum()))
