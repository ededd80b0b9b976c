"""Simulation-based calibration: the truth's rank among the draws of its own posterior is uniform.

The truth is drawn from the prior and the data from the truth, each exactly as the method's model
says (Talts et al., 2018, arXiv:1804.06788). Four posteriors have such a model:

* ``bayes``: P from its prior, a test set within true classes. What is ranked is the first class of
  Qx for a fixed x, and p₀₀: functions of P alone, since `bayes` does not learn from v̂.
* ``constrained``: the same with P from its prior on Θ_K(v̂), for a fixed v̂.
* ``joint``: base rates and P from their prior, a population of units, a random sample of it (or one
  within predicted classes). What is ranked is the number of units of a class.
* ``full``: the same, with a test set from elsewhere whose true classes are fixed.

Counts have ties, which are broken at random: then ranks are exactly uniform.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from trueup.count.counts import make_counts
from trueup.draws.contingency import solve_Q
from trueup.draws.settings import make_settings
from trueup.estimate.methods import estimate
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.prior import Dirichlet

DRAWS = 99
"""Draws that the truth is ranked among, so that there are 100 ranks, which the bins divide. The
product draws one more, the least it accepts."""
TRIES = 100_000
"""Proposals for one truth inside Θ_K."""


@dataclass(frozen=True)
class RankCase:
    """A posterior to calibrate: method, design, classes, how often, and into how many bins."""

    method: str
    design: str
    K: int
    gamma_is_row_sum: bool
    replications: int
    bins: int = 20

    @property
    def by_chain(self) -> bool:
        """Whether each replication may take seconds."""
        return not self.gamma_is_row_sum

    def __str__(self) -> str:
        note = "" if self.gamma_is_row_sum else " (free γ)"
        return f"{self.method} {self.design} K={self.K}{note}"


def rank_cases(scale: float = 1.0) -> list[RankCase]:
    """List every posterior whose generative model is exact, for 2, 3 and 5 classes."""
    cases = []
    for K in (2, 3, 5):
        for method, design, tied, R in (
            ("bayes", "by_class", True, 2000),
            ("constrained", "by_class", True, 1000),
            ("joint", "random", True, 4000),
            ("joint", "by_prediction", True, 4000),
            ("joint", "random", False, {2: 1000, 3: 400, 5: 60}[K]),  # weights, then chains
            ("full", "shifted", False, {2: 200, 3: 120, 5: 60}[K]),  # chains
        ):
            often = max(50, round(scale * R))
            bins = 20 if often >= 400 else 10 if often >= 100 else 5
            cases.append(RankCase(method, design, K, tied, often, bins))
    return cases


def ranks(case: RankCase, seed: int, answer: Callable[..., Estimate] = estimate) -> Integers:
    """Return ranks (replications, quantities) of the truth among the draws, 0 to DRAWS."""
    rng = np.random.default_rng(seed)
    K = case.K
    # unequal on purpose: a transposed matrix or γ in place of α shows
    alpha = 0.5 + 2.0 * np.eye(K) + 0.3 * np.arange(K)[None, :] / K
    gamma = alpha.sum(axis=1) if case.gamma_is_row_sum else np.linspace(1.0, 3.0, K)
    by_rates = case.method in ("bayes", "constrained")

    def estimated(n: Integers, v_hat: Integers) -> Estimate:
        settings = make_settings(
            K, design=case.design, method=case.method, prior=Dirichlet(alpha, gamma),
            noise=not by_rates, overlap=False if by_rates else None, draws=DRAWS + 1,
            seed=int(rng.integers(2**63)),
        )  # fmt: skip
        return answer(make_counts(n, v_hat), settings)

    found = []
    for _ in range(case.replications):
        P = _rows(alpha, rng)
        if by_rates:
            truth, draws = _of_rates(case, P, alpha, estimated, rng)
        else:
            truth, draws = _of_units(case, P, rng.dirichlet(gamma), estimated, rng)
        draws = draws[:DRAWS]
        below = (draws < truth).sum(axis=0)
        ties = (draws == truth).sum(axis=0)
        found.append(below + rng.integers(0, ties + 1))
    return np.array(found)


def uniformity(found: Integers, bins: int) -> Floats:
    """Return the p-value of a chi-square test of uniformity for each column of ranks."""
    p = []
    for column in found.T:
        seen = np.bincount(column * bins // (DRAWS + 1), minlength=bins)
        expected = len(column) / bins
        p.append(chdtrc(bins - 1, ((seen - expected) ** 2).sum() / expected))
    return np.array(p)


def _rows(alpha: Floats, rng: Rng) -> Floats:
    return np.array([rng.dirichlet(row) for row in alpha])


def _of_rates(
    case: RankCase, P: Floats, alpha: Floats, estimated: Any, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw a test set within true classes, and rank functions of P: p₀₀ and (Qv̂)₀."""
    K = case.K
    v_hat = np.arange(40, 40 + 10 * K, 10)
    if case.method == "constrained":
        for _ in range(TRIES):
            if (solve_Q(P[None], v_hat.astype(float)) >= 0).all():
                break
            P = _rows(alpha, rng)
    n = np.array([rng.multinomial(3 + 2 * g, P[g]) for g in range(K)])
    est = estimated(n, v_hat)
    truth = np.array([P[0, 0], P[-1, 0], solve_Q(P[None], v_hat.astype(float))[0, 0]])
    return truth, np.column_stack([est.P[:, 0, 0], est.P[:, -1, 0], est.draws[:, 0]])


def _of_units(
    case: RankCase, P: Floats, beta: Floats, estimated: Any, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw a population and its test set, and rank the units of the first and last class."""
    K, N = case.K, 60 + 20 * case.K
    cells = rng.multinomial(N, (beta[:, None] * P).ravel()).reshape(K, K)
    v, v_hat = cells.sum(axis=1), cells.sum(axis=0)
    if case.design == "random":
        n = rng.multivariate_hypergeometric(cells.ravel(), 15).reshape(K, K)
    elif case.design == "by_prediction":
        n = np.stack(
            [rng.multivariate_hypergeometric(cells[:, h], min(5, v_hat[h])) for h in range(K)], 1
        )
    else:
        n = np.array([rng.multinomial(3 + 2 * g, P[g]) for g in range(K)])
    est = estimated(n, v_hat)
    return v[[0, -1]].astype(float), est.draws[:, [0, -1]]
