"""What is left of the start in the chains that draw a group's counts.

    python studies/group_chains.py

One group, 1,000 draws of P and a chain for each. The reference is plain data augmentation (units
given rates, rates given units in turn) of 1,500 sweeps, written here and nowhere else. `bias` is
the largest error of a class's mean, in posterior standard deviations (of at least 0.3 units); `sd`
are the smallest and the largest ratio of standard deviations. Where classes are rare in a large
group 1,500 sweeps of that have not arrived either, and come from the other side: `60` is the
largest difference from our own chains after 60 proposals.
"""

from __future__ import annotations

import argparse

import numpy as np

from trueup.aggregate.groups.allocate import allocate_groups

SITUATIONS = (  # classes, units, error rate, test units per class, κ, μ ~ Dir(this)
    (2, 20, 0.2, 50, 0.5, 5.0),
    (2, 500, 0.3, 50, 3.0, 5.0),
    (2, 20_000, 0.3, 50, 3.0, 5.0),
    (5, 200, 0.3, 50, 2.0, 5.0),
    (15, 100, 0.2, 100, 2.0, 5.0),
    (15, 1_000, 0.4, 100, 20.0, 5.0),
    (15, 5_000, 0.2, 100, 2.0, 5.0),
    (15, 50_000, 0.3, 60, 4.0, 5.0),
    (15, 100_000, 0.15, 200, 20.0, 5.0),
    (2, 70, 0.3, 100, 1.0, 1.0),
    (3, 30, 0.3, 100, 0.3, 1.0),
    (6, 5_000, 0.3, 100, 1.0, 1.0),
    (10, 300, 0.3, 100, 0.1, 1.0),
    (20, 500, 0.2, 200, 20.0, 1.0),
    (20, 5_000, 0.15, 200, 1.0, 1.0),
    (20, 20_000, 0.2, 200, 3.0, 1.0),
)
DRAWS = 1_000
LONG = 1_500
FAR = 60
REPEATS = 4
LEAST = 0.3


def make(
    K: int, units: int, error: float, n: int, kappa: float, even: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give draws of P and of κμ, and the predicted counts of one group."""
    truth = np.eye(K) * (1 - error) + error * rng.dirichlet(np.ones(K), K)
    P = np.stack([rng.dirichlet(n * truth[g] + 1 / K, DRAWS) for g in range(K)], axis=1)
    a = kappa * np.maximum(rng.dirichlet(np.full(K, even)), 0.003)
    v = rng.multinomial(units, rng.dirichlet(a))
    v_hat = sum(rng.multinomial(v[g], truth[g]) for g in range(K))
    return P, np.tile(a, (DRAWS, 1)), np.asarray(v_hat)


def augment(
    P: np.ndarray, a: np.ndarray, v_hat: np.ndarray, sweeps: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the true counts (R, K) by data augmentation, from rates like the predicted ones."""
    beta = rng.standard_gamma(a + v_hat)
    for _ in range(sweeps):
        c = np.maximum(beta[:, :, None] * P, 1e-200).swapaxes(1, 2)
        v = rng.multinomial(v_hat, c / c.sum(axis=2, keepdims=True)).sum(axis=1)
        beta = rng.standard_gamma(a + v)
    return v


def main() -> None:
    """Print a line for each situation."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    seed = parser.parse_args().seed or np.random.SeedSequence().entropy % 2**32
    rng = np.random.Generator(np.random.SFC64(seed))
    print(f"seed {seed}\n")
    print("  K    units  error  test     κ  Dir  bias          sd    60")
    for K, units, error, n, kappa, even in SITUATIONS:
        P, a, v_hat = make(K, units, error, n, kappa, even, rng)
        long = np.concatenate([augment(P, a, v_hat, LONG, rng) for _ in range(2)])
        mean, sd = long.mean(axis=0), long.std(axis=0)
        some = sd > LEAST
        every = [allocate_groups(P, a, v_hat[None], np.zeros((1, K)), rng) for _ in range(REPEATS)]
        found = np.concatenate(every)[:, 0]
        bias = np.abs(found.mean(axis=0) - mean) / np.maximum(sd, LEAST)
        ratio = (found.std(axis=0) / sd)[some]
        far = allocate_groups(P, a, v_hat[None], np.zeros((1, K)), rng, moves=FAR)[:, 0]
        rest = np.abs(found.mean(axis=0) - far.mean(axis=0)) / np.maximum(far.std(axis=0), LEAST)
        row = f"{bias.max():5.3f} {ratio.min():5.2f} {ratio.max():5.2f} {rest.max():5.3f}"
        print(f"{K:3} {units:8,} {error:6} {n:5} {kappa:5} {even:4.0f} {row}", flush=True)


if __name__ == "__main__":
    main()
