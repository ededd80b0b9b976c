"""The error rates of every period, from the audits, and how far base rates step.

In an audited period Pr(true | predicted) has its exact posterior, c, whose columns are Dirichlet,
and the shares q of the predicted classes are known from that period's predictions and its
neighbours', as they walk like base rates. So P_gh ∝ c_gh q_h over h, and one P holds for all
periods. What the other periods would add about c is not used (the model is "cut" there: Plummer
2015). It is little, and K² numbers that all periods inform could not be learned in seconds.

Audits that differ have a P each. Between two of them log odds are interpolated; before the first
and after the last the log odds of recalls walk on with the step δ that the audits show.
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
    """Draw P (R, K, K) from one audit or several, n (A, K, K), of periods with q (R, A, K).

    Σ_a n_a c_a,gh q_ah is P_gh times a number for each g. Audits of random units have one c
    `together`; those drawn within predicted classes have one each, as shares of the true classes
    differ between periods.
    """
    size = n.sum(axis=(1, 2)).astype(float)
    if together:
        n, q, size = n.sum(axis=0)[None], np.einsum("a,rah->rh", size, q)[:, None], np.ones(1)
    joint = np.full((len(q), *alpha.shape), 1e-12)
    for a, units in enumerate(size):
        c = draw_dirichlet((n[a] + alpha / len(n)).T, len(q), rng)
        joint += units * np.swapaxes(c, 1, 2) * q[:, a, None, :]
    return np.asarray(joint / joint.sum(axis=2, keepdims=True))


def draw_predicted(v_hat: Floats, gaps: Floats, size: int, rng: Rng) -> Floats:
    """Draw the shares q (R, T, K) of the predicted classes: base rates that are seen directly."""
    seen = np.repeat(np.eye(v_hat.shape[1])[None], len(STEPS), axis=0)
    path = find_path(seen, v_hat, np.zeros_like(v_hat), STEPS, gaps)
    return path.take(_draw_steps(path.log_likelihood, size, rng)).draw(rng)


def draw_path(P: Floats, v: Floats, a: Floats, gaps: Floats, rng: Rng) -> tuple[Path, float]:
    """Draw σ by its mean log likelihood over some P, and find the path of each P.

    Returns the path and the median of σ. `v` and `a` are as in `find_path`.
    """
    few = P[:SOME]
    fit = [find_path(few, v, a, np.full(len(few), step), gaps).log_likelihood for step in STEPS]
    sigma = STEPS[_draw_steps(np.mean(fit, axis=1), len(P), rng)]
    return find_path(P, v, a, sigma, gaps), float(np.median(sigma))


def _draw_steps(log_likelihood: Floats, size: int, rng: Rng) -> Integers:
    """Draw places in STEPS; the prior is half-Cauchy in σ, on a grid of log σ."""
    weight = log_likelihood + np.log(STEPS) - np.log1p((STEPS / USUAL) ** 2)
    weight = np.exp(weight - weight.max())
    return np.asarray(rng.choice(len(STEPS), size, p=weight / weight.sum()))


def drifting(
    P: Floats, audits: Floats, at: Floats, units: Integers, rng: Rng
) -> tuple[Floats, float]:
    """Return rates for every period (R, T, K, K) from those of each audit (R, A, K, K), and δ.

    δ² is the mean squared change of a recall's log odds over the usual time between two audits, by
    `units` (A, K), the test units of each class.
    """
    usual = float(np.diff(audits).mean())
    recall = np.clip(np.diagonal(P, axis1=2, axis2=3), 1e-6, 1 - 1e-6)
    odds = np.log(recall / (1 - recall))
    change = np.diff(odds.mean(axis=0), axis=0) / np.sqrt(np.diff(audits) / usual)[:, None]
    weight = np.minimum(units[1:], units[:-1]) + 1e-9
    delta = float(np.sqrt((weight * change**2).sum() / weight.sum()))
    logs, K = np.log(np.maximum(P, 1e-12)), P.shape[-1]
    beyond = rng.standard_normal((2, len(P), K))
    found = np.empty((len(P), len(at), K, K))
    for t, now in enumerate(at):
        j = int(np.clip(np.searchsorted(audits, now) - 1, 0, len(audits) - 2))
        share = np.clip((now - audits[j]) / (audits[j + 1] - audits[j]), 0.0, 1.0)
        rows = (1 - share) * logs[:, j] + share * logs[:, j + 1]
        outside = max(audits[0] - now, now - audits[-1], 0.0)
        step = delta * np.sqrt(outside / usual) * beyond[int(now > audits[0])]
        rows[:, np.arange(K), np.arange(K)] += step
        rows = np.exp(rows - rows.max(axis=2, keepdims=True))
        found[:, t] = rows / rows.sum(axis=2, keepdims=True)
    return found, delta
