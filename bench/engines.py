"""How long trueup takes to count, against the same group-by written by hand. Ratios of one run.

    python bench/engines.py              # 10 million rows in memory, 100 million in Parquet
    python bench/engines.py --rows 1e6   # a small one, to try it

Each pair is run in turn, several times, and the least time of each counts: the machine may have
other work. Parquet is measured from outside, Python's start included, with the peak of its memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from trueup.read import open_table

COLUMNS = "predicted VARCHAR (15 classes), region INTEGER (1,000 groups), turnover DOUBLE"


def make_parquet(path: Path, rows: int, *, true: bool = False) -> None:
    """Write units with a class, a group and a lognormal value of whole cents."""
    u, v = "(hash(i * 3 + 1) % 1000003 + 1) / 1000005.0", "(hash(i * 5 + 2) % 1000003) / 1000003.0"
    label = "'class_' || lpad(({})::VARCHAR, 2, '0')"
    extra = f', {label.format("hash(i // 8) % 15")} AS "true"' if true else ""
    predicted = "CASE WHEN i % 7 = 0 THEN hash(i) % 15 ELSE hash(i // 8) % 15 END"
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false; SET memory_limit = '4GB'")
        connection.execute(
            f"COPY (SELECT {label.format(predicted)} AS predicted, "
            f"(hash(i + 7777777) % 1000)::INTEGER AS region, "
            f"round(exp(8 + 2 * sqrt(-2 * ln({u})) * cos(6.2831853 * {v})), 2) AS turnover{extra} "
            f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )


def in_turn(jobs: dict[str, Callable[[], object]], times: int) -> dict[str, float]:
    """Give the least time of each job, run in turn."""
    least = dict.fromkeys(jobs, float("inf"))
    for _ in range(times):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def report(what: str, hand: float, ours: float, limit: float) -> bool:
    """Print a line of the table."""
    good = ours <= limit * hand
    verdict = "ok" if good else "MISSED"
    print(f"{what:44s} {hand:8.3f} {ours:8.3f} {ours / hand:6.2f}  (at most {limit}) {verdict}")
    return good


def bench_memory(path: Path, times: int) -> bool:
    """Compare pandas, Polars and PyArrow with group-bys written by hand."""
    import pandas as pd
    import polars as pl
    import pyarrow.compute as pc

    arrow = duckdb.read_parquet(str(path)).to_arrow_table()
    pandas, polars = arrow.to_pandas(), pl.from_arrow(arrow)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)

    def by_pandas(keys: list[str]) -> object:
        frame = pandas.assign(y2=pandas["turnover"] * pandas["turnover"])
        return frame.groupby(keys).agg(
            n=("turnover", "size"), y=("turnover", "sum"), y2=("y2", "sum")
        )

    def by_polars(keys: list[str]) -> object:
        y = pl.col("turnover")
        return polars.group_by(keys).agg(pl.len(), y.sum().alias("y"), (y * y).sum().alias("y2"))

    def by_arrow(keys: list[str]) -> object:
        squares = pc.multiply(arrow["turnover"], arrow["turnover"])
        figures = [([], "count_all"), ("turnover", "sum"), ("y2", "sum")]
        return arrow.append_column("y2", squares).group_by(keys).aggregate(figures)

    good = True
    for keys in (["predicted"], ["region", "predicted"]):
        for name, frame, hand in (
            ("pandas", pandas, by_pandas),
            ("Polars", polars, by_polars),
            ("PyArrow", arrow, by_arrow),
        ):
            table = open_table(frame, "predictions")
            least = in_turn(
                {
                    "hand": lambda hand=hand, keys=keys: hand(keys),
                    "ours": lambda table=table, keys=keys: table.tally(keys, "turnover"),
                },
                times,
            )
            what = f"{name}, by {' and '.join(keys)}"
            good &= report(what, least["hand"], least["ours"], 1.5)
    return good


def run_apart(folder: Path, *command: str) -> tuple[float, float]:
    """Run a command and give its time and the peak of its memory in GB."""
    # compiled modules are kept, as they are where a package is installed and was used before
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "pycache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return time.perf_counter() - start, usage.ru_maxrss / 1e6


def bench_parquet(path: Path, test_set: Path, times: int, *, groups: bool) -> bool:
    """Compare `trueup correct` with the bare group-by of the same columns, both as programs."""
    good = True
    with_value = ["--value", "turnover"]
    cases = [([], 1.3), (with_value, 1.5), ([*with_value, "--by", "region"], 1.5)]
    for options, limit in cases[: 3 if groups else 2]:
        keys = "region, predicted" if "--by" in options else "predicted"
        figures = ", sum(turnover), sum(turnover * turnover)" if options else ""
        sql = f"SELECT {keys}, count(*){figures} FROM read_parquet('{path}') GROUP BY ALL"
        query = f'import duckdb; duckdb.connect().execute("{sql}").fetchall()'
        bare = [sys.executable, "-c", query]
        ours = [sys.executable, "-m", "trueup", "correct", str(path), str(test_set), "--no-overlap"]
        ours += ["--design", "by_prediction", "--quiet", *options]
        least, peak = [float("inf")] * 2, 0.0
        for _ in range(times):
            for i, command in enumerate((bare, ours)):
                seconds, memory = run_apart(path.parent, *command)
                least[i] = min(least[i], seconds)
                peak = max(peak, memory if i else 0.0)
        what = f"Parquet, `trueup correct`{' --value' if options else ''} by {keys}"
        good &= report(what, least[0], least[1], limit)
        print(f"{'  peak memory of it, GB':44s} {'':8s} {peak:8.2f}         (under 2)")
        good &= peak < 2
    table = open_table(str(path), "predictions")
    for keys in ("predicted", "region, predicted"):
        sql = f"SELECT {keys}, count(*), sum(turnover), sum(turnover * turnover) FROM '{path}'"
        least = in_turn(
            {
                "hand": lambda sql=sql: duckdb.sql(f"{sql} GROUP BY ALL").fetchall(),
                "ours": lambda keys=keys: table.tally(keys.split(", "), "turnover"),
            },
            times,
        )
        good &= report(f"Parquet, the counting by {keys}", least["hand"], least["ours"], 1.3)
    return good


def main() -> int:
    """Make the tables, run everything and say whether all limits were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=float, default=1e8, help="rows of Parquet; a tenth in memory"
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--groups", action="store_true", help="also 1,000 groups, draws and all")
    parser.add_argument("--folder", type=Path, help="keep the tables there, and use those there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        big, small = int(given.rows), int(given.rows / 10)
        files = {name: folder / f"{name}.parquet" for name in (f"units-{big}", f"units-{small}")}
        for (_, path), rows in zip(files.items(), (big, small), strict=True):
            if not path.exists():
                make_parquet(path, rows)
        make_parquet(folder / "audited.parquet", 3000, true=True)
        print(f"{COLUMNS}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print(f"{'':44s} {'by hand':>8s} {'trueup':>8s}  ratio")
        many, few = files.values()
        # files first: a program's peak memory is never less than that of the one that started it
        good = bench_parquet(many, folder / "audited.parquet", given.times, groups=given.groups)
        good &= bench_memory(few, given.times)
    print(f"\nload {os.getloadavg()[0]:.1f}; {'all within limits' if good else 'some were missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
