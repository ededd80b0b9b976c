"""Groups and strata on data whose truth is known: coverage, width and mean squared error.

    python studies/groups.py sizes
    python studies/groups.py strata

Sizes: 40 groups each of 5, 20, 100, 500 and 2,000 units whose base rates differ, lognormal values
that are larger in the rarer classes, and a random test set of 500; tied: large groups have other
base rates than small ones. Strata: 10 strata whose error rates differ, 30 test units each.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
from common import ratio, spread, with_error
from group_rates import answer, judge, units

import trueup as tu
from trueup.aggregate.allocation import allocate
from trueup.aggregate.groups.base_rates import base_rates
from trueup.draws.base_rates import columns
from trueup.draws.contingency import plug_in
from trueup.draws.pooling import draw_pooled
from trueup.draws.settings import POOLINGS
from trueup.errors import TrueupWarning

SIZES = (5, 20, 100, 500, 2000)
EACH = 40
RATES = {
    2: (np.array([15, 1.5]), np.array([[0.95, 0.05], [0.15, 0.85]])),
    4: (
        np.array([12, 2.0, 1.5, 1.0]),
        np.array(
            [
                [0.92, 0.04, 0.03, 0.01],
                [0.10, 0.82, 0.05, 0.03],
                [0.08, 0.07, 0.80, 0.05],
                [0.05, 0.10, 0.05, 0.80],
            ]
        ),
    ),
}


def replicate(K: int, value: bool, tied: bool, seed: int) -> dict[str, np.ndarray]:
    """One replication of groups of five sizes, with the classical estimates beside it."""
    rng, (a, P) = np.random.default_rng(seed), RATES[K]
    size = np.repeat(SIZES, EACH)
    base = rng.dirichlet(a, len(size))
    if tied:  # large groups have other base rates than small ones
        base = base * (size[:, None] / 100.0) ** (0.3 * np.arange(K))
        base /= base.sum(axis=1, keepdims=True)
    est, truth = answer(units(base, np.repeat(P[None], len(size), 0), size, rng), value, 500, rng)
    n, naive = est.counts.n, est.groups.figures["naive"]
    return judge(est, truth) | {
        "naive": (naive - truth) ** 2,
        "inverse": (np.linalg.solve(plug_in(n).T, naive.T).T - truth) ** 2,
        "calibrated": (naive @ (n / np.maximum(n.sum(axis=0), 1)).T - truth) ** 2,
    }


def print_sizes(seeds: list[int]) -> None:
    """Print a line for counts and one for totals, of two and four classes."""
    print(
        f"{len(seeds)} replications: coverage of 95% intervals, and MSE of the mean in parts of "
        "that of the\nbest of naive, inverted and calibrated figures; groups of each size\n"
    )
    print(" " * 17 + "".join(f"{f'{size:,} units':^17}" for size in SIZES).rstrip())
    for K, tied in ((2, False), (2, True), (4, False)):
        for value in (False, True):
            runs = spread(partial(replicate, K, value, tied), seeds)
            line = f"K={K} {'totals' if value else 'counts'}{', tied' if tied else ''}"
            line = f"{line:17}"
            for i in range(len(SIZES)):
                own = slice(i * EACH, (i + 1) * EACH)
                # groups of one run share P's error
                cover = with_error([run["cover"][own].mean() for run in runs])
                mean, *others = (
                    np.mean([run[name][own].mean() for run in runs])
                    for name in ("mean", "naive", "inverse", "calibrated")
                )
                line += f"{cover} {mean / min(others):4.2f}  "
            print(line.rstrip(), flush=True)


def replicate_strata(kappa: float, seed: int) -> dict[str, np.ndarray]:
    """10 strata of 5,000 units, whose error rates differ, with 30 test units each."""
    J, N, n, rng = 10, 5000, 30, np.random.default_rng(seed)
    q = rng.beta(0.05 * kappa, 0.95 * kappa, J)
    p = rng.beta(0.15 * kappa, 0.85 * kappa, J)
    P = np.stack([np.stack([1 - q, q], axis=1), np.stack([p, 1 - p], axis=1)], axis=1)
    positive = rng.binomial(N, rng.beta(3, 12, J))
    v = np.stack([N - positive, positive], axis=1)
    M = rng.multinomial(v, P)
    cells = np.stack([rng.multivariate_hypergeometric(m.ravel(), n) for m in M]).reshape(J, 2, 2)
    v_hat = M.sum(axis=1)
    prior = tu.Dirichlet(0.5).for_classes(2)
    out = {"naive": (v_hat - v)[:, 1] ** 2}
    one = tu.correct_counts(cells.sum(axis=0), v_hat.sum(axis=0), draws=1000, overlap=False)
    for pooling in POOLINGS:
        if pooling == "partial":
            pooled = draw_pooled(cells, v_hat, prior, 1000, rng, from_population=True)
            out["kappa"] = np.median(pooled.kappa, axis=0)
        draws = np.empty((1000, J))
        for j in range(J):
            if pooling == "partial":
                c = columns(pooled.P[:, j], pooled.beta[:, j])
            elif pooling == "complete":
                c = columns(one.P, base_rates(one.P, v_hat[j]))
            else:
                alone = tu.correct_counts(cells[j], v_hat[j], draws=1000, overlap=False)
                c = columns(alone.P, base_rates(alone.P, v_hat[j]))
            draws[:, j] = allocate(c, v_hat[j], rng).sum(axis=2)[:, 1]
        low, middle, high = np.quantile(draws, [0.025, 0.5, 0.975], axis=0)
        out[pooling] = (middle - v[:, 1]) ** 2
        out[pooling, "cover"] = (low <= v[:, 1]) & (v[:, 1] <= high)
        total = draws.sum(axis=1)
        if pooling == "complete":  # one P for the sum: strata are left out
            total = one.draws[:, 1]
        low, middle, high = np.quantile(total, [0.025, 0.5, 0.975])
        out[pooling, "sum"] = (middle - v[:, 1].sum()) ** 2
        out[pooling, "sum cover"] = low <= v[:, 1].sum() <= high
    return out


def print_strata(seeds: list[int]) -> None:
    """Print coverage of each kind of pooling, and the MSE of partial pooling against the others."""
    print(
        f"{len(seeds)} replications: coverage of 95% intervals of strata, and MSE of partial "
        "pooling in parts of\nthat of the others, for strata and for their sum\n"
    )
    print(" " * 8 + "".join(f"{name:>12}" for name in POOLINGS), end="")
    print("   /none       /complete   sum: /none  /complete")
    for kappa in (10.0, 30.0, 100.0):
        runs = spread(partial(replicate_strata, kappa), seeds)
        line = f"κ = {kappa:<4g}"
        line += "".join(f"{with_error([r[m, 'cover'].mean() for r in runs]):>12}" for m in POOLINGS)
        for part in ("strata", "sum"):
            mse = {
                m: [np.mean(r[m] if part == "strata" else r[m, "sum"]) for r in runs]
                for m in POOLINGS
            }
            line += "".join(f"  {ratio(mse['partial'], mse[m])}" for m in ("none", "complete"))
        print(line, flush=True)


def main() -> None:
    """Print a table of docs/studies.md."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", choices=["sizes", "strata"])
    parser.add_argument("--replications", type=int)
    parser.add_argument("--seed", type=int, default=20261119)
    given = parser.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)  # 1 in 100 random test sets looks odd
    count = given.replications or {"sizes": 32, "strata": 160}[given.table]
    seeds = [int(x) for x in np.random.SeedSequence(given.seed).generate_state(count)]
    {"sizes": print_sizes, "strata": print_strata}[given.table](seeds)


if __name__ == "__main__":
    main()
