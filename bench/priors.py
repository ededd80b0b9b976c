"""How long a prior that is not conjugate takes: by weights, and by NUTS, compilation included.

python bench/priors.py

K = 3, logistic-normal rows, 4,000 draws (4 chains × 1,000 after 500 of warm-up), in a fresh
process. The issue's line: under 60 s the first time; the paper says several minutes. Wall and CPU
seconds are printed, and the ratio of wall times to that of the conjugate prior in the same run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import trueup as tu
from trueup.draws import rates

TEST = [[40, 6, 4], [3, 30, 5], [2, 4, 20]]
V_HAT = [5_000, 3_000, 2_000]


def correct(design: str, prior: object) -> tu.Estimate:
    """One estimate with 4,000 draws."""
    return tu.correct_counts(TEST, V_HAT, design=design, prior=prior, seed=1)


def seconds(function: Callable[[], tu.Estimate]) -> tuple[float, float, tu.Estimate]:
    """Wall and CPU seconds of a call, and its answer."""
    wall, processor = time.perf_counter(), time.process_time()
    est = function()
    return time.perf_counter() - wall, time.process_time() - processor, est


def main() -> None:
    """Print a line per call."""
    warnings.simplefilter("ignore")
    normal = tu.prior.logistic_normal(error=0.2, sd=0.8)
    enough = rates.ENOUGH
    print("K = 3, 4,000 draws\n")
    print(f"{'design':10}{'prior':34}{'wall s':>9}{'CPU s':>9}{'ratio':>9}  sampler, R-hat, ESS")
    for design in ("random", "shifted"):
        correct(design, "perks")  # SciPy and the compiled kernel are loaded
        rates.ENOUGH = enough
        calls = {
            "perks, conjugate": ("perks", enough),
            "logistic-normal, by weights": (normal, enough),
            "logistic-normal, NUTS, first call": (normal, 2.0),  # weights never do
            "logistic-normal, NUTS, again": (normal, 2.0),
        }
        least = None
        for name, (prior, needed) in calls.items():
            rates.ENOUGH = needed
            wall, processor, est = seconds(lambda d=design, p=prior: correct(d, p))
            least = least or wall
            rhat = "–" if est.info["rhat"] is None else f"{est.info['rhat']:.3f}"
            how = f"{est.info.get('sampler') or 'direct'}, {rhat}, {est.info['ess']:,.0f}"
            ratio = f"{wall / least:,.0f}"
            print(f"{design:10}{name:34}{wall:9.3f}{processor:9.3f}{ratio:>9}  {how}", flush=True)


if __name__ == "__main__":
    main()
