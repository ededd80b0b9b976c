"""Bias and variance of five estimators of a base rate, in closed form (binary case).

Kloos, Meertens, Scholtus and Karch, *Comparing Correction Methods to Reduce Misclassification
Bias*, BNAIC/Benelearn 2020, doi:10.1007/978-3-030-76640-5_5. The wanted figure is the share α of
class 1; sensitivity is p₁₁, specificity p₀₀, the population has N units and the test set n, drawn
at random and small beside the population. Terms of order 1/n³ and smaller are left out, as there.
The root mean squared errors of their Table 2 (×10⁻²: 1.581, 5.000, 3.807, 5.003, 1.508) come out at
α = 0.5, rates of 0.6 and 0.7, n = 1,000 and no terms in 1/N; the formulas here keep the
latter. They serve as oracles: what `simulate` gives must have these moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "Moments",
    "baseline",
    "calibration",
    "classify_and_count",
    "misclassification",
    "subtracted_bias",
]


class Moments(NamedTuple):
    """Bias and variance of an estimator of a share."""

    bias: float
    variance: float

    @property
    def rmse(self) -> float:
        """The root of the mean squared error."""
        return float(np.sqrt(self.bias**2 + self.variance))


def _mean_inverse(n: float, share: float) -> float:
    """E[1/X] for X ~ Bin(n, share) given X > 0, to the second order."""
    return (1 + (1 - share) / (n * share)) / (n * share)


def _predicted_share(alpha: float, p_00: float, p_11: float) -> float:
    """E[α*], the share that the classifier is expected to predict."""
    return alpha * p_11 + (1 - alpha) * (1 - p_00)


def baseline(alpha: float, p_00: float, p_11: float, n: float, N: float) -> Moments:
    """The test set's own share of class 1, without the predictions: unbiased, α(1 − α)/n."""
    return Moments(0.0, alpha * (1 - alpha) / n)


def classify_and_count(alpha: float, p_00: float, p_11: float, n: float, N: float) -> Moments:
    """α*, the predicted share as it is; its variance given s is Theorem 2 of Meertens et al."""
    variance = (alpha * p_11 * (1 - p_11) + (1 - alpha) * p_00 * (1 - p_00)) / N
    return Moments(_predicted_share(alpha, p_00, p_11) - alpha, variance)


def subtracted_bias(alpha: float, p_00: float, p_11: float, n: float, N: float) -> Moments:
    """α* less its estimated bias, α*(p̂₀₀ + p̂₁₁ − 2) + 1 − p̂₀₀.

    Given α*, that is 3α* − 1 + (1 − α*)p̂₀₀ − α*p̂₁₁, with p̂₀₀ and p̂₁₁ independent.
    """
    mean = _predicted_share(alpha, p_00, p_11)
    spread = classify_and_count(alpha, p_00, p_11, n, N).variance
    var_00 = p_00 * (1 - p_00) * _mean_inverse(n, 1 - alpha)
    var_11 = p_11 * (1 - p_11) * _mean_inverse(n, alpha)
    bias = mean * (3 - p_00 - p_11) - (1 - p_00) - alpha
    variance = (
        ((1 - mean) ** 2 + spread) * var_00
        + (mean**2 + spread) * var_11
        + (3 - p_00 - p_11) ** 2 * spread
    )
    return Moments(bias, variance)


def misclassification(alpha: float, p_00: float, p_11: float, n: float, N: float) -> Moments:
    """(α* + p̂₀₀ − 1)/(p̂₀₀ + p̂₁₁ − 1), the baseline method of Meertens et al. (Rogan–Gladen).

    With d = p₀₀ + p₁₁ − 1, errors e₀ and e₁ of p̂₀₀ and p̂₁₁ and noise x of α*, the estimator is
    α + (x + (1 − α)e₀ − αe₁)/(d + e₀ + e₁), expanded to the second order in e.
    """
    d = p_00 + p_11 - 1
    var_0 = p_00 * (1 - p_00) * _mean_inverse(n, 1 - alpha)
    var_1 = p_11 * (1 - p_11) * _mean_inverse(n, alpha)
    spread = classify_and_count(alpha, p_00, p_11, n, N).variance
    bias = (alpha * var_1 - (1 - alpha) * var_0) / d**2
    variance = ((1 - alpha) ** 2 * var_0 + alpha**2 * var_1 + spread) / d**2
    return Moments(bias, variance)


def calibration(alpha: float, p_00: float, p_11: float, n: float, N: float) -> Moments:
    """Σ_h (predicted share of h)·P̂r(s = 1 | ŝ = h): unbiased."""
    rho_1 = _predicted_share(alpha, p_00, p_11)
    variance = 0.0
    for rho, c in (
        (rho_1, alpha * p_11 / rho_1),
        (1 - rho_1, alpha * (1 - p_11) / (1 - rho_1)),
    ):
        variance += rho**2 * c * (1 - c) * _mean_inverse(n, rho)
    return Moments(0.0, variance)
