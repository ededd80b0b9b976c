"""Error rates that drift: the log odds x_g of every recall (the share predicted right) walk.

Each audit a, taken alone, shows log odds y_a with variance s_a, and

    y_a ~ N(x_a, s_a),    x_b − x_a ~ N(0, τ² (t_b − t_a)),    level flat,
    τ √span ~ half-Cauchy(USUAL),    span the time from the first audit to the last.

The mean recall, by the units of the class in each audit, is what all audits show together: the
draws of one P for all. It is independent of contrasts of log odds (the mean and the natural
parameter of binomials). Only the contrasts are drawn here, and τ, one for all classes, on a grid.
Between two audits log odds are interpolated; the walk is added to that.
"""

import numpy as np

from trueup.numerics.arrays import Floats, Rng

USUAL = 0.1
"""Scale of the change of log odds from the first audit to the last: 1.6 points of a recall of 0.8.
Two audits of 100 say hardly more. Where a recall fell from 0.8 to 0.7 between them, intervals of
growth covered 60, 90 and 100% with scales of 0.05, 0.1 and 0.2, and 60, 67 and 90% where it fell to
0.6; where it stayed they were 0.21, 0.29 and 0.38 wide (30 series of 8,000 units a period)."""
SPANS = np.exp(np.linspace(np.log(0.002), np.log(5.0), 120))
"""Grid of τ √span."""
HALVINGS = 40
"""Of the interval that holds the level of log odds."""


def learn_drift(each: Floats, audits: Floats, given: Floats, rng: Rng) -> tuple[Floats, Floats]:
    """Draw how far log odds of recalls lie from their mean in each audit (R, A, K), and τ (R, K).

    `each` (R, A, K, K) are draws of P from each audit alone, `audits` (A,) when they were, and
    `given` (K,) is the least τ.
    """
    recall = _recalls(each)
    R, A, K = recall.shape
    p = recall.mean(axis=0).T  # (K, A)
    y, s = _log_odds(p), recall.var(axis=0).T / (p * (1 - p)) ** 2
    since = np.minimum(audits[:, None], audits) - audits[0]
    tau = np.maximum(SPANS[:, None] / np.sqrt(audits[-1] - audits[0]), given)  # (G, K)
    V = [step[:, None, None] ** 2 * since + s[:, :, None] * np.eye(A) for step in tau]
    W = [np.linalg.inv(one) for one in V]
    fit = np.array([_log_likelihood(y, *one) for one in zip(V, W, strict=True)])
    weight = np.exp(fit - fit.max()) * SPANS / (1 + (SPANS / USUAL) ** 2)
    at = rng.choice(len(SPANS), R, p=weight / weight.sum())
    # a walk and audits of it, moved as far as these are off
    steps = np.sqrt(np.diff(audits, prepend=audits[0]))
    x = tau[at][..., None] * np.cumsum(steps * rng.standard_normal((R, K, A)), axis=-1)
    off = y - x - np.sqrt(s) * rng.standard_normal((R, K, A))
    for i in np.unique(at):
        some = at == i
        rest = _without_level(off[some], W[i])
        x[some] += tau[i][:, None] ** 2 * np.einsum("kab,rkb->rka", W[i], rest) @ since
    x = _without_level(x, np.eye(A) / s[..., None])
    return np.swapaxes(x, 1, 2), tau[at]


def _without_level(y: Floats, W: Floats) -> Floats:
    """Subtract the level of y (…, K, A) that is best with precision W (K, A, A)."""
    ones = W.sum(axis=-1)
    return np.asarray(y - ((ones * y).sum(axis=-1) / ones.sum(axis=-1))[..., None])


def _log_likelihood(y: Floats, V: Floats, W: Floats) -> float:
    """Log density of y (K, A) with variance V and precision W, its level integrated out."""
    away = _without_level(y, W)
    squares = np.einsum("ka,kab,kb->k", away, W, away)
    return -float((np.linalg.slogdet(V)[1] + np.log(W.sum(axis=(1, 2))) + squares).sum()) / 2


def moved(one: Floats, shape: Floats, x: Floats, units: Floats) -> Floats:
    """Return P of each audit (R, A, K, K): log odds of recalls differ by `x` (R, A, K).

    Their mean by `units` (R, A, K) is the recall of `one` (R, K, K), and wrong predictions of a
    class are shared out as in `shape`.
    """
    P, k = np.broadcast_to(shape, (*x.shape, x.shape[-1])).copy(), np.arange(x.shape[-1])
    recall, weight = _recalls(one), units / units.sum(axis=1, keepdims=True)
    x = _log_odds(recall)[:, None] + x
    low, high = (_log_odds(recall) - end for end in (x.max(axis=1), x.min(axis=1)))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = (weight / (1 + np.exp(-x - middle[:, None]))).sum(axis=1) < recall
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    odds = x + middle[:, None]
    P[..., k, k] = 0.0
    P /= np.maximum(P.sum(axis=-1), 1e-300)[..., None] * (1 + np.exp(odds))[..., None]
    P[..., k, k] = 1 / (1 + np.exp(-odds))
    return P


def drifting(P: Floats, audits: Floats, at: Floats, step: Floats, rng: Rng) -> Floats:
    """Return rates for every period (R, T, K, K) from those of each audit (R, A, K, K).

    Between two audits log odds are interpolated, outside they stay. Log odds of recalls walk
    besides, with `step` (R, K) for one period; the walk is 0 in every audit.
    """
    share = np.stack([np.interp(at, audits, one) for one in np.eye(len(audits))], axis=1)
    R, K = len(P), P.shape[-1]
    gaps = np.concatenate([[0.0], np.diff(at)])
    walk = np.cumsum(rng.standard_normal((R, len(at), K)) * np.sqrt(gaps)[:, None], axis=1)
    walk -= np.einsum("ta,rag->rtg", share, walk[:, np.searchsorted(at, audits)])
    rows = np.einsum("ta,ragh->rtgh", share, np.log(np.maximum(P, 1e-12)))
    rows[:, :, np.arange(K), np.arange(K)] += step[:, None] * walk
    rows = np.exp(rows - rows.max(axis=3, keepdims=True))
    return np.asarray(rows / rows.sum(axis=3, keepdims=True))


def drift_given(P: Floats, drift: float) -> Floats:
    """Return the step of log odds (K,) at which every recall moves by `drift` in one period."""
    return np.asarray(drift / _slope(P))


def in_points(P: Floats, step: Floats) -> float:
    """Return how far a recall moves in one period, in the class where it moves most."""
    return float((np.median(step, axis=0) * _slope(P)).max())


def _recalls(P: Floats) -> Floats:
    return np.clip(np.diagonal(P, axis1=-2, axis2=-1), 1e-6, 1 - 1e-6)


def _log_odds(p: Floats) -> Floats:
    return np.asarray(np.log(p) - np.log1p(-p))


def _slope(P: Floats) -> Floats:
    """How far each recall (K,) moves where its log odds move by 1, but 0.01 at least."""
    recall = _recalls(P)
    moves = (recall * (1 - recall)).reshape(-1, P.shape[-1]).mean(axis=0)
    return np.asarray(np.maximum(moves, 0.01))
