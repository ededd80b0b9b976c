"""A second and a third classifier beside the first: what they gain, and whether intervals hold.

    python studies/judges.py                                # n = 100 and 500, all data
    python studies/judges.py --sizes 100 --only cancer,wine --replications 100

Real: models of scikit-learn, trained on the same few units of the data sets of
`real_classifiers.py`. Simulated, `K:rho`: three judges of K classes who are wrong on 10 to 25% of
the units; what makes a unit hard is shared between them with the correlation rho. MSE is summed
over classes, and divided by that of the first classifier alone on the same test sets. Half of the
test sets are random, half drawn within the predicted classes of the first.
"""

from __future__ import annotations

import argparse
import warnings
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from common import ratio, spread, with_error
from scipy.stats import norm

import trueup
from trueup.verify.populations import classifier, data_set

SETS = ("cancer", "rare_cancer", "wine", "digits", "2:0.0", "2:0.8", "4:0.5")
N, JUDGES, MOST = 5_000, ("first", "second", "third"), 4
"""Each judge more multiplies the cells by the classes: a third one with up to four classes."""


class Case(NamedTuple):
    """One replication to run."""

    name: str
    n: int
    number: int
    seed: int


def population(name: str, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the true class of N units and what three classifiers say."""
    if ":" in name:
        return simulated(*map(float, name.split(":")), rng)
    X, s, *_, size = data_set(name, rng)
    while True:
        order = rng.permutation(len(s))
        train, held = order[:size], order[size:]
        if len(np.unique(s[train])) == len(np.unique(s)):
            break
    i = rng.choice(len(held), N)
    models = (classifier(rng).fit(X[train], s[train]) for _ in JUDGES)
    return s[held][i], [model.predict(X[held])[i] for model in models]


def simulated(
    K: float, rho: float, rng: np.random.Generator
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Judges whose errors go together: a unit that is hard for one is hard for the others."""
    k, hard = int(K), rng.standard_normal(N)
    s = rng.choice(k, N, p=rng.dirichlet(np.full(k, 3.0)))
    tempting = (s + rng.integers(1, k, N)) % k  # the class that a hard unit looks like
    labels = []
    for rate in rng.uniform(0.1, 0.25, 3):
        by_class = rate * rng.uniform(0.5, 1.5, k)
        own = np.sqrt(rho) * hard + np.sqrt(1 - rho) * rng.standard_normal(N)
        wrong = np.where(rng.random(N) < 0.7, tempting, (s + rng.integers(1, k, N)) % k)
        labels.append(np.where(own < norm.ppf(by_class[s]), wrong, s))
    return s, labels


def replicate(case: Case) -> dict[int, tuple[float, float]]:
    """Return the squared error, summed over classes, and the coverage with 1, 2 and 3 judges."""
    rng = np.random.default_rng(case.seed)
    s, labels = population(case.name, rng)
    classes, first = np.unique(s), labels[0]
    i, design = rng.choice(N, case.n, replace=False), "random"
    if case.number % 2:
        design, each = "by_prediction", np.unique(first)
        i = np.concatenate(
            [rng.permutation(np.flatnonzero(first == h))[: case.n // len(each)] for h in each]
        )
    table = pa.table(dict(zip(JUDGES, labels, strict=True)))
    test = table.take(i).append_column("true", pa.array(s[i]))
    truth, found = np.array([(s == g).sum() for g in classes]), {}
    for m in (1, 2, 3) if len(classes) <= MOST else (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = trueup.correct(
                table, test, predicted=JUDGES[:m], classes=classes.tolist(), design=design,
                draws=1000, seed=case.seed,
            )  # fmt: skip
        x, low, high = (
            np.array([r[k] for r in est.rows()]) for k in ("estimate", "lower", "upper")
        )
        covered = float(((low <= truth) & (truth <= high)).mean())
        found[m] = float((((x - truth) / N) ** 2).sum()), covered
    return found


def main() -> None:
    """Read the options and print the table."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--replications", type=int, default=48)
    ask.add_argument("--only", default=",".join(SETS))
    ask.add_argument("--sizes", default="100,500")
    ask.add_argument("--seed", type=int, default=20)
    ask.add_argument("--workers", type=int, default=None, help="processes; default: all cores")
    given = ask.parse_args()
    sizes = [int(n) for n in given.sizes.split(",")]
    print(
        f"{given.replications} replications: coverage of 95% intervals; squared error in parts of "
        "that of the first alone\n"
    )
    print(" " * 13 + "".join(f"  n = {n}: one" + " " * 7 + "two" + " " * 15 + "three" + " " * 6
                             for n in sizes).rstrip())  # fmt: skip
    for name in given.only.split(","):
        line = f"{name:13}"
        for n in sizes:
            seeds = np.random.SeedSequence([given.seed, n]).generate_state(given.replications)
            cases = [Case(name, n, r, int(x)) for r, x in enumerate(seeds)]
            found = spread(replicate, cases, workers=given.workers)
            line += f"  {with_error([x[1][1] for x in found])}"
            for m in (2, 3):
                if m in found[0]:
                    error = ratio([x[m][0] for x in found], [x[1][0] for x in found])
                    line += f"   {np.mean([x[m][1] for x in found]):.2f}  {error}"
                else:
                    line += "   –               "
        print(line.rstrip(), flush=True)


if __name__ == "__main__":
    main()
