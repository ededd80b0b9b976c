"""Check intervals of totals whose values are 0 or 1 and depend on the error.

    python studies/zero_or_one.py                    # 300 replications, about 2 minutes
    python studies/zero_or_one.py --step 0.4         # nearly as before: its standard deviation

25% of 20,000 units are of class 0 and 10% of the predictions are wrong; 300 units are audited at
random. A row says how often a value is 1: of class 0 right and wrong, of class 1 right and wrong.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from trueup.api import correct
from trueup.draws.cells import implied
from trueup.verify.populations import audit
from trueup.verify.scenario import ask, whole

OFTEN = {
    "wrong units": ((0.1, 0.6), (0.1, 0.6)),
    "false negatives": ((0.1, 0.7), (0.1, 0.1)),
    "false positives": ((0.1, 0.1), (0.1, 0.7)),
    "few values": ((0.02, 0.2), (0.02, 0.2)),
    "a class": ((0.8, 0.8), (0.3, 0.3)),
    "alike": ((0.4, 0.4), (0.4, 0.4)),
}


def main() -> None:
    """Print coverage, error and width for each row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--step", type=float, default=implied.STEP)
    parser.add_argument("--only", default=",".join(OFTEN))
    parser.add_argument("--seed", type=int, default=50_000)
    given = parser.parse_args()
    implied.STEP = given.step
    warnings.simplefilter("ignore")
    for name in given.only.split(","):
        found = []
        for i in range(given.replications):
            rng = np.random.default_rng(given.seed + i)
            s = rng.choice(2, 20_000, p=[0.25, 0.75])
            wrong = (rng.random(20_000) < 0.1).astype(int)
            y = (rng.random(20_000) < np.array(OFTEN[name])[s, wrong]).astype(float)
            units = {"true": s, "predicted": np.where(wrong, 1 - s, s), "y": y}
            est, truth = ask(correct, rng, units, audit(units, 300, "random", rng), "totals")
            it, size = whole(est), truth.sum()
            inside = (it["lower"] <= truth) & (truth <= it["upper"])
            error, width = (it["estimate"] - truth)[0] / size, (it["upper"] - it["lower"])[0] / size
            found.append((inside.mean(), error**2, width))
        cover, square, width = np.mean(found, axis=0)
        print(
            f"{name:16s} covered {cover:.1%}, RMSE {100 * square**0.5:.2f}% of the total, "
            f"width {100 * width:.1f}%", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
