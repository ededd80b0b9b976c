"""The two posteriors that need a sampler, each with one function: `constrained` and `full`."""

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from trueup.draws.samplers.chain import run_chains
from trueup.draws.samplers.draws import Draws
from trueup.draws.samplers.exact import draw_exact
from trueup.draws.samplers.rejection import draw_rejection
from trueup.draws.samplers.walk import Constrained, Full
from trueup.errors import EstimateError
from trueup.numerics.arrays import Floats, Rng

Sampler = Literal["auto", "exact", "rejection", "chain"]

WORK = 12_000_000
"""Numbers that rejection may draw for one call: about half a second. A chain takes less than
more of them."""
MAX_PROPOSALS = 20_000_000
LEAST_GAMMA = 1e-9
"""With less, log β_g of a class that is not there is so large that the others lose digits."""


def draw_constrained(
    a: Floats, v_hat: Floats, size: int, rng: Rng, *, sampler: Sampler = "auto", **limits: Any
) -> Draws:
    """Draw P from independent Dirichlet rows given P ∈ Θ_K(v̂), the paper's constrained posterior.

    `a` (K, K) are α + n, rows true, and `v_hat` (K,) the units per predicted class. The sampler
    `exact` is for K = 2 and `auto` takes it there; for K ≥ 3 it takes `rejection` where a pilot
    accepts enough, and `chain` otherwise. `limits` are `progress`, `max_sweeps` and `seconds` of
    `run_chains`.

    Examples
    --------
    >>> a = np.array([[9.0, 1.0, 0.5], [1.0, 7.0, 1.0], [0.5, 2.0, 5.0]])
    >>> draws = draw_constrained(a, np.array([20, 50, 30]), 1000, np.random.default_rng(1))
    >>> draws.P.shape, draws.info["sampler"], bool(draws.beta.min() >= 0)
    ((1000, 3, 3), 'rejection', True)
    """
    a, v_hat = _arrays(a, v_hat)
    if sampler == "exact" or (sampler == "auto" and len(v_hat) == 2):
        return draw_exact(a, v_hat, size, rng)
    if sampler != "chain":
        work = WORK if sampler == "auto" else np.inf
        tell = limits.get("progress")
        found = draw_rejection(
            a, v_hat, size, rng, max_proposals=MAX_PROPOSALS, max_work=work, progress=tell
        )
        if found is not None:
            return found
    draws = run_chains(partial(Constrained, a, v_hat), a, size, rng, **limits)
    return replace(draws, rho=v_hat / v_hat.sum())


def draw_full(a: Floats, gamma: Floats, v_hat: Floats, size: int, rng: Rng, **limits: Any) -> Draws:
    """Draw (P, β) given the test set and v̂ ~ Mult(N, Pᵀβ), exact for any N, with β ~ Dir(γ).

    `a` is (K, L), γ (K,) and v̂ (L,), which may hold zeros; see `draw_constrained`.

    Examples
    --------
    >>> a = np.array([[4.5, 1.5], [2.5, 3.5]])
    >>> draws = draw_full(a, np.ones(2), np.array([10, 0]), 1000, np.random.default_rng(1))
    >>> draws.rho.shape, draws.info["sampler"], draws.info["warnings"]
    ((1000, 2), 'chain', [])
    """
    a, v_hat = _arrays(a, v_hat)
    gamma = np.asarray(gamma, dtype=np.float64)
    if gamma.min() < LEAST_GAMMA:
        raise EstimateError(
            f"`full` needs γ of at least {LEAST_GAMMA:g} in every class; got {gamma.min():.3g}.",
            hint="a class with so small a γ is never there; leave it out, or take a larger one.",
        )
    return run_chains(partial(Full, a, gamma, v_hat), a, size, rng, **limits)


def _arrays(a: Floats, v_hat: Floats) -> tuple[Floats, Floats]:
    return np.asarray(a, dtype=np.float64), np.asarray(v_hat, dtype=np.float64)
