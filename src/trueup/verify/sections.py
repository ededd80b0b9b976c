"""What users have, beyond the model's assumptions: a section is a list of scenarios.

Their factors are the arguments of the function that makes one replication: population, audit,
`correct`, and the figures beside their truth. `data` names a data set of scikit-learn.
"""

import itertools
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from trueup.api import correct
from trueup.audit.draw import draw
from trueup.draws.settings import DESIGNS
from trueup.estimate.derived import divide, summarise_draws
from trueup.numerics.arrays import Floats, Rng
from trueup.verify import populations as of
from trueup.verify.findings import SHOWN, Finding
from trueup.verify.grid import draw_values, error_rates
from trueup.verify.scenario import Correct, Observed, Scenario, ask, observe, table, whole

FIGURES = ("counts", "totals")
REAL = ("cancer", "rare_cancer", "wine", "digits", "imbalanced_5", "imbalanced_20")
RATES = np.array([[0.95, 0.05], [0.15, 0.85]])
ODD = np.array([[0.85, 0.15], [0.45, 0.55]])
"""Three times the errors."""
GROUPS = np.repeat((5, 20, 100, 500), 5)
"""Units of each group where error rates are equal."""
MONTHS = 12
AUDITS = {"one month": {3: 200}, "two months": {3: 100, 9: 100}}
"""Audited units, of 1,000 in each month."""


def every_scenario() -> tuple[list[Scenario], list[Finding]]:
    """List the scenarios of all sections, and a finding for each that cannot be complete here."""
    found = [*_real(), *_values(), *_groups(), *_audits(), *_scores(), *_periods()]
    if find_spec("sklearn") is not None:
        return found, []
    able = [x for x in found if "data" not in x.factors]
    what = "real data left out: scikit-learn is not installed"
    short = dict.fromkeys(x.section for x in found if "data" in x.factors)
    return able, [Finding(name, what, 0, "", "", SHOWN) for name in short]


def _real() -> Iterator[Scenario]:
    designs = (("random", 50), ("random", 200), ("by_prediction", 200))
    for data, figure, (design, n) in itertools.product(REAL, FIGURES, designs):
        factors = {"data": data, "figure": figure, "design": design, "n": n}
        yield Scenario("real data", real_data, factors, 40, 0.7 if figure == "totals" else 0.05)


def real_data(rng: Rng, answer: Correct, data: str, figure: str, design: str, n: int) -> Observed:
    """A classifier trained on few units of a data set of scikit-learn."""
    units = of.learned(data, rng)
    test = of.audit(units, n, design, rng)
    return _classes(*ask(answer, rng, units, test, figure, design=design))


def _classes(est: Any, truth: Floats) -> Observed:
    return observe(est, (whole(est), truth), beside=("Units have the probabilities",))


def _values() -> Iterator[Scenario]:
    larger = (("error", 3.0), ("error", 0.3), ("class", 100.0), ("class", 0.02), ("signed", 2.0))
    audits = (("random", 60, 1), ("random", 500, 1), ("random", 500, 2), ("by_prediction", 200, 1))
    for (what, factor), (design, n, sigma) in itertools.product(larger, audits):
        factors = {"what": what, "factor": factor, "sigma": sigma, "design": design, "n": n}
        yield Scenario("values", values, factors, 40, 0.7)


def values(
    rng: Rng, answer: Correct, what: str, factor: float, sigma: float, design: str, n: int
) -> Observed:
    """Values that go with the error or with the class."""
    units = of.valued(what, factor, sigma, rng)
    test = of.audit(units, n, design, rng)
    return _classes(*ask(answer, rng, units, test, "totals", design=design))


def _groups() -> Iterator[Scenario]:
    levels = ((2, 3), (50, 200, 1000), ("1", "gamma", "pareto"), DESIGNS)
    for K, n, y, design in itertools.product(*levels):
        factors = {"K": K, "n": n, "y": y, "design": design}
        yield Scenario("groups", equal_rates, factors, 2, 2.2)
    kinds = ("apart 20", "apart 100", "one apart")
    for rates, figure, n in itertools.product(kinds, FIGURES, (300, 1500)):
        factors = {"rates": rates, "figure": figure, "n": n}
        yield Scenario("group rates", other_rates, factors, 30, 1.4)
    for data, figure in itertools.product(("cancer", "imbalanced_20"), FIGURES):
        factors = {"data": data, "figure": figure, "n": 300}
        yield Scenario("group rates", regions, factors, 30, 1.4)


def equal_rates(rng: Rng, answer: Correct, K: int, n: int, y: str, design: str) -> Observed:
    """Twenty groups of four sizes, with base rates of their own."""
    P = error_rates(K, 0.85)
    base = rng.dirichlet(np.linspace(6.0, 3.0, K), len(GROUPS))
    rows = np.repeat(P[None], len(GROUPS), axis=0)
    units = _with(y, of.grouped(base, rows, GROUPS, rng), rng)
    test: Any = of.audit(units, n, design, rng)
    if design == "shifted":  # units from elsewhere: the same rates, equal shares
        test = _with(y, of.grouped(np.full((1, K), 1 / K), P[None], n, rng), rng)
        del test["group"]
    figure = FIGURES[y != "1"]
    est, truth = ask(answer, rng, units, test, figure, by="group", design=design)
    return observe(est, (est.groups.figures, truth))


def _with(y: str, units: of.Units, rng: Rng) -> of.Units:
    return units if y == "1" else units | {"y": draw_values(y, units["true"], rng)}


def other_rates(rng: Rng, answer: Correct, rates: str, figure: str, n: int) -> Observed:
    """Ten groups: rows of P from Dir(κp), or one group with three times the errors."""
    kind, kappa = rates.split()
    P = of.rates_apart(RATES, 10, np.inf if kind == "one" else float(kappa), rng)
    if kind == "one":
        P[0] = ODD
    units = of.grouped(rng.dirichlet([12.0, 3.0], 10), P, 1000, rng)
    test = of.audit(units, n, "random", rng)
    est, truth = ask(answer, rng, units, test, figure, by="group")
    odd = {name: x[0] for name, x in est.groups.figures.items()}
    return observe(est, (est.groups.figures, truth), *([(odd, truth[0])] if kind == "one" else []))


def regions(rng: Rng, answer: Correct, data: str, figure: str, n: int) -> Observed:
    """Eight groups that go with a feature which a real classifier has not seen."""
    units = of.learned(data, rng)
    test = of.audit(units, n, "random", rng)
    est, truth = ask(answer, rng, units, test, figure, by="region")
    return observe(est, (est.groups.figures, truth))


def whole_stays(seed: int, answer: Correct = correct) -> list[Finding]:
    """The whole with `by` and without: the same draw by draw."""
    rng = np.random.default_rng(seed)
    cases = list(itertools.product(FIGURES, ("random", "by_prediction", "by_class")))
    most, at = 0.0, ""
    for figure, design in cases:
        P = of.rates_apart(RATES, 10, 20.0, rng)
        units = of.grouped(rng.dirichlet([12.0, 3.0], 10), P, 200, rng)
        test, same = of.audit(units, 200, design, rng), int(rng.integers(2**63))
        one, other = (
            ask(answer, np.random.default_rng(same), units, test, figure, design=design, **by)[0]
            for by in ({}, {"by": "group"})
        )
        off = float(np.abs(one.whole - other.whole).max())
        most, at = max((most, at), (off, f"{figure} {design}"))
    what = "the whole with and without `by`"
    worst = f"off by {most:.3g}" + (f" ({at})" if most else "")
    return [Finding.judged("groups", what, len(cases), worst, "same draws", most == 0)]


def _audits() -> Iterator[Scenario]:
    sized = itertools.product(("strata", "size 1", "size 1.5"), FIGURES, (200,))
    clusters = (("clusters", "counts", n) for n in (200, 300, 600))
    for drawn, figure, n in (*sized, *clusters):
        factors = {"drawn": drawn, "figure": figure, "n": n}
        yield Scenario("audits", audits, factors, 60, 0.05 if drawn == "clusters" else 0.7)


def audits(rng: Rng, answer: Correct, drawn: str, figure: str, n: int) -> Observed:
    """Equally many of unequal strata; in proportion to a lognormal size; clusters of ten."""
    if drawn == "clusters":
        units = of.clustered(rng)
        chosen = np.isin(units["block"], rng.choice(units["block"].max() + 1, n // 10, False))
        return _classes(*ask(answer, rng, units, chosen, figure, cluster="block"))
    how: dict[str, Any] = {"size": "y"}
    if drawn == "strata":
        how = {"within": "group", "allocation": "equal"}
        base = np.column_stack([1 - (x := np.linspace(0.1, 0.5, 5)), x])
        sizes = (3000, 1000, 500, 400, 100)
        units = of.grouped(base, of.rates_apart(RATES, 5, 20.0, rng), sizes, rng)
        units["id"] = np.arange(sum(sizes))
    else:
        units = of.sized(float(drawn.split()[1]), rng)
    population = table({name: x for name, x in units.items() if name != "true"})
    work_list = draw(population, n, id="id", seed=int(rng.integers(2**32)), **how).fetchnumpy()
    test = {name: np.asarray(x) for name, x in work_list.items()}
    test["true"] = units["true"][test["id"]]
    return _classes(*ask(answer, rng, units, test, figure))


def _scores() -> Iterator[Scenario]:
    for score, data in itertools.product(of.SPOILT, (None, "cancer", "imbalanced_20")):
        factors = {"score": score, "figure": "counts", "n": 200} | ({"data": data} if data else {})
        yield Scenario("scores", scores, factors, 40, 0.4)
        if score == "as it is":
            yield Scenario("scores", scores, factors | {"figure": "totals"}, 40, 0.5)


def scores(
    rng: Rng, answer: Correct, score: str, figure: str, n: int, data: str | None = None
) -> Observed:
    """Probabilities as they are, and spoilt."""
    units = of.learned(data, rng) if data else of.scored(rng)
    units["score"] = of.spoil(units["score"], score)
    test = of.audit(units, n, "random", rng)
    return _classes(*ask(answer, rng, units, test, figure, score="score"))


def _periods() -> Iterator[Scenario]:
    for base, audited, figure in itertools.product(
        ("constant", "trend", "jump", "drift"), AUDITS, FIGURES
    ):
        if (base, audited) != ("drift", "one month"):  # which no data can tell
            factors = {"base": base, "audited": audited, "figure": figure}
            yield Scenario("periods", periods, factors, 30, 1.5)


def periods(rng: Rng, answer: Correct, base: str, audited: str, figure: str) -> Observed:
    """Twelve months, with drifting error rates or not: the year, levels, growth over six months."""
    units = of.grouped(*of.months(base, 2, MONTHS), 1000, rng)
    test = np.concatenate(
        [1000 * t + rng.choice(1000, n, replace=False) for t, n in AUDITS[audited].items()]
    )
    est, truth = ask(answer, rng, units, test, figure, period="group")
    grown, growth = (
        divide(x[..., 6:, :] - x[..., :-6, :], x[..., :-6, :]) for x in (est.groups.draws, truth)
    )
    later = summarise_draws(grown)._asdict()
    year = whole(est), truth.sum(axis=0)
    # error rates that might drift are no excuse where they do not
    beside = () if base == "drift" else ("Error rates are assumed", "The audits of ")
    return observe(est, year, (est.groups.figures, truth), (later, growth), beside=beside)
