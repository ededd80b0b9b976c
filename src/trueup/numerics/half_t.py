"""Half-t priors of standard deviations, with four degrees of freedom."""

from __future__ import annotations

import numpy as np

from trueup.numerics.arrays import Floats

__all__ = ["draw", "log_density"]

DF = 4.0


def log_density(sd: Floats, scale: Floats | float) -> Floats:
    """Log density of standard deviations, up to a constant."""
    return np.asarray(-(DF + 1) / 2 * np.log1p((sd / scale) ** 2 / DF))


def draw(
    sd: Floats, squares: Floats, terms: int, scale: Floats | float, rng: np.random.Generator
) -> Floats:
    """Draw the standard deviation of normal terms given the sum of their squares, and the last.

    A half-t prior is two gammas (Wand et al. 2011).
    """
    a = (np.square(scale) ** -1.0 + DF / sd**2) / rng.standard_gamma((DF + 1) / 2, sd.shape)
    return np.sqrt((DF / a + squares / 2) / rng.standard_gamma((terms + DF) / 2, sd.shape))
