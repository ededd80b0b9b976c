"""Check intervals of totals from sums, with heavy tails and many classes.

    python studies/missing_squares.py                # 15 classes, about half a minute
    python studies/missing_squares.py --accuracy 0.95

Cells of the grid of `trueup verify` with lognormal values (σ = 2), each with several populations.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from trueup.simulation import simulate
from trueup.study.replications import run_method
from trueup.verify.grid import UNITS, base_rates, draw_values, error_rates


def main() -> None:
    """Print coverage, error and width for each design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("classes", 15), ("n", 2000), ("populations", 40), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--accuracy", type=float, default=0.6)
    parser.add_argument("--rare", type=float, default=0.02)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    beta, P = base_rates(given.classes, given.rare), error_rates(given.classes, given.accuracy)
    s = np.repeat(np.arange(given.classes), np.round(UNITS * beta).astype(int))
    for design in ("random", "by_prediction"):
        rng, found = np.random.default_rng(given.seed), []
        for _ in range(given.populations):
            y, seed = draw_values("lognormal", s, rng), int(rng.integers(2**63))
            study = simulate(
                P, n=given.n, true=s, values=y, design=design, replications=4, seed=seed
            )
            it = run_method(study, "auto", len(study), rng=rng)
            truth, size = study.truth, study.truth.sum()
            inside = (it.lower <= truth) & (truth <= it.upper)
            found.append(
                (inside, ((it.estimate - truth) / size) ** 2, (it.upper - it.lower) / size)
            )
        cover, square, width = np.concatenate(found, axis=1)
        print(
            f"{design:14s} covered {cover.mean():.1%}, worst class {cover.mean(axis=0).min():.1%}, "
            f"RMSE {100 * square.mean() ** 0.5:.2f}% of the total, width {100 * width.mean():.2f}%",
            flush=True,
        )


if __name__ == "__main__":
    main()
