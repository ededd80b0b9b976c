"""Tables in dataframes: counted by the user's own library, through Narwhals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib.util import find_spec
from typing import Any

from trueup.errors import DataError, TrueupError
from trueup.tables import Kind, Tally, check_value_kind, make_tally

__all__ = ["FrameTable", "local_frame"]


class FrameTable:
    """A dataframe of any library that Narwhals knows as a table of units."""

    def __init__(self, frame: object, role: str) -> None:
        import narwhals.stable.v2 as nw

        self.name = role
        try:
            self._frame: Any = nw.from_native(frame)
        except TypeError:
            raise DataError(
                f"{role} must be a path or a dataframe; {type(frame).__name__} came.",
                hint="pass a pandas, Polars or PyArrow table, or the path of a CSV file.",
            ) from None
        self._lazy = isinstance(self._frame, nw.LazyFrame)
        self._backend = nw.get_native_namespace(self._frame)

    def kinds(self) -> dict[str, Kind]:
        """Give the columns and what kind of values each holds."""
        return {name: _kind(dtype) for name, dtype in self._frame.collect_schema().items()}

    def _collect(self, frame: Any) -> list[tuple[Any, ...]]:
        if self._lazy:
            frame = frame.collect()
        return [tuple(row) for row in frame.iter_rows()]

    def tally(self, keys: Sequence[str], value: str | None) -> Tally:
        """Count units and total `value` per combination of `keys`; refuse missing values."""
        import narwhals.stable.v2 as nw

        if value is not None:
            check_value_kind(self, value, self.kinds()[value])
        # Columns first, then plain aggregates of them: expressions inside agg() fail on PyArrow.
        names = [f"trueup_key_{position}" for position in range(len(keys))]
        schema = self._frame.collect_schema()
        frame = self._frame.select(
            *(
                _label(nw.col(key), schema[key]).alias(name)
                for key, name in zip(keys, names, strict=True)
            ),
            trueup_y=nw.lit(0.0) if value is None else nw.col(value).cast(nw.Float64),
        )
        usable = nw.col("trueup_y").is_finite() & ~nw.col("trueup_y").is_null()
        frame = frame.with_columns(trueup_usable=usable.fill_null(False))
        y = nw.when(nw.col("trueup_usable")).then(nw.col("trueup_y")).otherwise(0.0)
        frame = frame.with_columns(trueup_y=y, trueup_one=nw.lit(1))
        frame = frame.with_columns(
            trueup_y2=nw.col("trueup_y") * nw.col("trueup_y"),
            trueup_bad=1 - nw.col("trueup_usable").cast(nw.Int64),
        )
        grouped = frame.group_by(names, drop_null_keys=False).agg(
            nw.col("trueup_one").sum().alias("units"),
            nw.col("trueup_bad").sum().alias("bad"),
            nw.col("trueup_y").sum().alias("sums"),
            nw.col("trueup_y2").sum().alias("squares"),
            nw.col("trueup_y").min().alias("least"),
        )
        return make_tally(self, keys, value, self._collect(grouped))

    def rows(
        self, columns: Sequence[str], *, id: str | None = None, among: Sequence[Hashable] = ()
    ) -> list[tuple[Any, ...]]:
        """Give these columns of every unit, or of the units whose `id` is `among` those given."""
        import narwhals.stable.v2 as nw

        frame = self._frame
        if id is not None:
            frame = frame.filter(nw.col(id).is_in(list(among)))
        schema = self._frame.collect_schema()
        return self._collect(frame.select(*(_label(nw.col(c), schema[c]) for c in columns)))

    def largest(self, value: str, count: int) -> list[float]:
        """Give the `count` largest values."""
        import narwhals.stable.v2 as nw

        frame = self._frame.select(nw.col(value).cast(nw.Float64))
        return [row[0] for row in self._collect(frame.top_k(count, by=value))]

    def native(self, columns: dict[str, list[Any]]) -> Any:
        """Make a dataframe of the user's own kind from columns."""
        import narwhals.stable.v2 as nw

        try:
            return nw.from_dict(columns, backend=self._backend).to_native()
        except (TypeError, ValueError):  # a cluster or a database: a local frame instead
            return local_frame(columns)


def local_frame(columns: dict[str, list[Any]]) -> Any:
    """Make a dataframe with whichever library is installed: pandas, Polars or PyArrow."""
    import narwhals.stable.v2 as nw

    for library in ("pandas", "polars", "pyarrow"):
        if find_spec(library):
            return nw.from_dict(columns, backend=library).to_native()
    raise TrueupError(
        "A table needs a dataframe library, and neither pandas, Polars nor PyArrow is installed.",
        hint="install one of them, or use est.rows(), a list of dicts.",
    )


def _label(column: Any, dtype: Any) -> Any:
    import narwhals.stable.v2 as nw

    return column.cast(nw.String) if isinstance(dtype, nw.Categorical | nw.Enum) else column


def _kind(dtype: Any) -> Kind:
    import narwhals.stable.v2 as nw

    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, nw.Boolean):
        return "boolean"
    return "text" if isinstance(dtype, nw.String | nw.Categorical | nw.Enum) else "other"
