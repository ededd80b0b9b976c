"""How much groups, or strata, differ: the concentration κ and the mean μ of a Dirichlet family.

Counts X_j (K,) of several groups j with rates ~ Dir(a), a = κμ, follow a Dirichlet-multinomial.
With a large κ groups hardly differ, and each is drawn towards μ; with κ near 0 each stands alone.
κ and μ are drawn from their posterior by a random walk on log a.
"""

from collections.abc import Callable

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Rng

Prior = Callable[[Floats], Floats]

MIDDLE = 10.0
"""Prior median of κ: κ/(κ + 10) is uniform on (0, 1), so no degree of pooling is favoured."""
# κ above this is complete pooling, and below its inverse none, to floating-point precision.
LOG_MOST = np.log(1e7)


def log_middle(kappa: Floats) -> Floats:
    """Log density of log κ when κ/(κ + MIDDLE) is uniform."""
    return np.asarray(np.log(kappa) - 2.0 * np.log(kappa + MIDDLE))


def _of_classes(log_a: Floats, X: Floats) -> Floats:
    """The part of each class (…, K)."""
    a = np.exp(log_a)[..., None, :]
    each = np.where(X > 0, special.gammaln(a + X) - special.gammaln(a), 0.0)
    return np.asarray(each.sum(axis=-2))


def walk(
    log_a: Floats, X: Floats, log_prior: Prior, step: Floats, rng: Rng
) -> tuple[Floats, Floats]:
    """One round of a random walk on log a: each class in turn, then all together.

    The states `log_a` of the chains are (…, K) and broadcast with the counts `X` (…, J, K). `step`
    (K + 1,) has the standard deviation of each move, the common one last, and `log_prior` is a
    density with respect to log a. Return the new states, and the share of each kind of move that
    was accepted, (K + 1,).
    """
    K = log_a.shape[-1]
    size = X.sum(axis=-1)

    def rest(at: Floats) -> Floats:
        kappa = np.exp(at).sum(axis=-1)
        each = special.gammaln(kappa[..., None]) - special.gammaln(kappa[..., None] + size)
        inside = np.abs(np.log(kappa)) <= LOG_MOST
        return np.where(inside, each.sum(axis=-1) + log_prior(at), -np.inf)

    fit = _of_classes(log_a, X)  # only that of the classes that move is found again
    here = rest(log_a)
    accepted = np.zeros(K + 1)
    for move in range(K + 1):
        some = slice(None) if move == K else slice(move, move + 1)
        length = step[move] * rng.standard_normal(log_a.shape[:-1])
        proposal, new = log_a.copy(), fit.copy()
        proposal[..., some] += length[..., None]
        new[..., some] = _of_classes(proposal[..., some], X[..., some])
        there = rest(proposal)
        with np.errstate(invalid="ignore"):
            gain = there - here + (new - fit)[..., some].sum(axis=-1)
            accept = np.log(rng.random(length.shape)) < gain
        log_a, fit = (np.where(accept[..., None], x, y) for x, y in ((proposal, log_a), (new, fit)))
        here = np.where(accept, there, here)
        accepted[move] = accept.mean()
    return log_a, accepted


def adapt(step: Floats, accepted: Floats, round_: int) -> Floats:
    """Widen moves that are accepted more than 44% of the time, and narrow the others."""
    return np.asarray(np.clip(step * np.exp((accepted - 0.44) / np.sqrt(1.0 + round_)), 0.01, 5.0))
