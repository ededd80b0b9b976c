"""The classical estimators: a point, a standard error and a normal interval, without draws.

Each is a pure function of the same bag of counts, rows true and columns predicted, and of the
settings. With s the true class, ŝ the predicted class and y the value of a unit (y = 1 when units
are counted), an estimator for class g sees a unit through a = y·1[s=g] and f = y·1[ŝ=g]. The bag
loses nothing: the test set's Σa, Σf, Σa², Σf² and Σaf are the row sums, the column sums and the
diagonal of ``t`` and ``t2``, which for counts are ``n``. Nothing is clipped: an estimate or a limit
below zero is what the formula gives.
"""

from collections.abc import Sequence

import numpy as np

from trueup.count.counts import Counts
from trueup.draws.settings import Settings
from trueup.errors import EstimateError
from trueup.estimate.answer import Answer, normal
from trueup.numerics.arrays import Bools, Floats

IGNORED = 0.05
"""Audited part of a predicted class up to which the finite population correction is left out, as
in the papers (Cochran 1977, 2.6, has the rule)."""


def calibrated(counts: Counts, settings: Settings) -> Answer:
    """Σ_h û_h·ĉ_gh with ĉ_gh = n_gh/n_·h: the stratified estimator of Olofsson et al. (2013, 2014).

    The variance is Σ_h ĉ_gh(1 − ĉ_gh)·n_·h/(n_·h − 1)·[û_h²/n_·h + ŵ_h − û_h²/v̂_h]. The first
    term is theirs: ĉ is estimated. The rest is zero for counts and is v̂_h times the variance of y
    within predicted class h: *which* of its units belong to g is random, and their values differ
    (without `w_hat` it is left out, with a warning). As in the papers there is no finite population
    correction, unless more than IGNORED of a predicted class was audited: 1 − n_·h/v̂_h then.

    For totals with the audited values (`t`, `t2`), ĉ is the class's share of the audited *value*,
    t_gh/t_·h: the separate ratio estimator, with its linearised variance (Cochran 1977, chapter 6).
    Without them value and true class must be unrelated within a predicted class. "by_class" and
    "shifted" bring a warning: Pr(s | ŝ) of such a test set is not the population's.

    References
    ----------
    Olofsson, Foody, Stehman, Woodcock (2013), Remote Sensing of Environment 129:122–131;
    Olofsson, Foody, Herold, Stehman, Woodcock, Wulder (2014), the same 148:42–57, eqs. 9–11;
    Kloos, Meertens, Scholtus, Karch (2021), doi:10.1007/978-3-030-76640-5_5.

    Examples
    --------
    >>> from trueup.count.counts import make_counts
    >>> from trueup.draws.settings import make_settings

    Olofsson et al. (2014), Table 8, where the predicted class is in the rows: deforestation, forest
    gain, stable forest, stable non-forest. Published: 235,086 ± 68,418 pixels of deforestation.

    >>> reference_by_map = [[66, 0, 1, 2], [0, 55, 0, 1], [5, 8, 153, 9], [4, 12, 11, 313]]
    >>> counts = make_counts(reference_by_map, [200_000, 150_000, 3_200_000, 6_450_000])
    >>> area = calibrated(counts, make_settings(4))
    >>> print(f"{area.estimate[0]:,.0f} ± {1.96 * area.sd[0]:,.0f}")
    235,086 ± 68,418
    """
    n, v, u_hat, w_hat = counts.n, counts.v_hat.astype(float), counts.u_hat, counts.w_hat
    u, valued = v if u_hat is None else u_hat, counts.t is not None and counts.t2 is not None
    warnings = []
    if not settings.from_population:
        warnings.append(
            "`calibrated` carries Pr(true | predicted) over from the test set, which the design"
            f" {settings.design!r} does not allow: the estimate is pulled towards the test set's"
            " own shares of the classes. Use method='constrained'."
        )
    if u_hat is not None and w_hat is None and not valued:
        warnings.append(
            "The values within a predicted class are taken as equal, so the interval is too narrow:"
            " give their sums of squares per predicted class (predicted_squares)."
        )
    h = _audited(counts, "`calibrated`")
    n, v, u = n[:, h], v[h], u[h]
    m = n.sum(axis=0)
    left = 1 - np.minimum(m / v, 1.0) * (settings.overlap & (m > IGNORED * v))
    if counts.t is not None and counts.t2 is not None:
        estimate, variance = _by_ratio(m, left, u, counts.t[:, h], counts.t2[:, h])
        return normal(estimate, np.sqrt(variance), settings.interval, warnings=warnings)
    c = n / m
    spread = np.zeros_like(u)
    if u_hat is not None and w_hat is not None:
        # Never negative (Cauchy-Schwarz); the maximum only removes a rounding error.
        spread = np.maximum(w_hat[h] - u**2 / v, 0.0)
    variance = (c * (1 - c)) @ (m / (m - 1) * (left * u**2 / m + spread))
    return normal(c @ u, np.sqrt(variance), settings.interval, warnings=warnings)


def _by_ratio(m: Floats, left: Floats, u: Floats, t: Floats, t2: Floats) -> tuple[Floats, Floats]:
    """Σ_h û_h t_gh/t_·h and its variance Σ_h (û_h/t_·h)² m_h s²_h, s² that of y(1[s=g] − ĉ).

    Times what is `left`, the finite population correction.
    """
    total = t.sum(axis=0)
    valued = total != 0  # a predicted class whose audited values are all 0 says nothing
    if (~valued & (u != 0)).any():
        raise EstimateError(
            "`calibrated` of a total needs audited units with a value in every predicted class.",
            hint="audit units with a value, or use method='joint'.",
        )
    c = np.where(valued, t / np.where(valued, total, 1.0), 0.0)
    squares = (1 - c) ** 2 * t2 + c**2 * (t2.sum(axis=0) - t2)
    factor = np.where(valued, u / np.where(valued, total, 1.0), 0.0)
    return c @ u, squares @ (left * factor**2 * m / (m - 1))


def difference(
    counts: Counts, settings: Settings, *, power_tuning: bool = True, scores: Floats | None = None
) -> Answer:
    """λû + (N/n)·Σ_test (a − λf): prediction-powered inference, λ tuned per class (PPI++) or 1.

    Tuned, λ = cov(a, f) / ((1 + n/N)·var(f)), clipped to [0, 1] as in PPI++. The variance is
    N²·[λ²·var(f)/N + var(a − λf)/n]. Both are ``ppi_mean_ci`` of ppi-python, called for class g
    with ``Y`` = a and ``Yhat`` = f of the test units and ``Yhat_unlabeled`` = f of all N units of
    the population, times N. With `scores` (K, L), columns are cells of the classifier's score, and
    f is y times the cell's probability of class g rather than y·1[ŝ=g]. Moments divide by their
    size, but var(f) in λ is over the n + N values together and divides by n + N − 1. Without
    `w_hat`, (N/n)·Σf² of the test set stands in for it.

    PPI estimates the mean of the source that the population came from, so for the total of *this*
    population the first term is cautious; it is small while n is well below N. With λ = 1, the
    difference estimator of survey sampling, the classes add up to the total; with tuned λ they
    need not.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023), Science 382:669–674 (λ = 1);
    Angelopoulos, Duchi, Zrnic (2023), "PPI++", arXiv:2311.01453.

    Examples
    --------
    >>> from trueup.count.counts import make_counts
    >>> from trueup.draws.settings import make_settings
    >>> counts = make_counts([[4, 1], [2, 3]], [20, 80])
    >>> difference(counts, make_settings(2), power_tuning=False).estimate
    array([10., 90.])
    """
    if settings.design != "random":
        raise EstimateError(
            "`difference` needs a test set drawn at random from the population; the design is"
            f" {settings.design!r}.",
            hint="use method='calibrated' for by_prediction, and 'constrained' for the others.",
        )
    v, N, m = counts.v_hat.astype(float), float(counts.N), float(counts.n.sum())
    _enough(m, "`difference`")
    t, t2 = _sums(counts, "`difference`")
    q = np.eye(len(t)) if scores is None else scores
    a1, a2, af = t.sum(axis=1), t2.sum(axis=1), (q * t2).sum(axis=1)
    f1, f2 = q @ t.sum(axis=0), q**2 @ t2.sum(axis=0)
    u, w, warnings = q @ v, q**2 @ v, []
    if counts.u_hat is not None:
        u, w = q @ counts.u_hat, f2 * N / m if counts.w_hat is None else q**2 @ counts.w_hat
        if counts.w_hat is None:
            warnings.append(
                "The sums of squares per predicted class are estimated from the test set:"
                " give them (predicted_squares)."
            )
    lam = np.ones_like(u)
    if power_tuning:
        covariance = (af - a1 * f1 / m) / m
        pooled = (w + f2 - (u + f1) ** 2 / (N + m)) / (N + m - 1)
        # Predictions that do not vary cancel out of the estimate, as with λ = 0.
        lam = np.divide(covariance, (1 + m / N) * pooled, out=np.zeros_like(u), where=pooled > 0)
        lam = np.clip(lam, 0.0, 1.0)
    d1, d2 = a1 - lam * f1, a2 - 2 * lam * af + lam**2 * f2
    var_d = np.maximum(d2 / m - (d1 / m) ** 2, 0.0)
    var_f = np.maximum(w / N - (u / N) ** 2, 0.0)
    variance = N**2 * (lam**2 * var_f / N + var_d / m)
    found = lam * u + N / m * d1
    told = {"warnings": warnings, "tuning": lam.tolist()}
    return normal(found, np.sqrt(variance), settings.interval, **told)


def test_set(counts: Counts, settings: Settings) -> Answer:
    """The test set alone, expanded: Σ_h v_h·mean_h(a), with one stratum or one per predicted class.

    Under "random" there is one stratum, the population, and this is (N/n)·Σ_test a. Under
    "by_prediction" the strata are the predicted classes. The variance is
    Σ_h v_h²·s_h²·(1/n_h ∓ 1/v_h), s_h² with n_h − 1: minus (the finite population correction) when
    the test units belong to the population (`overlap`), plus when they do not and all v_h values
    are to be predicted.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., chapters 2 and 5.

    Examples
    --------
    >>> from trueup.count.counts import make_counts
    >>> from trueup.draws.settings import make_settings
    >>> test_set(make_counts([[4, 1], [2, 3]], [10, 90]), make_settings(2)).estimate
    array([50., 50.])
    """
    overlap = settings.overlap
    if not settings.from_population:
        raise EstimateError(
            "`test_set` expands the classes' shares in the test set; under the design"
            f" {settings.design!r} they say nothing about the population.",
            hint="use method='constrained'.",
        )
    m, v = counts.n.sum(axis=0), counts.v_hat.astype(float)
    t, t2 = _sums(counts, "`test_set`")
    if settings.design == "random":
        m, v = m.sum(keepdims=True), v.sum(keepdims=True)
        t, t2 = t.sum(axis=1, keepdims=True), t2.sum(axis=1, keepdims=True)
        _enough(m[0], "`test_set`")
    else:
        h = _audited(counts, "`test_set` by predicted class")
        m, v, t, t2 = m[h], v[h], t[:, h], t2[:, h]
    if overlap and (m > v).any():
        raise EstimateError(
            "There are more test units than population units, so they cannot all belong to it.",
            hint="set overlap=False.",
        )
    mean = t / m
    s2 = np.maximum(t2 - m * mean**2, 0.0) / (m - 1)
    variance = s2 @ (v**2 * (1 / m - 1 / v if overlap else 1 / m + 1 / v))
    return normal(mean @ v, np.sqrt(variance), settings.interval)


test_set.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


def _sums(counts: Counts, who: str) -> tuple[Floats, Floats]:
    """Return Σy and Σy² of the test units per cell; for counts both are n."""
    if not counts.totals:
        return counts.n.astype(float), counts.n.astype(float)
    if counts.t is None or counts.t2 is None:
        raise EstimateError(
            f"{who} of a total needs Σy and Σy² of the test units per cell; one is missing.",
            hint="call tu.correct with both tables, or use method='calibrated'.",
        )
    return counts.t, counts.t2


def _enough(m: float, who: str) -> None:
    if m < 2:
        raise EstimateError(
            f"{who} needs at least 2 test units for a standard error; got {m:g}.",
            hint="audit more units.",
        )


def _audited(counts: Counts, who: str) -> Bools:
    """Mask the predicted classes that occur; each needs two test units, for a variance."""
    cells = zip(counts.predicted, counts.n.sum(axis=0), counts.v_hat, strict=True)
    few = {label: int(m) for label, m, v in cells if v > 0 and m < 2}
    if few:
        raise EstimateError(
            f"{who} needs at least 2 test units in every predicted class that occurs (with none"
            f" there is no estimate, with one no standard error); these have fewer: {few}.",
            hint="merge small classes, audit more of their units, or use method='joint'.",
        )
    return counts.v_hat > 0


def no_width(sd: Floats, classes: Sequence[object]) -> list[str]:
    """Warn of intervals without width."""
    flat = [g for g, s in zip(classes, sd, strict=True) if s == 0]
    if not flat:
        return []
    return [
        f"The test set shows no variation for {flat}, so their intervals have no width, which"
        " cannot be right. The Bayesian methods do not have this fault."
    ]
