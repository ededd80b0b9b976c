"""Given P: the base rates β_b of each group, for each draw of P.

    π(β) ∝ Π_g β_g^(α_g − 1) Π_h (Σ_g β_g p_gh)^v̂_h,

with α = κμ and what is known of the group besides. A chain goes through a few draws of P, chains
side by side through others. On each draw it proposes all rates of a group at once, from a
distribution close to π that does not depend on where the chain is (`groups.proposal`), and accepts
by the rule of Metropolis and Hastings: 40–90% with up to 15 classes, whatever the group's size.
What it takes from one draw of P to the next is where it is relative to the mode, which is a better
start than any proposal. Data augmentation, units and rates in turn, is slow where classes are rare
or hard to tell apart. Rates are drawn as logs: with a small α most would underflow.
"""

import numpy as np

from trueup.aggregate.groups.near import FEW, TINY, Near, find_near, shares
from trueup.aggregate.groups.proposal import Proposal, largest
from trueup.draws.contingency import solve_Q
from trueup.numerics.arrays import Floats, Integers, Rng

MOVES, FEW_MOVES, MORE = 2, 1, 3
"""Proposals on each draw of P, for groups of few units, of which more are accepted, and more on a
chain's first draw; `python studies/group_chains.py` prints how much the start matters."""
LARGE, SMALL = 20_000, 1e-6
"""Groups up to this size, and with α above this, are drawn in single precision: twice as fast."""
STEPS = 200
"""Steps of the expectation map in `base_rates`."""
LENGTH = 16
"""Draws of P that a chain goes through."""
BLOCK = 30_000
"""Numbers in an array: small enough for a processor's cache."""


def draw_rates(
    rows: Floats,
    shape: Floats,
    v_hat: Integers,
    rng: Rng,
    *,
    moves: int | None = None,
    start: Near | None = None,
    at: Floats | None = None,
) -> Floats:
    """Draw β (R, G, K) of G groups.

    `rows` (K, L, R) are draws of P, none of them 0, and `shape` (K, G or 1, R) is α: the prior's
    concentrations and the known units of each true class. `v_hat` (G, L) are units per group and
    predicted class, `moves` the proposals on each draw of P. `start` is what `find_near` returns
    near these draws; by default it is found at their mean. `at` (R, G, K) is log β of chains that
    are on their way, one for each draw.
    """
    shape, (G, _) = np.maximum(shape, TINY), v_hat.shape
    K, _, R = rows.shape
    if start is None:
        alpha = np.broadcast_to(shape.mean(axis=-1).T, (G, K))
        start = find_near(rows.mean(axis=-1), alpha, v_hat)
    order = start.order
    P, alpha = np.ascontiguousarray(rows[order].transpose(2, 0, 1)), shape[order].transpose(2, 1, 0)
    beta, few, back = np.empty((R, G, K)), v_hat.sum(axis=1) <= FEW, np.argsort(order)
    side = -(-R // LENGTH)  # chains side by side; chain i goes through i, side + i, …
    side = R if at is not None else min(R, max(side, BLOCK // (2 * G * K)))
    each = max(1, BLOCK // (K * side))
    for kind, usual in ((few, FEW_MOVES), (~few, MOVES)):
        for some in np.split(np.flatnonzero(kind), range(each, int(kind.sum()), each)):
            if len(some):
                v, near = v_hat[some].astype(float), start.of(some)
                own = alpha if alpha.shape[1] == 1 else alpha[:, some]
                here = None if at is None else at[:, some][..., order]
                found = _chain(P, own, v, near, side, moves or usual, rng, here)
                beta[:, some] = np.maximum(found, TINY)[..., back]
    return beta


def _chain(
    P: Floats, alpha: Floats, v: Floats, near: Near, side: int, moves: int, rng: Rng,
    at: Floats | None = None,
) -> Floats:  # fmt: skip
    """Propose and accept, from one draw of P to the next; return the shares (R, G, K)."""
    single = v.sum(axis=1).max() <= LARGE and alpha.min() > SMALL
    kind = np.float32 if single else np.float64
    P, alpha, v, near = P.astype(kind), alpha.astype(kind), v.astype(kind), near.to(kind)
    found, eps = np.empty((len(P), len(v), P.shape[1])), None
    for begin in range(0, len(P), side):
        part = slice(begin, begin + side)
        proposal = Proposal(P[part], np.ascontiguousarray(alpha[part]), v, near)
        if at is not None:
            eps, x, weight = proposal.find(at.astype(kind), rng)
        elif eps is None:
            eps, x, weight = proposal.draw(rng)
        else:
            eps = eps[: len(proposal.P)]
            x, weight = proposal.weigh(eps)
        for _ in range(moves + (0 if begin or at is not None else MORE)):
            new, there, its = proposal.draw(rng)
            accept = rng.standard_exponential(weight.shape) > weight - its
            np.copyto(weight, its, where=accept)
            np.copyto(eps, new, where=accept[..., None])
            np.copyto(x, there, where=accept[..., None])
        found[part] = shares(np.exp(x - largest(x)[..., None]))
    return found


def base_rates(P: Floats, v_hat: Integers) -> Floats:
    """The population's base rates β (R, K) that make v̂ most likely given each draw of P.

    For P in Θ_K(v̂) they are Qv̂/N; for others the nearest in likelihood, never negative. The
    expectation map, started from Qv̂ where that is permissible.
    """
    N = v_hat.sum()
    beta = solve_Q(P, v_hat / N)
    inside = np.isfinite(beta).all(axis=1) & (beta > 0).all(axis=1)
    outside = ~inside
    if outside.any():
        K = P.shape[1]
        x, rows = np.full((int(outside.sum()), K), 1.0 / K), np.maximum(P[outside], TINY)
        for _ in range(STEPS):
            pi = np.einsum("rg,rgh->rh", x, rows)
            x = x * np.einsum("rgh,rh->rg", rows, v_hat / N / pi)
        beta[outside] = shares(np.maximum(x, TINY))
    return shares(beta)
