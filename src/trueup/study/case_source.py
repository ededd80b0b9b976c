"""Where a case comes from: assumed rates, or the tables that users have."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.aggregate.cells import draw_cells
from trueup.count.bands import scores
from trueup.count.counts import Counts
from trueup.count.names import Columns
from trueup.draws.cells.columns import learn_columns
from trueup.draws.cells.frame import frame
from trueup.draws.settings import FROM_POPULATION, make_settings
from trueup.errors import ClassError, DataError, OptionError
from trueup.estimate.methods import estimate
from trueup.numerics.arrays import Floats, Integers
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.numerics.labels import Labels, places, read_labels, taken
from trueup.prior import Regression, resolve_prior
from trueup.simulation import lognormal, simulate
from trueup.study.case import Case

ROUNDED = 0.011
"""How far assumed shares may be from a sum of 1: as 0.33, 0.33 and 0.33 are."""
SWEEPS = 100
"""Sweeps until the columns of cells are drawn."""
POSTERIOR = 2000
"""Draws of the pilot's posterior: enough for its mean and for a spread of possible truths."""


SHARES = ("P", "base_rates", "test_base_rates")
"""What is assumed that may have the labels of classes."""
SAME = "name the same classes in all of them; plain lists of numbers have none."


@dataclass(frozen=True, eq=False)
class Assumed:
    """What the user assumes where no table tells; see `plan`."""

    P: ArrayLike | None = None
    base_rates: ArrayLike | None = None
    N: int | None = None
    values: Any = None
    test_base_rates: ArrayLike | None = None
    worth: float | None = None


def make_case(
    predictions: Any,
    test_set: Any,
    columns: Columns,
    assumed: Assumed,
    *,
    classes: Sequence[Hashable] | None,
    overlap: bool | None,
    missing: Any,
    design: str | None,
    prior: object,
    seed: int,
    planned: bool = False,
    strata: bool = False,
) -> Case:
    """Take the case from both tables, from the predictions and assumed rates, or assumed whole.

    Without a `design` it is that of the test set, if this is a work list, or "random". If it is
    `planned`, it is not how the test set was drawn. With `strata` the pilot may have been drawn
    within columns, and cells are those of its strata and of `columns.drawn_within`.
    """
    if isinstance(prior, Regression):
        raise OptionError(
            "`compare` and `plan` need a prior with one set of error rates; got 'regression'.",
            hint="compare or plan with the prior that you would use without that column.",
        )
    if predictions is None:
        if test_set is not None:
            raise DataError("A test set needs the predictions that it belongs to; got none.")
        return assume(assumed, design or "random", classes, seed)
    from trueup.count.gather import gather
    from trueup.read import open_table
    from trueup.study.unit_values import unit_values

    population = open_table(predictions, "predictions")
    if test_set is not None:
        audited = open_table(test_set, "the test set")
        named = None if planned else design
        design, columns = _as_drawn(population, audited, columns, named, design, strata)
    design = design or "random"
    if test_set is None:
        case = _assumed_rates(population, columns.predicted, assumed, design, classes, seed)
    else:
        inside = design != "shifted" if overlap is None else overlap
        counts = gather(
            population,
            audited,
            replace(columns, by=()),
            overlap=inside,
            classes=classes,
            missing=missing,
            bands=True,
        )
        if counts.columns is not None:
            raise OptionError(
                "`compare` and `plan` need predicted labels that are classes; got labels that "
                "`classes` does not list.",
                hint="list them too, or leave out the units that have them.",
            )
        case = replace(pilot(counts, design, prior, seed), strata=columns.drawn_within)
    if columns.value is None:
        return case
    s_hat, y = unit_values(population, columns, case.classes, missing)
    return replace(
        case, s_hat=s_hat, y=y, v_hat=np.bincount(s_hat, minlength=case.K),
        cells=_value_cells(case.counts, design, prior, seed), band=_bands(case.counts, y),
    )  # fmt: skip


def _as_drawn(
    population: Any,
    audited: Any,
    columns: Columns,
    named: str | None,
    design: str | None,
    strata: bool,
) -> tuple[str | None, Columns]:
    """Return the design and the columns of a work list; refuse a draw that is none of ours."""
    from trueup.audit.work_list import read_design

    drawn = read_design(population, audited, replace(columns, drawn_within=()), named)
    if drawn is None:
        return design, columns
    how = drawn[0]
    banded = how.bands and columns.drawn_within  # strata have bands of their own
    if how.score or how.size or banded or (how.within and not strata):
        raise OptionError(
            "`compare` and `plan` need a test set drawn at random or within predicted classes: no "
            f"other is simulated. This one was drawn {how.words}.",
            hint="`correct` reads how it was drawn. To label more, draw again in the same way with "
            "a larger n and the same seed: the units that were labelled are, but for a few, among "
            "those. After a draw within columns, next=… (--next) says which units to label.",
        )
    own = "by_prediction" if how.by_prediction else "random"
    within = tuple(dict.fromkeys((*how.within, *columns.drawn_within)))
    columns = replace(columns, id=columns.id or how.id, phase=how.begin, drawn_within=within)
    return design or own, columns


def _bands(counts: Counts | None, y: Floats) -> Integers | None:
    """Find the band of every unit; None without bands or with negative values.

    Bands are in the order of their values: a unit between the means of two is in the nearer one.
    """
    if counts is None or counts.bands is None or counts.bands.u_hat is None or counts.signed:
        return None
    if counts.bands.strata > 1:  # each has bands of its own
        return None
    v_hat, u_hat = (x.reshape(counts.K, -1) for x in (counts.bands.v_hat, counts.bands.u_hat))
    mean = u_hat.sum(axis=0) / np.maximum(v_hat.sum(axis=0), 1)
    return np.searchsorted(np.sqrt(mean[1:] * mean[:-1]), y)


def _value_cells(counts: Counts | None, design: str, prior: object, seed: int) -> Floats | None:
    """Draw Pr(true g | predicted h, band) from the pilot.

    None without bands, with negative values, or if the test set was not drawn from the population:
    true classes are then drawn by prediction alone.
    """
    if counts is None or counts.bands is None or counts.signed or design not in FROM_POPULATION:
        return None
    if counts.bands.u_hat is None or counts.bands.strata > 1:
        return None
    concentrations = resolve_prior(prior, counts.K, counts.classes)
    if concentrations.tilt is not None:
        return None
    rng, K = np.random.Generator(np.random.SFC64(seed)), counts.K
    n, v_hat = counts.bands.n.reshape(K, K, -1), counts.bands.v_hat.reshape(K, -1)
    u_hat = counts.bands.u_hat.reshape(K, -1)
    sign = np.sign(u_hat.sum(axis=0)).astype(int)
    known = frame(n, v_hat, scores(v_hat, u_hat), sign=sign)
    states = learn_columns(n, known, concentrations.alpha, rng)
    return draw_cells(next(islice(states, SWEEPS, None)), n, rng, known.over)


def _assumed_rates(
    population: Any,
    predicted: str,
    assumed: Assumed,
    design: str,
    classes: Sequence[Hashable] | None,
    seed: int,
) -> Case:
    """The units that are in the table, with error rates that nobody has measured yet."""
    tally = population.tally([predicted], None)
    seen = {key[0]: int(units) for key, units in zip(tally.keys, tally.units, strict=True)}
    labels = tuple(classes) if classes is not None else tuple(sorted(seen, key=str))
    unknown = sorted(set(seen) - set(labels), key=str)
    if unknown:
        raise ClassError(f"`classes` must list every predicted class; not listed: {unknown}.")
    found = assume(replace(assumed, N=sum(seen.values()), values=None), design, labels, seed)
    return replace(found, v_hat=np.array([seen.get(label, 0) for label in labels]))


def assume(
    assumed: Assumed,
    design: str = "random",
    classes: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Case:
    """Make a case of a population and error rates that nobody has seen yet."""
    if assumed.P is None or assumed.base_rates is None or assumed.N is None:
        raise DataError(
            "Without a test set, the error rates (`P`), the shares of the true classes "
            "(`base_rates`) and, without predictions, the number of units (`N`) must be given.",
            hint="rows of `P` are true classes, columns predicted ones.",
        )
    assumed, classes = _by_label(assumed, classes)
    rates, beta = np.asarray(assumed.P, float), np.asarray(assumed.base_rates, float)
    if rates.ndim != 2 or rates.shape != (len(beta), len(beta)):
        raise DataError(
            f"`P` must be square with one row for each of the {len(beta)} base rates; "
            f"got shape {rates.shape}."
        )
    for name, given in (("base_rates", beta), ("test_base_rates", assumed.test_base_rates)):
        if given is not None and not abs(np.sum(given) - 1) <= ROUNDED:
            raise DataError(
                f"`{name}` must be shares that sum to 1; got {np.asarray(given).tolist()}, which "
                f"sum to {np.sum(given):g}."
            )
    values = assumed.values
    if isinstance(values, int | float):
        values = lognormal(float(values))
    # `simulate` checks the numbers; the expected predicted counts need one replication
    N, shares = assumed.N, assumed.test_base_rates
    trial = simulate(rates, n=0, N=N, base_rates=beta, replications=1, seed=0, classes=classes)
    v_hat = np.round(trial.v @ rates).astype(np.int64)
    v_hat[v_hat.argmax()] += N - v_hat.sum()
    case = Case(
        trial.classes, rates, trial.v / trial.v.sum(), v_hat, design, values=values,
        test_shares=None if shares is None else np.asarray(shares, float),
    )  # fmt: skip
    return case if assumed.worth is None else doubted(case, assumed.worth, seed)


def _by_label(
    assumed: Assumed, classes: Sequence[Hashable] | None
) -> tuple[Assumed, Sequence[Hashable] | None]:
    """Return rates and shares in one order, and the classes: those that labels of `P` name."""
    given = {name: read_labels(getattr(assumed, name), name != "P") for name in SHARES}
    named = [x for found in given.values() for x in found.names if x]
    if not named:
        return assumed, classes
    wanted: Labels = [*(classes or named[0])]
    changed: dict[str, Any] = {}
    for name, (numbers, rows, columns) in given.items():
        what = ("The rows of `P`", "The columns of `P`")
        what = what if name == "P" else (f"The labels of `{name}`", "")
        over = places(what[0], rows, wanted, SAME)
        changed[name] = taken(numbers, over, -2 if name == "P" else 0)
        if name == "P":
            changed[name] = taken(changed[name], places(what[1], columns, wanted, SAME), -1)
    return replace(assumed, **changed), wanted


def doubted(case: Case, worth: float, seed: int) -> Case:
    """Return the case with rates that are no surer than `worth` test units would make them.

    Rows of P ~ Dir(worth · β_g · p_g) and β ~ Dir(worth · β): a conjugate prior (Theorem 1) around
    what is assumed.
    """
    if not worth > 0:
        raise OptionError(f"`worth` must be a number of test units above 0; got {worth!r}.")
    rng = np.random.Generator(np.random.SFC64(seed))
    least = 1e-6  # an assumed 0 stays practically 0
    rows = draw_dirichlet(np.maximum(worth * case.beta[:, None] * case.P, least), POSTERIOR, rng)
    beta = draw_dirichlet(np.maximum(worth * case.beta, least), POSTERIOR, rng)
    return replace(case, draws=(rows, beta))


def pilot(counts: Counts, design: str, prior: object, seed: int) -> Case:
    """Make a case of a test set: its posterior of error rates and base rates."""
    settings = make_settings(
        counts.K, classes=counts.classes, design=design, prior=prior, noise=False,
        overlap=False, draws=POSTERIOR, seed=seed,
    )  # fmt: skip
    units = Counts(counts.classes, counts.n, counts.v_hat)
    est = estimate(units, settings)
    assert est.P is not None
    assert est.draws is not None
    beta = est.draws / est.draws.sum(axis=1, keepdims=True)
    audited = counts.n.sum(axis=1)
    return Case(
        counts.classes,
        est.P.mean(axis=0),
        beta.mean(axis=0),
        counts.v_hat,
        design,
        draws=(est.P, beta),
        counts=counts,
        test_shares=audited / audited.sum() if audited.sum() else None,
    )
