"""Writing results: whole or not at all."""

import csv
import datetime
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from trueup.errors import FileError, OptionError
from trueup.estimate.result import Estimate
from trueup.read.duck import identifier
from trueup.read.formats.written import escaped
from trueup.read.native import one_kind
from trueup.read.paths import find


def as_text(est: Estimate, rows: list[dict[str, Any]] | None = None) -> str:
    """Return ``{"rows": [...], "info": {...}}`` as JSON, without the chains' `trace`."""
    info = {name: x for name, x in est.info.items() if name != "trace"}
    found = {"rows": est.rows() if rows is None else rows, "info": info}
    return json.dumps(found, indent=2, allow_nan=False, default=str)


def writer(path: str | None, *inputs: str) -> Callable[[Estimate], None]:
    """Check the path before any work is done, and return the function that writes to it."""
    if path is None:
        return lambda est: None
    _check_apart(path, inputs)
    makers: dict[str, Callable[[Estimate], bytes]] = {
        ".csv": lambda est: csv_text(est.tidy()).encode(),
        ".parquet": _parquet_bytes,
        ".json": lambda est: as_text(est, est.tidy()).encode() + b"\n",
    }
    target = writable("--output", path, *makers)
    return lambda est: write_whole(target, makers[target.suffix.lower()](est))


def _check_apart(path: str, inputs: Iterable[str]) -> None:
    """Refuse to write where data are read."""
    if os.path.isfile(path):
        for table in inputs:
            if any(os.path.samefile(path, x) for x in find(table).files if os.path.isfile(x)):
                raise OptionError(
                    f"--output must not be a table that is read; {path!r} is part of {table!r}.",
                    hint="the answer would take the place of the data. Choose another name.",
                )


def work_list_writer(path: str, *inputs: str) -> Callable[[Sequence[dict[str, Any]]], None]:
    """Check the path of a work list before it is drawn, and return what writes it."""
    _check_apart(path, inputs)
    target = writable("--output", path, ".csv")
    if target.exists():
        raise OptionError(
            f"--output must be a new file; {path!r} exists.",
            hint="a work list may hold labels that took days: choose another name, or delete it.",
        )
    return lambda rows: write_whole(target, csv_text(rows).encode())


def writable(what: str, path: str | Path, *endings: str) -> Path:
    """Refuse a path whose ending says no format, or whose folder does not exist."""
    if not isinstance(path, str | Path):
        raise OptionError(
            f"{what[0].upper()}{what[1:]} needs a path; got {path!r}.",
            hint=f"name a file, such as results{endings[0]}.",
        )
    target = Path(path)
    if target.suffix.lower() not in endings:
        *most, last = endings
        words = f"{', '.join(most)} or {last}" if most else last
        raise OptionError(
            f"{what[0].upper()}{what[1:]} must end in {words}; got {target.name!r}.",
            hint="the ending decides the format.",
        )
    if not target.parent.is_dir():
        raise FileError(f"The folder of {what} must exist; {str(target.parent)!r} does not.")
    return target


def write_whole(target: Path, content: bytes) -> None:
    """Write beside the target and move it into place: a reader sees the old file or the new one."""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise FileError(f"{str(target)!r} must be writable; {error.strerror}.") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows with a header; text that a spreadsheet would run gets an apostrophe before it.

    Examples
    --------
    >>> csv_text([{"class": "=1+1", "estimate": -2.5}]).splitlines()
    ['class,estimate', "'=1+1,-2.5"]
    """
    lines = []
    for cells in [list(rows[0]), *(row.values() for row in rows)]:
        text = io.StringIO(newline="")
        safe = map(escaped, cells)
        # Only a writer that ends lines with CR LF quotes a CR in a label.
        csv.writer(text, lineterminator="\r\n").writerow(safe)
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def _sql_type(values: Iterable[object]) -> str:
    """The type of a column: figures are DOUBLE, labels what they are; None may stand in any."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:  # a figure that this method does not give
        return "DOUBLE"
    known = {
        bool: "BOOLEAN",
        int: "BIGINT",
        float: "DOUBLE",
        datetime.date: "DATE",
        datetime.datetime: "TIMESTAMP",
    }
    return known.get(kinds.pop(), "VARCHAR") if len(kinds) == 1 else "VARCHAR"


def _parquet_bytes(est: Estimate) -> bytes:
    import duckdb

    rows = est.tidy()
    cells = {name: one_kind([row[name] for row in rows]) for name in rows[0]}
    columns = ", ".join(f"{identifier(name)} {_sql_type(column)}" for name, column in cells.items())
    marks = ", ".join("?" for _ in cells)
    try:
        with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE result ({columns})")
            connection.executemany(
                f"INSERT INTO result VALUES ({marks})", list(zip(*cells.values(), strict=True))
            )
            path = Path(folder) / "result.parquet"
            connection.execute(f"COPY result TO '{path}' (FORMAT parquet)")
            return path.read_bytes()
    except (duckdb.Error, OSError) as error:
        raise FileError(
            f"There must be room for a temporary Parquet file; {str(error).splitlines()[0]}",
            hint="free some space, or set TMPDIR to a folder that has it.",
        ) from None
