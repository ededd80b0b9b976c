"""`full` for any number of predicted labels: K true classes × L columns, no inverse.

With c_gh = Pr(s = g | ŝ = h), ρ_h = Pr(ŝ = h) and β = cρ, by counting dimensions
dθ = Π_g β_g^(L−1) dP dβ = Π_h ρ_h^(K−1) dc dρ, so the posterior of rows Dir(a_g), base rates Dir(γ)
and v̂ ~ Mult(N, Pᵀβ) is

    c_·h ~ Dir(a_·h),  ρ ~ Dir(v̂ + a_·),  times Π_g β_g^(γ_g − a_g·).

x_g ~ Gamma(a_g· − γ_g)/β_g turns the last factor into exp(−Σ_g x_g β_g). Given x, columns are
independent, each Dir(a_·h) times exp(−Σ_g λ_g c_g) with λ_g = ρ_h x_g, and so is ρ given the
columns. Such a tilted Dirichlet is drawn by one Metropolis step from y_g ~ Gamma(a_g)/(λ_g + μ),
c = y/Σy, whose density is Π c^(a_g−1) (λ·c + μ)^(−A): the ratio e^(−w)(w + μ)^A, w = λ·c, is nearly
constant where c is likely if μ solves Σ a_g/(λ_g + μ) = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.draws import Draws, Progress
from trueup.numerics.diagnostics import ess, rhat
from trueup.numerics.dirichlet import dirichlet, log_gamma, normalise, refresh

__all__ = ["draw_full_rectangle"]

Floats = NDArray[np.float64]

CHAINS = 64
SWEEPS, ROUNDS = 200, 7
"""The first run, and how often it may be doubled; what came before is then warm-up."""
RHAT, ENOUGH = 1.01, 0.5
NEWTON = 12
KEEP = np.array([0.0, 0.5, 0.8, 0.95, 0.99, 0.999])
"""How much of a column a proposal keeps."""


def draw_full_rectangle(
    a: Floats,
    gamma: Floats,
    v_hat: Floats,
    size: int,
    rng: np.random.Generator,
    *,
    progress: Progress | None = None,
) -> Draws:
    """Draw (P, β) given the test set and v̂ ~ Mult(N, Pᵀβ): `a` is (K, L), v̂ (L,).

    Examples
    --------
    >>> a = np.array([[30.5, 8.5, 0.5], [10.5, 150.5, 5.5]])
    >>> draws = draw_full_rectangle(a, np.ones(2), np.array([400, 2590, 10]), 1000,
    ...                             np.random.default_rng(1))
    >>> draws.P.shape, draws.info["warnings"]
    ((1000, 2, 3), [])
    """
    walk = _Walk(a, gamma, v_hat, rng)
    keep = -(-size // CHAINS)
    sweeps = max(SWEEPS, 2 * keep)
    for done in range(ROUNDS):
        step = -(-sweeps // (4 * keep))  # remembered: at least four times what is returned
        seen = []
        for sweep in range(sweeps):
            walk.sweep()
            if sweep % step == 0:
                seen.append((walk.log_c.copy(), walk.rho.copy(), walk.beta.copy()))
            if progress is not None and sweep % 50 == 0:
                progress(min((done + sweep / sweeps) / ROUNDS, 0.99))
        beta = np.moveaxis(np.stack([x[2] for x in seen]), (0, 1, 2), (1, 2, 0))  # C, S, K
        worst = max(rhat(beta[:, :, g]) for g in range(len(a)))
        size_run = min(ess(beta[:, :, g]) for g in range(len(a)))
        good = worst < RHAT and size_run >= ENOUGH * size
        if good:
            break
        sweeps *= 2
    at = len(seen) - 1 - (np.arange(keep)[::-1] * len(seen)) // keep
    log_c, rho = (np.concatenate([seen[i][k] for i in at], axis=-1) for k in (0, 1))
    order = rng.permutation(log_c.shape[-1])[:size]
    theta = (np.exp(log_c) * rho[:, None])[:, :, order].transpose(2, 1, 0)  # R, K, L
    b = np.maximum(theta.sum(axis=2), np.finfo(float).tiny)
    info: dict[str, Any] = {
        "sampler": "chain",
        "ess": float(min(size_run, size)),
        "rhat": float(worst),
        "chains": CHAINS,
        "sweeps": sweeps if good else sweeps // 2,
        "warnings": [],
    }
    if not good:
        info["warnings"] = [
            f"The chains did not reach the goal: R-hat {worst:.3f}, {size_run:,.0f} effective "
            f"draws of {size:,}. The interval is rough."
        ]
    return Draws(theta / b[:, :, None], b, rho[:, order].T, info)


class _Walk:
    """CHAINS chains: log c (L, K, C), ρ (L, C) and β (K, C)."""

    def __init__(self, a: Floats, gamma: Floats, v_hat: Floats, rng: np.random.Generator) -> None:
        self.a, self.ahead, self.rng = np.ascontiguousarray(a.T), v_hat + a.sum(axis=0), rng
        self.e = gamma - a.sum(axis=1)
        self.log_c = dirichlet(self.a, CHAINS, rng)[1]
        self.rho = dirichlet(self.ahead, CHAINS, rng)[0]
        self.beta = self.base_rates(self.log_c, self.rho)

    def base_rates(self, log_c: Floats, rho: Floats) -> Floats:
        beta = np.einsum("lkc,lc->kc", np.exp(log_c), rho)
        return np.asarray(np.maximum(beta, np.finfo(float).tiny))

    def power(self, beta: Floats) -> Floats:
        """Σ_g e_g log(β'_g/β_g) of each chain."""
        return np.asarray(self.e @ (np.log(beta) - np.log(self.beta)))

    def lucky(self, log_ratio: Floats) -> NDArray[np.bool_]:
        return np.asarray(log_ratio > -self.rng.standard_exponential(log_ratio.shape))

    def sweep(self) -> None:
        """Draw x, the columns and ρ; then a tilt."""
        if (self.e <= 0).all():
            x = self.rng.standard_gamma(-self.e[:, None], self.beta.shape) / self.beta
            self.log_c = self.tilted(self.log_c, self.a, self.rho[:, None] * x)
            away = np.einsum("kc,lkc->lc", x, np.exp(self.log_c))
            log_rho = self.tilted(np.log(self.rho)[None], self.ahead[None], away[None])
            self.rho = np.exp(log_rho[0])
            self.beta = self.base_rates(self.log_c, self.rho)
        else:  # a base rate with a positive power: columns one after another
            for h in range(len(self.a)):
                self.column(h)
        self.tilt()

    def tilted(self, log_p: Floats, a: Floats, lam: Floats) -> Floats:
        """One step from log p (m, K, C) for Dir(a) exp(−λ·p): `a` is (m, K), λ (m, K, C)."""
        A, wide = a.sum(axis=1)[:, None], a[:, :, None]
        mu = (wide - lam).max(axis=1)  # here Σ a/(λ + μ) ≥ 1; it is convex, so Newton rises to 1
        for _ in range(NEWTON):
            part = wide / (lam + mu[:, None])
            above = part.sum(axis=1) - 1.0
            mu += above / (part**2 / wide).sum(axis=1)
        gap = lam + mu[:, None]
        x = log_gamma(wide, log_p.shape, self.rng) - np.log(gap)
        p, new = normalise(x)
        w, here = ((lam * q).sum(axis=1) for q in (p, np.exp(log_p)))
        ratio = here - w + A * (np.log(w + mu) - np.log(here + mu))
        return np.where(self.lucky(ratio)[:, None], new, log_p)

    def column(self, h: int) -> None:
        """Refresh one column in detailed balance with its Dirichlet."""
        r = KEEP[self.rng.integers(len(KEEP), size=1)]
        new = self.log_c.copy()
        new[h] = refresh(self.log_c[h][None], self.a[h][None], r, self.rng)[1][0]
        beta = self.base_rates(new, self.rho)
        yes = self.lucky(self.power(beta))
        self.log_c = np.where(yes, new, self.log_c)
        self.beta = np.where(yes, beta, self.beta)

    def tilt(self) -> None:
        """Multiply the odds of the classes in all columns: c' ∝ c exp(δ), with its Jacobian."""
        size = np.exp(self.rng.uniform(-6.0, 1.0, CHAINS))
        delta = size * self.rng.standard_normal(self.beta.shape)
        log_c = normalise(self.log_c + delta)[1]
        beta = self.base_rates(log_c, self.rho)
        moved = np.einsum("lk,lkc->c", self.a, log_c - self.log_c)
        yes = self.lucky(moved + self.power(beta))
        self.log_c = np.where(yes, log_c, self.log_c)
        self.beta = np.where(yes, beta, self.beta)
