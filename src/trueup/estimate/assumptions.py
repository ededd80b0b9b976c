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
from trueup.draws.contingency import solve_Q
from trueup.estimate.design import chi_square_tail
from trueup.numerics import special
from trueup.numerics.arrays import Floats

SHUFFLES, PICKS = 499, 999
"""Of groups for `rates_differ`, and of wrong predictions for `values_differ`."""
FAR = 10.0
"""Times the overall mean; `far_means` warns beyond."""
FACTOR, SEEN = 3.0, 3.7
"""How much larger wrongly predicted units may be unseen before `hardly_seen` says so; and the
standard errors at which `values_differ` sees it nine times in ten."""
LEAST = 2
"""Audited units that a class needs on either side to be compared."""


class Evidence(NamedTuple):
    """The p-value, adjusted for the number of comparisons, and what was found, in words."""

    p_value: float
    words: str


def values_differ(counts: Counts) -> Evidence | None:
    """Test that, within a true class, values do not depend on whether the prediction is right.

    Two questions about the sums of the wrongly predicted units' values, class by class: is any far
    from that of picking as many units of the class at random, and do all point the same way? The
    p-value is that of the clearer answer. With bands the values are normal scores of their ranks in
    the class (van Elteren's test), for which neither a few large units nor zeros decide, and wrong
    predictions are shuffled within classes, so that the p-value holds however few they are.
    Otherwise values are themselves, and sums are taken as normal. None if no class has two audited
    units of either kind, or values do not vary.
    """
    right = np.array([[g == h for h in counts.predicted] for g in counts.classes])
    banded = counts.bands is not None and counts.bands.u_hat is not None
    if banded:
        n, z = _cells(counts)
        J = n.shape[1] // counts.L
        each = n.reshape(counts.K, counts.L, -1).astype(np.int64)  # (K, L, JB)
        own, wrong = each.sum(axis=1), np.where(right[..., None], 0, each).sum(axis=1)
        units, bad = own.sum(axis=1), wrong.sum(axis=1)
        normal = _normal_scores(own, z[:J].ravel())
        sums, squares = (own * normal).sum(axis=1), (own * normal**2).sum(axis=1)
        seen = (wrong * normal).sum(axis=1)
    elif counts.t is not None and counts.t2 is not None:
        units, bad = counts.n.sum(axis=1), np.where(right, 0, counts.n).sum(axis=1)
        sums, squares = counts.t.sum(axis=1), counts.t2.sum(axis=1)
        seen = np.where(right, 0.0, counts.t).sum(axis=1)
    else:
        return None
    mean = sums / np.maximum(units, 1)
    spread = (squares - units * mean**2) / np.maximum(units - 1, 1)
    var = bad * (units - bad) / np.maximum(units, 1) * np.maximum(spread, 0.0)
    use = (bad >= LEAST) & (units - bad >= LEAST) & (var > 1e-12 * np.maximum(mean**2, 1e-300))
    if not use.any():
        return None
    expected, var = (bad * mean)[use], var[use]
    score = seen[use] - expected
    if banded:
        rng = np.random.default_rng(0)  # the p-value is a fact about the data, not a draw
        drawn = [
            rng.multivariate_hypergeometric(own[g], bad[g], PICKS, method="marginals") @ normal[g]
            for g in np.flatnonzero(use)
        ]
        there = _clearer(np.stack(drawn, axis=-1) - expected, var)
        more = (there >= _clearer(score, var) - 1e-9).sum()
        p = float(1 + more) / (PICKS + 1)
    else:
        size = use.sum()
        tails = [chi_square_tail(1, score.sum() ** 2 / var.sum())]
        tails += [chi_square_tail(int(size), (score**2 / var).sum())] if size > 1 else []
        p = min(1.0, len(tails) * min(tails))
    z = score / np.sqrt(var)
    g = int(np.flatnonzero(use)[np.abs(z).argmax()])
    larger = "larger" if z[np.abs(z).argmax()] > 0 else "smaller"
    return Evidence(
        p,
        f"audited units of class {counts.classes[g]!r} that were predicted wrongly have {larger} "
        "values than those predicted right",
    )


def _normal_scores(own: NDArray[np.int64], z: Floats) -> Floats:
    """Normal scores of middle ranks (K, B) within each class; `own` (K, B) units, `z` the order."""
    order = np.argsort(z, kind="stable")
    rank = own[:, order].cumsum(axis=1) - own[:, order] / 2
    found = np.zeros(own.shape)
    units = np.maximum(own.sum(axis=1, keepdims=True), 1)
    found[:, order] = special.ndtri(np.clip(rank / units, 1e-9, 1 - 1e-9))
    return found


def _clearer(score: Floats, var: Floats) -> Floats:
    """The greater of two chi-squares, of all classes' sum and of each class, as normal scores.

    By the cube root of Wilson and Hilferty (1931).
    """
    K = score.shape[-1]
    sums = (score.sum(axis=-1) ** 2 / var.sum(), 1), ((score**2 / var).sum(axis=-1), K)
    one, other = (np.sqrt(4.5 * m) * (np.cbrt(x / m) - 1 + 2 / (9 * m)) for x, m in sums)
    return np.asarray(np.maximum(one, other))


def hardly_seen(counts: Counts, lower: Floats, upper: Floats) -> str | None:
    """Say that the test set could not show values that differ, where that would move the totals.

    If wrongly predicted units were FACTOR times as large as others of their class, their logs would
    be log FACTOR apart: `values_differ` sees it nine times in ten if that is SEEN standard errors.
    None if it is more, or if it moves no total by a quarter of its interval, which leaves 83% of a
    95% interval. Needs bands of values that are not negative.
    """
    cells, K = counts.bands, counts.K
    if cells is None or cells.u_hat is None or counts.signed or counts.L != K:
        return None
    n = cells.n.reshape(K, K, -1)
    v, u = (x.reshape(K, -1).sum(axis=0) for x in (cells.v_hat, cells.u_hat))
    own, units = n.sum(axis=1), n.sum(axis=(1, 2))
    bad = units - np.diag(n.sum(axis=2))
    log_y = np.log(np.where(u > 0, u / np.maximum(v, 1), 1.0))
    log_y = np.where(u > 0, log_y, log_y.min())
    mean = own @ log_y / np.maximum(units, 1)
    within = float((own @ log_y**2 - units * mean**2).sum()) / max(int(units.sum()), 1)
    told = float((bad * (units - bad) / np.maximum(units, 1)).sum())
    if not (told > 0 and within > 0) or np.log(FACTOR) * np.sqrt(told / within) > SEEN:
        return None
    P = (counts.n + 1 / K) / (counts.n.sum(axis=1, keepdims=True) + 1)
    M = np.maximum(solve_Q(P, counts.v_hat / counts.N), 0.0)[:, None] * P

    def totals(factor: float) -> Floats:
        larger = M * np.where(np.eye(K), 1.0, factor)
        return np.asarray(larger.sum(axis=1) * solve_Q(larger, counts.naive))

    moved = np.abs([totals(f) - totals(1.0) for f in (FACTOR, 1 / FACTOR)]).max(axis=0)
    far = moved / np.maximum(upper - lower, 1e-300)
    if not (np.isfinite(far).all() and far.max() > 0.25):
        return None
    return (
        "The totals rest on values of a true class that do not depend on the prediction. With "
        f"{int(bad.sum()):,} audited units that were predicted wrongly, the test set would hardly "
        f"show it if such units were {FACTOR:g} times as large or as small as the others, and the "
        f"interval of {counts.classes[int(far.argmax())]!r} would then be too narrow. Audit more "
        "units, or draw the test set from this population."
    )


def prior_conflict(counts: Counts, alpha: Floats, by_prediction: bool) -> Evidence | None:
    """Test an informative prior: how probable it makes the audited units, against draws from it.

    Given their numbers, the units of a true class are Dirichlet-multinomial over predictions, or,
    if drawn by prediction, those of a predicted class over true ones. The p-value is how often a
    test set drawn from the prior is as improbable as this one (Box 1980).
    """
    n, a = (counts.n.T, alpha.T) if by_prediction else (counts.n, alpha)
    some = n.any(axis=1)
    if not some.any():
        return None
    n, a, units = n[some], a[some], n[some].sum(axis=1)
    rng = np.random.default_rng(0)  # the p-value is a fact about the data, not a draw
    gamma = np.maximum(rng.standard_gamma(a, (PICKS, *a.shape)), 1e-300)
    drawn = rng.multinomial(units, gamma / gamma.sum(axis=-1, keepdims=True))

    def log_p(n: NDArray[np.int64]) -> Floats:
        each = special.gammaln(a + n) - special.gammaln(a) - special.gammaln(n + 1.0)
        return np.asarray(each.sum(axis=-1))

    here, there = log_p(n), log_p(drawn)
    p = float(1 + (there.sum(axis=1) <= here.sum() + 1e-9).sum()) / (PICKS + 1)
    labels = counts.predicted if by_prediction else counts.classes
    worst = int(np.flatnonzero(some)[(there.mean(axis=0) - here).argmax()])
    kind = "predicted" if by_prediction else "true"
    return Evidence(p, f"it expects other audited units of {kind} class {labels[worst]!r}")


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
