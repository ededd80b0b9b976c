"""CSV files: nothing that the first 20,480 lines suggest may change what the others say."""

import csv
import gzip

import pandas as pd
import pytest

import trueup
from trueup.read import open_table

LATE = 25_000


def tally(path, keys=("k",), value="y"):
    found = open_table(str(path), "predictions").tally(list(keys), value)
    return dict(zip(found.keys, found.sums.tolist(), strict=True))


def late(path, label, common="n", column="k"):
    """Write a file in which all labels but one near the end are `common`."""
    rows = [f"{common},1\n"] * LATE
    rows[LATE - 10] = f"{label},1\n"
    path.write_text(f"{column},y\n" + "".join(rows))
    return path


@pytest.mark.parametrize(
    ("written", "meant"), [('"n"', "n"), ('"Bergen, NH"', "Bergen, NH"), ('"a ""b"""', 'a "b"')]
)
def test_a_quote_means_the_same_on_every_line(tmp_path, written, meant):
    expected = {("n",): LATE - 1.0, (meant,): 1.0} if meant != "n" else {("n",): float(LATE)}
    assert tally(late(tmp_path / "t.csv", written)) == expected


def test_an_apostrophe_is_no_quote(tmp_path):
    (tmp_path / "t.csv").write_text("k,y\n'x',1\n'y',2\n's Gravenhage,4\n")
    assert tally(tmp_path / "t.csv") == {("'x'",): 1.0, ("'y'",): 2.0, ("'s Gravenhage",): 4.0}


def test_only_iso_dates_are_dates(tmp_path):
    """01/02/2024 is the first of February in one file and the second of January in another."""
    days = ["01/02/2024", "02/01/2024", "02/13/2024"]
    (tmp_path / "t.csv").write_text("k,y\n" + "".join(f"{day},1\n" for day in days))
    assert tally(tmp_path / "t.csv") == {(day,): 1.0 for day in days}
    table = open_table(str(late(tmp_path / "iso.csv", "2024-02-01", "2024-01-02")), "p")
    assert table.kinds()["k"] == "date"
    assert {str(key[0]) for key in table.tally(["k"], None).keys} == {"2024-01-02", "2024-02-01"}


@pytest.mark.parametrize(("one", "other"), [("yes", "no"), ("t", "f"), ("Y", "N")])
def test_only_true_and_false_are_true_and_false(tmp_path, one, other):
    (tmp_path / "t.csv").write_text(f"k,y\n{one},1\n{other},2\n")
    assert tally(tmp_path / "t.csv") == {(one,): 1.0, (other,): 2.0}
    (tmp_path / "t.csv").write_text("k,y\ntrue,1\nFALSE,2\n")
    assert tally(tmp_path / "t.csv") == {(True,): 1.0, (False,): 2.0}


@pytest.mark.parametrize(
    ("common", "label", "words"),
    [
        ("1", "01", "whole numbers"),
        ("1", "1_0", "whole numbers"),
        ("1", "+1", "whole numbers"),
        ("1", "１", "whole numbers"),
        ("true", "1", "true/false"),
        ("true", "yes", "true/false"),
        ("2024-01-02", "2024-1-2", "dates"),
        ("2024-01-02", "02/01/2024", "dates"),
    ],
)
def test_a_late_label_that_is_written_otherwise_is_refused(tmp_path, common, label, words):
    with pytest.raises(trueup.DataError, match=f"begins with {words}") as caught:
        tally(late(tmp_path / "t.csv", label, common))
    assert repr(label) in str(caught.value)


def test_a_late_time_among_dates_keeps_its_hour(tmp_path):
    keys = tally(late(tmp_path / "t.csv", "2024-01-02 13:00:00", "2024-01-02"))
    assert {str(key[0]) for key in keys} == {"2024-01-02", "2024-01-02 13:00:00"}


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_two_tables_in_one_file_are_refused(tmp_path, ending):
    text = "k,y\n" + "a,1\n" * 40 + "k,y,extra\n" + "b,2,0\n" * 20
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    with pytest.raises(trueup.FileError, match="one header; line 1 looks like one"):
        tally(path)
    path = tmp_path / "long.csv"
    path.write_text("k;z\n" + "a;1\n" * 40 + "k,y,extra\n" + "b,2,0\n" * 2000)
    with pytest.raises(trueup.FileError, match="one header"):
        tally(path)


def test_a_title_above_the_header_is_fine_in_one_file(tmp_path):
    (tmp_path / "a.csv").write_text("Turnover of companies\n\nk,y\na,1\nb,2\n")
    assert tally(tmp_path / "a.csv") == {("a",): 1.0, ("b",): 2.0}
    (tmp_path / "b.csv").write_text("k,y\nc,1\nd,2\ne,3\n")
    with pytest.raises(trueup.FileError, match="begin with their header"):  # rows would be lost
        tally(tmp_path)


def test_a_header_without_rows_is_empty(tmp_path):
    (tmp_path / "t.csv").write_text("k,y\n")
    with pytest.raises(trueup.DataError, match=r"t\.csv must hold at least one unit"):
        tally(tmp_path / "t.csv")


def test_what_is_wrong_with_a_line_is_said(tmp_path):
    (tmp_path / "t.csv").write_bytes("k,y\na,1\né,2\n".encode("latin-1"))
    with pytest.raises(trueup.DataError, match="not utf-8"):
        tally(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("k,y\n" + "a,2\n" * 30_000 + "a,many\n")
    with pytest.raises(trueup.DataError, match=r'30002\. .*column "y".*"many"'):
        tally(tmp_path / "t.csv")


def test_partitions_of_csv_may_be_numbers(tmp_path):
    for k in (0, 1):
        (tmp_path / f"k={k}").mkdir()
        (tmp_path / f"k={k}" / "part.csv").write_text("y\n1\n2\n")
    assert tally(tmp_path) == {(0,): 3.0, (1,): 3.0}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_labels_come_back_as_they_were_written(tmp_path, delimiter):
    labels = [
        "plain",
        "it's",
        'say "hm"',
        "a,b;c\td|e",
        " spaces ",
        "two\nlines",
        "-",
        "0x1",
        "1e3",
    ]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([["k", "y"], *([x, 1] for x in labels)])
    expected = pd.read_csv(path, sep=delimiter)["k"].tolist()
    assert {key[0] for key in tally(path)} == set(expected)


def test_two_files_of_one_name_are_told_apart(tmp_path):
    for folder in ("population", "audit"):
        (tmp_path / folder).mkdir()
    population, audit = tmp_path / "population" / "data.csv", tmp_path / "audit" / "data.csv"
    population.write_text("predicted,y\n1,5\n0,7\n")
    audit.write_text("predicted,true,y\ntrue,true,5\nfalse,false,7\n")
    with pytest.raises(trueup.ClassError, match=r"data\.csv \(predictions\): integer"):
        trueup.correct(str(population), str(audit))


def test_a_file_that_is_not_utf_8_needs_its_encoding(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes("predicted\ncaf\u00e9\nb\n".encode("cp1252"))
    with pytest.raises(trueup.FileError, match="name its encoding") as error:
        trueup.correct(path, path)
    assert "complete" not in str(error.value)


def test_an_ending_that_says_no_format():
    with pytest.raises(trueup.FileError, match="nothing is there"):
        trueup.correct("table.xlsx", "test.csv")
    with pytest.raises(trueup.FileError, match="must end in one of"):
        trueup.correct("table.dat", "test.csv")


@pytest.mark.parametrize(("line", "fields"), [("2;b", 2), ("2;b;3;4", 4)])
def test_a_line_with_other_fields_is_named(tmp_path, line, fields):
    (tmp_path / "t.csv").write_text(f"id;k;y\n1;a;2\n{line}\n3;a;4\n")
    with pytest.raises(trueup.TrueupError, match=f"in its header, 3; line 3 has {fields}"):
        tally(tmp_path / "t.csv")


def test_two_columns_of_one_name_are_refused_where_they_are_used(tmp_path):
    (tmp_path / "t.csv").write_text("k,y,y,z\na,1,2,5\nb,2,3,6\n")
    with pytest.raises(trueup.TrueupError, match="must have one column 'y'"):
        tally(tmp_path / "t.csv")
    assert tally(tmp_path / "t.csv", value="z") == {("a",): 5.0, ("b",): 6.0}
