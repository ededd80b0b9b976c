"""Many chains until there are enough effective draws, or no time is left: length, diagnostics."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.draws.samplers.contradiction import at_odds, contradicted
from trueup.draws.samplers.draws import Draws
from trueup.draws.samplers.walk import MANY_CLASSES, Walk
from trueup.numerics.arrays import Floats, Progress, Rng
from trueup.numerics.diagnostics import ess, rhat

RHAT = 1.01
RESTART = 1.05
"""With R-hat above this the run so far may have been warm-up, and moves adapt again."""
HOPELESS, PATIENCE = 2.0, 2000
"""With R-hat above the first after so many sweeps, chains sit in places of their own, and ten times
as long would not help."""
BURN = 0.1
"""Part of the run that is left out at its start, after the warm-up."""
WARM_UP = 3
"""Rounds of warm-up, at least."""
STEP = 10
"""Sweeps between two calls of `progress`."""
SPREAD = 600
"""R-hat is that of this many draws per chain, divided by the root of their number: as many as show
a difference of 0.005 through their noise."""
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


def plan(size: int, classes: int) -> int:
    """Chains to run; of `size` and K alone, so that a seed means the same.

    R-hat < 1.01 takes about forty effective draws per chain, so more chains than size/40 would only
    make the run longer; with few chains most of the time would be Python's own.
    """
    return 32 if classes > MANY_CLASSES else int(np.clip(size // 45, 32, 90))


def run_chains(
    make: Callable[[int, Rng, tuple[int, int]], Walk],
    a: Floats,
    size: int,
    rng: Rng,
    *,
    progress: Progress | None = None,
    max_sweeps: int = 20_000,
    seconds: float | None = None,
) -> Draws:
    """Walk until `size` draws can be returned that are worth about as many independent ones.

    `make` makes the walk, from the number of chains, the generator and the sweeps to remember; `a`
    (K, L) are the parameters of the rows given the test set alone. If `progress` has a true
    attribute `keep_on_interrupt`, Ctrl-C ends the run and returns the draws so far, with a warning
    that counts them. After `max_sweeps` or `seconds` it stops in any case, with a warning.
    (Seconds depend on the machine: only a run that they do not end gives the same draws for the
    same seed.)
    """
    chains = plan(size, len(a))
    keep = -(-size // chains)
    walk = make(chains, rng, (3 * keep + 16, BETA_SWEEPS))
    begun = time.monotonic()
    if seconds is not None:
        walk.deadline = begun + seconds
    # of two sweeps one is kept, where draws shall be nearly independent
    before, check_at = 0, max(4.0 * STEP, keep * (2.2 if walk.enough > 0.5 else 1.0))
    stopped, odd = False, None
    # In a thread, so that Ctrl-C never cuts a step in two.
    with ThreadPoolExecutor(1) as pool:
        whole(pool, lambda: walk.warm_up(WARM_UP))
        while True:
            try:
                whole(pool, lambda: walk.advance(STEP))
            except KeyboardInterrupt:
                if not getattr(progress, "keep_on_interrupt", False):
                    raise
                stopped = True
            done = walk.sweeps
            late = stopped or walk.late() or before + done >= max_sweeps
            if done >= check_at or late:
                health = examine(walk, size, keep)
                good = health.ess >= walk.enough * size and health.rhat < RHAT
                if good or late:
                    break
                hopeless = before + done >= PATIENCE and health.rhat > HOPELESS
                if odd is None and health.rhat > RESTART:
                    odd = at_odds(a, walk.now()[2].mean(axis=1))
                if hopeless or odd:
                    break
                need = (
                    (health.rhat - 1.0) / (RHAT - 1.0),
                    walk.enough * size / max(health.ess_run, 1.0),
                )
                check_at = done * float(np.clip(1.1 * max(need), 1.25, 1.6))
                if health.rhat > RESTART and (walk.adapt() or not before):
                    # not there yet: all of it was warm-up
                    before += done
                    whole(pool, lambda: walk.warm_up(WARM_UP))
            if progress is not None:
                spent = (time.monotonic() - begun) / (seconds or np.inf)
                progress(min(max(done / check_at, spent), 0.99))
    if progress is not None:
        progress(1.0)
    P, beta, rho = collect(walk, size, keep, rng)
    info = story(walk, before + done, size, health, stopped)
    return Draws(P, beta, rho, info | {"contradicted": contradicted(a, P, rng)})


def whole(pool: ThreadPoolExecutor, job: Callable[[], None]) -> None:
    """Run a job and raise its error, if any; Ctrl-C waits for it to end."""
    future = pool.submit(job)
    try:
        future.result()
    except KeyboardInterrupt:
        wait([future])  # a second Ctrl-C does not wait
        raise


def examine(walk: Walk, size: int, keep: int) -> Health:
    """R-hat and effective draws of every β_g so far."""
    burn = int(BURN * walk.sweeps)
    beta = walk.beta.since(burn)
    if beta.shape[1] < 8:
        return Health(float(beta.shape[0]), float(beta.shape[0]), np.inf)
    classes = range(beta.shape[2])
    ess_run = min(ess(beta[:, :, g]) for g in classes)
    # with all sweeps R-hat would also count that neighbours are alike, which draws apart are not
    apart = max(1, int(beta.shape[1] * np.sqrt(beta.shape[0]) / SPREAD))
    worst = max(rhat(beta[:, ::apart, g]) for g in classes)
    if keep < 8:
        return Health(ess_run, min(ess_run, float(size)), worst)
    K, L = walk.shape
    thin = np.stack([x[K * L : K * L + K] for x in thinned(walk, keep)])
    rate = min(ess(thin[:, g].T) for g in classes) / thin[:, 0].size
    return Health(ess_run, rate * size, worst)


def thinned(walk: Walk, keep: int) -> list[Floats]:
    """`keep` sweeps (D, C), evenly spread and ending at the last."""
    items = walk.draws.items[walk.draws.first(int(BURN * walk.sweeps)) :]
    n = len(items)
    return [items[n - 1 - (i * n) // keep] for i in reversed(range(keep))]


def collect(walk: Walk, size: int, keep: int, rng: Rng) -> tuple[Floats, Floats, Floats]:
    """Thin to `size` draws of P, β and ρ, in random order."""
    (K, L), items = walk.shape, thinned(walk, keep)
    place = np.argsort(rng.permutation(walk.chains * keep)).reshape(walk.chains, keep)
    x = np.empty((size, len(items[0])))
    for to, item in zip(place.T, items, strict=True):  # one copy: at K = 40 these are 50 MB
        x[to[to < size]] = item.T[to < size]
    return x[:, : K * L].reshape(-1, K, L), x[:, K * L : K * L + K], x[:, K * L + K :]


def story(walk: Walk, done: int, size: int, health: Health, stopped: bool) -> dict[str, Any]:
    """`info` of the run."""
    info: dict[str, Any] = {
        "sampler": "chain",
        "acceptance": walk.acceptance(),
        "ess": health.ess,
        "rhat": health.rhat,
        "ess_run": health.ess_run,
        "chains": walk.chains,
        "sweeps": done,
        "trace": trace(walk),
        "warnings": [],
    }
    how = "by Ctrl-C " if stopped else "by the limit of `seconds` " if walk.late() else ""
    how = f"The chains were stopped {how}after {done:,} sweeps"
    few = f"{health.ess:,.0f} effective draws of the {size:,} asked for"
    if not health.rhat < RHAT:
        info["warnings"].append(
            f"{how} before they had converged: R-hat {health.rhat:.3f} (below {RHAT} is wanted), "
            f"{few}. Do not publish these figures; allow more `seconds`, or join classes."
        )
    elif stopped or health.ess < walk.enough * size:
        info["warnings"].append(
            f"{how}: they had converged (R-hat {health.rhat:.3f}), with {few}. The last digits are "
            "rougher; allow more `seconds` for the rest."
        )
    return info


def trace(walk: Walk) -> dict[str, Any]:
    """Thinned β_g of every chain (C, T), for the g whose chains differ most, and when it was."""
    beta = walk.beta.since(0)
    spread = beta.mean(axis=1).var(axis=0) / np.maximum(beta.var(axis=(0, 1)), 1e-300)
    g, sweeps = int(spread.argmax()), np.array(walk.beta.sweeps)
    at = np.unique(np.linspace(0, len(sweeps) - 1, TRACE_SWEEPS).round().astype(int))
    return {"class": g, "sweeps": sweeps[at], "burn": BURN, "beta": beta[:, at, g]}
