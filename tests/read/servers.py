"""The servers that some engines need, started by the tests themselves."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""A Java that runs for a minute: most of its time went into compiling what runs a few times."""


class Servers:
    """Spark and PostgreSQL, each started when first asked for."""

    def __init__(self) -> None:
        self._spark: Any = None
        self._postgres: PostgreSQL | None = None

    def spark(self) -> Any:
        if self._spark is None:
            if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
                pytest.skip("Spark needs Java, which is not installed")
            from pyspark.sql import SparkSession

            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the first on the path
            self._spark = (
                SparkSession.builder.master("local[2]")
                .appName("trueup")
                .config("spark.ui.enabled", "false")
                .config("spark.ui.showConsoleProgress", "false")
                .config("spark.sql.shuffle.partitions", "2")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.extraJavaOptions", SHORT_LIVED)
                .getOrCreate()
            )
            self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark

    def postgres(self) -> PostgreSQL:
        if self._postgres is None:
            self._postgres = PostgreSQL(_folder_of_postgres())
        return self._postgres

    def stop(self) -> None:
        if self._spark is not None:
            self._spark.stop()
        if self._postgres is not None:
            self._postgres.stop()


@cache
def _folder_of_postgres() -> Path:
    found = [Path(p) for p in (shutil.which("initdb"), shutil.which("postgres")) if p]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    for path in found:
        if (path.resolve().parent / "initdb").exists():
            return path.resolve().parent
    pytest.skip("no PostgreSQL server is installed (initdb is not to be found)")


class PostgreSQL:
    """A server in a temporary folder; it refuses to run as root, so root starts it as another."""

    def __init__(self, programs: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="trueup-postgres-"))
        self._programs, self._tables, self._connection = programs, 0, None
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            name = next(u.pw_name for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody"))
            shutil.chown(self._folder, name)
            self._user = {"user": name, "group": pwd.getpwnam(name).pw_gid}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", "data", "-U", "trueup", "--auth=trust", "-E", "UTF8", "-N")
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self._folder} -F"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            **self._user,
        )
        assert done.returncode == 0, done.stderr

    def table(self, create: str, table: pa.Table) -> Any:
        """Make a table on the server and give it as an Ibis table."""
        import ibis

        if self._connection is None:
            self._connection = ibis.postgres.connect(
                host="127.0.0.1", port=self.port, user="trueup", database="postgres"
            )
        self._tables += 1
        name = f"units_{self._tables}"
        with self._connection.con.cursor() as cursor:
            cursor.execute(create.format(name=name))
            marks = ", ".join(["%s"] * table.num_columns)
            rows = list(zip(*table.to_pydict().values(), strict=True))
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        self._connection.con.commit()
        return self._connection.table(name)

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.disconnect()
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)
