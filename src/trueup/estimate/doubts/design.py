"""Whether the test set looks as if it was drawn the way the user says."""

from collections.abc import Iterator, Mapping
from math import erfc, lgamma
from typing import NamedTuple

import numpy as np

from trueup.audit.clusters import Clusters
from trueup.count.bands import scores
from trueup.count.counts import Counts
from trueup.count.parts import Parts
from trueup.count.scores import score_ranks
from trueup.numerics import special
from trueup.numerics.arrays import Integers, Rng
from trueup.text import p_text

# The chi-square distribution is good enough when every class is expected this often (Cochran).
EXPECTED_ENOUGH = 5
SIMULATIONS = 2_000
AT_ONCE = 100_000  # column totals in memory
# NumPy draws without replacement up to here; beyond it, with replacement is as good.
HYPERGEOMETRIC_LIMIT = 1_000_000_000
DOUBTFUL = 0.01
LEAST_UNITS = 20
"""Test units whose mean score is near enough to normal."""


def design_p_value(
    n: Integers,
    v_hat: Integers,
    *,
    overlap: bool,
    rng: Rng,
    clusters: Clusters | None = None,
) -> float | None:
    """P-value: how often a random test set differs at least this much from the population.

    Pearson's chi-square of the test set's column totals against v̂/N; drawn without replacement
    when the audited units are in the population. None when there is nothing to compare. Of units in
    `clusters` it is divided by their design effect and has an F distribution (Rao and Scott 1981).
    """
    found, size, N = n.sum(axis=0), int(n.sum()), int(v_hat.sum())
    if size == 0 or (overlap and (found > v_hat).any()):
        return None
    if (found[v_hat == 0] > 0).any():
        return 0.0
    occurs = v_hat > 0
    if occurs.sum() < 2 or (overlap and size == N):
        return None
    expected = size * v_hat[occurs] / N
    statistic = ((found[occurs] - expected) ** 2 / expected).sum()
    if clusters is not None:
        shrink = 1 - (size - 1) / (N - 1) if overlap else 1.0
        K = len(expected) - 1
        F = statistic / shrink / clusters.predictions / K
        return float(special.fdtrc(K, K * clusters.freedom, F))
    if expected.min() >= EXPECTED_ENOUGH:
        shrink = 1 - (size - 1) / (N - 1) if overlap and N > 1 else 1.0
        return chi_square_tail(int(occurs.sum()) - 1, statistic / shrink)
    simulated = np.concatenate(
        [
            ((drawn - expected) ** 2 / expected).sum(axis=1)
            for drawn in _random_totals(v_hat[occurs], size, overlap, rng)
        ]
    )
    return float((1 + (simulated >= statistic * (1 - 1e-9)).sum()) / (1 + SIMULATIONS))


def _random_totals(v_hat: Integers, size: int, overlap: bool, rng: Rng) -> Iterator[Integers]:
    """Column totals of random test sets, in blocks: there may be many thousand groups."""
    N, last = int(v_hat.sum()), v_hat.cumsum()
    inside = overlap and N < HYPERGEOMETRIC_LIMIT
    by_unit = size < len(v_hat) and (size * 50 < N or not inside)
    each = max(1, min(SIMULATIONS, AT_ONCE // len(v_hat)))
    for done in range(0, SIMULATIONS, each):
        times = min(each, SIMULATIONS - done)
        if by_unit:  # their groups, rather than the units of every group
            chosen = (rng.choice(N, size, replace=not inside, shuffle=False) for _ in range(times))
            groups = [last.searchsorted(units, side="right") for units in chosen]
            yield np.stack([np.bincount(group, minlength=len(v_hat)) for group in groups])
        elif inside:
            yield rng.multivariate_hypergeometric(v_hat, size, times, method="marginals")
        else:
            yield rng.multinomial(size, v_hat / N, times)


def chi_square_tail(freedom: int, x: float) -> float:
    """Pr(χ² > x), by its finite sum: SciPy takes longer to load than the answer takes.

    With h = x/2 the terms are h^i e^(−h) / Γ(i + 1) for i = 0, 1, … below freedom/2, or, for odd
    freedom, i = 1/2, 3/2, … and erfc(√h) (Abramowitz and Stegun 1964, 26.4.4–5).

    Examples
    --------
    >>> round(chi_square_tail(1, 3.841458820694124), 12)
    0.05
    """
    h, odd = x / 2, freedom % 2
    if not h > 0:
        return 1.0
    i = np.arange(odd / 2, freedom / 2)
    terms = np.exp(i * np.log(h) - h - [lgamma(k + 1) for k in i])
    return min(float(terms.sum()) + odd * erfc(np.sqrt(h)), 1.0)


class Doubt(NamedTuple):
    """A test of the design: of what, its p-value adjusted for the number of tests, and words."""

    what: str
    p_value: float
    words: str
    part: bool  # whether it is of groups or strata


def design_doubts(
    counts: Counts,
    overlap: bool,
    parts: Mapping[str, Parts] | None = None,
    clusters: Clusters | None = None,
) -> list[Doubt]:
    """Test a test set called random in everything that both tables share, one p-value each.

    Its predicted classes, its values (the mean of the logs' scores of their bands), the
    classifier's scores, what other classifiers predict, and the groups and strata of `parts`, by
    name. P-values are adjusted by Bonferroni. With `counts.within`, the
    strata have rates of their own: predicted classes are tested within each of them, and how many
    units were audited in each is not. Units of one of the `clusters` may be alike.
    """
    rng = np.random.default_rng(0)  # the p-value is a fact about the data, not a draw
    strata = counts.within
    cells = [(counts.n, counts.v_hat)]
    if strata is not None:
        cells = [*zip(strata.n, strata.v_hat, strict=True)]
    tested = [
        design_p_value(n, v_hat, overlap=overlap, rng=rng, clusters=clusters) for n, v_hat in cells
    ]
    p_values = [p for p in tested if p is not None]
    worst = min(1.0, len(p_values) * min(p_values)) if p_values else None
    found = [("predicted classes", worst)]
    shown = counts
    if strata is not None and p_values:
        shown = strata.part(tested.index(min(p_values)))
    mean = _mean_score(counts, overlap, clusters, rng) if strata is None else None
    found.append(("values", None if mean is None else mean[0]))
    surer = _mean_rank(counts, overlap, clusters)
    found.append(("scores", None if surer is None else surer[0]))
    if counts.bands is not None and "others" in counts.bands.free:
        each = (len(counts.v_hat), counts.bands.strata, -1)
        n, v_hat = counts.bands.n.sum(axis=0), counts.bands.v_hat
        n, v_hat = (x.reshape(each).sum(axis=(0, 2)) for x in (n, v_hat))
        p_value = design_p_value(n[None], v_hat, overlap=overlap, rng=rng, clusters=clusters)
        found.append(("further predictions", p_value))
    for name, part in (parts or {}).items():
        if part.counts is strata:
            continue
        n, v_hat = part.counts.n.sum(axis=(-2, -1))[None], part.counts.v_hat.sum(axis=-1)
        p_value = design_p_value(n, v_hat, overlap=overlap, rng=rng)
        found.append((f"labels in {name}", p_value))
    known = [(what, p) for what, p in found if p is not None]
    said = {"values": "are larger than" if mean and mean[1] > 0 else "are smaller than"}
    said["scores"] = "are higher than" if surer and surer[1] > 0 else "are lower than"
    return [
        Doubt(
            what,
            min(p * len(known), 1.0),
            _words(shown, what, p * len(known), said.get(what, "do not look like")),
            what.startswith("labels"),
        )
        for what, p in known
    ]


CAUSES = {
    "values": "Are both tables in the same unit? Was it drawn by size? Name",
    "scores": "Are they of the same version of the model? Were unsure units drawn more often? Name",
    "further predictions": "Are they of the same version of that classifier? If so, name",
}
"""What to ask where a random test set does not look like one."""


def most_unlike(counts: Counts) -> str:
    """Name the predicted class whose share of the test set is the least like the population's."""
    in_test = counts.n.sum(axis=0) / counts.n.sum()
    in_population = counts.v_hat / counts.N
    h = int(np.abs(in_test - in_population).argmax())
    return (
        f"{counts.predicted[h]!r} is {in_test[h]:.1%} of the test set and {in_population[h]:.1%} "
        "of the population"
    )


def by_stratum(counts: Counts) -> Counts:
    """Return the counts of each audit stratum: n (J, K, L) and v̂ (J, L)."""
    cells, L = counts.bands, counts.L
    assert cells is not None
    n, v_hat = (x.reshape(*x.shape[:-1], L, cells.strata, -1) for x in (cells.n, cells.v_hat))
    n, v_hat = (np.moveaxis(x.sum(axis=-1), -1, 0) for x in (n, v_hat))
    return Counts(counts.classes, n, v_hat, columns=counts.columns)


def _words(counts: Counts, what: str, p_value: float, said: str) -> str:
    p = f"({p_text(p_value)})"
    if what == "predicted classes":
        return (
            "The predicted classes of the test set do not look like a random sample of the "
            f"population {p}: {most_unlike(counts)}. With design 'random' the answer "
            "would then be wrong. Was the test set drawn within predicted classes "
            "('by_prediction'), within true classes ('by_class'), or from another period or "
            "population ('shifted')?"
        )
    cause = CAUSES.get(what, "Was it drawn within regions or other strata? Name")
    return (
        f"The {what} of the test set {said} those of a random sample {p}. With design 'random' the "
        f"answer may then be wrong. {cause} the columns that it was drawn within "
        "(`drawn_within`), or each unit's inclusion probability (`probability`)."
    )


def _mean_rank(
    counts: Counts, overlap: bool, clusters: Clusters | None
) -> tuple[float, float] | None:
    """P-value and sign of the test set's scores, by their ranks within predicted classes."""
    cells, L = counts.bands, len(counts.v_hat)
    if cells is None or "scores" not in cells.free:
        return None
    n, v = (
        x.reshape(L, -1, cells.score_bands).sum(axis=1) for x in (cells.n.sum(axis=0), cells.v_hat)
    )
    z = score_ranks(v)
    size, all_, z2 = n.sum(axis=1), v.sum(axis=1), (v * z**2).sum(axis=1)
    var = size * z2 / np.maximum(all_, 1)
    var *= (1 - size / np.maximum(all_, 1)) if overlap else 1.0
    if size.sum() < LEAST_UNITS or var.sum() <= 0:
        return None
    return _normal(float((n * z).sum() / np.sqrt(var.sum())), clusters)


def _normal(t: float, clusters: Clusters | None) -> tuple[float, float]:
    """P-value of a standardised mean, and the mean; units of a cluster may be alike."""
    if clusters is None:
        return erfc(abs(t) / np.sqrt(2)), t
    t /= np.sqrt(clusters.values)
    return float(2 * special.stdtr(clusters.freedom, -abs(t))), t


def _mean_score(
    counts: Counts, overlap: bool, clusters: Clusters | None, rng: Rng
) -> tuple[float, float] | None:
    """P-value and sign of the test set's mean score of the value against the population's.

    A small p-value must also be that of random test sets: a few units of a thousand times the value
    of all others have scores far from normal.
    """
    cells = counts.bands
    if cells is None or cells.u_hat is None or getattr(cells, "strata", 1) > 1:
        return None
    cells = cells.unscored()
    assert cells.u_hat is not None
    L = counts.v_hat.size
    z = scores(cells.v_hat.reshape(L, -1), cells.u_hat.reshape(L, -1)).ravel()
    n, v = cells.n.sum(axis=0).reshape(L, -1).sum(axis=0), cells.v_hat.reshape(L, -1).sum(axis=0)
    size, N = int(n.sum()), int(v.sum())
    mean = float((v * z).sum() / N)
    var = float((v * (z - mean) ** 2).sum() / N)
    var *= (1 - size / N) if overlap else 1.0
    if size < LEAST_UNITS or var <= 0:
        return None
    away = float((n * z).sum() / size) - mean
    p, t = _normal(away / np.sqrt(var / size), clusters)
    if clusters is None and p < DOUBTFUL and not (overlap and (n > v).any()):
        drawn = np.concatenate([x @ z for x in _random_totals(v, size, overlap, rng)]) / size
        more = (np.abs(drawn - mean) >= abs(away) * (1 - 1e-9)).sum()
        p = max(p, float(1 + more) / (1 + SIMULATIONS)) if more else p
    return p, t
