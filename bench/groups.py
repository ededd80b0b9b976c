"""How fast and how large: 100,000 groups against NumPy's own binomial draws in the same run.

    python bench/groups.py
    git worktree add --detach PATH 77081dd && python bench/groups.py --many-classes --old PATH

The second prints 15 classes, today and at an older commit, side by side, each in a Python of its
own; `--draws` and `--groups` make it smaller.

Seconds are processor time, of all threads together, so that a busy machine does not decide the
ratio; `wall` is what the user waits, in times of the same binomials on one core.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

P = np.array([[0.95, 0.05], [0.15, 0.85]])
SIZES = (5, 20, 100, 500, 2000)


def population(B: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """B groups of the sizes of the study, lognormal values, and a test set of 500."""
    from trueup.count.counts import make_counts

    size = rng.choice(SIZES, B)
    v = rng.binomial(size, rng.beta(1.5, 15, B))
    v = np.stack([size - v, v], axis=1)
    M = rng.multinomial(v, P)
    v_hat = M.sum(axis=1)
    y = v_hat * np.array([7.4, 9.0])
    n = rng.multinomial(500, (M.sum(axis=0) / M.sum()).ravel()).reshape(2, 2)
    return make_counts(None, v_hat, y, 3.0 * y**2 / np.maximum(v_hat, 1)), n


def main() -> None:
    """Print the ratios that issue 5 asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--many-classes", action="store_true")
    parser.add_argument("--old", type=Path, help="a checkout of commit 77081dd")
    asked = parser.parse_args()
    groups, R = asked.groups, asked.draws
    if asked.many_classes:
        compare(asked.old, groups, R)
        return
    import trueup as tu
    from trueup.aggregate.groups import Whole, base_rates, correct_groups
    from trueup.aggregate.groups.concentration import fit_groups
    from trueup.count.counts import make_counts
    from trueup.draws.base_rates import columns

    rng = np.random.Generator(np.random.SFC64())
    seconds = {}
    print(f"K = 2, {R:,} draws\n")
    names = f"{'µs/group':>9} {'numpy s':>8} {'ratio':>6} {'wall':>6}"
    print(f"{'groups':>8} {'what':<8} {'seconds':>8} {names}")
    for B in (1000, groups):
        data, n = population(B, rng)
        est = tu.correct_counts(n, data.v_hat.sum(axis=0), draws=R, overlap=False)
        assert est.P is not None
        beta = base_rates(est.P, data.v_hat.sum(axis=0))
        c = columns(est.P, beta)
        wholes = {"counts": Whole(est.P, beta, est.whole)}
        wholes["totals"] = Whole(est.P, beta, c @ data.u_hat.sum(axis=0))
        own = numpys_own(est.P, beta, data, rng)
        start = time.process_time()
        fit_groups(est.P, beta, data.v_hat, np.zeros(data.v_hat.shape), rng)
        fixed = time.process_time() - start
        print(f"{B:8,} {'learn κ, μ':<10} {fixed:6.1f}   (part of both below, the same for any B)")
        for what, some in (("counts", make_counts(None, data.v_hat)), ("totals", data)):
            start, clock = time.process_time(), time.perf_counter()
            correct_groups(wholes[what], some, rng)
            took = seconds[what, B] = time.process_time() - start
            per, wall = 1e6 * took / B, (time.perf_counter() - clock) / own
            row = f"{took:8.1f} {per:9.1f} {own:8.1f} {took / own:6.2f} {wall:6.2f}"
            print(f"{B:8,} {what:<8} {row}")
            seconds[what, B, "rest"] = took - fixed
    for what in ("counts", "totals"):
        ratio = (seconds[what, groups] / groups) / (seconds[what, 1000] / 1000)
        rest = (seconds[what, groups, "rest"] / groups) / (seconds[what, 1000, "rest"] / 1000)
        print(
            f"{what}: cost per group at {groups:,} / at 1,000 = {ratio:.2f}, "
            f"without learning κ and μ {rest:.2f}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {peak:.2f} GB")


def numpys_own(P: np.ndarray, beta: np.ndarray, data: Any, rng: np.random.Generator) -> float:
    """Seconds for groups × draws × classes binomials, three times: data augmentation's least."""
    c = beta[:, 1, None] * P[:, 1]
    c /= c + beta[:, 0, None] * P[:, 0]
    start = time.process_time()
    for part in np.array_split(data.v_hat, max(1, len(data.v_hat) // 200)):
        for _ in range(3):
            for h in range(2):
                rng.binomial(part[:, h, None], c[None, :, h])
    return time.process_time() - start


def compare(old: Path | None, B: int, R: int, K: int = 15) -> None:
    """Print seconds with many classes, of both versions in turn."""
    print(f"{B:,} groups, {K} classes, {R:,} draws: seconds of processor time, and on the clock")
    found = {}
    for name, place in (("77081dd", old), ("today", Path(__file__).parents[1])):
        if place is None:
            continue
        env = {**os.environ, "PYTHONPATH": str(place / "src")}
        command = f"import runpy; runpy.run_path({__file__!r})['one']({B}, {R}, {K})"
        done = subprocess.run(
            [sys.executable, "-c", command], env=env, capture_output=True, text=True, check=True
        )
        found[name] = [float(x) for x in done.stdout.split()[-2:]]
        print(f"{name:>8} {found[name][0]:8.1f} {found[name][1]:8.1f}", flush=True)
    if len(found) == 2:
        ratios = (x / y for x, y in zip(found["77081dd"], found["today"], strict=True))
        print("   ratio " + " ".join(f"{x:8.1f}" for x in ratios))


def one(B: int, R: int, K: int) -> None:
    """Time all of `correct_groups`, with what it imports, in the version that is installed."""
    start, clock = time.process_time(), time.perf_counter()
    rng = np.random.default_rng(1)
    truth = np.eye(K) * 0.8 + 0.2 * rng.dirichlet(np.ones(K), K)
    mu = np.maximum(rng.dirichlet(np.full(K, 2.0)), 0.005)
    v = np.stack([rng.multinomial(n, rng.dirichlet(10 * mu)) for n in rng.choice(SIZES, B)])
    M = np.stack([rng.multinomial(v[:, g], truth[g]) for g in range(K)], axis=1)
    v_hat, n = M.sum(axis=1), rng.multinomial(200 * K, (M.sum(axis=0) / M.sum()).ravel())
    rates = np.stack([rng.dirichlet(row + 1 / K, R) for row in n.reshape(K, K)], axis=1)
    try:
        draw = import_module("trueup.groups.draw")  # as it was in 77081dd
        beta = import_module("trueup.groups.rates").base_rates(rates, v_hat.sum(axis=0))
        draw.correct_groups(rates, beta, draw.GroupData(v_hat), rng, keep=False)
    except ModuleNotFoundError:
        from trueup.aggregate.groups import Whole, base_rates, correct_groups
        from trueup.count.counts import make_counts
        from trueup.draws.base_rates import columns

        beta = base_rates(rates, v_hat.sum(axis=0))
        c = columns(rates, beta).swapaxes(1, 2)
        whole = Whole(rates, beta, rng.multinomial(v_hat.sum(axis=0), c).sum(axis=1).astype(float))
        correct_groups(whole, make_counts(None, v_hat), rng, keep=False)
    print(time.process_time() - start, time.perf_counter() - clock)


if __name__ == "__main__":
    main()
