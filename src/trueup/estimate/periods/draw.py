"""Periods: audits of some of them, error rates for all, base rates that walk from one to the next.

An audited period has all that a random test set tells of it; the others have its error rates. With
several audits, error rates drift as fast as these leave open. The joint draws of all periods
give levels, changes and growth (see docs/periods.md).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.allocation import allocate, squares
from trueup.aggregate.means import Audited
from trueup.aggregate.series import totals_of_periods
from trueup.aggregate.values import totals_given_allocation
from trueup.count.counts import Counts, split
from trueup.draws.settings import Settings
from trueup.estimate.periods import drift, rates
from trueup.estimate.periods.scored import Scored, by_class, spread
from trueup.numerics.arrays import Floats, Rng
from trueup.numerics.base_rate_walk import find_path, softmax
from trueup.numerics.dirichlet import draw_dirichlet

PARTICLES = 1000
"""Draws of the error rates; those of the base rates and units share them out."""
WORK = 1.2e8
"""Draws of P, times periods, times K²L, that are not more than about ten seconds of work."""
CHANCE = 0.05
UNLIKE, SOME = 30.0, 100
"""Chi² of a period's predictions, at the best base rates, that is beyond chance under 98 of so many
draws of the error rates."""


class Series(NamedTuple):
    """Draws of every period (R, T, K), and of P (R, K, K) where it is one for all.

    `units` (R, T, K) are those of each true class, and `M` (R, K, L) those of all periods by true
    and predicted class. `step` is the median usual step of the log odds; `drift` how far a recall
    moves in one period, None where rates do not drift; `unlike` the periods whose predictions do
    not fit, and `pulled` those whose predictions lie far from the drawn base rates; and `above` how
    many standard errors inverted shares (T, K) lie above 0, if P can be inverted.
    """

    u: Floats
    units: NDArray[Any]
    M: NDArray[Any]
    P: Floats | None
    ess: float
    step: float
    drift: float | None
    unlike: list[int]
    pulled: list[int]
    above: Floats | None


@dataclass(frozen=True)
class Assumed:
    """What is assumed of a series.

    `panel` is the share of units that stay from one period to the next, `drift` how far a recall
    may move in one period, and `differ` whether audits do, so that error rates drift. The last
    `ahead` periods are still to come: nothing is learned from them.
    """

    panel: float = 0.0
    drift: float = 0.0
    differ: bool = False
    ahead: int = 0


def draw_periods(
    counts: Counts, at: Floats, settings: Settings, assumed: Assumed, scored: Scored | None = None
) -> Series:
    """Draw the counts or totals of every period; the first axis of `counts` are the periods.

    `at` (T,) is when each period is, in periods. Units that are `scored` tell more of base rates.
    """
    rest, known = split(counts, settings.overlap)
    rng, R = settings.rng, settings.draws
    v, a = rest.v_hat.astype(float), counts.n.sum(axis=2) * float(settings.from_population)
    labels = counts.K if scored is None else scored.counts.v_hat.shape[1]
    size = _size(len(at), counts.K**2 * labels, PARTICLES)
    seen = len(at) - assumed.ahead
    one, P, moves, bands = _rates(counts, at, settings, size, assumed, scored)
    _tell(settings, 0.3)
    fine, units = P, rest.v_hat
    if scored is not None and bands is not None:
        fine, units = spread(P, bands), scored.units(settings.overlap)
    path, sigma = rates.draw_path(fine, units.astype(float), a, np.diff(at), rng, seen)
    some = []
    for done in range(0, R, size):
        some.append(path.draw(rng))
        _tell(settings, 0.4 + 0.6 * min((done + size) / R, 1.0))
    P = np.concatenate([P] * len(some))[:R]
    beta = np.concatenate(some)[:R]
    bands = None if bands is None else np.concatenate([bands] * len(some))[:R]
    u, M = _allocated(beta, P, bands, counts, rest, units, settings, assumed.panel)
    M += 0 if rest is counts else counts.n
    unlike = _unlike(one[: _size(seen, counts.K**3, SOME)], v[:seen])
    pulled = [t for t in _pulled(beta[:, :seen], P, v[:seen]) if t not in unlike]
    return Series(
        u + known, M.sum(axis=3), M.sum(axis=1), P if P.ndim == 3 else None, float(min(size, R)),
        sigma, moves, unlike, pulled, _above(P[: 4 * SOME], v),
    )  # fmt: skip


def _rates(
    counts: Counts,
    at: Floats,
    settings: Settings,
    size: int,
    assumed: Assumed,
    scored: Scored | None,
) -> tuple[Floats, Floats, float | None, Floats | None]:
    """Draw the error rates of all audits (R, K, K), and those of the periods.

    The latter are the same, or one matrix for every period (R, T, K, K) if rates may drift. Also
    return how far a recall then moves in one period, and those of all audits by band of the score.
    """
    audited = np.flatnonzero(counts.n.sum(axis=(1, 2)) > 0)
    n, alpha, rng = counts.n[audited], settings.prior.alpha, settings.rng
    q = None
    if settings.from_population:
        v_hat = counts.v_hat.astype(float)[: len(at) - assumed.ahead]
        q = rates.draw_predicted(v_hat, np.diff(at)[: len(v_hat) - 1], size, rng)[:, audited]

    def draw(some: list[int], alpha: Floats) -> tuple[Floats, Floats]:
        """Draw P, and units of the true classes (…, K)."""
        if not settings.from_population:
            units = alpha + n[some].sum(axis=0)
            return draw_dirichlet(units, size, rng), np.tile(units.sum(axis=1), (size, 1))
        assert q is not None
        joint = rates.draw_rates(n[some], q[:, some], alpha, rng, settings.design == "random")
        units = joint.sum(axis=2)
        return joint / units[..., None], units

    bands = None
    if scored is None:
        one, _ = draw([*range(len(n))], alpha)
    else:
        bands = scored.rates(q, size, rng)
        one = by_class(bands, counts.K)
        one /= one.sum(axis=2, keepdims=True)
    given = drift.drift_given(one, assumed.drift)
    if len(n) > 1:
        axis = 0 if settings.from_population else 1  # the prior units of each audit are as all are
        usual = alpha + n.sum(axis=0)
        usual *= alpha.sum(axis=axis, keepdims=True) / usual.sum(axis=axis, keepdims=True)
        alone = [draw([a], usual) for a in range(len(n))]
        each, units = (np.stack(x, axis=1) for x in zip(*alone, strict=True))
        x, step = drift.learn_drift(each, at[audited], given, rng)
        P = drift.moved(one, each if assumed.differ else one[:, None], x, units)
    elif assumed.drift:
        P, step = one[:, None], np.tile(given, (size, 1))
    else:
        return one, one, None, bands
    of_periods = drift.drifting(P, at[audited], at, step, rng)
    return one, of_periods, drift.in_points(P, step), bands


def _size(T: int, each: int, most: int) -> int:
    return int(np.clip(WORK / (T * each), 100, most))


def _tell(settings: Settings, share: float) -> None:
    if settings.progress is not None:
        settings.progress(share)


def _above(P: Floats, v: Floats) -> Floats | None:
    """How many standard errors inverted shares lie above 0, (T, K)."""
    K, L = P.shape[-2:]
    if K != L:
        return None
    Q = np.linalg.pinv(np.swapaxes(P, -1, -2))
    q = v / np.maximum(v.sum(axis=1, keepdims=True), 1.0)
    beta = np.einsum("rgh,th->rtg" if Q.ndim == 3 else "rtgh,th->rtg", Q, q)
    return np.asarray(np.median(beta, axis=0) / np.maximum(beta.std(axis=0), 1e-12))


def _unlike(P: Floats, v: Floats) -> list[int]:
    """Periods whose predictions no base rates explain, with some draws of the error rates."""
    size = len(P)
    found = []
    for t in range(len(v)):
        now = v[t : t + 1]
        path = find_path(P, now, np.zeros_like(now), np.ones(size), np.empty(0))
        expected = np.einsum("rg,rgh->rh", softmax(path.x[:, 0]), P) * now.sum()
        chi2 = ((now - expected) ** 2 / np.maximum(expected, 1e-9)).sum(axis=1)
        if np.quantile(chi2, 0.02) > UNLIKE:
            found.append(t)
    return found


def _pulled(beta: Floats, P: Floats, v: Floats) -> list[int]:
    """Periods whose predictions are beyond chance from what the drawn base rates expect."""
    from scipy.special import chdtrc

    T = len(v)
    rates = np.broadcast_to(P[:, None], (len(P), 1, *P.shape[1:])) if P.ndim == 3 else P[:, :T]
    expected = (beta[:, :, None] @ rates)[:, :, 0].mean(axis=0) * v.sum(axis=1, keepdims=True)
    chi2 = ((v - expected) ** 2 / np.maximum(expected, 1.0)).sum(axis=1)
    return [int(t) for t in np.flatnonzero(chdtrc(v.shape[1] - 1, chi2) * T < CHANCE)]


def _allocated(
    beta: Floats,
    P: Floats,
    bands: Floats | None,
    counts: Counts,
    rest: Counts,
    v: NDArray[Any],
    settings: Settings,
    panel: float,
) -> tuple[Floats, NDArray[Any]]:
    """Share out the units v of every period by its base rates (R, T, K) and error rates.

    Rates P are spread over `bands` of the score, if there are any. Return the units' counts or
    totals (R, T, K), and the units by predicted class too (R, T, K, L).
    """
    rng = settings.rng
    audited = None
    if settings.values_carry and counts.t is not None:
        audited = Audited(counts.n, counts.t, counts.t2)
    carried, T = _Carried(panel, rng), beta.shape[1]
    each = (carried.allocate(_columns(beta, P, t, bands), v[t]) for t in range(T))
    M = np.stack([by_class(units, counts.K) for units in each], axis=1)
    if rest.u_hat is None:
        return M.sum(axis=3).astype(float), M
    w_hat = np.stack([squares(rest.part(t)) for t in range(T)])
    if audited is not None:
        return totals_of_periods(M, rest.u_hat, w_hat, rng, rest.signed, audited), M
    u = np.empty(beta.shape)
    for t in range(T):  # each has means of its own
        u[:, t], _ = totals_given_allocation(M[:, t], rest.u_hat[t], w_hat[t], rng, rest.signed)
    return u, M


def _columns(beta: Floats, P: Floats, t: int, bands: Floats | None) -> Floats:
    """Pr(true | predicted) in period t, (R, K, L), or given the band of the score too."""
    now = P if P.ndim == 3 else P[:, t]
    c = beta[:, t, :, None] * (now if bands is None else spread(now, bands))
    return np.asarray(c / c.sum(axis=1, keepdims=True))


class _Carried:
    """Units shared out period by period, where a share of them is in the next period too.

    What was misclassified by chance stays so: the chance part of a period's counts is correlated
    with that of the period before by the share of units that both have.
    """

    def __init__(self, share: float, rng: Rng) -> None:
        self.share, self.rng = share, rng
        self.z: Floats | None = None

    def allocate(self, c: Floats, v_hat: Any) -> Any:
        if not self.share:
            return allocate(c, v_hat, self.rng)
        from scipy.special import bdtrik, ndtr

        new = self.rng.standard_normal((len(c), c.shape[1] - 1, c.shape[2]))
        fresh = np.sqrt(1 - self.share**2)
        self.z = new if self.z is None else self.share * self.z + fresh * new
        M = np.zeros(c.shape, dtype=np.int64)
        left, open_ = np.broadcast_to(v_hat, M[:, 0].shape).copy(), np.ones_like(c[:, 0])
        for g in range(c.shape[1] - 1):
            p = np.clip(c[:, g] / np.maximum(open_, 1e-300), 0.0, 1.0)
            u = np.clip(ndtr(self.z[:, g]), 1e-12, 1 - 1e-12)
            inside = (p > 0) & (p < 1) & (left > 0)
            k = bdtrik(u, left, np.where(inside, p, 0.5))
            M[:, g] = np.clip(np.ceil(np.where(inside, k, left * (p >= 1))), 0, left)
            left -= M[:, g]
            open_ -= c[:, g]
        M[:, -1] = left
        return M
