"""The units' values, as far as a simulation needs them, without reading the units.

The table's own engine counts units and adds up y and y² per predicted class and bin of y; each bin
is half as wide as the next. Within a bin, units get two values that have exactly that sum and that
sum of squares. So totals, sums of squares, and every value that is alone or one of two in its bin
are those of the table, and what is simulated differs by much less than its Monte Carlo error.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from trueup.count.names import Columns
from trueup.numerics.arrays import Floats, Integers
from trueup.read.columns import class_kind, require_columns
from trueup.read.table import Missing, Table

HALVINGS = 60
"""Bins below √Σy², which no value exceeds: 13 decades below the largest of a billion units."""


def unit_values(
    population: Table, columns: Columns, classes: Sequence[Hashable], missing: Missing
) -> tuple[Integers, Floats]:
    """Return the predicted class, 0 to K − 1, and the value of every unit with both."""
    assert columns.value is not None
    kinds = require_columns(population, [columns.predicted, columns.value])
    class_kind(population, columns.predicted, kinds)
    whole = population.tally([columns.predicted], columns.value, missing=missing)
    top = float(np.sqrt(whole.squares.sum()))
    edges = [top * 2.0**-k for k in range(HALVINGS, -1, -1)] if top > 0 else []
    if whole.signed:
        edges = [-edge for edge in reversed(edges)] + edges
    name = f"{columns.value} (bin)"
    binned = population.binned(name, columns.value, edges)
    cells = binned.tally([columns.predicted, name], columns.value, missing=missing)
    place = {label: h for h, label in enumerate(classes)}
    h = np.array([place[key[0]] for key in cells.keys], np.int64)
    return np.repeat(h, cells.units), np.concatenate(
        [two_values(*cell) for cell in zip(cells.units, cells.sums, cells.squares, strict=True)]
    )


def two_values(units: int, total: float, squares: float) -> Floats:
    """Return values of one sign with this sum and this sum of squares: mean ± d in turn.

    Examples
    --------
    >>> two_values(3, 9.0, 29.0)
    array([2., 4., 3.])
    """
    mean = total / units
    paired = units - units % 2  # with an odd number, the last one is the mean itself
    d = np.sqrt(max(squares - units * mean**2, 0.0) / max(paired, 1))
    y = np.full(units, mean)
    y[:paired] += min(float(d), abs(mean)) * np.resize([-1.0, 1.0], paired)
    return y
