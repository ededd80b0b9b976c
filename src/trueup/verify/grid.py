"""The grid of cases with a known truth, and what the product answers in each cell."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.draws.settings import DESIGNS, FROM_POPULATION
from trueup.estimate.methods import estimate
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.simulation import simulate
from trueup.study.replications import run_method
from trueup.verify.tally import Tally, tally

INTERVAL = 0.95
DRAWS = 1000
UNITS = 20_000
"""Units in each population."""
POPULATIONS = 5
"""Populations per cell, each with its own values: one draw of Pareto values says too little."""
CLASSES = (2, 3, 5, 15)
SIZES = (20, 50, 200, 2000)
RARE = (0.5, 0.1, 0.02)
ACCURACIES = (0.6, 0.8, 0.95)
VALUES = ("1", "gamma", "lognormal", "pareto")


@dataclass(frozen=True)
class Cell:
    """A case: classes, test units, share of the rarest class, accuracy, values and design."""

    K: int
    n: int
    rare: float
    accuracy: float
    values: str
    design: str
    replications: int
    section = "coverage"

    def __str__(self) -> str:
        return (
            f"K={self.K} n={self.n} rarest={base_rates(self.K, self.rare)[0]:.3g} "
            f"accuracy={self.accuracy:g} y={self.values} {self.design}"
        )


def base_rates(K: int, rare: float) -> Floats:
    """Shares of the true classes, the rarest first; the others differ unless all are equal.

    Examples
    --------
    >>> base_rates(3, 0.1), base_rates(2, 0.5)
    (array([0.1 , 0.36, 0.54]), array([0.5, 0.5]))
    """
    if rare >= 1 / K:
        return np.full(K, 1 / K)
    others = np.linspace(1.0, 1.5, K - 1)
    others *= (1 - rare) / others.sum()
    if others.min() < rare:  # so many classes that the others must be nearly equal
        others = np.full(K - 1, (1 - rare) / (K - 1))
    return np.concatenate([[rare], others])


def error_rates(K: int, accuracy: float) -> Floats:
    """P with `accuracy` on average: rows differ, so that a transposed matrix is a wrong one.

    Examples
    --------
    >>> error_rates(3, 0.8).round(3)
    array([[0.84 , 0.064, 0.096],
           [0.05 , 0.8  , 0.15 ],
           [0.08 , 0.16 , 0.76 ]])
    """
    away = 0.2 * (1 - accuracy) * np.linspace(1, -1, K)
    P = np.tile(np.arange(1.0, K + 1), (K, 1))
    np.fill_diagonal(P, 0.0)
    P *= (1 - accuracy - away)[:, None] / P.sum(axis=1, keepdims=True)
    np.fill_diagonal(P, accuracy + away)
    return P


def draw_values(name: str, s: Integers, rng: Rng) -> Floats | None:
    """Values of units whose classes are s: none for "1"; class means rise from 1 to 2."""
    if name == "1":
        return None
    if name == "gamma":
        y = rng.gamma(2.0, 0.5, len(s))
    elif name == "lognormal":
        y = np.exp(2.0 * rng.standard_normal(len(s)) - 2.0)
    else:  # Pareto with shape 1.5: a mean, no variance
        y = (1 + rng.pareto(1.5, len(s))) / 3.0
    return np.asarray(y * (1.0 + s / s.max()))


def every_cell(scale: float = 1.0) -> tuple[list[Cell], int]:
    """Return the cells of the grid and the number that was left out.

    With fifteen classes, the designs by_class and shifted need chains of ten seconds: few of those
    cells stay.
    """
    cells, left_out = [], 0
    for K, n, rare, accuracy, values, design in itertools.product(
        CLASSES, SIZES, RARE, ACCURACIES, VALUES, DESIGNS
    ):
        if rare != RARE[0] and rare >= 1 / K:
            continue  # equal shares again
        replications = {2: 100, 3: 60, 5: 40, 15: 20}[K]
        quick = (n, rare, accuracy) == (2000, 0.02, 0.95) and values in ("1", "lognormal")
        if K == 15 and design not in FROM_POPULATION and not quick:
            left_out += 1
            continue
        cells.append(
            Cell(K, n, rare, accuracy, values, design, max(5, round(scale * replications)))
        )
    return cells, left_out


def run_cell(cell: Cell, seed: int, answer: Callable[..., Any] = estimate) -> Tally:
    """Simulate the cell's replications and count what the answers cover.

    `answer` is the product's own function; a test puts a broken one in its place.
    """
    rng = np.random.default_rng(seed)
    beta, P = base_rates(cell.K, cell.rare), error_rates(cell.K, cell.accuracy)
    s = np.repeat(np.arange(cell.K), np.round(UNITS * beta).astype(int))
    populations = 1 if cell.values == "1" else POPULATIONS
    shares = np.diff(np.linspace(0, cell.replications, populations + 1).astype(int))
    found = []
    for replications in shares:
        study = simulate(
            P,
            n=cell.n,
            true=s,
            values=draw_values(cell.values, s, rng),
            design=cell.design,
            replications=max(1, int(replications)),
            seed=int(rng.integers(2**63)),
        )
        outcome = run_method(
            study, "auto", len(study), draws=DRAWS, interval=INTERVAL, rng=rng, answer=answer
        )
        truth, size = study.truth, study.truth.sum()
        slack = 1e-9 * size
        inside = (outcome.lower <= truth + slack) & (truth - slack <= outcome.upper)
        errors = (outcome.estimate - truth) / size, (study.naive - truth) / size
        said = outcome.warned, outcome.unproven
        found.append((np.isfinite(outcome.estimate[:, 0]), inside, *said, *errors))
    answered, *figures = (np.concatenate(x) for x in zip(*found, strict=True))
    return tally(cell, int((~answered).sum()), *(x[answered] for x in figures))
