"""Counts and totals per group of any size: additive, permissible, and partially pooled.

Groups (regions, months, industries) share the contingency matrix P; their base rates differ. For
each draw of P, whatever method it came from, the units of every group are allocated to true classes
and their values follow. What groups have in common is learned once (`groups.concentration`); given
that, groups are independent, so any number of them is drawn in chunks of constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.allocate import Tilt, allocate_groups, log_ratios
from trueup.aggregate.groups.concentration import GroupPrior, fit_groups
from trueup.aggregate.groups.quantiles import figures
from trueup.aggregate.groups.signed import halve
from trueup.aggregate.groups.values import split_signed, split_totals, value_power
from trueup.count.counts import Counts, split
from trueup.numerics.blocks import in_blocks

__all__ = [
    "GroupAnswer",
    "GroupChunk",
    "correct_groups",
    "draw_groups",
    "mean_values",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CHUNK = 400_000
"""Numbers in one of the arrays of a chunk: small enough for a processor's cache."""
AGAIN = 3
"""How often values inform the groups' base rates, where they may be negative."""
KEEP_BYTES = 200_000_000
"""Draws are kept up to this size unless the caller says otherwise."""


@dataclass(frozen=True, eq=False)
class GroupChunk:
    """Draws (R, stop − start, K) of the groups from `start` to `stop`."""

    start: int
    stop: int
    draws: Floats


def draw_groups(
    P: Floats,
    prior: GroupPrior,
    data: Counts,
    rng: np.random.Generator,
    *,
    means: Floats | None = None,
    audited_inform: bool = True,
) -> Iterator[GroupChunk]:
    """Draw counts or totals of every group, chunk after chunk, given what groups share.

    Parameters
    ----------
    P : (R, K, K) ndarray
        Draws of the contingency matrix, from any method.
    prior : GroupPrior
        Draws of κ and μ, from `fit_groups`.
    data : Counts
        The groups, on its first axis. Audited units that are in them are exact.
    rng : numpy.random.Generator
        Source of randomness.
    means : (R, K) ndarray, optional
        The population's mean value per true class on each draw (`mean_values`); by default all
        classes have the same.
    audited_inform : bool
        Whether a group's audited units say how common its classes are. Not if they were chosen
        by their true class.
    """
    rest, exact, audited = _take_out(data)
    R, K, _ = P.shape
    means = np.ones((R, K)) if means is None else means
    power, halves = np.ones(rest.v_hat.shape), None
    tilt: Tilt = ()
    if rest.u_hat is not None and data.signed:
        halves = halve(P, prior.mu, means, rest.v_hat, rest.u_hat, rest.w_hat)
        tilt = halves.tilt
    elif rest.u_hat is not None:
        power = value_power(rest.v_hat, rest.u_hat, rest.w_hat)
        tilt = [(power, np.broadcast_to(log_ratios(means)[:, None], (K, K, R)))]

    def some(part: slice, rng: np.random.Generator) -> GroupChunk:
        known = audited[part] if audited_inform else np.zeros_like(audited[part])
        told = [(x[part], s) for x, s in tilt]
        allocate = partial(allocate_groups, P, prior.a, rest.v_hat[part], known, rng, tilt=told)
        if rest.u_hat is None:
            u = allocate().sum(axis=1).astype(float)
        elif halves is None:
            w_hat = None if rest.w_hat is None else rest.w_hat[part]
            u = split_totals(allocate(), (power[part], means), rest.u_hat[part], w_hat, rng)
        else:
            M = allocate(halves=halves.v_hat[part], again=AGAIN)
            w_hat = None if halves.w_hat is None else halves.w_hat[part]
            u = split_signed(M, means, halves.u_hat[part], w_hat, rng, halves.stretch)
        u += exact[part].T[:, :, None]
        return GroupChunk(part.start, part.stop, u.transpose(2, 1, 0))

    return in_blocks(some, len(rest.v_hat), R * K, rng, block=CHUNK)


@dataclass(frozen=True, eq=False)
class GroupAnswer:
    """Figures of B groups, and draws of the whole that they add up to.

    Attributes
    ----------
    median, mean, sd, lower, upper : (B, K) ndarray
        Of each group and class; the interval is equal-tailed (`groups.quantiles`).
    whole : (R, K) ndarray
        The sum over groups, on every draw.
    draws : (R, B, K) ndarray or None
        All draws, if they were kept.
    prior : GroupPrior
        What groups share: κ and μ.
    """

    median: Floats
    mean: Floats
    sd: Floats
    lower: Floats
    upper: Floats
    whole: Floats
    draws: Floats | None
    prior: GroupPrior


def correct_groups(
    P: Floats,
    beta: Floats,
    data: Counts,
    rng: np.random.Generator,
    *,
    means: Floats | None = None,
    audited_inform: bool = True,
    interval: float = 0.95,
    keep: bool | None = None,
    progress: Callable[[float], None] | None = None,
) -> GroupAnswer:
    """Learn what groups share, draw every group and sum up each chunk.

    Parameters
    ----------
    P, beta : (R, K, K) and (R, K) ndarray
        Draws of the contingency matrix, and the population's base rates on each (`base_rates`).
    data : Counts
        The groups, on its first axis. Audited units that are in them are exact.
    rng : numpy.random.Generator
        Source of randomness.
    means, audited_inform
        As in `draw_groups`.
    interval : float
        Probability of the interval.
    keep : bool, optional
        Whether to keep all draws; by default while they take no more than 200 MB.
    progress : callable, optional
        Called with the fraction done.
    """
    rest, _, audited = _take_out(data)
    known = audited if audited_inform else np.zeros_like(audited)
    prior = fit_groups(P, beta, rest.v_hat, known, rng)
    (B, K), R = data.v_hat.shape, len(P)
    if keep is None:
        keep = 8 * R * B * K <= KEEP_BYTES
    draws = np.empty((K, B, R)).transpose(2, 1, 0) if keep else None
    summary = np.empty((5, B, K))
    whole = np.zeros((R, K))
    chunks = draw_groups(P, prior, data, rng, means=means, audited_inform=audited_inform)
    for chunk in chunks:
        part = slice(chunk.start, chunk.stop)
        summary[:, part] = figures(chunk.draws, interval, discrete=data.u_hat is None)
        whole += chunk.draws.sum(axis=1)
        if draws is not None:
            draws[:, part] = chunk.draws
        if progress is not None:
            progress(chunk.stop / B)
    median, mean, sd, lower, upper = summary
    return GroupAnswer(median, mean, sd, lower, upper, whole, draws, prior)


def _take_out(data: Counts) -> tuple[Counts, Floats, Floats]:
    """Return the units to allocate, what is known of the audited ones, and their number (B, K)."""
    rest, exact = split(data, overlap=True)
    audited = np.zeros_like(exact) if rest is data else data.n.sum(axis=-1).astype(float)
    return rest, exact, audited


def mean_values(u: Floats, beta: Floats, N: int, squares: float | None = None) -> Floats:
    """The population's mean value per true class, r_g = u_g / (N β_g), on each draw (R, K).

    With `squares`, Σy² over the population, no mean exceeds what it allows: u_g² ≤ v_g Σy².
    """
    v = np.maximum(N * beta, np.finfo(float).tiny)
    r = u / v
    if squares is None:
        return np.asarray(r)
    most = np.sqrt(squares / v)
    return np.asarray(np.clip(r, -most, most))
