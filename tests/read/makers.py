"""One table, made into every kind of table that trueup takes."""

from __future__ import annotations

import csv
import gzip
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa

LOCAL = ("pandas", "pandas-pyarrow", "polars", "polars-lazy", "pyarrow", "duckdb", "dask")
FILES = ("csv", "csv-gz", "parquet", "glob", "folder", "arrow")
DATABASES = ("ibis-duckdb", "ibis-sqlite", "ibis-postgres")
ENGINES = (*LOCAL, *FILES, *DATABASES, "spark")


def make(engine: str, table: pa.Table, folder: Path, servers: Any) -> Any:
    """Make a table of the engine's kind; `servers` gives ``spark()`` and ``postgres()``."""
    maker = {"spark": _spark, "ibis-postgres": _postgres}.get(engine)
    if maker is not None:
        return maker(table, servers)
    return globals()["_" + engine.replace("-", "_")](table, _fresh(folder))


def _fresh(folder: Path) -> Path:
    path = folder / f"table-{len(list(folder.iterdir()))}"
    path.mkdir()
    return path


def _pandas(table: pa.Table, folder: Path) -> Any:
    return table.to_pandas()


def _pandas_pyarrow(table: pa.Table, folder: Path) -> Any:
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _polars(table: pa.Table, folder: Path) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _polars_lazy(table: pa.Table, folder: Path) -> Any:
    return _polars(table, folder).lazy()


def _pyarrow(table: pa.Table, folder: Path) -> Any:
    return table


def _duckdb(table: pa.Table, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("made", table)
    return connection.sql("SELECT * FROM made")


def _dask(table: pa.Table, folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(table.to_pandas(), npartitions=3)


def _csv(table: pa.Table, folder: Path, name: str = "table.csv") -> str:
    path = folder / name
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*table.to_pydict().values(), strict=True))
    return str(path)


def _csv_gz(table: pa.Table, folder: Path) -> str:
    path = Path(_csv(table, folder))
    with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    return f"{path}.gz"


def _parquet(table: pa.Table, folder: Path) -> str:
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "table.parquet")
    return str(folder / "table.parquet")


def _glob(table: pa.Table, folder: Path) -> str:
    third = len(table) // 3
    for part, start in enumerate((0, third, 2 * third)):
        rows = table.slice(start, third if part < 2 else None)
        _csv(rows, folder, f"part-{part}.csv")
    return str(folder / "part-*.csv")


def _folder(table: pa.Table, folder: Path) -> str:
    import pyarrow.parquet as pq

    half = len(table) // 2
    (folder / "deeper").mkdir()
    (folder / "_SUCCESS").write_text("")
    pq.write_table(table.slice(0, half), folder / "a.parquet")
    pq.write_table(table.slice(half), folder / "deeper" / "b.parquet")
    return str(folder)


def _arrow(table: pa.Table, folder: Path) -> str:
    import pyarrow.feather as feather

    feather.write_feather(table, str(folder / "table.arrow"))
    return str(folder / "table.arrow")


def _ibis_duckdb(table: pa.Table, folder: Path) -> Any:
    import duckdb
    import ibis

    with duckdb.connect(str(folder / "made.duckdb")) as connection:
        connection.register("made", table)
        connection.execute("CREATE TABLE units AS SELECT * FROM made")
    return ibis.duckdb.connect(str(folder / "made.duckdb")).table("units")


def _ibis_sqlite(table: pa.Table, folder: Path) -> Any:
    import ibis

    path = str(folder / "made.sqlite")
    words = {"string": "TEXT", "int64": "INTEGER", "double": "REAL", "bool": "INTEGER"}
    columns = ", ".join(f'"{f.name}" {words.get(str(f.type), "TEXT")}' for f in table.schema)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE units ({columns})")
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*table.to_pydict().values(), strict=True)
        connection.executemany(f"INSERT INTO units VALUES ({marks})", rows)
    connection.close()
    return ibis.sqlite.connect(path).table("units")


def _sql_columns(table: pa.Table, quote: str, double: str) -> str:
    words = {"string": "text", "int64": "bigint", "double": double, "bool": "boolean"}
    words |= {"date32[day]": "date"}
    return ", ".join(f"{quote}{f.name}{quote} {words[str(f.type)]}" for f in table.schema)


def _postgres(table: pa.Table, servers: Any) -> Any:
    columns = _sql_columns(table, '"', "double precision")
    return servers.postgres().table(f"CREATE TABLE {{name}} ({columns})", table)


def _spark(table: pa.Table, servers: Any) -> Any:
    spark = servers.spark()
    schema = _sql_columns(table, "`", "double").replace(" text", " string")
    rows = list(zip(*table.to_pydict().values(), strict=True))
    return spark.createDataFrame(rows, schema).repartition(3)
