"""Dataframes made here: results of the user's own kind, and pandas columns with plain types."""

import datetime
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from trueup.errors import TrueupError

# What pandas finds in a column of Python objects, and the type that holds the same.
OBJECTS = {
    "boolean": "boolean",
    "date": "datetime64[s]",
    "datetime": "datetime64[us]",
    "decimal": "float64",
    "floating": "float64",
    "integer": "Int64",
    "mixed-integer-float": "float64",
}


def local_frame(columns: dict[str, list[Any]], blank: tuple[str, str] | None = None) -> Any:
    """Make a dataframe with whichever library is installed: pandas, Polars or PyArrow."""
    for library in ("pandas", "polars", "pyarrow"):
        if find_spec(library):
            return make_frame(columns, library, blank)
    raise TrueupError(
        "A table needs a dataframe library, and neither pandas, Polars nor PyArrow is installed.",
        hint="install one of them, or use est.rows(), a list of dicts.",
    )


def make_frame(
    columns: dict[str, list[Any]], library: Any, blank: tuple[str, str] | None = None
) -> Any:
    """Make a dataframe whose columns keep their type when some or all of their cells are None.

    `blank` names a column to be filled in later and the one whose type its cells will have.
    """
    import narwhals.stable.v2 as nw

    columns = {name: one_kind(cells) for name, cells in columns.items()}
    if library == "pandas":
        import pandas as pd  # type: ignore[import-untyped]

        made = pd.DataFrame(
            {name: pd.Series(cells, dtype=_pandas_dtype(cells)) for name, cells in columns.items()}
        )
        if blank is not None:
            like = str(made[blank[1]].dtype)
            made[blank[0]] = made[blank[0]].astype(
                {"int64": "Int64", "bool": "boolean"}.get(like, like)
            )
        return made
    empty = [name for name, cells in columns.items() if set(cells) <= {None}]
    frame = nw.from_dict(columns, backend=library)
    types: dict[str, Any] = dict.fromkeys(empty, nw.Float64)
    if blank is not None:
        types[blank[0]] = frame.schema[blank[1]]
    return frame.with_columns(nw.col(name).cast(kind) for name, kind in types.items()).to_native()


def one_kind(cells: list[Any]) -> list[Any]:
    """Return cells of one type: dates among times as times, whole numbers above 64 bits as text."""
    kinds = {type(cell) for cell in cells}
    if {datetime.date, datetime.datetime} <= kinds:
        midnight = datetime.time.min
        return [
            datetime.datetime.combine(x, midnight) if type(x) is datetime.date else x for x in cells
        ]
    if int in kinds and max(x for x in cells if type(x) is int) >= 2**63:
        return [None if x is None else str(x) for x in cells]
    return cells


def _pandas_dtype(cells: list[Any]) -> str | None:
    """Keep pandas from making decimals of whole numbers, or objects of true and false."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {float}:
        return "float64"
    if None in cells:
        return "Int64" if kinds == {int} else "boolean" if kinds == {bool} else None
    return None


def with_plain_types(frame: Any) -> Any:
    """Return a pandas table whose columns of Python dates, decimals or numbers have a type.

    The user's own table does not change. Columns that hold anything else are refused later.
    """
    import pandas as pd

    made = frame.copy(deep=False)
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.dtype.kind in "iub":
            whole = dtype.categories.dtype.kind != "b"  # numbers as a category are numbers
            made[name] = frame[name].astype("Int64" if whole else "boolean")
        if str(dtype) != "object":
            continue
        kind = pd.api.types.infer_dtype(frame[name], skipna=True)
        if kind in OBJECTS:
            with suppress(TypeError, ValueError, OverflowError):
                made[name] = frame[name].astype(OBJECTS[kind])
    return made


def with_plain_dictionaries(table: Any) -> Any:
    """Return a PyArrow table whose dictionaries are decoded, except those of text."""
    for i, field in enumerate(table.schema):
        held = getattr(field.type, "value_type", None)
        if str(field.type).startswith("dictionary") and "string" not in str(held):
            table = table.set_column(i, field.name, table.column(i).cast(held))
    return table
