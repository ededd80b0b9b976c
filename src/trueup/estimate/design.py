"""Whether the test set looks as if it was drawn the way the user says."""

from __future__ import annotations

from math import erfc, lgamma

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts

__all__ = ["chi_square_tail", "design_p_value", "design_warning"]

# The chi-square distribution is good enough when every class is expected this often (Cochran).
EXPECTED_ENOUGH = 5
SIMULATIONS = 2_000
# NumPy draws without replacement up to here; beyond it, with replacement is as good.
HYPERGEOMETRIC_LIMIT = 1_000_000_000
DOUBTFUL = 0.01


def design_p_value(
    n: NDArray[np.int64], v_hat: NDArray[np.int64], *, overlap: bool, rng: np.random.Generator
) -> float | None:
    """P-value: how often a random test set differs at least this much from the population.

    Pearson's chi-square of the test set's column totals against v̂/N; drawn without replacement
    when the audited units are in the population. None when there is nothing to compare.
    """
    found, size, N = n.sum(axis=0), int(n.sum()), int(v_hat.sum())
    if size == 0 or (overlap and (found > v_hat).any()):
        return None
    if (found[v_hat == 0] > 0).any():
        return 0.0
    occurs = v_hat > 0
    if occurs.sum() < 2 or (overlap and size == N):
        return None
    expected = size * v_hat[occurs] / N
    statistic = ((found[occurs] - expected) ** 2 / expected).sum()
    if expected.min() >= EXPECTED_ENOUGH:
        shrink = 1 - (size - 1) / (N - 1) if overlap and N > 1 else 1.0
        return chi_square_tail(int(occurs.sum()) - 1, statistic / shrink)
    if overlap and N < HYPERGEOMETRIC_LIMIT:
        drawn = rng.multivariate_hypergeometric(
            v_hat[occurs], size, SIMULATIONS, method="marginals"
        )
    else:
        drawn = rng.multinomial(size, v_hat[occurs] / N, SIMULATIONS)
    simulated = ((drawn - expected) ** 2 / expected).sum(axis=1)
    return float((1 + (simulated >= statistic * (1 - 1e-9)).sum()) / (1 + SIMULATIONS))


def chi_square_tail(freedom: int, x: float) -> float:
    """Pr(χ² > x), by its finite sum: SciPy takes longer to load than the answer takes.

    With h = x/2 the terms are h^i e^(−h) / Γ(i + 1) for i = 0, 1, … below freedom/2, or, for odd
    freedom, i = 1/2, 3/2, … and erfc(√h) (Abramowitz and Stegun 1964, 26.4.4–5).

    Examples
    --------
    >>> round(chi_square_tail(1, 3.841458820694124), 12)
    0.05
    """
    h, odd = x / 2, freedom % 2
    if not h > 0:
        return 1.0
    i = np.arange(odd / 2, freedom / 2)
    terms = np.exp(i * np.log(h) - h - [lgamma(k + 1) for k in i])
    return min(float(terms.sum()) + odd * erfc(np.sqrt(h)), 1.0)


def design_warning(counts: Counts, p_value: float | None) -> str | None:
    """The warning for a test set called random that does not look random."""
    if p_value is None or p_value >= DOUBTFUL:
        return None
    in_test = counts.n.sum(axis=0) / counts.n.sum()
    in_population = counts.v_hat / counts.N
    h = int(np.abs(in_test - in_population).argmax())
    return (
        f"The predicted classes of the test set do not look like a random sample of the "
        f"population (p = {p_value:.2g}): {counts.classes[h]!r} is {in_test[h]:.1%} of the test "
        f"set and {in_population[h]:.1%} of the population. With design 'random' the answer would "
        "then be wrong. Was the test set drawn within predicted classes ('by_prediction'), within "
        "true classes ('by_class'), or from another period or population ('shifted')?"
    )
