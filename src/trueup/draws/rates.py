"""Draws of the error rates P under each method, whatever the prior.

Conjugate priors are drawn from exactly or by trueup's own chains. With another prior, those draws
are weighted by its tilt; where a few weights would decide the answer, NUTS takes over, or chains
of our own for priors with walls.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueup.count.counts import Counts
from trueup.draws.base_rates import columns, exact_beta, weigh_beta
from trueup.draws.contingency import in_theta, solve_Q
from trueup.draws.density import make_posterior
from trueup.draws.nuts import draw_nuts
from trueup.draws.pair_walk import draw_pairs
from trueup.draws.samplers import Draws, draw_constrained, draw_full
from trueup.draws.samplers.contradiction import RARE as RARELY
from trueup.draws.settings import Settings
from trueup.draws.theorem1 import posterior
from trueup.errors import EstimateError, OptionError
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.numerics.blocks import in_blocks
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.numerics.weights import effective_size, pareto_k

# Weights are enough while this share of the draws is effective and the Pareto shape is below 0.7.
ENOUGH = 0.1
MOST_K = 0.7
# Draws that are tried before weights are trusted, where they cost next to nothing.
TRIAL = 4000
# Rates from elsewhere contradict v̂ when fewer draws than this share give permissible base rates.
RARE = 0.01


class Rates(NamedTuple):
    """Draws of P (R, K, K) with the log of their weights, and how they were made.

    `c` is Pr(s = g | ŝ = h) where the method has it; else base rates are drawn given P and v̂.
    """

    P: Floats
    c: Floats | None
    log_weight: Floats
    info: dict[str, Any]


Draw = Callable[[int], Rates]


def rates_of(counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """Return the function that draws the rates; `rest` are the units that were not audited."""
    if settings.P is not None:
        return _known(settings.P, counts, rest, settings)
    if settings.regression is not None:
        raise OptionError(
            "Prior 'regression' needs the tables themselves, and its column in them.",
            hint="use trueup.correct; bins of your own can be `strata`.",
        )
    draw = DRAWS[settings.method](counts, rest, settings)
    return draw if settings.prior.tilt is None else _tilted(draw, counts, rest, settings)


def _bayes(counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """The Dirichlet posterior of P without the constraint (Theorem 1)."""
    a = posterior(settings.prior, counts.n).alpha

    def draw(size: int) -> Rates:
        P = draw_dirichlet(a, size, settings.rng)
        for _ in range(100):  # rates near 0 and 1 can be singular in floating point only
            singular = ~np.isfinite(solve_Q(P, counts.naive)).all(axis=1)
            if not singular.any():
                return Rates(P, None, np.zeros(size), {})
            P[singular] = draw_dirichlet(a, int(singular.sum()), settings.rng)
        raise EstimateError(
            "The posterior of P must leave P invertible; with this prior practically no draw is.",
            hint='use method="constrained", or a prior that is less extreme.',
        )

    return draw


def _constrained(counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """The Dirichlet posterior of P on Θ_K(v̂): the paper's method."""
    never = [counts.classes[h] for h in np.flatnonzero(counts.v_hat == 0)]
    if never:
        raise EstimateError(
            "`constrained` needs units predicted as every class, or Θ_K(v̂) has no volume; no unit "
            f"of the population was predicted {never}.",
            hint='method="full" takes v̂ as random and has an answer.',
        )
    a = posterior(settings.prior, counts.n).alpha

    v_hat, within = counts.v_hat.astype(float), _budget(settings)

    def draw(size: int) -> Rates:
        draws = within(lambda **limits: draw_constrained(a, v_hat, size, settings.rng, **limits))
        return Rates(draws.P, None, np.zeros(size), _told(draws.info, counts))

    return draw


def _budget(settings: Settings) -> Callable[[Callable[..., Draws]], Draws]:
    """Return a function that draws within what is left of `seconds`, for all calls together."""
    left = settings.seconds

    def within(draw: Callable[..., Draws]) -> Draws:
        nonlocal left
        begun = time.monotonic()
        draws = draw(progress=settings.progress, seconds=max(left, 0.05 * settings.seconds))
        left -= time.monotonic() - begun
        return draws

    return within


def _told(info: dict[str, Any], counts: Counts) -> dict[str, Any]:
    """`info` of a chain, with a warning where the test set and v̂ contradict each other."""
    classes = [counts.classes[g] for g in info.pop("contradicted", ())]
    if not classes:
        return info
    warning = (
        "The test set and the predicted counts contradict each other: such counts need error "
        f"rates of {classes} that the test set makes very unlikely (less than 1 in "
        f"{1 / RARELY:,.0f}). Do both tables come from the same model and name the classes "
        "alike? Is the design right?"
    )
    return info | {"contradicted": classes, "warnings": [warning, *info["warnings"]]}


def _joint(counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """The exact posterior when the test set was drawn from the population: Dirichlet columns.

    With γ_g ≠ Σ_h α_gh those are weighted by Π β_g^(γ_g − Σ_h α_gh). Where few draws
    keep a weight, as when much is known of the rates and nothing of the base rates, a chain draws
    from the same posterior: that of `full` when the test set's classes add to what is known of β.
    """
    prior, rng = settings.prior, settings.rng
    own = prior.alpha.sum(axis=1)
    exponent = np.where(np.isclose(prior.gamma, own), 0.0, prior.gamma - own)  # Jeffreys, Perks: 0
    a = (prior.alpha + counts.n).T
    ahead = prior.alpha.sum(axis=0) + counts.v_hat

    def some(part: slice, rng: Rng) -> tuple[Floats, Floats, Floats]:
        size = part.stop - part.start
        c = np.swapaxes(draw_dirichlet(a, size, rng), 1, 2)
        rho = draw_dirichlet(ahead, size, rng)
        theta = c * rho[:, None, :]
        beta = np.einsum("rgh->rg", theta)
        log_weight = np.log(beta) @ exponent if exponent.any() else np.zeros(size)
        return theta / beta[:, :, None], c, log_weight

    def direct(size: int) -> Rates:
        found = in_blocks(some, size, a.size, rng)
        P, c, log_weight = (np.concatenate(x) for x in zip(*found, strict=True))
        return Rates(P, c, log_weight, {})

    unseen = counts.v_hat - counts.n.sum(axis=0)
    if not exponent.any() or unseen.min() < 0:
        return direct
    if _enough(direct(max(settings.draws, TRIAL)).log_weight):
        return direct
    base = prior.gamma + counts.n.sum(axis=1)
    return _chain(prior.alpha + counts.n, base, unseen, counts, settings)


def _full(counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """The multinomial likelihood of v̂ as well as that of the test set's rows."""
    a = posterior(settings.prior, counts.n).alpha
    return _chain(a, settings.prior.gamma, rest.v_hat, counts, settings)


def _chain(a: Floats, gamma: Floats, v_hat: Integers, counts: Counts, settings: Settings) -> Draw:
    units, within = v_hat.astype(float), _budget(settings)

    def draw(size: int) -> Rates:
        draws = within(lambda **limits: draw_full(a, gamma, units, size, settings.rng, **limits))
        info = _told(draws.info, counts)
        return Rates(draws.P, columns(draws.P, draws.beta), np.zeros(size), info)

    return draw


def _known(P: Floats, counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """Rates from elsewhere: one matrix, or draws of it. The test set says nothing about them."""
    impossible = (counts.n > 0) & (P == 0).all(axis=0)
    if impossible.any():
        g, h = np.argwhere(impossible)[0]
        raise OptionError(
            f"`P` must allow what the test set shows; it says that {counts.classes[g]!r} is never "
            f"predicted {counts.classes[h]!r}, and {counts.n[g, h]:,} test units are.",
            hint="rows are true classes, columns predicted ones. Is the matrix transposed?",
        )
    if not np.isfinite(solve_Q(P, counts.v_hat.astype(float))).all():
        raise OptionError(
            "`P` must be invertible: with this one some classes cannot be told apart at all.",
            hint="join those classes into one.",
        )

    info: dict[str, Any] = {"prior": "known rates", "warnings": []}
    noise, rng = settings.noise and rest.N > 0, settings.rng
    draw_rates = exact_beta

    def choose(size: int) -> Floats:
        return P if len(P) == size else P[rng.integers(len(P), size=size)]

    if noise:
        _, log_weight = exact_beta(choose(settings.draws), rest.v_hat, rng)
        if np.isfinite(log_weight).mean() < RARE:
            draw_rates = weigh_beta
            info["warnings"] = [
                "The predicted counts hardly fit the rates `P`: in more than "
                f"{1 - RARE:.0%} of the cases that chance allows, some class would have fewer than "
                "0 units. The answer is rough. Do the rates hold for this population?"
            ]

    def draw(size: int) -> Rates:
        chosen = choose(size)
        if noise:
            beta, log_weight = draw_rates(chosen, rest.v_hat, rng)
            if settings.method == "full":  # ∫ Mult(v̂ | Pᵀβ) dβ, and dβ = dρ/|det P|
                log_weight = log_weight - np.linalg.slogdet(chosen)[1]
            return Rates(chosen, columns(chosen, beta), log_weight, info)
        log_weight = np.zeros(size)
        if settings.method == "constrained" and not settings.noise:
            log_weight = np.where(in_theta(chosen, counts.v_hat), 0.0, -np.inf)
        return Rates(chosen, None, log_weight, info)

    return draw


def _tilted(draw: Draw, counts: Counts, rest: Counts, settings: Settings) -> Draw:
    """Draws for a prior that is not conjugate: weighted where that is enough, else by MCMC."""

    def weighted(size: int) -> Rates:
        rates = draw(size)
        return rates._replace(log_weight=rates.log_weight + log_tilt(rates.P, settings))

    first = weighted(settings.draws)
    k = pareto_k(first.log_weight)
    if _enough(first.log_weight):
        found = {"sampler": "importance", "pareto_k": k if np.isfinite(k) else None}
        waiting = [first]

        def draw_weighted(size: int) -> Rates:
            rates = waiting.pop() if waiting and size == settings.draws else weighted(size)
            return rates._replace(info=rates.info | found)

        return draw_weighted
    sampler = draw_nuts if settings.prior.smooth else draw_pairs
    P, c, info = sampler(make_posterior(counts, rest, settings), settings)
    info = info | {"pareto_k": k if np.isfinite(k) else None}

    def draw_again(size: int) -> Rates:
        at = np.arange(size) if size == len(P) else settings.rng.integers(len(P), size=size)
        return Rates(P[at], None if c is None else c[at], np.zeros(size), info)

    return draw_again


def _enough(log_weight: Floats) -> bool:
    """Whether weights are enough: many draws are effective, and the tail is not too heavy."""
    share = effective_size(log_weight) / len(log_weight)
    return bool(share >= ENOUGH and pareto_k(log_weight) < MOST_K)


def log_tilt(P: Floats, settings: Settings) -> Floats:
    """The log of the prior's tilt at draws of P; it must be a number everywhere."""
    assert settings.prior.tilt is not None
    found = np.asarray(settings.prior.tilt(P, np), dtype=float)
    if np.isnan(found).any() or (found == np.inf).any():
        raise OptionError(
            f"The log density of prior {settings.prior.name!r} must be a number or −inf at every "
            "P; got NaN or +inf."
        )
    return found


DRAWS: dict[str, Callable[[Counts, Counts, Settings], Draw]] = {
    "bayes": _bayes,
    "constrained": _constrained,
    "joint": _joint,
    "full": _full,
}
