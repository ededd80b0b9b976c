"""Test sets drawn again from a population whose true classes are as the audited units have them.

`simulate` draws predictions from one P for all units. Here units keep their own prediction and
value, and each has the true class of an audited unit of its cell (predicted class and band of the
value): whatever depends on the value stays as the test set shows it.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.simulation.api import Simulation
from trueup.simulation.population import largest_remainder


def composition(n: Integers, weight: Floats, otherwise: Floats) -> Floats:
    """Return Pr(true g | cell), (K, H, B): of the audited units there, or else in the nearest band.

    `n` (K, H, B) are the audited units, `weight` (K,) how many a unit of each class stands for, and
    `otherwise` (K, H) what a predicted class without audited units has.
    """
    w = n * weight[:, None, None]
    c = np.repeat(otherwise[..., None], n.shape[2], axis=2)
    for h in range(n.shape[1]):
        seen = np.flatnonzero(w[:, h].sum(axis=0) > 0)
        if len(seen):
            nearest = seen[np.abs(np.arange(n.shape[2])[:, None] - seen).argmin(axis=1)]
            c[:, h] = w[:, h, nearest] / w[:, h, nearest].sum(axis=0)
    return c


def resample(
    c: Floats,
    s_hat: Integers,
    y: Floats,
    band: Integers,
    *,
    n: Any,
    design: str,
    shares: Floats | None,
    classes: tuple[Hashable, ...],
    replications: int,
    seed: int,
) -> tuple[Simulation, Floats]:
    """Draw true classes and test sets; return them, and the truth of each replication (R, K).

    `c` (K, H, B) is Pr(true g | predicted h, band b); `s_hat`, `y` and `band` (N,) are those of
    each unit, and `shares` (K,) the base rates of a shifted test set; see `simulate` for the rest.
    """
    K, _, B = c.shape
    rng = np.random.Generator(np.random.SFC64(seed))
    cell = s_hat * B + band
    edges = np.cumsum(c.reshape(K, -1), axis=0)[:-1].T
    v, u, w = (np.bincount(cell, x, K * B) for x in (np.ones(len(y)), y, y * y))
    found = np.zeros((3, replications, K, K * B))
    truths = np.zeros((replications, K))
    for r in range(replications):
        s = (rng.random((len(y), 1)) >= edges[cell]).sum(axis=1)
        truths[r] = np.bincount(s, y, K)
        i = _audit(s, s_hat, np.asarray(n), design, shares, K, rng)
        at = s[i] * (K * B) + cell[i]
        for k, x in enumerate((np.ones(len(i)), y[i], y[i] ** 2)):
            found[k, r] = np.bincount(at, x, K * K * B).reshape(K, K * B)
    cells: dict[str, Any] = {
        "n": found[0].astype(np.int64),
        "v_hat": np.tile(v.astype(np.int64), (replications, 1)),
        "u_hat": np.tile(u, (replications, 1)),
        "w_hat": np.tile(w, (replications, 1)),
    }
    if design != "shifted":
        cells |= {"t": found[1], "t2": found[2]}
    truth = (c.reshape(K, -1) * u).sum(axis=1)
    units = largest_remainder(np.maximum((c.reshape(K, -1) * v).sum(axis=1), 0.0), len(y))
    study = Simulation(
        classes=classes, design=design, v=units, u=truth, signed=bool((y < 0).any()), seed=seed,
        cells=cells, **{name: x.reshape(*x.shape[:-1], K, B).sum(axis=-1)
                        for name, x in cells.items()},
    )  # fmt: skip
    return study, truths


def _audit(
    s: Integers, s_hat: Integers, n: Any, design: str, shares: Floats | None, K: int, rng: Rng
) -> Integers:
    """Draw the units to audit: as `simulate` does, but never more of a class than there are."""
    if design == "random":
        return rng.choice(len(s), min(int(n.sum()), len(s)), replace=False)
    total = int(n.sum())
    own = s_hat if design == "by_prediction" else s
    wanted = n if n.ndim else largest_remainder(np.bincount(own, minlength=K), total)
    if design == "shifted":
        wanted = rng.multinomial(total, np.full(K, 1 / K) if shares is None else shares)
    parts = []
    for g in range(K):
        units = np.flatnonzero(own == g)
        again = design == "shifted"
        size = int(wanted[g]) if again and len(units) else min(int(wanted[g]), len(units))
        parts.append(rng.choice(units, size, replace=again) if size else units[:0])
    return np.concatenate(parts)
