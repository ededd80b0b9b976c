"""Groups and strata on data whose truth is known: coverage and mean squared error.

    python studies/groups.py --replications 50

40 groups each of 5, 20, 100, 500 and 2,000 units whose base rates differ, lognormal values that are
larger in the rarer classes, and a random test set of 500; then 10 strata whose error rates differ,
with 30 test units each.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import trueup as tu
from trueup.aggregate.allocation import allocate
from trueup.aggregate.groups.base_rates import base_rates
from trueup.aggregate.groups.draw import correct_groups, mean_values
from trueup.count.counts import make_counts
from trueup.draws.contingency import plug_in
from trueup.draws.pooling import POOLINGS, draw_rows, pool_strata
from trueup.errors import EstimateError, TrueupWarning

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


def make(K: int, rng: np.random.Generator, n: int = 500, tied: bool = False):
    """Give units (group, true, predicted, y) as group tables, the truth, and a test set's cells."""
    a, P = RATES[K]
    size = np.repeat(SIZES, EACH)
    rates = rng.dirichlet(a, len(size))
    if tied:  # large groups have other base rates than small ones
        rates = rates * (size[:, None] / 100.0) ** (0.3 * np.arange(K))
        rates /= rates.sum(axis=1, keepdims=True)
    group = np.repeat(np.arange(len(size)), size)
    true = (rng.random(len(group))[:, None] > rates.cumsum(axis=1)[group]).sum(axis=1)
    predicted = (rng.random(len(group))[:, None] > P.cumsum(axis=1)[true]).sum(axis=1)
    y = np.exp(1.0 + 0.5 * (true > 0) + rng.standard_normal(len(group)))
    test = rng.choice(len(group), n, replace=False)
    cells = np.zeros((K, K), dtype=np.int64)
    np.add.at(cells, (true[test], predicted[test]), 1)

    def table(column: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        flat = np.bincount(group * K + column, weight, minlength=len(size) * K)
        return flat.reshape(len(size), K)

    data = make_counts(None, table(predicted), table(predicted, y), table(predicted, y**2))
    return data, cells, {"counts": table(true), "totals": table(true, y)}


def replicate(K: int, rng: np.random.Generator, tied: bool) -> dict[str, dict[str, np.ndarray]]:
    """One replication: squared errors of each method, coverage, and how the whole compares."""
    data, cells, truth = make(K, rng, tied=tied)
    v_hat, u_hat, w_hat = (x.sum(axis=0) for x in (data.v_hat, data.u_hat, data.w_hat))
    options = {"method": "joint", "draws": 1000, "overlap": False, "seed": int(rng.integers(2**31))}
    whole = {
        "counts": tu.correct_counts(cells, v_hat, **options),
        "totals": tu.correct_counts(cells, v_hat, u_hat, w_hat, **options),
    }
    P_hat, c_hat = plug_in(cells), cells / np.maximum(cells.sum(axis=0), 1)
    out = {}
    for what, est in whole.items():
        some = make_counts(None, data.v_hat) if what == "counts" else data
        beta = base_rates(est.P, v_hat)
        means = (
            mean_values(est.draws, beta, int(v_hat.sum()), w_hat.sum())
            if what == "totals"
            else None
        )
        answer = correct_groups(est.P, beta, some, rng, means=means)
        x = truth[what]
        inside = (answer.lower <= x + 1e-9) & (x <= answer.upper + 1e-9)
        total, sd = x.sum(axis=0), est.draws.std(axis=0)
        whole_low, whole_high = np.quantile(answer.whole, [0.025, 0.975], axis=0)
        out[what] = {
            "cover": inside,
            "median": (answer.median - x) ** 2,
            "mean": (answer.mean - x) ** 2,
            "naive": (some.naive - x) ** 2,
            "inverse": (np.linalg.solve(P_hat.T, some.naive.T).T - x) ** 2,
            "calibrated": (some.naive @ c_hat.T - x) ** 2,
            "whole cover": (whole_low <= total) & (total <= whole_high),
            "whole shift": (answer.whole.mean(axis=0) - est.draws.mean(axis=0)) / sd,
            "whole sd": answer.whole.std(axis=0) / sd,
            "whole mse": (np.median(answer.whole, axis=0) - total) ** 2,
            "ungrouped mse": (np.median(est.draws, axis=0) - total) ** 2,
            "kappa": np.median(answer.prior.kappa),
        }
    return out


def print_groups(K: int, replications: int, rng: np.random.Generator, tied: bool = False) -> None:
    """Print one table for counts and one for totals."""
    runs = [replicate(K, rng, tied) for _ in range(replications)]
    for what in ("counts", "totals"):
        stacked = {k: np.array([run[what][k] for run in runs]) for k in runs[0][what]}
        note = ", base rates tied to size" if tied else ""
        print(f"\nK = {K}, {what}{note}, {replications} replications")
        names = ("median", "mean", "naive", "inverse", "calibrated")
        print(f"{'units':>6} {'cover':>7} {'±':>6}", *(f"{name:>11}" for name in names))
        for i, size in enumerate(SIZES):
            rows = slice(i * EACH, (i + 1) * EACH)
            cover = stacked["cover"][:, rows].mean(axis=(1, 2))  # groups of one run share P's error
            error = cover.std(ddof=1) / np.sqrt(len(cover))
            mse = [stacked[name][:, rows].mean() for name in names]
            print(
                f"{size:6,} {cover.mean():7.3f} {error:6.3f}",
                *(f"{x:11.4g}" for x in mse),
            )
        shift, ratio = stacked["whole shift"], stacked["whole sd"]
        print(
            f"the whole, sum over groups: cover {stacked['whole cover'].mean():.3f}; against the "
            f"ungrouped posterior: mean apart by {shift.mean(axis=0).round(2)} sd (rms "
            f"{np.sqrt((shift**2).mean()):.2f}), sd ratio {ratio.mean():.2f}, MSE ratio "
            f"{stacked['whole mse'].mean() / stacked['ungrouped mse'].mean():.2f}; "
            f"median κ {np.median(stacked['kappa']):.1f}"
        )


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
    for pooling in POOLINGS:
        pooled = pool_strata(cells, prior, rng, pooling=pooling)
        draws = np.empty((1000, J))
        for j in range(J):
            a, gamma = pooled.alpha[:, j] + cells[j], prior.gamma + cells[j].sum(axis=1)
            try:
                rows = draw_rows(a, gamma, v_hat[j], 1000, rng)
            except EstimateError:  # no draw of P is permissible
                return {"refused": pooling}
            theta = rows.P * rows.beta[:, :, None]
            M = allocate(theta / theta.sum(axis=1, keepdims=True), v_hat[j], rng)
            draws[:, j] = M.sum(axis=2)[:, 1]
        low, middle, high = np.quantile(draws, [0.025, 0.5, 0.975], axis=0)
        out[pooling] = (middle - v[:, 1]) ** 2
        out[pooling, "cover"] = (low <= v[:, 1]) & (v[:, 1] <= high)
        total = draws.sum(axis=1)
        if pooling == "complete":  # one P for the sum: strata are left out
            n_all, v_all = cells.sum(axis=0), v_hat.sum(axis=0)
            total = tu.correct_counts(n_all, v_all, draws=1000, overlap=False).draws[:, 1]
        low, middle, high = np.quantile(total, [0.025, 0.5, 0.975])
        out[pooling, "sum"] = (middle - v[:, 1].sum()) ** 2
        out[pooling, "sum cover"] = low <= v[:, 1].sum() <= high
        if pooled.kappa is not None:
            out["kappa"] = np.median(pooled.kappa, axis=0)
    return out


def print_strata(replications: int, rng: np.random.Generator, kappa: float) -> None:
    """Print mean squared error and coverage of each kind of pooling."""
    runs, refused = [], []
    while len(runs) < replications:
        run = replicate_strata(rng, kappa)
        (refused if "refused" in run else runs).append(run)
    print(f"\n10 strata, 30 test units each, true κ = {kappa:g}, {replications} replications")
    print(f"{'pooling':<9} {'MSE':>9} {'cover':>7} {'MSE of sum':>11} {'cover':>7}")
    for name in POOLINGS:
        parts = [np.mean([r[k] for r in runs]) for k in (name, (name, "cover"))]
        sums = [np.mean([r[name, k] for r in runs]) for k in ("sum", "sum cover")]
        print(f"{name:<9} {parts[0]:9.4g} {parts[1]:7.3f} {sums[0]:11.4g} {sums[1]:7.3f}")
    print(f"{'naive':<9} {np.mean([r['naive'] for r in runs]):9.4g}")
    for name in POOLINGS:
        many = sum(run["refused"] == name for run in refused)
        if many:
            print(f"{name}: {many} more populations had a stratum for which no P is permissible")
    print("median learned κ per row:", np.median([r["kappa"] for r in runs], axis=0).round(1))


def main() -> None:
    """Print the tables of docs/groups.md."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replications", type=int, default=50)
    parser.add_argument("--only", choices=["2", "4", "tied", "strata"], help="one part only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)  # 1 in 100 random test sets looks odd
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    if options.only in (None, "2"):
        print_groups(2, options.replications, rng)
    if options.only in (None, "4"):
        print_groups(4, options.replications, rng)
    if options.only in (None, "tied"):
        print_groups(2, options.replications, rng, tied=True)
    if options.only in (None, "strata"):
        for kappa in (10.0, 30.0, 100.0):
            print_strata(options.replications, rng, kappa)


if __name__ == "__main__":
    main()
