"""K = 2: independent draws from the constrained posterior, as truncated Betas on two rectangles.

With x = p₀₁ ~ Beta(a₀₁, a₀₀) and y = p₁₀ ~ Beta(a₁₀, a₁₁), Θ₂(v̂) is
{x ≤ ρ₁, y ≤ ρ₀} ∪ {x ≥ ρ₁, y ≥ ρ₀}: a classifier better than chance, or one that swaps the classes.
"""

import numpy as np

from trueup.draws.samplers.draws import Draws
from trueup.draws.samplers.truncated import below, log_mass_below
from trueup.numerics.arrays import Floats, Rng


def log_masses(a: Floats, rho: Floats) -> tuple[float, float]:
    """Log prior-of-the-cut mass of each rectangle: (better than chance, classes swapped)."""
    (a00, a01), (a10, a11) = a
    better = log_mass_below(a01, a00, rho[1]) + log_mass_below(a10, a11, rho[0])
    swapped = log_mass_below(a00, a01, rho[0]) + log_mass_below(a11, a10, rho[1])
    return better, swapped


def draw_exact(a: Floats, v_hat: Floats, size: int, rng: Rng) -> Draws:
    """Draw `size` independent P from Dir(a) rows given P ∈ Θ₂(v̂), both v̂ positive.

    Examples
    --------
    The Peculiar Example of the paper, where 97% of the draws used to be thrown away:

    >>> a = np.array([[4.5, 1.5], [2.5, 3.5]])
    >>> draws = draw_exact(a, np.array([10.0, 90.0]), 100_000, np.random.default_rng(1))
    >>> bool(abs(100 * draws.beta[:, 0].mean() - 4.91) < 0.1)
    True
    """
    rho = v_hat / v_hat.sum()
    (a00, a01), (a10, a11) = (map(float, row) for row in a)
    better, swapped = log_masses(a, rho)
    is_swapped = rng.random(size) < np.exp(swapped - np.logaddexp(better, swapped))
    many, few = int(size - is_swapped.sum()), int(is_swapped.sum())
    P = np.empty((size, 2, 2))
    beta = np.empty((size, 2))
    for rows, n in ((~is_swapped, many), (is_swapped, few)):
        if n == 0:
            continue
        # the off-diagonal cells below their cut, or (swapped) the diagonal cells below theirs
        if rows is is_swapped:
            p00, gap1 = below(a00, a01, float(rho[0]), n, rng)
            p11, gap0 = below(a11, a10, float(rho[1]), n, rng)
            p01, p10 = 1.0 - p00, 1.0 - p11
        else:
            p01, gap1 = below(a01, a00, float(rho[1]), n, rng)
            p10, gap0 = below(a10, a11, float(rho[0]), n, rng)
            p00, p11 = 1.0 - p01, 1.0 - p10
        P[rows] = np.stack([p00, p01, p10, p11], axis=1).reshape(n, 2, 2)
        # |ρ₁ − x| and |ρ₀ − y| are the weights of the rows: ρ divides the segment between them
        beta[rows] = np.stack([gap0 / (gap0 + gap1), gap1 / (gap0 + gap1)], axis=1)
    acceptance = float(np.exp(np.logaddexp(better, swapped)))
    info = {
        "sampler": "exact",
        "acceptance": acceptance,
        "ess": float(size),
        "rhat": None,
        "swapped": float(np.exp(swapped - np.logaddexp(better, swapped))),
        "warnings": [],
    }
    return Draws(P, beta, rho, info)
