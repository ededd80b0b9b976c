"""How many units to label, and which: `plan`.

The precision of a plan is not a formula but what the method itself gives: for a number of test
units, test sets are simulated and the method's intervals are measured. Before any label exists the
truth is the one that the user assumes; after a pilot it is drawn from the pilot's posterior, anew
for every few test sets. The number wanted is then found on the curve of half-width against n.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from trueup.draws.settings import make_settings
from trueup.errors import OptionError
from trueup.study.case import Situation
from trueup.study.case_source import make_situation, position
from trueup.study.half_width import Search, allocate_units
from trueup.study.next_units import next_units
from trueup.study.plan_result import Plan

__all__ = ["ALLOCATIONS", "Plan", "allocate_units", "plan"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALLOCATIONS = ("proportional", "equal", "neyman")
TRUTHS = 20
"""Truths that a pilot leaves possible; every point of every curve takes the same ones."""
CONTRADICTION = 0.05
"""A predicted class may be this share more or less than the assumed rates say, without a word."""
MUCH = 0.1
"""A plan to label more than this share of the units calls for a certainty stratum."""


def plan(
    predictions: Any = None,
    test_set: Any = None,
    *,
    half_width: float | None = None,
    cv: float | None = None,
    next: int | None = None,
    certainty: int = 0,
    interest: Hashable | None = None,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    id: str | None = None,
    by: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    P: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    N: int | None = None,
    values: Any = None,
    worth: float | None = None,
    test_base_rates: ArrayLike | None = None,
    design: str = "by_prediction",
    allocations: Sequence[str] = ALLOCATIONS,
    cost: float = 1.0,
    method: str = "auto",
    prior: object = "perks",
    draws: int = 1000,
    interval: float = 0.95,
    replications: int = 100,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """Say how many units to label for a wanted precision, how to allocate them, and which next.

    Parameters
    ----------
    predictions, test_set : path or dataframe, optional
        As for `correct`. With both, the test set is a pilot and its posterior is the truth to
        plan for; without a test set `P` and `base_rates` are assumed; without either, all is.
    half_width : float, optional
        The wanted half-width of the interval, in units or in the value's own unit.
    cv : float, optional
        Or the wanted coefficient of variation: half-width / (1.96 · figure) at 95%.
    next : int, optional
        Which units to audit next, so many, because they reduce the variance most per label.
    certainty : int
        Audit this many of the largest units for certain and plan for the rest. Worth it when a
        few units hold much of the total.
    interest : hashable, optional
        The class whose count or total matters; by default the smallest.
    predicted, true, value, id, overlap, classes : optional
        As for `correct`. With `id`, `next` names the units.
    by : str, optional
        A column of groups, to spread `next` over.
    P, base_rates, N, values, test_base_rates : optional
        What to assume; see `simulate`.
    worth : float, optional
        How many test units the assumed rates are worth: the plan is then for rates around them,
        from a Dirichlet prior. By default they are taken as they are.
    design : str
        "by_prediction" allocates over predicted classes. For "random", "by_class" and "shifted"
        there is nothing to allocate and one number comes back.
    allocations : sequence of str
        "proportional" to the predicted classes, "equal", or "neyman": in proportion to the size of
        a predicted class (units, or their total) times the spread of the class of interest in it.
    cost : float
        What a label costs.
    method, prior, draws, interval : optional
        As for `correct`: the precision planned is that of this method.
    replications : int
        Test sets simulated at the planned n, for each allocation.
    seed : int, optional
        The same seed gives the same plan.
    progress : callable, optional
        Called with the fraction done.

    Examples
    --------
    >>> found = plan(P=[[0.9, 0.1], [0.1, 0.9]], base_rates=[0.2, 0.8], N=50_000, half_width=1000,
    ...              allocations=["neyman"], replications=40, draws=400, seed=1)
    >>> 400 < found.best["n"] < 700
    True
    """
    if half_width is not None and cv is not None:
        raise OptionError("Give `half_width` or `cv`, not both.")
    if half_width is None and cv is None and next is None:
        raise OptionError(
            "A plan needs what to reach: `half_width` or `cv`; or `next`, how many to label now."
        )
    for name, given in (("half_width", half_width), ("cv", cv), ("cost", cost)):
        if given is not None and not given > 0:
            raise OptionError(f"`{name}` must be more than 0; {given!r} came.")
    unknown = sorted(set(allocations) - set(ALLOCATIONS))
    if unknown or not allocations:
        raise OptionError(f"`allocations` must be some of {list(ALLOCATIONS)}; {unknown} came.")
    settings = make_settings(
        2, design=design, method=method, prior="perks", noise=True, overlap=overlap, draws=draws,
        interval=interval, seed=seed,
    )  # fmt: skip
    seed = settings.seed
    case = make_situation(
        predictions, test_set, predicted=predicted, true=true, value=value, id=id, overlap=overlap,
        classes=classes, P=P, base_rates=base_rates, N=N, values=values,
        worth=worth, test_base_rates=test_base_rates, design=design, prior=prior, seed=seed,
    )  # fmt: skip
    rng = np.random.Generator(np.random.SFC64(seed))
    g = position(case.classes, interest, case.beta)
    truths = [case.possible(rng) for _ in range(1 if case.certain else TRUTHS)]
    truth = float(np.mean([possible.truth[g] for possible in truths]))
    z = float(ndtri((1 + interval) / 2))
    target = half_width if cv is None else cv * z * truth
    rest = case
    if certainty:
        if int(certainty) != certainty or not 0 < certainty < case.N:
            raise OptionError(f"`certainty` must be a number of units; {certainty!r} came.")
        rest = case.without_largest(int(certainty), rng)
        truths = [rest.possible(rng) for _ in range(1 if rest.certain else TRUTHS)]
    notes = _contradiction(case)
    rows: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    if target is not None:
        names = list(dict.fromkeys(allocations)) if design == "by_prediction" else [design]
        options: dict[str, Any] = {
            "method": method, "prior": prior, "overlap": overlap, "draws": draws,
            "interval": interval,
        }  # fmt: skip
        for k, name in enumerate(names):
            search = Search(rest, truths, g, name, options, rng)
            row, points = search.solve(
                float(target),
                replications,
                lambda f, k=k: None if progress is None else progress((k + f) / len(names)),  # type: ignore[misc]
            )
            row |= {"cv": row["half_width"] / z / truth if truth else None}
            if row["n"] is not None:
                row |= {"n": row["n"] + certainty, "more": row["more"] + certainty}
            row |= {"certainty": certainty}
            row["cost"] = None if row["n"] is None else row["more"] * cost
            rows.append(row)
            curve += [point | {"n": point["n"] + certainty} for point in points]
        if all(row["n"] is None for row in rows):
            notes.append(
                f"Labelling {rows[0]['most']:,} units would not be enough."
                + (
                    " What remains is which of the other units were misclassified: audit the "
                    "largest ones for certain (`certainty`, `next`)."
                    if case.totals
                    else ""
                )
            )
        fewest = min((row["n"] for row in rows if row["n"] is not None), default=0)
        if case.totals and fewest > MUCH * case.N:
            notes.append(
                f"That is {fewest / case.N:.0%} of all units: with values so unequal, what remains "
                "is which of the large units were misclassified. Audit the largest ones for "
                "certain (`certainty`, `next`) rather than so many at random."
            )
    following: list[dict[str, Any]] = []
    if next is not None:
        following, note = next_units(
            case, g, next, predictions=predictions, test_set=test_set, predicted=predicted,
            value=value, id=id, by=by, prior=prior, rng=rng,
        )  # fmt: skip
        notes += note
    info = {
        "design": design,
        "method": settings.method,
        "totals": case.totals,
        "N": case.N,
        "truth": truth,
        "audited": case.audited,
        "certainty": certainty,
        "interval": interval,
        "cost": cost,
        "draws": draws,
        "replications": replications,
        "seed": seed,
        "notes": notes,
    }
    return Plan(
        case.classes,
        case.classes[g],
        None if target is None else float(target),
        curve,
        following,
        info,
        rows,
    )


def _contradiction(case: Situation) -> list[str]:
    """What to say when assumed rates do not go with the predictions that are there."""
    if case.counts is not None:
        return []
    expected, found = case.P.T @ case.beta, case.v_hat / case.N
    h = int(np.abs(expected - found).argmax())
    if abs(expected[h] - found[h]) <= CONTRADICTION:
        return []
    return [
        f"The assumed rates and shares would have {expected[h]:.0%} predicted "
        f"{case.classes[h]!r}; the predictions have {found[h]:.0%}. The plan is for the assumed "
        "ones: are they right?"
    ]
