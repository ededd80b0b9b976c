"""The commands that simulate, from the outside."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main
from trueup.cli.demo import make_files
from trueup.cli.study import compare, paper, plan
from trueup.study.plans import next_units

CASE = ["--rates", "0.9", "--base-rates", "0.2,0.8", "--units", "5000", "--seed", "1"]
SMALL = ["--draws", "200", "--replications", "20"]


@pytest.fixture(autouse=True)
def few_futures(monkeypatch):
    """How narrow the interval will be takes an estimate for each of 16 outcomes."""
    monkeypatch.setattr(next_units, "FUTURES", 2)


def run(command, arguments, code=0):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == code, result.output
    return result


def test_compare_prints_a_table_and_a_sentence():
    result = run(
        compare, [*CASE, *SMALL, "--test-size", "100", "--method", "naive", "--method", "joint"]
    )
    for word in ("bias", "variance", "MSE", "coverage", "impermissible", "Use 'joint'", "±"):
        assert word in result.stdout
    assert "seed 1" in result.stderr


def test_compare_json_goes_alone_to_standard_output():
    arguments = [*CASE, *SMALL, "--test-size", "100", "--method", "joint", "--json"]
    answer = json.loads(run(compare, arguments).stdout)
    assert [row["class"] for row in answer["rows"]] == [0, 1]
    assert answer["info"]["recommended"] == "joint"
    assert answer["info"]["seed"] == 1


@pytest.mark.usefixtures("short_chains")
def test_compare_takes_files(tmp_path):
    predictions, test_set, _ = make_files(tmp_path, 1)
    arguments = [str(predictions), str(test_set), "--value", "turnover", "--json"]
    few = ["--draws", "100", "--replications", "5", "--method", "joint"]
    answer = json.loads(run(compare, [*arguments, *few]).stdout)
    assert {row["class"] for row in answer["rows"]} == {"webshop", "other"}
    assert answer["info"]["totals"] is True


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_charts_are_written(ending, tmp_path):
    path = tmp_path / f"chart.{ending}"
    common = [*CASE, *SMALL, "--plot", str(path)]
    run(compare, [*common, "--test-size", "100", "--method", "naive", "--method", "joint"])
    start = path.read_bytes()[:8]
    assert start.startswith(b"<svg" if ending == "svg" else b"\x89PNG")
    path.unlink()
    run(plan, [*common, "--half-width", "200", "--allocation", "neyman"])
    assert path.exists()


def test_plan_prints_units_cost_and_curve():
    result = run(plan, [*CASE, *SMALL, "--half-width", "200", "--cost", "5", "--next", "10"])
    for word in ("proportional", "equal", "neyman", "test units", "cost", "Audit next"):
        assert word in result.stdout


@pytest.mark.usefixtures("short_chains")
def test_plan_next_names_units_in_json(tmp_path):
    predictions, test_set, _ = make_files(tmp_path, 1)
    arguments = [str(predictions), str(test_set), "--value", "turnover", "--id", "company"]
    answer = json.loads(
        run(plan, [*arguments, "--next", "25", "--interest", "webshop", "--json"]).stdout
    )
    ids = [i for row in answer["next"] for i in row["ids"]]
    assert len(ids) == len(set(ids)) == 25
    assert answer["rows"] == []


@pytest.mark.usefixtures("short_chains")
def test_plan_writes_the_units_to_label(tmp_path):
    predictions, test_set, _ = make_files(tmp_path, 1)
    arguments = [str(predictions), str(test_set), "--value", "turnover", "--interest", "webshop"]
    output = ["--next", "20", "--output", str(tmp_path / "list.csv")]
    run(plan, [*arguments, "--id", "company", *output, "--cost", "webshop=2,other=1"])
    lines = (tmp_path / "list.csv").read_text().splitlines()
    pilot = test_set.read_text().splitlines()
    assert len(lines) == len(pilot) + 20
    assert sum(",trueup" in line or ',"trueup' in line for line in lines[1:]) == len(lines) - 1
    for bad in (output, ["--id", "company", *output[2:]], ["--id", "company", *output]):
        assert run(plan, [*arguments, *bad], code=2).exit_code == 2
    bad = ["--id", "company", *output[:3], str(tmp_path / "b.csv"), "--cost", "cheap"]
    assert "--cost must be" in run(plan, [*arguments, *bad], code=2).output


def test_paper_table_1_sets_ours_beside_the_papers():
    output = run(paper, ["table1", "--replications", "20"]).stdout
    for word in ("None", "Jeffr. con.", "(41.8)", "†", "4 webshops of 50", "random test set"):
        assert word in output
    answer = json.loads(run(paper, ["table1", "--replications", "5", "--json"]).stdout)
    assert len(answer["rows"]) == 24


def test_paper_examples_are_still_there():
    assert "-75" in run(paper, ["examples"]).stdout


def test_paper_figures_are_files(tmp_path):
    output = run(paper, ["figures", "--folder", str(tmp_path / "f"), "--replications", "20"]).stdout
    assert len(output.split()) == 10
    for ending in ("svg", "png"):
        found = sorted(tmp_path.glob(f"f/*.{ending}"))
        assert len(found) == 5
        assert all(path.stat().st_size > 5000 for path in found)


def test_the_prior_is_read_as_in_correct():
    arguments = [*CASE, *SMALL, "--test-size", "100", "--method", "joint", "--json"]
    rows = {
        prior: json.loads(run(compare, [*arguments, "--prior", prior]).stdout)["rows"]
        for prior in ("perks", "diagonal:9")
    }
    assert rows["perks"] != rows["diagonal:9"]
    result = run(plan, [*CASE, "--half-width", "10", "--prior", "diagonal:much"], code=2)
    assert "diagonal:2" in result.stderr


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        (compare, [], "Without tables, --rates, --base-rates and --units"),
        (compare, [*CASE], "--test-size 200"),
        (compare, [*CASE, "--test-size", "many"], "--test-size"),
        (compare, [*CASE, "--test-size", "100", "--plot", "chart.pdf"], ".svg or .png"),
        (compare, ["--rates", "0.9"], "--base-rates"),
        (compare, ["absent.csv", "absent.csv"], "absent.csv"),
        (plan, [*CASE], "--half-width"),
        (plan, [*CASE, "--half-width", "10", "--plot", "nowhere/x.svg"], "folder"),
        (plan, [*CASE, "--half-width", "10", "--allocation", "best"], "allocations"),
    ],
)
def test_mistakes_exit_2_with_one_message(command, arguments, words):
    result = run(command, arguments, code=2)
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_the_commands_load_nothing_heavy():
    code = (
        "import sys, trueup.cli.study as c\n"
        "for command in (c.compare, c.plan, c.paper):\n"
        "    try: command(['--help'])\n"
        "    except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'altair', 'duckdb', 'narwhals'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", [compare, plan])
def test_priors_are_written_as_in_correct(command):
    goal = ["--test-size", "100", "--method", "joint"] if command is compare else ["--next", "5"]
    answer = run(command, [*CASE, *SMALL, *goal, "--prior", "diagonal:2", "--json"])
    if command is compare:
        assert json.loads(answer.stdout)["info"]["prior"] == "diagonal"
    result = run(command, [*CASE, *SMALL, *goal, "--prior", "diagonal:many"], code=2)
    assert "--prior diagonal must be written as" in result.stderr


def test_counts_say_how_units_were_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"id": range(60), "predicted": ["a", "b"] * 30, "region": ["n"] * 60})
    table.to_csv("pop.csv", index=False)
    for name, how in (("plain", {}), ("by", {"by_prediction": True}), ("in", {"within": "region"})):
        found = tu.draw(table, 20, id="id", seed=1, **how)
        found.assign(true=found["predicted"]).to_csv(f"{name}.csv", index=False)
    said = {}
    for words in ("plain", "by", "plain --no-overlap", "in"):
        name, *options = words.split()
        done = CliRunner().invoke(main, ["counts", "pop.csv", f"{name}.csv", *options])
        said[words] = done.output.strip()
    assert said["plain"].endswith("--predicted-counts 30,30")
    assert said["by"].endswith("--predicted-counts 30,30 --design by_prediction")
    assert said["plain --no-overlap"].endswith("--predicted-counts 30,30 --no-overlap")
    assert "was drawn within 'region', and numbers per class do not say so" in said["in"]


@pytest.mark.parametrize(
    ("command", "more", "words"),
    [
        ("compare", ["--rates", "1.9", "--test-size", "9"], "must be between 0 and 1; got 1.9"),
        ("compare", ["--rates", "0.9"], "Give the size of the test set: --test-size 200"),
        ("plan", ["--rates", "0.9"], "Give a goal: --half-width, --cv or --next."),
        ("plan", ["--rates", "0.9", "--cv", "0.1", "--base-rates", "nan,0.9"], "got [nan, 0.9]"),
    ],
)
def test_messages_name_what_can_be_typed(command, more, words):
    words_ = [command, "--base-rates", "0.1,0.9", "--units", "2000", *more]
    done = CliRunner().invoke(main, words_)
    assert done.exit_code == 2
    assert words in done.stderr
