"""Bad input gets one clear message, exit code 2, and nothing written: from the outside."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main

GOOD = "unit,predicted,true,y\n1,a,a,1\n2,a,b,2\n3,b,b,3\n4,b,b,4\n5,a,a,2\n"
PREDICTIONS = GOOD.replace("true", "other")


def run(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(arguments, *words):
    result = run(arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def files(tmp_path):
    def write(predictions=PREDICTIONS, test_set=GOOD):
        paths = tmp_path / "predictions.csv", tmp_path / "test.csv"
        for path, text in zip(paths, (predictions, test_set), strict=True):
            path.write_text(text, encoding="utf-8")
        return [str(path) for path in paths]

    return write


def test_good_input_is_good(files):
    assert run(["correct", *files(), "--value", "y", "--draws", "200"]).exit_code == 0


def test_missing_file(files):
    paths = files()
    refused(["correct", "nowhere.csv", paths[1]], "nowhere.csv", "must exist")
    refused(["correct", paths[0], "nowhere.parquet"], "nowhere.parquet", "must exist")


def test_missing_column(files):
    message = refused(["correct", *files(), "--predicted", "predictd"], "predictd", "did you mean")
    assert "'predicted'" in message
    refused(["correct", *files(), "--value", "turnover"], "turnover")
    refused(["correct", *files(), "--true", "truth"], "truth", "did you mean 'true'")


def test_empty_tables(files):
    refused(["correct", *files(predictions="predicted,y\n")], "empty")
    refused(["correct", *files(test_set="predicted,true\n")], "empty")
    refused(["correct", *files(predictions="")], "empty")


def test_a_class_that_the_other_table_never_names(files):
    refused(["correct", *files(predictions=PREDICTIONS + "6,c,a,1\n")], "'c'", "never names")
    refused(["correct", *files(test_set=GOOD + "6,a,A,1\n")], "'A'", "never names")
    listed = ["--classes", "a,b,c", "--draws", "200"]
    assert run(["correct", *files(predictions=PREDICTIONS + "6,c,a,1\n"), *listed]).exit_code == 0
    refused(["correct", *files(), "--classes", "a,c"], "does not list", "'b'")


def test_a_true_label_that_says_nobody_could_tell(files):
    unsure = GOOD + "6,a,cannot tell,1\n"
    refused(["correct", *files(test_set=unsure)], "empty its cells", "--missing leave_out")
    listed = ["correct", *files(test_set=unsure), "--classes", "a,b"]
    refused(listed, "does not list", "empty its cells", "--missing leave_out")
    emptied = files(test_set=unsure.replace("cannot tell", ""))
    done = run(["correct", *emptied, "--missing", "leave_out", "--seed", "1", "--draws", "200"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("bad", ["", "nan", "inf", "-inf"])
def test_missing_or_infinite_values(files, bad):
    paths = files(predictions=PREDICTIONS + f"6,a,a,{bad}\n7,b,a,{bad}\n")
    refused(["correct", *paths, "--value", "y"], "'y'", "2 rows")
    assert run(["correct", *paths, "--draws", "200"]).exit_code == 0  # y is not used


def test_null_classes(files):
    refused(["correct", *files(predictions=PREDICTIONS + "6,,a,1\n")], "'predicted'", "1 row")
    refused(["correct", *files(test_set=GOOD + "6,a,,1\n")], "'true'", "1 row")


def test_text_value(files):
    text = "predicted,y\na,1\nb,many\n"
    refused(["correct", *files(predictions=text), "--value", "y"], "'y'", "numbers")


def test_a_score_in_place_of_a_class(files):
    scores = files(predictions="predicted\n1.5\n2.5\n")
    refused(["correct", *scores], "decimal numbers", "is it a score or an amount?")


def test_classes_of_different_kinds(files):
    refused(["correct", *files(predictions="predicted\n1\n2\n")], "same kind")


def test_one_class_only(files):
    refused(
        ["correct", *files("predicted\na\na\n", "predicted,true\na,a\n")], "at least two classes"
    )


def test_not_a_table(tmp_path):
    parquet = tmp_path / "broken.parquet"
    parquet.write_bytes(b"PAR1 this is not one PAR1")
    refused(["correct", str(parquet), str(parquet)], "broken.parquet")
    refused(["correct", "table.docx", str(parquet)], "must be a CSV", "must end in one of")


def numbers(*extra, test="4,1;2,3", counts="10,90"):
    return ["numbers", "--test", test, "--predicted-counts", counts, *extra]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (numbers(test="4,-1;2,3"), "at least 0"),
        (numbers(test="4,1.5;2,3"), "whole numbers"),
        (numbers(counts="10,-90"), "at least 0"),
        (numbers(counts="0,0"), "at least one unit"),
        (numbers(counts="10,90,5"), "one number for each column"),
        (numbers(test="4,1"), "at least two classes"),
        (numbers(test="4,1;2"), "equal length"),
        (numbers(test="4"), "two classes"),
        (numbers(test="a,b;c,d"), "numbers"),
        (numbers(test=""), "numbers"),
        (numbers(test="nan,1;2,3"), "finite"),
        (numbers(counts="1e300,90"), "at most 9,007,199,254,740,992 units"),
        (numbers(test="missing.csv"), "missing.csv"),
        (numbers("--interval", "1"), "between 0 and 1"),
        (numbers("--interval", "95"), "between 0 and 1"),
        (numbers("--interval", "nan"), "between 0 and 1"),
        (numbers("--draws", "0"), "draws"),
        (numbers("--draws", "1000000000"), "draws"),
        (numbers("--seed", "-1"), "`seed` must be a whole number of at least 0; got -1"),
        (numbers("--design", "srs"), "design"),
        (numbers("--method", "magic"), "method"),
        (numbers("--prior", "flat"), "prior"),
        (numbers("--classes", "a"), "1 names"),
        (numbers("--classes", "a,a"), "more than once"),
        (numbers("--predicted-sums", "1"), "must have shape (2,)"),
        (numbers("--predicted-sums", "1,2", "--predicted-squares", "1,-2"), "negative"),
        (numbers("--predicted-sums", "1,9e3", "--predicted-squares", "1,2"), "too small"),
        (numbers("--predicted-squares", "1,2"), "predicted_sums"),
        (numbers("--method", "inverse", test="4,1;0,0"), "none of"),
        (numbers("--method", "inverse", test="2,2;3,3"), "singular"),
        (numbers("--output", "result.xlsx"), ".csv"),
        (numbers("--output", "no/such/folder/result.csv"), "folder"),
    ],
)
def test_numbers(arguments, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(arguments, word)
    assert list(tmp_path.iterdir()) == []


def test_hints_say_what_to_do(tmp_path):
    matrix = tmp_path / "counts.csv"
    matrix.write_text("10,90\n")
    message = refused(numbers(counts=str(matrix)), "--predicted-counts must hold numbers")
    assert "write the numbers themselves" in message
    assert "name a CSV file" not in message
    refused(["plan", "--cv", "0.05"], "--rates, --base-rates and --units must say what to assume")
    refused(["plan", "--cv", "0.05", "--rates", "0.9", "--units", "9"], "missing: --base-rates")


@pytest.mark.parametrize("test", [[["4", "2.1"], ["2", "3"]], np.array([[4, 2.1], [2, 3]])])
def test_numbers_in_messages_are_plain(test):
    with pytest.raises(tu.DataError, match=r"got 2\.1\."):
        tu.correct_counts(test, [10, 90], classes=np.array(["a", "2.1"]))
    with pytest.warns(tu.TrueupWarning, match=r"no test unit of true class '2.1'"):
        tu.correct_counts([[4, 1], [0, 0]], [10, 90], classes=np.array(["a", "2.1"]), draws=100)


def test_nothing_is_written_when_the_input_is_bad(files, tmp_path):
    old = tmp_path / "result.csv"
    old.write_text("old")
    refused(["correct", *files(predictions="predicted\n"), "--output", str(old)], "empty")
    assert old.read_text() == "old"


def test_a_true_class_without_test_units_is_a_warning():
    result = run(numbers("--draws", "500", test="4,1;0,0"))
    assert result.exit_code == 0
    assert "no test unit" in result.stderr


def matched(population=PREDICTIONS, test_set="unit,true\n1,a\n2,b\n3,b\n"):
    return population, test_set


def test_matching_by_id(files):
    by_id = ["--id", "unit", "--value", "y", "--draws", "200"]
    assert run(["correct", *files(*matched()), *by_id]).exit_code == 0
    stranger = matched(test_set="unit,true\n1,a\n99,b\n98,b\n")
    refused(["correct", *files(*stranger), *by_id], "2 audited units are not in", "unit = 99")
    twice = matched(test_set="unit,true\n1,a\n2,b\n2,b\n")
    refused(["correct", *files(*twice), *by_id], "'unit' of test.csv", "2 comes more than once")
    twice = matched(population=PREDICTIONS + "2,a,a,1\n")
    refused(["correct", *files(*twice), *by_id], "'unit' of predictions.csv", "more than once")
    other = matched(test_set="unit,predicted,true\n1,a,a\n2,b,b\n3,a,b\n")
    message = refused(["correct", *files(*other), *by_id], "2 audited units have another predicted")
    assert "unit = 2" in message
    text = matched(test_set="unit,true\nx1,a\nx2,b\n")
    refused(["correct", *files(*text), *by_id], "same kind of id")
    null = matched(test_set="unit,true\n1,a\n,b\n")
    refused(["correct", *files(*null), *by_id], "'unit' of test.csv", "1 row has")


def test_near_names_are_listed(files):
    message = refused(["correct", *files("predicted_1,predicted_2\na,a\n"), "--value", "y"])
    assert "'predicted_1'" in message.split("did you mean")[1]
    assert "'predicted_2'" in message.split("did you mean")[1]


def test_leaving_out_says_how_many(files):
    paths = files(predictions=PREDICTIONS + "6,a,a,\n7,,a,nan\n")
    result = run(["correct", *paths, "--value", "y", "--missing", "leave_out", "--json"])
    assert result.exit_code == 0
    assert "Left out 2 rows of predictions.csv without a usable value" in result.stderr
    assert "Left out 2 rows of predictions.csv without a usable value" in result.stdout
    assert run(["check", *paths, "--value", "y", "--missing", "leave_out"]).exit_code == 0
    everything = files(predictions="predicted,y\na,\nb,nan\n")
    refused(
        ["correct", *everything, "--value", "y", "--missing", "leave_out"], "None of the 2 units"
    )
    refused(["correct", *paths, "--missing", "drop"], "leave_out")


def test_the_answer_does_not_take_the_place_of_the_data(tmp_path, files):
    predictions, test_set = files()
    before = Path(predictions).read_text()
    (tmp_path / "link.csv").symlink_to(predictions)
    for output in (predictions, test_set, str(tmp_path / "link.csv")):
        arguments = ["correct", predictions, test_set, "--output", output]
        refused(arguments, "must not be a table that is read")
    assert Path(predictions).read_text() == before


def test_folders_and_globs(tmp_path, files):
    paths = files()
    refused(["correct", str(tmp_path / "no*.csv"), paths[1]], "no*.csv", "match at least one file")
    many = tmp_path / "many"
    many.mkdir()
    refused(["correct", str(many), paths[1]], "it has none")
    (many / "1.csv").write_text(PREDICTIONS)
    (many / "2.csv").write_text("predicted,z\na,1\n")
    refused(["correct", str(many), paths[1], "--value", "y"], "same columns", "2.csv")
    (many / "2.csv").write_text(PREDICTIONS)
    assert run(["correct", str(many), paths[1], "--value", "y", "--quiet"]).exit_code == 0


def test_a_parquet_file_that_was_cut_off(tmp_path, files):
    import duckdb

    path = tmp_path / "cut.parquet"
    duckdb.sql(f"COPY (SELECT 'a' AS predicted FROM range(9999)) TO '{path}' (FORMAT parquet)")
    path.write_bytes(path.read_bytes()[:-9])
    refused(["correct", str(path), files()[1]], "cut.parquet", "complete?")


def test_options_that_would_do_nothing_are_refused(files):
    """Nothing that somebody asked for is left out without a word."""
    predictions, test_set = files()
    alone = ["correct", predictions, test_set]
    refused([*alone, "--panel", "0.9"], "`panel` needs `period`")
    refused([*alone, "--text", "nosuch"], "`text`", "neither has 'nosuch'")
    refused([*alone, "--by", "y", "--by", "y"], "each column once; got 'y' twice")
    refused([*alone, "--true", "predicted"], "must be two columns", "'predicted' for both")
    refused(numbers("--between", "3"), "`between` needs `studies`")
    cells = "predicted,n,y\na,40,80\nb,60,60\na,0,5\n"
    refused(["correct", *files(predictions=cells), "--count", "n", "--value", "y"],
            "0 units in 'n'", "got 5")  # fmt: skip
    with pytest.raises(tu.OptionError, match="`classes` must be a list; got 'food'"):
        tu.correct(*files(), classes="food")
    with pytest.raises(tu.OptionError, match="`classes` must be a list; got 'ab'"):
        tu.correct_counts([[4, 1], [2, 3]], [10, 90], classes="ab")


def test_tables_in_the_wrong_order_are_asked_about(files):
    swapped = "are the two tables in the wrong order? If not: "
    refused(["correct", *files()[::-1]], "must have a column 'true'", swapped)
    bare = "unit,true\n1,a\n"
    refused(["check", *files(test_set=bare)[::-1], "--id", "unit"], "column 'predicted'", swapped)
    assert swapped not in refused(["correct", *files(), "--true", "truth"], "'truth'")


@pytest.mark.parametrize("classes", [["a", "a", "b"], ["a", "b", "b"]])
def test_a_class_that_is_listed_twice_is_named(files, classes):
    with pytest.raises(tu.ClassError, match=r"`classes` must differ from each other; got \['.'\]"):
        tu.correct(*files(), classes=classes)
    with pytest.raises(tu.ClassError, match=r"got \['a'\] more than once"):
        tu.correct(*files(), classes=["a", "a"])  # and 'b' is missing


def test_hints_name_what_there_is(files):
    from trueup.errors import TrueupError
    from trueup.web.limits import problem

    text = GOOD.replace("true,y", "truly,turnover")
    message = refused(["correct", *files(test_set=text)], "must have a column 'true'")
    assert "turnover'?" not in message
    gap = PREDICTIONS + "6,,a,1\n"
    words = ["draw", files(predictions=gap)[0], "-n", "2", "--id", "unit", "--by-prediction"]
    leave = "`correct`, `check`, `compare` and `plan` can leave them out: missing="
    refused([*words, "--output", "x.csv"], leave)
    paths = files(test_set=GOOD.replace("5,a,a", "5,a,"))
    refused(["plan", *paths, "--next", "2"], leave)
    run_on = ["plan", *paths, "--next", "2", "--missing", "leave_out", "--seed", "1"]
    assert run(run_on).exit_code == 0
    for option in ("--cluster", "--probability"):  # these rows cannot be left out
        paths = files(test_set=GOOD.replace("4\n", "\n").replace("y\n", "c\n"))
        said = refused(["correct", *paths, option, "c", "--missing", "leave_out"], "repair those")
        assert "--missing" not in said
        assert "cannot be left out" in said
    told = problem(TrueupError("Wrong.", hint='decimal="," (--decimal ,) or not.'))
    assert told["hint"] == 'decimal="," or not.'


@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
def test_periods_have_the_columns_of_other_answers():
    rows = [(f"2024-0{i % 3 + 1}", "ab"[i % 2], "ab"[(i % 2) ^ (i % 7 == 0)]) for i in range(90)]
    frame = pd.DataFrame(rows, columns=["month", "predicted", "true"])
    est = tu.correct(frame, frame[:40], period="month", draws=200, seed=1)
    other = tu.correct(frame, frame[:40], by="month", draws=200, seed=1)
    assert list(est.rows()[0]) == list(other.rows()[0])


def test_a_work_list_that_nobody_filled_in(files):
    empty = "unit,predicted,true\n1,a,\n2,b,\n"
    refused(["correct", *files(test_set=empty)], "None of the 2 units", "in column 'true' yet")


def test_draws_may_be_auto(files):
    refused(["correct", *files(), "--draws", "abc"], "'abc' is neither a whole number nor 'auto'")
