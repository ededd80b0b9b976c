"""Files as they come: many at once, late surprises, and those that are not whole."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueup
from trueup.read import open_table
from trueup.read.paths import find


def tally(path, keys=("k",), value="y"):
    table = open_table(str(path), "predictions")
    found = table.tally(list(keys), value)
    return dict(zip(found.keys, found.sums.tolist(), strict=True))


def refused(path, *words, keys=("k",), value="y"):
    with pytest.raises(trueup.DataError) as caught:
        tally(path, keys, value)
    for word in words:
        assert word in str(caught.value), caught.value


def test_a_decimal_after_many_whole_numbers_is_not_rounded(tmp_path):
    """DuckDB decides on the first 20,480 lines and rounds what follows."""
    path = tmp_path / "late.csv"
    path.write_text("k,y\n" + "a,2\n" * 30_000 + "a,2.5\n")
    assert tally(path) == {("a",): 60_002.5}


def test_a_label_after_many_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("k,y\n" + "1,2\n" * 30_000 + "1.5,2\n")
    refused(path, "'k'", "whole numbers", "'1.5'")
    path.write_text("k,y\n" + "1,2\n" * 30_000 + "01,2\n")
    refused(path, "'k'", "whole numbers", "'01'")  # near the top it would make all labels text


def test_codes_in_a_file_and_text_in_a_dataframe_are_named_with_the_way_out(tmp_path):
    path, test = tmp_path / "codes.csv", {"predicted": ["true", "false"], "true": ["true", "false"]}
    path.write_text("predicted\n" + "true\nfalse\n" * 20)
    with pytest.raises(trueup.TrueupError, match=r"'predicted' of codes.csv: boolean.*") as refusal:
        trueup.correct(path, pa.table(test))
    assert "text='predicted' (--text predicted)" in refusal.value.hint
    assert trueup.correct(path, pa.table(test), text="predicted", overlap=False, seed=1).rows()


def test_text_is_an_option_of_files_and_not_of_dataframes(tmp_path):
    (tmp_path / "codes.csv").write_text("predicted\n1.5\n2.5\n")
    codes, test = {"predicted": [1.5, 2.5]}, pa.table({"predicted": ["a"], "true": ["a"]})
    for table, words in (
        (tmp_path / "codes.csv", "text='predicted' (--text predicted)"),
        (pa.table(codes), "make 'predicted' text: astype(str) in pandas"),
    ):
        with pytest.raises(trueup.TrueupError, match="decimal numbers") as refusal:
            trueup.correct(table, test)
        assert words in refusal.value.hint
    with pytest.raises(trueup.TrueupError, match="same kind of label") as refusal:
        trueup.correct(pa.table({"predicted": [1, 2]}), test)
    assert "astype(str)" in refusal.value.hint


def test_labels_that_look_alike_are_told_apart(tmp_path):
    """An accent as a character of its own, and UTF-8 read as windows-1252."""

    def hint(predicted, true):
        tables = ({"predicted": [predicted, "b"]}, {"predicted": ["b", "b"], "true": [true, "b"]})
        with pytest.raises(trueup.ClassError, match="never names") as refusal:
            trueup.correct(*map(pa.table, tables))
        return refusal.value.hint

    assert "two Unicode forms" in hint("caf\u00e9", "cafe\u0301")
    units = pa.table({"id": [1, 2], "predicted": ["caf\u00e9", "b"]})
    with pytest.raises(trueup.ClassError, match="never names") as refusal:
        trueup.correct(units, pa.table({"id": [1, 2], "true": ["cafe\u0301", "b"]}), id="id")
    assert "two Unicode forms" in refusal.value.hint
    assert "text for 'réadmis' that was read in another encoding" in hint("réadmis", "rÃ©admis")
    assert "another encoding" in hint("r\ufffdadmis", "réadmis")
    assert "fix the spelling" in hint("NÃO", "não")


def test_text_among_the_values_names_the_line(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("k,y\n" + "a,2\n" * 30_000 + "a,many\n")
    refused(path, "late.csv", "30002")


def test_nan_in_parquet_is_found_whatever_its_statistics_say(tmp_path):
    pq.write_table(pa.table({"k": ["a", "b"], "y": [1.0, float("nan")]}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "'y'", "1 row has")
    import duckdb

    relation = duckdb.read_parquet(str(tmp_path / "t.parquet"))
    with pytest.raises(trueup.DataError, match="1 row has"):
        open_table(relation, "predictions").tally(["k"], "y")


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_path_that_matches_no_file(tmp_path, ending):
    refused(tmp_path / f"no*.{ending}", f"no*.{ending}", "must")
    refused(tmp_path / f"none.{ending}", f"none.{ending}", "must exist")


def test_a_folder_without_tables_or_with_two_formats(tmp_path):
    refused(tmp_path, "must hold CSV, Parquet or Arrow files")
    (tmp_path / "a.csv").write_text("k,y\na,1\n")
    pq.write_table(pa.table({"k": ["a"], "y": [1.0]}), tmp_path / "b.parquet")
    refused(tmp_path, "one format", ".csv", ".parquet")


def test_files_of_different_layouts(tmp_path):
    pq.write_table(pa.table({"k": ["a"], "y": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"k": ["b"], "y": [1.6]}), tmp_path / "b.parquet")
    refused(tmp_path, "same type", "'y'", "BIGINT", "DOUBLE", "a.parquet", "b.parquet")
    pq.write_table(pa.table({"k": ["b"], "z": [1.6]}), tmp_path / "b.parquet")
    refused(tmp_path, "same columns", "b.parquet")
    (tmp_path / "a.csv").write_text("k,y\na,1\n")
    (tmp_path / "b.csv").write_text("k,z\na,1\n")
    refused(tmp_path / "*.csv", "same columns", "b.csv", "'y'")
    (tmp_path / "b.csv").write_text("y,k\n1.5,a\n")  # the same columns in another order are fine
    (tmp_path / "a.csv").write_text("k,y\na,1.5\n")
    assert tally(tmp_path / "*.csv") == {("a",): 3.0}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_that_was_cut_off(tmp_path, ending):
    import pyarrow.feather as feather

    whole = pa.table({"k": ["a", "b"] * 5000, "y": np.arange(10_000.0)})
    path = tmp_path / f"cut.{ending}"
    pq.write_table(whole, path) if ending == "parquet" else feather.write_feather(whole, str(path))
    path.write_bytes(path.read_bytes()[:-4000])
    refused(path, f"cut.{ending}", "complete?")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_folder_holds_what_a_user_sees_in_it(tmp_path, ending):
    """Endings in any case, links and folders inside; not what begins with a dot or underscore."""
    import pyarrow.feather as feather
    from pyarrow import csv

    write = {"csv": csv.write_csv, "parquet": pq.write_table, "arrow": feather.write_feather}
    folder, elsewhere = tmp_path / "all", tmp_path / "elsewhere"
    places = [folder / f"a.{ending}", folder / f"B.{ending.upper()}", elsewhere / f"c.{ending}"]
    places += [folder / "inner" / f"d[1].{ending}"]
    hidden = [folder / ".ipynb_checkpoints" / f"a.{ending}", folder / f"_b.{ending}"]
    hidden += [folder / f".c.{ending}", folder / "_temporary" / f"x.{ending}"]
    for place in [*places, *hidden]:
        place.parent.mkdir(parents=True, exist_ok=True)
        write[ending](pa.table({"k": ["a", "b"], "y": [1.5, 2.5]}), str(place))
    (folder / "link").symlink_to(elsewhere)
    (folder / "inner" / "up").symlink_to(folder)  # a circle
    assert tally(folder) == {("a",): 6.0, ("b",): 10.0}


def test_a_name_with_signs_of_a_pattern_is_that_file(tmp_path, monkeypatch):
    (tmp_path / "a[1].csv").write_text("k,y\na,1\n")
    (tmp_path / "a1.csv").write_text("k,y\nb,2\n")
    (tmp_path / "d[12]").mkdir()
    (tmp_path / "d[12]" / "x?.csv").write_text("k,y\nc,4\n")
    assert tally(tmp_path / "a[1].csv") == {("a",): 1.0}
    assert tally(tmp_path / "d[12]") == {("c",): 4.0}
    assert tally(tmp_path / "a?.csv") == {("b",): 2.0}
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tally("~/a1.csv") == {("b",): 2.0}
    (tmp_path / "a b.csv").write_text("k,y\nd,8\n")
    assert tally((tmp_path / "a b.csv").as_uri()) == {("d",): 8.0}
    refused(tmp_path / "nope", "must exist")


def test_an_address_goes_to_duckdb_with_its_own_signs():
    """Buckets have patterns and addresses questions, which are not those of this machine."""
    for address in ("s3://bucket/year=*/part-?.parquet", "memory://units.csv?version=1.csv"):
        assert find(address).patterns() == [address]
        assert not find(address).states()


def test_a_folder_of_files_by_different_writers(tmp_path):
    """PyArrow and DuckDB mark text differently; what is nested has names of its own."""
    import duckdb

    rows = {"k": ["a"], "y": [1.5], "schema": ["s"], "inner": [{"k": 1, "y": 2}]}
    pairs = pa.array([[("y", 1)]], pa.map_(pa.string(), pa.int64()))
    table = pa.table(rows).append_column("map", pairs)
    pq.write_table(table, tmp_path / "a.parquet")
    duckdb.from_arrow(table).write_parquet(str(tmp_path / "b.parquet"))
    assert tally(tmp_path, ("k", "schema")) == {("a", "s"): 3.0}


def test_partitions_and_awkward_names(tmp_path):
    folder = tmp_path / "it's here"
    for year in (2023, 2024):
        (folder / f"year={year}").mkdir(parents=True)
        table = pa.table({'the "class"': ["a"], "y": [1.5]})
        pq.write_table(table, folder / f"year={year}" / "x.parquet")
    assert tally(folder, ['the "class"', "year"]) == {("a", 2023): 1.5, ("a", 2024): 1.5}


def test_a_column_called_like_ours_is_another_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("k,turnover,y,x,key_0\na,1,nan,9,z\nb,2.5,7,9,z\n")
    assert tally(path, value="turnover") == {("a",): 1.0, ("b",): 2.5}
    assert open_table(str(path), "p").largest("turnover", 1) == [2.5]


def test_progress_is_told_and_can_stop_the_work(tmp_path, monkeypatch):
    from trueup.read import duck

    monkeypatch.setattr(duck, "TICK", 0.002)
    path = tmp_path / "t.csv"
    path.write_text("k,y\n" + "a,1.5\nb,2.5\n" * 2_000_000)
    told = []
    open_table(str(path), "p").tally(["k"], "y", progress=told.append)
    assert told
    assert all(0 < x <= 1 for x in told)
    assert told == sorted(told)

    def stop(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_table(str(path), "p").tally(["k"], "y", progress=stop)


@pytest.mark.parametrize("kind", ["files", "pandas", "polars"])
def test_the_first_example_of_the_readme(tmp_path, monkeypatch, kind):
    import pandas as pd
    import polars as pl

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    predicted = np.where(rng.random(2000) < 0.3, "webshop", "other")
    true = np.where(rng.random(2000) < 0.9, predicted, "other")
    units = pd.DataFrame(
        {"company": range(2000), "predicted": predicted, "turnover": rng.lognormal(9, 1, 2000)}
    )
    units.to_csv("predictions.csv", index=False)
    units.assign(true=true).sample(200, random_state=1).to_csv("test_set.csv", index=False)
    read = {"files": str, "pandas": pd.read_csv, "polars": pl.read_csv}[kind]
    est = trueup.correct(
        read("predictions.csv"),
        read("test_set.csv"),
        predicted="predicted",
        true="true",
        value="turnover",
        id="company",
        seed=1,
    )
    assert [row["class"] for row in est.rows()] == ["other", "webshop"]
    np.testing.assert_allclose(est.draws.sum(axis=1), units.turnover.sum())
    assert len(est.table) == 2
