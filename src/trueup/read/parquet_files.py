"""Parquet files of one table: the types of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueup.read.duck import quoted

__all__ = ["layouts_sql", "types_of"]


def layouts_sql(paths: Sequence[str]) -> str:
    """Give the query for the different schemas among files, each with the first file that has it.

    A schema is a list of its elements, those of a nested column after it.
    """
    element = "{'name': name, 'children': num_children, 'type': duckdb_type}"
    return (
        "SELECT schema, min(file_name) FROM (SELECT file_name, list("
        f"{element} ORDER BY column_id) AS schema FROM parquet_schema({quoted(paths)}) "
        "GROUP BY file_name) GROUP BY schema ORDER BY 2"
    )


def types_of(schema: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Give DuckDB's types of the columns of a schema, without what is inside them."""
    types, inside = {}, 0
    for element in schema[1:]:  # the first is the schema itself
        if not inside:
            types[element["name"]] = element["type"]
        inside = max(inside - 1, 0) + (element["children"] or 0)
    return types
