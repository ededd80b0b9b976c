"""Error rates that differ: a contingency matrix for each stratum, partially pooled.

Strata j = 1 … J have rows and base rates with common priors,

    p_g^(j) ~ Dir(κ_g m_g),   β^(j) ~ Dir(κ_0 μ),   m_g ~ Dir(α_g),   μ ~ Dir(γ),

with κ/(κ + 10) uniform for each κ. The test set of a stratum and its predicted counts v̂ ~ Mult(Pᵀβ)
inform all of it together. Base rates are pooled too, since the prior of one stratum's β shifts all
strata the same way, which adds up in their sum.

In the coordinates c_gh = β_g p_gh / ρ_h = Pr(s = g | ŝ = h) and ρ = Pᵀβ of a stratum it is

    Π c_gh^(a_gh + n_gh − 1) · Π β_g^(e_g) · Π ρ_h^(a_·h + r_h − 1),   a_gh = κ_g m_gh,   β = cρ,

with e_g = κ_0 μ_g − κ_g and r = v̂ + n_·h for a test set drawn from the population, and e_g less n_g
for rows alone. There v̂ ties down ρ only. Many chains run side by side; a move of one half adds a
multiple of the difference of two chains of the other half (ter Braak 2006), which has the scale and
the correlations of the posterior. Two moves take all strata along: m_g is shifted with every row g,
and κ_g is scaled with their distances from m_g; without them a large κ hardly moves.

Arrays are (classes …, strata, chains).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.numerics import special
from trueup.numerics.concentration import LOG_MOST, MIDDLE, log_middle
from trueup.numerics.diagnostics import ess, rhat
from trueup.prior import Concentrations

__all__ = ["Pooled", "draw_pooled"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CHAINS = 64
"""Chains side by side, or four for each class if that is more."""
WARM_UP, LEAST_SWEEPS, THIN, MOST_BATCHES = 100, 50, 4, 6
ENOUGH = 0.5
"""100 sweeps to arrive, then batches of at least 50, of which every fourth sweep is kept. While
fewer draws than this share of those wanted are effective, one more batch is drawn, up to six."""
FEW = 0.1
"""A smaller share of effective draws is worth a warning."""
LEAST_LOG = 340.0
"""Rates stay above exp(−340); `_log_volume` is the mass of their prior there."""


class Pooled(NamedTuple):
    """Draws of P (R, J, K, K), β (R, J, K), κ (R, K) and κ_0 (R,), and how they were made."""

    P: Floats
    beta: Floats
    kappa: Floats
    kappa_0: Floats
    info: dict[str, Any]


class State(NamedTuple):
    """The chains: logs of c (K, K, J, C), ρ (K, J, C), a (K, K, C) and b = κ_0 μ (K, C)."""

    c: Floats
    rho: Floats
    a: Floats
    b: Floats

    def some(self, chains: slice) -> State:
        """Return the state of some chains."""
        return State(*(x[..., chains] for x in self))

    def log_beta(self) -> Floats:
        """Log base rates (K, J, C)."""
        return np.asarray(np.log(np.exp(self.c + self.rho).sum(axis=1)))


class Data(NamedTuple):
    """Test units n (K, K, J, 1), what v̂ and n say of ρ (K, J, 1), and n_g of β in two roles."""

    n: Floats
    r: Floats
    rows: Floats
    """n_g where the test set tells of rows alone, which takes it out of β's exponent; else 0."""
    alpha: Floats
    gamma: Floats


def draw_pooled(
    n: Integers,
    v_hat: Integers,
    prior: Concentrations,
    size: int,
    rng: np.random.Generator,
    *,
    from_population: bool,
    progress: Callable[[float], None] | None = None,
) -> Pooled:
    """Draw P and β of all J strata from their joint posterior.

    Parameters
    ----------
    n : (J, K, K) ndarray of int
        Test units of each stratum by true and predicted class; a stratum may have none.
    v_hat : (J, K) ndarray of int
        Units of each stratum per predicted class, without those of the test set.
    prior : Concentrations
        The user's prior: that of the common means m_g and μ.
    size : int
        How many draws to make.
    rng : numpy.random.Generator
        Source of randomness.
    from_population : bool
        Whether the test set was drawn at random or within predicted classes, so that it tells of
        base rates too; otherwise it tells of rows alone.
    progress : callable, optional
        Called with the share that is done.
    """
    J, K = v_hat.shape
    test = n.astype(float)
    rows = np.zeros((J, K)) if from_population else test.sum(axis=2)
    data = Data(
        np.moveaxis(test, 0, 2)[..., None],
        (v_hat + test.sum(axis=1)).T[..., None],
        rows.T[..., None],
        prior.alpha[..., None],
        prior.gamma[:, None],
    )
    chains = max(CHAINS, 4 * K)
    sweeps = _sweeps(_start(data, chains, rng), data, rng)
    for _ in range(WARM_UP):
        next(sweeps)
    batch = max(-(-size // chains) * THIN, LEAST_SWEEPS)
    weight = v_hat.T[..., None] / max(int(v_hat.sum()), 1)
    sums: list[Floats] = []
    states: list[State] = []
    for done in range(1, MOST_BATCHES + 1):
        for i in range(batch):
            state = next(sweeps)
            sums.append((np.exp(state.c) * weight).sum(axis=(1, 2)))
            if i % THIN == 0:
                states.append(state)
        kept = np.stack(sums, axis=2)  # classes, chains, sweeps
        effective = min(ess(x) for x in kept)
        if progress is not None:
            progress(done / MOST_BATCHES)
        if effective >= ENOUGH * size:
            break
    order = rng.permutation(len(states) * chains)[:size]
    P, beta, a, b = _collect(states, order)
    info: dict[str, Any] = {
        "sampler": "strata",
        "ess": float(min(effective, size)),
        "rhat": float(max(rhat(x) for x in kept)),
        "warnings": [],
    }
    if effective < FEW * size:
        info["warnings"].append(
            f"Only {effective:.0f} of {size:,} draws of the strata are effective: the interval is "
            "rough."
        )
    return Pooled(P, beta, a.sum(axis=2), b.sum(axis=1), info)


def _collect(states: list[State], order: Integers) -> tuple[Floats, Floats, Floats, Floats]:
    """Return draws of P, β, a and b from the states, in the given order, draws first."""
    chains = states[0].b.shape[-1]
    J, K = states[0].rho.shape[1], len(states[0].rho)
    P, beta = np.empty((len(order), J, K, K)), np.empty((len(order), J, K))
    a, b = np.empty((len(order), K, K)), np.empty((len(order), K))
    for i, state in enumerate(states):
        mine = np.flatnonzero(order // chains == i)
        some = State(*(x[..., order[mine] % chains] for x in state))
        log_beta = some.log_beta()
        P[mine] = np.exp((some.c + some.rho - log_beta[:, None]).transpose(3, 2, 0, 1))
        beta[mine] = np.exp(log_beta.transpose(2, 1, 0))
        a[mine], b[mine] = np.exp(some.a.transpose(2, 0, 1)), np.exp(some.b.T)
    return P / P.sum(axis=3, keepdims=True), beta / beta.sum(axis=2, keepdims=True), a, b


def _start(data: Data, chains: int, rng: np.random.Generator) -> State:
    """Start chains apart: the rates of all strata together, mixed with each stratum's own."""
    K, _, J, _ = data.n.shape
    n = data.n[..., 0].sum(axis=2)[..., None] + data.alpha
    kappa = MIDDLE * np.exp(0.7 * rng.standard_normal((K, 1, chains)))
    m = n / n.sum(axis=1, keepdims=True)
    near = rng.standard_gamma(np.broadcast_to(20.0 * m + data.alpha, (K, K, chains)))
    a = np.log(kappa) + _normal(np.log(np.maximum(near, 1e-12)), 1)
    mu = rng.standard_gamma(np.broadcast_to(data.gamma + n.sum(axis=1), (K, chains)))
    b = np.log(MIDDLE) + _normal(np.log(np.maximum(mu, 1e-12)), 0)
    shape = 5.0 * (n / n.sum(axis=0))[:, :, None] + 0.3 + data.n
    c = np.log(rng.standard_gamma(np.broadcast_to(shape, (K, K, J, chains))) + 1e-12)
    rho = np.log(rng.standard_gamma(np.broadcast_to(data.r + 1.0, (K, J, chains))) + 1e-12)
    return State(_normal(c, 0), _normal(rho, 0), a, b)


def _sweeps(state: State, data: Data, rng: np.random.Generator) -> Iterator[State]:
    """Move all chains, sweep after sweep: strata given (κ, m), (κ, m) given strata, and both."""
    K, C = state.b.shape
    halves = (slice(0, C // 2), slice(C // 2, C))
    turn = 0
    while True:
        new = State(*(x.copy() for x in state))
        for mine, other in (halves, halves[::-1]):
            _write(new, mine, _move_strata(new, mine, other, data, rng))
            _write(new, mine, _move_common(new, mine, other, data, rng))
            _write(new, mine, _move_row(new, mine, other, turn % K, data, rng))
        state, turn = new, turn + 1
        yield state


def _write(state: State, mine: slice, moved: State) -> None:
    for x, y in zip(state, moved, strict=True):
        x[..., mine] = y


def _apart(x: Floats, mine: slice, other: slice, dims: int, rng: np.random.Generator) -> Floats:
    """Draw steps (…, mine): the difference of two chains of the other half, times a factor.

    The factor is one for all classes, and differs between the strata, or rows, on the last axis but
    one. Now and then it is 1, which leads from one mode to another.
    """
    half, size = other.stop - other.start, mine.stop - mine.start
    i = rng.integers(half, size=size)
    k = (i + rng.integers(1, half, size=size)) % half
    factor = 2.38 / np.sqrt(2 * dims) * np.exp(0.5 * rng.standard_normal((x.shape[-2], size)))
    factor[:, rng.random(size) < 0.1] = 1.0
    first, second = x.take(other.start + i, axis=-1), x.take(other.start + k, axis=-1)
    return np.asarray(factor * (first - second))


def _accept(gain: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.asarray(-rng.standard_exponential(gain.shape) < gain)


def _move_strata(
    state: State, mine: slice, other: slice, data: Data, rng: np.random.Generator
) -> State:
    """Move c and ρ of each stratum given (κ, m), then one column of c, or both again for K = 2."""
    now = state.some(mine)
    c, rho, a, b = now.c, now.rho, np.exp(now.a), np.exp(now.b)
    K = len(rho)
    here = _stratum_density(c, rho, a, b, data)
    for one_column in (False, K > 2):
        if one_column:
            chosen = rng.integers(K, size=rho.shape[1:]) == np.arange(K)[:, None, None]
            step = _apart(state.c, mine, other, K - 1, rng) * chosen
            new_rho = rho
        else:
            both = np.concatenate([state.c.reshape(K * K, *state.rho.shape[1:]), state.rho])
            step = _apart(both, mine, other, K * K - 1, rng)
            new_rho = _normal(rho + step[K * K :], 0)
            step = step[: K * K].reshape(c.shape)
        new_c = _normal(c + step, 0)
        there = _stratum_density(new_c, new_rho, a, b, data)
        yes = _accept(there - here, rng)
        c, rho, here = (np.where(yes, *x) for x in ((new_c, c), (new_rho, rho), (there, here)))
    return now._replace(c=c, rho=rho)


def _stratum_density(c: Floats, rho: Floats, a: Floats, b: Floats, data: Data) -> Floats:
    """Log density (J, C) of the log ratios of c's columns and of ρ."""
    theta = c + rho
    log_beta = np.log(np.exp(np.maximum(theta, -700.0)).sum(axis=1))
    e = (b - a.sum(axis=1))[:, None] - data.rows
    value = ((a[:, :, None] + data.n) * c).sum(axis=(0, 1))
    value += (e * log_beta).sum(axis=0) + ((a.sum(axis=0)[:, None] + data.r) * rho).sum(axis=0)
    low = np.minimum((theta - log_beta[:, None]).min(axis=(0, 1)), log_beta.min(axis=0))
    return np.where(low > -LEAST_LOG, value, -np.inf)


def _move_common(
    state: State, mine: slice, other: slice, data: Data, rng: np.random.Generator
) -> State:
    """Move κ_g m_g of each row, and κ_0 μ, given the rates of all strata, twice."""
    now = state.some(mine)
    log_beta = now.log_beta()
    K, J = log_beta.shape[:2]
    rows = (now.c + now.rho - log_beta[:, None]).sum(axis=2)
    total = np.concatenate([rows, log_beta.sum(axis=1)[None]]).swapaxes(0, 1)  # (K, rows, C)
    prior = np.concatenate([data.alpha, data.gamma[None]]).swapaxes(0, 1)
    every = np.concatenate([state.a, state.b[None]]).swapaxes(0, 1)
    x = every[..., mine]
    here = _common_density(x, prior, total, J)
    for _ in range(2):
        step = _apart(every, mine, other, K, rng) + 0.01 * rng.standard_normal(x.shape)
        there = _common_density(x + step, prior, total, J)
        yes = _accept(there - here, rng)
        x, here = np.where(yes, x + step, x), np.where(yes, there, here)
    return now._replace(a=x[:, :K].swapaxes(0, 1), b=x[:, K])


def _common_density(x: Floats, prior: Floats, total: Floats, J: int) -> Floats:
    """Log density of x = log κm (K, …) given the sum over J strata of their log rates."""
    a = np.exp(np.clip(x, -300.0, LOG_MOST))
    kappa = a.sum(axis=0)
    log_kappa = np.log(kappa)
    value = log_middle(kappa) + (prior * (x - log_kappa)).sum(axis=0)
    value += (a * total).sum(axis=0) - J * _log_volume(a, kappa)
    inside = (np.abs(log_kappa) < LOG_MOST) & (x.min(axis=0) > -300.0)
    return np.where(inside, value, -np.inf)


def _log_volume(a: Floats, kappa: Floats) -> Floats:
    """The log of ∫ Π p_h^(a_h − 1) over the rates with log p_h above −LEAST_LOG = −T.

    That is Π Γ(a_h)/Γ(κ) times Pr(all log p_h > −T). For small a, log p_h is −Y_h less its maximum
    with Y_h exponential of rate a_h, so Pr = Σ_h (a_h/κ) Π_{k≠h} (1 − exp(−T a_k)); for other a
    it is 1 in either form.
    """
    inside = -np.expm1(-LEAST_LOG * a)
    value = (special.gammaln(a) + np.log(inside)).sum(axis=0)
    return np.asarray(value + np.log((a / kappa / inside).sum(axis=0)) - special.gammaln(kappa))


def _move_row(
    state: State, mine: slice, other: slice, g: int, data: Data, rng: np.random.Generator
) -> State:
    """Move m_g, then κ_g, together with row g of every stratum; ρ stays, so that v̂ hardly minds."""
    now = state.some(mine)
    K, J = now.rho.shape[:2]
    log_P = now.c + now.rho - now.log_beta()[:, None]
    a, c = now.a.copy(), now.c
    log_kappa = np.log(np.exp(state.a[g]).sum(axis=0))[None]  # of all chains
    here, _ = _row_density(log_P, now, a[g], g, data)
    for scale in (False, True):
        m, new_P = _normal(a[g], 0), log_P.copy()
        if scale:  # distances from m_g go with 1/√κ
            log_f = -0.5 * _apart(log_kappa, mine, other, 1, rng)[0]
            new_a = a[g] - 2.0 * log_f
            new_P[g] = _normal(m[:, None] + np.exp(log_f) * (log_P[g] - m[:, None]), 0)
            jacobian = J * (K - 1) * log_f
        else:
            step = _apart(state.a[g][:, None], mine, other, K - 1, rng)[:, 0]
            new_a = _normal(m + step, 0) + log_kappa[0, mine]
            new_P[g] = _normal(log_P[g] + step[:, None], 0)
            jacobian = np.zeros(step.shape[-1])
        there, log_beta = _row_density(new_P, now, new_a, g, data)
        with np.errstate(invalid="ignore"):
            yes = _accept(there - here + jacobian, rng) & np.isfinite(here)
        a[g], here = np.where(yes, new_a, a[g]), np.where(yes, there, here)
        c = np.where(yes, new_P + log_beta[:, None] - now.rho, c)
        log_P = np.where(yes, new_P, log_P)
    return now._replace(c=_normal(c, 0), a=a)


def _row_density(
    log_P: Floats, now: State, log_a: Floats, g: int, data: Data
) -> tuple[Floats, Floats]:
    """Log density (C,) of row g and its κm in (P, ρ), where it is Dir(P)·Π β^(b + n_g − 1)/|det P|.

    And log β (K, J, C), which must be possible in all strata.
    """
    J = log_P.shape[2]
    log_det, beta = _solve(np.exp(log_P), np.exp(now.rho))
    low = np.minimum(log_P[g].min(axis=(0, 1)), now.rho.min(axis=(0, 1)))
    possible = (beta > np.exp(-LEAST_LOG)).all(axis=(0, 1)) & (low > -LEAST_LOG)
    log_beta = np.log(np.where(beta > 0, beta, 1.0))
    told = data.n.sum(axis=1) - data.rows
    a = np.exp(log_a)[:, None]
    value = ((a + data.n[g]) * log_P[g]).sum(axis=(0, 1)) - log_det.sum(axis=0)
    value += ((np.exp(now.b)[:, None] + told - 1.0) * log_beta).sum(axis=(0, 1))
    value += _common_density(log_a, data.alpha[g], np.zeros_like(log_a), J)
    return np.where(possible, value, -np.inf), log_beta


def _solve(P: Floats, rho: Floats) -> tuple[Floats, Floats]:
    """log |det P| (J, C) and β = Qρ (K, J, C); Cramer's rule for two classes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(P) == 2:
            det = P[0, 0] * P[1, 1] - P[0, 1] * P[1, 0]
            first = (P[1, 1] * rho[0] - P[1, 0] * rho[1]) / det
            beta = np.stack([first, (P[0, 0] * rho[1] - P[0, 1] * rho[0]) / det])
            return np.log(np.abs(det)), np.nan_to_num(beta, nan=-1.0)
        by_chain = np.moveaxis(P, (0, 1), (3, 2))  # (J, C, h, g): the transposed matrices
        log_det = np.linalg.slogdet(by_chain)[1]
        regular = np.isfinite(log_det) & (log_det > -600.0)
        safe = np.where(regular[..., None, None], by_chain, np.eye(len(P)))
        beta = np.linalg.solve(safe, np.moveaxis(rho, 0, 2)[..., None])[..., 0]
        beta = np.where(regular[..., None], beta, -1.0)
        return np.where(regular, log_det, 0.0), np.moveaxis(beta, 2, 0)


def _normal(x: Floats, axis: int) -> Floats:
    """Normalise logs: their exponentials sum to 1 over the axis."""
    x = x - x.max(axis=axis, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=axis, keepdims=True)))
