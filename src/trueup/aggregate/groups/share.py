"""One class's share of a group, given the proportions of the others: a step of its chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueup.numerics import special

__all__ = ["TINY", "Share", "log_fit", "log_gamma", "log_shares"]

Floats = NDArray[np.float64]

# A rate that underflowed to 0 would leave a predicted unit without any class: 0/0. The product of
# three of these is still a positive float.
TINY = 1e-100
# Least weight of each proposal, and the weight of the one with this many times the variance.
LEAST = 0.02
WIDE = 0.2
LONG = 10.0
NEWTON = 4


class Share:
    """One class's share w given the others' proportions: its density, and one to propose from.

    Both are densities of z = logit w, which reaches places that w as a float cannot. The proposal
    does not depend on the current state. It mixes four beta distributions: one with the target's
    mode and curvature; one wider; and one for each tail, α log w at 0 and (Σα − α) log(1 − w) at
    1, with all units of the other classes or all of this one. So the target over the proposal is
    bounded, and no chain stays in a tail for long.

    Parameters
    ----------
    p, q : (K, 1 or G, R) ndarray
        Predictions of the class and of the others.
    units : (K, G, 1) ndarray
        Units per predicted class.
    prior : two (G, R) ndarray
        α of the class and the sum of the others'.
    guess : (G, R) ndarray
        Where to begin the search for the mode.
    """

    def __init__(
        self, p: Floats, q: Floats, units: Floats, prior: tuple[Floats, Floats], guess: Floats
    ) -> None:
        self.p, self.q, self.units, self.prior = p, q, units, prior
        alpha, other = prior
        N = units.sum(axis=0)
        z, a, b = self._fit(guess, N)
        self.a = [a, np.maximum(a / LONG, np.minimum(alpha, 1)), alpha, alpha + N]
        self.b = [b, np.maximum(b / LONG, np.minimum(other, 1)), other + N, other]
        norm = [_log_beta(a, b) for a, b in zip(self.a, self.b, strict=True)]
        # The target is a sum over where the units belong, so the tails' are parts of it. The first
        # stands for what they leave of the target at its mode.
        log_w, log_v = log_shares(z)
        at_mode = self._log_target(log_w, log_v)
        zero, one = log_fit(q, units), log_fit(p, units)
        left = np.exp(zero + alpha * log_w + (other + N) * log_v - at_mode)
        left = 1 - left - np.exp(one + (alpha + N) * log_w + other * log_v - at_mode)
        laplace = at_mode - a * log_w - b * log_v + norm[0]
        mass = [laplace + np.log(np.maximum(left, TINY)), zero + norm[2], one + norm[3]]
        top = np.maximum(np.maximum(mass[0], mass[1]), mass[2])
        mass = [np.exp(m - top) for m in mass]
        scale = (1 - WIDE - 3 * LEAST) / (mass[0] + mass[1] + mass[2])
        fit, zero, one = (LEAST + scale * m for m in mass)
        self.steps = [fit, fit + WIDE, fit + WIDE + zero]  # cumulative weights
        self.height = [np.log(x) - y for x, y in zip((fit, WIDE, zero, one), norm, strict=True)]

    def move(self, z: Floats, rng: np.random.Generator, times: int = 1) -> Floats:
        """Propose a new z and accept it by the rule of Metropolis and Hastings, several times."""
        weight = self._log_weight(z)
        for _ in range(times):
            new = self.draw(rng)
            there = self._log_weight(new)
            accept = -rng.standard_exponential(z.shape) < there - weight
            z, weight = np.where(accept, new, z), np.where(accept, there, weight)
        return z

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw z from the proposal."""
        pick = rng.random(self.a[0].shape)
        a, b = self.a[3], self.b[3]
        for i in (2, 1, 0):
            here = pick < self.steps[i]
            a, b = np.where(here, self.a[i], a), np.where(here, self.b[i], b)
        return log_gamma(a, rng) - log_gamma(b, rng)

    def _log_weight(self, z: Floats) -> Floats:
        """Log of target over proposal, but for a constant."""
        log_w, log_v = log_shares(z)
        part = [
            c + a * log_w + b * log_v for a, b, c in zip(self.a, self.b, self.height, strict=True)
        ]
        top = np.maximum(np.maximum(part[0], part[1]), np.maximum(part[2], part[3]))
        total = np.exp(part[0] - top)
        for x in part[1:]:
            total += np.exp(x - top)
        return np.asarray(self._log_target(log_w, log_v) - top - np.log(total))

    def _log_target(self, log_w: Floats, log_v: Floats) -> Floats:
        alpha, other = self.prior
        pi = np.exp(log_w) * self.p + np.exp(log_v) * self.q
        return np.asarray(alpha * log_w + other * log_v + log_fit(pi, self.units))

    def _fit(self, guess: Floats, N: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the mode in z, and (a, b) of the beta distribution with it and its curvature.

        Σα log β + Σ v̂ log π is concave in w, so there is one mode, and the slope's sign says on
        which side of it one is: take the Newton step if it stays in the bracket; otherwise bisect.
        """
        alpha, other = self.prior
        total = alpha + other + N
        apart, both = self.p - self.q, self.p * self.q
        low, high = np.log(alpha / (other + N)), np.log((alpha + N) / other)
        z = np.clip(np.log(guess / np.maximum(1 - guess, TINY)), low, high)
        for step in range(NEWTON + 1):
            w, v = 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(z))
            pull, unsure = np.zeros(z.shape), np.zeros(z.shape)
            for h, n in enumerate(self.units):
                inverse = 1 / (w * self.p[h] + v * self.q[h])
                each = n * inverse
                pull += each * apart[h]
                unsure += each * inverse * both[h]
            if step == NEWTON:
                break
            slope = alpha * v - other * w + w * v * pull
            rises = slope > 0
            low, high = np.where(rises, z, low), np.where(rises, high, z)
            new = z + slope / (w * v * np.maximum(total - unsure, 0.05 * total))
            z = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        s = np.maximum(total - unsure, np.minimum(alpha + other, 0.01 * total))
        return z, np.maximum(s * w, np.minimum(alpha, 1)), np.maximum(s * v, np.minimum(other, 1))


def log_shares(z: Floats) -> tuple[Floats, Floats]:
    """Log w and log(1 − w) for z = logit w."""
    near = np.log1p(np.exp(-np.abs(z)))
    return np.minimum(z, 0.0) - near, np.minimum(-z, 0.0) - near


def log_gamma(a: Floats, rng: np.random.Generator) -> Floats:
    """Draw the log of gamma variables: those of a small a are below the least float."""
    small = a < 1
    x = np.log(rng.standard_gamma(a + small))
    less = a[small]
    x[small] -= rng.standard_exponential(less.shape) / less  # Γ(a) is Γ(a + 1) U^(1/a)
    return np.asarray(x)


def _log_beta(a: Floats, b: Floats) -> Floats:
    return np.asarray(special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b))


def log_fit(pi: Floats, units: Floats) -> Floats:
    """Σ_h v̂_h log π_h, classes first."""
    return np.asarray((np.log(pi) * units).sum(axis=0))
