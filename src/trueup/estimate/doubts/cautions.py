"""What the user should know before publishing, whatever the method found."""

import numpy as np
from numpy.typing import NDArray

from trueup.audit.clusters import Clusters
from trueup.count.counts import Counts
from trueup.draws.settings import POSTERIORS, Settings
from trueup.draws.theorem1 import posterior
from trueup.estimate.cell_totals import in_cells
from trueup.estimate.doubts.chance import chance_warning
from trueup.estimate.doubts.design import design_doubts
from trueup.estimate.doubts.own_rates import strata_of_size
from trueup.estimate.doubts.rates import prior_conflict
from trueup.estimate.doubts.unaudited import MOST_NAMED, unaudited
from trueup.estimate.doubts.values import far_smaller, thin_half, thin_small, values_differ
from trueup.prior import Concentrations
from trueup.text import p_text, quoted

FEW_WRONG = 12
"""Audited errors below which totals of signed values are doubtful: where classes lie two standard
deviations apart, intervals covered 71% with about 7 errors, 92% with 12 and all of 24 with 24."""
FEW_LARGER = 8
"""Audited errors below which other totals are: where wrongly predicted units were three times as
large, intervals covered 73% with about five errors (`trueup verify --only values`)."""
TOLD_FROM_ZERO = 0.75
"""Standard errors; below this the interval rests on the prior and the bound at 0. `trueup verify`
counts how often the warning appears where intervals miss, and where they do not."""
TOTAL_FROM_ZERO = 2.0
"""The same for totals: a class whose units are 1/50 as large as the others was covered only below
0.75 standard errors, where the bound at 0 pulls the interval down, and beyond 2."""
WEAK = ("perks", "jeffreys", "uniform")
"""Priors that no test set contradicts."""
DOUBTFUL = 0.01
DIFFERENT = 0.015
"""Below this p-value values of a class differ: so often the warning comes for nothing."""
FEW = 5
"""Test units of a class; below that, 95% intervals of totals covered 85% with a class of 5%
(`python studies/real_classifiers.py --only imbalanced_5 --sizes 50`)."""
FLAT = ("jeffreys", "uniform")
"""Priors that sound harmless, and are not with many classes."""
PERKS = 1.0
USUAL = 0.8
"""The share of right predictions that the pull is computed for."""
PULL = 0.5
"""Standard errors. With 15 classes and 150 audited units of each, Jeffreys' prior pulls rates by
1.1: 95% intervals of classes covered 87%, of precisions 82% and of the overall accuracy 7%; with 5
classes and 20 units, 0.8, they covered 93%, 91% and 57%."""
LEAST_WRONG, UNBANDED = 8, 0.003
"""Audited errors that a class needs to be compared, and the p-value below which its values differ:
large values make the normal p-value too small. With lognormal values (σ from 1 to 2), 100 to 300
audited units and 5 to 15% errors, the warning came for nothing in at most 2% of test sets; where
errors rose with the value, in 92 to 100% of those of 300, and intervals covered 84 to 89%."""


def cautions(
    counts: Counts, settings: Settings, periods: bool = False, clusters: Clusters | None = None
) -> list[str]:
    """Return every caution that these data and settings call for, in plain words."""
    method, design = settings.method, settings.design
    exact = settings.noise and method in POSTERIORS and all_known(counts, settings)
    if method == "naive" or exact:
        return []
    found = []
    if method in POSTERIORS:
        found += unaudited(counts, settings)
    if counts.L < counts.K and method == "full":
        found.append(
            f"With {counts.L} predicted labels for {counts.K} classes, the predictions cannot tell "
            f"all classes apart: with design {design!r} their shares rest on the prior."
        )
    if counts.totals and counts.w_hat is None and settings.noise and method in POSTERIORS:
        found.append(
            "The classification noise of totals needs predicted_squares, the sum of the squared "
            "value per predicted class; without it values count as equal within a predicted class "
            "and the interval is too narrow."
        )
    if alike_values(counts, settings):
        evidence = values_differ(counts)
        if evidence and evidence.p_value < DIFFERENT:
            found.append(
                f"Method {method!r} assumes that the values of a true class do not depend on what "
                f"was predicted; here {evidence.words} ({p_text(evidence.p_value)}). The totals "
                "are doubtful. Draw the test set at random and use method='auto' or 'difference'; "
                f"if you cannot, {strata_of_size(settings)}."
            )
    if method == "joint" and (told := without_bands(counts, periods)):
        found.append(told)
    informative = settings.prior.name not in WEAK and settings.prior.tilt is None
    if informative and method in POSTERIORS and settings.P is None:
        evidence = prior_conflict(counts, settings.prior.alpha, design == "by_prediction")
        if evidence and evidence.p_value < DOUBTFUL:
            found.append(
                f"The prior {settings.prior.name!r} and the test set contradict each other: "
                f"{evidence.words} ({p_text(evidence.p_value)}). The answer is a compromise "
                "between the two. Does the prior hold here? Otherwise leave out `prior`."
            )
    if method in POSTERIORS and settings.P is None:
        heavy = invented(counts, settings.prior, method)
        if heavy:
            found.append(
                f"The {heavy}: it makes the classifier look worse than it is, and intervals "
                'may miss the truth. Leave out `prior`: "perks", the default, adds 1.'
            )
    few = counts.n.sum(axis=1) < FEW
    if counts.totals and method == "joint" and few.any():
        named = [counts.classes[g] for g in np.flatnonzero(few)][:MOST_NAMED]
        found.append(
            f"Fewer than {FEW} test units have true class {quoted(named)}: the interval of its "
            "total may be too narrow. Label more units, first those that are likely to be of that "
            "class."
        )
    wrong = int(counts.n.sum()) - counts.right
    if counts.totals and counts.signed and method == "joint" and wrong < FEW_WRONG:
        found.append(
            f"Some values are negative, and only {wrong} test units were predicted wrongly: they "
            "hardly tell how errors depend on the value, and the interval may be too narrow. Label "
            "more units, or compare with method='difference'."
        )
    elif method == "joint" and not few.any() and wrong < FEW_LARGER and _unequal(counts):
        found.append(
            f"Few test units were predicted wrongly ({wrong}): they hardly tell whether such units "
            "are larger or smaller than others. If they are, the interval of a total may be too "
            "narrow. Label more units, or draw them by size."
        )
    elif method == "joint" and not few.any() and counts.totals and (told := thin_half(counts)):
        found.append(told)
    if method == "joint":
        found += thin_small(counts)
    by_rows = method in ("bayes", "constrained", "full") and counts.L == counts.K
    if by_rows and settings.noise and settings.P is None:
        bounds = {"share": TOLD_FROM_ZERO} | ({"total": TOTAL_FROM_ZERO} if counts.totals else {})
        for what, bound in bounds.items():
            weak = signal(counts, settings, what == "total") < bound
            named = [counts.classes[g] for g in np.flatnonzero(weak)]
            if not named:
                continue
            more = " and more" if len(named) > MOST_NAMED else ""
            found.append(
                f"The error rates in the test set cannot tell the {what} of class "
                f"{quoted(named[:MOST_NAMED])}{more} from zero: the figure rests on the prior, "
                "and if the class hardly occurs its interval lies too high. A larger test set, or "
                "one drawn at random from the population, would tell."
            )
            break
    apart = counts.bands is not None and counts.bands.strata > 1 and not counts.bands.free
    compared = not periods and not apart
    if compared and settings.from_population and (told := far_smaller(counts)):
        found.append(told)
    if compared and design == "random":
        doubts = design_doubts(counts, settings.overlap, clusters=clusters)
        found += [doubt.words for doubt in doubts if doubt.p_value < DOUBTFUL]
    if counts.columns is None:
        alike = 1.0 if clusters is None else clusters.predictions
        found += chance_warning(counts.n, counts.classes, alike)
    if method == "joint" and not settings.from_population:
        found.append(
            "Method 'joint' assumes that the test set has the base rates of the population. With "
            f"design {design!r} it does not: the answer is wrong. Use method 'auto'."
        )
    if method in ("inverse", "bayes", "constrained", "full") and design == "by_prediction":
        found.append(
            f"Method {method!r} takes error rates within true classes from the test set, but a "
            "test set drawn within predicted classes distorts them. Use method 'auto'."
        )
    return found


def all_known(counts: Counts, settings: Settings) -> bool:
    """Whether all units of the population were audited."""
    return settings.overlap and settings.P is None and int(counts.n.sum()) >= counts.N


def _unequal(counts: Counts) -> bool:
    """Whether there are totals of values that differ: Σy²/N is well above the squared mean."""
    if counts.u_hat is None or counts.w_hat is None:
        return False
    return bool(counts.w_hat.sum() * counts.N > 1.2 * counts.u_hat.sum() ** 2)


def signal(counts: Counts, settings: Settings, totals: bool = False) -> NDArray[np.float64]:
    """How many standard errors the inverted share of each class lies above 0, (K,).

    With P̂ the posterior mean of P and β̂ = Q̂v̂/N, an error δP moves β̂ by −Q̂(δP)ᵀβ̂, and the rows
    of P are independent Dirichlets. Audited units are known, so only the others' share can err.
    For `totals` the same with shares of Σy. If the rates cannot be inverted, 0.
    """
    a = posterior(settings.prior, counts.n).alpha
    size = a.sum(axis=1, keepdims=True)
    P = a / size
    whole = counts.naive if totals else counts.v_hat
    if np.linalg.cond(P) > 1 / np.finfo(float).eps:
        return np.zeros(counts.K)
    if totals and (counts.signed or not whole.sum() > 0):
        return np.full(counts.K, np.inf)
    Q = np.linalg.inv(P.T)
    beta = Q @ (whole / whole.sum())
    w = np.maximum(beta, 0.0)
    w = (w / w.sum()) ** 2 / (size[:, 0] + 1)
    cov = np.diag(w @ P) - (P.T * w) @ P  # Σ_g w_g (diag p_g − p_g p_gᵀ)
    error = np.sqrt(np.maximum(np.einsum("gh,hk,gk->g", Q, cov, Q), 0.0))
    unknown = max(counts.N - int(counts.n.sum()), 0) / counts.N if settings.overlap else 1.0
    return np.asarray(beta / np.maximum(unknown * error, np.finfo(float).eps))


def alike_values(counts: Counts, settings: Settings) -> bool:
    """Whether these totals rest on values of a class that do not depend on the prediction."""
    by_rows = settings.method in ("bayes", "constrained", "full", "inverse")
    return counts.totals and by_rows and not in_cells(counts, settings)


def without_bands(counts: Counts, periods: bool) -> str | None:
    """Say that wrongly predicted units differ in value, where `joint` has no bands of it.

    So it is in periods, in strata with rates of their own, and where the population is given in
    sums. Strata of units of similar size are no way out: from sums they covered 77 to 87%.
    """
    if not counts.totals or counts.bands is not None:
        return None
    evidence = values_differ(counts, LEAST_WRONG)
    if evidence is None or evidence.p_value >= UNBANDED:
        return None
    where = "Where the population is given in sums"
    hint = "Give the units one by one (a row for each, without `count`)."
    if counts.within is not None:
        where = "With `strata`"
        hint = "Leave out `strata`, and give the units one by one (a row for each)."
    if periods:
        where = "With `period`"
        hint = "Correct each audited period by itself, without `period`."
    return (
        f"{where}, totals assume that errors do not depend on the value within a class; here "
        f"{evidence.words} ({p_text(evidence.p_value)}), and the intervals may be too narrow. "
        f"{hint}"
    )


def invented(counts: Counts, prior: Concentrations, method: str) -> str | None:
    """Say how many units a flat prior invents, if they matter beside the audited ones.

    a invented units, spread evenly, pull a rate p that is learned from m units to 1/K, by
    a/(a + m)·(p − 1/K); its standard error is √(p(1 − p)/(a + m)). `joint` learns from the units of
    each predicted class, other methods from those of each true class. Perks' prior, the default,
    invents one unit in each.
    """
    axis, kind = (0, "predicted") if method == "joint" else (1, "true")
    a = float(np.median(prior.alpha.sum(axis=axis)))
    m = float(np.median(counts.n.sum(axis=axis)))
    cells = prior.alpha.shape[axis]
    pull = a / np.sqrt(a + m) * (USUAL - 1 / cells) / np.sqrt(USUAL * (1 - USUAL))
    if prior.name not in FLAT or a <= PERKS or pull < PULL:
        return None
    return (
        f"prior {prior.name!r} adds {a:g} invented units to each {kind} class, beside {m:g} "
        "audited ones (the median)"
    )
