"""Groups that add up to the whole's own draw: asking for groups never changes the whole.

Given the groups' columns c^(b) of a draw, the whole's figure X_g of that draw is met in two steps.
First, the odds of each class are tilted, c′ ∝ c exp(ω t_g), so that Σ x c′ = X_g, where x is what a
cell holds. ω is 1 for a unit alone and larger where a cell's column is unsure: its variance in
units of that of independent ones, so that the cells that are least known give way the most (for
normal variables this is exactly the conditional distribution, Matheron's rule). Second, what
chance leaves of the difference after units are drawn is met unit by unit.
"""

import numpy as np

from trueup.aggregate.groups.allocate import allocate_cells, find_cells
from trueup.numerics.arrays import Floats, Integers, Rng

STEPS = 12
CLOSE = 0.1
"""At most 12 steps, until the rest is below 0.1 of the standard deviation of as many units."""
MOST = 30.0
"""No cell gives way this many times more than the mean of units."""
FAR = 30.0
"""Log odds are not tilted further than this."""
SMALL = 2e-3
"""Keeps the curvature of a tilt away from 0: classes sum to all units."""
ROUNDS = 60
MIX = (0.0, 1e-9, 1e-6, 1e-3, 0.03, 0.3, 1.0)
"""Rounds of proportional fitting, and how much of the whole's own shares is mixed in for them."""


def unsure(known: Floats, v: Integers, u: Floats | None) -> Floats:
    """Return ω (r, L, B): how far each cell gives way, for counts or, with u (B, L), for totals.

    `known` (r, H, B) is how many units the column of a predicted class rests on. Its error is
    common to the v units of all its cells, or to their value; a unit's own chance comes on top.
    """
    x = v.astype(float) if u is None else np.abs(u).T
    of_label = x.reshape(known.shape[1], -1, x.shape[1]).sum(axis=1)
    each = x / np.maximum(v, 1)
    omega = each + np.repeat(of_label / known, len(v) // known.shape[1], axis=1)
    mean = (omega * v).sum(axis=(1, 2), keepdims=True) / max(int(v.sum()), 1)
    scale = float(x.sum()) / max(int(v.sum()), 1)  # that of a unit: counts have 1
    return np.asarray(np.minimum(omega, MOST * mean) / max(scale, 1e-300))


def tilt_to(c: Floats, x: Floats, omega: Floats | float, X: Floats) -> Floats:
    """Tilt the columns c (K, r, L, B) so that Σ x c is X (K, r); x is (L, B), omega (r, L, B).

    A unit has an x of about 1: its chance decides how close is close enough.
    """
    t = np.zeros(X.shape)
    flat = np.isscalar(omega)
    tilted = c
    for _ in range(STEPS):
        part = x * tilted
        total = part.sum(axis=(2, 3))
        if (np.abs(X - total) <= CLOSE * np.sqrt(total) + 1e-9 * np.abs(X)).all():
            break
        # the curvature is diag(slope) at most, so that no step overshoots; equal cells: Newton's
        slope = total if flat else (omega * part).sum(axis=(2, 3))
        t = np.clip(t + np.clip((X - total) / np.maximum(slope, 1e-300), -2.0, 2.0), -FAR, FAR)
        tilted = c * np.exp(np.clip(omega * t[:, :, None, None], -FAR, FAR))
        tilted /= tilted.sum(axis=0)
    return tilted


def allocate_to(c: Floats, v: Integers, X: Floats | None, rng: Rng) -> Integers:
    """Draw M (K, r, L, B): the v (L, B) units of each cell fall as c; with X, they add up to it."""
    K, r = c.shape[:2]
    M = np.empty(c.shape, dtype=np.int64)
    left = np.broadcast_to(v, c.shape[1:]).copy()
    tail = np.cumsum(c[::-1], axis=0)[::-1]
    for g in range(K - 1):
        p = np.clip(c[g] / np.maximum(tail[g], 1e-300), 0.0, 1.0)
        M[g] = rng.binomial(left, p)
        if X is not None:
            for i in range(r):
                _meet(M[g, i].reshape(-1), left[i].reshape(-1), p[i].reshape(-1), X[g, i], rng)
        left -= M[g]
    M[K - 1] = left
    return M


def _meet(m: Integers, most: Integers, p: Floats, X: float, rng: Rng) -> None:
    """Change m, in place, until it sums to X: units are taken or given where they were unsure."""
    for _ in range(100):
        missing = round(X) - int(m.sum())
        if missing == 0:
            return
        room = most - m if missing > 0 else m
        weight = room * np.maximum(p if missing > 0 else 1 - p, 1e-9)
        up = np.cumsum(weight)
        many = min(abs(missing), int(room.sum()))
        if many == 0:
            return
        place = np.searchsorted(up, (np.arange(many) + rng.random()) * (up[-1] / many))
        cell, times = np.unique(np.minimum(place, len(m) - 1), return_counts=True)
        m[cell] += np.minimum(times, room[cell]) * (1 if missing > 0 else -1)


def counts_to(beta: Floats, P: Floats, v: Integers, X: Floats, rng: Rng) -> Integers:
    """Draw the counts u (r, B, K) of groups with one P for all, which add up to X (r, K).

    The same two steps with the base rates β (r, B, K) instead of columns: tilting the odds of a
    class in all cells is a factor of β, and only cells with units are drawn.
    """
    inverse = _curvature(beta[0], P[0], v)  # much the same on every draw
    cells = find_cells(beta.mean(axis=0), P.mean(axis=0), v)
    u = np.empty(beta.shape, dtype=np.int64)
    for i, (P_i, X_i) in enumerate(zip(P, X, strict=True)):
        T = np.ascontiguousarray(P_i.T)
        tilted, pi, per = _tilt(beta[i], P_i, T, v, X_i, inverse)
        u[i] = allocate_cells(tilted, T, pi, cells, rng)
        _meet_all(u[i], X_i, tilted, P_i, pi, per, rng)
    return u


def _tilt(
    beta: Floats, P: Floats, T: Floats, v: Integers, X: Floats, inverse: Floats
) -> tuple[Floats, Floats, Floats]:
    """Scale β (B, K) by e^t, so that Σ v c is X (K,); return it, π = βP and v/π."""
    t = np.zeros(len(X))
    for step in range(STEPS + 1):
        tilted = beta * np.exp(t)
        pi = np.maximum(tilted @ P, 1e-300)
        per = v / pi
        total = np.einsum("bg,bg->g", tilted, per @ T)
        off = X - total
        if step == STEPS or (np.abs(off) <= CLOSE * np.sqrt(total) + 1e-9 * np.abs(X)).all():
            break
        # Newton's, with the curvature of the mean; then with a bound, which never overshoots
        move = off @ inverse if step < STEPS // 2 else off / np.maximum(total, 1e-300)
        t = np.clip(t + np.clip(move, -2.0, 2.0), -FAR, FAR)
    return tilted, pi, per


def _curvature(beta: Floats, P: Floats, v: Integers) -> Floats:
    """Inverse (K, K) of how Σ v c changes with t."""
    per = v / np.maximum(beta @ P, 1e-300)
    total = (beta * (per @ P.T)).sum(axis=0)
    per /= np.maximum(np.sqrt(v), 1.0)
    each = (beta[:, :, None] * P * per[:, None]).transpose(1, 0, 2).reshape(len(P), -1)
    return np.asarray(np.linalg.inv(np.diag(total * (1 + SMALL) + SMALL) - each @ each.T))


def _meet_all(
    u: Integers, X: Floats, beta: Floats, P: Floats, pi: Floats, per: Floats, rng: Rng
) -> None:
    """Change u (B, K), in place, until it sums to X: units change class where they were unsure.

    A unit predicted h of class g is of class k with the odds β_k p_kh / β_g p_gh; `per` is v/π.
    """
    for _ in range(100):
        moves = _who_gives(np.round(X).astype(np.int64) - u.sum(axis=0))
        if not moves:
            return
        giver, taker, _ = (list(x) for x in zip(*moves, strict=True))
        odds = beta[:, taker] * ((per / pi) @ (P[giver] * P[taker]).T)
        odds = np.maximum(odds / np.maximum(per @ P[giver].T, 1e-300), 1e-9).T
        for (g, k, many), unsure in zip(moves, odds, strict=True):
            up = np.cumsum(u[:, g] * unsure)
            place = np.searchsorted(up, (np.arange(many) + rng.random()) * (up[-1] / many))
            moved = np.minimum(np.bincount(place, minlength=len(u))[: len(u)], u[:, g])
            u[:, g] -= moved
            u[:, k] += moved


def _who_gives(missing: Integers) -> list[tuple[int, int, int]]:
    """Pair the classes with too many units with those that miss some: from, to, how many."""
    moves, missing = [], missing.copy()
    while missing.min() < 0 < missing.max():
        g, k = int(missing.argmin()), int(missing.argmax())
        many = int(min(-missing[g], missing[k]))
        missing[g] += many
        missing[k] -= many
        moves.append((g, k, many))
    return moves


def meet_totals(u: Floats, T: Floats, X: Floats) -> Floats:
    """Scale the totals u (K, r, B) so that classes sum to T (B,) and groups to X (K, r).

    Proportional fitting. Where it fails, since a class has value in too few groups, some of the
    whole's own shares is mixed in, as much as it takes.
    """
    grand = max(float(T.sum()), 1e-300)
    share = (X / grand)[:, :, None]
    done = np.zeros(X.shape[1], dtype=bool)
    out = u.copy()
    for mix in MIX:
        todo = np.flatnonzero(~done)
        if not len(todo):
            break
        y = (1 - mix) * u[:, todo] + mix * share[:, todo] * T
        for _ in range(ROUNDS):
            total = y.sum(axis=2)
            y *= np.where(total > 0, X[:, todo] / np.where(total > 0, total, 1.0), 0.0)[:, :, None]
            row = y.sum(axis=0)
            off = np.abs(row - T).max(axis=1)
            if (off <= 1e-12 * grand).all():
                break
            y *= np.where(row > 0, T / np.where(row > 0, row, 1.0), 0.0)
        total = y.sum(axis=2)  # groups sum to the whole to the last digit, classes nearly so
        y *= np.where(total > 0, X[:, todo] / np.where(total > 0, total, 1.0), 0.0)[:, :, None]
        off = np.abs(y.sum(axis=0) - T).max(axis=1)
        out[:, todo] = y
        done[todo[off <= 1e-9 * grand]] = True
    return out
