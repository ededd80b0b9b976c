"""The commands from the outside."""

import json
import shlex

import duckdb
import numpy as np
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
        rows = [list(row.values()) for row in json.loads(path.read_text())["rows"]]
    else:
        rows = [list(row) for row in duckdb.sql(f"FROM '{path}'").fetchall()]
    assert [[*row.values(), "whole"] for row in answer["rows"]] == rows


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


@pytest.mark.usefixtures("short_chains")
def test_correct_from_files_with_and_without_ids(tmp_path):
    predictions, test_set, truth = make_files(tmp_path, 1)
    common = ["correct", str(predictions), str(test_set), "--value", "turnover", "--seed", "1"]
    plain = json.loads(run([*common, "--json"]).stdout)["rows"]
    matched = json.loads(run([*common, "--id", "company", "--json"]).stdout)["rows"]
    for one, other in zip(plain, matched, strict=True):
        assert one["estimate"] == pytest.approx(other["estimate"], rel=1e-9)
    assert truth == pytest.approx(0.52e9, rel=1e-6)


@pytest.mark.usefixtures("short_chains")
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
    assert (first.draws[:4000] != other.draws[:4000]).any()
    assert (np.random.get_state()[1] == before).all()
    unseeded = tu.correct_counts([[40, 5], [3, 60]], [300, 700])
    again = tu.correct_counts([[40, 5], [3, 60]], [300, 700], seed=unseeded.info["seed"])
    assert (unseeded.draws == again.draws).all()


@pytest.mark.usefixtures("short_chains")
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
    result = run([*arguments, "--value", "y", "--draws", "100", "--json", "--output", str(target)])
    rows = json.loads(result.stdout)["rows"]
    assert [row["month"] for row in rows] == [days[0]] * 2 + [days[1]] * 2 + [None] * 2
    if ending == "json":
        parts = ["group"] * 4 + ["whole"] * 2
        told = [row | {"part": part} for row, part in zip(rows, parts, strict=True)]
        assert json.loads(target.read_text())["rows"] == told
    else:
        found = duckdb.sql(f"FROM '{target}'").fetchall()
        assert [str(row[0]) for row in found[:2]] == [days[0]] * 2
        assert [row[3] for row in found] == [row["estimate"] for row in rows]


@pytest.mark.usefixtures("short_chains")
def test_margins_from_the_command_line(tmp_path):
    predictions, test_set, _ = make_files(tmp_path, 1)
    columns = "*, company % 2 AS half, company % 3 AS third"
    for path in (predictions, test_set):
        duckdb.sql(f"COPY (SELECT {columns} FROM '{path}') TO '{path}.parquet'")
    files = [f"{predictions}.parquet", f"{test_set}.parquet"]
    arguments = ["correct", *files, "--by", "half", "--by", "third", "--draws", "200", "--json"]
    arguments += ["--seed", "3"]
    every, half = (
        json.loads(run([*arguments, *more]).stdout)["rows"] for more in ([], ["--margin", "half"])
    )
    assert len(every) == 2 * 6 + 2
    assert len(half) == 2 * 2 + 2
    assert half[-2:] == [{k: x for k, x in row.items() if k != "third"} for row in every[-2:]]
    for row in half[:-2]:
        mine = [x for x in every if (x["half"], x["class"]) == (row["half"], row["class"])]
        assert row["mean"] == pytest.approx(sum(x["mean"] for x in mine))


@pytest.mark.usefixtures("short_chains")
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
    without = CliRunner().invoke(main, [*NUMBERS, *sums, *cells[:2], "--method", "difference"])
    assert without.exit_code == 2
    assert "Σy²" in without.stderr


def labelled(path, order, delimiter=",", counts=((40, 5), (3, 60))):
    """Write the matrix of yes and no, in any order."""
    at = [("yes", "no").index(label) for label in order]
    lines = [["true", *order]]
    lines += [[order[i], *(str(counts[g][h]) for h in at)] for i, g in enumerate(at)]
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("option", ["--test", "--test-sums", "--test-squares"])
def test_classes_put_a_labelled_matrix_in_order_and_never_rename_it(option, tmp_path):
    given = {"--test": "40,5;3,60", "--test-sums": "400,60;30,700"}
    given["--test-squares"] = "5000,900;400,9000"
    counts = [[float(x) for x in row.split(",")] for row in given[option].split(";")]
    sums = ["--predicted-counts", "300,700", "--predicted-sums", "3000,9000"]
    sums += ["--predicted-squares", "40000,150000", "--classes", "yes,no", "--seed", "5", "--json"]

    def rows(**changes):
        words = [word for pair in (given | changes).items() for word in pair]
        return CliRunner().invoke(main, ["numbers", *words, *sums])

    turned = labelled(tmp_path / "m.csv", ("no", "yes"), counts=counts)
    expected = rows().stdout
    if option == "--test":  # then the other numbers are in the order of its file
        given |= {"--test-sums": "700,30;60,400", "--test-squares": "9000,400;900,5000"}
        sums[1::2] = ["700,300", "9000,3000", "150000,40000", "yes,no", "5"]
    result = rows(**{option: turned})
    assert result.exit_code == 0, result.output
    assert result.stdout == expected
    other = tmp_path / "other.csv"
    other.write_text("true,ja,nee\nja,40,5\nnee,3,60\n")
    result = rows(**{option: str(other)})
    assert result.exit_code == 2
    assert f"{option} must have the classes ['yes', 'no']; its file has ['ja', 'nee']" in (
        result.stderr
    )


@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ";"), ("csv", "\t"), ("tsv", "\t")])
def test_matrices_may_have_the_delimiters_that_tables_have(ending, delimiter, tmp_path):
    path = labelled(tmp_path / f"m.{ending}", ("yes", "no"), delimiter)
    answer = json.loads(run(["numbers", "--test", path, *NUMBERS[3:], "--json"]).stdout)
    plain = json.loads(run([*NUMBERS, "--json", "--classes", "yes,no"]).stdout)
    assert answer["rows"] == plain["rows"]


@pytest.mark.parametrize(
    "text",
    [
        "true,a,b,Total\na,4,1,5\nb,2,3,5\nTotal,6,4,10\n",
        "true,a,b,total\na,4,1,5\nb,2,3,5\n",
        "true,a,b\na,4,1\nb,2,3\nsum,6,4\n",
        "4,1,5\n2,3,5\n6,4,10\n",
    ],
)
def test_totals_of_a_pasted_matrix_are_no_class(text, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(text)
    result = CliRunner().invoke(main, ["numbers", "--test", str(path), *NUMBERS[3:]])
    assert result.exit_code == 2
    assert "--test must hold the classes only" in result.stderr
    assert "totals" in result.stderr


def test_a_matrix_of_equal_numbers_has_no_totals():
    run(["numbers", "--test", "2,2;2,2", *NUMBERS[3:]])


def test_whole_numbers_print_as_whole_numbers():
    est = tu.correct_counts([[40, 5], [3, 60]], [3197, 7003], seed=5)
    assert "3,197 " in str(est)
    assert "3,197.0" not in str(est)
    mean = est.rows()[0]["mean"]
    shown = str(est).splitlines()[3].split()[3]
    assert "." not in shown
    assert abs(float(shown.replace(",", "")) - mean) <= 10  # in steps of 20 at most
    small = tu.correct_counts([[40, 5], [3, 60]], [319, 703], seed=5)
    assert "319 " in str(small)
    assert f"{small.rows()[0]['mean']:,.0f}" in str(small)


def test_help_lists_every_method_prior_and_design():
    from trueup.cli.priors import EXAMPLES
    from trueup.draws.settings import DESIGNS, METHODS
    from trueup.prior import NAMED_PRIORS

    for command in ("correct", "numbers", "plan"):
        words = {option.name: option.help or "" for option in main.commands[command].params[2:]}
        assert all(method in words["method"] for method in METHODS)
        assert all(design in words["design"] for design in DESIGNS)
        assert all(prior in words["prior"] for prior in (*EXAMPLES, *NAMED_PRIORS))
        assert "README" not in words["method"]


def tables(tmp_path):
    """A small population and its audit, with a value."""
    predictions, audited = tmp_path / "p.csv", tmp_path / "t.csv"
    units = [(i, "ab"[i % 3 == 0], i % 7 + 1) for i in range(300)]
    lines = "".join(f"{i},{label},{y}\n" for i, label, y in units)
    predictions.write_text("id,predicted,y\n" + lines)
    truth = "".join(f"{i},{'b' if i % 10 == 0 else label}\n" for i, label, _ in units[:60])
    audited.write_text("id,true\n" + truth)
    return [str(predictions), str(audited), "--id", "id"]


def test_counts_are_what_numbers_takes(tmp_path):
    """The same figures as from the tables, through JSON and through the printed command."""
    files = tables(tmp_path)
    bag = json.loads(run(["counts", *files, "--json"]).stdout)
    direct = json.loads(run(["correct", *files, "--seed", "1", "--json"]).stdout)["rows"]
    assert tu.correct_counts(**bag, seed=1).rows() == direct
    command = shlex.split(run(["counts", *files]).stdout)
    assert command[:2] == ["trueup", "numbers"]
    again = json.loads(run([*command[1:], "--seed", "1", "--json"]).stdout)["rows"]
    assert again == direct
    totals = json.loads(run(["counts", *files, "--value", "y", "--json"]).stdout)
    assert np.shape(totals["test_sums"]) == (2, 2)
    assert sum(totals["predicted_sums"]) == sum(i % 7 + 1 for i in range(300))
    tu.correct_counts(**totals, seed=1)


def test_max_cv_keeps_a_pipeline_from_publishing(tmp_path):
    path = tmp_path / "out.csv"
    result = CliRunner().invoke(main, [*NUMBERS, "--max-cv", "0.001", "--output", str(path)])
    assert result.exit_code == 3
    assert "Not to be published: 2 of 2 figures" in result.stderr
    assert path.exists()
    assert "Corrected counts" in result.stdout
    largest = max(row["sd"] / row["estimate"] for row in tu.correct_counts(
        [[40, 5], [3, 60]], [300, 700], seed=5).rows())  # fmt: skip
    assert CliRunner().invoke(main, [*NUMBERS, "--max-cv", f"{largest * 1.001}"]).exit_code == 0
    assert CliRunner().invoke(main, [*NUMBERS, "--max-cv", f"{largest * 0.999}"]).exit_code == 3
    naive = CliRunner().invoke(main, [*NUMBERS, "--max-cv", "0.5", "--method", "naive"])
    assert naive.exit_code == 3


def test_a_strict_check_fails_on_doubts(tmp_path):
    files = tables(tmp_path)
    doubtful = CliRunner().invoke(main, ["check", *files, "--strict"])
    found = tu.check(files[0], files[1], id="id")
    assert doubtful.exit_code == (3 if found.doubts else 0)
    assert run(["check", *files]).exit_code == 0
    few = tmp_path / "few.csv"
    few.write_text("id,true\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(0, 90, 3)))
    result = CliRunner().invoke(main, ["check", files[0], str(few), "--id", "id", "--strict"])
    assert result.exit_code == 3
    assert "there is reason to doubt" in result.stderr


@pytest.mark.parametrize("cells", ["", ",1,7"])
def test_a_labelled_matrix_with_a_missing_or_an_extra_cell_is_refused(tmp_path, cells):
    """Extra cells were dropped without a word, and missing ones gave a traceback."""
    path = tmp_path / "test.csv"
    path.write_text(f",a,b\na,4{cells}\nb,2{cells}\n")
    result = CliRunner().invoke(
        main, ["numbers", "--test", str(path), "--predicted-counts", "10,90"]
    )
    assert result.exit_code == 2
    assert "must have a row for each of ['a', 'b'] with a number for each" in result.output


def test_numbers_per_predicted_class_follow_the_columns_of_the_file(tmp_path):
    """`--classes` sets the order of the answer, and gives no number to another class."""
    path, rates = tmp_path / "m.csv", tmp_path / "rates.csv"
    path.write_text("true,b,a\nb,40,5\na,3,52\n")
    rates.write_text("true,b,a\nb,0.9,0.1\na,0.2,0.8\n")
    words = ["numbers", "--test", str(path), "--predicted-counts", "700,300", "--seed", "1"]
    words += ["--predicted-sums", "1400,900", "--predicted-squares", "9000,9000", "--json"]
    words += ["--test-sums", "80,20;6,150"]
    for more in ([], ["--rates", str(rates)]):
        plain = run([*words, *more])
        turned = run([*words, *more, "--classes", "a,b"])
        assert "in the order of --test: b, a" in turned.stderr
        assert "in the order" not in plain.stderr
        one, other = (
            {r["class"]: r for r in json.loads(x.stdout)["rows"]} for x in (plain, turned)
        )
        assert list(other) == ["a", "b"]
        for label in "ab":
            assert other[label]["naive"] == one[label]["naive"]
            assert other[label]["estimate"] == pytest.approx(one[label]["estimate"], rel=0.05)
    studies = ["numbers", "--studies", str(path), "--predicted-counts", "700,300"]
    done = CliRunner().invoke(main, [*studies, "--classes", "a,b"])
    assert done.exit_code == 2
    assert "order of the columns of --studies, b,a" in done.stderr


def test_help_names_only_what_the_command_has(tmp_path, monkeypatch):
    said = {name: " ".join(CliRunner().invoke(main, [name, "--help"]).output.split())
            for name in ("correct", "compare", "plan", "numbers")}  # fmt: skip
    assert "--next" not in said["compare"]
    assert "may be repeated with --next" in said["plan"]
    assert "work list" not in said["numbers"]
    assert "a work list has its own" in said["correct"]
    assert "Files are written all the same" in said["correct"]


def test_a_wrong_margin_is_refused_before_any_work():
    words = ["correct", "nowhere.csv", "neither.csv", "--by", "region", "--margin", "regoin"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "--margin must name some of the --by columns; got 'regoin'" in done.output
