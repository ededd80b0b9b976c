"""The commands from the outside."""

import json

import duckdb
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main
from trueup.cli.demo import make_files

NUMBERS = ["numbers", "--test", "40,5;3,60", "--predicted-counts", "300,700", "--seed", "5"]


def run(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result


def test_json_goes_alone_to_standard_output():
    result = run([*NUMBERS, "--json", "--classes", "yes,no"])
    answer = json.loads(result.stdout)
    assert [row["class"] for row in answer["rows"]] == ["yes", "no"]
    assert " ".join(answer["rows"][0]) == "class naive estimate mean sd lower upper"
    wanted = "method design prior seed draws acceptance ess rhat warnings"
    assert set(wanted.split()) <= set(answer["info"])
    assert answer["info"]["seed"] == 5


def test_the_command_is_the_function():
    answer = json.loads(run([*NUMBERS, "--json"]).stdout)
    est = tu.correct_counts([[40, 5], [3, 60]], [300, 700], seed=5)
    assert answer["rows"] == est.rows()


def test_naive_has_none_where_it_has_nothing():
    answer = json.loads(run([*NUMBERS, "--json", "--method", "naive"]).stdout)
    row = answer["rows"][0]
    assert row["estimate"] == row["naive"] == 300
    assert row["mean"] is row["sd"] is row["lower"] is row["upper"] is None


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_output_files_hold_the_rows(ending, tmp_path):
    path = tmp_path / f"result.{ending}"
    answer = json.loads(run([*NUMBERS, "--json", "--output", str(path)]).stdout)
    if ending == "json":
        assert json.loads(path.read_text()) == answer
    else:
        rows = duckdb.sql(f"FROM '{path}'").fetchall()
        assert [list(row.values()) for row in answer["rows"]] == [list(row) for row in rows]


def test_formulas_in_class_names_stay_text_in_csv(tmp_path):
    path = tmp_path / "result.csv"
    run([*NUMBERS, "--classes", "=1+1,no", "--output", str(path)])
    assert "\n'=1+1," in path.read_text()


def test_a_labelled_matrix_from_a_file(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("true,yes,no\nyes,40,5\nno,3,60\n")
    arguments = ["numbers", "--test", str(path), *NUMBERS[3:], "--json"]
    labelled = json.loads(run(arguments).stdout)["rows"]
    plain = json.loads(run([*NUMBERS, "--json", "--classes", "yes,no"]).stdout)["rows"]
    assert labelled == plain


def test_correct_from_files_with_and_without_ids(tmp_path):
    predictions, test_set, truth = make_files(tmp_path, 1)
    common = ["correct", str(predictions), str(test_set), "--value", "turnover", "--seed", "1"]
    plain = json.loads(run([*common, "--json"]).stdout)["rows"]
    matched = json.loads(run([*common, "--id", "company", "--json"]).stdout)["rows"]
    for one, other in zip(plain, matched, strict=True):
        assert one["estimate"] == pytest.approx(other["estimate"], rel=1e-9)
    assert truth == pytest.approx(0.52e9, rel=1e-6)


def test_parquet_is_csv(tmp_path):
    paths = make_files(tmp_path, 1)[:2]
    answers = []
    for convert in (False, True):
        files = []
        for path in paths:
            target = path.with_suffix(".parquet")
            if convert:
                duckdb.sql(f"COPY (FROM '{path}') TO '{target}' (FORMAT parquet)")
            files.append(str(target if convert else path))
        arguments = ["correct", *files, "--value", "turnover", "--seed", "1", "--json"]
        answers.append(json.loads(run(arguments).stdout)["rows"])
    for one, other in zip(*answers, strict=True):
        assert one["estimate"] == pytest.approx(other["estimate"], rel=1e-9)


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("true", "false"), ("ja", "nee")])
def test_classes_may_be_integers_booleans_or_text(yes, no, tmp_path):
    predictions, test_set = tmp_path / "p.csv", tmp_path / "t.csv"
    predictions.write_text("predicted\n" + f"{yes}\n" * 30 + f"{no}\n" * 70)
    test_set.write_text("predicted,true\n" + f"{yes},{yes}\n" * 4 + f"{no},{no}\n" * 5)
    answer = json.loads(run(["correct", str(predictions), str(test_set), "--json"]).stdout)
    labels = {row["class"]: row["naive"] for row in answer["rows"]}
    assert labels == {json.loads(yes) if yes != "ja" else yes: 30.0} | {
        json.loads(no) if no != "nee" else no: 70.0
    }


def test_demo_shows_each_method_beside_the_truth(tmp_path):
    result = run(["demo", "--folder", str(tmp_path / "demo")])
    for word in ("naive", "inverse", "bayes", "constrained", "auto", "truth", "520"):
        assert word in result.stdout
    assert (tmp_path / "demo" / "predictions.csv").exists()


def test_paper_examples_print_what_the_paper_says():
    output = run(["paper", "examples"]).stdout
    for word in ("10,350", "+3.5%", "-75", "175", "4.9", "Erratum"):
        assert word in output


def test_printing_shows_figures_and_warnings():
    est = tu.correct_counts([[4, 1], [0, 0]], [10, 90], classes=["<b>a</b>", "b"], seed=1)
    assert "no test unit" in str(est)
    page = est._repr_html_()
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "<b>a</b>" not in page


def test_same_seed_same_numbers_and_no_global_state():
    import numpy as np

    np.random.seed(7)
    before = np.random.get_state()[1].copy()
    first = tu.correct_counts([[40, 5], [3, 60]], [300, 700], seed=5)
    second = tu.correct_counts([[40, 5], [3, 60]], [300, 700], seed=5)
    other = tu.correct_counts([[40, 5], [3, 60]], [300, 700], seed=6)
    assert (first.draws == second.draws).all()
    assert (first.draws != other.draws).any()
    assert (np.random.get_state()[1] == before).all()
    unseeded = tu.correct_counts([[40, 5], [3, 60]], [300, 700])
    again = tu.correct_counts([[40, 5], [3, 60]], [300, 700], seed=unseeded.info["seed"])
    assert (unseeded.draws == again.draws).all()


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_groups_by_date_in_every_format(ending, tmp_path):
    days = ["2024-01-01", "2024-02-01"]
    units = [(h, days[i % 2], 1.5 + i % 3) for i, h in enumerate(["a"] * 40 + ["b"] * 60)]
    (tmp_path / "p.csv").write_text(
        "predicted,month,y\n" + "".join(f"{h},{day},{y}\n" for h, day, y in units)
    )
    (tmp_path / "t.csv").write_text(
        "predicted,month,true,y\n" + "".join(f"{h},{d},{h},{y}\n" for h, d, y in units[::5])
    )
    target = tmp_path / f"out.{ending}"
    arguments = ["correct", str(tmp_path / "p.csv"), str(tmp_path / "t.csv"), "--by", "month"]
    result = run([*arguments, "--value", "y", "--json", "--output", str(target)])
    rows = json.loads(result.stdout)["rows"]
    assert [row["month"] for row in rows] == [days[0]] * 2 + [days[1]] * 2 + [None] * 2
    if ending == "json":
        assert json.loads(target.read_text())["rows"] == rows
    else:
        found = duckdb.sql(f"FROM '{target}'").fetchall()
        assert [str(row[0]) for row in found[:2]] == [days[0]] * 2
        assert [row[3] for row in found] == [row["estimate"] for row in rows]


def test_strata_from_the_command_line(tmp_path):
    predictions, test_set, _ = make_files(tmp_path, 1)
    for path in (predictions, test_set):
        duckdb.sql(f"COPY (SELECT *, company % 2 AS half FROM '{path}') TO '{path}.parquet'")
    files = [f"{predictions}.parquet", f"{test_set}.parquet"]
    arguments = ["correct", *files, "--strata", "half", "--draws", "500", "--json"]
    answer = json.loads(run(arguments).stdout)
    assert answer["info"]["strata"] == 2
    assert answer["info"]["pooling"] == "partial"
    total = sum(row["mean"] for row in answer["rows"])
    assert total == pytest.approx(18_939)


def test_numbers_takes_all_that_correct_counts_takes():
    sums = ["--predicted-sums", "3000,9000", "--predicted-squares", "40000,150000"]
    cells = ["--test-sums", "400,60;30,700", "--test-squares", "5000,900;400,9000"]
    result = CliRunner().invoke(main, [*NUMBERS, *sums, *cells, "--method", "difference", "--json"])
    assert result.exit_code == 0, result.stderr
    est = tu.correct_counts(
        [[40, 5], [3, 60]], [300, 700], [3000, 9000], [40000, 150000], [[400, 60], [30, 700]],
        [[5000, 900], [400, 9000]], method="difference", seed=5,
    )  # fmt: skip
    assert [row["sd"] for row in json.loads(result.stdout)["rows"]] == [
        row["sd"] for row in est.rows()
    ]
    without = CliRunner().invoke(
        main, [*NUMBERS, *sums, *cells[:2], "--method", "difference", "--json"]
    )
    assert without.exit_code == 2 or without.stdout != result.stdout
