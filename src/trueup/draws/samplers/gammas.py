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

Arrays have the chains last, (K, K, C), so that each step is one pass over contiguous memory.
"""

from dataclasses import dataclass

import numpy as np

from trueup.numerics.arrays import Bools, Floats

PIVOT = 1e-10
"""Moves with a d that is smaller than this, relative to what it is the sum of, are refused: B would
lose its last digits."""
TINY = np.finfo(float).tiny
HUGE = 1e200
"""Weights above this are refused."""
far_out = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""With α near 0 a row may be 1e-300 and its weight too large for a number: that is refused."""


@dataclass
class Gammas:
    """C chains: X and B = (Xᵀ)⁻¹ (K, K, C), w and ρ (K, C), log |det P| (C,).

    With `gamma` the factor of `full` applies. Chains that are not `regular` stay where they are.
    """

    X: Floats
    B: Floats
    w: Floats
    rho: Floats
    log_det: Floats
    regular: Bools
    gamma: Floats | None = None

    def __post_init__(self) -> None:
        self.room = np.empty_like(self.B)  # allocating it costs more than writing into it

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
    B = np.ascontiguousarray(np.moveaxis(B, 0, -1))
    w = np.einsum("ghc,hc->gc", B, rho)
    if gamma is not None:
        regular &= w.min(axis=0) > TINY
    return Gammas(X, np.asarray(B, dtype=float), w, rho, log_det, regular, gamma)


def floor(K: int, gamma: Floats | None) -> float:
    """Log |det P| below which B is no longer trusted; under `constrained` it is 0 there anyway."""
    return -np.inf if gamma is None else -21.0 - 2.0 * K


def propose(old: Floats, a: Floats, keep: float, tries: int, rng: np.random.Generator) -> Floats:
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


@far_out
def move_column(
    state: Gammas, k: int, x: Floats, rng: np.random.Generator, *, only_later: bool = False
) -> Bools:
    """Move column k to the first of the proposals x (K, m, C) that stays inside; return which do.

    With `only_later`, B is kept right for the columns after k only.
    """
    q = state.B[:, k].copy()
    d = np.einsum("gmc,gc->mc", x, q)
    excess = np.einsum("gmc,gc->mc", x, state.w) - state.rho[k]
    inside = np.abs(d) > PIVOT * np.einsum("gmc,gc->mc", x, np.abs(q))
    inside &= state.regular
    d[~inside] = 1.0
    excess /= d
    w = state.w[:, None] - q[:, None] * excess
    inside &= (w.min(axis=0) >= 0.0) & (w.max(axis=0) < HUGE)
    if state.gamma is not None:
        total = state.X.sum(axis=1)
        change = x[:, 0] - state.X[:, k]
        inside[0] &= _likelier(state, w[:, 0], total, total + change, d[0], inside[0], rng)
    first, chain = inside.argmax(axis=0), np.arange(x.shape[2])
    done = inside[first, chain]
    if done.any():
        new = x[:, first, chain]
        rest = slice(k + 1 if only_later else 0, None)
        y = np.einsum("gc,ghc->hc", new, state.B[:, rest])
        if not only_later:
            y[k] -= 1.0
        y *= done / d[first, chain]
        room = state.room[:, rest]
        np.multiply(q[:, None], y, out=room)
        state.B[:, rest] -= room
        np.copyto(state.w, w[:, first, chain], where=done)
        np.copyto(state.X[:, k], new, where=done)
    return np.asarray(inside)


@far_out
def move_row(state: Gammas, g: int, x: Floats, rng: np.random.Generator) -> Bools:
    """Move row g to the first of the proposals x (K, m, C) that stays inside; return which do."""
    z = np.einsum("khc,hmc->kmc", state.B, x)
    inside = z[g] > PIVOT * np.einsum("hc,hmc->mc", np.abs(state.B[g]), x)
    inside &= state.regular
    d = np.where(inside, z[g], 1.0)
    w_g = state.w[g] / d
    w = state.w[:, None] - z * w_g
    w[g] = w_g
    inside &= (w.min(axis=0) >= 0.0) & (w.max(axis=0) < HUGE)
    if state.gamma is not None:
        total = state.X.sum(axis=1)
        after = total.copy()
        after[g] = x[:, 0].sum(axis=0)
        inside[0] &= _likelier(state, w[:, 0], total, after, d[0], inside[0], rng)
    first, chain = inside.argmax(axis=0), np.arange(x.shape[2])
    done = inside[first, chain]
    if done.any():
        d = d[first, chain]
        z = z[:, first, chain] / d
        z[g] = 1.0 - 1.0 / d
        z *= done
        np.multiply(z[:, None], state.B[g].copy(), out=state.room)
        state.B -= state.room
        np.copyto(state.w, w[:, first, chain], where=done)
        np.copyto(state.X[g], x[:, first, chain], where=done)
    return np.asarray(inside)


def _likelier(
    state: Gammas,
    w: Floats,
    total: Floats,
    after: Floats,
    d: Floats,
    inside: Bools,
    rng: np.random.Generator,
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


def swap_rows(X: Floats, a: Floats, rng: np.random.Generator) -> int:
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
