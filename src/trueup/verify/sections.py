"""What users have, beyond the model's assumptions: a section is a list of scenarios.

The factors of a scenario are the arguments of the function that makes one replication: population,
audit, `correct`, and the figures beside their truth. `data` names a data set of scikit-learn.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from trueup.api import correct
from trueup.audit.draw import draw
from trueup.draws.settings import DESIGNS
from trueup.estimate.derived import divide, summarise_draws
from trueup.numerics.arrays import Rng
from trueup.verify import populations as of
from trueup.verify.findings import SHOWN, Finding
from trueup.verify.grid import draw_values, error_rates
from trueup.verify.scenario import Correct, Observed, Scenario, ask, observe, table, whole

FIGURES = ("counts", "totals")
REAL = ("cancer", "rare_cancer", "wine", "digits", "imbalanced_5", "imbalanced_20")
LARGER = (
    "error 3", "error 0.3", "class 100", "class 0.02", "signed 2", "zeros 0.15", "losses 0.8",
    "rising 1.2", "giants 12",
)  # fmt: skip
"""What has larger (or smaller) values, and how many times; or errors that rise with the value."""
RATES = np.array([[0.95, 0.05], [0.15, 0.85]])
ODD = np.array([[0.85, 0.15], [0.45, 0.55]])
"""Three times the errors."""
SIZES = np.repeat((5, 20, 100, 500), 5)
"""Units of each group where error rates are equal."""
MONTHS, UNITS = 12, 1000
AUDITED = {"one month": {3: 200}, "two months": {3: 100, 9: 100}}


def every_scenario() -> tuple[list[Scenario], list[Finding]]:
    """List the scenarios of all sections, and a finding for each that cannot be complete here."""
    found = [*_sections()]
    if find_spec("sklearn") is not None:
        return found, []
    what = "real data left out: scikit-learn is not installed"
    short = dict.fromkeys(x.section for x in found if "data" in x.factors)
    able = [x for x in found if "data" not in x.factors]
    return able, [Finding(name, what, 0, "", "", SHOWN) for name in short]


def _sections() -> Iterator[Scenario]:
    """Name, function, replications, seconds of one, and the levels of each factor."""
    few, more, many = ({"design": "random", "n": n} for n in (50, 200, 500))
    tests = few, more, {"design": "by_prediction", "n": 200}
    yield from _each("real data", real_data, 40, 0.4, data=REAL, figure=FIGURES, test=tests)
    tests = few, many, {"design": "by_prediction", "n": 200}
    yield from _each("values", values, 40, 0.6, larger=LARGER, sigma=[1], test=tests)
    yield from _each("values", values, 40, 0.6, larger=LARGER, sigma=[2], test=[many])
    levels: dict[str, Any] = {"K": (2, 3), "n": (50, 200, 1000), "y": ("1", "gamma", "pareto")}
    yield from _each("groups", equal_rates, 2, 2.2, **levels, design=DESIGNS)
    levels = {"rates": ("apart 20", "apart 100", "one apart"), "n": (300, 1500)}
    yield from _each("group rates", other_rates, 30, 1.5, **levels, figure=FIGURES)
    yield from _each("group rates", prices, 30, 1.5, levels=(0.3, 1.0), figure=["totals"], n=[400])
    real = ("cancer", "imbalanced_20")
    yield from _each("group rates", regions, 30, 1.5, data=real, figure=FIGURES, n=[300])
    kinds = ("strata", "size 1", "size 1.5")
    yield from _each("audits", drawn, 60, 0.6, how=kinds, figure=FIGURES, n=[200])
    yield from _each("audits", clusters, 60, 0.1, clusters=(20, 30, 60))
    yield from _each("scores", scores, 40, 0.4, score=of.SPOILT, figure=["counts"])
    yield from _each("scores", scores, 40, 0.4, score=of.SPOILT, figure=["counts"], data=real)
    yield from _each("scores", scores, 40, 0.5, score=["as it is"], figure=["totals"], data=real)
    still = ("constant", "trend", "jump")
    yield from _each("periods", periods, 30, 1.4, base=still, audited=AUDITED, figure=FIGURES)
    two = ["two months"]  # with one audit, drift is what no data can show
    yield from _each("periods", periods, 30, 1.4, base=["drift"], audited=two, figure=FIGURES)


def _each(
    section: str,
    replicate: Callable[..., Observed],
    often: int,
    seconds: float,
    **levels: Iterable[Any],
) -> Iterator[Scenario]:
    for x in itertools.product(*levels.values()):
        factors: dict[str, Any] = {}
        for name, level in zip(levels, x, strict=True):
            factors |= level if isinstance(level, dict) else {name: level}
        yield Scenario(section, replicate, factors, often, seconds)


def real_data(rng: Rng, answer: Correct, data: str, figure: str, design: str, n: int) -> Observed:
    """A classifier trained on few units of a data set of scikit-learn."""
    return _audited(rng, answer, of.learned(data, rng), figure, design, n)


def values(rng: Rng, answer: Correct, larger: str, sigma: float, design: str, n: int) -> Observed:
    """Values that go with the error or with the class."""
    what, factor = larger.split()
    units = of.valued(what, float(factor), sigma, rng)
    return _audited(rng, answer, units, "totals", design, n)


def regions(rng: Rng, answer: Correct, data: str, figure: str, n: int) -> Observed:
    """Eight groups that go with a feature which a real classifier has not seen."""
    return _audited(rng, answer, of.learned(data, rng), figure, "random", n, by="region")


def scores(rng: Rng, answer: Correct, score: str, figure: str, data: str | None = None) -> Observed:
    """Probabilities as they are, and spoilt."""
    units = of.learned(data, rng) if data else of.scored(rng)
    units["score"] = of.spoil(units["score"], score)
    return _audited(rng, answer, units, figure, "random", 200, score="score")


def _audited(
    rng: Rng, answer: Correct, units: of.Units, figure: str, design: str, n: int, **options: Any
) -> Observed:
    test = of.audit(units, n, design, rng)
    est, truth = ask(answer, rng, units, test, figure, design=design, **options)
    return observe(est, (est.groups.figures if est.groups else whole(est), truth))


def equal_rates(rng: Rng, answer: Correct, K: int, n: int, y: str, design: str) -> Observed:
    """Twenty groups of four sizes, with base rates of their own."""
    P = error_rates(K, 0.85)
    base = rng.dirichlet(np.linspace(6.0, 3.0, K), len(SIZES))
    units = _with(y, of.grouped(base, np.repeat(P[None], len(SIZES), axis=0), SIZES, rng), rng)
    test: Any = of.audit(units, n, design, rng)
    if design == "shifted":  # units from elsewhere: the same rates, equal shares
        test = _with(y, of.grouped(np.full((1, K), 1 / K), P[None], n, rng), rng)
        del test["group"]
    figure = "counts" if y == "1" else "totals"
    est, truth = ask(answer, rng, units, test, figure, by="group", design=design)
    return observe(est, (est.groups.figures, truth))


def _with(y: str, units: of.Units, rng: Rng) -> of.Units:
    return units if y == "1" else units | {"y": draw_values(y, units["true"], rng)}


def prices(rng: Rng, answer: Correct, levels: float, figure: str, n: int) -> Observed:
    """Ten groups with equal rates, whose values are on levels of their own."""
    P = of.rates_apart(RATES, 10, np.inf, rng)
    units = of.grouped(rng.dirichlet([12.0, 3.0], 10), P, 1000, rng)
    units["y"] *= np.exp(levels * rng.standard_normal(10))[units["group"]]
    test = of.audit(units, n, "random", rng)
    est, truth = ask(answer, rng, units, test, figure, by="group")
    return observe(est, (est.groups.figures, truth))


def other_rates(rng: Rng, answer: Correct, rates: str, figure: str, n: int) -> Observed:
    """Ten groups: rows of P from Dir(κp), or one group with three times the errors."""
    one = rates == "one apart"
    P = of.rates_apart(RATES, 10, np.inf if one else float(rates.split()[1]), rng)
    if one:
        P[0] = ODD
    units = of.grouped(rng.dirichlet([12.0, 3.0], 10), P, 1000, rng)
    test = of.audit(units, n, "random", rng)
    est, truth = ask(answer, rng, units, test, figure, by="group")
    odd = {name: x[0] for name, x in est.groups.figures.items()}, truth[0]
    return observe(est, (est.groups.figures, truth), *([odd] if one else []))


def whole_stays(seed: int, answer: Correct = correct) -> list[Finding]:
    """The whole with `by` and without: the same draw by draw."""
    rng = np.random.default_rng(seed)
    cases = list(itertools.product(FIGURES, ("random", "by_prediction", "by_class")))
    found = []
    for figure, design in cases:
        P = of.rates_apart(RATES, 4, 20.0, rng)
        units = of.grouped(rng.dirichlet([12.0, 3.0], 4), P, 500, rng)
        test, same = of.audit(units, 200, design, rng), int(rng.integers(2**63))
        one, other = (
            ask(answer, np.random.default_rng(same), units, test, figure, design=design, **by)[0]
            for by in ({}, {"by": "group"})
        )
        found.append((float(np.abs(one.whole - other.whole).max()), f"{figure} {design}"))
    most, at = max(found)
    what, worst = "the whole with and without `by`", f"off by {most:.3g}" + f" ({at})" * (most > 0)
    return [Finding.judged("groups", what, len(cases), worst, "same draws", most == 0)]


def drawn(rng: Rng, answer: Correct, how: str, figure: str, n: int) -> Observed:
    """By `draw`: equally many of unequal strata, or in proportion to a lognormal size."""
    kind, *sigma = how.split()
    options: dict[str, Any] = {"size": "y"}
    if kind == "size":
        units = of.sized(float(*sigma), rng)
    else:
        options = {"within": "group", "allocation": "equal"}
        rare, sizes = np.linspace(0.1, 0.5, 5), (3000, 1000, 500, 400, 100)
        rates = of.rates_apart(RATES, 5, 20.0, rng)
        units = of.grouped(np.column_stack([1 - rare, rare]), rates, sizes, rng)
        units["id"] = np.arange(sum(sizes))
    population = table({name: x for name, x in units.items() if name != "true"})
    found = draw(population, n, id="id", seed=int(rng.integers(2**32)), **options).fetchnumpy()
    test = {name: np.asarray(x) for name, x in found.items()}
    est, truth = ask(answer, rng, units, test | {"true": units["true"][test["id"]]}, figure)
    return observe(est, (whole(est), truth))


def clusters(rng: Rng, answer: Correct, clusters: int) -> Observed:
    """Clusters of ten, whose units resemble each other."""
    units = of.clustered(rng)
    chosen = rng.choice(units["block"].max() + 1, clusters, replace=False)
    test = np.isin(units["block"], chosen)
    est, truth = ask(answer, rng, units, test, "counts", cluster="block")
    return observe(est, (whole(est), truth))


def periods(rng: Rng, answer: Correct, base: str, audited: str, figure: str) -> Observed:
    """Twelve months, with drifting error rates or not: the year, levels, growth over six months."""
    units = of.grouped(*of.months(base, 2, MONTHS), UNITS, rng)
    chosen = [UNITS * t + rng.choice(UNITS, n, replace=False) for t, n in AUDITED[audited].items()]
    est, truth = ask(answer, rng, units, np.concatenate(chosen), figure, period="group")
    grown, growth = (
        divide(x[..., 6:, :] - x[..., :-6, :], x[..., :-6, :]) for x in (est.groups.draws, truth)
    )
    later = summarise_draws(grown)._asdict()
    # that error rates might drift is no excuse where they do not
    beside = () if base == "drift" else ("Error rates are assumed", "The audits of ")
    parts = (whole(est), truth.sum(axis=0)), (est.groups.figures, truth), (later, growth)
    return observe(est, *parts, beside=beside)
