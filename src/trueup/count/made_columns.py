"""Columns that we make: bins of a column on which error rates depend, and weighted values."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueup.count.matched import units_of
from trueup.count.names import Columns
from trueup.errors import DataError
from trueup.prior import Regression
from trueup.read.columns import (
    check_value_kind,
    empty_table,
    plain,
    refuse_missing,
    require_columns,
)
from trueup.read.table import Table

LEAST = 5  # test units in a bin
ROUNDED = 1e-6


class Weights(NamedTuple):
    """Of survey weights: the units, what these stand for, and how many equal ones tell as much.

    The effective size is Kish's (1965). Weights are `probable` if none is above 1: these are rather
    probabilities, whose inverse they should be.
    """

    units: int
    total: float
    effective: float
    probable: bool


def bin_tables(
    population: Table, test_set: Table, prior: Regression, id: str | None, missing: str
) -> tuple[Table, Table, Regression]:
    """Return both tables with a column of bins, and the prior with the bins' centres."""
    column = prior.on
    check_value_kind(population, column, require_columns(population, [column])[column])
    matched = column not in test_set.kinds() and id is not None
    if id is not None and matched:
        require_columns(test_set, [id])
        ids = [plain(row[0]) for row in test_set.rows([id])]
        found = units_of(population, id, ids, [], column)
    else:
        require_columns(test_set, [column])
        found = test_set.rows([], value=column)
    x = _numbers(found, column, test_set, missing)
    if prior.log and x.min() <= 0:
        raise DataError(
            f"Column {column!r} must be positive for its logarithm; got {x.min():g}.",
            hint="leave out log=True, or the units without a positive value.",
        )
    bins = min(prior.bins, len(x) // LEAST)
    middles = (np.unique(x)[1:] + np.unique(x)[:-1]) / 2
    if bins < 2 or not len(middles):
        raise DataError(
            f"Rates that depend on {column!r} need at least {2 * LEAST} test units with different "
            f"values; got {len(x)} units with {len(middles) + 1} values.",
            hint="use a prior that does not depend on that column.",
        )
    # an edge lies between two values, so that equal ones stay together
    wanted = np.quantile(x, np.arange(1, bins) / bins)
    edges = np.unique(middles[np.abs(middles - wanted[:, None]).argmin(axis=1)])
    where = np.searchsorted(edges, x)
    z = np.log(x) if prior.log else x
    z = (z - z.mean()) / max(z.std(), 1e-300)
    centres = tuple(float(z[where == j].mean()) for j in range(len(edges) + 1))
    name, cuts = prior.bin_name, [float(edge) for edge in edges]
    audited = test_set if matched else test_set.binned(name, column, cuts)
    return population.binned(name, column, cuts), audited, replace(prior, centres=centres)


def _numbers(rows: list[tuple[Any, ...]], column: str, table: Table, missing: str) -> Any:
    values = [plain(row[-1]) for row in rows]
    x = np.array([np.nan if value is None else float(value) for value in values])
    bad = ~np.isfinite(x)
    if bad.any() and missing == "refuse":
        refuse_missing(table, column, int(bad.sum()))
    x = x[~bad]  # rows without a value are in no bin, and left out
    if not len(x):
        raise empty_table(table)
    return x


def weigh(
    population: Table, audited: Table, columns: Columns, weight: str
) -> tuple[Table, Table, Columns, Weights]:
    """Return the tables with weight times value as the value, and what the weights are.

    Audited units found by id take both from the population.
    """
    check_value_kind(population, weight, require_columns(population, [weight])[weight])
    tally = population.tally([columns.predicted], weight, nullable=[columns.predicted])
    total, squares = float(tally.sums.sum()), float(tally.squares.sum())
    if tally.signed or not total > 0:
        wrong = "some are negative" if tally.signed else "all are 0"
        raise DataError(
            f"The weights in column {weight!r} of {population.name} must be 0 or more, and not all "
            f"0; {wrong}.",
            hint="a weight says how many units of the larger population a unit stands for.",
        )
    # of weights of 0 and 1, the squares are the weights; those that sum to 1 are shares
    below = squares < total * (1 - ROUNDED) and abs(total - 1) > ROUNDED
    probable = below and population.largest(weight, 1)[0] <= 1
    value, name = columns.value, weight
    if value is not None:
        name = f"{value} × {weight}"
        population = population.weighted(name, value, weight)
        if columns.id is None or {value, weight} <= {*audited.kinds()}:
            audited = audited.weighted(name, value, weight)
    return (
        population,
        audited,
        replace(columns, value=name),
        Weights(int(tally.units.sum()), total, total**2 / squares, probable),
    )
