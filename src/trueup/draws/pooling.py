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

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trueup.draws.pooled_moves import Data, State, move_common, move_row, move_strata
from trueup.draws.settings import SECONDS
from trueup.numerics.arrays import Floats, Integers, Progress, Rng
from trueup.numerics.concentration import MIDDLE
from trueup.numerics.diagnostics import ess, rhat
from trueup.numerics.dirichlet import normal
from trueup.prior import Concentrations

CHAINS = 64
"""Chains side by side, or four for each class if that is more."""
WARM_UP, LEAST_SWEEPS, THIN = 100, 50, 4
"""100 sweeps to arrive, or a third of all; then at least 50, of which every fourth is kept."""
SWEEPS_PER_SECOND = 100
"""How many sweeps `seconds` allow, so that most runs end at the same draw on any machine."""
ENOUGH, RHAT = 0.5, 1.1
"""Chains go on until this share of the draws wanted is effective and R-hat, which depends on
the length of each of these many chains, is below 1.1."""


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
    rng: Rng,
    *,
    from_population: bool,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Pooled:
    """Draw P and β of all J strata from their joint posterior.

    `n` (J, K, K) are the test units of each stratum, which may have none, and `v_hat` (J, K) its
    other units per predicted class; `prior` is that of the common means m_g and μ. Unless the test
    set is `from_population`, it tells of rows alone. After `seconds` chains stop in any case, with
    a warning unless they have converged.
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
    deadline = time.monotonic() + seconds
    want, thin = -(-size // chains), THIN
    weight = v_hat.T[..., None] / max(int(v_hat.sum()), 1)
    sums: list[Floats] = []
    states: list[State] = []
    first = check_at = WARM_UP + max(want * THIN, LEAST_SWEEPS)
    while True:
        state = next(sweeps)
        sums.append((np.exp(state.c) * weight).sum(axis=(1, 2)))
        done = len(sums)
        if done % thin == 0:
            states.append(state)
        if len(states) > 4 * want + WARM_UP // THIN:
            states, thin = states[1::2], 2 * thin
        late = time.monotonic() > deadline or done >= SWEEPS_PER_SECOND * seconds
        if done < (first if late else check_at):
            continue
        burn = max(WARM_UP, done // 3)
        kept = np.stack(sums[burn:], axis=2)  # classes, chains, sweeps
        effective, worst = min(ess(x) for x in kept), max(rhat(x) for x in kept)
        if late or (effective >= ENOUGH * size and worst < RHAT):
            break
        check_at = int(1.5 * done)
        if progress is not None:
            progress(min(0.99, 1 - (deadline - time.monotonic()) / seconds))
    states = states[burn // thin :]
    order = rng.permutation(len(states) * chains)[:size]
    P, beta, a, b = _collect(states, order)
    warnings = []
    if worst >= RHAT:
        warnings.append(
            f"The chains of the strata were stopped after {done:,} sweeps before they had "
            f"converged: R-hat {worst:.2f} (below {RHAT} is wanted), {effective:,.0f} effective "
            f"draws of the {size:,} asked for. Do not publish these figures; allow more `seconds`, "
            "or join strata or classes."
        )
    info = {"sampler": "strata", "ess": float(min(effective, size)), "sweeps": done}
    return Pooled(P, beta, a.sum(axis=2), b.sum(axis=1), info | {"warnings": warnings})


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


def _start(data: Data, chains: int, rng: Rng) -> State:
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


def _sweeps(state: State, data: Data, rng: Rng) -> Iterator[State]:
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
