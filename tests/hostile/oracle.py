"""An independent slow count of the same bytes: Python's own csv module, or pyarrow cell by cell."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]] | None:
    """Rows of a table as dicts, or None where this plain reader cannot say what the bytes mean."""
    if path.suffix == ".csv":
        return _read_csv(path.read_bytes())
    import pyarrow as pa

    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path).to_pylist()
        import pyarrow.feather as feather

        return feather.read_table(path).to_pylist()
    except (pa.ArrowException, OSError, ValueError):
        return None


def _read_csv(content: bytes) -> list[dict[str, Any]] | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=header.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    if not lines or len({len(line) for line in lines}) != 1 or len(set(lines[0])) != len(lines[0]):
        return None
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def disagreement(
    counts: Any, population: list[dict[str, Any]], test: list[dict[str, Any]], value: str | None
) -> str | None:
    """Say where n, v̂ or û differ from the slow count; None when all agree."""
    names = {label: i for i, label in enumerate(counts.classes)}
    kind = type(counts.classes[0])

    def at(row: dict[str, Any], column: str) -> int:
        return names[_as(kind, row[column])]

    try:
        v = Counter(at(row, "predicted") for row in population)
        n = Counter((at(row, "true"), at(row, "predicted")) for row in test)
    except (KeyError, TypeError) as error:
        return f"a label is lost: {error}"
    K = len(counts.classes)
    if [v[h] for h in range(K)] != counts.v_hat.tolist():
        return f"v_hat {counts.v_hat.tolist()} is not {[v[h] for h in range(K)]}"
    if [[n[g, h] for h in range(K)] for g in range(K)] != counts.n.tolist():
        return f"n {counts.n.tolist()} is not {dict(n)}"
    if value is None:
        return None
    parts: list[list[float]] = [[] for _ in range(K)]
    for row in population:
        try:
            parts[at(row, "predicted")].append(float(row[value]))
        except (TypeError, ValueError):
            return f"accepted a value that is no number: {row[value]!r}"
    for h, part in enumerate(parts):
        exact = math.fsum(part)
        size = math.fsum(abs(x) for x in part)
        if not abs(counts.u_hat[h] - exact) <= 1e-9 * size + 5e-324:
            return f"u_hat[{h}] = {counts.u_hat[h]!r} is not {exact!r}"
    return None


def _as(kind: type, cell: Any) -> Any:
    """A cell of a CSV file as a label of this kind; of other files it already is one."""
    if not isinstance(cell, str) or kind is str:
        return cell
    try:
        return cell.strip().lower() == "true" if kind is bool else int(cell)
    except ValueError:
        raise KeyError(cell) from None
