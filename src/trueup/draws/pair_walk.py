"""Chains for priors with walls, where gradients do not help: truncated and ordered rates.

Each move redistributes the mass of two components of one simplex; the others stay.
The share moves by a normal step in its log odds, and a step through a wall is not taken. Many
chains walk side by side; each pair of components learns its own step size during warm-up.
"""

import time
from itertools import combinations
from typing import Any

import numpy as np

from trueup.draws.density import Posterior, back, log_density, starts
from trueup.draws.settings import Settings
from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.diagnostics import ess, rhat

CHAINS = 64
WARM_UP = 400
SWEEPS = 800
ROUNDS = 4  # of which each doubles the run
WANTED = 0.44  # acceptance of a step in one dimension
MOST_RHAT = 1.01


def draw_pairs(it: Posterior, settings: Settings) -> tuple[Floats, Floats | None, dict[str, Any]]:
    """Draw P, and c where the method has it; chains first, so the draws of one stand together."""
    rng = settings.rng
    x = starts(it, CHAINS, rng)
    K = x.shape[2]
    pairs = [(j, g, k) for j in range(x.shape[1]) for g, k in combinations(range(K), 2)]
    step, height = np.ones(len(pairs)), _height(x, it)
    kept_all: list[Floats] = []
    sweeps = SWEEPS
    done, total = 0, WARM_UP + SWEEPS
    deadline = time.monotonic() + settings.seconds
    for rounds in range(ROUNDS):
        for i in range(total - done):
            accepted = _sweep(x, height, pairs, step, it, rng)
            if rounds == 0 and i < WARM_UP:
                step *= np.exp((accepted - WANTED) * 4 / np.sqrt(1 + i))
            else:
                kept_all.append(x.copy())
            if time.monotonic() > deadline and len(kept_all) >= CHAINS:
                break
            if settings.progress is not None and i % 20 == 0:
                settings.progress((done + i) / total)
        run = np.stack(kept_all, axis=1)  # (chains, sweeps, J, K)
        cells = np.moveaxis(run.reshape(*run.shape[:2], -1), -1, 0)
        worst, least = max(map(rhat, cells)), min(map(ess, cells))
        enough = worst < MOST_RHAT and least >= min(0.5 * settings.draws, 2000)
        if enough or time.monotonic() > deadline:
            break
        done, sweeps = total, 2 * sweeps
        total += sweeps
    each = -(-settings.draws // CHAINS)
    at = np.linspace(0, run.shape[1] - 1, each).round().astype(int)
    P, c = back(run[:, at].reshape(-1, *x.shape[1:])[: settings.draws], it)
    warnings = []
    if worst >= MOST_RHAT:
        warnings.append(
            f"The chains have not converged: R-hat {worst:.3f} (below {MOST_RHAT} is good), "
            f"{least:.0f} effective draws. Allow more `seconds`, or take a gentler prior."
        )
    info = {"sampler": "pair walk", "rhat": worst, "ess": min(least, float(len(P)))}
    return P, c, info | {"chains": CHAINS, "sweeps": run.shape[1], "warnings": warnings}


def _height(x: Floats, it: Posterior) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(log_density(np.log(x), it, np), dtype=float)
    return np.where(np.isnan(found), -np.inf, found)


def _sweep(
    x: Floats,
    height: Floats,
    pairs: list[tuple[int, int, int]],
    step: Floats,
    it: Posterior,
    rng: Rng,
) -> Floats:
    """Move every pair once in every chain; return the share of chains in which each moved."""
    moved = np.empty(len(pairs))
    for i, (j, g, k) in enumerate(pairs):
        both = x[:, j, g] + x[:, j, k]
        share = x[:, j, g] / np.maximum(both, 1e-300)
        odds = share / np.maximum(1 - share, 1e-300)
        odds = odds * np.exp(step[i] * rng.standard_normal(len(x)))
        new_share = odds / (1 + odds)
        new = x.copy()
        new[:, j, g], new[:, j, k] = both * new_share, both * (1 - new_share)
        new_height = _height(new, it)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(new_share * (1 - new_share)) - np.log(share * (1 - share))
            accept = new_height - height + ratio > -rng.standard_exponential(len(x))
        x[accept], height[accept] = new[accept], new_height[accept]
        moved[i] = accept.mean()
    return moved
