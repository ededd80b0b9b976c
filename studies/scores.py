"""Counts with a classifier's scores: what they gain, and whether spoilt ones do harm.

    python studies/scores.py                                   # random test sets, n = 100 and 500
    python studies/scores.py --design shifted                  # balanced test sets from elsewhere
    python studies/scores.py --design shifted --quapy          # and QuaPy's quantifiers
    python studies/scores.py --design by_score                 # labels drawn by score, n = 100
    python studies/scores.py --exact --sizes 100               # their design variance, no estimate
    python studies/scores.py --cost                            # what the scan costs with a score

Classifiers and data are those of `real_classifiers.py`, with their probabilities; a new classifier
is trained for every replication. MSE is summed over classes, and divided by that of hard classes on
the same data. Scores are used as they are, and spoilt: sharpened (log odds times 3), flattened
(times 1/3), shifted (log odds minus 2), cubed; each replication spoils them in one way, in turn,
`spoilt`. The last line has the means over the lines above.
`PPI++` is that of Angelopoulos et al. on the classifier's own probabilities of all classes; `PCC`,
their sum (probabilistic classify and count), and `EM`, that of Saerens et al. (2002), believe them.

With `--design by_score` hard classes are those of random test sets, and `drawn` is a test set of
the same size that `trueup.draw` drew by score. Besides the classifiers above, which learned from 25
to 200 units with few features, there are four that were trained on more.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import ratio, with_error
from pyarrow import csv
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueup
from trueup.audit.allocate import BAND
from trueup.audit.score_bands import score_bands, with_scores
from trueup.count.gather import gather
from trueup.count.names import Columns
from trueup.read import open_table
from trueup.verify.populations import SPOILT, learned, spoil

SETS = ("cancer", "rare_cancer", "wine", "iris", "imbalanced_5", "imbalanced_20")
WAYS = [way for way in SPOILT if way != "as it is"]
USUAL = {"random": ("100,500", 150), "shifted": ("50,200", 24), "by_score": ("100", 80)}
"""Sizes of the test set, and replications, of each design."""
PEERS = ["BayesianCC", "BayesianKDEy", "PQ"]
UNSURE = ("EM", "PCC")
"""Ways without an interval."""
TRAINED = ("parity", "digit_8", "cancer_200", "imbalanced_4000")


class Case(NamedTuple):
    """One replication to run."""

    name: str
    n: int
    design: str
    number: int
    seed: int
    quapy: bool = False


def population(name: str, N: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Train a classifier; return true class, predicted class and probabilities of N units."""
    if name not in TRAINED:
        units = learned(name, rng, N)
        return units["true"], units["predicted"], units["P"]
    X, s, size, model = trained(name, rng)
    while True:
        order = rng.permutation(len(s))
        train, held = order[:size], order[size:]
        if len(np.unique(s[train])) == len(np.unique(s)):
            break
    model = model.fit(X[train], s[train])
    i = rng.choice(len(held), N)
    P = np.clip(model.predict_proba(X[held])[i], 1e-6, 1.0)
    P = P * np.exp(0.02 * rng.standard_normal(P.shape))
    return s[held][i], model.predict(X[held])[i], P / P.sum(axis=1, keepdims=True)


def trained(name: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return features, classes, how many units to train on, and a model: many units."""
    seed = int(rng.integers(2**31))
    digits, cancer = datasets.load_digits(), datasets.load_breast_cancer()
    found = {
        "parity": (digits.data, digits.target % 2, 400),
        "digit_8": (digits.data, (digits.target == 8).astype(int), 600),
        "cancer_200": (cancer.data[:, :10], cancer.target, 200),
    }
    if name == "imbalanced_4000":
        X, s = datasets.make_classification(
            12_000, 8, n_informative=4, weights=[0.8], class_sep=0.8, flip_y=0.02, random_state=seed
        )
        found[name] = X[:, :5], s, 4_000
    models = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        RandomForestClassifier(100, random_state=seed),
    )
    return *found[name], models[int(rng.integers(2))]


def exact(case: Case) -> tuple[float, float, float]:
    """Return the design variance of hard classes, of labels drawn by score, and by spoilt scores.

    That of Σ N_j mean_j over strata, summed over classes, with the true shares of every stratum:
    for predicted classes with labels in proportion, and for those that `trueup.draw` makes.
    """
    rng = np.random.default_rng(case.seed)
    s, h, P = population(case.name, 5_000, rng)
    p = P[np.arange(len(s)), h]
    bent = spoil(p, WAYS[case.number % len(WAYS)])
    found = [variance(h, s, {label: case.n * (h == label).mean() for label in np.unique(h)})]
    for score in (p, bent):
        table = pa.table({"id": np.arange(len(s)), "predicted": h, "p": score})
        try:
            work = trueup.draw(table, case.n, id="id", score="p", seed=case.seed).to_pandas()
        except trueup.TrueupError:  # no order in it: by prediction, as its message advises
            found.append(found[0])
            continue
        banded = with_scores(open_table(table, "predictions"), "predicted", ("p",), None)
        keys = banded.rows(["predicted", BAND])
        bands = score_bands(banded.tally(["predicted", BAND], None), work_bands(work))
        cell = np.array([f"predicted={key[0]}, score={bands.names[key]}" for key in keys])
        found.append(variance(cell, s, work.groupby("stratum").size().to_dict()))
    return found[0], found[1], found[2]


def work_bands(work: Any) -> int:
    """Return how many bands a work list was drawn within at most."""
    return int(json.loads(work["drawn"][0].removeprefix("trueup draw "))["score_bands"])


def variance(cell: np.ndarray, s: np.ndarray, labels: dict[Any, float]) -> float:
    """Σ_j N_j² c_j(1 − c_j)(1/n_j − 1/N_j), summed over classes."""
    total = 0.0
    for j, n in labels.items():
        mine = s[cell == j]
        c = np.bincount(mine) / len(mine)
        total += len(mine) ** 2 * float((c * (1 - c)).sum()) * (1 / n - 1 / len(mine))
    return total


def print_exact(given: argparse.Namespace, seed: int) -> None:
    """Print the design variance of labels drawn by score in parts of that of hard classes."""
    print("| data, n | drawn by score | by spoilt scores |\n|---|---|---|")
    for n in map(int, given.sizes.split(",")):
        for name in given.only.split(",") if given.only else (*SETS, *TRAINED):
            seeds = np.random.SeedSequence([seed, n]).generate_state(given.replications)
            rows = [exact(Case(name, n, "by_score", r, int(x))) for r, x in enumerate(seeds)]
            hard, *drawn = np.mean(rows, axis=0)
            print(f"| {name}, {n} | {drawn[0] / hard:.2f} | {drawn[1] / hard:.2f} |", flush=True)


def ppi(P: np.ndarray, s: np.ndarray, i: np.ndarray) -> tuple[np.ndarray, ...]:
    """PPI++ of each class on its probabilities: estimate and 95% interval."""
    N, n, found = len(P), len(i), []
    for g, f in enumerate(P.T):
        a = (s[i] == g).astype(float)
        spread = (1 + n / N) * np.var(np.r_[f, f[i]], ddof=1)
        lam = float(np.clip(np.cov(a, f[i], ddof=0)[0, 1] / spread, 0, 1)) if spread > 0 else 0.0
        estimate = lam * f.sum() + N * (a - lam * f[i]).mean()
        half = 1.96 * N * np.sqrt(lam**2 * f.var() / N + (a - lam * f[i]).var() / n)
        found.append((estimate, estimate - half, estimate + half))
    return tuple(np.array(found).T)


def em(P: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Shares of classes by the EM of Saerens, Latinne and Decaestecker (2002)."""
    beta = prior.copy()
    for _ in range(500):
        each = P * (beta / prior)
        beta = (each / each.sum(axis=1, keepdims=True)).mean(axis=0)
    return beta


def replicate(case: Case) -> dict[str, tuple[float, float]]:
    """Return the squared error, summed over classes, and the coverage of each way."""
    rng = np.random.default_rng(case.seed)
    s, h, P = population(case.name, 12_000 if case.design == "shifted" else 5_000, rng)
    p = P[np.arange(len(s)), h]
    K = P.shape[1]
    if case.design != "shifted":
        i, inside = rng.choice(len(s), case.n, replace=False), np.arange(len(s))
    else:  # a balanced test set, and a population with other base rates
        pool = np.arange(6_000, 12_000)
        i = np.concatenate([rng.choice(pool[s[pool] == g], case.n // K) for g in range(K)])
        keep = rng.dirichlet(np.full(K, 2.0))
        inside = np.flatnonzero(rng.random(6_000) < (keep / keep.max())[s[:6_000]])
    N = len(inside)
    truth = np.array([(s[inside] == g).sum() for g in range(K)])
    how = WAYS[case.number % len(WAYS)]
    columns = {"id": np.arange(len(s)), "predicted": h, "as it is": p, how: spoil(p, how)}
    table = pa.table({name: x[inside] for name, x in columns.items()})
    test = pa.table({name: x[i] for name, x in columns.items()} | {"true": s[i]})
    found: dict[str, tuple[float, float]] = {}

    def add(name: str, estimate: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        held = np.where(np.isnan(lower), np.nan, (lower <= truth) & (truth <= upper))
        covered = float(held.mean())
        found[name] = float((((estimate - truth) / N) ** 2).sum()), covered

    def drawn(score: str) -> Any:
        """Draw by score, and fill in the true classes; without any order in it, by prediction."""
        how: dict[str, Any] = {"id": "id", "seed": case.seed}
        try:
            work = trueup.draw(table, case.n, score=score, **how)
        except trueup.TrueupError:  # as its message advises
            work = trueup.draw(table, case.n, by_prediction=True, allocation="proportional", **how)
        return work.set_column(work.column_names.index("true"), "true", [s[work["id"]]])

    ways: list[tuple[str, Any, dict[str, Any]]] = [
        ("hard", test, {}), ("score", test, {"score": "as it is"}), ("spoilt", test, {"score": how})
    ]  # fmt: skip
    if case.design == "by_score":
        ways[1:] = [("score", drawn("as it is"), {}), ("spoilt", drawn(how), {})]
    elif case.design == "shifted":
        del ways[2:]
    for name, audited, options in ways:
        options |= {"design": "shifted"} if case.design == "shifted" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = trueup.correct(
                table, audited, classes=list(range(K)), draws=500, seed=case.seed, **options
            )
        add(name, *(np.array([r[k] for r in est.rows()]) for k in ("estimate", "lower", "upper")))
    if case.design == "by_score":
        return found
    nothing = np.full(K, np.nan)
    if case.design == "random":
        add("PPI++", *ppi(P, s, i))
    else:
        add("EM", N * em(P[inside], P[i].mean(axis=0)), nothing, nothing)
    add("PCC", P[inside].sum(axis=0), nothing, nothing)
    if case.quapy:
        from quapy_peers import quapy_answers

        for name, shares in quapy_answers(h, P, s, i, inside).items():
            add(name, *(N * x for x in shares))
    return found


def line(found: list[dict[str, tuple[float, float]]], ways: list[str]) -> list[str]:
    """Coverage of hard classes; of each way that, and the MSE in parts of that of hard classes."""
    hard = [x["hard"][0] for x in found]
    cells = [with_error([x["hard"][1] for x in found])]
    for way in ways:
        if way not in UNSURE:
            cells.append(with_error([x[way][1] for x in found]))
        cells.append(ratio([x[way][0] for x in found], hard))
    return cells


def cost(rows: int) -> None:
    """Print the processor time of counting a file, with a score and without."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "predicted": rng.choice(["a", "b"], rows),
            "p": np.round(rng.beta(6, 2, rows), 6),
            "y": np.round(rng.lognormal(3, 1, rows), 2),
        }
    )
    few = table.slice(0, 400)
    test = open_table(few.append_column("true", few["predicted"]), "the test set")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, f"{folder}/all.parquet")
        csv.write_csv(table, f"{folder}/all.csv")
        for kind in ("parquet", "csv"):
            for value in (None, "y"):
                seconds: dict[str | None, float] = {None: np.inf, "p": np.inf}
                for _ in range(5):
                    for score in seconds:
                        start = time.process_time()
                        columns = Columns(value=value, score=score)  # type: ignore[arg-type]
                        whole = open_table(f"{folder}/all.{kind}", "predictions")
                        gather(whole, test, columns, overlap=False, bands=True)
                        seconds[score] = min(seconds[score], time.process_time() - start)
                what = "totals" if value else "counts"
                print(
                    f"{rows:,} rows, {kind}, {what}: {seconds[None]:.2f} s of processor time, with "
                    f"a score {seconds['p']:.2f} s, {seconds['p'] / seconds[None]:.1f} times."
                )


def main() -> None:
    """Read the options and print the table."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--replications", type=int, default=None)
    ask.add_argument("--only", default=None)
    ask.add_argument("--sizes", default=None)
    ask.add_argument("--design", choices=["random", "shifted", "by_score"], default="random")
    ask.add_argument("--quapy", action="store_true", help="see quapy_peers.py; shifted only")
    ask.add_argument("--seed", type=int, default=20)
    ask.add_argument("--workers", type=int, default=None, help="processes; default: all cores")
    ask.add_argument("--exact", action="store_true", help="design variances, drawn by score")
    ask.add_argument("--cost", action="store_true", help="print what the scan costs, no more")
    ask.add_argument("--rows", type=int, default=4_000_000, help="of the file for --cost")
    given = ask.parse_args()
    if given.cost:
        cost(given.rows)
        return
    seed, (sizes, replications) = given.seed, USUAL[given.design]
    sizes, replications = given.sizes or sizes, given.replications or replications
    if given.exact:
        given.sizes, given.replications = given.sizes or "100", replications
        print_exact(given, seed)
        return
    if given.quapy and given.design != "shifted":
        ask.error("--quapy needs --design shifted")
    ways = {
        "random": ["score", "spoilt", "PPI++", "PCC"],
        "shifted": ["score", "EM", "PCC", *(PEERS if given.quapy else [])],
        "by_score": ["score", "spoilt"],
    }[given.design]
    only = given.only or ",".join((*SETS, *(TRAINED if given.design == "by_score" else ())))
    heads = [x for way in ways for x in ([] if way in UNSURE else [way]) + [f"{way} MSE"]]
    print(f"{'data':15s}{'n':>5s}  {'hard':11s}" + "".join(f"{head:12s}" for head in heads))
    every = []
    with ProcessPoolExecutor(given.workers) as pool:
        for n in map(int, sizes.split(",")):
            for name in only.split(","):
                seeds = np.random.SeedSequence([seed, n]).generate_state(replications)
                cases = [Case(name, n, given.design, r, int(x), given.quapy)
                         for r, x in enumerate(seeds)]  # fmt: skip
                cells = line(list(pool.map(replicate, cases)), ways)
                print(f"{name:15s}{n:5d}  " + "".join(f"{cell:12s}" for cell in cells), flush=True)
                every.append([float(cell.split("±")[0]) for cell in cells])
    means = "".join(f"{x:<12.2f}" for x in np.mean(every, axis=0))
    print(f"{'mean':20s}  {means}".rstrip())


if __name__ == "__main__":
    main()
