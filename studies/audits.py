"""Audits that are not random: coverage and error by simulation, through `draw` and `correct`.

    python studies/audits.py                         # 80 replications of some of each kind
    python studies/audits.py --only clusters --replications 400
    python studies/audits.py --only crossed --groups # their regions

`size`: n of 5,000 units drawn with probability proportional to a lognormal y; small units err most.
`strata`: two strata of 4,500 and 500 units, of which 20 and 200 are drawn (ten to one against their
sizes); error rates differ. `top`: the 100 largest of 5,000 units (σ = 2) are all audited, and 200
others. `crossed`: about 300 of 5,000 units drawn within seven regions and three size classes, 21
strata; of the large units many, all or few, which are predicted wrongly least often or (few) most
often. `clusters`: clusters of 10 with an intra-class correlation of 0.2. Each with `auto` and the
design's textbook estimator, `difference`, for the rarest class. With `--groups` regions of
`crossed` instead, in per cent of the region: `by` against `difference` in each region. `--only`
takes kinds or names of cases, with semicolons between.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from common import spread, with_error

import trueup as tu
from trueup.verify.populations import clustered, crossed, sized

Made = tuple[pd.DataFrame, pd.DataFrame, np.ndarray, dict[str, Any]]
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


ALLOCATIONS = {
    "many": ((8, 12, 22), (0.18, 0.09, 0.03), 0.1),
    "all": ((8, 12, 1_000), (0.18, 0.09, 0.03), 0.03),
    "few": ((22, 12, 8), (0.05, 0.1, 0.2), 0.1),
}
"""Units drawn of each size class in every region, how often they are wrong, part of the largest."""


def by_region_and_size(K: int, large: str) -> Make:
    """Units drawn within regions and size classes."""
    each, rates, part = ALLOCATIONS[large]

    def make(rng: np.random.Generator) -> Made:
        table = pd.DataFrame(crossed(K, rates, rng, top=part))
        s = table.pop("true").to_numpy()
        i = [
            rng.choice(own, min(each[k], len(own)), replace=False)
            for (_, k), own in table.groupby(["region", "size"]).indices.items()
        ]
        i = np.concatenate(i)
        within = {"drawn_within": ["region", "size"], "id": "id"}
        return table, table.loc[i].assign(true=s[i]), s, within

    return make


def clusters(C: int) -> Make:
    """C of 2,000 clusters of ten units that resemble each other."""

    def make(rng: np.random.Generator) -> Made:
        table = pd.DataFrame(clustered(rng))
        s = table.pop("true").to_numpy()
        chosen = np.isin(table["block"], rng.choice(2_000, C, replace=False))
        return table, table[chosen].assign(true=s[chosen]), s, {"cluster": "block"}

    return make


CASES: dict[str, Make] = {
    **{f"size {a:g}, {n}": size(a, n) for a in (1.0, 1.5, 2.0) for n in (40, 100, 300)},
    "strata": strata,
    "top": top,
    **{f"crossed {K}, {x}": by_region_and_size(K, x) for K in (2, 3) for x in ALLOCATIONS},
    **{f"clusters {C}": clusters(C) for C in (15, 30, 40)},
}
USUAL = (
    "size 1, 100", "size 2, 40", "size 2, 300", "strata", "top", "crossed 2, many",
    "crossed 2, all", "crossed 2, few", "crossed 3, few", "clusters 15", "clusters 40",
)  # fmt: skip
"""The cases in the table of docs/designs.md."""


def replicate(name: str, groups: bool, seed: int) -> dict[tuple[str, str, str], np.ndarray]:
    """Estimate and limits of the last class as errors relative to the truth: rows of three.

    By figure, part and method; parts are the whole and, with `groups`, all regions.
    """
    rng, make = np.random.default_rng(seed), CASES[name]
    table, audit, s, options = make(rng)
    classes = sorted(set(s))
    while set(audit["true"]) != set(classes):
        table, audit, s, options = make(rng)
    found = {}
    for figure, value in (("counts", None), ("totals", "y")):
        y = np.ones(len(table)) if value is None else table["y"].to_numpy()
        own = y * (s == classes[-1])
        common = {"value": value, "classes": classes, "seed": 1, "draws": 1_000, **options}
        by = "region" if groups else None
        est = tu.correct(table, audit, by=by, **common)
        rows = est.rows()[len(classes) - 1 :: len(classes)]
        found[figure, "whole", "auto"] = errors(rows[-1:], [own.sum()], [own.sum()])
        book = tu.correct(table, audit, method="difference", **common).rows()[-1:]
        found[figure, "whole", "difference"] = errors(book, [own.sum()], [own.sum()])
        if groups:
            truth, size = np.bincount(table["region"], own), np.bincount(table["region"], y)
            found[figure, "regions", "auto"] = errors(rows[:-1], truth, size)
            common |= {"drawn_within": "size", "method": "difference"}
            book = [
                tu.correct(table[table["region"] == r], audit[audit["region"] == r], **common)
                for r in range(len(size))
            ]
            rows = [each.rows()[-1] for each in book]
            found[figure, "regions", "difference"] = errors(rows, truth, size)
    return found


def errors(rows: list[dict[str, Any]], truth: Any, size: Any) -> np.ndarray:
    """Return estimate, lower and upper limit minus the truth, in per cent of the size."""
    each = [[row[name] for name in ("estimate", "lower", "upper")] for row in rows]
    return 100 * (np.array(each) - np.reshape(truth, (-1, 1))) / np.reshape(size, (-1, 1))


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=";".join(USUAL), help="names with a semicolon between")
    parser.add_argument("--replications", type=int, default=80)
    parser.add_argument("--groups", action="store_true", help="regions of crossed audits")
    parser.add_argument("--seed", type=int, default=19)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [x for x in CASES if {x, x.split()[0]} & set(given.only.split(";"))]
    part = "regions" if given.groups else "whole"
    seeds = np.random.SeedSequence(given.seed).generate_state(given.replications)
    print(f"{given.replications} replications: coverage of 95% intervals; RMSE of `auto` in % "
          "of the truth, and in\nparts of the textbook's\n")  # fmt: skip
    print(
        f"{'':16}"
        + "counts: auto  textbook     RMSE  parts    totals: auto  textbook     RMSE  parts"
    )
    for name in names:
        runs = spread(partial(replicate, name, given.groups), seeds)
        line = f"{name:16}"
        for figure in ("counts", "totals"):
            x, y = ([run[figure, part, m] for run in runs] for m in ("auto", "difference"))
            mine, theirs = rmse(x), rmse(y)
            line += f"  {covered(x)}   {covered(y)} {mine:6.1f} {mine / theirs:6.2f}      "
        print(line.rstrip(), flush=True)


def rmse(runs: list[np.ndarray]) -> float:
    """Return the root mean squared error of estimates."""
    return float(np.sqrt((np.concatenate(runs)[:, 0] ** 2).mean()))


def covered(runs: list[np.ndarray]) -> str:
    """Return how often intervals held the truth; a replication is one observation."""
    return with_error([((x[:, 1] <= 0) & (x[:, 2] >= 0)).mean() for x in runs])


if __name__ == "__main__":
    main()
