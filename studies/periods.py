"""One audit or two, 24 months: how well levels and 12-month growth are known.

    python studies/periods.py                # counts
    python studies/periods.py totals

Months of 2,000 units; the audit is of 200 in month 6, or of 100 each in months 6 and 18. Base rates
are constant, trending, seasonal or jumping; error rates are constant, or drift (the recall of the
first class falls by 0.8 points a month). Printed are the coverage of 95% intervals of levels and of
12-month growth, and our mean squared error over that of others (growth: median over cells):
naive; calibration carried over (Pr(true | predicted) of the audit); inversion (P of the audit); and
the audited month's calibrated level plus inverted changes, as in Kloos (2021).

Totals have lognormal values, in the first class three times as large and more
spread, that stay as they are (same), rise by 3% a month in all classes (rising) or in the first
alone (first), or are 1.8 times as large in November and December (season).
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from common import spread, with_error
from numpy.typing import NDArray

import trueup as tu
from trueup.verify.populations import grouped, months

MONTHS, UNITS = 24, 2000
KINDS = ("constant", "trend", "seasonal", "jump", "drift")
AUDITS: dict[str, dict[int, int]] = {"200 in 6": {6: 200}, "100 in 6, 18": {6: 100, 18: 100}}
VALUES = ("same", "rising", "first", "season")
Floats = NDArray[np.float64]


def values(kind: str | None, s: Any, rng: np.random.Generator) -> Floats:
    """Values (T, N) of units of true classes s (T, N)."""
    if kind is None:
        return np.ones(s.shape)
    month = np.arange(MONTHS)[:, None]
    level = {
        "same": 1.0,
        "rising": 1.03**month,
        "first": np.where(s == 0, 1.03**month, 1.0),
        "season": np.where(month % 12 >= 10, 1.8, 1.0),
    }[kind]
    spread = np.where(s == 0, 1.0, 0.5)
    mean = np.where(s == 0, 3.0, 1.0)
    return np.asarray(level * mean * rng.lognormal(-(spread**2) / 2, spread))


def one_series(kind: str, K: int, audits: dict[int, int], rng: np.random.Generator) -> Any:
    """Return true classes, predicted classes (T, N), and who was audited."""
    units = grouped(*months(kind, K, MONTHS), UNITS, rng)
    s, s_hat = (units[name].reshape(MONTHS, UNITS) for name in ("true", "predicted"))
    where = {t: rng.choice(UNITS, n, replace=False) for t, n in audits.items()}
    return s, s_hat, where


def others(K: int, s: Any, s_hat: Any, where: dict[int, Any], v_hat: Floats) -> dict[str, Floats]:
    """The comparators' levels (T, K)."""
    true = np.concatenate([s[t][i] for t, i in where.items()])
    seen = np.concatenate([s_hat[t][i] for t, i in where.items()])
    n = np.bincount(K * true + seen, minlength=K * K).reshape(K, K)
    c = n / np.maximum(n.sum(axis=0), 1)
    P = (n + 1 / K) / (n + 1 / K).sum(axis=1, keepdims=True)
    Q = np.linalg.inv(P)
    kloos = np.mean([v_hat[t] @ c.T + (v_hat - v_hat[t]) @ Q for t in where], axis=0)
    levels = {"naive": v_hat, "carried": v_hat @ c.T, "inverted": v_hat @ Q, "kloos": kloos}
    return {name: np.clip(x, 0, None) for name, x in levels.items()}


def growths(x: Floats) -> Floats:
    """Growth over twelve months, on the month axis before the last."""
    return np.asarray(x[..., 12:, :] / np.maximum(x[..., :-12, :], 1.0) - 1)


def replicate(
    kind: str, K: int, audits: dict[int, int], valued: str | None, seed: int
) -> tuple[list[float], list[tuple[float, float]]]:
    """Return coverage of levels and growth, and both squared errors of ours and the others."""
    rng = np.random.default_rng(seed)
    s, s_hat, where = one_series(kind, K, audits, rng)
    month, y = np.repeat(np.arange(MONTHS), UNITS), values(valued, s, rng)
    table = pa.table({"month": month, "predicted": s_hat.ravel(), "y": y.ravel()})
    if valued is None:
        table = table.drop_columns("y")
    rows = np.concatenate([UNITS * t + i for t, i in where.items()])
    test = table.take(rows).append_column("true", pa.array(s.ravel()[rows]))
    est = tu.correct(
        table, test, period="month", classes=list(range(K)), draws=2000,
        value=valued and "y", seed=int(rng.integers(2**31)),
    )  # fmt: skip
    assert est.groups is not None
    u = est.groups.draws
    v, v_hat = (np.stack([np.bincount(x[t], y[t], K) for t in range(MONTHS)])
                for x in (s, s_hat))  # fmt: skip
    inside = []
    for draws, truth in ((u, v), (growths(u), growths(v))):
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        inside.append(float(((low <= truth) & (truth <= high)).mean()))
    every = {"ours": np.median(u, axis=0)} | others(K, s, s_hat, where, v_hat)
    return inside, [
        (float(((x - v) ** 2).mean()), float(np.median((growths(x) - growths(v)) ** 2)))
        for x in every.values()
    ]


def cells(found: list[tuple[list[float], list[tuple[float, float]]]]) -> str:
    """Return the cells of one audit: coverage, and our MSE against naive and Kloos."""
    # months of a series share its audit: a series is one observation
    cover, mse = np.array([x[0] for x in found]), np.mean([x[1] for x in found], axis=0)
    _, naive, _, _, kloos = mse
    return "".join(
        f"  {with_error(cover[:, k])} "
        + " ".join(f"{mse[0, k] / x[k]:4.2f}" for x in (naive, kloos))
        for k in (0, 1)
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", choices=["counts", "totals"], default="counts")
    parser.add_argument("--replications", type=int)
    parser.add_argument("--only", choices=KINDS, nargs="+")
    parser.add_argument("--classes", type=int, nargs="+")
    parser.add_argument("--seed", type=int, default=2021)
    given = parser.parse_args()
    warnings.simplefilter("ignore", tu.TrueupWarning)
    counts = given.table == "counts"
    seeds = np.random.SeedSequence(given.seed).generate_state(
        given.replications or (48 if counts else 40)
    )
    print(
        f"{len(seeds)} replications: coverage of 95% intervals of levels and of 12-month growth; "
        "MSE in\nparts of that of naive figures and of Kloos\n"
    )
    print(f"{'':21}" + "".join(f"{f'audit of {name}':42}" for name in AUDITS).rstrip())
    head = "  level    /naive kloo" + "  growth   /naive kloo"
    print(f"{'':21}" + head * len(AUDITS))
    for K in given.classes or ((2, 4) if counts else (2,)):
        for valued, kind in product(
            (None,) if counts else VALUES, given.only or (KINDS if counts else ("constant", "jump"))
        ):
            line = f"K={K} {kind}{f', {valued}' if valued else ''}".ljust(21)
            for audits in AUDITS.values():
                if kind == "drift" and len(audits) == 1:
                    line += " " * 42
                else:
                    line += cells(spread(partial(replicate, kind, K, audits, valued), seeds))
            print(line, flush=True)


if __name__ == "__main__":
    main()
