"""Twenty random test units: how often intervals of heavy-tailed totals cover, and warn.

    python studies/heavy_tails.py

Cells of the grid of `trueup verify`, each with more replications than there.
"""

from __future__ import annotations

import argparse
import warnings

from trueup.errors import TrueupWarning
from trueup.verify.grid import ACCURACIES, Cell, run_cell


def main() -> None:
    """Print the range over accuracies and classes, per share of the rarest class and values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--seed", type=int, default=2019)
    given = parser.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)
    error = 0.2179 / given.replications**0.5  # √(0.95 · 0.05)
    print(
        f"{given.replications} replications: coverage of 95% intervals ±{error:.1%}, and answers "
        "that warn, from the lowest\nto the highest over accuracies (and classes)\n"
    )
    print(f"{'classes':>7s} {'rarest':>7s} {'y':>7s} {'covered':>16s} {'warned':>14s}")
    for K in (2, 3):
        for rare in (0.1, 0.02):
            for values in ("1", "pareto"):
                covered, warned = [], []
                for accuracy in ACCURACIES:
                    cell = Cell(K, 20, rare, accuracy, values, "random", given.replications)
                    tally = run_cell(cell, given.seed)
                    covered += (tally.covered / tally.answered).tolist()
                    warned.append(tally.warned / tally.answered)
                print(
                    f"{K:7d} {rare:7.0%} {values:>7s} {min(covered):7.1%} to {max(covered):6.1%} "
                    f"{min(warned):5.0%} to {max(warned):4.0%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
