"""How the errors of real classifiers depend on the value: the evidence behind a prior.

    python studies/slopes.py

Within a predicted class, the log odds of a true class change by some slope per standard deviation
of the log value. `trueup.draws.cells.columns` takes it as λs + d: s is what homogeneity implies
(values that depend on the true class alone), d what the classifier adds, of scale SLOPE. Here both
are computed from all units that a classifier was not trained on, true class known: two-class
problems of scikit-learn's data, a new classifier each time. d₁ − d₀ has √2 times the scale of d.
Problems in which the value nearly tells the classes apart are left out: slopes have no finite size.
Needs scikit-learn.
"""

from __future__ import annotations

import argparse

import numpy as np

from trueup.draws.cells.columns import BEYOND, SLOPE
from trueup.verify.populations import classifier, data_set

TASKS = {
    "digits 5-9": ("digits", (5, 6, 7, 8, 9)),
    "digits 3, 8": ("digits", (3, 8)),
    "cancer": ("cancer", (1,)),
    "wine 1": ("wine", (1,)),
    "imbalanced_5": ("imbalanced_5", (1,)),
    "imbalanced_20": ("imbalanced_20", (1,)),
}
FEWEST = 15
"""Units of the rarer true class in a predicted class that tell a slope."""


def slope(z: np.ndarray, s: np.ndarray) -> tuple[float, float]:
    """Return the slope of the log odds of s = 1 in z, and its variance (logistic regression)."""
    X, coef = np.column_stack([np.ones_like(z), z]), np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(X @ coef, -30, 30)))
        H = X.T @ (X * np.maximum(p * (1 - p), 1e-9)[:, None])
        coef += np.linalg.solve(H, X.T @ (s - p))
    return float(coef[1]), float(np.linalg.inv(H)[1, 1])


def slopes(name: str, positive: tuple[int, ...], rng: np.random.Generator) -> list[list[float]]:
    """Train once; return (implied slope, slope, its variance) for each predicted class."""
    X, s, y, _, size = data_set(name, rng)
    s = np.isin(s, positive).astype(int)
    order = rng.permutation(len(s))
    train, held = order[:size], order[size:]
    if len(np.unique(s[train])) < 2:
        return []
    s_hat = classifier(rng).fit(X[train], s[train]).predict(X[held])
    s, z = s[held], np.log(np.maximum(y[held], 1e-9))
    z = (z - z.mean()) / z.std()
    mu = np.array([z[s == g].mean() for g in (0, 1)])
    implied = float((mu[1] - mu[0]) / ((z - mu[s]) ** 2).mean())
    own = [s[s_hat == h] for h in (0, 1)]
    enough = [h for h in (0, 1) if min(own[h].sum(), (1 - own[h]).sum()) >= FEWEST]
    return [[implied, *slope(z[s_hat == h], own[h])] for h in enough]


def main() -> None:
    """Print, for each task, the spread of what homogeneity leaves of the slopes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--seed", type=int, default=2019)
    given = parser.parse_args()
    print(f"{'':14s} {'slopes':>6s} {'implied':>8s} {'λ':>5s} {'d, scale':>9s}")
    scales = []
    for task, (name, positive) in TASKS.items():
        rng = np.random.default_rng(given.seed)
        rows = [x for _ in range(given.replications) for x in slopes(name, positive, rng)]
        implied, b, variance = np.array(rows).T
        lam = np.clip((implied * b / variance).sum() / (implied**2 / variance).sum(), 0, BEYOND)
        left = b - lam * implied
        # the likeliest spread beside the errors of the slopes themselves
        every = np.geomspace(0.001, 3.0, 400)
        spread = every[:, None] ** 2 + variance
        fit = -0.5 * (np.log(spread) + left**2 / spread).sum(axis=1)
        scales.append(every[fit.argmax()] / np.sqrt(2))
        print(f"{task:14s} {len(b):6d} {np.mean(implied):8.2f} {lam:5.2f} {scales[-1]:9.2f}")
    print(f"median {np.median(scales):.2f}, mean {np.mean(scales):.2f}; SLOPE is {SLOPE}")


if __name__ == "__main__":
    main()
