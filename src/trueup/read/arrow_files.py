"""Arrow files, which DuckDB reads through PyArrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from trueup.errors import FileError
from trueup.read.duck import first_line

__all__ = ["arrow_dataset", "check_batches"]


def arrow_dataset(path: str, files: Sequence[str]) -> Any:
    """Give Arrow files as a dataset that streams; DuckDB has no reader of its own for them."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.dataset as ds  # type: ignore[import-untyped]
    except ImportError:
        raise FileError(
            "Arrow files need PyArrow, which is not installed.",
            hint="install pyarrow, or write the table as Parquet.",
        ) from None
    try:
        return ds.dataset(list(files), format="ipc", partitioning="hive")
    except (pa.ArrowException, OSError) as error:
        raise _broken(os.path.basename(path), error) from None


def check_batches(files: Sequence[str], columns: Sequence[str], name: str) -> None:
    """Refuse data that point outside their own buffers: DuckDB would follow them."""
    import pyarrow as pa

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
        f"{name} must be a readable Arrow file; PyArrow says: {first_line(error)}",
        hint="is the file whole? A copy or download that was cut off looks like this.",
    )
