"""Totals and counts with real classifiers, every method side by side, through `trueup.correct`.

    python studies/real_classifiers.py                # totals; also: designs, steep
    python studies/real_classifiers.py --short        # the form that CI runs
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
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import trueup
from trueup.paper.webshops import predict, webshops
from trueup.verify.populations import audit, learned, valued

TABLES: dict[str, dict[str, str | int]] = {
    "totals": {},
    "designs": {
        "only": "rare_cancer,cancer", "designs": "random,by_class,shifted", "sizes": "200",
        "figures": "totals,counts", "methods": "auto,constrained,naive", "replications": 60,
    },
    "steep": {
        "only": "rising:1.2:1,giants:12:1", "designs": "random", "sizes": "300,1000",
        "methods": "auto,difference", "replications": 200,
    },
}  # fmt: skip
"""Tables of docs/studies.md: what each has other than the defaults."""


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


def root_mean_square(found: list[Outcome]) -> float:
    """Return the RMSE in % of the grand total, its mean over the classes."""
    return float(100 * np.sqrt(np.mean([x.error**2 for x in found], axis=0)).mean())


def compared(found: list[dict[str, Outcome]], methods: tuple[str, ...]) -> dict[str, float]:
    """Return the RMSE of the first method in parts of each other one's, where both answered.

    A method that answered less than half of the time is left out.
    """
    ratios = {}
    for method in methods[1:]:
        both = [x for x in found if method in x]
        if len(both) >= len(found) / 2:
            ours, other = ([x[name] for x in both] for name in (methods[0], method))
            ratios[method] = root_mean_square(ours) / root_mean_square(other)
    return ratios


def summary(found: list[Outcome]) -> tuple[str, float, float]:
    """Return a text, the coverage and its standard error."""
    # classes share a test set: a replication is one observation
    cover = np.array([x.covered.mean() for x in found])
    worst = np.mean([x.covered for x in found], axis=0).min()
    warned = 100 * np.mean([x.warned for x in found])
    text = f"{cover.mean():7.2f} {worst:.2f} {warned:3.0f}%"
    return text, float(cover.mean()), float(cover.std() / np.sqrt(len(cover)))


def main() -> None:
    """Read the options and print a table."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("table", nargs="?", choices=TABLES, default="totals")
    ask.add_argument("--replications", type=int, default=200)
    ask.add_argument("--only", default="imbalanced_20,imbalanced_5,rare_cancer,cancer,wine,iris")
    ask.add_argument("--sizes", default="50,200,500")
    ask.add_argument("--designs", default="random,by_prediction")
    ask.add_argument("--methods", default="auto,difference,calibrated,test_set")
    ask.add_argument("--figures", default="totals")
    ask.add_argument("--seed", type=int, default=20261119)
    ask.add_argument("--workers", type=int, default=None, help="processes; default: all cores")
    ask.add_argument("--short", action="store_true", help="two sets, n = 200, 20 replications")
    ask.set_defaults(**TABLES[ask.parse_known_args()[0].table])
    given = ask.parse_args()
    if given.short:
        given.only, given.sizes, given.designs = "cancer,iris", "200", "random,by_class"
        given.replications = 20
    methods, sizes = tuple(given.methods.split(",")), [int(n) for n in given.sizes.split(",")]
    seeds = np.random.SeedSequence(given.seed).generate_state(given.replications).tolist()
    alone = len(sizes) == 1  # then there is space for more columns
    print(
        f"{methods[0]}, {given.figures}, {given.replications} replications: coverage of 95% "
        "intervals (mean over classes), of the\nworst class, answers that warn; RMSE "
        f"{'in % of the grand total, and ' if alone else ''}in parts of that of "
        f"{'others' if alone else 'the best of ' + ', '.join(methods[1:])}\n"
    )
    rows = [*product(*(x.split(",") for x in (given.figures, given.designs, given.only)))]
    few = len(given.figures.split(",")) > 1
    labels = [", ".join(row if few else row[1:]) for row in rows]
    label, names = max(map(len, labels)), methods[1:] if alone else ("best",)
    print(" " * label + "".join(f"   n = {n:,}".ljust(24) for n in sizes).rstrip())
    head = " covers worst warn " + ("   RMSE" if alone else "")
    head += "".join(f" /{name[:4]}" for name in names)
    print(" " * label + (head * len(sizes)).rstrip())
    ratios, covers, errors = [], [], []
    with ProcessPoolExecutor(given.workers) as pool:
        for text, (figure, design, name) in zip(labels, rows, strict=True):
            line = text.ljust(label)
            for n in sizes:
                case = Case(name, n, design, methods, figure == "counts", 0)
                found = list(pool.map(replicate, [case._replace(seed=seed) for seed in seeds]))
                mine = [x[methods[0]] for x in found]
                rmse, (said, covered, error) = root_mean_square(mine), summary(mine)
                ratio = compared(found, methods)
                ratio["best"] = max(ratio.values(), default=np.nan)
                ratios.append(ratio["best"])
                covers.append(covered)
                errors.append(error)
                line += said + (f" {rmse:6.2f}" if alone else "")
                line += "".join(f" {ratio[m]:5.2f}" if m in ratio else "     –" for m in names)
            print(line, flush=True)
    print(
        f"\n{methods[0]} has the smallest error in {sum(x <= 1 + 1e-9 for x in ratios)} of "
        f"{len(ratios)} cases ({min(ratios):.2f} to {max(ratios):.2f} of the next best's).\n"
        f"Its intervals cover {min(covers):.2f} to {max(covers):.2f}, ± {max(errors):.2f} or less."
    )


if __name__ == "__main__":
    main()
