"""How many units to label, and which: `plan`.

The precision of a plan is not a formula but what the method itself achieves: test sets of a given
size are simulated and the method's intervals are measured. Before any label exists, the truth is
what the user assumes; after a pilot, several truths are drawn from the pilot's posterior. The
number of units is then found on the curve of half-width against n.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueup.count.names import Columns, check_given, names
from trueup.draws.settings import make_settings
from trueup.errors import OptionError
from trueup.numerics.arrays import Progress
from trueup.read.formats.written import written
from trueup.study.case import Case
from trueup.study.case_source import Assumed, make_case
from trueup.study.plans.by_score import plan_by_score
from trueup.study.plans.half_width import Search
from trueup.study.plans.next_audit import plan_next_audit
from trueup.study.plans.next_units import Next, label_costs, next_units, positions
from trueup.study.plans.pilot import doubts_of_pilot, refuse_with_next
from trueup.study.plans.result import Plan

ALLOCATIONS = ("proportional", "equal", "neyman")
CONTRADICTION = 0.05
"""How far a predicted class may be from what the assumed rates imply without a note."""
MUCH = 0.1
"""A plan to label more than this share of the units calls for a certainty stratum."""


def plan(
    predictions: Any = None,
    test_set: Any = None,
    *,
    half_width: float | None = None,
    cv: float | Mapping[Hashable, float] | None = None,
    next: int | None = None,
    by: str | Sequence[str] | None = None,
    drawn_within: str | Sequence[str] | None = None,
    certainty: int = 0,
    period: str | None = None,
    drift: float | None = None,
    score: str | Sequence[str] | None = None,
    interest: Hashable | Sequence[Hashable] | None = None,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    id: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    missing: str = "refuse",
    P: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    N: int | None = None,
    values: Any = None,
    worth: float | None = None,
    test_base_rates: ArrayLike | None = None,
    design: str | None = None,
    allocations: Sequence[str] = ALLOCATIONS,
    cost: float | Mapping[Any, float] = 1.0,
    method: str = "auto",
    prior: object = "perks",
    draws: int = 1000,
    interval: float = 0.95,
    replications: int = 100,
    seed: int | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: str | Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Plan how many units to label for a wanted precision, from which classes, and which next.

    With `period`, plan when to audit again.

    Parameters
    ----------
    predictions, test_set : path or dataframe, optional
        As for `correct`. With both, the test set is a pilot and its posterior is the truth to
        plan for. Without a test set give `P` and `base_rates`, without predictions `N` too.
        Tables and their values are counted by their own engine (see `trueup.study.unit_values`);
        only `next` reads units, to choose among them.
    half_width : float, optional
        The wanted half-width of the interval, in units or in the value's own unit.
    cv : float, optional
        Or the wanted coefficient of variation: half-width / (1.96 · figure) at 95%. With `next`
        it may be one for each class of interest, {"a": 0.05, "b": 0.02}: each label serves the
        class that is furthest from its own.
    next : int, optional
        How many units to audit next: those that reduce the variance most per label. With `id`,
        ``work_list()`` is the table to label, the pilot's units first. The pilot is a work list
        that was drawn at random, within predicted classes or within columns. One without the
        columns of `draw` is taken to be random, unless `design` is "by_prediction".
    by : str or sequence of str, optional
        With `next`: figures are wanted for each group, and each label serves the group with the
        largest coefficient of variation. Units are drawn within groups and predicted classes.
    drawn_within : str or sequence of str, optional
        With `next`: column or columns, known for every unit, within which the pilot was drawn; a
        work list contains them.
    certainty : int
        Audit this many of the largest units for certain and plan for the rest: worth it when a
        few units hold much of the total.
    period : str, optional
        Column with the period of each unit, in both tables: how the interval of the latest period
        grows with the time since the last audit (see docs/periods.md). The goal, if any, is for
        that interval; `design` is how the test set was drawn.
    drift : float, optional
        With `period`: how far a recall may move in one period, as a standard deviation; 0.005 is
        half a point. By default several are shown.
    score : str or sequence of str, optional
        Column of the confidence in the predicted class, as in `draw`: how many units to label if
        they are drawn by score, from the scores alone.
    interest : hashable, optional
        The class whose count or total matters; by default the smallest. With `next` there may be
        several: each label serves the one with the largest coefficient of variation.
    predicted, true, value, id, overlap, classes, missing : optional
        As for `correct`. With `id`, `next` names the units.
    P, base_rates, N, values, test_base_rates : optional
        What to assume; see `simulate`.
    worth : float, optional
        How sure you are of the assumed rates, as a number of test units: the plan then allows for
        rates around them (a Dirichlet prior). By default they are taken to be exact.
    design : str, optional
        By default "by_prediction", which allocates over predicted classes; "by_class" does so over
        true ones. For "random" and "shifted" there is nothing to allocate: the plan is one number.
        `next` adds to a pilot, so that it cannot be "by_class" or "shifted".
    allocations : sequence of str
        "proportional" to the classes, "equal", or, over predicted classes, "neyman": by the size of
        a predicted class (units, or their total) times the spread of the class of interest in it,
        over the root of what a label costs.
    cost : float or mapping
        What a label costs, or what it costs in each predicted class.
    method, prior, draws, interval : optional
        As for `correct`: the precision planned is that of this method.
    replications : int
        Test sets simulated at the planned n, for each allocation.
    seed : int, optional
        The same seed gives the same plan.
    decimal, encoding, text : optional
        How files are written, as for `correct`.
    progress : callable, optional
        Called with the fraction done.

    Examples
    --------
    >>> found = plan(P=[[0.9, 0.1], [0.1, 0.9]], base_rates=[0.2, 0.8], N=50_000, half_width=1000,
    ...              allocations=["neyman"], replications=40, draws=400, seed=1)
    >>> 400 < found.best["n"] < 700
    True
    """
    check_given(locals())
    named, design = design, "by_prediction" if design is None else design
    asked = locals() | {"certainty": certainty or None}
    _check_goal(half_width, cv, next if period is None else 1, cost, allocations)
    goals = None
    if isinstance(cv, Mapping):
        if next is None or interest is not None or period is not None or score is not None:
            raise OptionError(
                "`cv` of several classes needs `next`, and no `interest`, `period` or `score`.",
                hint="with one number, `cv` is the goal for one class.",
            )
        interest, goals, cv = [*cv], [*cv.values()], None
    within, goal = names("drawn_within", drawn_within), half_width is not None or cv is not None
    if within and (
        goal or next is None or test_set is None or period is not None or score is not None
    ):
        raise OptionError(
            "`drawn_within` needs `next` and a pilot, and no other goal: it says how that pilot "
            f"was drawn; got {[*within]}.",
            hint="leave it out; a work list of `draw` says itself how it was drawn.",
        )
    predictions, test_set = (
        written(table, decimal, encoding, text) for table in (predictions, test_set)
    )
    if period is not None or drift is not None:
        series = Columns(predicted, true, value, id, (period,) if period else ())
        return plan_next_audit((predictions, test_set), series, asked)
    if score is not None:
        return plan_by_score(predictions, Columns(predicted, score=score), asked)  # type: ignore[arg-type]
    how: Any = {"design": design, "interval": interval}
    settings = make_settings(2, method=method, draws=draws, seed=seed, **how)
    inside = (*within, *(name for name in names("by", by) if name not in within))
    columns = Columns(predicted, true, value, id, by, drawn_within=inside)  # type: ignore[arg-type]
    only_next = next is not None and not goal
    if columns.by and not (only_next and test_set is not None):
        raise OptionError(
            "`by` needs `next` and a pilot, and no other goal: it says whose labels to add.",
            hint="plan a precision for one group from its own table.",
        )
    if next is not None:
        refuse_with_next(named, goal=goal, certainty=certainty, worth=worth)
    case = make_case(
        predictions, test_set, columns,
        Assumed(P, base_rates, N, values, test_base_rates, worth), classes=classes,
        overlap=overlap, missing=missing, design=design, prior=prior, seed=settings.seed,
        planned=True, strata=only_next,
    )  # fmt: skip
    notes = []
    if next is not None:
        notes = doubts_of_pilot(case, test_set, named, within, overlap is not False)
    rng = np.random.Generator(np.random.SFC64(settings.seed))
    wanted = positions(case, interest)
    g = wanted[0]
    if len(wanted) > 1 and next is None:
        raise OptionError("Several classes of interest need `next`; a goal is for one of them.")
    truths = case.truths(rng)
    truth = float(np.mean([possible.truth[g] for possible in truths]))
    z = float(ndtri((1 + interval) / 2))
    target = half_width if cv is None else cv * z * truth
    rows: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    notes += _contradiction(case)
    if target is not None:
        rest = case
        if certainty:
            if int(certainty) != certainty or not 0 < certainty < case.N:
                raise OptionError(
                    f"`certainty` must be a number of units below the {case.N:,} there are; "
                    f"got {certainty!r}."
                )
            rest = case.without_largest(int(certainty), rng)
            truths = rest.truths(rng)
        options = {
            "method": method, "prior": prior, "overlap": overlap, "draws": draws,
            "interval": interval,
        }  # fmt: skip
        prices = label_costs(cost, case.classes)
        ways = list(dict.fromkeys(allocations)) if design == "by_prediction" else [design]
        if design == "by_class":
            ways = [x for x in dict.fromkeys(allocations) if x != "neyman"] or ["proportional"]
        for k, name in enumerate(ways):

            def step(fraction: float, k: int = k) -> None:
                if progress is not None:
                    progress((k + fraction) / len(ways))

            search = Search(rest, truths, g, name, options, rng, prices)
            row = search.solve(float(target), replications, step) | {"certainty": certainty}
            row["cv"] = row["half_width"] / z / truth if truth else None
            if row["n"] is not None:
                row |= {"n": row["n"] + certainty, "more": row["more"] + certainty}
            rows.append(row | {"cost": _total_cost(row, prices)})
            curve += [point | {"n": point["n"] + certainty} for point in search.points]
        notes += _too_many(case, rows)
        if search.by_chains:
            notes.append(
                "Each simulated answer needs chains with this method and prior, so that the plan "
                "rests on a tenth of the test sets: see the ± of the half-width."
            )
    found = Next([], [], None)
    if next is not None:
        how |= {"prior": prior, "overlap": overlap, "draws": 2000, "seed": settings.seed}
        own = make_settings(case.K, classes=case.classes, **how)
        found = next_units(case, wanted, next, (predictions, test_set), columns, own, cost, goals)
        notes += found.notes
    info = {
        "design": design,
        "method": settings.method,
        "totals": case.totals,
        "N": case.N,
        "truth": truth,
        "audited": case.audited,
        "by": [*columns.by],
        "certainty": certainty,
        "interval": interval,
        "cost": cost,
        "promised": found.promised,
        "draws": draws,
        "replications": replications,
        "seed": settings.seed,
        "notes": notes,
    }
    target = None if target is None else float(target)
    of = [case.classes[i] for i in wanted]
    return Plan(
        case.classes, of[0] if len(of) == 1 else of, target, curve, found.rows, info, rows, found
    )


def _total_cost(row: dict[str, Any], prices: np.ndarray) -> float | None:
    """What the new labels cost, if they are spread as all are."""
    if row["n"] is None:
        return None
    each = row["per_class"] or [1] * len(prices)
    return float(row["more"] * np.average(prices, weights=np.maximum(each, 1e-9)))


def _check_goal(
    half_width: float | None,
    cv: float | Mapping[Hashable, float] | None,
    next: int | None,
    cost: float | Mapping[Any, float],
    allocations: Sequence[str],
) -> None:
    if half_width is None and cv is None and next is None:
        raise OptionError("Set a goal: `half_width`, `cv` or `next` must be given; got none.")
    if half_width is not None and cv is not None:
        raise OptionError("The goal must be `half_width` or `cv`, not both; got both.")
    costs, cvs = (x.values() if isinstance(x, Mapping) else [x] for x in (cost, cv))
    each = (*(("cv", x) for x in cvs), *(("cost", x) for x in costs))
    for name, given in (("half_width", half_width), *each):
        if given is not None and not given > 0:
            raise OptionError(f"`{name}` must be more than 0; got {given!r}.")
    if set(allocations) - set(ALLOCATIONS) or not allocations:
        raise OptionError(
            f"`allocations` must be some of {list(ALLOCATIONS)}; got {list(allocations)}."
        )


def _too_many(case: Case, rows: list[dict[str, Any]]) -> list[str]:
    """Say what to do when no number of units is enough, or a large share of all is needed."""
    largest = (
        "What remains is which of the large units were misclassified: audit the largest ones for "
        "certain with certainty=… (--certainty), or ask which units to audit with next=… (--next)."
    )
    needed = [row["n"] for row in rows if row["n"] is not None]
    if not needed:
        words = f"Labelling {rows[0]['most']:,} units would not be enough."
        return [f"{words} {largest}" if case.totals else words]
    share = min(needed) / case.N
    return [f"That is {share:.0%} of all units. {largest}"] if case.totals and share > MUCH else []


def _contradiction(case: Case) -> list[str]:
    """Say so when assumed rates do not fit the predictions in the table."""
    if case.counts is not None:
        return []
    expected, found = case.P.T @ case.beta, case.v_hat / case.N
    h = int(np.abs(expected - found).argmax())
    if abs(expected[h] - found[h]) <= CONTRADICTION:
        return []
    return [
        f"With the assumed rates and shares, {expected[h]:.0%} would be predicted "
        f"{case.classes[h]!r}; in the predictions it is {found[h]:.0%}. The plan is for the "
        "assumed ones: are they right?"
    ]
