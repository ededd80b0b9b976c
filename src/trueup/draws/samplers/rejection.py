"""Step two of the paper: draw from the posterior, keep what falls in Θ_K(v̂)."""

import numpy as np

from trueup.draws.contingency import solve_Q
from trueup.draws.samplers.draws import Draws
from trueup.errors import EstimateError
from trueup.numerics.arrays import Floats, Progress, Rng
from trueup.numerics.dirichlet import SMALL_SHAPE, GammaDraws, dirichlet, fast_generator

PILOT = 1024
"""Proposals after which the acceptance is first known ..."""
LONG_PILOT = 500_000
"""... and numbers (proposals × K²) before rejection is given up, for few classes."""
BLOCK = 115_000
"""Numbers of the proposals that are solved at a time."""
BACKWARD = 1e-10
"""Weights are right when they give ρ to this part of it."""


class Proposals:
    """Matrices with Dirichlet rows, of which those in Θ_K are kept.

    The constraint does not depend on the scale of a row, so they begin as gammas X (K, K, C).
    """

    def __init__(self, a: Floats, rho: Floats, rng: Rng) -> None:
        K = len(a)
        self.a, self.rho = a, rho
        self.rng = fast_generator(rng)
        self.most = max(BLOCK // K**2, 1)
        # rows of such gammas may all be too small for a number
        self.gammas = GammaDraws(a) if a.sum(axis=1).min() >= SMALL_SHAPE else None
        self.X, self.room = np.empty((K, K, self.most)), np.empty((K, K - 1, self.most))
        self.M = np.empty((K + 1, K, self.most))

    def keep(self, batch: int, P: Floats, beta: Floats) -> int:
        """Write those of a batch that are permissible, and their base rates; return how many."""
        X = self.X[:, :, :batch]
        if self.gammas is None:
            X[:] = dirichlet(self.a, batch, self.rng)[0]
        else:
            self.gammas.fill(X, self.rng)
        w = self.solve(X)
        kept = np.flatnonzero(w.min(axis=0) >= 0.0)
        some, many = kept[: len(P)], min(len(kept), len(P))
        total = X.sum(axis=1)[:, some].T
        np.divide(np.moveaxis(X, -1, 0)[some], total[:, :, None], out=P[:many])
        np.multiply(w[:, some].T, total, out=beta[:many])
        return len(kept)

    def solve(self, X: Floats) -> Floats:
        """Weights w (K, C) with Σ_g w_g X_gh = ρ_h, by elimination without pivots.

        Half the time of LAPACK for many small matrices. Where that w does not give ρ, LAPACK
        does it again.
        """
        K, _, chains = X.shape
        M, room, w = self.M[:, :, :chains], self.room[:, :, :chains], np.empty((K, chains))
        M[:K], M[K] = X, self.rho[:, None]  # the last row is the right-hand side
        with np.errstate(all="ignore"):
            for g in range(K - 1):
                factor = M[g, g + 1 :] / M[g, g]
                np.multiply(M[g + 1 :, g, None], factor, out=room[g:, g:])
                M[g + 1 :, g + 1 :] -= room[g:, g:]
            for g in range(K - 1, -1, -1):
                w[g] = (M[K, g] - np.einsum("gc,gc->c", M[g + 1 : K, g], w[g + 1 :])) / M[g, g]
            off = np.einsum("ghc,gc->hc", X, w) / self.rho[:, None] - 1.0
            wrong = np.flatnonzero(~(np.abs(off).max(axis=0) < BACKWARD))
        if len(wrong):
            w[:, wrong] = solve_Q(np.moveaxis(X[:, :, wrong], -1, 0), self.rho).T
        return w


def draw_rejection(
    a: Floats,
    v_hat: Floats,
    size: int,
    rng: Rng,
    *,
    max_proposals: int,
    max_work: float = np.inf,
    progress: Progress | None = None,
) -> Draws | None:
    """Draw until `size` are kept; None as soon as that would take more than `max_work` numbers.

    That is judged by the acceptance so far, never by the clock. After `max_proposals` it is an
    error. All of v̂ must be positive.
    """
    rho = v_hat / v_hat.sum()
    K = len(rho)
    proposals = Proposals(a, rho, rng)
    P, beta = np.empty((size, K, K)), np.empty((size, K))
    found = proposed = 0
    batch = PILOT
    while found < size and proposed < max_proposals:
        batch = int(np.clip(batch, 64, proposals.most))
        found += proposals.keep(batch, P[found:], beta[found:])
        proposed += batch
        rate = max(found, 0.5) / proposed
        if found + 5.0 * np.sqrt(found + 5.0) < proposed * size * K**2 / max_work:  # far too few
            return None
        if size * K**2 / rate > max_work and proposed >= PILOT:
            if proposed * K**2 >= LONG_PILOT or not np.isfinite(max_work):
                return None
            batch = LONG_PILOT // K**2 - proposed
            continue
        left = max(size - found, 0)
        batch = int((left + 2.0 * np.sqrt(left)) / rate)
        if progress is not None:
            progress(min(found / size, 1.0))
    if found < size:
        raise EstimateError(
            f"rejection must keep {size:,} draws; {proposed:,} proposals gave {found:,}.",
            hint='sampler="chain" does not depend on the acceptance.',
        )
    info = {
        "sampler": "rejection",
        "acceptance": found / proposed,
        "ess": float(size),
        "rhat": None,
        "proposals": proposed,
        "warnings": [],
    }
    return Draws(P, beta, rho, info)
