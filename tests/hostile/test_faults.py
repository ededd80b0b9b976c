"""Faults: killed while writing, no room, a file that changes while it is read, and Ctrl-C."""

import errno
import json
import os
import signal
import subprocess
import sys

import duckdb
import pytest
from click.testing import CliRunner

import trueup as tu
from tests.patience import PATIENCE
from trueup.cli import main
from trueup.present.output import write_whole, writer

ROWS = "predicted,y\n" + "a,1\nb,2\n" * 50
TEST = "predicted,true,y\n" + "a,a,1\nb,b,2\na,b,2\nb,a,1\n" * 5
NUMBERS = ["numbers", "--test", "4,1;2,3", "--predicted-counts", "10,90", "--draws", "100"]

KILLED = """
import os, sys, threading
from pathlib import Path
from trueup.present import output
real = os.fsync
def slow(handle):
    real(handle)
    print("written beside", flush=True)
    threading.Event().wait()
os.fsync = slow
output.write_whole(Path(sys.argv[1]), b"new" * 100_000)
"""


@pytest.mark.parametrize("old", [b"old", None])
def test_killed_while_writing_leaves_the_old_file_or_none(tmp_path, old):
    target = tmp_path / "result.csv"
    if old is not None:
        target.write_bytes(old)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().strip() == "written beside"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert (target.read_bytes() if target.exists() else None) == old


@pytest.mark.parametrize("where", ["fsync", "chmod", "replace"])
def test_disk_full_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, where):
    target = tmp_path / "result.json"
    target.write_text("old")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, where, full)
    with pytest.raises(tu.DataError, match="No space left"):
        write_whole(target, b"new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_limit_on_file_sizes_is_an_error_in_words(tmp_path, ending):
    """A real limit of the system: a child process may write no more than 60 bytes to a file."""
    target = tmp_path / f"result.{ending}"
    code = (
        "import resource, sys\nfrom trueup.cli import main\n"
        "import trueup.api, trueup.estimate.methods, duckdb\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60))\n"
        f"main({[*NUMBERS, '--output', str(target)]!r})"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not target.exists()


def test_no_room_for_a_temporary_parquet_file(monkeypatch, tmp_path):
    est = tu.correct_counts([[4, 1], [2, 3]], [10, 90], draws=100, seed=1)

    def full(*_):
        raise duckdb.IOException("Could not write file: No space left on device")

    monkeypatch.setattr("duckdb.connect", full)
    with pytest.raises(tu.DataError, match="room for a temporary"):
        writer(str(tmp_path / "result.parquet"))(est)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("change", ["append", "replace", "remove", "touch"])
@pytest.mark.parametrize("many", [False, True])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, change, many):
    folder = tmp_path / "population"
    folder.mkdir()
    path, test = folder / "1.csv", tmp_path / "t.csv"
    path.write_text(ROWS)
    (folder / "2.csv").write_text(ROWS)
    test.write_text(TEST)
    from trueup.read import files

    real = files.run_with_progress

    def meanwhile(connection, sql, progress):
        rows = real(connection, sql, progress)
        if "GROUP BY" in sql:
            if change == "append":
                path.write_text(ROWS + "a,1\n")
            elif change == "replace":
                path.write_text(ROWS.replace("1", "3"))
                os.utime(path, ns=(1, 1))
            elif change == "remove":
                path.unlink(missing_ok=True)
            else:
                os.utime(path, ns=(1, 1))
        return rows

    monkeypatch.setattr(files, "run_with_progress", meanwhile)
    source = folder if many else path
    with pytest.raises(tu.DataError, match=r"must not change while it is read.*1\.csv"):
        tu.correct(str(source), str(test), value="y", draws=100)


def test_files_that_do_not_change_are_fine(tmp_path):
    (tmp_path / "p.csv").write_text(ROWS)
    (tmp_path / "t.csv").write_text(TEST)
    est = tu.correct(str(tmp_path / "p.csv"), str(tmp_path / "t.csv"), draws=100)
    assert est.counts.v_hat.tolist() == [50, 50]


def chain_in_a_process(*more):
    """A command whose chain takes minutes, which says `drawing` at every step."""
    K = 15
    test = ";".join(",".join("3" if g == h else "1" for h in range(K)) for g in range(K))
    counts = ",".join(str(200 + 150 * h) for h in range(K))
    code = (
        # who starts the tests in the background of a script has SIGINT ignored, and children too
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys\nfrom trueup.draws.samplers import walk\nreal = walk.Walk.advance\n"
        "def advance(self, sweeps):\n"
        "    print('drawing', file=sys.stderr, flush=True)\n    real(self, sweeps)\n"
        "walk.Walk.advance = advance\n"
        "from trueup.cli import main\n"
        f"main({['numbers', '--test', test, '--predicted-counts', counts, *more]!r})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


LONG = ("--design", "shifted", "--method", "full", "--draws", "4000", "--json")


def interrupted(process, after=3):
    """Send SIGINT after so many steps; give the exit code and what was printed."""
    for _ in range(after):
        assert process.stderr.readline().strip() == "drawing"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err.replace("drawing\n", "")


@pytest.mark.slow
def test_ctrl_c_in_a_chain_is_one_line_and_130(tmp_path):
    target = tmp_path / "result.csv"
    target.write_text("old")
    code, out, err = interrupted(chain_in_a_process(*LONG, "--output", str(target)))
    assert code == 130
    assert out == ""
    assert err.strip() == "Stopped by Ctrl-C before there was an answer."
    assert target.read_text() == "old"


@pytest.mark.slow
def test_ctrl_c_in_a_chain_answers_with_the_draws_so_far_on_request():
    code, out, err = interrupted(chain_in_a_process(*LONG, "--keep-on-interrupt"))
    assert code == 0
    answer = json.loads(out)
    assert len(answer["rows"]) == 15
    assert sum(row["mean"] for row in answer["rows"]) == pytest.approx(
        sum(row["naive"] for row in answer["rows"])
    )
    assert "stopped by Ctrl-C after" in err
    assert any("stopped by Ctrl-C after" in word for word in answer["info"]["warnings"])


@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_gives_the_draws_so_far_on_request(keep, monkeypatch, rng):
    """The interrupt comes while chains advance, as it does from a keyboard."""
    import numpy as np

    from trueup.draws.samplers import chain

    real, calls = chain.whole, []

    def whole(pool, job):
        real(pool, job)
        calls.append(1)
        if len(calls) == 4:  # warm-up, then the third step
            raise KeyboardInterrupt

    monkeypatch.setattr(chain, "whole", whole)
    a = np.full((3, 3), 0.5) + 4 * np.eye(3)

    def progress(fraction):
        pass

    progress.keep_on_interrupt = keep
    arguments = (a, np.ones(3), np.array([30, 40, 50]), 1000, rng)
    if not keep:
        with pytest.raises(KeyboardInterrupt):
            chain_draws(arguments, progress)
        return
    draws = chain_draws(arguments, progress)
    assert draws.P.shape == (1000, 3, 3)
    assert np.allclose(draws.P.sum(axis=2), 1)
    assert draws.info["sweeps"] == 3 * chain.STEP
    (warning,) = draws.info["warnings"]
    assert "Ctrl-C" in warning


def chain_draws(arguments, progress):
    from trueup.draws.samplers import draw_full

    return draw_full(*arguments, progress=progress)


def test_ctrl_c_in_a_command(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("trueup.api.numbers.run", interrupt)
    result = CliRunner().invoke(main, NUMBERS)
    assert result.exit_code == 130
    assert result.stderr.strip() == "Stopped by Ctrl-C before there was an answer."
