"""Groups whose error rates differ, or do not, with known truth: coverage, width and squared error.

    python studies/group_rates.py
    python studies/group_rates.py --cases cancer,regions,5:10:2000:20 --replications 100

Simulated: 10 groups of 2,000 and 60 of 300 units whose rows of P are the same, or drawn from
Dir(100 p) or Dir(20 p). Real classifiers, trained on few units and features of a data set, a new
one for each replication; 20,000 units are drawn from those that it was not trained on. Groups are
quartiles of a feature that it has not seen (`cancer`), or ten classes of such a feature plus as
much noise: `regions` (breast cancer too), `digits` (five classes of two digits each; the ink in
rows it has not seen) and `imbalanced` (simulated features). Values are a feature of the unit, so
that they go with its class and with the errors. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from common import spread, with_error

import trueup as tu
from trueup.errors import TrueupWarning
from trueup.verify.populations import grouped, rates_apart

CONFUSED = np.array(
    [[0, 4, 3, 2, 1], [3, 0, 3, 2, 2], [2, 3, 0, 3, 2], [1, 3, 3, 0, 3], [2, 2, 3, 3, 0]]
)
RATES = {
    2: (np.array([12.0, 3.0]), np.array([[0.95, 0.05], [0.15, 0.85]])),
    5: (np.array([6.0, 3.0, 2.0, 2.0, 2.0]), 0.8 * np.eye(5) + 0.02 * CONFUSED),
}
REAL = ("cancer", "regions", "digits", "imbalanced")
SIMULATED = ("2:10:2000:inf", "2:10:2000:20", "2:60:300:20")
"""Classes, groups, units in each, and κ: rows of P from Dir(κp), the same if it is inf."""
METHODS: dict[str, dict[str, str]] = {"by": {}, "one P": {"pooling": "complete"}}


class Units(NamedTuple):
    """Group, true class, predicted class and value of every unit."""

    group: np.ndarray
    s: np.ndarray
    s_hat: np.ndarray
    y: np.ndarray


def simulated(K: int, B: int, size: int, kappa: float, rng: np.random.Generator) -> Units:
    """Return B groups of `size` units with rows of P from Dir(κp); the same ones if κ is inf."""
    a, P = RATES[K]
    rows = rates_apart(P, B, kappa, rng)
    return units(rng.dirichlet(a, B), rows, np.full(B, size), rng)


def units(base: np.ndarray, P: np.ndarray, size: np.ndarray, rng: np.random.Generator) -> Units:
    """Draw units with base rates (B, K) and P (B, K, K); values are larger in rarer classes."""
    found = grouped(base, P, size, rng)
    return Units(*(found[name] for name in ("group", "true", "predicted", "y")))


def real(name: str, rng: np.random.Generator, N: int = 20_000) -> Units:
    """Train a classifier and return what it predicts for units that it was not trained on."""
    from sklearn import datasets
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "digits":
        data = datasets.load_digits()
        X, s, y, size = data.data[:, 16:32], data.target // 2, data.data.mean(axis=1), 150
        unseen, B, noise = data.data[:, 40:].sum(axis=1), 10, 1.0
    elif name == "imbalanced":
        X, s = datasets.make_classification(
            6000, 8, n_informative=4, weights=[0.8], class_sep=0.8, flip_y=0.02, shuffle=False,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        y, size = np.exp(0.8 * X[:, 0] + 0.5 * rng.standard_normal(6000)), 200
        X, unseen, B, noise = X[:, [0, 1, 2, 5]], X[:, 3], 10, 1.0
    else:
        data = datasets.load_breast_cancer()
        X, s, y, size = data.data[:, [1, 4, 8]], data.target, data.data[:, 3], 60
        unseen, B, noise = data.data[:, 6], 4, 0.0
        if name == "regions":
            unseen, B, noise = data.data[:, 7], 10, 1.0
    order = rng.permutation(len(s))
    train, held = order[:size], order[size:]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    s_hat = model.fit(X[train], s[train]).predict(X)
    i = held[rng.integers(0, len(held), N)]
    z = unseen[i] + noise * unseen.std() * rng.standard_normal(N)
    group = np.searchsorted(np.quantile(z, np.arange(1, B) / B), z)
    return Units(group, s[i], s_hat[i], y[i] * np.exp(0.02 * rng.standard_normal(N)))


def answer(found: Units, value: bool, n: int, rng: np.random.Generator, **options: Any):
    """Correct with a random test set of n; return the estimate and the truth (B, K)."""
    group, s, s_hat, y = found
    K, B = int(s.max()) + 1, int(group.max()) + 1
    table = pa.table({"group": group, "predicted": s_hat, "y": y, "id": np.arange(len(s))})
    audited = rng.choice(len(s), n, replace=False)
    test = pa.table({"id": audited, "true": s[audited]})
    options = {"classes": list(range(K)), "draws": 1000, "seed": int(rng.integers(2**32))} | options
    est = tu.correct(table, test, by="group", value="y" if value else None, id="id", **options)
    return est, np.bincount(group * K + s, y if value else None, B * K).reshape(B, K)


def judge(est: Any, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Coverage, width and squared errors of each group and class."""
    figures = est.groups.figures
    slack = 1e-9 * truth.sum()
    inside = (figures["lower"] <= truth + slack) & (truth - slack <= figures["upper"])
    return {
        "cover": inside,
        "width": figures["upper"] - figures["lower"],
        "median": (figures["estimate"] - truth) ** 2,
        "mean": (figures["mean"] - truth) ** 2,
    }


def population(case: str, rng: np.random.Generator) -> Units:
    """Make the population of a case."""
    if case in REAL:
        return real(case, rng)
    K, B, size, kappa = case.split(":")
    return simulated(int(K), int(B), int(size), float(kappa), rng)


def replicate(case: str, n: int, value: bool, draws: int, seed: int) -> dict[str, dict]:
    """Judge every method on one population and test set."""
    rng = np.random.default_rng(seed)
    found = population(case, rng)
    same = int(rng.integers(2**32))
    return {
        m: judge(*answer(found, value, n, np.random.default_rng(same), draws=draws, **options))
        for m, options in METHODS.items()
    }


def run(case: str, n: int, value: bool, draws: int, seeds: list[int]) -> str:
    """Return the cells of a line: coverage with its standard error, width and MSE."""
    runs = spread(partial(replicate, case, n, value, draws), seeds)
    # groups of one replication share a test set: they are one observation of coverage
    cover = {m: [r[m]["cover"].mean() for r in runs] for m in METHODS}
    width, mse = (
        {m: float(np.mean([r[m][x].mean() for r in runs])) for m in METHODS}
        for x in ("width", "median")
    )
    return (
        f"{with_error(cover['by']):>12} {with_error(cover['one P']):>11}"
        f" {width['by'] / width['one P']:5.2f} {mse['by'] / mse['one P']:5.2f}"
    )


def main() -> None:
    """Read the options and print the table."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--replications", type=int, default=20)
    ask.add_argument("--cases", default=",".join([*REAL, *SIMULATED]))
    ask.add_argument("--sizes", default="300,1500")
    ask.add_argument("--draws", type=int, default=500)
    ask.add_argument("--seed", type=int, default=20261119)
    given = ask.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)  # 1 in 100 random test sets looks odd
    print(
        f"{given.replications} replications: coverage of 95% intervals with `by` and with one P; "
        "width and MSE of `by`\nin parts of those with one P\n"
    )
    print(f"{'':20}{'counts: by':>13} {'one P':>9} {'width':>8} {'MSE':>4}", end="")
    print(f"{'totals: by':>14} {'one P':>9} {'width':>8} {'MSE':>4}")
    for case in given.cases.split(","):
        for n in map(int, given.sizes.split(",")):
            line = f"{case:<15} {n:>5}"
            for value in (False, True):
                mine = np.random.SeedSequence([given.seed, n, *case.encode(), value])
                seeds = [int(x) for x in mine.generate_state(given.replications)]
                line += run(case, n, value, given.draws, seeds)
            print(line, flush=True)


if __name__ == "__main__":
    main()
