"""The report says which files were read, and repeats the command whenever there is one."""

import hashlib
import inspect
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main
from trueup.cli import numbers as numbers_command
from trueup.present.report.sections import priors
from trueup.present.reproduce import (
    command_line,
    file_hashes,
    only_in_python,
    parameters,
    python_call,
)
from trueup.present.sentences import question

POPULATION = "predicted,y\n" + "a,1\nb,2\n" * 20
TEST_SET = "predicted,true,y\n" + "a,a,1\nb,b,2\na,b,1\n" * 3


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "pop.csv").write_text(POPULATION)
    (tmp_path / "test.csv").write_text(TEST_SET)
    return tmp_path


@pytest.mark.parametrize("form", ["~/{}", "file://{folder}/{}", "{folder}/{}"])
def test_every_path_that_is_read_is_hashed(form, files):
    paths = [form.format(name, folder=files) for name in ("pop.csv", "test.csv")]
    est = tu.correct(*paths, by=(), draws=100)  # as the command line calls it
    found = file_hashes(est)
    assert [name for name, *_ in found] == [str(files / "pop.csv"), str(files / "test.csv")]
    assert "by=" not in python_call(est)
    wanted = [hashlib.sha256(text.encode()).hexdigest() for text in (POPULATION, TEST_SET)]
    assert [digest for *_, digest in found] == wanted


def test_a_folder_s_hashes_are_those_of_the_files_that_were_read(files):
    folder = files / "parts"
    (folder / "_work").mkdir(parents=True)
    (folder / "1.csv").write_text(POPULATION)
    for unread in ("notes.md", "_old.csv", "_work/2.csv", ".hidden.csv"):
        (folder / unread).write_text("not read")
    est = tu.correct(folder, files / "test.csv", draws=100)
    names = [name for name, *_ in file_hashes(est)]
    assert names == [str(folder / "1.csv"), str(files / "test.csv")]


def test_a_file_that_is_gone_is_said_to_be(files):
    est = tu.correct(files / "pop.csv", files / "test.csv", draws=100)
    (files / "pop.csv").unlink()
    assert "no longer there" in file_hashes(est)[0][2]


def test_squares_of_test_units_are_on_the_command_line():
    est = tu.correct_counts(
        [[40, 5], [3, 60]], [300, 700], [3000, 9000], [40000, 150000], [[400, 60], [30, 700]],
        [[5000, 900], [400, 9000]], seed=5, draws=200,
    )  # fmt: skip
    command = command_line(est)
    assert "--test-squares '5000,900;400,9000'" in command
    result = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"])
    assert result.exit_code == 0, result.output
    assert only_in_python(est) == []


def test_the_call_of_dataframes_is_python_and_says_where_they_go(files):
    """The comma was inside the comment."""
    import ast

    import polars as pl

    tables = [pl.read_csv(files / name) for name in ("pop.csv", "test.csv")]
    est = tu.correct(*tables, value="y", draws=100)
    call = ast.parse(python_call(est)).body[-1].value
    assert [x.value for x in call.args] == [..., ...]
    assert "value" in [x.arg for x in call.keywords]
    assert "...,  # test_set: a polars.DataFrame" in python_call(est)
    assert only_in_python(est) == ["tables in memory (write them to files)"]


def test_what_only_python_can_say_is_named():
    P = np.full((50, 2, 2), 0.1) + 0.8 * np.eye(2)
    est = tu.correct_counts([[40, 5], [3, 60]], [300, 700], P=P, seed=5, draws=200)
    assert command_line(est) is None
    assert only_in_python(est) == ["P"]
    said = tu.correct_counts([[4, 1], [2, 3]], [10, 90], classes=["a,b", "c"], seed=1)
    assert only_in_python(said) == ["classes"]


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
def test_a_margin_is_told_as_it_is_and_has_its_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'ab'[i % 3 == 0]},{'ns'[i % 2]},{'SL'[i % 5 == 0]}" for i in range(60)]
    Path("p.csv").write_text("predicted,region,size\n" + "\n".join(rows))
    audited = [f"{row},{row[0]}" for row in rows[:20]]
    Path("t.csv").write_text("predicted,region,size,true\n" + "\n".join(audited))
    est = tu.correct("p.csv", "t.csv", by=["region", "size"], keep_draws=True, seed=1, draws=200)
    margin = est.margin("region")
    assert ", per region, of the 60 units in p.csv" in question(margin)
    assert command_line(margin).endswith("--margin region")
    done = CliRunner().invoke(main, [*shlex.split(command_line(margin))[1:], "--json"])
    assert [row["estimate"] for row in json.loads(done.stdout)["rows"]] == pytest.approx(
        [row["estimate"] for row in margin.rows()]
    )
    joined = tu.correct_counts([[4, 1, 1], [2, 3, 1], [1, 1, 8]], [10, 90, 50], seed=1)
    for other in (margin, joined.combine({"x": [0, 1]})):
        assert "before combine and margin" in re.sub("`", "", str(priors(other)))


@pytest.mark.parametrize("function", ["correct", "correct_counts"])
def test_the_command_takes_every_option_of_the_function(function):
    command = main.commands["correct"] if function == "correct" else numbers_command
    taken = {option.name for option in command.params}
    assert set(parameters(function)) - taken <= {"keep_draws", "executor"}
    assert "progress" in inspect.signature(getattr(tu, function)).parameters
