"""Seven pilots: how much narrower an interval is with the labels that `plan --next` advises.

    python studies/next_labels.py                       # 20 pilots of each kind
    python studies/next_labels.py --only cancer --replications 40

Each replication draws a population and a pilot of 100 random units, asks `trueup.plan` which 100 to
label next, labels them, and corrects with the work list; against 100 more random units. Pilots
called "strata" are drawn within three regions, in one of which the classifier errs five times as
often; the other 100 units are then drawn within regions, too. Printed: the ratio of the mean
half-widths, the promised over the one that came, and how often the interval covered. Needs
scikit-learn.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
import pandas as pd
from common import ratio, spread, with_error
from real_classifiers import make_population

import trueup as tu

PILOTS = (
    "K2 counts", "K4 counts", "K2 totals", "K4 totals", "cancer", "K2 strata counts",
    "K2 strata totals",
)  # fmt: skip


def population(name: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return true class, predicted class, value and region of every unit."""
    if name == "cancer":
        found = make_population("cancer", rng)
        return *found, np.zeros(len(found[0]), int)
    K, N = int(name[1]), 20_000
    shares = np.array([0.1, 0.9] if K == 2 else [0.1, 0.15, 0.25, 0.5])
    s, region = rng.choice(K, N, p=shares), rng.choice(3, N, p=[0.6, 0.3, 0.1])
    rate = np.where(region == 1, 0.25, 0.05) if "strata" in name else 0.1
    s_hat = np.where(rng.random(N) < rate, rng.choice(K, N), s)
    return s, s_hat, rng.lognormal(0, 1.5, N) * (1 + s), region


def one(name: str, seed: int) -> tuple[float, float, float, bool]:
    """Return the half-widths promised, as advised and at random, and whether it covered."""
    rng = np.random.default_rng(seed)
    s, s_hat, y, region = population(name, rng)
    N, value = len(s), None if "counts" in name else "y"
    table = pd.DataFrame({"unit": np.arange(N), "predicted": s_hat, "y": np.round(y, 6)})
    table["region"] = region
    first, within = np.zeros(0, int), "region" if "strata" in name else None
    while len({*s[first], *s_hat[first]}) < len({*s_hat}) or len({*s[first]}) < len({*s}):
        seed = int(rng.integers(2**32))
        pilot = tu.draw(table, 100, id="unit", within=within, seed=seed)
        first = pilot["unit"].to_numpy()
    labels = sorted({*s})
    options = {"value": value, "id": "unit", "classes": labels, "seed": int(rng.integers(2**32))}
    pilot["true"] = s[first]
    g = 0
    found = tu.plan(table, pilot, next=100, interest=labels[g], **options)
    promised = float(found.info["promised"][0])
    advised = found.work_list()
    assert len(advised) == 200
    advised = advised.assign(true=s[advised["unit"].to_numpy()])
    # with the seed of the pilot, a list twice as long begins with its units
    at_random = tu.draw(table, 200, id="unit", within=within, seed=seed)
    at_random["true"] = s[at_random["unit"].to_numpy()]
    wise = tu.correct(table, advised, **options).rows()[g]
    plain = tu.correct(table, at_random, **options).rows()[g]
    truth = float(np.where(s == labels[g], table["y"] if value else 1.0, 0.0).sum())
    half, other = ((row["upper"] - row["lower"]) / 2 for row in (wise, plain))
    return promised, half, other, wise["lower"] <= truth <= wise["upper"]


def main() -> None:
    """Print a line for each kind of pilot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PILOTS))
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--seed", type=int, default=19)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = np.random.SeedSequence(given.seed).generate_state(given.replications)
    print(f"{'pilot':16s} advised/random  promised/came  covered, {given.replications} pilots")
    for name in given.only.split(","):
        promised, came, random, covered = np.array(spread(partial(one, name), seeds), float).T
        print(
            f"{name:16s} {ratio(came, random):15} {ratio(promised, came):14} {with_error(covered)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
