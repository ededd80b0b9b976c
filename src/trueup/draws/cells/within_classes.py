"""Cells of a test set drawn within true classes: `full` over predicted classes and bands.

Then rows over all cells carry over, p_gℓ = c_gℓ ρ_ℓ/β_g, and the audited units have the likelihood

    Π p_gℓ^n_gℓ  ∝  Π c_gℓ^n_gℓ ρ_ℓ^n_gℓ · Π β_g^(−n_g),   β = cρ,

that of a random test set times Π β_g^(−n_g). With t_g ~ Gamma(n_g)/β_g, about how many units would
have to be drawn at random to find n_g of class g, that factor is exp(−Σ t_g θ_gℓ), θ = cρ. Then

- columns are independent: c_·ℓ has the density Π c^(κm + n − 1) exp(−Σ r_g c_g), r_g = t_g ρ_ℓ.
  Proposals that are nearly exact (`samplers.tilted`) let κ and m move with all columns redrawn, as
  if columns were integrated out;
- as Σθ = 1, the factor is exp(Σ (t − t_g)θ_gℓ) up to a constant, t the largest t_g: what
  k_gℓ ~ Poisson((t − t_g)θ_gℓ) more units contribute, those that a random test set would have had
  beside the audited ones. Given n + k, columns are learned as for a random test set (`columns`)
  and ρ ~ Dir(v̂ + n + k).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.draws.cells.columns import (
    BEYOND,
    KAPPAS,
    STEEPEST,
    Changed,
    Columns,
    curve,
    reflected,
    scales,
)
from trueup.draws.cells.frame import Frame
from trueup.draws.samplers.tilted import log_rates
from trueup.numerics import half_t, special
from trueup.numerics.arrays import Floats, Integers
from trueup.numerics.dirichlet import log_gamma

MOST_UNSEEN = 1e12
"""Units that a random test set would have had, at most: beyond this a class is not there."""
MOVES = ("kappa", "x", "slopes", "first", "second", "first", "second")
"""Moves of κ and m after each sweep, each with all columns redrawn."""
SIZES = (-2.0, 1.0)
"""Least and largest standard deviation of a step of log x, in logs."""
JUMPS = 20
"""Standard deviation of a step of κ on its grid."""
LEAST, LARGEST = 1e-300, 300.0


def draw_within_classes(
    states: Generator[Columns, Changed | None, None],
    n: Integers,
    v_hat: Integers,
    known: Frame,
    alpha: Floats,
    rng: np.random.Generator,
) -> Iterator[tuple[Columns, Floats, Floats]]:
    """Draw columns c (C, K, H, B) and shares ρ (C, H, B), sweep after sweep of `learn_columns`.

    `n` (K, H, B) are the audited units and `v_hat` (H, B) those that were not audited; `known` and
    `alpha` are those of `learn_columns`.
    """
    moves = MOVES if known.right is None else (*MOVES, "score", "slopes")
    state = next(states)
    n_g, more = n.sum(axis=(1, 2)), np.broadcast_to(n, state.m.shape)
    prior = alpha.sum(axis=0)[:, None] / n.shape[2]
    while True:
        rho = rng.standard_gamma(v_hat + prior + more.sum(axis=1))
        rho /= rho.sum(axis=(1, 2), keepdims=True)
        a = np.maximum(state.kappa[:, None, None, None] * state.m + more, LEAST)
        log_c = _normalised(log_gamma(a, a.shape, rng))
        t = _sizes(np.exp(log_c) * rho[:, None], n_g, rng)
        log_r = np.log(np.maximum(t, LEAST))[:, :, None, None] + np.log(rho)[:, None]
        now = _weighed(state, log_r, n, log_c, rng)
        for what in moves:
            to, log_prior = _propose(now.state, what, known, alpha, rng)
            new = _weighed(to, log_r, n, None, rng)
            log_ratio = log_prior + (new.log_weight - now.log_weight).sum(axis=(1, 2))
            now = _accept(now, new, log_ratio, rng)
        state, c = _freed(now.state, alpha, rng), np.exp(now.log_c)
        yield state, c, rho
        more = n + draw_unseen(c * rho[:, None], n_g, rng)
        state = states.send(Changed(more, state))


def _sizes(theta: Floats, n_g: Integers, rng: np.random.Generator) -> Floats:
    """Draw t_g ~ Gamma(n_g)/β_g: (C, K)."""
    beta = np.maximum(theta.sum(axis=(2, 3)), LEAST)
    return np.asarray(np.minimum(rng.standard_gamma(n_g, beta.shape) / beta, MOST_UNSEEN))


def draw_unseen(theta: Floats, n_g: Integers, rng: np.random.Generator) -> Integers:
    """Draw k (C, K, H, B), what a random test set would have had beside the audited units.

    `theta` (C, K, H, B) are the cells' shares of the population by true class; `n_g` (K,) the
    audited units of each class.
    """
    t = _sizes(theta, n_g, rng)
    missing = t.max(axis=1, keepdims=True) - t
    return np.asarray(rng.poisson(missing[:, :, None, None] * theta))


class Weighed(NamedTuple):
    """Chains given t: their state, log c (C, K, H, B), and log π/q of their columns (C, H, B)."""

    state: Columns
    log_c: Floats
    log_weight: Floats


def _weighed(
    state: Columns, log_r: Floats, n: Integers, log_c: Floats | None, rng: np.random.Generator
) -> Weighed:
    """Weigh these columns, or proposed ones: gammas with rates b = r + τ, over their sum.

    π = Γ(κ)/ΠΓ(κm) Π c^(a−1) e^(−rc) is their density, a = κm + n, A = Σa, and that of the proposal
    q = Γ(A)/ΠΓ(a) Π b^a c^(a−1) (bc)^(−A). So π/q is about the integral of π and hardly varies.
    """
    kappa = state.kappa[:, None, None]
    own = np.maximum(kappa[:, None] * state.m, LEAST)
    a: Floats = own + n.astype(float)
    rate = np.moveaxis(log_rates(np.moveaxis(a, 1, 0), np.moveaxis(log_r, 1, 0)), 0, 1)
    if log_c is None:
        log_c = _normalised(log_gamma(a, a.shape, rng) - rate)
    each = -a * rate - np.exp(log_r + log_c)
    seen = np.broadcast_to(n > 0, a.shape)
    each[seen] += special.gammaln(a[seen]) - special.gammaln(own[seen])
    A = a.sum(axis=1)
    log_weight = each.sum(axis=1) + A * np.log(np.exp(rate + log_c).sum(axis=1))
    some = n.any(axis=0)
    log_weight[:, some] += special.gammaln(kappa[:, 0]) - special.gammaln(A[:, some])
    return Weighed(state, log_c, log_weight)


def _normalised(x: Floats) -> Floats:
    """Subtract log Σ exp(x) over true classes."""
    x = x - x.max(axis=1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


def _propose(
    state: Columns,
    what: str,
    known: Frame,
    alpha: Floats,
    rng: np.random.Generator,
) -> tuple[Columns, Floats]:
    """Propose another κ, x or slopes; return also the log ratio of priors, and of proposals."""
    C, K, H, _ = state.m.shape
    if what == "kappa":
        at = np.searchsorted(KAPPAS, 0.999 * state.kappa)
        to = at + np.rint(JUMPS * rng.standard_normal(C)).astype(int)
        inside = (to >= 0) & (to < len(KAPPAS))
        kappa = KAPPAS[np.clip(to, 0, len(KAPPAS) - 1)]
        return state._replace(kappa=kappa), np.where(inside, 0.0, -np.inf)
    some = (rng.random((C, 1, H)) < 0.5) | (rng.random((C, 1, 1)) < 0.5)
    if what == "score" and known.right is not None:  # from its prior, or near
        near = reflected(state.b + 0.4 * rng.standard_normal(C), STEEPEST)
        b = np.where(rng.random(C) < 0.5, near, STEEPEST * rng.random(C))
        grown = ((b - state.b)[:, None, None] * known.right)[..., None] * known.phi[-1]
        moved, log_prior = state._replace(b=b), np.zeros(C)
    elif what in ("first", "second"):  # by differences between chains of the other half
        step, slope = _differences(state, what == "first", some, rng)
        log_prior = (alpha * step - state.x * np.expm1(step)).sum(axis=(1, 2))
        fall = slope * (2 * state.d + slope) / (2 * state.upsilon[:, None, None] ** 2)
        log_prior -= fall.sum(axis=(1, 2, 3))
        moved = state._replace(x=state.x * np.exp(step), d=state.d + slope)
        grown = step[..., None] + curve(slope, known.phi)
    elif what == "x":  # one class, in all or half of the predicted classes
        one = np.arange(K)[:, None] == rng.integers(K, size=(C, 1, 1))
        delta = np.exp(rng.uniform(*SIZES, C)) * rng.standard_normal(C)
        step = np.where(one & some, delta[:, None, None], 0.0)
        log_prior = (alpha * step - state.x * np.expm1(step)).sum(axis=(1, 2))
        moved, grown = state._replace(x=state.x * np.exp(step)), step[..., None]
    else:  # from their priors, or keeping a part of the old
        centre, error = (np.reshape(x, (K, -1)) for x in known.slopes)
        upsilon, Q = state.upsilon[:, None, None], centre.shape[1]
        keep = rng.choice([0.0, 0.8, 0.98], C)[:, None, None]
        fresh = np.sqrt(1 - keep**2)
        s = centre + keep * (state.s - centre) + fresh * error * rng.standard_normal((C, K, Q))
        keep, fresh = keep[..., None], fresh[..., None]
        d = keep * state.d + fresh * upsilon * rng.standard_normal(state.d.shape)
        lam = np.where(keep[:, 0, 0, 0] == 0, BEYOND * rng.random(C), state.lam)
        which = rng.integers(4, size=C)
        s = np.where((which == 0)[:, None, None], s, state.s)
        lam = np.where(which == 1, lam, state.lam)
        d = np.where((which == 2)[:, None, None, None] & some[..., None], d, state.d)
        # d of one function and its scale by one factor
        R = len(known.phi)
        one = (which == 3)[:, None] & (np.arange(R) == rng.integers(R, size=(C, 1)))
        factor = np.where(one, np.exp(rng.standard_normal((C, 1))), 1.0)
        d = d * factor[:, None, None]
        wide = state.upsilon * factor
        scale = scales(R, Q)
        log_prior = half_t.log_density(wide, scale) - half_t.log_density(state.upsilon, scale)
        log_prior = (log_prior + np.log(factor)).sum(axis=1)
        moved = state._replace(s=s, d=d, lam=lam, upsilon=wide)
        step = d - state.d
        told = lam[:, None, None] * s - state.lam[:, None, None] * state.s
        step[..., :Q] += told[:, :, None]
        grown = curve(step, known.phi)
    m = state.m * np.exp(np.clip(grown, -LARGEST, LARGEST))
    return moved._replace(m=m / m.sum(axis=1, keepdims=True)), log_prior


def _freed(state: Columns, alpha: Floats, rng: np.random.Generator) -> Columns:
    """Redraw Σ_g x_gh and Σ_g d_gh, which m does not have: both are as their prior."""
    C, K, H = state.x.shape
    total = rng.standard_gamma(alpha.sum(axis=0), (C, 1, H))
    x = state.x * total / np.maximum(state.x.sum(axis=1, keepdims=True), LEAST)
    free = rng.standard_normal((C, 1, *state.d.shape[2:])) * state.upsilon[:, None, None]
    d = state.d + free / np.sqrt(K) - state.d.mean(axis=1, keepdims=True)
    return state._replace(x=np.maximum(x, LEAST), d=d)


def _differences(
    state: Columns, first: bool, some: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Steps of log x and d in one half of the chains: between two of the other (ter Braak, 2006).

    They have the posterior's own shape, in which x and d of a predicted class go together.
    """
    C, K, _ = state.x.shape
    half = (np.arange(C) < C // 2) == first
    one, other = rng.choice(np.flatnonzero(~half), (2, C))
    size = rng.choice([1.0, 0.5, 0.2], C) + 1e-3 * rng.standard_normal(C)
    mine = some & (np.arange(K)[:, None] == rng.integers(K, size=(C, 1, 1))) & half[:, None, None]
    log_x = np.log(np.maximum(state.x, LEAST))
    by = np.where(mine, size[:, None, None], 0.0)
    return by * (log_x[one] - log_x[other]), by[..., None] * (state.d[one] - state.d[other])


def _accept(old: Weighed, new: Weighed, log_ratio: Floats, rng: np.random.Generator) -> Weighed:
    yes = -rng.standard_exponential(len(log_ratio)) < log_ratio
    kept = [
        np.where(yes.reshape(-1, *(1,) * (x.ndim - 1)), y, x)
        for x, y in zip((*old.state, *old[1:]), (*new.state, *new[1:]), strict=True)
    ]
    return Weighed(Columns(*kept[:-2]), *kept[-2:])
