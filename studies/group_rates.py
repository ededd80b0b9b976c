"""Groups whose error rates differ, or do not, with known truth: coverage, width and squared error.

    python studies/group_rates.py --classes 2 --replications 20
    python studies/group_rates.py --cases cancer,regions,digits,imbalanced --replications 10

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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

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
METHODS: dict[str, dict[str, str]] = {
    "by": {},
    "one P": {"pooling": "complete"},
    "strata": {"strata": "group"},
}


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


def cases(K: int) -> list[str]:
    """Return the names of the simulated populations, as K:B:size:κ."""
    rates = ("inf", "100", "20")
    return [f"{K}:{B}:{size}:{k}" for B, size in ((10, 2000), (60, 300)) for k in rates]


def population(case: str, rng: np.random.Generator) -> Units:
    """Make the population of a case."""
    if case in REAL:
        return real(case, rng)
    K, B, size, kappa = case.split(":")
    return simulated(int(K), int(B), int(size), float(kappa), rng)


def run(case: str, n: int, value: bool, seeds: list[int], methods: list[str], draws: int) -> str:
    """Return a line: coverage with its standard error, and width and MSE against others."""
    runs = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        found = population(case, rng)
        same = int(rng.integers(2**32))
        runs.append(
            {
                m: judge(*answer(found, value, n, np.random.default_rng(same), draws=draws,
                                 **METHODS[m]))
                for m in methods
            }
        )  # fmt: skip
    # groups of one replication share a test set: they are one observation of coverage
    cover = {m: np.array([r[m]["cover"].mean() for r in runs]) for m in methods}
    width, mse = (
        {m: float(np.mean([r[m][x].mean() for r in runs])) for m in methods}
        for x in ("width", "median")
    )
    line = f"{case:<15} {n:>5} {'totals' if value else 'counts':<7}"
    for m in methods:
        error = cover[m].std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
        line += f" {cover[m].mean():6.3f} ±{error:.3f}"
        line += f" {width[m] / width['one P']:5.2f} {mse[m] / mse['one P']:5.2f} "
    best = min(mse[m] for m in methods if m != "by") if len(methods) > 1 else mse["by"]
    return f"{line} {mse['by'] / best:5.2f}"


def print_rates(
    names: list[str],
    sizes: list[int],
    whats: list[str],
    replications: int,
    seed: int,
    methods: list[str],
    draws: int = 1000,
) -> None:
    """Print the table."""
    print(
        f"{replications} replications, seed {seed}. For each method: coverage of 95% intervals and"
    )
    print(
        "its standard error, mean width and MSE against one P's; last: MSE of `by` against the best"
    )
    print(f"{'case':<15} {'n':>5} {'what':<7}", *(f"{m:>26}" for m in methods))
    for case in names:
        for n in sizes:
            for what in whats:
                mine = np.random.SeedSequence([seed, n, *case.encode(), what == "totals"])
                seeds = [int(x) for x in mine.generate_state(replications)]
                print(run(case, n, what == "totals", seeds, methods, draws), flush=True)


def main() -> None:
    """Read the options and print the table."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--replications", type=int, default=20)
    ask.add_argument("--classes", type=int, choices=[2, 5], help="simulated populations only")
    ask.add_argument("--cases", help="K:groups:units:κ (κ: 20, 100, inf), or names of real ones")
    ask.add_argument("--sizes", default="300,1500")
    ask.add_argument("--figures", default="counts,totals")
    ask.add_argument("--methods", default="by,one P", help='also "strata"')
    ask.add_argument("--draws", type=int, default=1000)
    ask.add_argument("--seed", type=int, default=None)
    given = ask.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)  # 1 in 100 random test sets looks odd
    names = [*REAL, *cases(2), *cases(5)] if given.classes is None else cases(given.classes)
    names = given.cases.split(",") if given.cases else names
    seed = given.seed or int(np.random.SeedSequence().generate_state(1)[0])
    print_rates(
        names, [*map(int, given.sizes.split(","))], given.figures.split(","),
        given.replications, seed, given.methods.split(","), given.draws,
    )  # fmt: skip


if __name__ == "__main__":
    main()
