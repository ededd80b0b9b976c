"""Rates that depend on size, where the truth is known: one P for all against `prior.regression`.

    python studies/regression.py

20,000 companies with a lognormal turnover, of which 20% are webshops; the log odds of errors fall
with the logarithm of turnover. A random test set of 1,600. In the first population those are odds
of the true class given the prediction, as the model has it; in the second of the prediction given
the true class, for which that model is an approximation.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import trueup as tu
from trueup.errors import TrueupWarning

COMPANIES, AUDITED = 20_000, 1_600


def population(rng: np.random.Generator, of_truth: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give the companies, and those audited with their true class."""
    size = rng.normal(0, 1, COMPANIES)
    given = (rng.random(COMPANIES) < 0.2).astype(int)
    wrong = rng.random(COMPANIES) < 1 / (1 + np.exp(1.2 + 0.8 * size + (given == 0)))
    other = np.where(wrong, 1 - given, given)
    predicted, true = (given, other) if of_truth else (other, given)
    turnover = np.exp(3 + 1.5 * size)
    companies = pd.DataFrame({"predicted": predicted, "turnover": turnover, "true": true})
    return companies, companies.sample(AUDITED, random_state=int(rng.integers(2**31)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--populations", type=int, default=10)
    parser.add_argument("--seed", type=int, default=2019)
    given = parser.parse_args()
    warnings.simplefilter("ignore", TrueupWarning)
    print(f"{'errors linear in':18s} {'rates':8s} {'error / sd':>16s} {'covered':>8s} {'sd':>6s}")
    for of_truth in (True, False):
        for bins in (0, 8, 40):
            prior = tu.prior.regression("turnover", log=True, bins=bins) if bins else "perks"
            errors, covered, width = [], 0, []
            for child in np.random.SeedSequence(given.seed).spawn(given.populations):
                companies, audited = population(np.random.default_rng(child), of_truth)
                truth = companies.loc[companies["true"] == 1, "turnover"].sum()
                est = tu.correct(
                    companies.drop(columns="true"), audited, value="turnover", prior=prior,
                    draws=1000, seed=given.seed,
                )  # fmt: skip
                row = next(row for row in est.rows() if row["class"] == 1)
                errors.append((row["mean"] - truth) / row["sd"])
                covered += row["lower"] <= truth <= row["upper"]
                width.append(row["sd"] / truth)
            mean, error = np.mean(errors), np.std(errors) / np.sqrt(len(errors))
            print(
                f"{'columns' if of_truth else 'rows':18s} {f'{bins} bins' if bins else 'one P':8s} "
                f"{mean:8.2f} ± {error:.2f} {covered:5d}/{len(errors):<3d} {np.mean(width):5.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
