"""Files sent to the page: which columns there are, the check and the estimates."""

import datetime
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from trueup.api import correct
from trueup.errors import FileError, OptionError, TrueupWarning
from trueup.estimate.result import Estimate
from trueup.read import open_table
from trueup.read.binary_files import CUT_OFF
from trueup.read.csv_files import OPTIONS as CSV
from trueup.read.duck import first_line
from trueup.study.check import check
from trueup.web.numbers import check_work, names_of, options_of, shown

FEW = 5  # rows to show
MOST_ROWS = 400  # of the answer on the page; the table to download has them all
COLUMNS = ("predicted", "true", "value", "id", "by", "strata")
KNOWN = names_of(
    correct, "predictions", "test_set", "classes", "P", "keep_draws", "progress", "executor"
)
CHECKED = set(names_of(check))


def look(path: str) -> dict[str, Any]:
    """Return the columns of a file, their kinds, and its first rows as text."""
    kinds = open_table(path, path).kinds()
    return {"columns": [{"name": n, "kind": k} for n, k in kinds.items()], "rows": _first(path)}


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
    predictions: str,
    test_set: str,
    given: Mapping[str, Any],
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Estimate from the two files with the columns and options that the page sends."""
    with warnings.catch_warnings(action="ignore", category=TrueupWarning):
        return correct(predictions, test_set, **_options(given), progress=progress)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    options = options_of(given, KNOWN)
    for name in COLUMNS:
        column = given.get(name)
        several = name in ("by", "strata") and isinstance(column, list)
        named: list[Any] = list(column or []) if several else [column]
        needed = several or column is not None or name in ("predicted", "true")
        if needed and not all(isinstance(x, str) for x in named):
            raise OptionError(f"`{name}` must name a column; choose one.")
    check_work(given.get("draws", 4000), 2)
    return options


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
