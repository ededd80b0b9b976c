"""The baseline method: Q̂û with the test set's own rates (Rogan–Gladen for K = 2)."""

import numpy as np

from trueup.aggregate.noise import classification_noise, noise_covariance
from trueup.count.counts import Counts
from trueup.draws.contingency import plug_in, solve_Q
from trueup.draws.settings import Settings
from trueup.errors import EstimateError
from trueup.estimate.answer import Answer

# Beyond this condition number P̂ is singular for every practical purpose: a corrected count would
# be rounding error times the population.
MOST_CONDITION = 1e12


def inverse(counts: Counts, settings: Settings) -> Answer:
    """Q̂û, with a parametric bootstrap of the test set (rows given) and of û for the interval.

    The standard error is the delta method's, Σ_g (u_g²/n_g·) Q(diag p_g − p_g p_gᵀ)Qᵀ plus the
    classification noise: the bootstrap's own has no finite expectation, since a replicate's P̂
    can be singular.
    """
    n, u_hat, draws, rng = counts.n, counts.naive, settings.draws, settings.rng
    rows = n.sum(axis=1)
    if (rows == 0).any():
        missing = [counts.classes[g] for g in np.flatnonzero(rows == 0)]
        raise EstimateError(
            "`inverse` needs at least one test unit of every true class to estimate its rates; "
            f"there is none of {missing}.",
            hint='a Bayesian method can answer from its prior: method="auto".',
        )
    P = plug_in(n)
    condition = np.linalg.cond(P)
    if not condition < MOST_CONDITION:
        raise EstimateError(
            "`inverse` needs estimated rates P̂ that can be inverted; this P̂ is singular: in the "
            "test set the predictions do not tell some true classes apart.",
            hint='a Bayesian method still has an answer: method="auto".',
        )
    u = solve_Q(P, u_hat)
    w_hat = counts.w_hat if counts.totals else counts.v_hat.astype(float)

    Q = np.linalg.inv(P.T)
    variance = noise_covariance(P, u**2 / rows)
    W = None
    if settings.noise and w_hat is not None:
        W = np.clip(Q @ w_hat, 0, w_hat.sum())
        variance = variance + noise_covariance(P, W)
    sd = np.sqrt(np.maximum(np.diag(Q @ variance @ Q.T), 0))

    replicates = np.stack(
        [rng.multinomial(n_g, p_g, draws) for n_g, p_g in zip(rows, P, strict=True)], axis=1
    )
    P_star = replicates / rows[:, None]
    u_star = np.broadcast_to(u_hat, (draws, counts.K))
    if W is not None:
        u_star = u_star + classification_noise(P[None], np.tile(W, (draws, 1)), rng)
    bootstrap = solve_Q(P_star, u_star)
    singular = ~np.isfinite(bootstrap).all(axis=1)
    tail = (1 - settings.interval) / 2
    lower, upper = np.quantile(bootstrap[~singular], [tail, 1 - tail], axis=0)
    info: dict[str, object] = {"condition": float(condition), "warnings": []}
    if singular.any():
        info["warnings"] = [
            f"{singular.mean():.1%} of the bootstrap replicates had rates that cannot be inverted "
            "and were left out: the interval is too narrow."
        ]
    return Answer(estimate=u, sd=sd, lower=lower, upper=upper, info=info)
