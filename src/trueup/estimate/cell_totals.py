"""Totals from cells of predicted class and band, for a test set drawn from the population."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.cells import allocate_cells, draw_cells
from trueup.count.bands import scores
from trueup.count.counts import Counts, split
from trueup.draws.cells import CHAINS, implied_slopes, learn_columns
from trueup.draws.settings import Settings
from trueup.estimate.result import Answer
from trueup.numerics.diagnostics import ess, rhat
from trueup.numerics.weights import effective_size, resample

__all__ = ["cell_totals"]

Floats = NDArray[np.float64]

WARM_UP, LEAST_SWEEPS, TRIES = 60, 50, 4
RHAT = 1.02
"""60 sweeps to arrive and at least 50 that count. While R-hat is above this, all so far was warm-up
and the run goes on, up to four times."""


def cell_totals(counts: Counts, settings: Settings) -> Answer:
    """Draw totals from the cells of `counts.bands`: columns learned, units and sums allocated."""
    assert counts.bands is not None
    rng, prior, K = settings.rng, settings.prior, counts.K
    rest, known = split(counts.bands, settings.overlap)
    B = counts.bands.v_hat.size // K
    n, v_hat = counts.bands.n.reshape(K, K, B), counts.bands.v_hat.reshape(K, B)
    assert rest.u_hat is not None
    assert rest.w_hat is not None
    assert counts.bands.u_hat is not None
    v, u, w = rest.v_hat.reshape(K, B), rest.u_hat.reshape(K, B), rest.w_hat.reshape(K, B)
    z = scores(v_hat, counts.bands.u_hat.reshape(K, B))
    middle = (v_hat * z).sum(axis=1) / np.maximum(v_hat.sum(axis=1), 1)
    slopes = implied_slopes(n, v_hat, z)
    states = learn_columns(n, z - middle[:, None], slopes, prior.alpha, rng)
    keep = max(-(-settings.draws // CHAINS), LEAST_SWEEPS)
    sweeps = WARM_UP
    for attempt in range(TRIES):
        for _ in islice(states, sweeps if attempt == 0 else 0):
            pass
        total, theta, kappa, lam = [], [], [], []
        for done, state in enumerate(islice(states, keep)):
            c = draw_cells(state, n, rng)
            total.append(allocate_cells(c, v, u, w, rng)[1].sum(axis=(2, 3)))
            theta.append((c * (v_hat / counts.N)).sum(axis=3))
            kappa.append(state.kappa)
            lam.append(state.lam)
            if settings.progress is not None:
                settings.progress((done + 1) / keep)
        chains = np.stack(total, axis=1)  # (C, sweeps, K)
        worst = max(rhat(chains[:, :, g]) for g in range(K))
        if worst < RHAT:
            break
    size = min(ess(chains[:, :, g]) for g in range(K))
    draws, joint = np.concatenate(total) + known, np.concatenate(theta)
    beta = joint.sum(axis=2)
    order = rng.permutation(len(draws))[: settings.draws]
    exponent = prior.gamma - prior.alpha.sum(axis=1)
    if np.abs(exponent).max() > 1e-9:
        log_weight = np.log(np.maximum(beta, 1e-300)) @ exponent
        size = min(size, effective_size(log_weight))
        order = resample(log_weight, settings.draws, rng).indices
    info: dict[str, Any] = {
        "sampler": "cells",
        "bands": B,
        "concentration": float(np.median(kappa)),
        "homogeneity": float(np.median(lam)),
        "ess": float(min(size, settings.draws)),
        "rhat": float(worst),
        "warnings": [],
    }
    if worst > 1.05:
        info["warnings"].append(
            f"The chains that learn how the error rates depend on the value have not met (R-hat "
            f"{worst:.2f}): the interval is rough. More test units would help."
        )
    P = joint[order] / np.maximum(beta[order][:, :, None], 1e-300)
    return Answer(draws[order], P, beta[order], info=info)
