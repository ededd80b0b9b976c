"""Where a table comes from: a path is a file, anything else a dataframe or a relation."""

from __future__ import annotations

import os

from trueup.read.table import Table

__all__ = ["open_table"]


def open_table(source: object, role: str) -> Table:
    """Take a path or a dataframe; `role` is what messages call a table that has no file name."""
    if isinstance(source, str | os.PathLike):
        from trueup.read.files import FileTable

        return FileTable(os.fspath(source))
    if type(source).__name__ == "DuckDBPyRelation":  # named, so that nothing is imported to ask
        from trueup.read.duck import RelationTable

        return RelationTable(source, role)
    from trueup.read.frames import FrameTable

    return FrameTable(source, role)
