"""The second chance of random tests: it hides nothing, and other tests do not have one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = '''
import os
from pathlib import Path

import pytest
import trueup as tu
from hypothesis import given
from hypothesis import strategies as st
from tests.seeds import fresh, more


def note(x):
    """Write x down for the test that runs, and return how many times it did so."""
    name = os.environ["PYTEST_CURRENT_TEST"].split("::")[1].split()[0]
    path = Path(__file__).with_name(name + ".notes")
    with path.open("a") as file:
        print(x, file=file)
    return len(path.read_text().splitlines())


def test_once():
    assert note(fresh().integers(2**40)) > 1, "bad luck"

def test_twice():
    note(fresh().integers(2**40))
    raise AssertionError("no")

def test_plain():
    assert note(1) > 1, "no"

def test_more():
    fresh()
    note(more(100))
    assert more(100) > 100

def test_package():
    seeds = [tu.correct_counts([[9, 1], [1, 9]], [50, 60], draws=100).info["seed"] for _ in "ab"]
    assert note(",".join(map(str, seeds))) > 1

@pytest.mark.search
def test_search():
    note(fresh().integers(2**40))
    raise AssertionError("found one")

@given(st.integers())
def test_hypothesis(x):
    assert x < 100

@pytest.fixture(scope="module")
def table():
    return note(fresh().integers(2**40))

def test_table(table):
    assert table > 1
'''
FLAKY = """
def test_coin():
    assert fresh().integers(2) == 0

def test_never():
    fresh()

def test_often():
    note(fresh().integers(2**40))

def test_done():
    note(fresh())
"""


def run(folder, source, seed, *options):
    """Run a file of tests on two workers; return its output, summary and notes."""
    folder.mkdir()
    path, summary = folder / "test_it.py", folder / "summary.json"
    path.write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = search\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.second_chance", "-p", "no:cacheprovider",
         f"--rootdir={folder}", "--summary", summary, "-n", "2", "--dist", "loadgroup",
         *options, path],
        cwd=ROOT, capture_output=True, text=True, env=os.environ | {"TRUEUP_SEED": str(seed)},
    )  # fmt: skip
    assert summary.exists(), done.stdout + done.stderr
    told = json.loads(summary.read_text().replace("test_it.py::", ""))
    return done, told, {path.stem: path.read_text().split() for path in folder.glob("*.notes")}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return run(tmp_path_factory.mktemp("second") / "chance", SOURCE, 5)


def test_a_random_test_that_fails_once_passes_and_is_listed(ran):
    done, told, notes = ran
    assert len(set(notes["test_once"])) == 2  # another seed
    assert "test_once" not in told["failed"]
    assert told["first_failures"]["test_once"] == {"seed": 5, "reason": "AssertionError: bad luck"}
    assert "TRUEUP_SEED=5 test_it.py::test_once: AssertionError: bad luck" in done.stdout


def test_a_random_test_that_fails_twice_fails(ran):
    done, told, notes = ran
    assert done.returncode == 1
    assert len(notes["test_twice"]) == 2
    assert "test_twice" in told["first_failures"]
    assert told["failed"]["test_twice"] == "AssertionError: no"


def test_a_test_without_randomness_runs_once(ran):
    _, told, notes = ran
    assert len(notes["test_plain"]) == 1
    assert "test_plain" not in told["first_failures"]
    assert told["failed"]["test_plain"] == "AssertionError: no"


def test_the_second_run_has_more_data(ran):
    assert ran[2]["test_more"] == ["100", "400"]


def test_the_package_without_a_seed_is_random(ran):
    assert "test_package" in ran[1]["first_failures"]
    seeds = ",".join(ran[2]["test_package"]).split(",")
    assert len(set(seeds)) == 4


def test_a_counterexample_is_proof(ran):
    """A search runs again with the same seed, so only what does not repeat is forgiven."""
    _, told, notes = ran
    assert set(told["failed"]) == {"test_twice", "test_plain", "test_search", "test_hypothesis"}
    first, second = notes["test_search"]
    assert first == second


def test_a_random_fixture_that_tests_share_is_made_again(ran):
    _, told, notes = ran
    assert "test_table" in told["first_failures"]
    assert len(set(notes["test_table"])) == 2


def count(name, failed, runs):
    reasons = [{"seed": 1, "reason": "no"}] * failed
    return {"test": f"test_it.py::{name}", "failed": failed, "runs": runs, "used": 1.0} | {
        "reasons": reasons
    }


@pytest.fixture(scope="module")
def flaky(tmp_path_factory):
    """More tests, 40 times with seeds from 6 on, but for what was done on another day."""
    some = "once or package or table or coin or never or often or done or plain"
    folder = tmp_path_factory.mktemp("second")
    before = [count("test_often", 1, 30), count("test_done", 0, 40), count("test_twice", 0, 0)]
    file = folder / "counts.jsonl"
    file.write_text("".join(json.dumps(x) + "\n" for x in before))
    found = run(
        folder / "flaky", SOURCE + FLAKY, 6, "-n", "0", "--flakes", "40", "--flakes-file", file,
        "-k", some,
    )  # fmt: skip
    return *found, [json.loads(line) for line in file.read_text().splitlines()][len(before) :]


def test_a_seed_repeats_a_test(ran, flaky, tmp_path):
    _, _, same = run(tmp_path / "same", SOURCE, 5, "-n", "0", "-k", "once or package or table")
    for name in ("test_once", "test_package", "test_table"):
        assert same[name] == ran[2][name]
        assert len(flaky[2][name]) == 40
        assert not set(flaky[2][name]) & set(same[name])


def test_flakes_counts_failures(flaky):
    done, told, *_ = flaky
    found = told["flakes"]
    names = {"test_coin", "test_never", "test_often", "test_once", "test_package", "test_table"}
    assert set(found) == names
    assert 0 < found["test_coin"]["failed"] < 40
    assert found["test_once"]["failed"] == 1
    assert found["test_never"]["failed"] == 0
    lines = [line.split() for line in done.stdout.splitlines() if "/40" in line]
    names = [line[-1].split("::")[1] for line in lines]
    assert (names[0], names[-1]) == ("test_coin", "test_never")  # the worst first
    assert lines[-1][1] == "7.216%"  # 1 − 0.05^(1/40)


def test_counts_go_on_from_a_file(flaky):
    """Ten runs are left of one test, with other seeds; none of another; no plain test again."""
    done, _, notes, written = flaky
    assert len(set(notes["test_often"])) == 10
    assert "test_done" not in notes
    runs = {x["test"].split("::")[1]: x["runs"] for x in written}
    assert runs["test_often"] == 10
    assert runs["test_coin"] == 40
    assert "test_plain" not in runs  # it failed, and is told each time until it does not
    table = [line.split() for line in done.stdout.splitlines() if "/40 " in line]
    counted = {line[-1].split("::")[1]: line[0] for line in table}
    assert counted["test_often"] == "1/40"
    assert counted["test_done"] == "0/40"
