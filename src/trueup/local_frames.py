"""Results as a dataframe of the user's own library, or of one that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from trueup.errors import TrueupError

__all__ = ["local_frame", "make_frame"]


def local_frame(columns: dict[str, list[Any]]) -> Any:
    """Make a dataframe with whichever library is installed: pandas, Polars or PyArrow."""
    for library in ("pandas", "polars", "pyarrow"):
        if find_spec(library):
            return make_frame(columns, library)
    raise TrueupError(
        "A table needs a dataframe library, and neither pandas, Polars nor PyArrow is installed.",
        hint="install one of them, or use est.rows(), a list of dicts.",
    )


def make_frame(columns: dict[str, list[Any]], library: Any) -> Any:
    """Make a dataframe whose columns keep their type when some or all of their cells are None."""
    import narwhals.stable.v2 as nw

    if library == "pandas":
        import pandas as pd  # type: ignore[import-untyped]

        return pd.DataFrame(
            {name: pd.Series(cells, dtype=_pandas_dtype(cells)) for name, cells in columns.items()}
        )
    empty = [name for name, cells in columns.items() if set(cells) <= {None}]
    frame = nw.from_dict(columns, backend=library)
    return frame.with_columns(nw.col(name).cast(nw.Float64) for name in empty).to_native()


def _pandas_dtype(cells: list[Any]) -> str | None:
    """Keep pandas from making decimals of whole numbers, or objects of true and false."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {float}:
        return "float64"
    if None in cells:
        return "Int64" if kinds == {int} else "boolean" if kinds == {bool} else None
    return None
