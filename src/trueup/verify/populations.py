"""Populations as users have them, true class included: real classifiers, groups, months, clusters.

Units are columns of equal length: `true`, `predicted`, the value `y`, and what else is known of
each. The scripts in `studies` draw from the same populations.
"""

from typing import Any

import numpy as np

from trueup.numerics.arrays import Floats, Integers, Rng

Units = dict[str, Any]
SPOILT = {
    "as it is": lambda x: x,
    "sharpened": lambda x: 3 * x,
    "flattened": lambda x: x / 3,
    "shifted": lambda x: x - 2,
    "cubed": lambda x: x**3,
}
"""What happens to the log odds of a score."""


def pick(p: Floats, rng: Rng) -> Integers:
    """Draw a class for each unit from its probabilities (N, K)."""
    return np.asarray((rng.random((len(p), 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1))


def audit(units: Units, n: int, design: str, rng: Rng) -> Integers:
    """Return the units of a test set: at random, or equally many of each (predicted) class."""
    if design == "random":
        return rng.choice(len(units["true"]), n, replace=False)
    own = units["predicted" if design == "by_prediction" else "true"]
    parts = [np.flatnonzero(own == h) for h in np.unique(own)]
    each = n // len(parts)
    return np.concatenate([rng.choice(x, min(each, len(x)), replace=False) for x in parts])


def learned(name: str, rng: Rng, N: int = 5_000) -> Units:
    """Train a classifier on few units and features; return what it predicts for the others.

    They are drawn again to a population of N, with 2% of noise on value and score, so that errors
    depend on the unit as they really do. `region` goes with a feature that was not used.
    """
    X, s, y, unseen, size = data_set(name, rng)
    while True:
        order = rng.permutation(len(s))
        train, held = order[:size], order[size:]
        if len(np.unique(s[train])) == len(np.unique(s)):
            break
    model = classifier(rng).fit(X[train], s[train])
    P = np.clip(model.predict_proba(X[held]), 1e-6, 1.0)
    i = rng.choice(len(held), N)
    y = y[held][i] * np.exp(0.02 * rng.standard_normal(N))
    P = P[i] * np.exp(0.02 * rng.standard_normal((N, P.shape[1])))
    P /= P.sum(axis=1, keepdims=True)
    predicted = model.predict(X[held])[i]
    z = unseen[held][i] + unseen.std() * rng.standard_normal(N)
    region = np.searchsorted(np.quantile(z, np.arange(1, 8) / 8), z)
    units = {"true": s[held][i], "predicted": predicted, "y": y, "region": region, "P": P}
    return units | {"score": P[np.arange(N), predicted]}


def classifier(rng: Rng) -> Any:
    """Return one of four ordinary models."""
    from sklearn import ensemble, linear_model, neighbors, pipeline, preprocessing, tree

    seed = int(rng.integers(2**31))
    regression = linear_model.LogisticRegression(max_iter=500)
    models = (
        pipeline.make_pipeline(preprocessing.StandardScaler(), regression),
        ensemble.RandomForestClassifier(30, max_depth=4, random_state=seed),
        neighbors.KNeighborsClassifier(5),
        tree.DecisionTreeClassifier(max_depth=3, random_state=seed),
    )
    return models[int(rng.integers(len(models)))]


def data_set(name: str, rng: Rng) -> tuple[Any, Any, Any, Any, int]:
    """Return features, true class, value, an unused feature and how many units to train on."""
    from sklearn import datasets

    if name == "digits":
        it = datasets.load_digits()
        ink = it.data[:, 40:].sum(axis=1)
        return it.data[:, 16:40], it.target, it.data.mean(axis=1), ink, 150
    if name in ("cancer", "rare_cancer"):
        it = datasets.load_breast_cancer()
        keep, size = np.arange(len(it.target)), 40
        if name == "rare_cancer":  # 30 malignant units beside 357 benign ones
            malignant = rng.choice(np.flatnonzero(it.target == 0), 30, replace=False)
            keep, size = np.r_[np.flatnonzero(it.target == 1), malignant], 60
        X = it.data[keep]
        return X[:, [1, 4, 8, 9]], it.target[keep], X[:, 3], X[:, 7], size
    if name == "wine":
        it = datasets.load_wine()
        return it.data[:, [1, 2, 3, 7]], it.target, it.data[:, 12], it.data[:, 9], 25
    if name == "iris":
        it = datasets.load_iris()
        return it.data[:, [0, 1]], it.target, it.data[:, 2], it.data[:, 3], 25
    common = {"imbalanced_5": 0.95, "imbalanced_20": 0.8}[name]
    X, s = datasets.make_classification(
        6000, 8, n_informative=4, weights=[common], class_sep=0.8, flip_y=0.02,
        random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    y = np.exp(0.8 * X[:, 0] + 0.5 * rng.standard_normal(6000))
    return X[:, :5], s, y, X[:, 6], 200


def valued(what: str, factor: float, sigma: float, rng: Rng, N: int = 20_000) -> Units:
    """Return lognormal values: misclassified units (`error`) or a class `factor` times as large.

    `signed` are profits: a third of the units lose, misclassified ones `factor` times as much. With
    `zeros` and `losses` the rarer class has them in a share of `factor`, the other in 1 − `factor`.
    With `rising`, the log odds of a false positive rise by `factor` per standard deviation of size;
    with `giants` by 1.2, but for the `factor` largest units, a tenth of the total in all: they are
    of the common class, and classified right.
    """
    if what in ("rising", "giants"):
        z, s = rng.standard_normal(N), (rng.random(N) < 0.12).astype(int)
        y, rise = np.exp(sigma * z), factor if what == "rising" else 1.2
        wrong = np.where(s == 1, 0.15, 1 / (1 + np.exp(4.5 - rise * z)))
        if what == "giants":
            largest = np.argsort(z)[-int(factor) :]
            s[largest], wrong[largest] = 0, 0.0
            others = y.sum() - y[largest].sum()
            y[largest] *= others / 9 / y[largest].sum()
        s_hat = np.where(rng.random(N) < wrong, 1 - s, s)
        return {"true": s, "predicted": s_hat, "y": y}
    s = (rng.random(N) < (0.05 if what == "class" else 0.2)).astype(int)
    rate = np.where(s == 1, 0.1, 0.01) if what == "class" else 0.1
    s_hat = np.where(rng.random(N) < rate, 1 - s, s)
    larger = (s == 1) if what == "class" else (s != s_hat)
    y = np.exp(sigma * rng.standard_normal(N)) * np.where(larger, factor, 1.0)
    if what == "signed":
        y *= np.where(rng.random(N) < 1 / 3, -1.0, 1.0)
    if what in ("zeros", "losses"):
        y = np.exp(sigma * rng.standard_normal(N))
        other = 0.0 if what == "zeros" else -1.0
        y *= np.where(rng.random(N) < np.where(s == 1, factor, 1 - factor), other, 1.0)
    return {"true": s, "predicted": s_hat, "y": y}


def grouped(base: Floats, P: Floats, size: Any, rng: Rng) -> Units:
    """Draw units of groups with base rates (B, K) and P (B, K, K); rarer classes are larger."""
    group = np.repeat(np.arange(len(base)), size)
    s = pick(base[group], rng)
    s_hat = pick(P[group, s], rng)
    y = np.exp(1.0 + 0.5 * (s > 0) + rng.standard_normal(len(group)))
    return {"group": group, "true": s, "predicted": s_hat, "y": y}


def rates_apart(P: Floats, B: int, kappa: float, rng: Rng) -> Floats:
    """Return rows of P for B groups, drawn from Dir(κp); all the same if κ is infinite."""
    rows = np.repeat(P[None], B, axis=0)
    if np.isfinite(kappa):
        rows = rng.standard_gamma(kappa * rows)
        rows /= rows.sum(axis=2, keepdims=True)
    return rows


def months(kind: str, K: int, T: int = 24) -> tuple[Floats, Floats]:
    """Return base rates (T, K) and error rates (T, K, K) of every month."""
    t = np.arange(T)
    x = np.tile(np.log([0.2, 0.8] if K == 2 else range(1, K + 1)), (T, 1))
    x[:, 0] += {
        "constant": 0.0 * t,
        "trend": 0.03 * (t - 6),
        "drift": 0.03 * (t - 6),
        "seasonal": 0.5 * np.sin(2 * np.pi * t / 12 + 1),
        "jump": 0.7 * (t >= T // 2),
    }[kind]
    beta = np.exp(x)
    P = np.full((T, K, K), 0.2 / (K - 1))
    P[:, range(K), range(K)] = 0.8
    P[:, 0, :2] += (-0.08, 0.08)
    if kind == "drift":
        P[:, 0, :2] += np.outer(t, [-0.008, 0.008])
    return np.asarray(beta / beta.sum(axis=1, keepdims=True)), P


def sized(sigma: float, rng: Rng, N: int = 5_000) -> Units:
    """Return units of lognormal size, of which the larger ones are misclassified less often."""
    s = (rng.random(N) < 0.2).astype(int)
    y = np.round(rng.lognormal(0, sigma, N) * (1 + s), 3)
    s_hat = np.where(rng.random(N) < 0.1 / (1 + y / y.mean()) + 0.03, 1 - s, s)
    return {"id": np.arange(N), "true": s, "predicted": s_hat, "y": y}


def crossed(K: int, rates: tuple[float, ...], rng: Rng, N: int = 5_000, top: float = 0.1) -> Units:
    """Return units of seven regions and three size classes, the largest with the part `top`.

    Regions differ in their shares of the classes, size classes in how often they are misclassified
    (`rates`); the last class is more common among large units.
    """
    region = rng.choice(7, N, p=rng.dirichlet(np.full(7, 8.0)))
    z = rng.standard_normal(N)
    odds = np.log([0.8, 0.2] if K == 2 else [0.5, 0.3, 0.2]) + 0.4 * rng.standard_normal((7, K))
    p = odds[region]
    p[:, -1] += 0.4 * z
    p = np.exp(p)
    s = pick(p / p.sum(axis=1, keepdims=True), rng)
    size = np.searchsorted(np.quantile(z, [0.6, 1 - top]), z)
    wrong = rng.random(N) < np.array(rates)[size]
    s_hat = np.where(wrong, (s + rng.integers(1, K, N)) % K, s)
    known = {"id": np.arange(N), "region": region, "size": size, "y": np.round(np.exp(1.2 * z), 6)}
    return known | {"true": s, "predicted": s_hat}


def clustered(rng: Rng, C: int = 2_000, m: int = 10) -> Units:
    """Return C clusters of m units that resemble each other: an intra-class correlation of 0.2.

    Of classes, of errors and of log values; units of class 1 are twice as large.
    """
    a = 1 / 0.2 - 1
    s = (rng.random(C * m) < np.repeat(rng.beta(0.2 * a, 0.8 * a, C), m)).astype(int)
    wrong = np.repeat(rng.beta(0.1 * a, 0.9 * a, C), m)
    s_hat = np.where(rng.random(C * m) < wrong, 1 - s, s)
    own = rng.standard_normal(C * m) * np.sqrt(0.8)
    z = own + np.repeat(rng.standard_normal(C), m) * np.sqrt(0.2)
    y = np.round(np.exp(z) * (1 + s), 6)
    return {"true": s, "predicted": s_hat, "y": y, "block": np.arange(C * m) // m}


def scored(rng: Rng, N: int = 5_000) -> Units:
    """Return units whose score is their probability of the predicted class."""
    p = 1 / (1 + np.exp(2.0 - 2.5 * rng.standard_normal(N)))
    s, s_hat = (rng.random(N) < p).astype(int), (p > 0.5).astype(int)
    y = np.exp(0.5 * s + rng.standard_normal(N))
    return {"true": s, "predicted": s_hat, "y": y, "score": np.maximum(p, 1 - p)}


def spoil(score: Floats, how: str) -> Floats:
    """Bend the log odds of a probability."""
    bent = SPOILT[how](np.log(score / (1 - score)))
    return np.asarray(1 / (1 + np.exp(-np.clip(bent, -700, 700))))
