"""Survey weights: units of the table stand for units of a larger population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trueup.count.names import Columns
from trueup.errors import DataError, OptionError
from trueup.read.table import Table, check_value_kind, require_columns

NOT_WITH_WEIGHT = (
    "by", "strata", "period", "count", "squares", "probability", "cluster", "sample_of",
)  # fmt: skip


def weigh(
    population: Table, audited: Table, columns: Columns, weight: str, asked: Mapping[str, Any]
) -> tuple[Table, Table, Columns, float]:
    """Return the tables with weight times value as the value, and the effective size (Kish 1965).

    Audited units found by id take both from the population.
    """
    if given := [name for name in NOT_WITH_WEIGHT if asked[name]]:
        raise OptionError(
            f"`weight` cannot be combined with `{given[0]}`.",
            hint="correct each group by itself."
            if given[0] in ("by", "strata", "period")
            else f"leave out one of them; `{given[0]}` answers another question.",
        )
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
    value, name = columns.value, weight
    if value is not None:
        name = f"{value} × {weight}"
        population = population.weighted(name, value, weight)
        if columns.id is None or {value, weight} <= {*audited.kinds()}:
            audited = audited.weighted(name, value, weight)
    return population, audited, replace(columns, value=name), total**2 / squares
