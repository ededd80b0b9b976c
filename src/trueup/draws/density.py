"""The posterior of the error rates under any prior, as one log density of K or K + 1 simplices.

In the columns c_gh = Pr(s = g | ŝ = h) and ρ_h = Pr(ŝ = h), P is p_gh = c_gh ρ_h / β_g with β = cρ:
whatever c and ρ are, P is on Θ_K, so nothing has to be rejected. The change of variables is
dP = |det P| Π ρ_h^(K−1) / Π β_g^(K−1) dc for fixed ρ, and dP dβ = Π ρ_h^(K−1) / Π β_g^(K−1) dc dρ.
`bayes` knows no constraint and has the rows of P themselves. Written for NumPy and for JAX.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.count.counts import Counts
from trueup.draws.base_rates import columns
from trueup.draws.settings import Settings
from trueup.errors import EstimateError
from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.prior import Concentrations

# Where to look for a P that the prior allows: how much of the data to believe, and correct units
# to add. The less of the data, the wider the search; the more units, the nearer to no errors.
SEARCH = [(1.0, 0), (0.3, 0), (0.1, 0), (0.03, 0), (0.0, 0), (1.0, 100), (0.1, 100), (0.1, 10_000)]
TRIES = 4000


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the density is made of.

    `a` are α + n; `gamma` and `v_hat` what is known of β and ρ; `shares` is v̂/N, which is ρ
    itself under `constrained`.
    """

    method: str
    prior: Concentrations
    a: Floats
    gamma: Floats
    v_hat: Floats
    shares: Floats

    @property
    def random_rho(self) -> bool:
        """Whether ρ is one more simplex."""
        return self.method in ("joint", "full")


def make_posterior(counts: Counts, rest: Counts, settings: Settings) -> Posterior:
    """Put it together; under `joint` the test set's true classes say something about β too.

    Then v̂ is what was not audited. It may be negative where the test set is not in the population:
    with the n_gh of its column the density is still proper.
    """
    prior, n = settings.prior, counts.n
    gamma, v_hat = prior.gamma, rest.v_hat
    if settings.method == "joint":
        gamma, v_hat = gamma + n.sum(axis=1), counts.v_hat - n.sum(axis=0)
    shares = counts.v_hat / counts.N
    return Posterior(settings.method, prior, prior.alpha + n, gamma, v_hat.astype(float), shares)


def log_density(x: Any, it: Posterior, xp: Any) -> Any:
    """Compute the log density of the simplices, given their logs (…, J, K), up to a constant.

    The first K are the columns of c (or the rows of P, for `bayes`); then comes ρ, if it is random.
    """
    K = len(it.a)
    log_p, more = _log_p(x, it, xp)
    log_prior = it.prior.tilt(xp.exp(log_p), xp) if it.prior.tilt is not None else 0.0
    if it.method == "bayes":
        return ((it.a - 1) * log_p).sum((-2, -1)) + log_prior
    log_rho, log_beta = more
    found = ((it.a - 1) * log_p).sum((-2, -1)) + log_prior - (K - 1) * log_beta.sum(-1)
    if it.random_rho:
        found += ((it.v_hat + K - 1) * log_rho).sum(-1) + ((it.gamma - 1) * log_beta).sum(-1)
        return found
    return found + xp.linalg.slogdet(xp.exp(log_p))[1]


def _log_p(x: Any, it: Posterior, xp: Any) -> Any:
    K = len(it.a)
    if it.method == "bayes":
        return x, None
    log_rho = x[..., K, :] if it.random_rho else xp.log(it.shares)
    log_theta = xp.swapaxes(x[..., :K, :], -1, -2) + log_rho[..., None, :]
    top = log_theta.max(-1)
    log_beta = top + xp.log(xp.exp(log_theta - top[..., None]).sum(-1))
    return log_theta - log_beta[..., None], (log_rho, log_beta)


def back(x: Floats, it: Posterior) -> tuple[Floats, Floats | None]:
    """Return P, and c where base rates are drawn too, from simplices (R, J, K)."""
    with np.errstate(divide="ignore"):
        log_p, more = _log_p(np.log(x), it, np)
    P = np.exp(log_p)
    P /= P.sum(axis=-1, keepdims=True)
    return P, columns(P, np.exp(more[1])) if it.random_rho else None


def starts(it: Posterior, size: int, rng: Rng) -> Floats:
    """Find `size` possible simplices (size, J, K), as near to the data as the prior allows."""
    K = len(it.a)
    for share, correct in SEARCH:
        b = 0.5 * it.prior.alpha + 0.5 + share * (it.a - it.prior.alpha) + correct * np.eye(K)
        x = draw_dirichlet(b if it.method == "bayes" else b.T, TRIES, rng)
        if it.random_rho:
            rho = draw_dirichlet(np.maximum(it.v_hat, 0.0) + 1.0, TRIES, rng)
            x = np.concatenate([x, rho[:, None]], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.asarray(log_density(np.log(x), it, np), dtype=float)
        fine = np.flatnonzero(np.isfinite(height))
        if len(fine) >= 4:
            weight = np.exp(0.1 * (height[fine] - height[fine].max())) + 1e-12
            few = len(fine) < 2 * size
            chosen = rng.choice(fine, size, replace=few, p=weight / weight.sum())
            return np.asarray(x[chosen])
    raise EstimateError(
        f"Prior {it.prior.name!r} excludes the data: no P that it allows was found that could have "
        "given this test set and these predicted counts.",
        hint="are its bounds too narrow, or its rows and columns swapped?",
    )
