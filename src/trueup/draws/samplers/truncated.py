"""Beta draws cut off at a point, however far in the tail, and the mass that is left.

Everything is written for X ~ Beta(a, b) given X ≤ t; X ≥ t is the same for 1 − X. With
X = t e^(−y) the log density of y ≥ 0 is g(y) = −ay + (b−1) log(1 − t e^(−y)) + const, concave for
b ≥ 1. Three ways to draw, each with an acceptance that is known beforehand:

- `beta`: plain Beta draws, kept when ≤ t; acceptance F(t);
- `tangent`: an exponential above g that touches it at the cut y = 0, with rate
  λ = a − max(b−1, 0) t/(1−t): best in the tail;
- `power`: the exponential with rate a that touches g at y = ∞ (X = t U^(1/a)): best for small t.

Where all three waste too much (b far below 1), the incomplete beta function is inverted instead.
"""

import numpy as np

from trueup.numerics import special
from trueup.numerics.arrays import Floats, Rng

WORTH_INVERTING = 0.05
"""An inversion costs about as much as twenty proposals."""


def log_mass_below(a: float, b: float, t: float) -> float:
    """Compute log Pr(X ≤ t) for X ~ Beta(a, b), also where the probability underflows."""
    mass = float(special.betainc(a, b, t))
    if mass > 1e-290:
        return float(np.log(mass))
    # I_t(a, b) = t^a (1−t)^b / (a B(a, b)) · Σ_i Π_{j≤i} t (a+b+j−1)/(a+j): geometric in the tail.
    term, total, i = 1.0, 1.0, 0
    while term > 1e-17 * total and i < 100_000:
        term *= t * (a + b + i) / (a + 1.0 + i)
        total += term
        i += 1
    return float(
        a * np.log(t) + b * np.log1p(-t) - np.log(a) - special.betaln(a, b) + np.log(total)
    )


def acceptances(a: float, b: float, t: float) -> dict[str, float]:
    """Acceptance of each envelope; 0 where it does not apply."""
    log_F = log_mass_below(a, b, t)
    # log of ∫ e^(−ay) (1 − t e^(−y))^(b−1) dy, the mass under g
    log_area = log_F + special.betaln(a, b) - a * np.log(t)
    rate = tangent_rate(a, b, t)
    return {
        "beta": float(np.exp(log_F)),
        "tangent": rate * float(np.exp(log_area - (b - 1.0) * np.log1p(-t))) if rate > 0 else 0.0,
        "power": a * float(np.exp(log_area)) if b >= 1.0 else 0.0,
    }


def tangent_rate(a: float, b: float, t: float) -> float:
    """Compute λ = −g'(0) for b ≥ 1; for b < 1 the bound e^(−ay) (1−t)^(b−1) has rate a."""
    return a - max(b - 1.0, 0.0) * t / (1.0 - t)


def below(a: float, b: float, t: float, size: int, rng: Rng) -> tuple[Floats, Floats]:
    """Draw X ~ Beta(a, b) given X ≤ t; returned are X and t − X, both to full precision."""
    rates = acceptances(a, b, t)
    kind = max(rates, key=lambda k: rates[k])
    if rates[kind] < WORTH_INVERTING:
        mass = special.betainc(a, b, t)
        x = np.minimum(special.betaincinv(a, b, mass * (1.0 - rng.random(size))), t)
        return x, t - x
    x, gap = np.empty(size), np.empty(size)
    done = 0
    while done < size:
        wanted = size - done
        batch = int(wanted / rates[kind] * 1.02 + 4.0 * np.sqrt(wanted) + 8)
        new, new_gap = _propose(kind, a, b, t, batch, rng)
        new, new_gap = new[:wanted], new_gap[:wanted]
        x[done : done + len(new)], gap[done : done + len(new)] = new, new_gap
        done += len(new)
    return x, gap


def _propose(kind: str, a: float, b: float, t: float, size: int, rng: Rng) -> tuple[Floats, Floats]:
    """Accepted draws out of `size` proposals from one envelope."""
    if kind == "beta":
        x = rng.beta(a, b, size)
        x = x[x <= t]
        return x, t - x
    rate = a if kind == "power" else tangent_rate(a, b, t)
    y = rng.standard_exponential(size)
    y /= rate
    x = np.exp(-y)
    x *= t
    # log of g over its envelope; log(1 − x) is near (b−1) log(1−t) at the cut
    log_ratio = np.log1p(-x)
    if kind == "tangent":
        log_ratio -= np.log1p(-t)
    log_ratio *= b - 1.0
    if rate != a:
        log_ratio -= (a - rate) * y
    keep = -rng.standard_exponential(size) <= log_ratio
    return x[keep], -t * np.expm1(-y[keep])
