"""Totals when error rates depend on a number: bins whose rates share one logistic model."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueup.aggregate.allocation import rest_aggregates
from trueup.count.counts import Counts, split
from trueup.draws.base_rates import columns
from trueup.draws.nuts import draw_regression
from trueup.draws.settings import Settings
from trueup.draws.stratum import Stratum
from trueup.errors import EstimateError, OptionError
from trueup.numerics.weights import effective_size, resample

__all__ = ["draw_regressed"]


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
    parts = [split(counts, settings.overlap) for counts in every]
    rests = [rest for rest, _ in parts]
    P, beta, info = draw_regression(every, rests, settings)
    found, log_weight = [], np.zeros(len(P))
    for j, (rest, known) in enumerate(parts):
        c = columns(P[:, j], beta[:, j])
        u = rest_aggregates(c, P[:, j], rest, settings)
        M = u.M if rest is every[j] else u.M + every[j].n
        found.append((u.u + known, M))
        log_weight += u.log_weight
    ess = effective_size(log_weight)
    if ess == 0:
        raise EstimateError("No draw has totals that are all at least 0 in every bin.")
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
