"""Groups and strata on data whose truth is known: coverage, width and mean squared error.

    python studies/groups.py --replications 50
    python studies/groups.py --only differ --replications 40 --classes 2

Sizes: 40 groups each of 5, 20, 100, 500 and 2,000 units whose base rates differ, lognormal values
that are larger in the rarer classes, and a random test set of 500. Differ: `group_rates.py`, which
has more options. Strata: 10 strata whose error rates differ, with 30 test units each.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from group_rates import REAL, answer, cases, judge, print_rates, units

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


def replicate(K: int, value: bool, rng: np.random.Generator, tied: bool) -> dict[str, np.ndarray]:
    """One replication of groups of five sizes, with the classical estimates beside it."""
    a, P = RATES[K]
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


def print_sizes(K: int, replications: int, rng: np.random.Generator, tied: bool = False) -> None:
    """Print one table for counts and one for totals."""
    for value in (False, True):
        runs = [replicate(K, value, rng, tied) for _ in range(replications)]
        stacked = {name: np.array([run[name] for run in runs]) for name in runs[0]}
        note = ", base rates tied to size" if tied else ""
        what = "totals" if value else "counts"
        print(f"\nK = {K}, {what}{note}, {replications} replications")
        names = ("median", "mean", "naive", "inverse", "calibrated")
        print(f"{'units':>6} {'cover':>7} {'±':>6}", *(f"{name:>11}" for name in names))
        for i, size in enumerate(SIZES):
            rows = slice(i * EACH, (i + 1) * EACH)
            cover = stacked["cover"][:, rows].mean(axis=(1, 2))  # groups of one run share P's error
            error = cover.std(ddof=1) / np.sqrt(len(cover))
            mse = [stacked[name][:, rows].mean() for name in names]
            print(f"{size:6,} {cover.mean():7.3f} {error:6.3f}", *(f"{x:11.4g}" for x in mse))


def replicate_strata(rng: np.random.Generator, kappa: float) -> dict[str, np.ndarray]:
    """10 strata of 5,000 units, whose error rates differ, with 30 test units each."""
    J, N, n = 10, 5000, 30
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


def print_strata(replications: int, rng: np.random.Generator, kappa: float) -> None:
    """Print mean squared error and coverage of each kind of pooling."""
    runs = [replicate_strata(rng, kappa) for _ in range(replications)]
    print(f"\n10 strata, 30 test units each, true κ = {kappa:g}, {replications} replications")
    print(f"{'pooling':<9} {'MSE':>9} {'cover':>7} {'MSE of sum':>11} {'cover':>7}")
    for name in POOLINGS:
        parts = [np.mean([r[k] for r in runs]) for k in (name, (name, "cover"))]
        sums = [np.mean([r[name, k] for r in runs]) for k in ("sum", "sum cover")]
        print(f"{name:<9} {parts[0]:9.4g} {parts[1]:7.3f} {sums[0]:11.4g} {sums[1]:7.3f}")
    print(f"{'naive':<9} {np.mean([r['naive'] for r in runs]):9.4g}")
    print("median learned κ per row:", np.median([r["kappa"] for r in runs], axis=0).round(1))


def main() -> None:
    """Print the tables of docs/studies.md."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replications", type=int, default=50)
    parser.add_argument("--only", choices=["2", "4", "tied", "differ", "strata"])
    parser.add_argument("--classes", type=int, choices=[2, 5], help="of --only differ")
    parser.add_argument("--methods", default="by,one P", help='of --only differ; also "strata"')
    options = parser.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)  # 1 in 100 random test sets looks odd
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    if options.only in (None, "2"):
        print_sizes(2, options.replications, rng)
    if options.only in (None, "4"):
        print_sizes(4, options.replications, rng)
    if options.only in (None, "tied"):
        print_sizes(2, options.replications, rng, tied=True)
    if options.only in (None, "differ"):
        names = [*REAL, *cases(2), *cases(5)] if options.classes is None else cases(options.classes)
        methods, seed = options.methods.split(","), int(rng.integers(2**32))
        print_rates(names, [300, 1500], ["counts", "totals"], options.replications, seed, methods)
    if options.only in (None, "strata"):
        for kappa in (10.0, 30.0, 100.0):
            print_strata(options.replications, rng, kappa)


if __name__ == "__main__":
    main()
