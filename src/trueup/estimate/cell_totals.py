"""Totals from cells of predicted class, audit stratum and band: learned, or by the textbook."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.allocation import squares
from trueup.aggregate.cells import allocate_cells, draw_cells
from trueup.count.bands import scores
from trueup.count.counts import Counts, split
from trueup.count.reliability import reliability
from trueup.count.scores import score_ranks
from trueup.draws.cells.columns import CHAINS, Columns, learn_columns
from trueup.draws.cells.frame import Frame, frame
from trueup.draws.cells.implied import implied_shares
from trueup.draws.cells.strata import leaning
from trueup.draws.cells.within_classes import draw_within_classes
from trueup.draws.settings import Settings
from trueup.errors import EstimateError
from trueup.estimate.answer import Answer
from trueup.estimate.classical import calibrated, no_width
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers
from trueup.numerics.diagnostics import ess, rhat
from trueup.numerics.weights import effective_size, resample

__all__ = ["arrange", "cell_totals", "in_cells", "stratified"]


WARM_UP, LEAST_SWEEPS, MOST_BATCHES = 60, 50, 16
RHAT, PART = 1.05, 4
"""60 sweeps to arrive, then batches of at least 50. While R-hat of the later half of them is above
1.05 or fewer than a quarter of the draws are effective, one more batch is drawn, up to 16. With 80
short chains R-hat is about √(1 + 1/E), E the effective draws of one chain."""
MOST_NUMBERS = 50_000
"""Numbers in one array of the chains, at most: larger ones do not stay in a processor's cache."""
THIN = 2
"""With fewer than CHAINS, units are allocated in every second sweep: that costs as much as a sweep
and adds little to the variance of totals."""
MOST_CLASSES = 12
"""Ten classes drawn within true classes take 10 s; with more, values are alike within a class."""
QUIET = 0.1
"""Part of the population in strata without an audited error that the textbook's variance may
ignore: with 55% there, 95% intervals of `difference` covered 66%."""
MOSTLY = 0.7
"""Part of a total's standard deviation that units beyond the audited ones make by themselves."""
FEW = 200
"""Fewer effective draws than this are worth a warning."""


def in_cells(counts: Counts, settings: Settings) -> bool:
    """Whether a method works in cells of the value: `joint`, and `full` of a `by_class` test set.

    It needs noise, a Dirichlet prior, and rates that are not given.
    """
    if counts.bands is None or not settings.noise or settings.P is not None:
        return False
    if settings.prior.tilt is not None:
        return False
    if not settings.from_population:
        rows = settings.method == "full" or settings.asked == "auto"
        few = counts.K <= MOST_CLASSES and counts.bands.strata == 1
        valued = counts.totals and settings.design == "by_class"
        return rows and few and (valued or counts.bands.score_bands > 1)
    return settings.method == "joint"


class Cells(NamedTuple):
    """The counts as the chain takes them, by H = L·J predicted labels and strata, and B bands.

    Bands of the value have S bands of the score each. `n` (K, H, B) are audited units, `v_hat`
    (H, B) all units; `v`, `u` and `w` (H, B) units, Σy and Σy² of those that were not audited;
    `known` (K,) what the audited ones hold.
    """

    n: Integers
    v_hat: Integers
    v: Integers
    u: Floats
    w: Floats
    known: Floats
    basis: Frame
    S: int

    def by_label(self, x: NDArray[Any], L: int) -> NDArray[Any]:
        """Reshape (…, H, B) to (…, L, J·B/S, S): labels, strata and bands, bands of the score."""
        return x.reshape(*x.shape[:-2], L, -1, self.S)


def cell_totals(counts: Counts, settings: Settings) -> Answer:
    """Draw totals from the cells of `counts.bands`: columns learned, units and sums allocated."""
    rng, prior, K, L = settings.rng, settings.prior, counts.K, counts.L
    cells = arrange(counts, settings)
    kept, worst, size = _draw(cells, counts, settings)
    total = kept["total"]
    tail = (1 - settings.interval) / 2
    ends = np.quantile(total, [tail, 1 - tail], axis=(0, 1))  # (2, K)
    tails = min(ess((total[:, :, g] <= end[g]).astype(float)) for end in ends for g in range(K))
    draws, joint = total.reshape(-1, K) + cells.known, kept["theta"].reshape(-1, K, L)
    beta = joint.sum(axis=2)
    order = rng.permutation(len(draws))[: settings.draws]
    exponent = prior.gamma - prior.alpha.sum(axis=1)
    if np.abs(exponent).max() > 1e-9:
        log_weight = np.log(np.maximum(beta, 1e-300)) @ exponent
        size = min(size, effective_size(log_weight))
        order = resample(log_weight, settings.draws, rng).indices
    assert counts.bands is not None
    J, B = counts.bands.strata, cells.v.shape[1]
    info: dict[str, Any] = {
        "sampler": "cells",
        "bands": B // cells.S,
        **({"audit strata": J} if J > 1 else {}),
        "concentration": float(np.median(kept["kappa"])),
        "homogeneity": float(np.median(kept["lam"])),
        "ess": float(min(size, settings.draws)),
        "ess_tails": float(min(size, tails, settings.draws)),
        "rhat": float(worst),
        "warnings": [],
    }
    if cells.basis.right is not None:
        right = kept["right"].reshape(-1, L, cells.S)
        learned = np.quantile(right, [0.5, tail, 1 - tail], axis=0)
        info |= {
            "score_bands": cells.S,
            "score_slope": float(np.median(kept["b"])),
            "calibration": reliability(counts, settings.interval, learned),
        }
    if worst > RHAT:
        info["warnings"].append(
            f"The chains over the cells have not quite converged: R-hat {worst:.3f} (below {RHAT} "
            "is wanted). Before you publish, see whether another `seed` gives nearly the same; if "
            "not, ask for more `draws` and `seconds`, or audit more units."
        )
    if size < min(FEW, settings.draws / 4):
        info["warnings"].append(
            f"Only {size:.0f} of {settings.draws:,} draws are effective, since the test set hardly "
            "tells how the error rates depend on the value: the interval is rough."
        )
    if cells.basis.over is not None and (told := _unseen(cells, kept, counts)):
        info["warnings"].append(told)
    scale = np.maximum(beta[order][:, :, None], 1e-300)
    cells_P = None
    if settings.banded is not None:
        merged = kept["merged"]
        cells_P = merged.reshape(-1, K, merged.shape[-1])[order] / scale
    M = kept["M"].reshape(-1, K, L)[order]
    M = M + counts.n if settings.overlap else M
    return Answer(draws[order], joint[order] / scale, beta[order], M, cells_P, info=info)


def arrange(counts: Counts, settings: Settings) -> Cells:
    """Arrange the counts by cell, and say what the log odds of a cell may depend on."""
    bands, K, L = counts.bands, counts.K, counts.L
    assert bands is not None
    J, S = bands.strata, bands.score_bands
    # units drawn by size are counted in bands of that size
    rest, known = split(bands if counts.totals else bands.counted(), settings.overlap)
    B = bands.v_hat.size // (L * J)
    n, v_hat, v = bands.n.reshape(K, L * J, B), bands.v_hat.reshape(L * J, B), rest.v_hat
    v = v.reshape(L * J, B)
    alike = rest if rest.totals else replace(rest, u_hat=v.ravel().astype(float))
    u, w = (np.asarray(x).reshape(L * J, B) for x in (alike.u_hat, squares(alike)))
    z, sign = np.zeros_like(v_hat, dtype=float), None
    if bands.u_hat is not None:
        each = [x.reshape(L, J, B // S, S).sum(axis=3) for x in (v_hat, bands.u_hat)]
        z, sign = (
            np.repeat(np.tile(x, (L, 1)), S, axis=1)
            for x in (scores(*each), np.sign(each[1].sum(axis=0)).astype(int))
        )
    confidence = shares = leans = None
    if S > 1:
        ranks = score_ranks(v_hat.reshape(L, J * B // S, S).sum(axis=1))
        same = np.array([[g == h for h in counts.predicted] for g in counts.classes], float)
        confidence = np.tile(ranks, (1, B // S)), same
    if J > 1:
        by_stratum = (n.reshape(K, L, J, B).sum(axis=3), v_hat.reshape(L, J, B).sum(axis=2))
        shares = implied_shares(*by_stratum, settings.prior.alpha, settings.rng)
        m, size = by_stratum[0].sum(axis=0), by_stratum[1].astype(float)
        if counts.totals and not counts.signed and bands.u_hat is not None:
            size = bands.u_hat.reshape(L, J, B).sum(axis=2)
        leans = leaning(m if settings.design == "by_prediction" else m.sum(axis=0)[None], size)
    basis = frame(n, v_hat, z, not settings.from_population, shares, confidence, leans, sign)
    return Cells(n, v_hat, v, u, w, known, basis, S)


def _draw(
    cells: Cells, counts: Counts, settings: Settings
) -> tuple[dict[str, NDArray[Any]], float, float]:
    """Sweep until the chains agree: what was drawn, (chains, sweeps, …), R-hat, effective size."""
    rng, K, by_class = settings.rng, counts.K, not settings.from_population
    # fewer for a few draws, as studies have them
    chains, warm_up, least = int(np.clip(settings.draws // 50, CHAINS // 4, CHAINS)), WARM_UP, 1
    if by_class:  # half as many chains, twice as many sweeps to arrive
        chains, warm_up, least = max(chains // 2, CHAINS // 4), 2 * WARM_UP, 2
    fewer = int(np.clip(MOST_NUMBERS // cells.n.size, CHAINS // 4, chains))
    each, chains = (1, chains) if by_class else (THIN if fewer < chains else 1, fewer)
    states = learn_columns(cells.n, cells.basis, settings.prior.alpha, rng, chains)
    rho = np.broadcast_to(cells.v_hat / counts.N, (chains, *cells.v_hat.shape))
    columns: Iterator[tuple[Columns, Floats, Floats]] = (
        (state, draw_cells(state, cells.n, rng, cells.basis.over), rho)
        for state in islice(states, 0, None, each)
    )
    arriving: Iterator[Any] = states
    if by_class:
        arriving = columns = draw_within_classes(
            states, cells.n, cells.v, cells.basis, settings.prior.alpha, rng
        )
    batch = max(-(-settings.draws // chains), least * LEAST_SWEEPS)
    deadline = time.monotonic() + settings.seconds
    next(islice(arriving, warm_up, None))
    sweeps: list[dict[str, NDArray[Any]]] = []
    for done in range(1, MOST_BATCHES + 1):
        sweeps += (_sweep(cells, counts.L, settings, *one) for one in islice(columns, batch))
        later = sweeps[-max(len(sweeps) // 2, batch) :]
        kept = {name: np.stack([x[name] for x in later], axis=1) for name in later[0]}
        total = kept["total"]
        worst = max(rhat(total[:, :, g]) for g in range(K))  # chains, sweeps, classes
        if settings.progress is not None:
            settings.progress(done / MOST_BATCHES)
        size = min(ess(total[:, :, g]) for g in range(K))
        if (worst < RHAT and size > settings.draws / PART) or time.monotonic() > deadline:
            break
    return kept, float(worst), float(size)


def _sweep(
    cells: Cells, L: int, settings: Settings, state: Columns, c: Floats, rho: Floats
) -> dict[str, NDArray[Any]]:
    """Allocate units and sums given the columns of all chains; all that the answer needs."""
    M, u_gl = allocate_cells(c, cells.v, cells.u, cells.w, settings.rng)
    theta = c * rho[:, None]
    merged = theta[:, :, 0, :0]
    if settings.banded is not None:
        merged = settings.banded.merged(theta.reshape(*theta.shape[:2], L, -1))
    theta, right = cells.by_label(theta, L), cells.basis.right
    over = cells.basis.over
    large = u_gl[..., :0] if over is None else np.where(over[0] > 0, u_gl, 0.0)
    return {
        "total": u_gl.sum(axis=(2, 3)),
        "large": large.sum(axis=(2, 3)),
        "theta": theta.sum(axis=(3, 4)),
        "M": cells.by_label(M, L).sum(axis=(3, 4)),
        "kappa": state.kappa,
        "lam": state.lam,
        "b": state.b,
        "right": state.b if right is None else _right(theta.sum(axis=3), right),
        "merged": merged,
    }


def _unseen(cells: Cells, kept: dict[str, NDArray[Any]], counts: Counts) -> str | None:
    """Say that units larger than nearly all audited ones decide how sure a total is."""
    assert cells.basis.over is not None
    past = cells.basis.over[0] > 0
    part = kept["large"].std(axis=(0, 1)) / np.maximum(kept["total"].std(axis=(0, 1)), 1e-300)
    g, units = int(part.argmax()), int(cells.v[past].sum())
    share = float(cells.u[past].sum()) / max(float(cells.u.sum()), 1e-300)
    if not counts.totals or counts.signed or part[g] < MOSTLY:
        return None
    return (
        f"{share:.0%} of the total is in {units:,} units that are larger than nearly all audited "
        f"ones. How often such units are predicted wrongly is a guess, and most of the "
        f"uncertainty about class {counts.classes[g]!r} comes from them. Audit the largest of "
        "them: draw units by size."
    )


def _right(theta: Floats, right: Floats) -> Floats:
    """The share of each predicted label and band of its score that is right: (C, L, S)."""
    own = np.einsum("ckhs,kh->chs", theta, right)
    return np.asarray(own / np.maximum(theta.sum(axis=1), 1e-300))


def stratified(counts: Counts, settings: Settings) -> Answer:
    """Textbook estimators of a test set drawn within J audit strata (Cochran 1977, chapter 5).

    `test_set` is Σ_j N_j mean_j(a) and `difference` û + Σ_j N_j mean_j(a − f), with a = y·1[s=g]
    and f = y·1[ŝ=g]; the variance is Σ_j N_j² s²_j (1/m_j ∓ 1/N_j), minus when the audited
    units are in the population. `calibrated` takes the strata within predicted classes as its own.
    """
    assert counts.bands is not None
    K, L, J, method = counts.K, counts.L, counts.bands.strata, settings.method
    cells = counts.bands.coarser(counts.bands.v_hat.size // (L * J))
    if method == "calibrated":
        names = tuple(f"{h}, stratum {j + 1}" for h in counts.predicted for j in range(J))
        return calibrated(replace(cells, columns=names), replace(settings, design="by_prediction"))
    v, n = (x.astype(float).reshape(*x.shape[:-1], L, J) for x in (cells.v_hat, cells.n))
    u, t, t2 = (
        units if x is None else x.reshape(units.shape)
        for x, units in ((cells.u_hat, v), (cells.t, n), (cells.t2, n))
    )
    N, m = v.sum(axis=0), n.sum(axis=(0, 1))
    few = (m < 2) & (m < N)
    if few.any():
        raise EstimateError(
            f"{method!r} needs at least 2 test units in every stratum of `drawn_within`; "
            f"{few.sum():,} of {J:,} have fewer.",
            hint="merge small strata, audit more of their units, or use method='auto'.",
        )
    a1, a2 = t.sum(axis=1), t2.sum(axis=1)  # (K, J)
    known = np.zeros(K)
    if method == "difference":
        for g, label in enumerate(counts.classes):
            if label in counts.predicted:
                h = counts.predicted.index(label)
                a1[g] -= t[:, h].sum(axis=0)
                a2[g] += t2[:, h].sum(axis=0) - 2 * t2[g, h]
                known[g] = u[h].sum()
    some = np.maximum(m, 1)
    s2 = np.maximum(a2 - a1**2 / some, 0.0) / np.maximum(m - 1, 1)
    correction = 1 / some + (-1 if settings.overlap else 1) / np.maximum(N, 1)
    variance = s2 @ (N**2 * np.maximum(correction, 0.0))
    estimate, sd = known + (a1 / some) @ N, np.sqrt(variance)
    half = special.ndtri((1 + settings.interval) / 2) * sd
    told = no_width(sd, counts.classes)
    quiet = (s2 <= 0).all(axis=0) & (m < N)
    if not told and N[quiet].sum() > QUIET * N.sum():
        part = N[quiet].sum() / N.sum()
        told = [
            f"In {quiet.sum():,} of {J:,} strata, with {part:.0%} of the units, the audited units "
            "do not vary: they add nothing to the interval, which may be far too narrow. Use "
            "method='auto', or audit more units there."
        ]
    info: dict[str, Any] = {"warnings": told, "audit strata": J}
    return Answer(estimate=estimate, sd=sd, lower=estimate - half, upper=estimate + half, info=info)
