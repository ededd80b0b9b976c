"""The walk through Θ_K(v̂), in gammas: columns and rows redrawn one at a time.

A row p_g ~ Dir(a_g) is X_g / ΣX_g with independent X_gh ~ Gamma(a_gh), and the constraint does not
depend on a row's scale: P is in Θ_K where ρ = Σ_g w_g X_g for some w ≥ 0, and then
β_g = w_g ΣX_g. With B = (Xᵀ)⁻¹, w = Bρ.

A *column* k is K independent gammas x. With q = B_·k and d = xᵀq the new weights are
w' = w − q (xᵀw − ρ_k)/d, and det X' = d det X: K operations to see whether a proposal stays inside.
Whether class k has too many predicted units to be permissible is mostly its own column's affair,
so fresh columns are accepted far more often than fresh rows, and one sweep is nearly an
independent draw. A *row* g replaced by x has z = Bx, w'_g = w_g / z_g, w'_k = w_k − z_k w'_g and
det X' = z_g det X.

Under `constrained` a proposal is kept where w' ≥ 0, and that is all. A fresh one may then be tried
several times: how often it fails does not depend on what it replaces. Under `full`, with ρ fixed,
the density of X has the factor Π β_g^(γ_g − 1) / |det P| as well.

Columns move in blocks J of a few. Within a block only its own columns of B are kept right; the
rest follow at once, by Woodbury's formula B' = B − B_J (X_JᵀB_J)⁻¹ X_JᵀB, in matrix products.

Arrays have the chains last, (K, K, C), so that each step is one pass over contiguous memory; B has
them first, as matrix products need it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trueup.numerics.arrays import Bools, Floats, Rng
from trueup.numerics.dirichlet import GammaDraws

PIVOT = 1e-10
"""Moves with a d that is smaller than this, relative to what it is the sum of, are refused: B would
lose its last digits."""
TINY = np.finfo(float).tiny
BLOCK = 8
"""Columns that move before B's other columns follow."""
HUGE = 1e200
"""Weights above this are refused."""
far_out = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""With α near 0 a row may be 1e-300 and its weight too large for a number: that is refused."""


@dataclass
class Gammas:
    """C chains: X (K, K, C), B = (Xᵀ)⁻¹ (C, K, K), w and ρ (K, C), log |det P| (C,).

    With `gamma` the factor of `full` applies. Chains that are not `regular` stay where they are.
    """

    X: Floats
    B: Floats
    w: Floats
    rho: Floats
    log_det: Floats
    regular: Bools
    gamma: Floats | None = None

    def beta(self) -> Floats:
        """Base rates (K, C)."""
        w = np.nan_to_num(np.maximum(self.w, 0.0), posinf=HUGE)
        beta = w * self.X.sum(axis=1)
        return np.asarray(beta / np.maximum(beta.sum(axis=0), TINY))


@far_out
def invert(X: Floats, rho: Floats, gamma: Floats | None = None) -> Gammas:
    """Compute B and w from X; a chain whose X is singular to the last digits does not move."""
    A = np.moveaxis(X, -1, 0).swapaxes(1, 2)
    log_det, regular = np.zeros(len(A)), np.ones(len(A), dtype=bool)
    try:
        if gamma is not None:
            raise np.linalg.LinAlgError  # P may be singular to the last digits
        B = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        log_det = np.linalg.slogdet(A)[1] - np.log(np.maximum(X.sum(axis=1), TINY)).sum(axis=0)
        regular = log_det > floor(len(X), gamma)
        B = np.linalg.inv(np.where(regular[:, None, None], A, np.eye(len(X))))
    w = np.ascontiguousarray((B @ rho.T[:, :, None])[:, :, 0].T)
    if gamma is not None:
        regular &= w.min(axis=0) > TINY
    return Gammas(X, np.asarray(B, dtype=float), w, rho, log_det, regular, gamma)


def floor(K: int, gamma: Floats | None) -> float:
    """Log |det P| below which B is no longer trusted; under `constrained` it is 0 there anyway."""
    return -np.inf if gamma is None else -21.0 - 2.0 * K


def propose(old: Floats, a: Floats, keep: float, tries: int, rng: Rng) -> Floats:
    """Propose gammas (K, tries, C) in detailed balance with Gamma(a), keeping a part of the old.

    With B ~ Beta(ra, (1−r)a) and G ~ Gamma((1−r)a), X' = BX + G is Gamma(a) again (the beta-gamma
    autoregression of Lewis, McKenzie and Hugus, 1989).
    """
    shape = (len(a), tries, old.shape[-1])
    x = rng.standard_gamma(((1.0 - keep) * a)[:, None, None], size=shape)
    if keep:
        part = rng.beta((keep * a)[:, None, None], ((1.0 - keep) * a)[:, None, None], size=shape)
        x += part * old[:, None]
    return x


def propose_columns(
    X: Floats, a: Floats, columns: list[int], paces: list[tuple[float, int]], rng: Rng
) -> list[Floats]:
    """`propose` for some columns, each with its own (keep, tries); fresh ones drawn together."""
    K = len(a)
    draws, edges = _fresh(a[:, columns].tobytes(), K, tuple(paces))
    fresh = np.empty((edges[-1], X.shape[2]))
    draws.fill(fresh, rng)
    return [
        propose(X[:, k], a[:, k], keep, tries, rng)
        if keep
        else fresh[edges[i] : edges[i + 1]].reshape(K, tries, -1)
        for i, (k, (keep, tries)) in enumerate(zip(columns, paces, strict=True))
    ]


@lru_cache(maxsize=64)
def _fresh(a: bytes, K: int, paces: tuple[tuple[float, int], ...]) -> tuple[GammaDraws, list[int]]:
    """Shapes of the fresh proposals, and where each column's begin."""
    each = [0 if keep else K * tries for keep, tries in paces]
    shapes = np.frombuffer(a).reshape(K, -1).T
    parts = [np.repeat(x, n // K) for x, n in zip(shapes, each, strict=True)]
    return GammaDraws(np.concatenate(parts)), [0, *np.cumsum(each).tolist()]


@far_out
def move_columns(
    state: Gammas,
    order: list[int],
    passes: int,
    propose: Callable[[list[int]], list[Floats]],
    rng: Rng,
) -> list[tuple[int, Bools]]:
    """Move every column, in this order, to the first of its proposals (K, m, C) that stays inside.

    The first block of columns moves `passes` times. `propose` makes proposals for a block; returned
    is which of them stay inside. B is not right any more: `invert` comes next.
    """
    found = []
    B = state.B[:, :, order]
    for start in range(0, len(order), BLOCK):
        J, B_J = order[start : start + BLOCK], B[:, :, start : start + BLOCK]
        Q = np.ascontiguousarray(np.moveaxis(B_J, 0, -1))
        for left in range(0 if start else passes - 1, -1, -1):
            found += _move_block(state, Q, J, propose(J), rng, whole=left > 0)
        if start + BLOCK < len(order):
            rest, X_J = B[:, :, start + BLOCK :], np.moveaxis(state.X[:, J], -1, 0).swapaxes(1, 2)
            D = np.where(state.regular[:, None, None], X_J @ B_J, np.eye(len(J)))
            try:
                rest -= B_J @ np.linalg.solve(D, X_J @ rest)
            except np.linalg.LinAlgError:  # to the last digits
                rest[:] = invert(state.X, state.rho).B[:, :, order[start + BLOCK :]]
    return found


def _move_block(
    state: Gammas, Q: Floats, J: list[int], xs: list[Floats], rng: Rng, *, whole: bool = False
) -> list[tuple[int, Bools]]:
    """Move columns J, one after the other, and with them Q = B_J (K, m, C).

    Of Q only the columns that come later are kept right, unless the `whole` is needed again.
    """
    w, chain, found = state.w, np.arange(Q.shape[2]), []
    qwq = np.empty((3, *w.shape))
    for j, (k, x) in enumerate(zip(J, xs, strict=True)):
        q = qwq[0]
        q[:], qwq[1] = Q[:, j], w
        np.abs(q, out=qwq[2])
        d, excess, size = np.einsum("gmc,sgc->smc", x, qwq)
        size *= PIVOT
        inside = np.abs(d) > size
        inside &= state.regular
        np.copyto(d, 1.0, where=~inside)
        excess -= state.rho[k]
        excess /= d
        new_w = q[:, None] * excess
        np.subtract(w[:, None], new_w, out=new_w)
        inside &= np.minimum.reduce(new_w) >= 0.0
        inside &= np.maximum.reduce(new_w) < HUGE
        if state.gamma is not None:
            total = state.X.sum(axis=1)
            change = x[:, 0] - state.X[:, k]
            inside[0] &= _likelier(state, new_w[:, 0], total, total + change, d[0], inside[0], rng)
        found.append((k, inside))
        if len(inside) == 1:
            done, new, new_w, d = inside[0], x[:, 0], new_w[:, 0], d[0]
        else:
            first = inside.argmax(axis=0)
            done, d = inside[first, chain], d[first, chain]
            new, new_w = x[:, first, chain], new_w[:, first, chain]
        np.copyto(w, new_w, where=done)
        np.copyto(state.X[:, k], new, where=done)
        later = Q if whole else Q[:, j + 1 :]
        y = np.einsum("gc,ghc->hc", new, later)
        if whole:
            y[j] -= 1.0
        y *= done / d
        later -= q[:, None] * y
    return found


@far_out
def move_row(state: Gammas, g: int, x: Floats) -> Bools:
    """Move row g to the first of the proposals x (K, m, C) that stays inside; return which do."""
    chain = np.arange(x.shape[2])
    z = np.moveaxis(state.B @ np.moveaxis(x, -1, 0), 0, -1)
    size = np.einsum("ch,hmc->mc", np.abs(state.B[:, g]), x)
    inside = z[g] > PIVOT * size
    inside &= state.regular
    d = np.where(inside, z[g], 1.0)
    w_g = state.w[g] / d
    w = state.w[:, None] - z * w_g
    w[g] = w_g
    inside &= (w.min(axis=0) >= 0.0) & (w.max(axis=0) < HUGE)
    first = inside.argmax(axis=0)
    done, d = inside[first, chain], d[first, chain]
    z = z[:, first, chain] / d
    z[g] = 1.0 - 1.0 / d
    z *= done
    state.B -= z.T[:, :, None] * state.B[:, g, None].copy()
    np.copyto(state.w, w[:, first, chain], where=done)
    np.copyto(state.X[g], x[:, first, chain], where=done)
    return np.asarray(inside)


def _likelier(
    state: Gammas, w: Floats, total: Floats, after: Floats, d: Floats, inside: Bools, rng: Rng
) -> Bools:
    """Accept by Π (β'/β)^(γ−1) |det P| / |det P'|, and never where B is not to be trusted."""
    assert state.gamma is not None
    inside = inside & (w.min(axis=0) > TINY) & (after.min(axis=0) > TINY)
    change = np.log(np.where(inside, after, 1.0)) - np.log(np.where(inside, total, 1.0))
    log_det = np.log(np.abs(d)) - change.sum(axis=0)
    beta = change + np.log(np.where(inside, w, 1.0)) - np.log(np.where(inside, state.w, 1.0))
    log_ratio = np.einsum("g,gc->c", state.gamma - 1.0, beta) - log_det
    inside &= state.log_det + log_det > floor(len(w), state.gamma)
    inside &= log_ratio > -rng.standard_exponential(log_ratio.shape)
    state.log_det += inside * log_det
    return np.asarray(inside)


def swap_rows(X: Floats, a: Floats, rng: Rng) -> int:
    """Exchange two rows in each chain, where accepted: the hull and ρ stay, β changes its order.

    Rows of classes with few test units can stand in for each other; they are chosen more often.
    """
    K, chains = len(a), X.shape[2]
    weight = 1.0 / a.sum(axis=1)
    # a pair without order: two different classes, the first by weight, the second by the rest's
    order = np.argsort(rng.standard_exponential((K, chains)) / weight[:, None], axis=0)
    g, k, c = order[0], order[1], np.arange(chains)
    rows = X[g, :, c], X[k, :, c]
    logs = [np.log(np.maximum(x, TINY)) for x in rows]
    log_ratio = np.einsum("ch,ch->c", a[g] - a[k], logs[1] - logs[0])
    done = np.flatnonzero(log_ratio > -rng.standard_exponential(chains))
    X[g[done], :, done], X[k[done], :, done] = rows[1][done], rows[0][done]
    return len(done)
