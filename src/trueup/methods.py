"""Each method by name, from the bag of counts to an `Estimate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup import __version__, classical
from trueup.aggregates import (
    Weighted,
    columns,
    draw_beta,
    paper_aggregates,
    rest_aggregates,
)
from trueup.cautions import cautions
from trueup.counts import Counts, rest_of
from trueup.errors import EstimateError
from trueup.estimate import Answer, Estimate, median_error, summarise
from trueup.inverse import inverse
from trueup.posterior import draw_dirichlet, posterior
from trueup.samplers import draw_constrained, draw_full
from trueup.settings import Settings
from trueup.simplex_normal import effective_size, resample

__all__ = ["METHODS", "estimate", "finish", "split"]

Floats = NDArray[np.float64]

# Conditioning keeps drawing until this share of the wanted draws is effective ...
ENOUGH = 0.8
# ... or this many times as many were drawn.
MOST_POOLS = 10


def estimate(
    counts: Counts, settings: Settings, native: Callable[[dict[str, list[Any]]], Any]
) -> Estimate:
    """Run the chosen method and put figures, draws and what made them together."""
    return finish(METHODS[settings.method](counts, settings), counts, settings, native)


def finish(
    answer: Answer,
    counts: Counts,
    settings: Settings,
    native: Callable[[dict[str, list[Any]]], Any],
) -> Estimate:
    """Sum up what a method gave, with what made it."""
    figures = summarise(answer, counts.naive, settings.interval)
    for name, x in figures.items():
        if x is not None and not np.isfinite(x).all():
            raise EstimateError(
                f"The {name} of {settings.method!r} is not a finite number for these data.",
                hint='use method="auto", whose draws are always permissible.',
            )
    info: dict[str, Any] = {
        "method": settings.method,
        "design": settings.design,
        "prior": settings.prior.name,
        "seed": settings.seed,
        "draws": 0 if answer.draws is None else len(answer.draws),
        "interval": settings.interval,
        "noise": settings.noise,
        "overlap": settings.overlap,
        "signed": counts.signed,
        "acceptance": None,
        "ess": None,
        "rhat": None,
        "version": __version__,
    }
    warnings = [*cautions(counts, settings), *answer.info.get("warnings", ())]
    info |= answer.info | {"warnings": warnings}
    if answer.draws is not None:
        info["ess"] = float(info["ess"] or len(answer.draws))  # independent unless it says so
        errors = median_error(answer.draws, info["ess"])
        info["monte_carlo_error"] = [float(x) for x in errors]
    return Estimate(counts.classes, counts, answer.draws, answer.P, info, figures, native)


def _naive(counts: Counts, settings: Settings) -> Answer:
    return Answer(estimate=counts.naive)


def _inverse(counts: Counts, settings: Settings) -> Answer:
    return inverse(
        counts,
        noise=settings.noise,
        draws=settings.draws,
        interval=settings.interval,
        rng=settings.rng,
    )


def _bayes(counts: Counts, settings: Settings) -> Answer:
    """The Dirichlet posterior of P as it is (Theorem 1)."""
    a = posterior(settings.prior, counts.n).alpha

    def draw(size: int) -> tuple[Floats, dict[str, Any]]:
        P = draw_dirichlet(a, size, settings.rng)
        for _ in range(100):  # rates near 0 and 1 can be singular in floating point only
            singular = ~np.isfinite(paper_aggregates(P, counts.naive)).all(axis=1)
            if not singular.any():
                return P, {}
            P[singular] = draw_dirichlet(a, int(singular.sum()), settings.rng)
        raise EstimateError(
            "The posterior of P must leave P invertible; with this prior practically no draw is.",
            hint='use method="constrained", or a prior that is less extreme.',
        )

    return _from_P(draw, counts, settings)


def _constrained(counts: Counts, settings: Settings) -> Answer:
    """The Dirichlet posterior of P on Θ_K(v̂): the paper's method."""
    never = [counts.classes[h] for h in np.flatnonzero(counts.v_hat == 0)]
    if never:
        raise EstimateError(
            "`constrained` needs units predicted as every class, or Θ_K(v̂) has no volume; no unit "
            f"of the population was predicted {never}.",
            hint='method="full" takes v̂ as random and has an answer.',
        )
    a = posterior(settings.prior, counts.n).alpha

    def draw(size: int) -> tuple[Floats, dict[str, Any]]:
        draws = draw_constrained(
            a, counts.v_hat.astype(float), size, settings.rng, progress=settings.progress
        )
        return draws.P, draws.info

    return _from_P(draw, counts, settings)


def _from_P(
    draw: Callable[[int], tuple[Floats, dict[str, Any]]], counts: Counts, settings: Settings
) -> Answer:
    """Steps 2 and 3 of the paper; with noise, permissible and with audited units exact."""
    if not settings.noise:
        P, info = draw(settings.draws)
        return Answer(paper_aggregates(P, counts.naive), P, info=info)
    rest, known = split(counts, settings)

    def weighted(size: int) -> tuple[Floats, Weighted, dict[str, Any]]:
        P, info = draw(size)
        if rest.N == 0:
            return P, Weighted(np.zeros((size, counts.K)), np.zeros(size)), info
        beta, log_weight = draw_beta(P, rest.v_hat, settings.rng)
        u = rest_aggregates(columns(P, beta), P, rest, True, settings.rng)
        return P, Weighted(u.u, u.log_weight + log_weight), info

    return _condition(weighted, known, counts, settings)


def _joint(counts: Counts, settings: Settings) -> Answer:
    """The exact posterior when the test set was drawn from the population: Dirichlet columns."""
    prior, rng = settings.prior, settings.rng
    rest, known = split(counts, settings)
    exponent = prior.gamma - prior.alpha.sum(axis=1)  # 0 for Jeffreys and Perks
    a = (prior.alpha + counts.n).T
    ahead = prior.alpha.sum(axis=0) + counts.v_hat

    def weighted(size: int) -> tuple[Floats, Weighted, dict[str, Any]]:
        c = np.swapaxes(draw_dirichlet(a, size, rng), 1, 2)
        rho = draw_dirichlet(ahead, size, rng)
        theta = c * rho[:, None, :]
        beta = np.einsum("rgh->rg", theta)
        P = theta / beta[:, :, None]
        log_weight = np.log(beta) @ exponent if exponent.any() else np.zeros(size)
        u = rest_aggregates(c, P, rest, settings.noise, rng)
        return P, Weighted(u.u, u.log_weight + log_weight), {}

    return _condition(weighted, known, counts, settings)


def _full(counts: Counts, settings: Settings) -> Answer:
    """The multinomial likelihood of v̂ as well as that of the test set's rows."""
    rest, known = split(counts, settings)
    a = posterior(settings.prior, counts.n).alpha

    def weighted(size: int) -> tuple[Floats, Weighted, dict[str, Any]]:
        draws = draw_full(
            a,
            settings.prior.gamma,
            rest.v_hat.astype(float),
            size,
            settings.rng,
            progress=settings.progress,
        )
        c = columns(draws.P, draws.beta)
        u = rest_aggregates(c, draws.P, rest, settings.noise, settings.rng)
        return draws.P, u, draws.info

    return _condition(weighted, known, counts, settings)


def split(counts: Counts, settings: Settings) -> tuple[Counts, Floats | float]:
    """The units to correct, and what is known exactly of the others: the audited ones."""
    if not settings.overlap or (counts.totals and counts.t is None):
        return counts, 0.0
    known = counts.n if counts.t is None else counts.t
    return rest_of(counts), known.sum(axis=1)


def _condition(
    weighted: Callable[[int], tuple[Floats, Weighted, dict[str, Any]]],
    known: Floats | float,
    counts: Counts,
    settings: Settings,
) -> Answer:
    """Draw until enough draws are effective, and resample the permissible ones by weight."""
    size, rng = settings.draws, settings.rng
    P, (u, log_weight), info = weighted(size)
    if np.ptp(log_weight) == 0 and np.isfinite(log_weight[0]):
        return Answer(u + known, P, info=info)
    while (ess := effective_size(log_weight)) < ENOUGH * size and len(u) < MOST_POOLS * size:
        short = len(u) * (1.1 * ENOUGH * size / max(ess, 1.0) - 1)  # what is missing, at this rate
        more_P, more, _ = weighted(int(np.clip(short, size / 4, MOST_POOLS * size - len(u))))
        P, u = np.concatenate([P, more_P]), np.concatenate([u, more.u])
        log_weight = np.concatenate([log_weight, more.log_weight])
    if ess == 0:
        raise EstimateError(
            f"Of {len(u):,} draws, none has totals that are all at least 0.",
            hint="the test set and the population contradict each other: see `trueup check`.",
        )
    kept = resample(log_weight, size, rng).indices
    warnings = list(info.get("warnings", ()))
    if ess < 0.1 * size:
        warnings.append(
            f"Only {ess:.0f} of {size:,} draws are effective: permissible totals are rare under "
            "this model. The interval is rough; is the design right?"
        )
    permissible = float(np.exp(np.logaddexp.reduce(log_weight) - np.log(len(log_weight))))
    ess = min(ess, size, info.get("ess") or np.inf)
    info = info | {"permissible": permissible, "ess": float(ess), "warnings": warnings}
    return Answer(u[kept] + known, P[kept], info=info)


def _classical(
    function: Callable[..., classical.Point], *names: str, **options: str
) -> Callable[[Counts, Settings], Answer]:
    """Make a method of a classical estimator: the fields of `Counts` and the settings it takes."""

    def method(counts: Counts, settings: Settings) -> Answer:
        point = function(
            *(getattr(counts, name) for name in names),
            design=settings.design,
            interval=settings.interval,
            classes=counts.classes,
            **{option: getattr(settings, name) for option, name in options.items()},
        )
        info: dict[str, Any] = {"warnings": list(point.warnings)}
        if point.tuning is not None:
            info["tuning"] = [float(x) for x in point.tuning]
        figures = {name: getattr(point, name) for name in ("estimate", "sd", "lower", "upper")}
        return Answer(**figures, info=info)

    return method


METHODS: dict[str, Callable[[Counts, Settings], Answer]] = {
    "naive": _naive,
    "inverse": _inverse,
    "bayes": _bayes,
    "constrained": _constrained,
    "joint": _joint,
    "full": _full,
    "calibrated": _classical(classical.calibrated, "n", "v_hat", "u_hat", "w_hat"),
    "difference": _classical(classical.difference, "n", "v_hat", "u_hat", "w_hat", "t", "t2"),
    "test_set": _classical(classical.test_set, "n", "v_hat", "u_hat", "t", "t2", overlap="overlap"),
}
