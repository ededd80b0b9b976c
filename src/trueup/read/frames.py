"""Dataframes, counted by the user's own library or cluster, through Narwhals.

A table is counted in one query of its library, or of its engine (lazy Polars, Dask, Ibis, Spark).
Σy is added in two parts: `high`, rounded so coarsely that its sums are exact, and `low`, the
remainder. docs/tables.md says how small the rounding errors are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from trueup.errors import DataError
from trueup.numerics.arrays import Progress
from trueup.read.columns import Kind, plain
from trueup.read.libraries import collect, kind_of, reading, score_band, value_band
from trueup.read.native import local_frame, make_frame, with_plain_dictionaries, with_plain_types
from trueup.read.table import CONTRADICTS, NO_BAND, TIE, Rows, Score, Table

# For a lazy table, whose total is not known beforehand: parts of 1/1024 add up exactly to 2**43.
LAZY_SIGMA = 1.5 * 2.0**42
# A 64-bit whole number is two that a double holds exactly: 2**20 times one, and the rest.
SPLIT = 2**20


class FrameTable(Table):
    """A dataframe of any library that Narwhals knows as a table of units."""

    def __init__(self, frame: object, role: str) -> None:
        self.name = role
        with reading(self):
            try:
                self._frame: Any = nw.from_native(frame)
                self._given = self._frame.collect_schema()
            except TypeError:
                raise DataError(
                    f"{role} must be a path or a dataframe; got {type(frame).__name__}.",
                    hint="pass a pandas, Polars or PyArrow table, or the path of a CSV file.",
                ) from None
            if self._frame.implementation.is_pandas():
                self._frame = nw.from_native(with_plain_types(self._frame.to_native()))
            elif self._frame.implementation.is_pyarrow():
                self._frame = nw.from_native(with_plain_dictionaries(self._frame.to_native()))
            self._lazy = isinstance(self._frame, nw.LazyFrame)
            self._schema = self._frame.collect_schema()

    def binned(self, name: str, column: str, edges: Sequence[float]) -> FrameTable:
        """Add up, for each edge, whether the value is above it."""
        x = nw.col("trueup_x")
        above = nw.lit(0.0)
        for edge in edges:
            above = above + (x > float(edge)).cast(nw.Int32).cast(nw.Float64)
        return self._coded(name, above, {"trueup_x": nw.col(column).cast(nw.Float64)})

    def _coded(self, name: str, code: Any, *steps: dict[str, Any]) -> FrameTable:
        """Return the table with a column of codes: null where the column `trueup_x` is not finite.

        `code` is a whole number as a double, an expression of columns that `steps` add for it.
        """
        frame = self._frame
        for step in steps:
            frame = frame.with_columns(**step)
        finite = (nw.col("trueup_x") - nw.col("trueup_x")) == 0.0
        frame = frame.with_columns(nw.when(finite).then(code).alias(name))
        pandas = frame.implementation.is_pandas_like() or frame.implementation.is_dask()
        if not pandas:
            frame = frame.with_columns(nw.col(name).cast(nw.Int64))
        native = frame.drop([column for step in steps for column in step]).to_native()
        if pandas:
            native = native.assign(**{name: native[name].astype("Int64")})  # null stays null
        made = FrameTable(native, self.name)
        made.work_list = self.work_list
        return made

    def _banded(self, name: str, value: str, phase: float) -> FrameTable:
        band = value_band(nw.col("trueup_x"), phase)
        table = self._coded(name, band, {"trueup_x": self._double(value)})
        band = nw.col(name).fill_null(NO_BAND)
        return FrameTable(table._frame.with_columns(band).to_native(), self.name)

    def _weighted(self, name: str, value: str, weight: str) -> FrameTable:
        columns = {"trueup_x": self._double(value), "trueup_w": self._double(weight)}
        frame = self._frame.with_columns(**columns)
        product = (nw.col("trueup_x") * nw.col("trueup_w")).alias(name)
        return FrameTable(frame.with_columns(product).drop([*columns]).to_native(), self.name)

    def _scored(self, name: str, score: Score) -> FrameTable:
        x, wrong = nw.col("trueup_x"), nw.lit(0.0)
        steps = [{"trueup_x": self._double(score.columns[0])}]
        if len(score.columns) > 1:
            steps = [{f"trueup_{i}": self._double(y) for i, y in enumerate(score.columns)}]
            numbers = [*map(nw.col, steps[0])]
            most = numbers[0]
            for y in numbers[1:]:
                most = nw.when(y > most).then(y).otherwise(most)
            own = most
            for label, y in zip(list[Any](score.classes), numbers, strict=True):
                mine = (self._label(score.predicted) == nw.lit(label)).fill_null(False)
                own = nw.when(mine).then(y).otherwise(own)
            every = reduce(add, numbers)  # finite if each of them is
            own = nw.when((every - every) == 0.0).then(own)
            steps.append({"trueup_most": most, "trueup_x": own})
            above = x < nw.col("trueup_most") - TIE
            wrong = nw.when(above).then(float(CONTRADICTS)).otherwise(0.0)
        return self._coded(name, score_band(x, score.fineness) + wrong, *steps)

    def kinds(self) -> dict[str, Kind]:
        """Return the columns and the kind of values that each holds."""
        return {name: kind_of(dtype) for name, dtype in self._schema.items()}

    def says(self, column: str) -> str:
        """Name the type of what is no known kind, such as the periods of pandas."""
        if kind_of(self._schema[column]) != "other":
            return super().says(column)
        native = nw.to_native(self._frame)
        pandas = self._frame.implementation.is_pandas()
        return f"values of type {native[column].dtype if pandas else self._schema[column]}"

    def order(self, column: str) -> list[Hashable] | None:
        """Return the categories of an ordered categorical or an enum, in their order."""
        dtype = self._given.get(column)  # a bin is not in the table that was given
        return [*map(plain, dtype.categories)] if isinstance(dtype, nw.Enum) else None

    def _grouped(self, keys: Sequence[str], value: str | None, progress: Progress | None) -> Rows:
        with reading(self):
            if value is not None:
                return self._by_query(keys, value)
            names = [f"trueup_key_{i}" for i in range(len(keys))]
            counted = self._keys(keys).group_by(names, drop_null_keys=False)
            found = collect(counted.agg(nw.len().alias("units")))
        return [(*row, 0, 0, 0, 0) for row in found]

    def _keys(self, keys: Sequence[str], *more: Any) -> Any:
        labels = [self._label(key).alias(f"trueup_key_{i}") for i, key in enumerate(keys)]
        return self._frame.select(*labels, *more)

    def _label(self, column: str) -> Any:
        dictionary = isinstance(self._schema[column], nw.Categorical | nw.Enum)
        if dictionary and self._frame.implementation.is_pyarrow():  # it cannot group by those
            return nw.col(column).cast(nw.String)
        return nw.col(column)

    def _whole(self, value: str) -> bool:
        return bool(self._schema[value] == nw.Int64)

    def _columns(self, keys: Sequence[str], value: str) -> Any:
        """Return the keys and y as a double; for 64-bit whole numbers `high` and `low` as well."""
        column, high, low = nw.col(value), nw.col("high"), nw.col("low")
        if not self._whole(value):
            return self._keys(keys, self._double(value).alias("y"))
        frame = self._keys(keys, column.alias("x"), (column // SPLIT).alias("high"))
        implementation = self._frame.implementation
        if implementation.is_ibis() or implementation.is_spark_like():
            # they divide as doubles, and 2**63 - 1 is rounded up
            most = 2**63 // SPLIT - 1
            frame = frame.with_columns(high=nw.when(high > most).then(most).otherwise(high))
        frame = frame.with_columns(low=(nw.col("x") - high * SPLIT).cast(nw.Float64))
        frame = frame.with_columns(high=high.cast(nw.Float64) * float(SPLIT))
        return frame.with_columns(y=high + low)

    def _double(self, column: str) -> Any:
        """Return a column as doubles, in which null is null or NaN."""
        implementation, x = self._frame.implementation, nw.col(column)
        if implementation.is_pandas():
            plain_column = self._frame.to_native()[column]
            doubles = plain_column.to_numpy(dtype="float64", na_value=math.nan)
            return nw.new_series(column, doubles, nw.Float64, backend="pandas")
        if isinstance(self._schema[column], nw.Boolean):
            x = x.cast(nw.Int32)  # PostgreSQL has no other way to a double
        arrow = implementation.is_pyarrow() or implementation.is_pandas_like()
        if self._schema[column] == nw.UInt64 and arrow:
            x = x.cast(nw.String)  # PyArrow makes no double of a number above 2**53
        return x.cast(nw.Float64)

    def plan(self, keys: Sequence[str], value: str, *, careful: bool = False) -> Any:
        """Return the group-by as one lazy query.

        Unusable values show in its sums; the `careful` one counts them apart and leaves them out.
        Columns come first, then plain aggregates of them: expressions inside ``agg`` fail on
        PyArrow and Dask.
        """
        frame, whole = self._columns(keys, value), self._whole(value)
        y, usable = nw.col("y"), nw.col("usable")
        if careful:
            # y - y is 0 for finite values only, in every engine; SQLite has no other word for it
            frame = frame.with_columns(usable=((y - y) == 0.0).fill_null(False))
            parts = ("y", "high", "low") if whole else ("y",)
            frame = frame.with_columns(
                # PostgreSQL makes 32-bit numbers of true and false, and no others
                usable.cast(nw.Int32).cast(nw.Int64),
                *(nw.when(usable).then(nw.col(x)).otherwise(0.0).alias(x) for x in parts),
            )
        frame = _squared(frame, None if whole else self._sigma(frame))
        if frame.implementation.is_polars():  # its lazy group-by takes a third of the time
            frame = frame.lazy()
        names = [f"trueup_key_{i}" for i in range(len(keys))]
        return frame.group_by(names, drop_null_keys=False).agg(
            nw.len().alias("units"),
            usable.sum() if careful else y.count().alias("usable"),
            *(nw.col(name).sum() for name in ("high", "low", "y2")),
            y.min().alias("least"),
        )

    def _sigma(self, frame: Any) -> float:
        """Return the σ of `_squared`: at least Σ|y|, if the table is in memory to ask."""
        with np.errstate(over="ignore"):
            bound = math.nan if self._lazy else float(frame["y"].abs().sum() or 0.0)
        if not bound < 1e300:  # nor NaN: the sum of squares will say so
            return LAZY_SIGMA
        return 1.5 * 2.0 ** math.ceil(math.log2(max(bound, 1e-290)))

    def _by_query(self, keys: Sequence[str], value: str) -> Rows:
        """Send the query, and a careful one only when the first met an unusable value."""
        k = len(keys)
        found = collect(self.plan(keys, value))
        doubtful = any(
            row[k] != row[k + 1] or not math.isfinite(row[k + 4] or 0.0) for row in found
        )
        if doubtful:
            found = collect(self.plan(keys, value, careful=True))
        rows = []
        for row in found:
            units, usable, high, low, squares, least = row[k:]
            y = math.fsum((float(high or 0), float(low or 0)))
            rows.append((*row[:k], units, int(units) - int(usable or 0), y, squares, least))
        return rows

    def _rows(
        self, columns: Sequence[str], value: str | None, id: str | None, among: Sequence[Hashable]
    ) -> Rows:
        frame = self._frame
        if id is not None:
            frame = frame.filter(nw.col(id).is_in(list(among)))
        chosen = [self._label(column).alias(f"key_{i}") for i, column in enumerate(columns)]
        if value is not None:
            chosen.append(nw.col(value).alias("y"))
        with reading(self):
            return collect(frame.select(*chosen))

    def largest(self, value: str, count: int) -> list[float]:
        """Return the `count` largest values."""
        y = nw.col("y")
        frame = self._columns([], value).select("y")
        frame = frame.filter(((y - y) == 0.0).fill_null(False))
        with reading(self):
            return [float(row[0]) for row in collect(frame.top_k(count, by="y"))]

    @property
    def native(self) -> Callable[..., Any]:
        """The function that makes a dataframe of the user's own kind, or else a local one."""
        library = str(self._frame.implementation.value)
        if library in ("pandas", "polars", "pyarrow"):
            return partial(make_frame, library=library)
        if library == "dask":
            return partial(make_frame, library="pandas")
        if library in ("pyspark", "pyspark[connect]"):
            return _spark_frame
        return _ibis_frame if library == "ibis" else local_frame


def _ibis_frame(columns: dict[str, list[Any]], blank: tuple[str, str] | None = None) -> Any:
    import ibis  # type: ignore[import-untyped]

    return ibis.memtable(make_frame(columns, "pyarrow", blank))


def _spark_frame(columns: dict[str, list[Any]], blank: tuple[str, str] | None = None) -> Any:
    """Make a table of the session that is active; of none, as after unpickling, a local one."""
    from pyspark.sql import SparkSession

    table, session = make_frame(columns, "pyarrow", blank), SparkSession.getActiveSession()
    if session is None:
        return table
    return session.createDataFrame(table if int(session.version[0]) > 3 else table.to_pandas())


def _squared(frame: Any, sigma: float | None) -> Any:
    """Add y², and with a `sigma` the two parts of y: `high`, whose sums are exact, and `low`.

    (y + σ) − σ is y rounded to multiples of σ·2⁻⁵²: sums of those below σ need no rounding.
    """
    y = nw.col("y")
    if sigma is None:
        return frame.with_columns(y2=y * y)
    frame = frame.with_columns(y2=y * y, high=(y + sigma) - sigma)
    return frame.with_columns(low=y - nw.col("high"))
