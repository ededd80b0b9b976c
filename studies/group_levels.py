"""Totals of groups whose values lie on levels of their own, as prices of regions do.

    python studies/group_levels.py

Eight groups, 10,000 units, two classes of which one has values twice as large, a random test set of
400. `levels` is the standard deviation of the log of a group's level. Values of a class in a group
have a standard deviation of 0.7 in the log, in the line "2, narrow" of 0.2; in the last line groups
are eighths of the values themselves. Beside it: bands of the values as they are.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
import pandas as pd
from common import spread, with_error

import trueup as tu
from trueup.count import group_bands

REAL = group_bands.find_levels
G, N, AUDITED = 8, 10_000, 400
CASES = {"0": 0.0, "0.2": 0.2, "0.5": 0.5, "1": 1.0, "2, narrow": 2.0, "size classes": None}


def population(levels: float | None, rng: np.random.Generator) -> pd.DataFrame:
    """Draw units with a known truth."""
    group = rng.choice(G, N, p=rng.dirichlet(np.full(G, 4.0)))
    true = rng.random(N) < rng.beta(3, 6, G)[group]
    predicted = true ^ (rng.random(N) < np.where(true, 0.15, 0.1))
    level = np.exp((levels or 0.0) * rng.standard_normal(G))
    value = rng.lognormal(3.0, 0.2 if levels == 2 else 0.7, N) * (1 + true) * level[group]
    if levels is None:
        group = np.minimum(G * value.argsort().argsort() // N, G - 1)
    return pd.DataFrame({"predicted": predicted, "true": true, "group": group, "value": value})


def observe(units: pd.DataFrame, seed: int) -> list[tuple[bool, float]]:
    """Correct; for each group whether its interval holds the truth, and the squared error."""
    test_set = units.sample(AUDITED, random_state=seed)
    est = tu.correct(
        units.drop(columns="true"), test_set, value="value", by="group", draws=500, seed=seed
    )
    truth, size = units[units.true].groupby("group").value.sum(), units.value.sum()
    return [
        (row["lower"] <= truth[row["group"]] <= row["upper"],
         ((row["estimate"] - truth[row["group"]]) / size) ** 2)
        for row in est.rows() if row["class"] and row["group"] is not None
    ]  # fmt: skip


def replicate(levels: float | None, find: bool, seed: int, r: int) -> tuple[float, float]:
    """Return the coverage of the groups and their mean squared error, with levels or without."""
    if not find:
        group_bands.find_levels = lambda group, *_: np.zeros(int(group.max()) + 1, int)
    try:
        found = observe(population(levels, np.random.default_rng([seed, r])), r)
    finally:
        group_bands.find_levels = REAL
    covered, error = np.mean(found, axis=0)
    return float(covered), float(error)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{given.replications} replications: coverage of 95% intervals; RMSE in % of the total\n")
    print("levels          covers      RMSE    without levels: covers      RMSE")
    for name, levels in CASES.items():
        line = f"{name:12s}"
        for find in (True, False):
            job = partial(replicate, levels, find, given.seed)
            covered, error = np.transpose(spread(job, range(given.replications)))
            line += (
                f"    {with_error(covered)}  {100 * np.sqrt(error.mean()):.3f}" + " " * 15 * find
            )
        print(line, flush=True)


if __name__ == "__main__":
    main()
