"""Totals and counts with real classifiers, every method side by side, through `trueup.correct`.

    python studies/real_classifiers.py                          # all tables, an hour or two
    python studies/real_classifiers.py --short                  # the form that CI runs
    python studies/real_classifiers.py --only cancer,wine --sizes 200 --replications 200

A classifier is trained on few units and features of a data set of scikit-learn; the units that it
was not trained on are drawn again to a population of 5,000, with 2% of noise on the value, so that
its errors depend on the unit and on its value as they really do. Also: the paper's webshops, which
are homogeneous, and simulated populations in which misclassified units, or one class, are larger.
A new classifier is trained for every replication. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import trueup
from trueup.paper.webshops import predict, webshops
from trueup.verify.populations import audit, learned, valued

REAL = ("cancer", "rare_cancer", "wine", "iris", "digits", "imbalanced_5", "imbalanced_20")
SIMULATED = tuple(
    f"{what}:{factor}:{sigma}"
    for what, factor in (("error", 3), ("error", 0.3), ("class", 100), ("class", 0.02))
    for sigma in (1, 2)
)
METHODS = ("auto", "constrained", "difference", "calibrated", "inverse", "test_set", "naive")
DESIGNS = ("random", "by_prediction", "by_class", "shifted")


class Population(NamedTuple):
    """True class, predicted class and value of every unit."""

    s: np.ndarray
    s_hat: np.ndarray
    y: np.ndarray


def make_population(name: str, rng: np.random.Generator, N: int = 5_000) -> Population:
    """Train a classifier and return what it predicts, or simulate."""
    if name == "webshops":
        whole = webshops()
        return Population(whole.s, predict(whole.s, rng), whole.y)
    if ":" in name:  # error:f:sigma, misclassified units f times as large, or class:f:sigma
        what, factor, sigma = name.split(":")
        units = valued(what, float(factor), float(sigma), rng)
    else:
        units = learned(name, rng, N)
    return Population(units["true"], units["predicted"], units["y"])


class Case(NamedTuple):
    """One replication to run."""

    name: str
    n: int
    design: str
    methods: tuple[str, ...]
    counts: bool
    seed: int


class Outcome(NamedTuple):
    """Per class, in parts of the grand total: error, and whether covered; how often it warned."""

    error: np.ndarray
    covered: np.ndarray
    width: np.ndarray
    warned: bool


def replicate(case: Case) -> dict[str, Outcome]:
    """Make a population and a test set, and correct with every method."""
    rng = np.random.default_rng(case.seed)
    it = make_population(case.name, rng)
    # a shifted one has units of the population too, and so their error rates, but nobody knows it
    i = audit({"true": it.s, "predicted": it.s_hat}, case.n, case.design, rng)
    table = pa.table({"predicted": it.s_hat, "value": it.y})
    test = pa.table({"predicted": it.s_hat[i], "true": it.s[i], "value": it.y[i]})
    weight = np.ones(len(it.y)) if case.counts else it.y
    classes = np.unique(it.s)
    truth = np.array([weight[it.s == g].sum() for g in classes])
    found = {}
    for method in case.methods:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                est = trueup.correct(
                    table, test, value=None if case.counts else "value", design=case.design,
                    method=method, classes=classes.tolist(), draws=2000, seed=case.seed,
                )  # fmt: skip
        except trueup.TrueupError:
            continue
        estimate, lower, upper = (
            np.array([np.nan if row[k] is None else row[k] for row in est.rows()])
            for k in ("estimate", "lower", "upper")
        )
        slack = 1e-9 * truth.sum()
        found[method] = Outcome(
            (estimate - truth) / truth.sum(),
            (lower - slack <= truth) & (truth <= upper + slack),
            (upper - lower) / truth.sum(),
            # that correcting may not pay says nothing against the interval
            len(est.info["warnings"]) > est.info["unproven"],
        )
    return found


def study(
    cases: list[Case], replications: int, seed: int, workers: int | None = None
) -> Iterator[str]:
    """Yield a line of the table for each case."""
    seeds = np.random.SeedSequence(seed).generate_state(replications)
    with ProcessPoolExecutor(workers) as pool:
        for case in cases:
            jobs = [case._replace(seed=int(s)) for s in seeds]
            found = list(pool.map(replicate, jobs))
            cells = []
            for method in case.methods:
                mine = [x[method] for x in found if method in x]
                if len(mine) < replications / 2:
                    cells.append("–")
                    continue
                rmse = 100 * np.sqrt(np.mean([x.error**2 for x in mine], axis=0)).mean()
                cover = np.mean([x.covered for x in mine], axis=0)
                warned = np.mean([x.warned for x in mine])
                told = f" / w{warned:.2f}" if warned else ""
                cells.append(f"{rmse:.2f} / {cover.mean():.2f} / {cover.min():.2f}{told}")
            what = "counts" if case.counts else "totals"
            yield f"| {case.name}, {what}, {case.design}, {case.n} | " + " | ".join(cells) + " |"


def main() -> None:
    """Read the options and print the tables."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--replications", type=int, default=200)
    ask.add_argument("--only", default=",".join([*REAL, "webshops", *SIMULATED]))
    ask.add_argument("--sizes", default="50,200,500")
    ask.add_argument("--designs", default=",".join(DESIGNS))
    ask.add_argument("--methods", default=",".join(METHODS))
    ask.add_argument("--figures", default="totals,counts")
    ask.add_argument("--seed", type=int, default=None)
    ask.add_argument("--workers", type=int, default=None, help="processes; default: all cores")
    ask.add_argument("--short", action="store_true", help="two sets, n = 200, 20 replications")
    given = ask.parse_args()
    if given.short:
        given.only, given.sizes, given.designs = "cancer,iris", "200", "random,by_class"
        given.figures, given.replications = "totals", 20
    seed = given.seed or int(np.random.SeedSequence().generate_state(1)[0])
    methods = tuple(given.methods.split(","))
    cases = [
        Case(name, int(n), design, methods, figure == "counts", 0)
        for figure in given.figures.split(",")
        for design in given.designs.split(",")
        for n in given.sizes.split(",")
        for name in given.only.split(",")
    ]
    print(f"RMSE in % of the grand total (mean over classes) / coverage of 95% intervals / that of "
          f"the worst class / w: part of answers that warn. {given.replications} replications, "
          f"seed {seed}.\n")  # fmt: skip
    print(f"| data, figure, design, n | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
    for line in study(cases, given.replications, seed, given.workers):
        print(line, flush=True)


if __name__ == "__main__":
    main()
