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
from trueup.estimate.answer import Answer
from trueup.numerics.diagnostics import ess, rhat
from trueup.numerics.weights import effective_size, resample

__all__ = ["cell_totals"]

Floats = NDArray[np.float64]

WARM_UP, LEAST_SWEEPS, MOST_BATCHES = 60, 50, 6
RHAT = 1.02
"""60 sweeps to arrive, then batches of at least 50. While R-hat of the later half of them is above
this, one more batch is drawn, up to six."""
FEW = 200
"""Fewer effective draws than this are worth a warning."""


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
    batch = max(-(-settings.draws // CHAINS), LEAST_SWEEPS)
    next(islice(states, WARM_UP, None))
    sweeps: list[tuple[NDArray[Any], ...]] = []
    for done in range(1, MOST_BATCHES + 1):
        for state in islice(states, batch):
            c = draw_cells(state, n, rng)
            M, u_gl = allocate_cells(c, v, u, w, rng)
            theta = (c * (v_hat / counts.N)).sum(axis=3)
            sweeps.append((u_gl.sum(axis=(2, 3)), theta, M.sum(axis=3), state.kappa, state.lam))
        kept = sweeps[-max(len(sweeps) // 2, batch) :]
        total, joint, units, kappa, lam = (np.stack(x, axis=1) for x in zip(*kept, strict=True))
        worst = max(rhat(total[:, :, g]) for g in range(K))  # chains, sweeps, classes
        if settings.progress is not None:
            settings.progress(done / MOST_BATCHES)
        if worst < RHAT:
            break
    size = min(ess(total[:, :, g]) for g in range(K))
    draws, joint = total.reshape(-1, K) + known, joint.reshape(-1, K, K)
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
    if size < min(FEW, settings.draws / 2):
        info["warnings"].append(
            f"Only {size:.0f} of {settings.draws:,} draws are effective, since the test set hardly "
            "tells how the error rates depend on the value: the interval is rough."
        )
    P = joint[order] / np.maximum(beta[order][:, :, None], 1e-300)
    M = units.reshape(-1, K, K)[order]
    M = M if rest is counts.bands else M + counts.n
    return Answer(draws[order], P, beta[order], M, info=info)
