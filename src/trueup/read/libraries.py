"""What every dataframe library is asked through Narwhals: its rows, its types and its errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals.stable.v2 as nw

from trueup.errors import DataError, TrueupError
from trueup.read.table import Kind, Table


@contextmanager
def reading(table: Table) -> Iterator[None]:
    """Turn a library's error about a table into one of ours."""
    try:
        yield
    except (TrueupError, MemoryError):
        raise
    except Exception as error:
        library = type(error).__module__.split(".")[0]
        said = str(error).strip().splitlines() or [type(error).__name__]
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
