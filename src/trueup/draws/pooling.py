"""Error rates that differ: a contingency matrix for each stratum, partially pooled.

Strata j = 1 … J have rows and base rates with common priors,

    p_g^(j) ~ Dir(κ_g m_g),   β^(j) ~ Dir(κ_0 μ),   m_g ~ Dir(α_g),   μ ~ Dir(γ),

with κ/(κ + 10) uniform for each κ. The test set of a stratum and its predicted counts v̂ ~ Mult(Pᵀβ)
inform all of it together. Base rates are pooled too, since the prior of one stratum's β shifts all
strata the same way, which adds up in their sum.

In the coordinates c_gh = β_g p_gh / ρ_h = Pr(s = g | ŝ = h) and ρ = Pᵀβ of a stratum it is

    Π c_gh^(a_gh + n_gh − 1) · Π β_g^(e_g) · Π ρ_h^(a_·h + r_h − 1),   a_gh = κ_g m_gh,   β = cρ,

with e_g = κ_0 μ_g − κ_g and r = v̂ + n_·h for a test set drawn from the population, and e_g less n_g
for rows alone. There v̂ ties down ρ only. Many chains run side by side, and each half moves by
differences of the other (`draws.pooled_moves`). Two moves take all strata along: m_g is shifted
with every row g, and κ_g is scaled with their distances from m_g; without them a large κ hardly
moves.

Arrays are (classes …, strata, chains).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.draws.pooled_moves import Data, State, move_common, move_row, move_strata, normal
from trueup.numerics.concentration import MIDDLE
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


class Pooled(NamedTuple):
    """Draws of P (R, J, K, K), β (R, J, K), κ (R, K) and κ_0 (R,), and how they were made."""

    P: Floats
    beta: Floats
    kappa: Floats
    kappa_0: Floats
    info: dict[str, Any]


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
    a = np.log(kappa) + normal(np.log(np.maximum(near, 1e-12)), 1)
    mu = rng.standard_gamma(np.broadcast_to(data.gamma + n.sum(axis=1), (K, chains)))
    b = np.log(MIDDLE) + normal(np.log(np.maximum(mu, 1e-12)), 0)
    shape = 5.0 * (n / n.sum(axis=0))[:, :, None] + 0.3 + data.n
    c = np.log(rng.standard_gamma(np.broadcast_to(shape, (K, K, J, chains))) + 1e-12)
    rho = np.log(rng.standard_gamma(np.broadcast_to(data.r + 1.0, (K, J, chains))) + 1e-12)
    return State(normal(c, 0), normal(rho, 0), a, b)


def _sweeps(state: State, data: Data, rng: np.random.Generator) -> Iterator[State]:
    """Move all chains, sweep after sweep: strata given (κ, m), (κ, m) given strata, and both."""
    K, C = state.b.shape
    halves = (slice(0, C // 2), slice(C // 2, C))
    turn = 0
    while True:
        new = State(*(x.copy() for x in state))
        for mine, other in (halves, halves[::-1]):
            _write(new, mine, move_strata(new, mine, other, data, rng))
            _write(new, mine, move_common(new, mine, other, data, rng))
            _write(new, mine, move_row(new, mine, other, turn % K, data, rng))
        state, turn = new, turn + 1
        yield state


def _write(state: State, mine: slice, moved: State) -> None:
    for x, y in zip(state, moved, strict=True):
        x[..., mine] = y
