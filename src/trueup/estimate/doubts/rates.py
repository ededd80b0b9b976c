"""What the test set says of error rates: in groups, under a prior, and by the score."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts
from trueup.count.reliability import by_score
from trueup.count.scores import score_ranks
from trueup.estimate.doubts import Evidence
from trueup.estimate.doubts.values import trend
from trueup.numerics import special
from trueup.numerics.arrays import Floats
from trueup.text import p_text

DOUBTFUL = 0.01
SHUFFLES, PICKS = 499, 999
"""Of groups for `rates_differ`, and test sets drawn for `prior_conflict`."""
STEPS = 50
"""Of EM, for the base rates of groups in `_differ_by_prediction`."""


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
    what, kind = ("true classes", "predicted") if by_prediction else ("predictions", "true")
    words = f"it does not expect the {what} of the audited units of {kind} class {labels[worst]!r}"
    return Evidence(p, words)


def score_helps(counts: Counts) -> Evidence | None:
    """Test that predictions with higher scores are right as often as those with lower ones.

    The trend test within predicted classes. The p-value is that of one side: small if predictions
    with *lower* scores are right more often.
    """
    by_band = by_score(counts)
    if by_band is None:
        return None
    units, audited, right, _ = by_band
    size = trend(right[None], audited, score_ranks(units))
    if size is None:
        return None
    words = "predictions with higher scores are right less often than those with lower ones"
    return Evidence(float(special.ndtr(size[0])), words)


def score_warning(counts: Counts) -> list[str]:
    """Say so when surer predictions are right less often: the score may be of another class."""
    evidence = score_helps(counts)
    if evidence is None or evidence.p_value >= DOUBTFUL:
        return []
    return [
        f"Of each predicted class, {evidence.words} ({p_text(evidence.p_value)}): is `score` the "
        "confidence in the predicted class, and not that of one class for all units? The order of "
        "the scores decides where errors are expected."
    ]


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
    n: NDArray[np.int64],
    classes: Sequence[Hashable],
    parts: str = "groups",
    v_hat: NDArray[np.int64] | None = None,
) -> Evidence | None:
    """Test that error rates are the same in all groups (`parts`, in words): n (B, K, L) audited.

    Pearson's statistic of predictions against groups within each true class, compared with that of
    groups that are shuffled within true classes: exact however few units there are. None if no
    true class has units in two groups and under two predictions. Units drawn within predicted
    classes need the units v̂ (B, L) that these were drawn from; see `_differ_by_prediction`.
    """
    some = n.any(axis=(1, 2))
    n = n[some]
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
    if v_hat is not None:
        here, there = _differ_by_prediction(n, v_hat[some].astype(float))
        p = (1 + (there.sum(axis=1) >= here.sum() - 1e-9).sum()) / (SHUFFLES + 1)
        return _differ(float(p), here - there.mean(axis=0), classes, parts)
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
    return _differ(float(more / (SHUFFLES + 1)), here - each, classes, parts)


def _differ(p: float, more: Floats, classes: Sequence[Hashable], parts: str) -> Evidence:
    """Name the class whose predictions differ more (K,) than by chance."""
    worst = classes[int(more.argmax())]
    words = f"units of true class {worst!r} are predicted differently in different {parts}"
    return Evidence(p, words)


def _differ_by_prediction(n: NDArray[np.int64], v_hat: Floats) -> tuple[Floats, Floats]:
    """Return the statistic of each true class (K,), and that of test sets with one P (SHUFFLES, K).

    Base rates differ between groups, so that audited units of a true class do too. Each stands for
    v̂/n units of its predicted class; Pearson's statistic is that of these units, in numbers of
    audited ones. Under one P, the units audited in a predicted class have Pr(true | predicted) ∝
    β P, with the base rates β of their group.
    """
    rng = np.random.default_rng(0)  # the p-value is a fact about the data, not a draw
    drawn = n.sum(axis=1)
    weight = np.where(drawn > 0, v_hat / np.maximum(drawn, 1), 0.0)
    scale = (drawn.sum(axis=1) / np.maximum((weight * drawn).sum(axis=1), 1e-300))[:, None, None]

    def apart(n: NDArray[np.int64]) -> tuple[Floats, Floats]:
        m = n * weight[:, None, :] * scale
        P = m.sum(axis=0)
        P = P / np.maximum(P.sum(axis=1, keepdims=True), 1e-300)
        expected = m.sum(axis=2, keepdims=True) * P
        square = (m - expected) ** 2 / np.where(expected > 0, expected, 1.0)
        return np.asarray(square.sum(axis=(0, 2))), P

    here, P = apart(n)
    q = v_hat / v_hat.sum(axis=1, keepdims=True)
    c = n / np.maximum(drawn, 1)[:, None, :]
    for _ in range(STEPS):  # base rates that give the predictions, by EM
        beta = np.einsum("bgh,bh->bg", c, q)
        c = beta[:, :, None] * P
        c = c / np.maximum(c.sum(axis=1, keepdims=True), 1e-300)
    left = np.maximum(1.0 - c.sum(axis=1, keepdims=True), 0.0)  # predictions that P does not have
    c = np.swapaxes(c + left / c.shape[1], 1, 2)
    there = [apart(np.swapaxes(rng.multinomial(drawn, c), 1, 2))[0] for _ in range(SHUFFLES)]
    return here, np.array(there)
