"""Months in which a share jumps: whether the change there is known, or smoothed away.

    python studies/jumps.py

Base rates stay as they are but for a step (the first class has twice the odds from the middle on)
or a spike (3.3 times or a quarter of the odds, in one month only). One month has 200 audited units.
Printed are the coverage of 95% intervals of levels, and of the change from the month before at the
jump; our RMSE of it in parts of inversion's, month by month (each month's predictions times P⁻¹);
and how often the answer warns of that month.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from common import spread, with_error
from periods import others

import trueup as tu
from trueup.verify.populations import grouped, months

SIZES = ((2, 24, 2000), (2, 12, 500), (4, 24, 2000))
"""Classes, months and units in a month."""
JUMPS = {"none": 0.0, "step": 0.7, "spike up": 1.2, "spike down": -1.4}
AUDITED = 4


def base_rates(jump: str, K: int, T: int) -> tuple[Any, Any, list[int]]:
    """Return base rates and error rates of every month, and the months of a jump."""
    beta, P = months("constant", K, T)
    at = T // 2
    where = slice(at, None if jump == "step" else at + 1)
    beta[where, 0] *= np.exp(JUMPS[jump])
    spiky = jump.startswith("spike")
    return beta / beta.sum(axis=1, keepdims=True), P, [at, at + 1] if spiky else [at]


def replicate(jump: str, K: int, T: int, N: int, seed: int) -> tuple[float, float, Any, Any, bool]:
    """Return both coverages, the squared errors at the jump of ours and inverted, and a warning."""
    rng = np.random.default_rng(seed)
    beta, P, at = base_rates(jump, K, T)
    units = grouped(beta, P, N, rng)
    s, s_hat = (units[name].reshape(T, N) for name in ("true", "predicted"))
    audited = {AUDITED: rng.choice(N, 200, replace=False)}
    table = pa.table({"month": units["group"], "predicted": units["predicted"]})
    rows = AUDITED * N + audited[AUDITED]
    test = table.take(rows).append_column("true", pa.array(units["true"][rows]))
    est = tu.correct(
        table, test, period="month", classes=list(range(K)), draws=1000,
        seed=int(rng.integers(2**31)),
    )  # fmt: skip
    assert est.groups is not None
    u = est.groups.draws
    v, v_hat = (np.stack([np.bincount(x[t], minlength=K) for t in range(T)]) for x in (s, s_hat))
    inverted = others(K, s, s_hat, audited, v_hat.astype(float))["inverted"]
    found = []
    for which in (lambda x: x, lambda x: np.diff(x, axis=-2)[..., [t - 1 for t in at], :]):
        low, high = np.quantile(which(u), [0.025, 0.975], axis=0)
        found.append(float(((low <= which(v)) & (which(v) <= high)).mean()))
    errors = [((which(x) - which(v)) ** 2).mean() for x in (np.median(u, axis=0), inverted)]
    warned = any("unlike what the periods" in words for words in est.info["warnings"])
    return found[0], found[1], errors[0], errors[1], warned


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=60)
    parser.add_argument("--only", choices=JUMPS, nargs="+")
    parser.add_argument("--seed", type=int, default=2021)
    given = parser.parse_args()
    seeds = np.random.SeedSequence(given.seed).generate_state(given.replications)
    print(
        f"{len(seeds)} replications: coverage of 95% intervals of levels, and of the change at the"
    )
    print("jump; its RMSE in parts of inversion's, and answers that warn of that month\n")
    print(f"{'':36}levels       change     /inversion  warn")
    for jump, (K, T, N) in product(given.only or JUMPS, SIZES):
        found = spread(partial(replicate, jump, K, T, N), seeds)
        levels, change, ours, inverted, warned = zip(*found, strict=True)
        rmse = np.sqrt(np.mean(ours) / np.mean(inverted))
        label = f"{jump}, K={K}, {T} months of {N:,}".ljust(36)
        print(
            f"{label}{with_error(levels):13}{with_error(change):11}{rmse:8.2f}   "
            f"{100 * np.mean(warned):5.0f}%",
            flush=True,
        )


if __name__ == "__main__":
    main()
