"""Groups with a score: error and coverage against predicted classes alone, and what it costs.

    python studies/group_scores.py

Ten groups with base rates of their own. A judge's log odds are 2.6 apart between two classes, with
noise; `shift` is the standard deviation of what a group adds to them, so that error rates differ
between groups. Counts; groups' mean squared error in parts of that without the score, and coverage.
"""

import argparse
import warnings
from functools import partial

import numpy as np
import pandas as pd
from common import ratio, spread, with_error

import trueup as tu

GROUPS = 10
SETTINGS = [(8_000, 300, 0.0), (8_000, 300, 0.5), (30_000, 1_500, 0.0), (30_000, 1_500, 0.2),
            (30_000, 1_500, 0.5)]  # fmt: skip


def run(N: int, n: int, shift: float, seed: int) -> list[tuple[float, float, float]]:
    """Return squared error, coverage and width of groups, without and with the score."""
    rng = np.random.default_rng(seed)
    group, base = rng.integers(0, GROUPS, N), rng.beta(3, 7, GROUPS)
    s = (rng.random(N) < base[group]).astype(int)
    odds = 1.3 * (2 * s - 1) - 0.8 + rng.normal(0, 1.3, N) + rng.normal(0, shift, GROUPS)[group]
    units = pd.DataFrame({"id": range(N), "group": group, "predicted": (odds > 0).astype(int)})
    units["score"] = 1 / (1 + np.exp(-1.5 * np.abs(odds)))
    audited = rng.choice(N, n, replace=False)
    test = pd.DataFrame({"id": audited, "true": s[audited]})
    truth, found = np.bincount(group, s), []
    for score in (None, "score"):
        est = tu.correct(units, test, id="id", by="group", score=score, draws=1000, seed=seed)
        draws = est.draws[:, :, 1]
        lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
        error = float(np.square(draws.mean(axis=0) - truth).mean())
        inside = float(((lower <= truth) & (truth <= upper)).mean())
        found.append((error, inside, float((upper - lower).mean())))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{asked.replications} replications: MSE with the score in parts of that without; covers\n"
    )
    print("units   audited  shift  MSE        covers without  with")
    for N, n, shift in SETTINGS:
        seeds = range(asked.seed, asked.seed + asked.replications)
        every = np.array(spread(partial(run, N, n, shift), seeds))
        (e0, c0, _), (e1, c1, _) = every.transpose(1, 2, 0)
        print(
            f"{N:<7} {n:<8} {shift:<6} {ratio(e1, e0)}  {with_error(c0):14} {with_error(c1)}",
            flush=True,
        )
