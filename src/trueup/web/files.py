"""Files sent to the page: which columns there are, the check and the estimates."""

import datetime
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from trueup.api import correct
from trueup.audit.draw import draw_rows
from trueup.audit.work_list import MARK
from trueup.errors import FileError, OptionError, TrueupWarning
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Progress
from trueup.present.output import csv_text
from trueup.read import open_table
from trueup.read.duck import first_line
from trueup.read.formats.binary_files import CUT_OFF
from trueup.read.formats.csv_files import OPTIONS as CSV
from trueup.read.formats.written import written
from trueup.study.check import check
from trueup.web.numbers import check_labels, check_work, names_of, options_of, shown

FEW = 5  # rows to show
MOST_ROWS = 400  # of the answer on the page; the table to download has them all
SEVERAL = ("by", "strata", "drawn_within", "score")
COLUMNS = (
    "predicted", "true", "value", "id", *SEVERAL, "period", "probability", "cluster", "count",
    "squares",
)  # fmt: skip
KNOWN = names_of(correct, "predictions", "test_set", "P", "keep_draws", "progress", "executor")
CHECKED = set(names_of(check))
DRAWN = ("n", "id", "within", "by_prediction", "size", "predicted", "seed", "decimal")


def look(path: str) -> dict[str, Any]:
    """Return the columns of a file, their kinds, and its first rows as text."""
    kinds, rows = open_table(path, path).kinds(), _first(path)
    first = dict(zip(kinds, rows[0], strict=True)) if rows else {}
    drawn = [str(first.get(name)).startswith(MARK) for name in ("trueup_drawn", "drawn")]
    columns = [{"name": name, "kind": kind} for name, kind in kinds.items()]
    return {"columns": columns, "rows": rows, "work_list": any(drawn)}


def _first(path: str) -> list[list[str | None]]:
    import duckdb

    reader = "read_parquet(?)" if path.endswith(".parquet") else f"read_csv(?, {CSV})"
    sql = f"SELECT left(CAST(COLUMNS(*) AS VARCHAR), 80) FROM {reader} LIMIT {FEW}"
    try:
        with duckdb.connect() as connection:
            return [list(row) for row in connection.execute(sql, [path]).fetchall()]
    except (duckdb.Error, UnicodeDecodeError) as error:
        raise FileError(
            f"{path} must be a readable table; DuckDB says: {first_line(error)}", hint=CUT_OFF
        ) from None


def questions(predictions: str, test_set: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run the check; return a dict per finding: question, what it is about, words, doubt."""
    options = {name: x for name, x in _options(given).items() if name in CHECKED}
    with warnings.catch_warnings(action="ignore", category=TrueupWarning):
        found = check(predictions, test_set, **options)
    return [{"question": f.question, "words": f.words, "doubt": f.doubt} for f in found.findings]


def estimate(
    predictions: str, test_set: str, given: Mapping[str, Any], progress: Progress | None = None
) -> Estimate:
    """Estimate from the two files with the columns and options that the page sends."""
    with warnings.catch_warnings(action="ignore", category=TrueupWarning):
        return correct(predictions, test_set, **_options(given), progress=progress)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    options = options_of(given, KNOWN)
    _check_columns(given, COLUMNS, "predicted", "true")
    check_labels("classes", given.get("classes"))
    check_work(given.get("draws", 4000), 2)
    return options


def _check_columns(given: Mapping[str, Any], columns: Sequence[str], *needed: str) -> None:
    for name in columns:
        column = given.get(name)
        several = name in SEVERAL and isinstance(column, list)
        named: list[Any] = list(column or []) if several else [column]
        if (several or column is not None or name in needed) and not all(
            isinstance(x, str) for x in named
        ):
            raise OptionError(f"`{name}` must name a column; choose one.")


def draw_list(predictions: str, given: Mapping[str, Any]) -> bytes:
    """Draw the units to label, as a CSV file that says how."""
    options = options_of(given, DRAWN)
    _check_columns(given, ("predicted", "id", "within", "size"), "predicted", "id")
    table = open_table(written(predictions, options.pop("decimal", None), None, None), predictions)
    return csv_text(draw_rows(table, **options)).encode()


def answer(est: Estimate) -> dict[str, Any]:
    """Return what the page shows: the first groups, and always the whole."""
    found, K = shown(est), est.counts.K
    first = {}
    for name in ("rows", "written"):
        rows = found[name]
        few = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS - K] + rows[-K:]
        first[name] = [{key: _plain(x) for key, x in row.items()} for row in few]
    by = list(est.groups.by) if est.groups else []
    return found | first | {"by": by, "all_rows": len(found["rows"])}


def _plain(cell: object) -> object:
    """Labels may be dates; JSON knows text and numbers."""
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
