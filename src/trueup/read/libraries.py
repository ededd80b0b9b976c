"""What every dataframe library is asked through Narwhals: rows, types, fine bands, and errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals.stable.v2 as nw

from trueup.errors import DataError, TrueupError
from trueup.read.columns import Kind
from trueup.read.table import (
    ABOVE,
    BELOW,
    LEAST_VALUE,
    NEGATIVE,
    NEGATIVE_SCORE,
    Table,
    least_value,
)


@contextmanager
def reading(table: Table) -> Iterator[None]:
    """Turn a library's error about a table into one of ours."""
    try:
        yield
    except (TrueupError, MemoryError):
        raise
    except Exception as error:
        library = type(error).__module__.split(".")[0]
        said = re.sub(r":\s+", ": ", str(error).strip()).splitlines() or [type(error).__name__]
        raise DataError(
            f"{table.name} must be a table that can be read; {library} says: {said[0]}",
            hint="do its file and connection still exist, and is each column name there once?",
        ) from error


def collect(frame: Any) -> list[tuple[Any, ...]]:
    """Run the query where the table is, and return its few rows."""
    if isinstance(frame, nw.LazyFrame):
        if frame.implementation.is_spark_like() and hasattr(frame.to_native(), "collect"):
            return [tuple(row) for row in frame.to_native().collect()]
        frame = frame.collect()
    return list(zip(*(frame[name].to_list() for name in frame.columns), strict=True))


def kind_of(dtype: Any) -> Kind:
    """Return the kind of values that a type of Narwhals holds."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, nw.Boolean):
        return "boolean"
    if isinstance(dtype, nw.Date | nw.Datetime):
        return "date"
    return "text" if isinstance(dtype, nw.String | nw.Categorical | nw.Enum) else "other"


def value_band(x: Any, phase: float) -> Any:
    """Return the fine band of a value; see `Table.banded`."""
    size = ((x.abs() + least_value(phase)).log(2) * 4.0 - phase).round(0)
    return size + nw.when(x < 0.0).then(float(NEGATIVE)).otherwise(0.0)


def score_band(x: Any, fineness: int) -> Any:
    """Return the fine band of a score, with one logarithm: of its size, or of its odds."""
    inside = (x >= 0.0) & (x <= 1.0)
    other = nw.when(inside).then(1.0 - x + LEAST_VALUE).otherwise(1.0)
    log = ((x.abs() + LEAST_VALUE) / other).log(2) * float(fineness)
    probability_or_more = nw.when(x <= 1.0).then(log).otherwise(float(ABOVE) + log * 4.0)
    negative = nw.when(x < 0.0).then(float(NEGATIVE_SCORE) - log).otherwise(probability_or_more)
    return nw.when(x <= -1.0).then(float(BELOW) - log * 4.0).otherwise(negative).round(0)
