"""Audits that are not random: coverage and error by simulation, through `draw` and `correct`.

    python studies/audits.py                         # 200 replications of each
    python studies/audits.py --only clusters --replications 400

`size`: 200 of 5,000 units drawn with probability proportional to y, totals of y: `auto` and the
weighted difference estimator. `clusters`: 30 clusters of 10 with an intra-class correlation of 0.2,
counts, with `cluster` and, to see what it is for, without. Printed: coverage of 95% intervals and
RMSE in per cent of the truth, of the rarer class.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import trueup as tu
from trueup.verify.populations import clustered, sized


def size(rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """Draw by size; return estimate, and limits as errors relative to the truth."""
    table = pd.DataFrame(sized(1.5, rng))
    s = table.pop("true")
    audit = tu.draw(table, 200, id="id", size="y", seed=int(rng.integers(2**32)))
    audit["true"] = s[audit["id"]].to_numpy()
    truth = table["y"][s == 1].sum()
    return {
        method: figures(tu.correct(table, audit, value="y", method=method, seed=1), truth)
        for method in ("auto", "difference")
    }


def clusters(rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """Clusters of 10 whose members resemble each other, 30 of 2,000 drawn."""
    table = pd.DataFrame(clustered(rng))
    s = table.pop("true")
    chosen = np.isin(table["block"], rng.choice(2_000, 30, replace=False))
    audit = table[chosen].assign(true=s[chosen])
    options = {"classes": [0, 1], "seed": 1}
    return {
        "with cluster": figures(tu.correct(table, audit, cluster="block", **options), s.sum()),
        "without": figures(tu.correct(table, audit, **options), s.sum()),
    }


def figures(est: tu.Estimate, truth: float) -> tuple[float, float, float]:
    """Return estimate and limits of class 1, relative to the truth."""
    row = est.rows()[1]
    return tuple(row[name] / truth - 1 for name in ("estimate", "lower", "upper"))


def main() -> None:
    """Print a line for each case and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="size,clusters")
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'case':10s} {'method':14s} {'coverage':>9s} {'RMSE %':>7s} {'width %':>8s}")
    for name in given.only.split(","):
        rng = np.random.default_rng(given.seed)
        runs = [globals()[name](rng) for _ in range(given.replications)]
        for method in runs[0]:
            x = np.array([run[method] for run in runs])
            covered = ((x[:, 1] <= 0) & (x[:, 2] >= 0)).mean()
            rmse, width = 100 * np.sqrt((x[:, 0] ** 2).mean()), 100 * (x[:, 2] - x[:, 1]).mean()
            print(f"{name:10s} {method:14s} {covered:9.3f} {rmse:7.2f} {width:8.2f}", flush=True)


if __name__ == "__main__":
    main()
