"""What the test set says of two assumptions about values: p-values and plain words.

The methods that work with rows of P (`bayes`, `constrained`, `full`, `inverse`) take the values of
a true class to be alike whatever the prediction. Those that work with predicted classes alone
(`calibrated` without audited values) take the true class to be unrelated to the value within a
predicted class. Real classifiers keep neither, and the audited values can show it.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.count.bands import scores
from trueup.count.counts import Counts
from trueup.count.reliability import by_score
from trueup.count.scores import score_ranks
from trueup.numerics import special
from trueup.numerics.arrays import Floats

SHUFFLES = 499
FAR = 10.0
"""Times the overall mean; `far_means` warns beyond."""
LEAST = 2
"""Audited units that a class needs on either side to be compared."""


class Evidence(NamedTuple):
    """The p-value, adjusted for the number of comparisons, and what was found, in words."""

    p_value: float
    words: str


def values_differ(counts: Counts) -> Evidence | None:
    """Test that, within a true class, values do not depend on whether the prediction is right.

    For each class the mean of the wrongly predicted units against that of picking as many of its
    units at random, and all classes together. With bands the values are scores of their logs, for
    which a few large units do not decide; otherwise the values themselves. None if no class has two
    audited units of either kind.
    """
    cells = _by_cell(counts)
    if cells is None:
        return None
    n, mean, squares = cells
    right = np.array([[g == h for h in counts.predicted] for g in counts.classes])
    own = n.sum(axis=1)
    wrong = np.where(right, 0, n).sum(axis=1)
    total = (n * mean).sum(axis=1) / np.maximum(own, 1)
    score = np.where(right, 0.0, n * (mean - total[:, None])).sum(axis=1)
    spread = (squares.sum(axis=1) - own * total**2) / np.maximum(own - 1, 1)
    var = wrong * (own - wrong) / np.maximum(own, 1) * np.maximum(spread, 0.0)
    use = (wrong >= LEAST) & (own - wrong >= LEAST) & (var > 1e-12 * np.maximum(total**2, 1e-300))
    if not use.any():
        return None
    z = score[use] / np.sqrt(var[use])
    together = score[use].sum() / np.sqrt(var[use].sum())
    tests = [*np.abs(z), *([abs(together)] if use.sum() > 1 else [])]
    p = float(min(1.0, 2 * special.ndtr(-max(tests)) * len(tests)))
    g = int(np.flatnonzero(use)[np.abs(z).argmax()])
    larger = "larger" if z[np.abs(z).argmax()] > 0 else "smaller"
    return Evidence(
        p,
        f"audited units of class {counts.classes[g]!r} that were predicted wrongly have {larger} "
        "values than those predicted right",
    )


class Residual:
    """Posterior predictive check of Σ y(1{s=g} − c_g) over the test set, class by class.

    c is the fitted m_ℓ of the unit's cell. The same sum is drawn for new cells, c_·ℓ ~ Dir(κ m_ℓ),
    with true classes from them and values as audited; how often it is at least as far from 0 is the
    p-value. For a test set drawn within true classes, classes count by n_g/β_g.
    """

    def __init__(self, counts: Counts, shape: tuple[int, ...], seed: int) -> None:
        assert counts.t is not None
        self.classes, self.rng = counts.classes, np.random.default_rng([seed, 3])
        self.n, self.t = counts.n.reshape(shape), counts.t.reshape(shape)
        self.units = self.n.sum(axis=0)
        some = np.maximum(self.units, 1)
        self.mean = self.t.sum(axis=0) / some
        squares = self.t**2 / np.maximum(self.n, 1)
        squares = squares if counts.t2 is None else counts.t2.reshape(shape)
        spread = squares.sum(axis=0) / some - self.mean**2
        self.spread = self.units * np.maximum(spread, 0.0)
        self.found: list[tuple[Floats, Floats]] = []

    def add(self, kappa: Floats, m: Floats, beta: Floats | None) -> None:
        """Compare once for each chain: κ (C,), m (C, K, H, B), and β (C, K) if drawn by class."""
        c = self.rng.standard_gamma(np.maximum(kappa[:, None, None, None] * m, 1e-300))
        c = np.where(c.sum(axis=1, keepdims=True) > 0, c, m)
        if beta is not None:
            odds = (self.n.sum(axis=(1, 2)) / np.maximum(beta, 1e-300))[:, :, None, None]
            c, m = c * odds, m * odds
        c, m = (x / x.sum(axis=1, keepdims=True) for x in (c, m))
        new = np.moveaxis(self.rng.multinomial(self.units, np.moveaxis(c, 1, -1)), -1, 1)
        seen = (self.t - self.t.sum(axis=0) * m).sum(axis=(2, 3))
        noise = np.sqrt((self.spread * m * (1 - m)).sum(axis=(2, 3)))
        drawn = (self.mean * (new - self.units * m)).sum(axis=(2, 3))
        self.found.append((seen, drawn + noise * self.rng.standard_normal(noise.shape)))

    def evidence(self) -> Evidence | None:
        """The p-value of the class that fits least, adjusted for the number of classes."""
        if not self.found:
            return None
        seen, drawn = (np.concatenate(x) for x in zip(*self.found, strict=True))
        K = len(self.classes)
        p = (1 + (np.abs(drawn) >= np.abs(seen)).sum(axis=0)) / (1 + len(seen))
        g = int(p.argmin())
        more = "more" if seen[:, g].mean() > 0 else "less"
        return Evidence(
            float(min(1.0, p[g] * max(K - 1, 1))),
            f"the audited units of class {self.classes[g]!r} hold {more} value than the model "
            "expects of units with these predictions and values",
        )


def far_means(u: Floats, v: Floats, counts: Counts) -> list[str]:
    """Say that a class's units are far larger than the others: totals are then hard to divide.

    `u` and `v` (R, K) are draws of totals and counts. With one class a hundred times as large as
    the rest, 95% intervals covered 75% to 85% (`studies/real_classifiers.py --only class:100:1`
    with n = 2,000): by rows, class means are taken to be within a few times the overall mean; in
    cells, the few bands in which classes mix decide.
    """
    assert counts.u_hat is not None
    T, N = float(counts.u_hat.sum()), counts.N
    if counts.signed or not T > 0 or counts.n.sum() == 0:
        return []
    means = np.median(u, axis=0) / np.maximum(np.median(v, axis=0), 1.0) / (T / N)
    far = [g for g in range(counts.K) if means[g] > FAR]
    if not far:
        return []
    g = max(far, key=lambda g: means[g])
    return [
        f"The units of class {counts.classes[g]!r} are on average {means[g]:.0f} times as large as "
        "all units: a few of them among the units predicted otherwise would change the totals "
        "much, and the interval may be too narrow. Draw the test set within size classes "
        "(`drawn_within`), or compare with method='difference' from a random test set."
    ]


def rates_follow_value(counts: Counts) -> Evidence | None:
    """Test that, within a predicted class, the true class does not depend on the value.

    The trend test of Cochran and Armitage, stratified by predicted class (Mantel): per true class
    Σ z (n_gℓ − n_ℓ c_gh) against its variance given the margins. Needs bands of the value.
    """
    if counts.bands is None or counts.bands.u_hat is None:
        return None
    K = counts.K
    n, z = _cells(counts)
    n_l, n_h = n.sum(axis=0), n.sum(axis=(0, 2))
    c = n.sum(axis=2) / np.maximum(n_h, 1)
    centre = z - ((n_l * z).sum(axis=1) / np.maximum(n_h, 1))[:, None]
    score = (n * centre).sum(axis=(1, 2))
    each = (n_l * centre**2).sum(axis=1) / np.maximum(n_h - 1, 1)
    var = (c * (1 - c) * each * n_h).sum(axis=1)
    if not (var > 0).any():
        return None
    size = score / np.sqrt(np.where(var > 0, var, np.inf))
    g = int(np.abs(size).argmax())
    p = float(min(1.0, 2 * special.ndtr(-abs(size[g])) * max(K - (K == 2), 1)))
    rarer = "rarer" if size[g] < 0 else "more common"
    return Evidence(
        p,
        f"true class {counts.classes[g]!r} is {rarer} among large values than among small ones of "
        "the same predicted class",
    )


def score_helps(counts: Counts) -> Evidence | None:
    """Test that predictions with higher scores are right as often as those with lower ones.

    The trend test of Cochran and Armitage, stratified by predicted class (Mantel). The p-value is
    that of one side: small if predictions with *lower* scores are right more often.
    """
    by_band = by_score(counts)
    if by_band is None:
        return None
    units, audited, right, _ = by_band
    z, m = score_ranks(units), audited.sum(axis=1)
    share = right.sum(axis=1) / np.maximum(m, 1)
    centre = z - ((audited * z).sum(axis=1) / np.maximum(m, 1))[:, None]
    spread = (audited * centre**2).sum(axis=1) / np.maximum(m - 1, 1)
    var = float((share * (1 - share) * spread * m).sum())
    if var <= 0:
        return None
    size = float((right * centre).sum()) / np.sqrt(var)
    words = "predictions with higher scores are right less often than those with lower ones"
    return Evidence(float(special.ndtr(size)), words)


def score_as_given(counts: Counts) -> Evidence | None:
    """Test that as many audited predictions are right as their scores say (Spiegelhalter 1986).

    P-value and words, which name both shares and how far bands are off on average.
    """
    by_band = by_score(counts)
    if by_band is None:
        return None
    _, audited, right, given = by_band
    m, var = int(audited.sum()), float((audited * given * (1 - given)).sum())
    if not m:
        return None
    said, found = float((audited * given).sum()) / m, float(right.sum()) / m
    size = abs(found - said) * m / np.sqrt(max(var, 1e-12))
    words = f"the scores say that {said:.1%} of the audited predictions are right; {found:.1%} are"
    return Evidence(float(min(1.0, 2 * special.ndtr(-size))), words)


def rates_differ(
    n: NDArray[np.int64], classes: Sequence[Hashable], parts: str = "groups"
) -> Evidence | None:
    """Test that error rates are the same in all groups (`parts`, in words): n (B, K, L) audited.

    Pearson's statistic of predictions against groups within each true class, compared with that of
    groups that are shuffled within true classes: exact however few units there are. None if no
    true class has units in two groups and under two predictions.
    """
    n = n[n.any(axis=(1, 2))]
    b, g, h = (np.repeat(x, n[n > 0]) for x in np.nonzero(n))
    size, K, L = n.shape[0], n.shape[1], n.shape[2]

    def apart(group: NDArray[np.int64]) -> Floats:
        seen = np.bincount((group * K + g) * L + h, minlength=n.size).reshape(n.shape)
        expected = seen.sum(axis=2, keepdims=True) * seen.sum(axis=0) / np.maximum(own, 1)
        some = expected > 0
        square = (seen - expected) ** 2 / np.where(some, expected, 1.0)
        return np.asarray(np.where(some, square, 0.0).sum(axis=(0, 2)))

    own = n.sum(axis=(0, 2))[:, None]
    varied = ((n.sum(axis=2) > 0).sum(axis=0) > 1) & ((n.sum(axis=0) > 0).sum(axis=1) > 1)
    if size < 2 or not varied.any():
        return None
    rng = np.random.default_rng(0)
    here = apart(b)
    order = np.argsort(g, kind="stable")
    shuffled = b[order]
    more, each = 1, np.zeros(K)
    for _ in range(SHUFFLES):
        mixed = np.empty_like(b)
        mixed[order] = shuffled[np.lexsort((rng.random(len(b)), g[order]))]
        there = apart(mixed)
        more += there.sum() >= here.sum() - 1e-9
        each += there / SHUFFLES
    worst = classes[int((here - each).argmax())]
    words = f"units of true class {worst!r} are predicted differently in different {parts}"
    return Evidence(float(more / (SHUFFLES + 1)), words)


def _cells(counts: Counts) -> tuple[Floats, Floats]:
    """Audited units (K, L·J, B), and the score of each cell (L·J, B)."""
    assert counts.bands is not None
    cells = counts.bands.unscored()
    assert cells.u_hat is not None
    K, L, J = counts.K, counts.L, cells.strata
    z = scores(cells.v_hat.reshape(L, J, -1), cells.u_hat.reshape(L, J, -1))
    return cells.n.reshape(K, L * J, -1).astype(float), np.tile(z, (L, 1))


def _by_cell(counts: Counts) -> tuple[Floats, Floats, Floats] | None:
    """Units, mean and Σ of squares (K, L) of the audited values, or of their scores."""
    if counts.bands is not None and counts.bands.u_hat is not None:
        n, z = _cells(counts)
        units, first, second = (
            (n * x).reshape(counts.K, counts.L, -1).sum(axis=2) for x in (np.ones_like(z), z, z**2)
        )
        return units, first / np.maximum(units, 1), second
    if counts.t is None or counts.t2 is None:
        return None
    return counts.n.astype(float), counts.t / np.maximum(counts.n, 1), counts.t2
