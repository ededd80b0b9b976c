"""What Table 1 costs beside the random numbers that it needs, and counts beside their N.

python bench/table1.py

Everything is timed in one process, in turn, and given as ratios: the clock of a shared machine
says little by itself. "Draws" are the calls of NumPy's generator for the same parameters and
sizes and nothing else: the gaps between misclassified companies and the Betas of both priors.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from trueup.paper.table1 import CELLS, PRINTED, PRIORS, table_1
from trueup.paper.webshops import ERROR_RATE, webshops
from trueup.simulation import simulate

REPLICATIONS, DRAWS, TURNS = 1000, 1000, 3


def fastest(*works: Callable[[], object]) -> list[float]:
    """The best of a few turns of each, taken alternately."""
    best = [np.inf] * len(works)
    for _ in range(TURNS):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def draws_only() -> Callable[[], None]:
    """The generator's calls of a Table 1 run, with the same parameters in the same blocks."""
    v = np.bincount(webshops().s)
    P = [[1 - ERROR_RATE, ERROR_RATE], [ERROR_RATE, 1 - ERROR_RATE]]
    tests = [
        simulate(
            P, n=n, N=int(v.sum()), base_rates=v, design=design, replications=REPLICATIONS, seed=1
        ).n
        for design in ("by_class", "random")
        for n in PRINTED
    ]
    rng = np.random.Generator(np.random.SFC64(1))
    step = CELLS // DRAWS

    def work() -> None:
        rng.standard_exponential(int(REPLICATIONS * v.sum() * ERROR_RATE))
        for test in tests:
            for alpha in PRIORS.values():
                for start in range(0, REPLICATIONS, step):
                    a = test[start : start + step] + alpha
                    rng.beta(a[:, 0, 1, None], a[:, 0, 0, None], (len(a), DRAWS))
                    rng.beta(a[:, 1, 0, None], a[:, 1, 1, None], (len(a), DRAWS))

    return work


def counting(N: int) -> Callable[[], object]:
    """Ten thousand replications of a count."""
    P = np.full((4, 4), 0.05) + 0.8 * np.eye(4)
    beta = [0.1, 0.2, 0.3, 0.4]
    return lambda: simulate(P, n=500, N=N, base_rates=beta, replications=10_000, seed=1)


if __name__ == "__main__":
    whole, draws = fastest(lambda: table_1(REPLICATIONS, DRAWS), draws_only())
    print(f"Table 1, {REPLICATIONS:,} replications: {whole:.2f} s")
    print(f"its random numbers alone:      {draws:.2f} s, ratio {whole / draws:.2f} (at most 3)")
    small, large = fastest(counting(10_000), counting(1_000_000))
    print(f"counts, N = 1,000,000 beside N = 10,000: ratio {large / small:.2f} (at most 1)")
