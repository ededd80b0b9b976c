"""Files as European offices write them: read as meant, or refused, but never misread."""

import datetime
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main
from trueup.errors import DataError, FileError, OptionError
from trueup.read import open_table
from trueup.read.formats.written import written


def total(path, **how):
    """Σy per predicted class."""
    tally = open_table(written(str(path), *(how.get(x) for x in ("decimal", "encoding", "text"))),
                       "predictions").tally(["predicted"], "y")  # fmt: skip
    return {key[0]: y for key, y in zip(tally.keys, tally.sums, strict=True)}


def write(folder, text, name="table.csv", encoding="utf-8"):
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


def test_points_that_may_be_thousands_are_refused_and_read_as_the_user_says(tmp_path):
    path = write(tmp_path, "predicted;y\na;14.410\nb;900\n")
    with pytest.raises(FileError, match=r"14.410 may be 14410 or a number with decimals") as error:
        total(path)
    assert "--decimal ," in str(error.value)
    assert total(path, decimal=",") == {"a": 14410.0, "b": 900.0}
    assert total(path, decimal=".") == {"a": 14.41, "b": 900.0}


def test_a_late_decimal_makes_points_clear_and_a_late_thousand_is_found(tmp_path):
    path = write(tmp_path, "predicted;y\n" + "a;14.410\n" * 30_000 + "b;0.5\n")
    assert total(path)["b"] == 0.5
    path = write(tmp_path, "predicted;y\n" + "a;900\n" * 30_000 + "b;14.410\n")
    with pytest.raises(FileError, match=r"14\.410"):
        total(path)


@pytest.mark.parametrize(
    ("text", "number"),
    [("14,41", 14.41), ("1.234.567,5", 1234567.5), ("1 234,5", 1234.5), ("-0,25", -0.25),
     ("900", 900.0), ("1,5e3", 1500.0)],
)  # fmt: skip
def test_decimal_commas(text, number, tmp_path):
    path = write(tmp_path, f"predicted;y\na;{text}\nb;0,5\n")
    assert total(path, decimal=",") == {"a": number, "b": 0.5}
    table = open_table(written(str(path), ",", None, None), "predictions")
    assert max(table.largest("y", 1)) == max(number, 0.5)
    assert [row[-1] for row in table.rows(["predicted"], value="y")] == [number, 0.5]
    assert len(table.banded("band", "y").tally(["band"], "y").keys) == 2


@pytest.mark.parametrize("text", ["1.23.456,5", "12.34,5", "1,234,5", "1.2345,0", "€ 5,00"])
def test_what_is_no_number_is_refused_wherever_it_comes(text, tmp_path):
    for many in (0, 30_000):
        path = write(tmp_path, "predicted;y\n" + "a;1,5\n" * many + f"a;{text}\nb;0,5\n")
        with pytest.raises(DataError, match="number"):
            total(path, decimal=",")


def test_without_the_decimal_mark_a_comma_is_told(tmp_path):
    with pytest.raises(DataError, match="must hold numbers; it holds text") as error:
        total(write(tmp_path, "predicted;y\na;14,41\nb;1,5\n"))
    assert "is it the right column? If it is: does a comma" in str(error.value)
    assert "--decimal ," in str(error.value)
    with pytest.raises(DataError, match="it holds dates") as error:
        total(write(tmp_path, "predicted;y\na;2024-01-31\nb;2024-02-29\n"))
    assert str(error.value).endswith("is it the right column?")


def test_quoted_thousands_of_english_files(tmp_path):
    path = write(tmp_path, 'predicted,y\na,"14,410.5"\nb,900\n')
    with pytest.raises(DataError, match="must hold numbers"):
        total(path)
    assert total(path, decimal=".") == {"a": 14410.5, "b": 900.0}


def test_commas_that_may_be_thousands_are_never_read_as_decimals(tmp_path):
    path = write(tmp_path, 'predicted,y\na,"1,275"\nb,900\n')
    with pytest.raises(DataError, match="must hold numbers") as error:
        total(path)
    assert "--decimal ," in str(error.value)
    assert "--decimal ." in str(error.value)
    with pytest.raises(FileError, match=r"1,275 may be 1275 or a number with decimals") as error:
        total(path, decimal=",")
    assert "--decimal ." in str(error.value)
    assert total(path, decimal=".") == {"a": 1275.0, "b": 900.0}
    clear = write(tmp_path, 'predicted,y\na,"1,275"\nb,"0,5"\n')
    assert total(clear, decimal=",") == {"a": 1.275, "b": 0.5}
    assert total(write(tmp_path, "predicted;y\na;1,275\n"), decimal=",") == {"a": 1.275}
    table = open_table(str(write(tmp_path, "predicted;y;w\na;1;1.275\n")), "predictions")
    weighted = table.weighted("wy", "y", "w")
    with pytest.raises(FileError, match="one meaning"):
        weighted.tally(["predicted"], "wy")


def test_missing_numbers_stay_missing(tmp_path):
    path = write(tmp_path, "predicted;y\na;1,5\nb;\nb;2,5\n")
    with pytest.raises(DataError, match="1 row has none"):
        total(path, decimal=",")


def test_encodings(tmp_path):
    text = "predicted;y\nMünchen €;1\nKöln;2\n"
    for encoding in ("windows-1252", "utf-16", "iso8859-15"):
        path = write(tmp_path, text.replace("€", "") if encoding == "iso8859-15" else text,
                     encoding=encoding)  # fmt: skip
        assert "Köln" in total(path, encoding=encoding)
    path = write(tmp_path, text, encoding="windows-1252")
    with pytest.raises(FileError) as error:
        total(path)
    assert "--encoding windows-1252" in str(error.value)
    with pytest.raises(FileError) as error:
        total(write(tmp_path, text, encoding="utf-16"))
    assert "--encoding utf-16" in str(error.value)
    with pytest.raises(FileError, match="must be written in utf-8"):
        total(path, encoding="utf-8")
    with pytest.raises(OptionError, match="one that Python knows"):
        total(path, encoding="klingon")
    with pytest.raises(OptionError, match="`decimal` must be"):
        total(path, decimal="'")


def test_codes_that_look_like_decimals(tmp_path):
    path = write(tmp_path, "predicted;y\n47.91;1\n47.10;2\n")
    with pytest.raises(DataError, match="must hold classes") as error:
        tu.correct(path, path, true="y")
    assert "--text predicted" in str(error.value)
    assert total(path, text="predicted") == {"47.91": 1.0, "47.10": 2.0}


def test_from_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["4791;1.234,50", "4710;0,50"] * 20
    write(tmp_path, "unit;predicted;Größe\n" + "\n".join(f"{i};{x}" for i, x in enumerate(rows)),
          "all.csv", "windows-1252")  # fmt: skip
    rows = ["4791;4791;1.234,50", "4710;4710;0,50"] * 4
    write(tmp_path, "predicted;true;Größe\n" + "\n".join(rows), "audited.csv", "windows-1252")
    how = ["--decimal", ",", "--encoding", "windows-1252", "--text", "predicted", "--text", "true"]
    for command in ("correct", "check"):
        done = CliRunner().invoke(
            main, [command, "all.csv", "audited.csv", "--value", "Größe", *how]
        )
        assert done.exit_code == 0, done.output
        assert "4791" in done.output
    printed = CliRunner().invoke(
        main, ["correct", "all.csv", "audited.csv", "--value", "Größe", *how, "--json"]
    )
    assert '"naive": 24690.0' in printed.stdout
    drawn = [
        "draw",
        "all.csv",
        "-n",
        "5",
        "--id",
        "unit",
        "--output",
        "list.csv",
        "--size",
        "Größe",
    ]
    assert CliRunner().invoke(main, [*drawn, *how]).exit_code == 0


def sheet(path, rows):
    """Write the least that is an Excel file."""

    def cell(x):
        if x is None:
            return "<c/>"
        if isinstance(x, str):
            return f'<c t="inlineStr"><is><t>{x}</t></is></c>'
        return f"<c><v>{x}</v></c>"

    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    ns = "http://schemas.openxmlformats.org"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{ns}/package/2006/content-types"><Default '
        'Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName='
        '"/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{ns}/package/2006/relationships"><Relationship '
        f'Id="r1" Type="{ns}/officeDocument/2006/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{ns}/spreadsheetml/2006/main" xmlns:r="{ns}/'
        'officeDocument/2006/relationships"><sheets><sheet name="one" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{ns}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{ns}/officeDocument/2006/relationships/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{ns}/spreadsheetml/2006/main"><sheetData>'
        f"{body}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(name, head + content)
    return str(path)


def test_sheets(tmp_path):
    rows = [["unit", "predicted", "y"], *([i, "ab"[i % 2], i + 0.5] for i in range(40))]
    path = sheet(tmp_path / "all.xlsx", rows)
    audited = [["unit", "true"], *([i, "ab"[i % 2]] for i in range(12))]
    test_set = sheet(tmp_path / "audited.xlsx", audited)
    est = tu.correct(path, test_set, id="unit", value="y", seed=1)
    np.testing.assert_allclose([row["naive"] for row in est.rows()], [390.0, 410.0])
    kinds = open_table(path, "predictions").kinds()
    assert kinds == {"unit": "integer", "predicted": "text", "y": "number"}
    assert open_table(written(path, None, None, "unit"), "x").kinds()["unit"] == "text"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["a", "a"], [1, 2]], "name each column once"),
        ([["predicted", None], ["x", 1]], "name each column once"),
        ([["predicted"]], "it is empty"),
        ([["predicted", "y"], ["x", 1], ["z", "many"]], "cells of one kind"),
    ],
)
def test_broken_sheets(rows, words, tmp_path):
    with pytest.raises(DataError, match=words):
        open_table(sheet(tmp_path / "table.xlsx", rows), "predictions")


def test_a_sheet_that_is_none(tmp_path):
    path = write(tmp_path, "not a sheet", "table.xlsx")
    with pytest.raises(FileError, match="must be a readable sheet"):
        open_table(str(path), "predictions")


def test_dates_in_sheets_are_dates():
    from trueup.read.formats.sheets import _column

    day = datetime.date(2024, 5, 1)
    assert _column([day, ""], "day", "table", False) == [day, None]
