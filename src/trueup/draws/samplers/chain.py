"""Many chains until there are enough effective draws: length, thinning, diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.draws import Draws, Progress
from trueup.draws.samplers.rows import Target
from trueup.draws.samplers.walk import Walk
from trueup.numerics.diagnostics import ess, rhat

__all__ = ["run_chains"]

Floats = NDArray[np.float64]

RHAT = 1.01
RESTART = 1.05
"""With R-hat above this, the run so far counts as warm-up and adapts again."""
HOPELESS, PATIENCE = 2.0, 2000
"""With R-hat above the first after so many sweeps, chains sit in places of their own: the data
contradict each other, and ten times as long would not help."""
ENOUGH = 0.9
"""Draws are enough when their effective number is this part of the number asked for."""
BURN = 0.2
"""Part of the run that is left out at its start, after the warm-up."""
WARM_UP = 10
"""Rounds of warm-up, each one sweep at every distance."""
STEP = 20
"""Sweeps between two calls of `progress`."""
BETA_SWEEPS = 1024
"""Sweeps of β to remember for the diagnostics."""
TRACE_SWEEPS = 200
"""Sweeps of one β_g to hand on, for a picture of the chains."""


@dataclass(frozen=True)
class Health:
    """Of the slowest β_g: effective draws of the run and of what would be returned; R-hat."""

    ess_run: float
    ess: float
    rhat: float


def plan(size: int) -> tuple[int, int]:
    """Blocks of chains and chains per block; of `size` alone, so that a seed means the same.

    R-hat < 1.01 takes about fifty effective draws per chain, so more than size/50 chains would only
    make the run longer; fewer than 32 in a block would leave most of the time to Python itself.
    """
    blocks = int(np.clip(size // 3200, 2, 4))
    return blocks, int(np.clip(size // 50 // blocks, 32, 64))


def run_chains(
    target: Target,
    size: int,
    rng: np.random.Generator,
    *,
    progress: Progress | None = None,
    max_sweeps: int = 20_000,
    max_seconds: float | None = None,
) -> Draws:
    """Walk until `size` draws can be returned that are worth about as many independent ones.

    Parameters
    ----------
    target : Target
        What to draw from.
    size : int
        Number of draws.
    rng : numpy.random.Generator
        Where the randomness comes from; blocks of chains have generators spawned from it.
    progress : callable, optional
        Called with the fraction done, an estimate. If it has a true attribute `keep_on_interrupt`,
        Ctrl-C ends the run and returns the draws so far, with a warning that counts them.
    max_sweeps, max_seconds : int, float, optional
        Where to stop in any case, with a warning. (A limit in seconds depends on the machine:
        with it, a seed may no longer give the same draws.)
    """
    blocks, chains = plan(size)
    keep = -(-size // (blocks * chains))
    walks = [
        Walk(target, chains, child, (3 * keep + 16, BETA_SWEEPS)) for child in rng.spawn(blocks)
    ]
    begun = time.monotonic()
    rounds, before, done, check_at = WARM_UP, 0, 0, float(max(4 * STEP, 2 * keep))
    stopped = False
    # One thread, so that Ctrl-C never cuts a step in two; two took 1.2 times as long.
    with ThreadPoolExecutor(1) as pool:
        each(pool, [partial(w.warm_up, rounds) for w in walks])
        while True:
            try:
                each(pool, [partial(w.advance, STEP) for w in walks])
            except KeyboardInterrupt:
                if not getattr(progress, "keep_on_interrupt", False):
                    raise
                stopped = True
            done += STEP
            late = stopped or (max_seconds is not None and time.monotonic() - begun > max_seconds)
            late = late or before + done >= max_sweeps
            if done >= check_at or late:
                health = examine(walks, done, size, keep)
                good = health.ess >= ENOUGH * size and health.rhat < RHAT
                hopeless = before + done >= PATIENCE and health.rhat > HOPELESS
                if good or late or hopeless:
                    break
                if health.rhat > RESTART:
                    # not there yet: all of it was warm-up
                    rounds, before, done, check_at = 2 * rounds, before + done, 0, 2 * check_at
                    if before < PATIENCE:
                        check_at = min(check_at, float(max(PATIENCE - before, 4 * STEP)))
                    each(pool, [partial(w.warm_up, rounds) for w in walks])
                else:
                    need = (health.rhat - 1.0) / (RHAT - 1.0), size / max(health.ess_run, 1.0)
                    check_at = done * float(np.clip(1.1 * max(need), 1.25, 3.0))
            if progress is not None:
                progress(min(done / check_at, 0.99))
    if progress is not None:
        progress(1.0)
    P, beta, rho = collect(walks, done, size, keep, rng)
    if target.gamma is None:
        rho = target.v_hat / target.v_hat.sum()
    return Draws(P, beta, rho, story(walks, before + done, size, health, good, stopped))


def each(pool: ThreadPoolExecutor, jobs: list[Callable[[], None]]) -> None:
    """Run all jobs and raise the first of their errors, if any; Ctrl-C waits for them to end."""
    futures = [pool.submit(job) for job in jobs]
    try:
        for future in futures:
            future.result()
    except KeyboardInterrupt:
        wait(futures)  # a second Ctrl-C does not wait
        raise


def examine(walks: list[Walk], done: int, size: int, keep: int) -> Health:
    """R-hat and effective draws of every β_g so far."""
    burn = int(BURN * done)
    beta = np.concatenate([w.beta.since(burn) for w in walks])[:, :, 0]
    if beta.shape[1] < 8:
        return Health(float(beta.shape[0]), float(beta.shape[0]), np.inf)
    classes = range(beta.shape[2])
    ess_run = min(ess(beta[:, :, g]) for g in classes)
    worst = max(rhat(beta[:, :, g]) for g in classes)
    if keep < 8:
        return Health(ess_run, min(ess_run, float(size)), worst)
    thin = np.concatenate([thinned(w, burn, keep)[:, :, -2] for w in walks])
    rate = min(ess(thin[:, :, g]) for g in classes) / thin[:, :, 0].size
    return Health(ess_run, rate * size, worst)


def thinned(walk: Walk, burn: int, keep: int) -> Floats:
    """`keep` draws of each chain, evenly spread and ending at the last: (C, keep, K + 2, K)."""
    x = walk.draws.since(burn)
    n = x.shape[1]
    return x[:, n - 1 - (np.arange(keep)[::-1] * n) // keep]


def collect(
    walks: list[Walk], done: int, size: int, keep: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Thin to `size` draws of P, β and ρ, in random order."""
    K = walks[0].target.K
    x = np.concatenate([thinned(w, int(BURN * done), keep) for w in walks])
    x = x.reshape(-1, K + 2, K)[rng.permutation(x.shape[0] * keep)[:size]]
    return x[:, :K], x[:, K], x[:, K + 1]


def story(
    walks: list[Walk], done: int, size: int, health: Health, good: bool, stopped: bool
) -> dict[str, Any]:
    """`info` of the run."""
    info: dict[str, Any] = {
        "sampler": "chain",
        "acceptance": float(sum(w.kept.sum() for w in walks) / sum(w.tried.sum() for w in walks)),
        "ess": health.ess,
        "rhat": health.rhat,
        "ess_run": health.ess_run,
        "chains": len(walks) * walks[0].chains,
        "sweeps": done,
        "trace": trace(walks),
        "warnings": [],
    }
    if not good:
        why = " by Ctrl-C" if stopped else ""
        info["warnings"].append(
            f"the chains were stopped{why} after {done:,} sweeps before they had converged: "
            f"{health.ess:.0f} effective draws of the {size:,} asked for, "
            f"R-hat {health.rhat:.3f} (below {RHAT} is wanted)."
        )
    return info


def trace(walks: list[Walk]) -> dict[str, Any]:
    """Thinned β_g of every chain (C, T), for the g whose chains differ most, and when it was."""
    beta = np.concatenate([w.beta.since(0) for w in walks])[:, :, 0]
    spread = beta.mean(axis=1).var(axis=0) / np.maximum(beta.var(axis=(0, 1)), 1e-300)
    g, sweeps = int(spread.argmax()), np.array(walks[0].beta.sweeps)
    at = np.unique(np.linspace(0, len(sweeps) - 1, TRACE_SWEEPS).round().astype(int))
    return {"class": g, "sweeps": sweeps[at], "burn": BURN, "beta": beta[:, at, g]}
