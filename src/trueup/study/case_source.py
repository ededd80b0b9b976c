"""Where a situation comes from: assumed rates, or the tables that users have."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.count.counts import Counts
from trueup.draws.settings import DESIGNS, make_settings
from trueup.errors import ClassError, DataError, OptionError
from trueup.estimate.methods import estimate
from trueup.numerics.dirichlet import draw_dirichlet
from trueup.simulation import lognormal, simulate
from trueup.study.case import Situation

__all__ = ["assume", "doubted", "make_situation", "pilot", "position"]

Floats = NDArray[np.float64]

POSTERIOR = 2000
"""Draws of the pilot's posterior: enough for its mean and for a spread of possible truths."""


def make_situation(
    predictions: Any = None,
    test_set: Any = None,
    *,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    id: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    P: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    N: int | None = None,
    values: Any = None,
    worth: float | None = None,
    test_base_rates: ArrayLike | None = None,
    design: str,
    prior: object,
    seed: int,
) -> Situation:
    """Take the case from both tables, from the predictions and assumed rates, or assumed whole."""
    if design not in DESIGNS:
        raise OptionError(f"`design` must be one of {list(DESIGNS)}; {design!r} came.")
    if predictions is None:
        if test_set is not None:
            raise DataError("A test set needs the predictions that it belongs to.")
        if P is None or base_rates is None or N is None:
            raise DataError(
                "Without tables, `P`, `base_rates` and `N` must say what to assume.",
                hint="give the error rates (rows true), the classes' shares and the units.",
            )
        found = assume(P, base_rates, N, values, classes, design, test_base_rates)
        return found if worth is None else doubted(found, worth, seed)
    from trueup.count.gather import gather
    from trueup.count.names import Columns
    from trueup.read import open_table

    population = open_table(predictions, "predictions")
    if test_set is not None:
        counts = gather(
            population,
            open_table(test_set, "the test set"),
            Columns(predicted, true, value, id),
            overlap=design != "shifted" if overlap is None else overlap,
            classes=classes,
        )
        found = pilot(counts, design, prior, seed)
    else:
        if P is None or base_rates is None:
            raise DataError(
                "Without a test set, `P` and `base_rates` must say what to assume.",
                hint="give the error rates, rows true, and the classes' shares.",
            )
        tally = population.tally([predicted], None)
        seen = {key[0]: int(units) for key, units in zip(tally.keys, tally.units, strict=True)}
        labels = tuple(classes) if classes is not None else tuple(sorted(seen, key=str))
        unknown = sorted(set(seen) - set(labels), key=str)
        if unknown:
            raise ClassError(f"`classes` must list every predicted class; not listed: {unknown}.")
        found = assume(P, base_rates, int(tally.units.sum()), None, labels, design, test_base_rates)
        found = replace(found, v_hat=np.array([seen.get(label, 0) for label in labels]))
        found = found if worth is None else doubted(found, worth, seed)
    if value is not None:
        place = {label: h for h, label in enumerate(found.classes)}
        rows = population.rows([predicted], value=value)
        s_hat = np.array([place[row[0]] for row in rows])
        found = replace(found, s_hat=s_hat, y=np.array([row[1] for row in rows], float))
    return found


def assume(
    P: ArrayLike,
    base_rates: ArrayLike,
    N: int,
    values: Any = None,
    classes: Sequence[Hashable] | None = None,
    design: str = "random",
    test_base_rates: ArrayLike | None = None,
) -> Situation:
    """A population and error rates that nobody has seen yet."""
    rates, beta = np.asarray(P, float), np.asarray(base_rates, float)
    if rates.ndim != 2 or rates.shape != (len(beta), len(beta)):
        raise DataError(
            f"`P` must be square with one row for each of the {len(beta)} base rates; "
            f"shape {rates.shape} came."
        )
    if isinstance(values, int | float):
        values = lognormal(float(values))
    # what is wrong with the numbers, simulate says; expected predicted counts are one replication
    trial = simulate(rates, n=0, N=N, base_rates=beta, replications=1, seed=0, classes=classes)
    beta = trial.v / trial.v.sum()
    shares = None if test_base_rates is None else np.asarray(test_base_rates, float)
    v_hat = np.round(trial.v @ rates).astype(np.int64)
    v_hat[v_hat.argmax()] += N - v_hat.sum()
    return Situation(trial.classes, rates, beta, v_hat, design, values=values, test_shares=shares)


def doubted(case: Situation, worth: float, seed: int) -> Situation:
    """The same case, where the assumed rates are no surer than `worth` test units would make them.

    Rows of P ~ Dir(worth · β_g · p_g) and β ~ Dir(worth · β): a conjugate prior (Theorem 1) around
    what is assumed.
    """
    if not worth > 0:
        raise OptionError(f"`worth` must be a number of test units above 0; {worth!r} came.")
    rng = np.random.Generator(np.random.SFC64(seed))
    least = 1e-6  # an assumed 0 stays practically 0
    rows = draw_dirichlet(np.maximum(worth * case.beta[:, None] * case.P, least), POSTERIOR, rng)
    beta = draw_dirichlet(np.maximum(worth * case.beta, least), POSTERIOR, rng)
    return replace(case, draws=(rows, beta))


def pilot(counts: Counts, design: str, prior: object, seed: int) -> Situation:
    """Error rates and base rates as far as a test set tells them: its posterior."""
    settings = make_settings(
        counts.K, design=design, method="auto", prior=prior, noise=False, overlap=False,
        draws=POSTERIOR, interval=0.95, seed=seed,
    )  # fmt: skip
    units = Counts(counts.classes, counts.n, counts.v_hat)
    est = estimate(units, settings, lambda table: table)
    assert est.P is not None
    assert est.draws is not None
    beta = est.draws / est.draws.sum(axis=1, keepdims=True)
    audited = counts.n.sum(axis=1)
    return Situation(
        counts.classes,
        est.P.mean(axis=0),
        beta.mean(axis=0),
        counts.v_hat,
        design,
        draws=(est.P, beta),
        counts=counts,
        test_shares=audited / audited.sum() if audited.sum() else None,
    )


def position(classes: tuple[Hashable, ...], interest: Hashable | None, beta: Floats) -> int:
    """The place of the class of interest; by default the smallest true class."""
    if interest is None:
        return int(np.where(beta > 0, beta, np.inf).argmin())
    for g, label in enumerate(classes):
        if label == interest or str(label) == str(interest):
            return g
    raise ClassError(f"The class of interest must be one of {list(classes)}; {interest!r} came.")
