"""A group-by of a PyArrow table that makes y², and the parts of y, as it goes.

PyArrow's own functions run one after another over the whole column, each on one core; its streaming
engine runs all of them on a piece of the table while that is in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["sums_by"]


def sums_by(table: Any, keys: Sequence[str], sigma: float) -> list[tuple[Any, ...]]:
    """Return (*keys, units, Σhigh, Σlow, Σy²) of a table with a column `y`; see `_squared`."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]
    from pyarrow import acero

    y, shift = pc.field("y"), pc.scalar(sigma)
    high = pc.subtract(pc.add(y, shift), shift)
    made = {"high": high, "low": pc.subtract(y, high), "y2": pc.multiply(y, y)}
    figures: list[Any] = [([], "hash_count_all", None, "units")]
    figures += [([name], "hash_sum", None, f"sum_{name}") for name in made]
    steps = [
        ("table_source", acero.TableSourceNodeOptions(table)),
        (
            "project",
            acero.ProjectNodeOptions([*map(pc.field, keys), *made.values()], [*keys, *made]),
        ),
        ("aggregate", acero.AggregateNodeOptions(figures, keys=list(keys))),
    ]
    found = acero.Declaration.from_sequence([acero.Declaration(*step) for step in steps]).to_table()
    wanted = [*keys, "units", *(f"sum_{name}" for name in made)]
    return list(zip(*(found[name].to_pylist() for name in wanted), strict=True))
