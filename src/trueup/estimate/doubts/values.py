"""What the test set says of two assumptions about values: p-values and plain words.

The methods that work with rows of P (`bayes`, `constrained`, `full`, `inverse`) take the values of
a true class to be alike whatever the prediction. Those that work with predicted classes alone
(`calibrated` without audited values) take the true class to be unrelated to the value within a
predicted class. Real classifiers keep neither, and the audited values can show it.
"""

import numpy as np
from numpy.typing import NDArray

from trueup.count.bands import scores
from trueup.count.counts import Counts
from trueup.draws.contingency import solve_Q
from trueup.estimate.doubts import Evidence
from trueup.estimate.doubts.design import chi_square_tail
from trueup.numerics import special
from trueup.numerics.arrays import Floats

PICKS = 999
"""Wrong predictions that are shuffled for `values_differ`."""
FAR = 10.0
"""Times the overall mean; `far_means` warns beyond."""
FACTOR, SEEN = 3.0, 3.7
"""How much larger wrongly predicted units may be unseen before `hardly_seen` says so; and the
standard errors at which `values_differ` sees it nine times in ten."""
LEAST = 2
"""Audited units that a class needs on either side to be compared."""
THIN = 3
"""Audited units behind half of a predicted total; fewer tell nothing of its largest units. With
lognormal values (σ = 1.5) and errors that rise with size, intervals of 300 audited units at random
covered 58 and 79% of 24."""
THIN_SMALL = 10
"""Audited units of the smaller half of all, where units drawn by size are counted: with fewer, 95%
intervals covered 88 to 98% (`python studies/audits.py`)."""
BELOW, LEAST_BELOW = 5.0, 10
"""Standard errors that a mean of at least so many audited values never lies below that of all."""


def values_differ(counts: Counts, least: int = LEAST) -> Evidence | None:
    """Test that, within a true class, values do not depend on whether the prediction is right.

    Two questions about the sums of the wrongly predicted units' values, class by class: is any far
    from that of picking as many units of the class at random, and do all point the same way? The
    p-value is that of the clearer answer. With bands the values are normal scores of their ranks in
    the class (van Elteren's test), for which neither a few large units nor zeros decide, and wrong
    predictions are shuffled within classes, so that the p-value holds however few they are.
    Otherwise values are themselves, and sums are taken as normal. None if no class has at `least`
    so many audited units of either kind, or values do not vary.
    """
    right = counts.same
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
    use = (bad >= least) & (units - bad >= least) & (var > 1e-12 * np.maximum(mean**2, 1e-300))
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
        "The totals assume that the values of a true class do not depend on the prediction. With "
        f"{int(bad.sum()):,} audited units that were predicted wrongly, the test set would hardly "
        f"show it if such units were {FACTOR:g} times as large or as small as the others, and the "
        f"interval of {counts.classes[int(far.argmax())]!r} would then be too narrow. Audit more "
        "units, or draw the test set from this population."
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
        "all units. If only a few of them were predicted as another class, that would change the "
        "totals a lot, and the interval may be too narrow. Draw the test set within size classes "
        "(`drawn_within`), or compare with method='difference' from a random test set."
    ]


def thin_half(counts: Counts) -> str | None:
    """Say which half of a predicted total rests on fewer than THIN audited units, if one does.

    Its units are the largest. None if values are not in bands, or some are negative.
    """
    if counts.bands is None or counts.bands.u_hat is None or counts.signed:
        return None
    cells, found = counts.bands.unscored(), []
    assert cells.u_hat is not None
    each = (cells.n.sum(axis=0), cells.v_hat, cells.u_hat)
    for label, n, v, u in zip(
        counts.predicted, *(x.reshape(counts.L, -1) for x in each), strict=True
    ):
        if u.sum() <= 0:
            continue
        order = np.argsort(-u / np.maximum(v, 1), kind="stable")
        last = int(np.searchsorted(np.cumsum(u[order]), u.sum() / 2))
        top = order[: last + 1]
        if n[top].sum() < v[top].sum():
            found.append((int(n[top].sum()), int(v[top].sum()), label))
    audited, units, label = min(found, key=lambda x: x[0], default=(THIN, 0, None))
    if audited >= THIN:
        return None
    of_them = ("none was", "only one of them was", "only two of them were")[audited]
    where = "1 unit, which was not" if units == 1 else f"{units:,} units, and {of_them}"
    return (
        f"Half of the total predicted {label!r} is in {where} audited: that "
        "hardly tells whether large units are predicted as well as small ones. If they are not, "
        "the interval may be too narrow. Label more large units: draw them by size, or within size "
        "classes."
    )


def thin_small(counts: Counts) -> list[str]:
    """Say that hardly a unit of the smaller half was audited, where units drawn by size count."""
    if counts.totals or counts.bands is None or counts.bands.u_hat is None:
        return []
    n, v, u = counts.bands.n.sum(axis=0), counts.bands.v_hat, counts.bands.u_hat
    order = np.argsort(u / np.maximum(v, 1), kind="stable")
    half = order[: int(np.searchsorted(np.cumsum(v[order]), v.sum() / 2)) + 1]
    audited = int(n[half].sum())
    if audited >= THIN_SMALL or audited == v[half].sum():
        return []
    of_them = {0: "none was", 1: "only 1 was"}.get(audited, f"{audited} were")
    return [
        f"Of the {v[half].sum():,} units that were least likely to be drawn, {of_them} "
        "audited: how often these are predicted wrongly is taken from larger ones, and the "
        "interval may be too narrow. For counts, draw at random or within size classes."
    ]


def trend(n: Floats, units: Floats, z: Floats) -> Floats | None:
    """Return how many standard errors each outcome (K,) is more common where z is larger.

    The test of Cochran and Armitage, stratified (Mantel): Σ z (n_gℓ − n_ℓ c_gh) against its
    variance given the margins, with n (K, H, B) of the `units` (H, B) in each stratum h. None if
    no outcome varies.
    """
    m = units.sum(axis=1)
    c = n.sum(axis=2) / np.maximum(m, 1)
    centre = z - ((units * z).sum(axis=1) / np.maximum(m, 1))[:, None]
    each = (units * centre**2).sum(axis=1) / np.maximum(m - 1, 1)
    var = (c * (1 - c) * each * m).sum(axis=1)
    if not (var > 0).any():
        return None
    return np.asarray((n * centre).sum(axis=(1, 2)) / np.sqrt(np.where(var > 0, var, np.inf)))


def rates_follow_value(counts: Counts) -> Evidence | None:
    """Test that, within a predicted class, the true class does not depend on the value.

    The trend test within predicted classes, per true class. Needs bands of the value.
    """
    if counts.bands is None or counts.bands.u_hat is None:
        return None
    K = counts.K
    n, z = _cells(counts)
    size = trend(n, n.sum(axis=0), z)
    if size is None:
        return None
    g = int(np.abs(size).argmax())
    p = float(min(1.0, 2 * special.ndtr(-abs(size[g])) * max(K - (K == 2), 1)))
    rarer = "rarer" if size[g] < 0 else "more common"
    return Evidence(
        p,
        f"true class {counts.classes[g]!r} is {rarer} among large values than among small ones of "
        "the same predicted class",
    )


def _cells(counts: Counts) -> tuple[Floats, Floats]:
    """Audited units (K, L·J, B), and the score of each cell (L·J, B)."""
    assert counts.bands is not None
    cells = counts.bands.unscored()
    assert cells.u_hat is not None
    K, L, J = counts.K, counts.L, cells.strata
    z = scores(cells.v_hat.reshape(L, J, -1), cells.u_hat.reshape(L, J, -1))
    return cells.n.reshape(K, L * J, -1).astype(float), np.tile(z, (L, 1))


def far_smaller(counts: Counts) -> str | None:
    """Say where audited values are so small that they cannot be those of their predicted class.

    By the variance of all units of that class. Only small ones are tested: a mean of few units lies
    far above the mean of all by chance where one of them is very large, but never far below.
    """
    if counts.u_hat is None or counts.w_hat is None or counts.t is None or counts.signed:
        return None
    n, v = counts.n.sum(axis=0), np.maximum(counts.v_hat, 1)
    mean, seen = counts.u_hat / v, counts.t.sum(axis=0) / np.maximum(n, 1)
    error = np.sqrt(np.maximum(counts.w_hat / v - mean**2, 0.0) / np.maximum(n, 1))
    far = (n >= LEAST_BELOW) & (seen < mean / 2) & (seen < mean - BELOW * error)
    if not far.any():
        return None
    h = int(np.where(far, seen / np.maximum(mean, 1e-300), np.inf).argmin())
    return (
        f"The mean value of the audited units predicted {counts.predicted[h]!r} is {seen[h]:.3g}, "
        f"that of all units predicted so {mean[h]:.3g}: chance does not explain that, and totals "
        "may be far off. Are both tables in the same unit?"
    )
