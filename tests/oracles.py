"""Exact answers for two classes, by quadrature; independent of the package's own code."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution


class Binary:
    """The paper's constrained posterior for K = 2 as a density of (p, q) on two rectangles.

    p = p_01 ~ Beta(a_01, a_00) and q = p_10 ~ Beta(a_10, a_11), in the order of rows and columns.
    """

    def __init__(self, a, v_hat):
        self.p = beta_distribution(a[0][1], a[0][0])
        self.q = beta_distribution(a[1][0], a[1][1])
        self.v_hat = np.asarray(v_hat, float)
        self.rho = self.v_hat / self.v_hat.sum()

    @property
    def masses(self):
        """Give the probability of both rectangles, the usual one first."""
        below = self.p.cdf(self.rho[1]) * self.q.cdf(self.rho[0])
        above = self.p.sf(self.rho[1]) * self.q.sf(self.rho[0])
        return below, above

    def v0(self, p, q):
        """First corrected count, (Qv̂)_0."""
        return ((1 - q) * self.v_hat[0] - q * self.v_hat[1]) / (1 - p - q)

    def expectation(self, function):
        """E[function(v_0)] under the constrained posterior."""
        total = 0.0
        for (p_low, p_high), (q_low, q_high) in (
            ((0, self.rho[1]), (0, self.rho[0])),
            ((self.rho[1], 1), (self.rho[0], 1)),
        ):
            # integrate over the probability scale: bounded integrand, no poles at 0 and 1
            r, r_weight = _nodes(self.p.cdf(p_low), self.p.cdf(p_high))
            s, s_weight = _nodes(self.q.cdf(q_low), self.q.cdf(q_high))
            value = function(self.v0(self.p.ppf(r)[:, None], self.q.ppf(s)[None, :]))
            total += r_weight @ value @ s_weight
        return total / sum(self.masses)

    def cdf(self, x):
        """Pr(v_0 ≤ x), one integral over p: for given p, v_0 is monotone in q."""

        def inner(r, above):
            p = self.p.ppf(r)
            # v_0 = x  ⇔  q (N − x) = v̂_0 − x (1 − p)
            N = self.v_hat.sum()
            q = np.clip((self.v_hat[0] - x * (1 - p)) / (N - x), 0, 1)
            if not above:  # v_0 falls in q on the rectangle below
                return max(self.q.cdf(self.rho[0]) - self.q.cdf(min(q, self.rho[0])), 0.0)
            return max(self.q.cdf(max(q, self.rho[0])) - self.q.cdf(self.rho[0]), 0.0)

        split = self.p.cdf(self.rho[1])
        below = quad(inner, 0, split, args=(False,), limit=200)[0]
        above = quad(inner, split, 1, args=(True,), limit=200)[0]
        return (below + above) / sum(self.masses)


def _nodes(low, high, count=400):
    """Return nodes and weights of Gauss and Legendre's rule on an interval."""
    x, weight = np.polynomial.legendre.leggauss(count)
    return low + (high - low) * (x + 1) / 2, (high - low) / 2 * weight
