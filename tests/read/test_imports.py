"""Using one engine never imports another; `import trueup` imports none."""

import subprocess
import sys

import pytest

LIBRARIES = {"pandas", "polars", "pyarrow", "duckdb", "dask", "ibis", "pyspark"}
DATA = "data = {'predicted': [*'abab'], 'true': [*'abbb'], 'y': [1.5, 2.0, 3.0, 1.0]}"
MAKE = {
    "pandas": "import pandas\ntable = pandas.DataFrame(data)",
    "polars": "import polars\ntable = [polars.DataFrame(data), polars.LazyFrame(data)]",
    "pyarrow": "import pyarrow\ntable = pyarrow.table(data)",
    "duckdb": "import duckdb\nrows = [*zip(*data.values())]\n"
    "table = duckdb.sql(f'SELECT * FROM (VALUES {str(rows)[1:-1]}) t(predicted, \"true\", y)')",
    "file": "import csv\ntable = sys.argv[1]\n"
    "with open(table, 'w', newline='') as file:\n"
    "    csv.writer(file).writerows([[*data], *zip(*data.values())])",
}


def loaded(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split()) & LIBRARIES


def test_import_trueup():
    assert not loaded("import sys, trueup; trueup.correct; print(*sys.modules)")


@pytest.mark.parametrize("engine", MAKE)
def test_one_engine_is_loaded(engine, tmp_path):
    code = (
        f"import sys\n{DATA}\n{MAKE[engine]}\ntheirs = set(sys.modules)\nimport trueup\n"
        "for table in table if isinstance(table, list) else [table]:\n"
        "    est = trueup.correct(table, table, value='y', draws=100, seed=1)\n"
        "    assert len(est.rows()) == 2\n"
        "print(*(set(sys.modules) - theirs))"
    )
    # what the library itself loads when the table is made is not ours to keep out
    assert loaded(code, str(tmp_path / "t.csv")) <= ({"duckdb"} if engine == "file" else set())


def test_the_usual_answer_needs_no_scipy():
    """It takes as long to load as all the rest together."""
    code = (
        "import sys, trueup\n"
        "est = trueup.correct_counts([[90, 10], [5, 95]], [4000, 6000], [8e6, 9e6], [3e10, 4e10],"
        " design='random', overlap=False, seed=1)\n"
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert done.stdout.split() == [b"False"], done.stderr
