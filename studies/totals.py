"""Do the intervals cover, and is the answer better than the paper's? Printed as tables.

python studies/totals.py                        everything, about 20 minutes of processor time
python studies/totals.py --replications 200     quicker
python studies/totals.py --only webshops        one table: webshops, classes, shifted
python studies/totals.py --only classes --tau 1e6    class means not tied to the population's

Every replication draws new predictions and a new test set from a fixed population, and calls
`trueup.correct_counts` as a user would. ± is one Monte Carlo standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

import trueup as tu
from trueup.aggregate import values as totals
from trueup.paper.webshops import webshops

Floats = NDArray[np.float64]
DRAWS = 2000
TAU = totals.TAU


@dataclass(frozen=True)
class Population:
    """True classes s, values y and error rates P; fixed over replications."""

    s: NDArray[np.int64]
    y: Floats
    P: Floats

    @property
    def truth(self) -> tuple[Floats, Floats]:
        """Counts and totals per true class."""
        K = len(self.P)
        return np.bincount(self.s, minlength=K), np.bincount(self.s, self.y, minlength=K)

    def predict(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a predicted class for every unit."""
        edges = self.P.cumsum(axis=1)[:, :-1]
        return (rng.random(len(self.s))[:, None] > edges[self.s]).sum(axis=1)

    def replicate(
        self, n: int, rng: np.random.Generator, base_rates: Floats | None = None
    ) -> dict[str, Any]:
        """Predict, audit n units at random (or others with these base rates), and count."""
        K, s_hat = len(self.P), self.predict(rng)
        numbers = {
            "predicted_counts": np.bincount(s_hat, minlength=K),
            "predicted_sums": np.bincount(s_hat, self.y, minlength=K),
            "predicted_squares": np.bincount(s_hat, self.y**2, minlength=K),
        }
        if base_rates is None:
            i = rng.choice(len(self.s), n, replace=False)
            cell = self.s[i] * K + s_hat[i]
            for name, weight in (
                ("test", None),
                ("test_sums", self.y[i]),
                ("test_squares", self.y[i] ** 2),
            ):
                numbers[name] = np.bincount(cell, weight, minlength=K * K).reshape(K, K)
        else:
            theta = (base_rates[:, None] * self.P).ravel()
            numbers["test"] = rng.multinomial(n, theta / theta.sum()).reshape(K, K)
        return numbers


def webshop_population(base_rate: float | None = None) -> Population:
    """The paper's companies; with another base rate, the first ones lose their class."""
    companies = webshops()
    s = companies.s.copy()
    if base_rate is not None:
        shops = np.flatnonzero(s == 0)
        keep = round(base_rate * len(s))
        s[shops[np.linspace(0, len(shops) - 1, len(shops) - keep).astype(int)]] = 1
    return Population(s, companies.y, np.array([[0.95, 0.05], [0.05, 0.95]]))


def class_population(shares: Floats, sigma: float, accuracy: float = 0.85) -> Population:
    """N = 20,000 lognormal values whose class means differ up to twofold."""
    N, K = 20_000, len(shares)
    sizes = np.round(shares * N).astype(int)
    sizes[0] += N - sizes.sum()
    means = np.linspace(1.0, 2.0, K)
    y = [
        100 * m * np.exp(sigma * ndtri((np.arange(k) + 0.5) / k) - sigma**2 / 2)
        for m, k in zip(means, sizes, strict=True)
    ]
    # errors go more to the next class than to the others
    P = np.full((K, K), (1 - accuracy) / (2 * max(K - 1, 1)))
    for g in range(K):
        P[g, (g + 1) % K] += (1 - accuracy) / 2
        P[g, g] = 0.0
        P[g, g] = 1 - P[g].sum()
    return Population(np.repeat(np.arange(K), sizes), np.concatenate(y), P)


def counts_only(numbers: dict[str, Any]) -> dict[str, Any]:
    """The same replication, counting units."""
    return {name: numbers[name] for name in ("test", "predicted_counts")}


def ask(numbers: dict[str, Any], **options: Any) -> dict[str, Any]:
    """One call, summarised: estimate, mean, covered or not is judged by the caller."""
    try:
        est = tu.correct_counts(**numbers, draws=DRAWS, **options)
    except tu.EstimateError:
        return {"failed": True}
    rows = est.rows()
    found = {
        name: np.array([np.nan if row[name] is None else row[name] for row in rows])
        for name in ("estimate", "mean", "lower", "upper")
    }
    found["impermissible"] = 0 if est.draws is None else int((est.draws < 0).any(axis=1).sum())
    return found


def replications(
    job: Callable[[int, np.random.SeedSequence], list[Any]], count: int, seed: int
) -> list[Any]:
    """Run a job on every core in equal parts, with a progress line."""
    parts = 20
    seeds = np.random.SeedSequence(seed).spawn(parts)
    sizes = [count // parts + (i < count % parts) for i in range(parts)]
    results = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for done, part in enumerate(pool.map(job, sizes, seeds), 1):
            results += part
            print(f"\r{done * 100 // parts}%", end="", file=sys.stderr, flush=True)
    print("\r    \r", end="", file=sys.stderr)
    return results


@dataclass(frozen=True)
class Job:
    """What to do in each replication: a test set of n and a call for each method."""

    population: Population
    n: int
    methods: dict[str, tuple[bool, dict[str, Any]]]  # label: (totals?, options)
    base_rates: Floats | None = None
    tau: float = totals.TAU

    def __call__(self, count: int, seed: np.random.SeedSequence) -> list[Any]:
        """Give a dict of answers per replication."""
        warnings.simplefilter("ignore")
        totals.TAU = self.tau
        rng, out = np.random.default_rng(seed), []
        for _ in range(count):
            numbers = self.population.replicate(self.n, rng, self.base_rates)
            answers = {}
            for label, (valued, options) in self.methods.items():
                given = numbers if valued else counts_only(numbers)
                answers[label] = ask(given, seed=int(rng.integers(2**32)), **options)
            out.append(answers)
        return out


def judge(answers: list[Any], label: str, truth: Floats, point: str = "estimate") -> dict[str, Any]:
    """MSE of a point estimate and coverage per class, over the replications that answered."""
    good = [a[label] for a in answers if "failed" not in a[label]]
    error = np.array([a[point] for a in good]) - truth
    inside = np.array([(a["lower"] <= truth) & (truth <= a["upper"]) for a in good])
    return {
        "mse": (error**2).mean(axis=0),
        "coverage": inside.mean(axis=0),
        "failed": len(answers) - len(good),
        "impermissible": sum(a["impermissible"] for a in good),
    }


def binomial_error(count: int) -> float:
    """One standard error of a coverage of 95%."""
    return float(np.sqrt(0.95 * 0.05 / count))


PAPER = {"noise": False, "design": "random"}
SHOWN = {
    "auto": ("auto totals", "estimate"),
    "auto, counts": ("auto counts", "estimate"),
    "the paper's median": ("constrained jeffreys", "estimate"),
    "the paper's mean": ("constrained jeffreys", "mean"),
    "bayes jeffreys": ("bayes jeffreys", "estimate"),
    **{x: (x, "estimate") for x in ("inverse", "calibrated", "difference", "test_set", "naive")},
}
"""Lines of the table of webshops: a call, and its median or mean."""


def study_webshops(count: int, seed: int) -> int:
    """The paper's setting: MSE against its methods, and coverage."""
    population = webshop_population()
    v, u = population.truth
    methods = {
        "auto totals": (True, {}),
        "auto counts": (False, {}),
        "inverse": (True, {"method": "inverse", "design": "random"}),
        "bayes jeffreys": (True, {"method": "bayes", "prior": "jeffreys", **PAPER}),
        "constrained jeffreys": (True, {"method": "constrained", "prior": "jeffreys", **PAPER}),
        "naive": (True, {"method": "naive"}),
        "calibrated": (True, {"method": "calibrated"}),
        "difference": (True, {"method": "difference"}),
        "test_set": (True, {"method": "test_set"}),
    }
    print(f"Webshops (N=18,939, β₁=0.075, p=q=0.05), random test set, {count:,} replications:")
    print(
        "RMSE in % of the webshops' turnover (counts: number); coverage of 95% intervals, "
        f"±{binomial_error(count):.3f};\nreplications without an answer, if any\n"
    )
    sizes, rows, bad = (50, 200, 2000), dict.fromkeys(SHOWN, ""), 0
    for n in sizes:
        answers = replications(Job(population, n, methods), count, seed + n)
        for label, (name, point) in SHOWN.items():
            truth = v if name == "auto counts" else u
            found = judge(answers, name, truth, point)
            bad += found["impermissible"] if label.startswith("auto") else 0
            error = 100 * np.sqrt(found["mse"][0]) / truth[0]
            covers = "–" if name == "naive" else f"{found['coverage'][0]:.3f}"
            rows[label] += f"{error:9.1f} {covers:>7} {found['failed'] or '':>4}"
    print(" " * 22 + "".join(f"{f'n = {n:,}':>17}     " for n in sizes).rstrip())
    print(" " * 22 + ("     RMSE  covers     " * len(sizes)).rstrip())
    for label, row in rows.items():
        print(f"{label:22}{row}".rstrip())
    print(f"impermissible draws of auto: {bad}\n")
    return bad


PRIORS = ("perks", "jeffreys")
SHARES_5 = np.array([0.45, 0.28, 0.15, 0.10, 0.02])
SHARES_15 = np.array([0.2, 0.15, 0.12, 0.1, 0.08, 0.07, 0.06, 0.05, 0.04, 0.035, 0.03, 0.02,
                      0.02, 0.015, 0.01])  # fmt: skip


def study_classes(count: int, seed: int) -> int:
    """K = 5 with a class of 2%, and K = 15: coverage per class, with Jeffreys beside."""
    bad = 0
    print(
        f"Coverage of 95% intervals, ±{binomial_error(count):.3f}: lowest and highest of the "
        f"classes, and of\nthe rarest one (2% of K = 5, 1% of K = 15); random test set, {count:,} "
        "replications\n"
    )
    print(" " * 17 + "".join(f"{prior:>15}" + " " * 11 for prior in PRIORS).rstrip())
    print("K   n     figure " + "     lowest highest rarest" * len(PRIORS))
    for shares, sizes, kinds in (
        (SHARES_5, (50, 200, 2000), ("counts", "totals")),
        (SHARES_15, (500,), ("counts", "totals")),
    ):
        population = class_population(shares, sigma=1.0)
        v, u = population.truth
        K = len(shares)
        for n in sizes:
            methods = {
                f"{prior} {kind}": (kind == "totals", {"prior": prior})
                for prior in PRIORS
                for kind in kinds
            }
            job = Job(population, n, methods, tau=TAU)
            answers = replications(job, count, seed + K + n)
            for kind, truth in (("counts", v), ("totals", u)):
                cells = ""
                for prior in PRIORS:
                    result = judge(answers, f"{prior} {kind}", truth)
                    bad += result["impermissible"]
                    cover = result["coverage"]
                    cells += f"{cover.min():12.3f} {cover.max():6.3f} {cover[-1]:6.3f}"
                print(f"{K:<3} {n:<5,} {kind:8}{cells}")
    print(f"impermissible draws: {bad}\n")
    return bad


def study_shifted(count: int, seed: int) -> int:
    """A test set with base rate 0.5: `auto` covers, and `joint` is badly wrong."""
    bad = 0
    shifted = {"design": "shifted"}
    names = ("auto", "full", "joint", "inverse", "calibrated")
    print(
        f"Test base rate 0.5, {count:,} replications: RMSE in parts of that of `auto`, and "
        f"coverage\nof 95% intervals, ±{binomial_error(count):.3f}; of the class of base rate β₁\n"
    )
    print("β₁     n      figure" + "".join(f"{name:>13}" for name in names))
    for base_rate in (0.075, 0.02):
        population = webshop_population(base_rate)
        v, u = population.truth
        for n in (50, 2000):
            methods: dict[str, tuple[bool, dict[str, Any]]] = {}
            for kind in ("counts", "totals"):
                valued = kind == "totals"
                methods[f"auto {kind}"] = (valued, shifted)
                for name in names[1:]:
                    methods[f"{name} {kind}"] = (valued, {"method": name, **shifted})
            answers = replications(
                Job(population, n, methods, np.array([0.5, 0.5])), count, seed + n
            )
            for kind, truth in (("counts", v), ("totals", u)):
                table = {
                    label.split()[0]: judge(answers, label, truth)
                    for label in methods
                    if label.endswith(kind)
                }
                own = np.sqrt(table["auto"]["mse"][0])
                bad += table["auto"]["impermissible"]
                cells = [
                    f"{np.sqrt(r['mse'][0]) / own:7.2f} {r['coverage'][0]:.3f}"
                    for r in table.values()
                ]
                print(f"{base_rate:<6} {n:<6,} {kind}" + "".join(cells))
    print(f"impermissible draws of auto: {bad}\n")
    return bad


STUDIES = {
    "webshops": (study_webshops, 4000),
    "classes": (study_classes, 600),
    "shifted": (study_shifted, 400),
}
"""Each study, and its replications."""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(STUDIES))
    parser.add_argument("--tau", type=float, default=totals.TAU)
    options = parser.parse_args()
    TAU = options.tau
    for name, (study, usual) in STUDIES.items():
        if options.only in (None, name):
            study(options.replications or usual, options.seed)
