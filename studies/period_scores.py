"""Periods with a score: error and coverage against predicted classes alone.

    python studies/period_scores.py

Twelve months of 2,000 units whose base rate walks, audits of 200 units in the months named. `judge`
has log odds 2.6 apart between the classes, with noise; `digits` is a logistic regression on
scikit-learn's digits (5 to 9 against 0 to 4, trained on 150 of them and 20 pixels), whose units are
drawn again for each month. Mean squared errors with the score in parts of those without, of levels
and of the change from the first month to the last; and how often intervals cover.
"""

import argparse
import warnings
from functools import partial

import numpy as np
import pandas as pd
from common import ratio, spread, with_error

import trueup as tu

MONTHS, UNITS, AUDITED = 12, 2_000, 200
CASES = [
    (kind, audits, "random")
    for kind in ("judge", "digits")
    for audits in ((3,), (3, 9))
] + [("judge", (3,), "shifted"), ("digits", (3,), "shifted")]  # fmt: skip


def judge(true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the log odds that a simulated judge gives to class 1."""
    return 1.3 * (2 * true - 1) - 0.5 + rng.normal(0, 1.3, len(true))


def digits(true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the log odds that a real classifier gives to units of these classes."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    train, pixels = rng.choice(len(X), 150, replace=False), rng.choice(64, 20, replace=False)
    model = LogisticRegression(max_iter=500).fit(X[train][:, pixels], y[train] >= 5)
    rest = np.setdiff1d(np.arange(len(X)), train)
    pools = [rest[(y[rest] >= 5) == g] for g in (False, True)]
    unit = np.where(true == 1, rng.choice(pools[1], len(true)), rng.choice(pools[0], len(true)))
    return np.asarray(model.decision_function(X[unit][:, pixels]))


def run(kind: str, audits: tuple[int, ...], design: str, seed: int) -> list[list[float]]:
    """Return squared error, coverage and width of levels, squared error and coverage of a change.

    First without the score, then with it.
    """
    rng = np.random.default_rng([seed, len(audits)])
    odds = -1 + np.cumsum(rng.normal(0, 0.2, MONTHS))
    month, share = (
        np.repeat(np.arange(MONTHS) + 1, UNITS),
        np.repeat(1 / (1 + np.exp(-odds)), UNITS),
    )
    true = (rng.random(len(month)) < share).astype(int)
    said = {"judge": judge, "digits": digits}[kind](true, rng)
    units = pd.DataFrame({"month": month, "predicted": (said > 0).astype(int)})
    units["score"] = 1 / (1 + np.exp(-np.abs(said)))
    chosen = [rng.choice(np.flatnonzero(month == a), AUDITED, replace=False) for a in audits]
    audited = np.concatenate(chosen)
    test, truth = units.iloc[audited].assign(true=true[audited]), np.bincount(month, true)[1:]
    found = []
    for score in (None, "score"):
        est = tu.correct(
            units, test, period="month", score=score, design=design, draws=1000, seed=seed
        )
        u = est.draws[:, :, 1]
        row: list[float] = []
        for draws, right in ((u, truth), (u[:, -1] - u[:, 0], truth[-1] - truth[0])):
            lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
            row += [float(np.square(draws.mean(axis=0) - right).mean())]
            row += [float(np.mean((lower <= right) & (right <= upper)))]
            row += [float(np.mean(upper - lower))]
        found.append(row)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{asked.replications} replications: MSE with the score in parts of that without; covers\n"
    )
    print("                          levels                              change")
    print(
        "case    audits  design    MSE        covers without  with     MSE        without    with"
    )
    for kind, audits, design in CASES:
        seeds = range(asked.seed, asked.seed + asked.replications)
        each = np.array(spread(partial(run, kind, audits, design), seeds)).transpose(1, 2, 0)
        line = f"{kind:7} {','.join(map(str, audits)):7} {design:9}"
        for k, wide in ((0, 15), (3, 10)):
            line += f" {ratio(each[1, k], each[0, k]):10} {with_error(each[0, k + 1]):{wide}}"
            line += f" {with_error(each[1, k + 1])}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
