"""Base rates given the error rates and v̂, and the columns c = Pr(s | ŝ) that follow from both."""

import numpy as np

from trueup.draws.contingency import solve_Q
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.numerics.simplex_normal import draw_simplex_normal


def draw_beta(P: Floats, v_hat: Integers, rng: Rng) -> tuple[Floats, Floats]:
    """Draw the base rates given P and v̂, on the simplex, with the log of each draw's weight.

    v̂/N estimates Pᵀβ with variance (diag ρ − ρρᵀ)/N, ρ = v̂/N, so β is normal around Qρ with
    that variance carried through Q. Where P lies outside Θ_K the weight is small.
    """
    return _normal_beta(P, v_hat / v_hat.sum(), v_hat.sum(), rng)


def exact_beta(P: Floats, v_hat: Integers, rng: Rng) -> tuple[Floats, Floats]:
    """Draw β given P and v̂ ~ Mult(N, Pᵀβ), uniform on the simplex before v̂ is seen.

    Then ρ = Pᵀβ is Dir(v̂ + 1), held to where β = Qρ ≥ 0: the weight of the other draws is 0.
    """
    beta = solve_Q(P, draw_dirichlet(v_hat + 1.0, len(P), rng))
    inside = (beta >= 0).all(axis=1)
    beta[~inside] = 1 / len(v_hat)
    return beta, np.where(inside, 0.0, -np.inf)


def weigh_beta(P: Floats, v_hat: Integers, rng: Rng) -> tuple[Floats, Floats]:
    """Draw from the same distribution where practically no draw of `exact_beta` has a weight.

    Normal draws on the simplex are a proposal, around r = (v̂ + 1)/(N + K). Their density is
    exp(−(N + K)χ²/2) with χ² = Σ_h (ρ_h − r_h)²/r_h; the weight corrects it to the likelihood.
    """
    more = v_hat.sum() + len(v_hat)
    r = (v_hat + 1) / more
    beta, log_weight = _normal_beta(P, r, more, rng)
    rho = np.einsum("rgh,rg->rh", P, beta)
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = np.where(v_hat > 0, v_hat * np.log(rho / r), 0.0).sum(axis=1)
    return beta, log_weight + likelihood + more / 2 * ((rho - r) ** 2 / r).sum(axis=1)


def _normal_beta(P: Floats, rho: Floats, N: np.integer, rng: Rng) -> tuple[Floats, Floats]:
    Q = np.linalg.inv(np.swapaxes(P, 1, 2))
    spread = (Q * rho) @ np.swapaxes(Q, 1, 2)
    centre = Q @ rho
    cov = (spread - centre[:, :, None] * centre[:, None, :]) / N
    return draw_simplex_normal(centre, cov, 1.0, rng)


def columns(P: Floats, beta: Floats) -> Floats:
    """c_gh = Pr(s = g | ŝ = h) = p_gh β_g / Σ_k p_kh β_k: Bayes' rule, each column sums to 1."""
    theta = P * beta[:, :, None]
    rho = theta.sum(axis=1, keepdims=True)
    # a class that is never predicted has no units to allocate: any column is as good
    return np.where(rho > 0, theta / np.where(rho > 0, rho, 1.0), 1 / P.shape[-1])
