"""Parquet and Arrow files: what must hold of each file before DuckDB reads them as one table."""

from collections.abc import Sequence
from typing import Any

from trueup.errors import FileError, optional
from trueup.read.duck import first_line, quoted

CUT_OFF = "is the file complete? A copy or download that was cut off looks like this."


def layouts_sql(paths: Sequence[str]) -> str:
    """Return the query for the distinct schemas of Parquet files, each with its first file.

    A schema is the list of its elements; those of a nested column follow it.
    """
    element = "{'name': name, 'children': num_children, 'type': duckdb_type}"
    return (
        "SELECT schema, min(file_name) FROM (SELECT file_name, list("
        f"{element} ORDER BY column_id) AS schema FROM parquet_schema({quoted(paths)}) "
        "GROUP BY file_name) GROUP BY schema ORDER BY 2"
    )


def types_of(schema: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return DuckDB's types of the columns of a Parquet schema, without nested elements."""
    types, inside = {}, 0
    for element in schema[1:]:  # the first is the schema itself
        if not inside:
            types[element["name"]] = element["type"]
        inside = max(inside - 1, 0) + (element["children"] or 0)
    return types


def arrow_dataset(files: Sequence[str], name: str) -> Any:
    """Return Arrow files as a PyArrow dataset that streams: DuckDB has no reader for them."""
    words = "Arrow files need PyArrow, which is not installed."
    hint = "install pyarrow, or write the table as Parquet."
    pa, ds = (optional(x, words, hint, FileError) for x in ("pyarrow", "pyarrow.dataset"))
    try:
        return ds.dataset(list(files), format="ipc", partitioning="hive")
    except (pa.ArrowException, OSError) as error:
        raise _broken(name, error) from None


def check_batches(files: Sequence[str], columns: Sequence[str], name: str) -> None:
    """Refuse Arrow data that point outside their own buffers: DuckDB would follow them."""
    import pyarrow as pa  # type: ignore[import-untyped]

    try:
        for file in files:
            with pa.memory_map(file) as source:
                reader = pa.ipc.open_file(source)  # the dataset's own reader follows them too
                for i in range(reader.num_record_batches):
                    batch = reader.get_batch(i)
                    present = [column for column in columns if column in batch.schema.names]
                    batch.select(present).validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise _broken(name, error) from None


def _broken(name: str, error: BaseException) -> FileError:
    return FileError(
        f"{name} must be a readable Arrow file; PyArrow says: {first_line(error)}", hint=CUT_OFF
    )
