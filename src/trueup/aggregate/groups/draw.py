"""Counts and totals per group of any size, which add up to the whole's own draws.

A group (region, month, industry) has base rates of its own; its error rates are those of the whole,
or differ from them as far as the audited units in groups say (`groups.layer`). For each draw of the
whole, from whatever method it came, the units of every group are allocated to true classes, and
their values follow; both are held to the whole (`groups.conditioned`), which so never depends on
whether anybody asked for groups. Draws are independent given the whole's: any number of groups is
drawn in blocks of a few draws each, on all cores or by an executor.
"""

import tempfile
import weakref
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueup.aggregate.cells import share_values
from trueup.aggregate.groups.base_rates import LENGTH, draw_rates
from trueup.aggregate.groups.concentration import GroupPrior, fit_groups
from trueup.aggregate.groups.conditioned import (
    allocate_to,
    counts_to,
    meet_totals,
    tilt_to,
    unsure,
)
from trueup.aggregate.groups.layer import (
    LEAST,
    Layer,
    by_label,
    column_scale,
    draw_layer,
    effective,
    learn_layer,
)
from trueup.aggregate.groups.near import TINY, Near, find_near
from trueup.aggregate.groups.quantiles import figures
from trueup.aggregate.groups.values import split_signed
from trueup.count.counts import Counts, split
from trueup.draws.base_rates import columns
from trueup.errors import EstimateError
from trueup.numerics.arrays import Floats, Integers, Progress, Rng
from trueup.numerics.blocks import cores, in_order

BLOCK = 500_000
"""Numbers in one of the arrays of a block of draws: small enough for a processor's cache."""
LEAST_SOME, MOST_SOME, SOME = 12, 400, 24_000
"""Draws of the whole that the layer is learned from: 24,000 per audited group and K², in bounds.
With few groups the average over few draws would depend on the seed."""
KEEP_BYTES = 200_000_000
"""Draws are kept up to this size unless the caller says otherwise."""
MOST_MEMORY = 1_000_000_000
"""Draws that are only summed up are in a temporary file beyond this size."""


class Whole(NamedTuple):
    """Draws of the whole: P (R, K, L), base rates (R, K) and counts or totals u (R, K).

    Signed totals also have the mean value per class, (R, K).
    """

    P: Floats
    beta: Floats
    u: Floats
    means: Floats | None = None


@dataclass(frozen=True, eq=False)
class GroupAnswer:
    """Figures of B groups, (B, K) each: estimate, mean, sd, lower and upper (`groups.quantiles`).

    With the draws (R, B, K) if they were kept, what the groups' base rates have in common, and how
    far error rates differ between groups, None if one P was taken for all. `unlike` (B,) is the log
    Bayes factor of each group's own rates against one P (`groups.layer`), 0 without audited units.
    """

    figures: dict[str, Floats]
    draws: Floats | None
    prior: GroupPrior
    layer: dict[str, float] | None
    unlike: Floats


class _Block(NamedTuple):
    """What a block of draws needs: some draws of the whole, and all groups.

    `labels` is the number H of labels; each has L/H cells, side by side. `width` draws
    at a time are small enough for a processor's cache. Audited units that are `alike` those of
    their group tell how common its classes are.
    """

    whole: Whole
    a: Floats
    layer: Layer | None
    rest: Counts
    known: Floats
    start: Near
    labels: int
    width: int
    alike: bool


def correct_groups(
    whole: Whole,
    data: Counts,
    rng: Rng,
    *,
    audited_inform: bool = True,
    rates_differ: bool = True,
    labels: int | None = None,
    alike: bool = True,
    interval: float = 0.95,
    keep: bool | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> GroupAnswer:
    """Learn what groups share and how they differ, draw every group, and sum up.

    The groups stand on the first axis of `data`, with L cells each; audited units that are in them
    are exact. `audited_inform` says whether a group's audited units tell how common its classes
    are: not if they were chosen by their true class. With `rates_differ`, how error rates differ
    between groups is learned from them. There are `labels`, by default the predicted classes, with
    as many cells each. Audited units that are not `alike` the others of their group, as those of
    audit strata, tell of their own label alone. All draws are kept if `keep` says so, by default
    while they take no more than 200 MB. `executor` is where to draw, by default threads, one for
    each core.
    """
    rest, exact = split(data, overlap=True)
    n = np.zeros_like(data.n) if rest is data else data.n
    (R, K, L), B = whole.P.shape, len(data.v_hat)
    H = labels or (K if L % K == 0 else L)  # cells of one stand side by side
    v_h, n_h, P_h = by_label(rest.v_hat, H), by_label(n, H), by_label(whole.P, H)
    alike = audited_inform and alike
    own = n.sum(axis=2).astype(float) if alike else np.zeros((B, K))
    layered = rates_differ and audited_inform and bool(n.any()) and B > 1
    prior = fit_groups(P_h, whole.beta, v_h, np.zeros((B, K)) if layered else own, rng)
    layer, told, unlike = None, None, np.zeros(B)
    if layered:
        layer, told, unlike = _learn(whole, prior, n_h, data.v_hat, rng)
    known = n_h.astype(float) if layered else own
    target = whole._replace(u=whole.u - exact.sum(axis=0))
    if keep is None:
        keep = 8 * R * B * K <= KEEP_BYTES
    counted = int(data.v_hat.sum(axis=1).max(initial=0)) if data.u_hat is None else None
    store = _Store((R, B, K), keep, counted)
    width = LENGTH * max(1, BLOCK // (K * B * LENGTH))
    shape = np.maximum(prior.a.mean(axis=0) + own, TINY)
    start = find_near(np.maximum(P_h.mean(axis=0), TINY), shape, v_h)
    some = max(1, BLOCK // (K * L * B))
    every = _Block(target, prior.a, layer, rest, known, start, H, some, alike)
    jobs = _jobs(every, width, rng)
    pool = executor or ThreadPoolExecutor(cores())
    done = 0
    try:
        for block in in_order(_draw, jobs, pool):
            store.put(done, block + exact)
            done += len(block)
            if progress is not None:
                progress(done / R)
    except Exception as error:
        if executor is None:
            raise
        raise EstimateError(
            f"The executor failed after {done:,} of {R:,} draws: {error}.",
            hint="nothing was written; try again, or leave out `executor`.",
        ) from error
    finally:
        if executor is None:
            pool.shutdown(wait=False, cancel_futures=True)
    some = max(1, 4 * BLOCK // (R * K))
    parts = (slice(first, first + some) for first in range(0, B, some))
    found = [figures(store.of(part), interval, discrete=data.u_hat is None) for part in parts]
    summary = {name: np.concatenate([x[name] for x in found]) for name in found[0]}
    return GroupAnswer(summary, store.draws if keep else None, prior, told, unlike)


class _Store:
    """Room for the draws (R, B, K), in few bytes if they are not kept: in memory, or in a file.

    Single precision is enough to sum them up; counts are whole numbers up to `most`.
    """

    def __init__(self, shape: tuple[int, int, int], keep: bool, most: int | None) -> None:
        self.shape, self.kind = shape, np.dtype(float if keep else np.float32)
        if not keep and most is not None and most < 2**16:
            self.kind = np.min_scalar_type(most)
        self.file = None
        if keep or self.kind.itemsize * np.prod(shape, dtype=float) <= MOST_MEMORY:
            self.draws = np.empty(shape, dtype=self.kind)
        else:
            self.file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the store)
            weakref.finalize(self, self.file.close)

    def put(self, first: int, block: Floats) -> None:
        """Write some draws of all groups."""
        if self.file is None:
            self.draws[first : first + len(block)] = block
        else:
            self.file.write(block.astype(self.kind).tobytes())

    def of(self, part: slice) -> Floats:
        """Return all draws of some groups."""
        if self.file is None:
            return np.asarray(self.draws[:, part], dtype=float)
        self.file.flush()
        mapped = np.memmap(self.file, dtype=self.kind, mode="r", shape=self.shape)
        return np.array(mapped[:, part], dtype=float)


def _learn(
    whole: Whole, prior: GroupPrior, n: Integers, v_hat: Integers, rng: Rng
) -> tuple[Layer, dict[str, float], Floats]:
    """Learn how far groups' rates differ, and turn it into a layer for each draw.

    With what to tell of it, and how unlike one P each group is (B,).
    """
    (R, K), H = whole.beta.shape, n.shape[2]
    placed = np.flatnonzero(n.any(axis=(1, 2)))
    many = int(np.clip(SOME // (len(placed) * K**2), LEAST_SOME, MOST_SOME))
    many = min(many, max(R // 4, LEAST_SOME), R)  # few draws have a larger error of their own
    some = np.linspace(0, R - 1, many).astype(np.int64)
    some = rng.permutation(some)  # the first of them are tried first
    P, beta, v_h = whole.P[some], whole.beta[some], by_label(v_hat, H)
    shape = np.repeat(prior.a[some].T[:, None], len(placed), axis=1)
    # from their predictions alone
    rates = draw_rates(_rows(by_label(P, H)), shape, v_h[placed], rng)
    tilt = rates / np.maximum(beta[:, None], TINY)
    learned = learn_layer(n[placed], v_hat[placed], P, beta, tilt, v_h, R, rng)
    P_h = by_label(whole.P, H)
    scale = column_scale(P_h, columns(P_h, whole.beta))
    scale = np.where(learned.by_rows[:, None], scale, 1.0)
    kappa = np.maximum(learned.kappa[:, None] * scale, LEAST)
    unlike = np.zeros(len(n))
    unlike[placed] = learned.unlike
    told = {
        "concentration": float(np.median(learned.kappa)),
        "shared": float(learned.lam.mean()),
        "common": float(learned.sigma.mean()),
    }
    return Layer(learned.lam, kappa, learned.sigma), told, unlike


def _rows(P: Floats) -> Floats:
    return np.maximum(np.ascontiguousarray(np.moveaxis(P, 0, -1)), TINY)


def _jobs(every: _Block, width: int, rng: Rng) -> Iterator[tuple[_Block, Rng]]:
    """Cut the draws into blocks, each with a generator of its own."""
    starts = range(0, len(every.whole.P), width)
    for begin, own in zip(starts, rng.spawn(len(starts)), strict=True):
        yield _part(every, slice(begin, begin + width)), own


def _part(every: _Block, part: slice) -> _Block:
    """Return some of the draws."""
    whole, layer = every.whole, every.layer
    means = None if whole.means is None else whole.means[part]
    some = Whole(whole.P[part], whole.beta[part], whole.u[part], means)
    cut = None if layer is None else Layer(*(x[part] for x in layer))
    return every._replace(whole=some, a=every.a[part], layer=cut)


def _draw(block: _Block, rng: Rng) -> Floats:
    """Draw the groups (r, B, K), audited units apart, for a few draws of the whole."""
    (P, _, X, _), rest, n, H = block.whole, block.rest, block.known, block.labels
    shape = block.a.T[:, None, :]
    if block.layer is None:
        shape = shape + (n.T[:, :, None] if n.any() else 0.0)
    elif block.alike:
        shape = shape + _tells(block.layer, n)
    v_h = by_label(rest.v_hat, H)
    rates = draw_rates(_rows(by_label(P, H)), shape, v_h, rng, start=block.start)  # (r, B, K)
    if block.layer is None and rest.u_hat is None and P.shape[-1] == H:
        return counts_to(rates, P, rest.v_hat, X, rng).astype(float)
    parts = (slice(i, i + block.width) for i in range(0, len(P), block.width))
    return np.concatenate([_given_rates(_part(block, part), rates[part], rng) for part in parts])


def _tells(layer: Layer, n: Floats) -> Floats:
    """The part (K, B, r) of the audited units that says something of other columns too."""
    part = effective(layer.kappa.T[:, None], n.sum(axis=1).T[:, :, None])  # (H, B, r)
    part *= layer.sigma == 0  # otherwise they inform η instead
    return np.asarray(np.einsum("bgl,lbr->gbr", n, part))


def _given_rates(block: _Block, rates: Floats, rng: Rng) -> Floats:
    """Draw the groups (r, B, K) with the base rates (r, B, K) that their predictions tell."""
    (P, beta, X, means), rest, layer, n = block.whole, block.rest, block.layer, block.known
    v = rest.v_hat.T
    tilt = rates.transpose(2, 0, 1) / np.maximum(beta.T[:, :, None], TINY)
    c = columns(P, beta)
    omega: Floats | float = 1.0
    if layer is None:
        own = c.transpose(1, 0, 2)[..., None] * tilt[:, :, None]
        own /= own.sum(axis=0)
    else:
        own = draw_layer(layer, c, tilt, n, v, rng)
        omega = unsure(layer.kappa[:, :, None] + n.sum(axis=1).T + 1, v, rest.u_hat)
    if rest.u_hat is None:
        own = tilt_to(own, v.astype(float), omega, X.T)
        M = allocate_to(own, v, X.T, rng)
        return np.asarray(M.sum(axis=2).transpose(1, 2, 0), dtype=float)
    u, w = rest.u_hat.T, None if rest.w_hat is None else rest.w_hat.T
    if rest.signed:
        M = allocate_to(own, v, None, rng)
        if means is None and w is not None:  # in bands, whose values have one sign
            drawn = (share_values(M, v, u, w, rng, axis=0) * u).sum(axis=2)
        else:
            r = np.zeros(X.shape) if means is None else means
            drawn = split_signed(M, r, v, u, w, rng)
        size = (np.abs(u) if w is None else w).sum(axis=0)
        drawn += (X.T - drawn.sum(axis=2))[:, :, None] * (size / max(float(size.sum()), 1e-300))
        return np.asarray(drawn.transpose(1, 2, 0))
    unit = max(float(u.sum()) / max(int(v.sum()), 1), 1e-300)
    own = tilt_to(own, u / unit, omega, X.T / unit)
    M = allocate_to(own, v, None, rng)
    share = M / np.maximum(v, 1) if w is None else share_values(M, v, u, w, rng, axis=0)
    return meet_totals((share * u).sum(axis=2), u.sum(axis=0), X.T).transpose(1, 2, 0)
