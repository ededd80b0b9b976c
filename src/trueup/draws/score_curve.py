"""How the columns of cells depend on the score: a calibration curve, learned with all the rest.

Cell ℓ of predicted class h has the score z_ℓ: the normal score of the classifier's confidence in h,
by rank within the predicted class. Its mean m_ℓ has the factor exp(f_gℓ), with

    f_gℓ = (b 1[g = h] + e_gh) z_ℓ,   b ~ U(0, STEEPEST),  e_gh ~ N(0, ε²),  ε ~ half-Cauchy(SPREAD):

the log odds of being right rise by b per standard deviation of the score (Platt's curve), the same
for all classes as far as the test set shows; e_gh is what a class adds. b = 0 is a score that tells
nothing. Given tables t and w (`draws.cells`), with x integrated out, classes are independent:

    Σ_ℓ t_gℓ f_gℓ − a_gh log(1 + Σ_ℓ w_ℓ V_gℓ exp(f_gℓ)),   V the other factors of m.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueup.numerics.arrays import Floats

STEEPEST = 3.0
"""The steepest curve: the odds of being right then differ 400-fold between the quarters of a
predicted class's units with the highest and the lowest scores."""
SPREAD = 0.25
"""Scale of ε, how far the curves of classes differ."""
MOST = 300.0


class Curve(NamedTuple):
    """The curves of C chains: b and ε (C,), and e (C, K, H)."""

    b: Floats
    epsilon: Floats
    e: Floats


def start(shape: tuple[int, int, int], rng: np.random.Generator) -> Curve:
    """Return curves to begin with, for (C, K, H)."""
    C = shape[0]
    return Curve(STEEPEST * rng.random(C), np.full(C, SPREAD), np.zeros(shape))


def bend(curve: Curve, z: Floats, right: Floats) -> Floats:
    """Return f (C, K, H, B): `z` (H, B) are scores, `right` (K, H) is 1 where h is class g."""
    slope = curve.b[:, None, None] * right + curve.e
    return np.asarray(np.clip(slope[..., None] * z, -MOST, MOST))


def step(
    curve: Curve, z: Floats, right: Floats, t: Floats, wV: Floats, a: Floats, rng: np.random.Generator
) -> Curve:
    """Move b, e and ε once: `t` and `wV` are (C, K, H, B), `a` (C, K, H)."""
    C = len(curve.b)
    tz = (t * z).sum(axis=-1)

    def fit(new: Curve) -> Floats:
        slope = new.b[:, None, None] * right + new.e
        return np.asarray(slope * tz - a * np.log1p((wV * np.exp(bend(new, z, right))).sum(-1)))

    here = fit(curve)
    near = np.abs(curve.b + 0.4 * rng.standard_normal(C))
    for b in (np.where(near > STEEPEST, 2 * STEEPEST - near, near), STEEPEST * rng.random(C)):
        new = curve._replace(b=b)
        there = fit(new)
        inside = (b >= 0) & (b <= STEEPEST)
        yes = inside & (-rng.standard_exponential(C) < (there - here).sum(axis=(1, 2)))
        curve = curve._replace(b=np.where(yes, b, curve.b))
        here = np.where(yes[:, None, None], there, here)
    curve, here = _stretched(curve, here, fit, rng)
    var = curve.epsilon[:, None, None] ** 2
    e = curve.e + 2.0 / np.sqrt(a + 1 / var) * rng.standard_normal(curve.e.shape)
    gain = fit(curve._replace(e=e)) - here - (e**2 - curve.e**2) / (2 * var)
    e = np.where(-rng.standard_exponential(e.shape) < gain, e, curve.e)
    return curve._replace(e=e, epsilon=_half_cauchy(curve.epsilon, e, rng))


def _stretched(
    curve: Curve, here: Floats, fit: Callable[[Curve], Floats], rng: np.random.Generator
) -> tuple[Curve, Floats]:
    """Multiply e and its standard deviation ε by one factor: the way out of a funnel."""
    factor = np.exp(0.6 * rng.standard_normal(len(curve.b)))
    wide = curve.epsilon * factor
    new = curve._replace(e=curve.e * factor[:, None, None], epsilon=wide)
    there = fit(new)
    prior = np.log1p((curve.epsilon / SPREAD) ** 2) - np.log1p((wide / SPREAD) ** 2)
    gain = (there - here).sum(axis=(1, 2)) + prior + np.log(factor)
    yes = -rng.standard_exponential(len(factor)) < gain
    three = yes[:, None, None]
    kept = Curve(
        curve.b, np.where(yes, wide, curve.epsilon), np.where(three, new.e, curve.e)
    )
    return kept, np.where(three, there, here)


def _half_cauchy(epsilon: Floats, e: Floats, rng: np.random.Generator) -> Floats:
    """Draw ε given e; a half-Cauchy prior is two gammas."""
    terms, squares = e[0].size, (e**2).sum(axis=(1, 2))
    nu = (SPREAD**-2 + epsilon**-2) / rng.standard_gamma(1.0, len(epsilon))
    return np.sqrt((1 / nu + squares / 2) / rng.standard_gamma((terms + 1) / 2, len(epsilon)))
