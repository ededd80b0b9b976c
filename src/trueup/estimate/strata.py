"""Strata whose error rates are drawn together: pooled, or bins that share one logistic model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.allocation import rest_aggregates
from trueup.count.counts import Counts, split
from trueup.draws.base_rates import columns
from trueup.draws.nuts import draw_regression
from trueup.draws.pooling import draw_pooled
from trueup.draws.settings import Settings
from trueup.errors import EstimateError, OptionError
from trueup.numerics.arrays import Floats
from trueup.numerics.weights import effective_size, resample


@dataclass(frozen=True, eq=False)
class Stratum:
    """One stratum's draws: u and β (R, K) and P (R, K, K), on which its groups build.

    `M` (R, K, K) are its units by true and predicted class.
    """

    u: Floats
    P: Floats
    beta: Floats
    M: NDArray[Any]
    info: dict[str, Any]


def draw_regressed(every: list[Counts], settings: Settings) -> tuple[list[Stratum], dict[str, Any]]:
    """Draw every bin; draw r has the same intercepts and slopes in all of them."""
    if settings.method == "bayes":
        raise OptionError("Prior 'regression' needs method 'auto', 'joint' or 'full'.")
    assert settings.regression is not None
    if len(every) < len(settings.regression.centres):
        raise EstimateError(
            f"Every bin of {settings.regression.on!r} must hold units of the population; only "
            f"{len(every)} of {len(settings.regression.centres)} do.",
            hint="ask for fewer bins: trueup.prior.regression(…, bins=3).",
        )
    rests = [split(counts, settings.overlap)[0] for counts in every]
    P, beta, info = draw_regression(every, rests, settings)
    return _add_up(every, P, beta, info, settings)


def draw_together(every: list[Counts], settings: Settings) -> tuple[list[Stratum], dict[str, Any]]:
    """Draw every stratum from the posterior of all of them, partially pooled."""
    rests = [split(counts, settings.overlap)[0] for counts in every]
    pooled = draw_pooled(
        np.stack([counts.n for counts in every]),
        np.stack([rest.v_hat for rest in rests]),
        settings.prior,
        settings.draws,
        settings.rng,
        from_population=settings.from_population,
        seconds=settings.seconds,
        progress=settings.progress,
    )
    middle = np.median(pooled.kappa, axis=0).tolist()
    info = pooled.info | {
        "concentration": dict(zip(map(str, every[0].classes), middle, strict=True)),
        "base_concentration": float(np.median(pooled.kappa_0)),
    }
    return _add_up(every, pooled.P, pooled.beta, info, settings)


def _add_up(
    every: list[Counts], P: Floats, beta: Floats, info: dict[str, Any], settings: Settings
) -> tuple[list[Stratum], dict[str, Any]]:
    """Turn joint draws of P (R, J, K, K) and β (R, J, K) into counts or totals of each stratum."""
    found, log_weight = [], np.zeros(len(P))
    for j, counts in enumerate(every):
        rest, known = split(counts, settings.overlap)
        c = columns(P[:, j], beta[:, j])
        u = rest_aggregates(c, P[:, j], rest, settings)
        M = u.M if rest is counts else u.M + counts.n
        found.append((u.u + known, M))
        log_weight += u.log_weight
    ess = effective_size(log_weight)
    if ess == 0:
        raise EstimateError(
            "No draw has totals that are all at least 0 in every stratum.",
            hint="the test set and a stratum contradict each other: see `trueup check`.",
        )
    kept = np.arange(len(P))
    if np.ptp(log_weight) > 0:
        kept = resample(log_weight, len(P), settings.rng).indices
        info = info | {"ess": min(ess, info["ess"])}
    strata = [
        Stratum(u[kept], P[kept, j], beta[kept, j], M[kept], {"ess": info["ess"]})
        for j, (u, M) in enumerate(found)
    ]
    method = "joint" if settings.from_population else "full"
    return strata, info | {"method": method, "warnings": info["warnings"]}
