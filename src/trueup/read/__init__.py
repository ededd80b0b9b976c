"""Where a table comes from: a path is a file, anything else a dataframe or a relation."""

import os
from typing import cast

from trueup.read.table import Table


def open_units(
    source: object, role: str, count: str | None, squares: str | None, value: str | None
) -> Table:
    """Open a population: of units, or with a `count` of the units that each row stands for."""
    table = open_table(source, role)
    if count is None and squares is None:
        return table
    from trueup.read.aggregated import AggregatedTable

    return cast(Table, AggregatedTable(table, count, squares, value))


def open_table(source: object, role: str) -> Table:
    """Take a path or a dataframe; `role` is what messages call a table that has no file name."""
    if isinstance(source, str | os.PathLike):
        from trueup.read.paths import SHEETS

        if os.fspath(source).lower().endswith(SHEETS):
            from trueup.read.formats.sheets import sheet_table

            return sheet_table(os.fspath(source))
        from trueup.read.files import FileTable

        return FileTable(os.fspath(source))
    if type(source).__name__ == "DuckDBPyRelation":  # named, so that nothing is imported to ask
        from trueup.read.relations import RelationTable

        return RelationTable(source, role)
    from trueup.read.frames import FrameTable

    return FrameTable(source, role)
