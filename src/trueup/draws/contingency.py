"""The contingency matrix P: what it does to totals, its inverse, and the set Θ_K(v̂).

Everywhere: rows are true classes, columns predicted ones, p_gh = Pr(ŝ = h | s = g), and draws
come first, so that ``P`` is (K, K) or (R, K, K).
"""

import numpy as np
from numpy.typing import ArrayLike

from trueup.numerics.arrays import Bools, Floats


def expected_u_hat(P: ArrayLike, u: ArrayLike) -> Floats:
    """E[û | s] = Pᵀu: the classification-based aggregates to expect when the truth is u.

    Examples
    --------
    The Base Rate Example: 10,000 webshops look like 10,350.

    >>> expected_u_hat([[0.99, 0.01], [0.005, 0.995]], [10_000, 90_000])
    array([10350., 89650.])
    """
    return np.asarray(np.einsum("...gh,...g->...h", np.asarray(P, float), np.asarray(u, float)))


def solve_Q(P: ArrayLike, x: ArrayLike) -> Floats:
    """Qx with Q = (Pᵀ)⁻¹: the aggregates that would give x on average (the baseline method).

    Where P is singular the answer is not a number: the caller decides what that means.

    Examples
    --------
    The Peculiar Example:

    >>> solve_Q([[0.8, 0.2], [0.4, 0.6]], [10, 90]).round(9)
    array([-75., 175.])
    """
    P, x = np.asarray(P, float), np.asarray(x, float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if P.shape[-1] == 2:  # Cramer's rule: 20 times faster on a stack of 2×2 matrices
            (p00, p01), (p10, p11) = np.moveaxis(P, (-2, -1), (0, 1))
            det = p00 * p11 - p01 * p10
            first = (p11 * x[..., 0] - p10 * x[..., 1]) / det
            return np.stack([first, (p00 * x[..., 1] - p01 * x[..., 0]) / det], axis=-1)
        x = np.broadcast_to(x, P.shape[:-1])[..., None]
        P_T = np.swapaxes(P, -1, -2)
        try:
            return np.linalg.solve(P_T, x)[..., 0]
        except np.linalg.LinAlgError:  # one singular matrix fails the whole stack: set it apart
            singular = np.linalg.slogdet(P_T)[0] == 0
            safe = np.where(singular[..., None, None], np.eye(P.shape[-1]), P_T)
            return np.where(singular[..., None], np.nan, np.linalg.solve(safe, x)[..., 0])


def in_theta(P: ArrayLike, v_hat: ArrayLike) -> Bools:
    """Whether P lies in Θ_K(v̂): Qv̂ ≥ 0, so that no corrected count is negative.

    In words: v̂/N lies in the convex hull of the rows of P.
    """
    v_hat = np.asarray(v_hat, float)
    with np.errstate(invalid="ignore"):
        return np.asarray((solve_Q(P, v_hat / v_hat.sum()) >= 0).all(axis=-1))


def in_theta_2(P: ArrayLike, v_hat: ArrayLike) -> Bools:
    """Θ₂(v̂) as the two rectangles of the paper's binary case.

    With β̂ = v̂/N: both error rates below (p_01 ≤ β̂_1, p_10 ≤ β̂_0), or both above. The paper
    prints v̂ where β̂ is meant.
    """
    P, v_hat = np.asarray(P, float), np.asarray(v_hat, float)
    beta_hat = v_hat / v_hat.sum()
    p_01, p_10 = P[..., 0, 1], P[..., 1, 0]
    below = (p_01 <= beta_hat[1]) & (p_10 <= beta_hat[0])
    above = (p_01 >= beta_hat[1]) & (p_10 >= beta_hat[0])
    return np.asarray(below | above)


def base_rate_variance(P: ArrayLike, beta: ArrayLike, N: float) -> Floats:
    """Var(β̂ | s) = (diag(Pᵀβ) − Pᵀ diag(β) P) / N (Theorem 2)."""
    P, beta = np.asarray(P, float), np.asarray(beta, float)
    return np.asarray((np.diag(P.T @ beta) - P.T @ np.diag(beta) @ P) / N)


def plug_in(n: ArrayLike) -> Floats:
    """P̂ = n_gh / n_g·, the test set's own rates. Every true class must have a test unit."""
    n = np.asarray(n, float)
    return np.asarray(n / n.sum(axis=1, keepdims=True))
