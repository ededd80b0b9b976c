"""The two posteriors that need a sampler, each with one function: `constrained` and `full`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from trueup.draws.samplers.chain import run_chains
from trueup.draws.samplers.draws import Draws, Progress
from trueup.draws.samplers.exact import draw_exact
from trueup.draws.samplers.rejection import draw_rejection
from trueup.draws.samplers.walk import Constrained, Full
from trueup.errors import EstimateError, OptionError
from trueup.numerics.arrays import Floats

Sampler = Literal["auto", "exact", "rejection", "chain"]

WORK = 12_000_000
"""Numbers that rejection may draw for one call: about half a second. A chain takes less than
more of them."""
MAX_SWEEPS = 20_000
"""Sweeps after which chains stop in any case."""
MAX_PROPOSALS = 20_000_000


def draw_constrained(
    a: Floats,
    v_hat: Floats,
    size: int,
    rng: np.random.Generator,
    *,
    sampler: Sampler = "auto",
    progress: Progress | None = None,
    max_sweeps: int = MAX_SWEEPS,
    seconds: float | None = None,
) -> Draws:
    """Draw P from independent Dirichlet rows given P ∈ Θ_K(v̂), the paper's constrained posterior.

    Parameters
    ----------
    a : ndarray (K, K)
        Posterior Dirichlet parameters α + n; rows true, columns predicted.
    v_hat : ndarray (K,)
        Units per predicted class in the population.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Where the randomness comes from. The same state gives the same draws.
    sampler : {"auto", "exact", "rejection", "chain"}
        `exact` is for K = 2. `auto` takes it there; for K ≥ 3 it takes `rejection` where a pilot
        accepts enough, and `chain` otherwise.
    progress : callable, optional
        Called with the fraction done.
    max_sweeps, seconds : int, float, optional
        Where a chain stops in any case; `info["warnings"]` then says what is missing.

    Examples
    --------
    >>> a = np.array([[9.0, 1.0, 0.5], [1.0, 7.0, 1.0], [0.5, 2.0, 5.0]])
    >>> draws = draw_constrained(a, np.array([20, 50, 30]), 1000, np.random.default_rng(1))
    >>> draws.P.shape, draws.info["sampler"], bool(draws.beta.min() >= 0)
    ((1000, 3, 3), 'rejection', True)
    """
    a, v_hat = _arrays(a, v_hat)
    if np.any(v_hat == 0.0):
        empty = ", ".join(str(h) for h in np.flatnonzero(v_hat == 0.0))
        raise EstimateError(
            "the constrained posterior needs at least one unit in every predicted class; there "
            f"are none in class number {empty}: the permissible set has no volume.",
            hint='method="full" treats the predicted counts as random and has an answer.',
        )
    K = len(v_hat)
    if sampler not in ("auto", "exact", "rejection", "chain"):
        raise OptionError(
            f"`sampler` must be auto, exact, rejection or chain; got {sampler!r}.",
            hint='leave it at "auto".',
        )
    if sampler == "exact" and K != 2:
        raise OptionError(
            f'sampler="exact" is for two classes; there are {K}.', hint='use "auto" or "chain".'
        )
    if sampler == "exact" or (sampler == "auto" and K == 2):
        return draw_exact(a, v_hat, size, rng)
    if sampler != "chain":
        found = draw_rejection(
            a,
            v_hat,
            size,
            rng,
            max_proposals=MAX_PROPOSALS,
            max_work=WORK if sampler == "auto" else np.inf,
            progress=progress,
        )
        if found is not None:
            return found
    draws = run_chains(
        partial(Constrained, a, v_hat),
        a,
        size,
        rng,
        progress=progress,
        max_sweeps=max_sweeps,
        seconds=seconds,
    )
    return replace(draws, rho=v_hat / v_hat.sum())


def draw_full(
    a: Floats,
    gamma: Floats,
    v_hat: Floats,
    size: int,
    rng: np.random.Generator,
    *,
    progress: Progress | None = None,
    max_sweeps: int = MAX_SWEEPS,
    seconds: float | None = None,
) -> Draws:
    """Draw (P, β) given the test set and v̂ ~ Mult(N, Pᵀβ), exact for any N, with β ~ Dir(γ).

    Parameters
    ----------
    a : ndarray (K, L)
        Posterior Dirichlet parameters α + n; rows true, columns predicted.
    gamma : ndarray (K,)
        Prior of the population's base rates.
    v_hat : ndarray (L,)
        Units per predicted class in the population; zeros are fine.
    size, rng, progress, max_sweeps, seconds
        As for `draw_constrained`.

    Examples
    --------
    >>> a = np.array([[4.5, 1.5], [2.5, 3.5]])
    >>> draws = draw_full(a, np.ones(2), np.array([10, 0]), 1000, np.random.default_rng(1))
    >>> draws.rho.shape, draws.info["sampler"], draws.info["warnings"]
    ((1000, 2), 'chain', [])
    """
    a, v_hat = _arrays(a, v_hat)
    gamma = np.asarray(gamma, dtype=np.float64)
    return run_chains(
        partial(Full, a, gamma, v_hat),
        a,
        size,
        rng,
        progress=progress,
        max_sweeps=max_sweeps,
        seconds=seconds,
    )


def _arrays(a: Floats, v_hat: Floats) -> tuple[Floats, Floats]:
    return np.asarray(a, dtype=np.float64), np.asarray(v_hat, dtype=np.float64)
