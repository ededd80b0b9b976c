"""One loop for every method: draw until enough draws are effective, then keep them by weight."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.draws.settings import Settings
from trueup.errors import EstimateError
from trueup.estimate.answer import Answer
from trueup.numerics.arrays import Floats
from trueup.numerics.weights import effective_size, resample

ENOUGH, MOST_POOLS = 0.8, 10
"""Drawing goes on until this share of the wanted draws is effective, or until so many times as many
were drawn."""
BY_CHAIN = ("nuts", "pair walk")
"""Samplers whose draws come chain by chain; those of the others are in random order."""


class Drawn(NamedTuple):
    """Draws of u (R, …, K), P, β and M with their weights; the paper's steps have no β: (R, 0).

    `of_rates` is the weight of the rates alone.
    """

    u: Floats
    P: Floats
    beta: Floats
    M: NDArray[Any]
    of_rates: Floats
    log_weight: Floats
    info: dict[str, Any]


def condition(
    weighted: Callable[[int], Drawn],
    known: Floats | float,
    settings: Settings,
    *,
    once: bool = False,
) -> Answer:
    """Draw until enough draws are effective, and resample the permissible ones by weight.

    `known` is what audited units hold. With `once` there are no more draws than the first ones.
    """
    u, P, beta, M, of_rates, log_weight, info = weighted(settings.draws)
    size, rng = len(u), settings.rng  # chains that were stopped have fewer
    if np.isfinite(log_weight[0]) and np.ptp(log_weight) == 0:
        # draws of NUTS still stand chain by chain
        by_chain = {"by_chain": info["chains"]} if info.get("sampler") in BY_CHAIN else {}
        return Answer(u + known, P, beta if beta.size else None, M, info=info | by_chain)
    # chains that did not converge will not do so if they are run again
    most = size if once or info.get("warnings") else MOST_POOLS * size
    while (ess := effective_size(log_weight)) < ENOUGH * size and len(u) < most:
        short = len(u) * (1.1 * ENOUGH * size / max(ess, 1.0) - 1)  # what is missing, at this rate
        more = weighted(int(np.clip(short, size / 4, most - len(u))))
        u, P, beta, M, of_rates, log_weight = (
            np.concatenate(x)
            for x in zip((u, P, beta, M, of_rates, log_weight), more[:6], strict=True)
        )
    if ess == 0:
        raise EstimateError(
            f"Of {len(u):,} draws, none has totals that are all at least 0.",
            hint="the test set and the population, or a stratum of it, contradict each other: see "
            "`trueup check`.",
        )
    kept = resample(log_weight, size, rng).indices
    warnings = list(info.get("warnings", ()))
    if ess < 0.1 * size:
        warnings.append(
            f"Only {ess:.0f} of {size:,} draws are effective: permissible totals are rare under "
            "this model. The interval is rough; is the design right?"
        )
    permissible = np.exp(np.logaddexp.reduce(log_weight) - np.logaddexp.reduce(of_rates))
    ess = min(ess, size, info.get("ess") or np.inf)
    info = info | {"permissible": float(permissible), "ess": float(ess), "warnings": warnings}
    beta_kept = beta[kept] if beta.size else None
    return Answer(u[kept] + known, P[kept], beta_kept, M[kept], info=info)
