"""Strata whose error rates are drawn together: pooled, or bins that share one logistic model."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.allocation import rest_aggregates
from trueup.count.counts import Counts, split
from trueup.draws.base_rates import columns
from trueup.draws.nuts import draw_regression
from trueup.draws.pooling import draw_pooled
from trueup.draws.settings import Settings
from trueup.errors import EstimateError, OptionError
from trueup.estimate.condition import Drawn, condition
from trueup.numerics.arrays import Floats


class Stratum(NamedTuple):
    """One stratum's draws: u and β (R, K) and P (R, K, K), on which its groups build.

    `M` (R, K, K) are its units by true and predicted class; `cells` is P over cells of the value.
    """

    u: Floats
    P: Floats
    beta: Floats
    M: NDArray[Any]
    info: dict[str, Any]
    cells: Floats | None = None


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
    splits = [split(counts, settings.overlap) for counts in every]

    def weighted(size: int) -> Drawn:
        found = [
            rest_aggregates(columns(P[:, j], beta[:, j]), P[:, j], rest, settings)
            for j, (rest, _) in enumerate(splits)
        ]
        M = [x.M if rest is c else x.M + c.n
             for x, c, (rest, _) in zip(found, every, splits, strict=True)]  # fmt: skip
        u, log_weight = np.stack([x.u for x in found], axis=1), sum(x.log_weight for x in found)
        even = np.zeros(len(P))
        return Drawn(u, P, beta, np.stack(M, axis=1), even, even + log_weight, info)

    known = np.stack([known for _, known in splits])
    whole = condition(weighted, known, settings, once=True)
    ess, arrays = {"ess": whole.info["ess"]}, (whole.draws, whole.P, whole.beta, whole.M)
    u, kept, rates, M = (np.asarray(x) for x in arrays)
    strata = [Stratum(u[:, j], kept[:, j], rates[:, j], M[:, j], ess) for j in range(len(every))]
    return strata, whole.info | {"method": "joint" if settings.from_population else "full"}
