"""How much a whole correction costs, as a multiple of NumPy's own gamma draws of that size.

python bench/correct.py

`correct_counts` with 4,000 draws and everything on (joint, noise, permissible totals, audited
units, design check) against `Generator.standard_gamma` of (4000, K, K) at the same shapes, in one
run, each as the best of several rounds in turn. Must reach: 15 at K = 2 and 10 at K = 15.

Then `correct` of a table of 20,000 units with a value, which learns how error rates depend on it
(cells), against gamma draws of the cells' columns, (4000, K, K, 24). The ratio is for comparing two
commits: print it at both.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pyarrow as pa

import trueup as tu

DRAWS, ROUNDS, BANDS = 4000, 15, 24


def situation(K: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A random test set of 30 units per class and a population with heavy-tailed values."""
    P = np.full((K, K), 0.15 / (K - 1)) + (0.85 - 0.15 / (K - 1)) * np.eye(K)
    beta = np.linspace(2, 1, K) / np.linspace(2, 1, K).sum()
    theta = beta[:, None] * P
    cells = rng.multinomial(200_000, theta.ravel()).reshape(K, K)
    test = rng.multivariate_hypergeometric(cells.ravel(), 30 * K).reshape(K, K)
    v_hat = cells.sum(axis=0)
    return {
        "test": test,
        "predicted_counts": v_hat,
        "predicted_sums": 100.0 * v_hat,
        "predicted_squares": 50_000.0 * v_hat,
        "test_sums": 100.0 * test,
        "test_squares": 50_000.0 * test,
    }


def tables(K: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """Predictions of 20,000 units with lognormal values, and a random test set of 500."""
    true = rng.choice(K, 20_000, p=np.linspace(2, 1, K) / np.linspace(2, 1, K).sum())
    wrong = rng.random(len(true)) < 0.15
    predicted = np.where(wrong, rng.integers(K, size=len(true)), true)
    value = rng.lognormal(0.2 * true, 1.0)
    i = rng.choice(len(true), 500, replace=False)
    whole = pa.table({"predicted": predicted, "true": true, "value": value})
    return whole.drop_columns("true"), whole.take(i)


def best(function: object, rounds: list[float]) -> None:
    """Time one call, in processor time."""
    start = time.process_time()
    function()  # type: ignore[operator]
    rounds.append(time.process_time() - start)


def main() -> None:
    """Print the ratios."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    print(f"{DRAWS:,} draws; best of {ROUNDS} rounds in turn\n")
    print("K    gamma draws  correct_counts  ratio  counts only  ratio")
    for K in (2, 5, 15):
        numbers = situation(K, rng)
        a = numbers["test"] + 1 / K
        only = {name: numbers[name] for name in ("test", "predicted_counts")}
        times: list[list[float]] = [[], [], []]
        for _ in range(ROUNDS):
            best(lambda a=a, K=K: rng.standard_gamma(a, (DRAWS, K, K)), times[0])
            best(lambda numbers=numbers: tu.correct_counts(**numbers, seed=1), times[1])
            best(lambda only=only: tu.correct_counts(**only, seed=1), times[2])
        gamma, totals, counts = (1000 * min(rounds) for rounds in times)
        print(
            f"{K:<4} {gamma:8.2f} ms {totals:12.2f} ms {totals / gamma:6.1f} {counts:9.2f} ms "
            f"{counts / gamma:6.1f}"
        )
    print("\nK    gamma draws  correct with bands  ratio")
    for K in (2, 5):
        whole, audited = tables(K, rng)
        times = [[], []]
        for _ in range(ROUNDS):
            best(lambda K=K: rng.standard_gamma(0.5, (DRAWS, K, K, BANDS)), times[0])
            best(
                lambda x=whole, y=audited: tu.correct(x, y, value="value", design="random", seed=1),
                times[1],
            )
        gamma, cells = (1000 * min(rounds) for rounds in times)
        print(f"{K:<4} {gamma:8.2f} ms {cells:15.1f} ms {cells / gamma:6.1f}")


if __name__ == "__main__":
    main()
