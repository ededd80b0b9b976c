"""How fast and how large: 100,000 groups against NumPy's own binomial draws in the same run.

Seconds are processor time, of all threads together, so that a busy machine does not decide the
ratio; `wall` is what the user waits, in times of the same binomials on one core.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import trueup as tu
from trueup.aggregate.groups.base_rates import base_rates
from trueup.aggregate.groups.concentration import fit_groups
from trueup.aggregate.groups.draw import Whole, correct_groups
from trueup.count.counts import Counts, make_counts
from trueup.draws.base_rates import columns

P = np.array([[0.95, 0.05], [0.15, 0.85]])
SIZES = (5, 20, 100, 500, 2000)


def population(B: int, rng: np.random.Generator) -> tuple[Counts, np.ndarray]:
    """B groups of the sizes of the study, lognormal values, and a test set of 500."""
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
    groups, R = parser.parse_args().groups, parser.parse_args().draws
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


def numpys_own(P: np.ndarray, beta: np.ndarray, data: Counts, rng: np.random.Generator) -> float:
    """Seconds for groups × draws × classes binomials, three times: data augmentation's least."""
    c = beta[:, 1, None] * P[:, 1]
    c /= c + beta[:, 0, None] * P[:, 0]
    start = time.process_time()
    for part in np.array_split(data.v_hat, max(1, len(data.v_hat) // 200)):
        for _ in range(3):
            for h in range(2):
                rng.binomial(part[:, h, None], c[None, :, h])
    return time.process_time() - start


if __name__ == "__main__":
    main()
