"""Audits that are not random: coverage and error by simulation, through `draw` and `correct`.

    python studies/audits.py                         # 100 replications of each
    python studies/audits.py --only clusters --replications 400

`size`: n of 5,000 units drawn with probability proportional to a lognormal y; small units err most.
`strata`: two strata of 4,500 and 500 units, of which 20 and 200 are drawn (ten to one against their
sizes); error rates differ. `top`: the 100 largest of 5,000 units (σ = 2) are all audited, and 200
others. `clusters`: clusters of 10 with an intra-class correlation of 0.2. Each with `auto` and the
design's textbook estimator, `difference`. Printed: coverage of 95% intervals, and RMSE and width in
per cent of the truth, of the rarer class.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

import trueup as tu
from trueup.verify.populations import clustered, sized

Made = tuple[pd.DataFrame, pd.DataFrame, np.ndarray, dict[str, str]]
Make = Callable[[np.random.Generator], Made]


def size(sigma: float, n: int) -> Make:
    """Units drawn by size."""

    def make(rng: np.random.Generator) -> Made:
        table = pd.DataFrame(sized(sigma, rng))
        s = table.pop("true").to_numpy()
        audit = tu.draw(table, n, id="id", size="y", seed=int(rng.integers(2**32)))
        return table, audit.assign(true=s[audit["id"].to_numpy()]), s, {}

    return make


def strata(rng: np.random.Generator) -> Made:
    """Many of the small stratum and few of the large one."""
    j = np.repeat([0, 1], [4_500, 500])
    s = (rng.random(5_000) < np.where(j == 0, 0.15, 0.4)).astype(int)
    s_hat = np.where(rng.random(5_000) < np.where(j == 0, 0.15, 0.05), 1 - s, s)
    y = rng.lognormal(0, 1, 5_000) * (1 + s)
    table = pd.DataFrame({"predicted": s_hat, "y": np.round(y, 6), "stratum": j})
    parts = [rng.choice(np.flatnonzero(j == k), m, replace=False) for k, m in ((0, 20), (1, 200))]
    i = np.concatenate(parts)
    return table, table.loc[i].assign(true=s[i]), s, {"drawn_within": "stratum"}


def top(rng: np.random.Generator) -> Made:
    """All of the largest units, and some of the others."""
    table = pd.DataFrame(sized(2.0, rng))
    s = table.pop("true").to_numpy()
    table["stratum"] = (table["y"].rank(ascending=False, method="first") <= 100).astype(int)
    large, others = (np.flatnonzero(table["stratum"] == k) for k in (1, 0))
    i = np.concatenate([large, rng.choice(others, 200, replace=False)])
    audit = table.loc[i].assign(true=s[i])
    return table, audit, s, {"drawn_within": "stratum", "id": "id"}


def clusters(C: int) -> Make:
    """C of 2,000 clusters of ten units that resemble each other."""

    def make(rng: np.random.Generator) -> Made:
        table = pd.DataFrame(clustered(rng))
        s = table.pop("true").to_numpy()
        chosen = np.isin(table["block"], rng.choice(2_000, C, replace=False))
        return table, table[chosen].assign(true=s[chosen]), s, {"cluster": "block"}

    return make


def cases() -> Iterator[tuple[str, Make]]:
    """Return the name of every case, and what makes its tables."""
    for sigma in (1.0, 1.5, 2.0):
        for n in (40, 100, 300):
            yield f"size {sigma:g}, {n}", size(sigma, n)
    yield "strata", strata
    yield "top", top
    for C in (15, 30, 40):
        yield f"clusters {C}", clusters(C)


def replicate(make: Make, rng: np.random.Generator) -> dict[tuple[str, str], list[float]]:
    """Estimate and limits of class 1 as errors relative to the truth, by figure and method."""
    table, audit, s, options = make(rng)
    while set(audit["true"]) != {0, 1}:
        table, audit, s, options = make(rng)
    found = {}
    for figure, value in (("counts", None), ("totals", "y")):
        truth = float(np.where(s == 1, 1.0 if value is None else table["y"], 0.0).sum())
        for method in ("auto", "difference"):
            est = tu.correct(
                table, audit, value=value, method=method, classes=[0, 1], seed=1, draws=1_000,
                **options,
            )  # fmt: skip
            row = est.rows()[1]
            errors = [row[name] / truth - 1 for name in ("estimate", "lower", "upper")]
            found[figure, method] = errors
    return found


def main() -> None:
    """Print a line for each case and figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="size,strata,top,clusters")
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    head = "".join(f" {x:>9s} {'RMSE':>6s} {'width':>6s}" for x in ("auto", "textbook"))
    print(f"{'case':14s} {'figure':7s}{head}  RMSE auto/textbook")
    for name, make in cases():
        if name.split()[0] not in given.only.split(","):
            continue
        rng = np.random.default_rng(given.seed)
        runs = [replicate(make, rng) for _ in range(given.replications)]
        for figure in ("counts", "totals"):
            said, errors = "", []
            for method in ("auto", "difference"):
                x = 100 * np.array([run[figure, method] for run in runs])
                covered = ((x[:, 1] <= 0) & (x[:, 2] >= 0)).mean()
                errors.append(np.sqrt((x[:, 0] ** 2).mean()))
                said += f" {covered:9.2f} {errors[-1]:6.1f} {(x[:, 2] - x[:, 1]).mean():6.1f}"
            print(f"{name:14s} {figure:7s}{said}  {errors[0] / errors[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
