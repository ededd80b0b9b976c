"""Coverage of 95% intervals with `probability`, and how often few units are named behind them.

python studies/unequal.py                        600 replications (about 2 minutes)
python studies/unequal.py --replications 100     quicker

Every replication draws a population of 5,000 units with lognormal sizes and a test set with
probabilities in proportion to size (systematic, in random order).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtri, stdtrit

from trueup.audit.units import Units, few_behind, freedom, weighted_difference
from trueup.verify.populations import sized

N = 5000
USUAL, RARE = np.array([[0.8, 0.2], [0.1, 0.9]]), np.array([[0.7, 0.3], [0.02, 0.98]])
# spread of log size, test units, share of the class, whether size is totalled; without a share,
# the population of `trueup verify`, where a fifth is of the class and small units err most
CASES = [
    (1, 40, 0.2, False), (1, 150, 0.2, False), (1, 40, 0.2, True), (1, 150, 0.2, True),
    (1.5, 100, 0.2, False), (2, 40, 0.2, False), (2, 150, 0.2, False), (2, 600, 0.2, False),
    (2, 40, 0.2, True), (2, 150, 0.2, True), (1, 100, 0.03, False), (1, 100, 0.03, True),
    (1, 400, 0.03, False), (1, 50, None, False), (1, 100, None, False), (1, 200, None, False),
    (1, 50, None, True), (1, 200, None, True),
]  # fmt: skip


def by_size(rng, x, n):
    """Draw n units in proportion to x, the largest for certain; return them and π of all."""
    sure = np.zeros(len(x), bool)
    while True:
        pi = np.where(sure, 1.0, (n - sure.sum()) * x / x[~sure].sum())
        if not ((pi >= 1) & ~sure).any():
            break
        sure |= pi >= 1
    order = rng.permutation(len(x))
    steps = np.floor(np.cumsum(pi[order]) - rng.random())
    return order[np.diff(steps, prepend=-1.0) > 0], pi


def replicate(rng, sigma, n, share, totals):
    """Whether the normal and Student's interval of class 0 cover, and whether a warning comes."""
    if share is None:
        _, s, s_hat, x = sized(sigma, rng, N).values()
    else:
        P = USUAL if share > 0.1 else RARE
        s = (rng.random(N) > share).astype(int)
        s_hat = (rng.random(N) > P[s, 0]).astype(int)
        x = rng.lognormal(0, sigma, N)
    i, pi = by_size(rng, x, n)
    y = x if totals else np.ones(N)
    units = Units(s[i], s_hat[i], y[i], pi[i])
    u_hat = np.bincount(s_hat, y, minlength=2)
    estimate, variance = weighted_difference(units, u_hat, N)
    off = abs(y[s == 0].sum() - estimate[0]) / np.sqrt(max(variance[0], 1e-300))
    return (
        off < ndtri(0.975),
        off < stdtrit(freedom(units, 2)[0], 0.975),
        bool(few_behind(units, [0, 1])),
    )


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=600)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    print("sigma    n  share  figure  normal  Student  warned  covered if not warned")
    for case in CASES:
        rng = np.random.default_rng(given.seed)
        found = np.array([replicate(rng, *case) for _ in range(given.replications)])
        quiet = found[~found[:, 2], 1]
        shares = "   ".join(f"{x:6.3f}" for x in found.mean(axis=0))
        kind = "total" if case[3] else "count"
        told = f"{quiet.mean():.3f} (n = {len(quiet)})" if len(quiet) else "-"
        print(
            f"{case[0]:5} {case[1]:4}  {case[2] or 'small':>5}   {kind}  {shares}   {told}",
            flush=True,
        )


if __name__ == "__main__":
    main()
