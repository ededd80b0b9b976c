"""Base rates of periods that follow each other: a random walk in log odds, seen through P.

In period t the shares of the true classes are β_t = softmax(x_t, 0), and x_t − x_{t−1} is normal
with variance σ²(I + 11ᵀ), which treats all classes alike. The period's predictions have shares
q_t = Pᵀβ_t, so with v_t units per predicted class, and a_t units whose true class is known,

    log p(data_t | x_t) = Σ_h v_th log q_th + Σ_g a_tg log β_tg.

For given P and σ the path is found by Fisher scoring on the whole path at once (its matrix is block
tridiagonal) and integrated out by the normal approximation there (Laplace). Draws from it take a
few Metropolis steps, period by period, to the exact distribution. All of it for R matrices P at
once.
"""

from typing import Any, NamedTuple

import numpy as np

from trueup.numerics.arrays import Floats, Rng

WIDE = 3.0
"""Standard deviation of the first period's log odds around those of equal classes."""
STEPS = 30
CLOSE = 0.01
"""Scoring stops for a draw when none of its log odds moves by more; FAR is the most it may."""
FAR = 1.5
CACHE = 60_000
"""Numbers in an array that is still fast: with 15 classes and 120 periods, larger ones take twice
the time."""
SWEEPS = 8
"""Metropolis steps for every period of a path; without them means are off by up to 0.2 standard
deviations where a period has 200 units."""


class Seen(NamedTuple):
    """What a path must fit: P, v and a, and the walk: its start and σ² (R,)."""

    rates: Floats
    v: Floats
    a: Floats
    start: Floats
    variance: Floats
    gaps: Floats

    def fit(self, x: Floats, which: slice = slice(None)) -> Floats:
        """Log likelihood (R, t) of some periods with log odds x (R, t, K−1), with the start's."""
        beta = softmax(x)
        fit = (self.v[which] * np.log(np.maximum(self._predicted(beta, which), 1e-300))).sum(axis=2)
        if self.a[which].any():
            fit += (self.a[which] * np.log(np.maximum(beta, 1e-300))).sum(axis=2)
        if not which.start:
            fit[:, 0] -= 0.5 * ((x[:, 0] @ self.start) * x[:, 0]).sum(axis=1)
        return np.asarray(fit)

    def jumps(self, x: Floats, which: slice, now: Floats) -> Floats:
        """Log density (R, t) of the steps from and to some periods, no two of them neighbours.

        They are at `now`, the others as in x.
        """
        T, K = x.shape[1], x.shape[2] + 1
        at, found = np.arange(T)[which], np.zeros(now.shape[:2])
        for some, other, gap in ((at > 0, at - 1, at - 1), (at < T - 1, at + 1, at)):
            jump = now[:, some] - x[:, other[some]]
            # jump (I + 11ᵀ)⁻¹ jump = |jump|² − (Σ jump)²/K
            size = (jump * jump).sum(axis=2) - jump.sum(axis=2) ** 2 / K
            found[:, some] -= 0.5 * size / (self.variance[:, None] * self.gaps[:, gap[some]])
        return found

    def _predicted(self, beta: Floats, which: slice) -> Floats:
        """Shares of the predicted classes where those of the true ones are `beta` (R, t, K)."""
        if self.rates.ndim == 3:  # one matrix product for all periods
            return np.asarray(beta @ self.rates)
        return np.asarray((beta[:, :, None] @ self.rates[:, which])[:, :, 0])


class Path(NamedTuple):
    """The likeliest path x (R, T, K−1), the log of its integrated likelihood (R,), and how to draw.

    `cover` and `ahead` (T of (R, K−1, K−1)) are the factors of the backward recursion, `own` roots
    of a period's variance given its neighbours, `common` of that of a step of all periods.
    """

    x: Floats
    log_likelihood: Floats
    cover: list[Floats]
    ahead: list[Floats]
    own: Floats
    common: Floats
    seen: Seen

    def take(self, which: Any) -> "Path":
        """Return the paths of these draws of P, each as often as it is named."""
        seen = self.seen
        return self._replace(
            x=self.x[which],
            log_likelihood=self.log_likelihood[which],
            cover=[x[which] for x in self.cover],
            ahead=[x[which] for x in self.ahead],
            own=self.own[which],
            common=self.common[which],
            seen=seen._replace(
                rates=seen.rates[which], variance=seen.variance[which], gaps=seen.gaps[which]
            ),
        )

    def draw(self, rng: Rng) -> Floats:
        """Draw a path for each P: base rates (R, T, K)."""
        R, T, k = self.x.shape
        found = self.x + wander(self.cover, self.ahead, rng)
        fit = self.seen.fit(found)
        for _ in range(SWEEPS):
            for first in range(min(T, 2)):  # every other period: they are independent
                self._move(found, fit, slice(first, None, 2), rng)
            step = np.einsum("rij,rj->ri", self.common, rng.standard_normal((R, k)))
            new = found + step[:, None]
            there = self.seen.fit(new)
            take = np.log(rng.random(R)) < (there - fit).sum(axis=1)
            found[take], fit[take] = new[take], there[take]
        return softmax(found)

    def _move(self, x: Floats, fit: Floats, which: slice, rng: Rng) -> None:
        """Take one Metropolis step of some periods, in place, and of their log likelihood."""
        now = x[:, which]
        new = now + (self.own[:, which] @ rng.standard_normal(now.shape)[..., None])[..., 0]
        there, seen = self.seen.fit(new, which), self.seen
        gain = there - fit[:, which] + seen.jumps(x, which, new) - seen.jumps(x, which, now)
        take = np.log(rng.random(gain.shape)) < gain
        x[:, which] = np.where(take[..., None], new, now)
        fit[:, which] = np.where(take, there, fit[:, which])


def softmax(x: Floats) -> Floats:
    """Shares (…, K) from log odds (…, K−1) against the last class."""
    full = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
    full = np.exp(full - full.max(axis=-1, keepdims=True))
    return np.asarray(full / full.sum(axis=-1, keepdims=True))


def find_path(P: Floats, v: Floats, a: Floats, sigma: Floats, gaps: Floats) -> Path:
    """Find the path for each P (R, K, L), or (R, T, K, L) if periods have rates of their own.

    `v` (T, L) are the units per predicted label whose true class is not known, with as many labels
    for each class, side by side; `a` (T, K) are those per true class. `sigma` (R,) is the standard
    deviation of a usual step over one period, and `gaps` (T − 1,), or (R, T − 1), how many times
    its variance each step has: more than 1 where periods are missing, or where base rates jump.
    """
    gaps = np.broadcast_to(gaps, (len(P), len(v) - 1))
    R, (K, L) = P.shape[0], P.shape[-2:]
    T, k = len(v), K - 1
    rates = np.broadcast_to(P[:, None] if P.ndim == 3 else P, (R, T, K, L))
    both = np.eye(k) + 1.0
    inverse: Floats = np.linalg.inv(both).astype(np.float64)
    step = inverse / (sigma**2)[:, None, None]  # precision of a step over one period
    start = inverse / WIDE**2
    if R > 1:  # from the path of their mean
        mean = P.mean(axis=0, keepdims=True)
        usual = np.exp(np.log(gaps).mean(axis=0))
        x = np.repeat(find_path(mean, v, a, np.exp([np.log(sigma).mean()]), usual).x, R, axis=0)
    else:  # from the log odds of the predicted classes
        share = (v.reshape(T, K, -1).sum(axis=2) + a).sum(axis=0) + 1.0
        x = np.broadcast_to(np.log(share[:-1] / share[-1]), (R, T, k)).copy()
    on = np.arange(R)  # draws whose path still moves
    before, damped = np.full(R, np.inf), np.ones(R)
    for _ in range(STEPS):
        score, fisher = _scores(x[on], rates[on], v, a)
        score, diagonal = _with_walk(x[on], score, fisher, step[on], start, gaps[on])
        move, *_ = solve(diagonal, step[on], gaps[on], score)
        most = np.abs(move).max(axis=(1, 2))
        damped[on] *= np.where(most > (1 - 0.5 * damped[on]) * before[on], 0.5, 1.0)  # to and fro
        before[on] = most
        x[on] += move * np.minimum(damped[on], FAR / np.maximum(most, 1e-300))[:, None, None]
        on = on[most > CLOSE]
        if not len(on):
            break
    _, fisher = _scores(x, rates, v, a)
    _, diagonal = _with_walk(x, np.zeros_like(x), fisher, step, start, gaps)
    _, log_det, cover, ahead = solve(diagonal, step, gaps, np.zeros_like(x))
    log_walk = 0.5 * (np.linalg.slogdet(start)[1] + (T - 1) * np.linalg.slogdet(step)[1])
    log_walk = log_walk - 0.5 * k * np.log(gaps).sum(axis=1)
    seen = Seen(P, v, a, start, sigma**2, gaps)
    jump = np.diff(x, axis=1)
    energy = np.einsum("rti,rij,rtj,rt->r", jump, step, jump, 1 / gaps, optimize=True)
    own = 2.0 / np.sqrt(k) * np.linalg.cholesky(np.linalg.inv(diagonal))
    common = 2.0 / np.sqrt(k) * np.linalg.cholesky(np.linalg.inv(fisher.sum(axis=1) + start))
    total = seen.fit(x).sum(axis=1) - 0.5 * energy + log_walk - 0.5 * log_det
    return Path(x, total, cover, ahead, own, common, seen)


def _scores(x: Floats, rates: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """The score (R, T, K−1) of each period and its expected information (R, T, K−1, K−1)."""
    some = max(1, CACHE // rates[0].size)
    pieces = [
        _few_scores(x[i : i + some], rates[i : i + some], v, a) for i in range(0, len(x), some)
    ]
    score, fisher = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
    return score, fisher


def _few_scores(x: Floats, rates: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """The same for as many draws as the processor's cache holds."""
    beta = softmax(x)
    q = np.maximum(np.einsum("rtg,rtgh->rth", beta, rates), 1e-12)
    k = x.shape[-1]
    pull = np.einsum("rtgh,rth->rtg", rates, v / q) * beta  # β_g Σ_h p_gh v_h/q_h
    score = pull - beta * v.sum(axis=1)[:, None] + a - beta * a.sum(axis=1)[:, None]
    # J P diag(N/q) Pᵀ J with J = diag β − ββᵀ; rows of J P are β_g (p_g − q)
    moved = beta[..., None] * (rates - q[:, :, None, :])
    moved = moved[:, :, :k] * np.sqrt(v.sum(axis=1)[:, None] / q)[:, :, None, :]
    fisher = moved @ np.swapaxes(moved, -1, -2)
    J = -beta[..., :k, None] * beta[..., None, :k]
    J[..., np.arange(k), np.arange(k)] += beta[..., :k]
    return score[..., :k], fisher + a.sum(axis=1)[:, None, None] * J


def _with_walk(
    x: Floats, score: Floats, fisher: Floats, step: Floats, start: Floats, gaps: Floats
) -> tuple[Floats, Floats]:
    """Add the walk to the score and to the diagonal blocks of the information."""
    score, diagonal = score.copy(), fisher.copy()
    score[:, 0] -= x[:, 0] @ start
    diagonal[:, 0] += start
    pull = np.einsum("rij,rtj->rti", step, np.diff(x, axis=1)) / gaps[..., None]
    score[:, :-1] += pull
    score[:, 1:] -= pull
    diagonal += sides(gaps)[..., None, None] * step[:, None]
    return score, diagonal


def sides(gaps: Floats) -> Floats:
    """Σ 1/gap over the steps to and from each period: (R, T − 1) give (R, T)."""
    total = np.zeros((len(gaps), gaps.shape[1] + 1))
    total[:, :-1] = 1 / gaps
    total[:, 1:] += 1 / gaps
    return total


def information(P: Floats, v: Floats, a: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """What every period's data say of its log odds given each P, as a normal distribution.

    Return its precision F (R, T, k, k) and F times its mean (R, T, k). The likelihood is far from
    normal where a class is rare: F is such that staying near the neighbours loses what it does.
    """
    R, T = len(P), len(v)
    path = find_path(P, v, a, np.ones(R), gaps)  # one that may step far
    x, rates = path.x, np.broadcast_to(P[:, None] if P.ndim == 3 else P, (R, T, *P.shape[-2:]))
    score, F = _scores(x, rates, v, a)
    if T > 1:
        after, before = np.r_[1:T, T - 2], np.r_[1, 0 : T - 1]
        near = (x[:, after] + x[:, before]) / 2
        loss = path.seen.fit(x) - path.seen.fit(near)
        away = x - near
        usual = 0.5 * np.einsum("rti,rtij,rtj->rt", away, F, away)
        loss += np.einsum("rti,rti->rt", score, -away)
        F = F * np.where(usual > 1, np.maximum(loss / np.maximum(usual, 1), 1), 1)[..., None, None]
    return F, score + np.einsum("rtij,rtj->rti", F, x)


def wander(cover: list[Floats], ahead: list[Floats], rng: Rng) -> Floats:
    """Draw how far paths are from their mean (R, T, k), from the factors that `solve` returns."""
    R, k = cover[0].shape[:2]
    found = np.empty((R, len(cover), k))
    later = np.zeros((R, k))
    for t in reversed(range(len(cover))):
        z = np.einsum("rij,rj->ri", cover[t], rng.standard_normal((R, k)))
        later = found[:, t] = z + np.einsum("rij,rj->ri", ahead[t], later)
    return found


def solve(
    diagonal: Floats, step: Floats, gaps: Floats, score: Floats
) -> tuple[Floats, Floats, list[Floats], list[Floats]]:
    """Solve the block tridiagonal system; also its log determinant and the factors for drawing.

    With D_t what is left of block t after periods before it are eliminated, x_t given x_{t+1} has
    variance D_t⁻¹ and slope D_t⁻¹ W_t, W_t the precision of the step to t + 1.
    """
    R, T, k = score.shape
    log_det = np.zeros(R)
    cover, ahead, partial = [], [], []
    left, right = diagonal[:, 0], score[:, 0]
    for t in range(T):
        V = np.linalg.inv(left)
        lower = np.linalg.cholesky(0.5 * (V + np.swapaxes(V, 1, 2)))
        log_det -= 2 * np.log(lower[:, np.arange(k), np.arange(k)]).sum(axis=1)
        partial.append(np.einsum("rij,rj->ri", V, right))
        cover.append(lower)
        if t + 1 == T:
            ahead.append(np.zeros_like(V))
            break
        W = step / gaps[:, t, None, None]
        slope = V @ W
        ahead.append(slope)
        left = diagonal[:, t + 1] - W @ slope
        right = score[:, t + 1] + np.einsum("rij,rj->ri", W, partial[t])
    move = np.empty_like(score)
    move[:, -1] = partial[-1]
    for t in reversed(range(T - 1)):
        move[:, t] = partial[t] + np.einsum("rij,rj->ri", ahead[t], move[:, t + 1])
    return move, log_det, cover, ahead
