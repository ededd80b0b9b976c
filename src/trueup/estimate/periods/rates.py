"""The error rates of every period, one P or rates that drift, and the steps of the base rates.

One audit, or several that agree: one P for all periods, P_g ~ Dir(α_g + n_g) before the predictions
are seen. Audits that differ: that is P at the first of them, and the log odds of its rows walk from
audit to audit,

    log P_a,gh = log P_a−1,gh + δ √d_a z_a,gh + constant,   z standard normal,

d_a the distance of two audits over the usual one and δ learned: 0 is no drift. Between audits log
odds are interpolated; before the first and after the last they walk on at the same speed. A draw is
a vector: the rows' log odds at the first audit, z of the later ones, log δ, log σ, and the normal
numbers by which rates walk on beyond the audits.
"""

import math
from dataclasses import dataclass

import numpy as np

from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.base_rate_walk import Path, find_path
from trueup.numerics.dirichlet import draw_dirichlet

USUAL = 0.2
"""Scale of the half-Cauchy prior of σ, the step of log odds from one period to the next."""
DELTA, DRIFT = (0.005, 3.0), 0.3
"""Range of δ and scale of its half-Cauchy prior: odds that change by a third from audit to audit.
Audits of 100 units cannot tell such a drift from none, so a prior at 0 would deny it."""


@dataclass(frozen=True, eq=False)
class Model:
    """What is known of T periods, and of the A audited ones among them."""

    n: Integers  # (A, K, K) test units of each audit, rows true
    audits: Floats  # (A,) when they were, in periods
    at: Floats  # (T,) when the periods are
    alpha: Floats  # (K, K) the prior of P
    v: Floats  # (T, K) units per predicted class whose true class is not known
    a: Floats  # (T, K) units per true class

    @property
    def K(self) -> int:
        """The number of classes."""
        return int(self.n.shape[-1])

    @property
    def moving(self) -> int:
        """How many numbers of a draw are learned: rows, later audits, δ if there are any, and σ."""
        K, later = self.K, len(self.n) - 1
        return K * (K - 1) + later * K * K + int(later > 0) + 1

    def draw_base(self, size: int, rng: Rng) -> Floats:
        """Draw (R, d): rows given all audits without drift, the rest from simple priors."""
        K, later = self.K, len(self.n) - 1
        rows = draw_dirichlet(self.alpha + self.n.sum(axis=0), size, rng)
        rows = np.maximum(rows, 1e-12)
        parts = [(np.log(rows[..., :-1]) - np.log(rows[..., -1:])).reshape(size, -1)]
        if later:
            parts.append(rng.standard_normal((size, later * K * K)))
            parts.append(rng.uniform(math.log(DELTA[0]), math.log(DELTA[1]), (size, 1)))
        parts.append(np.log(USUAL) + rng.standard_normal((size, 1)) - 1.0)
        if later:
            parts.append(rng.standard_normal((size, 2 * K * K)))
        return np.concatenate(parts, axis=1)

    def log_base(self, x: Floats) -> Floats:
        """Log density of `draw_base` in the numbers that are learned, up to a constant."""
        rows = self._first(x)
        fit = ((self.alpha + self.n.sum(axis=0)) * np.log(rows)).sum(axis=(1, 2))
        return np.asarray(
            fit + self._later(x) - 0.5 * (self._log_sigma(x) - np.log(USUAL) + 1) ** 2
        )

    def log_target(self, x: Floats) -> Floats:
        """Log posterior density, up to a constant; base rates are integrated out."""
        rows, log_sigma = self._audited(x), self._log_sigma(x)
        fit = (self.n * np.log(rows)).sum(axis=(1, 2, 3))
        fit += (self.alpha * np.log(rows[:, 0])).sum(axis=(1, 2)) + self._later(x)
        fit += _log_half_cauchy(log_sigma, USUAL)
        if len(self.n) > 1:
            fit += _log_half_cauchy(self._log_delta(x), DRIFT)
        return np.asarray(fit + self.path(x).log_likelihood)

    def path(self, x: Floats) -> Path:
        """Return the paths of the base rates."""
        sigma = np.exp(self._log_sigma(x))
        return find_path(self.rates(x), self.v, self.a, sigma, np.diff(self.at))

    def rates(self, x: Floats) -> Floats:
        """The error rates: one matrix (R, K, K), or one for every period (R, T, K, K)."""
        rows = self._audited(x)
        if len(self.n) == 1:
            return rows[:, 0]
        K, apart = self.K, float(np.diff(self.audits).mean())
        z = x[:, self.moving :].reshape(len(x), 2, K, K)
        delta = np.exp(self._log_delta(x))[:, None, None]
        found, logs = np.empty((len(x), len(self.at), K, K)), np.log(rows)
        for t, now in enumerate(self.at):
            j = int(np.clip(np.searchsorted(self.audits, now, side="right") - 1, 0, None))
            beyond = (self.audits[0] - now, now - self.audits[-1])
            if max(beyond) >= 0:
                side = int(beyond[1] >= 0)
                step = np.sqrt(beyond[side] / apart) * delta * z[:, side]
                found[:, t] = logs[:, -side] + step
            else:
                share = (now - self.audits[j]) / (self.audits[j + 1] - self.audits[j])
                found[:, t] = (1 - share) * logs[:, j] + share * logs[:, j + 1]
        return _normed(found)

    def summary(self, x: Floats) -> tuple[float, float | None]:
        """The median of σ, and of δ if rates may drift."""
        delta = float(np.exp(np.median(self._log_delta(x)))) if len(self.n) > 1 else None
        return float(np.exp(np.median(self._log_sigma(x)))), delta

    def _first(self, x: Floats) -> Floats:
        """The rates at the first audit, (R, K, K)."""
        logs = x[:, : self.K * (self.K - 1)].reshape(len(x), self.K, self.K - 1)
        return _normed(np.concatenate([logs, np.zeros((*logs.shape[:-1], 1))], axis=-1))

    def _audited(self, x: Floats) -> Floats:
        """The rates at the audits, (R, A, K, K)."""
        found, K = [self._first(x)], self.K
        if len(self.n) > 1:
            start = K * (K - 1)
            z = x[:, start : self.moving - 2].reshape(len(x), -1, K, K)
            distance = np.diff(self.audits)
            delta = np.exp(self._log_delta(x))[:, None, None]
            for a, d in enumerate(np.sqrt(distance / distance.mean())):
                found.append(_normed(np.log(found[-1]) + d * delta * z[:, a]))
        return np.stack(found, axis=1)

    def _later(self, x: Floats) -> Floats:
        """Log prior of the later audits' z and of δ, minus infinity outside its range."""
        if len(self.n) == 1:
            return np.zeros(len(x))
        z, log_delta = x[:, self.K * (self.K - 1) : self.moving - 2], self._log_delta(x)
        inside = (log_delta > np.log(DELTA[0])) & (log_delta < np.log(DELTA[1]))
        return np.where(inside, -0.5 * (z**2).sum(axis=1), -np.inf)

    def _log_sigma(self, x: Floats) -> Floats:
        return np.asarray(x[:, self.moving - 1])

    def _log_delta(self, x: Floats) -> Floats:
        return np.asarray(x[:, self.moving - 2])


def _log_half_cauchy(log_x: Floats, scale: float) -> Floats:
    """Log density of log x, up to a constant, where x is half-Cauchy."""
    return np.asarray(log_x - np.log1p(np.exp(2 * (log_x - math.log(scale)))))


def _normed(logs: Floats) -> Floats:
    """Rows that sum to 1, from their logs up to a constant."""
    rows = np.exp(logs - logs.max(axis=-1, keepdims=True)) + 1e-12
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))
