"""The error rates of every period, from the audits, and how far base rates step.

In an audited period Pr(true | predicted) has its exact posterior, c, whose columns are Dirichlet,
and the shares q of the predicted classes are known from that period's predictions and its
neighbours', as they walk like base rates. So P_gh ∝ c_gh q_h over h, and one P holds for all
periods. What the other periods would add about c is not used (the model is "cut" there: Plummer
2015). It is little, and K² numbers that all periods inform could not be learned in seconds.

Audits that differ have a P each. Between two of them log odds are interpolated, and besides log
odds of recalls walk, with the step that the audits show or that is given (`drift`).
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


def drift_seen(P: Floats, audits: Floats, units: Integers) -> Floats:
    """Return how far log odds of recalls (K,) step in one period, from the P of each audit.

    P is (R, A, K, K). The step is one for all classes: its square is the mean squared change from
    audit to audit, by `units` (A, K), the test units of each class.
    """
    recall = _recalls(P)
    odds = np.log(recall / (1 - recall)).mean(axis=0)
    change = np.diff(odds, axis=0) / np.sqrt(np.diff(audits))[:, None]
    weight = np.minimum(units[1:], units[:-1]) + 1e-9
    return np.full(P.shape[-1], np.sqrt((weight * change**2).sum() / weight.sum()))


def drift_given(P: Floats, drift: float) -> Floats:
    """Return the step of log odds (K,) at which every recall moves by `drift` in one period."""
    return np.asarray(drift / _slope(P))


def in_points(P: Floats, step: Floats) -> float:
    """Return how far a recall moves in one period, in the class where it moves most."""
    return float((step * _slope(P)).max())


def drifting(P: Floats, audits: Floats, at: Floats, step: Floats, rng: Rng) -> Floats:
    """Return rates for every period (R, T, K, K) from those of each audit (R, A, K, K).

    Between two audits log odds are interpolated, outside they stay. Log odds of recalls walk
    besides, with `step` (K,) for one period; the walk is 0 in every audit.
    """
    share = np.stack([np.interp(at, audits, one) for one in np.eye(len(audits))], axis=1)
    R, K = len(P), P.shape[-1]
    gaps = np.concatenate([[0.0], np.diff(at)])
    walk = np.cumsum(rng.standard_normal((R, len(at), K)) * np.sqrt(gaps)[:, None], axis=1)
    walk -= np.einsum("ta,rag->rtg", share, walk[:, np.searchsorted(at, audits)])
    rows = np.einsum("ta,ragh->rtgh", share, np.log(np.maximum(P, 1e-12)))
    rows[:, :, np.arange(K), np.arange(K)] += step * walk
    rows = np.exp(rows - rows.max(axis=3, keepdims=True))
    return np.asarray(rows / rows.sum(axis=3, keepdims=True))


def _recalls(P: Floats) -> Floats:
    return np.clip(np.diagonal(P, axis1=-2, axis2=-1), 1e-6, 1 - 1e-6)


def _slope(P: Floats) -> Floats:
    """How far each recall (K,) moves where its log odds move by 1, but 0.01 at least."""
    recall = _recalls(P)
    moves = (recall * (1 - recall)).reshape(-1, P.shape[-1]).mean(axis=0)
    return np.asarray(np.maximum(moves, 0.01))
