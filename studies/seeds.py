"""How far printed figures move from seed to seed.

    python studies/seeds.py                       # 20 seeds
    python studies/seeds.py --seeds 20 --draws 4000

For the last class of each case: the printed estimate and ends of the interval over the seeds, as
`smallest…largest`, and in brackets how many of the seeds print the most frequent figure; then the
draws taken and the processor time, both as medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trueup as tu
from trueup.cli.demo import make_files
from trueup.present.tables import written

THREE = [[60, 8, 4], [6, 40, 9], [3, 7, 30]], [5200, 3100, 1700]
SUMS = [26e6, 40e6, 9e6], [4e11, 9e12, 3e11]
SHIFTED = [[45, 5], [12, 88]], [600, 2400]


def cases(folder: Path) -> dict[str, Callable[..., tu.Estimate]]:
    """Return the cases: README's demo, inverted rates, a chain, independent draws of totals."""
    *tables, _ = make_files(folder, 2019)
    demo = {"value": "turnover", "id": "company"}
    return {
        "README's demo": lambda **more: tu.correct(*tables, **demo, **more),
        "K=2, shifted": lambda **more: tu.correct_counts(*SHIFTED, design="shifted", **more),
        "K=3, by_class": lambda **more: tu.correct_counts(*THREE, design="by_class", **more),
        "K=3, totals": lambda **more: tu.correct_counts(*THREE, *SUMS, **more),
    }


def spread(texts: list[str]) -> str:
    """Write how far a printed figure moves: smallest…largest [how many print the same]."""
    ordered = sorted(texts, key=lambda x: float(x.replace(",", "")))
    low, high = ordered[0], ordered[-1]
    most = max(map(texts.count, texts))
    return f"{low} [{most}]" if most == len(texts) else f"{low}…{high} [{most}]"


def main() -> None:
    """Print a line for each case and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--draws", type=int)
    given = parser.parse_args()
    more: dict[str, Any] = {"draws": given.draws}  # None: more where the digits need them
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, run in cases(Path(folder)).items():
            rows, draws, seconds = [], [], []
            for seed in range(given.seeds):
                start = time.process_time()
                est = run(seed=seed, **more)
                seconds.append(time.process_time() - start)
                draws.append(est.info["draws"])
                rows.append(written(est)[-1])
            taken = f"{statistics.median(draws):,.0f} draws, {statistics.median(seconds):.2f} s"
            print(f"{name} ({taken})")
            for figure in ("estimate", "lower", "upper"):
                print(f"  {figure:9}", spread([row[figure] for row in rows]), flush=True)


if __name__ == "__main__":
    main()
