"""The files endpoints: the answer of `correct`, in a folder of one's own that goes away."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import os
from pathlib import Path

import pytest

import trueup
from tests.web.running import PECULIAR, asked, client_of, running, until
from trueup.present.output import csv_text
from trueup.web.guessing import guess
from trueup.web.limits import Limits
from trueup.web.server import make_app

COLUMNS = {
    "predicted": "predicted",
    "true": "true",
    "value": "turnover",
    "id": "company",
    "by": ["region"],
}


class Person:
    """Somebody with a page open."""

    def __init__(self, client):
        self.client = client
        self.token = client.post("/api/session").json()["session"]
        self.headers = {"X-Trueup-Session": self.token}

    def send(self, role, content):
        return self.client.put(f"/api/files/{role}", content=content, headers=self.headers)

    def ask(self, given):
        answer = self.client.post("/api/files/correct", json=given, headers=self.headers)
        events = [json.loads(line) for line in answer.text.splitlines()]
        return answer.status_code, {name: x for event in events for name, x in event.items()}

    def get(self, what):
        return self.client.get(f"/api/files/{what}", headers=self.headers)


@pytest.fixture
def person(client):
    somebody = Person(client)
    yield somebody
    client.delete("/api/session", headers=somebody.headers)


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_the_answer_is_that_of_correct(person, tables):
    predictions, test_set = tables()
    person.send("predictions", predictions.read_bytes())
    found = person.send("test_set", test_set.read_bytes()).json()
    assert found["guess"] == {name: COLUMNS[name] for name in ("predicted", "true", "value", "id")}
    assert [column["name"] for column in found["table"]["columns"]] == [
        "company",
        "predicted",
        "true",
    ]
    assert len(found["table"]["rows"]) == 5

    status, found = person.ask(COLUMNS | {"seed": 11})
    est = trueup.correct(predictions, test_set, **COLUMNS, seed=11)
    assert status == 200
    assert found["answer"]["rows"] == est.rows()
    assert found["answer"]["by"] == ["region"]
    checked = trueup.check(predictions, test_set, **COLUMNS)
    assert [row["words"] for row in found["check"]] == [f.words for f in checked.findings]
    assert not any("P̂" in row["question"] for row in found["check"])  # plain questions first
    assert "groups" in found["charts"]

    rows = list(csv.DictReader(io.StringIO(person.get("table").text)))
    assert [float(row["estimate"]) for row in rows] == [row["estimate"] for row in est.rows()]
    assert rows[-1]["region"] == ""
    report = person.get("report")
    assert report.headers["content-disposition"] == 'attachment; filename="trueup-report.html"'
    assert "sandbox" in report.headers["content-security-policy"]
    assert report.text.lower().startswith("<!doctype html>")


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_pasted_totals_of_periods_without_audited_values(person):
    """The check knows of periods, and accuracies are those of the whole series."""
    cells = [f"{c},2024-0{t},{n * t},{9 * n}" for t in (1, 2, 3) for c, n in (("a", 90), ("b", 50))]
    audit = ["a,a,2024-01"] * 30 + ["a,b,2024-01"] * 3 + ["b,b,2024-01"] * 25
    texts = ["predicted,month,units,y", *cells], ["predicted,true,month", *audit]
    for role, lines in zip(("predictions", "test_set"), texts, strict=True):
        person.send(role, "\n".join(lines).encode())
    given = {"predicted": "predicted", "true": "true", "value": "y", "count": "units"}
    status, found = person.ask(given | {"period": "month", "seed": 1, "draws": 200})
    assert status == 200
    assert "audited periods" in [row["question"] for row in found["check"]]
    assert found["answer"]["accuracy"][-1]["measure"] == "accuracy"
    assert sum(float(x) for row in found["answer"]["error_matrix"] for x in row) == pytest.approx(
        100, abs=0.03
    )


def test_parquet_and_gzip_are_told_by_what_is_in_them(person, tables, tmp_path):
    import duckdb

    predictions, test_set = tables()
    parquet = tmp_path / "x.parquet"
    duckdb.sql(f"COPY (FROM '{predictions}') TO '{parquet}' (FORMAT parquet)")
    assert person.send("predictions", parquet.read_bytes()).status_code == 200
    assert person.send("test_set", gzip.compress(test_set.read_bytes())).status_code == 200
    status, found = person.ask(COLUMNS | {"seed": 1, "by": None})
    assert status == 200
    assert len(found["answer"]["rows"]) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "got nothing"),
        (b"  \n", "got nothing"),
        (b"PK\x03\x04 and so on", "Excel"),
        (b"PAR1 cut off", "readable table"),
        (b"\x00\x01\x02", "something else"),
    ],
    ids=["empty", "blank", "excel", "cut off", "binary"],
)
def test_what_is_no_table_is_refused(person, content, words):
    answer = person.send("predictions", content)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert str(Path.cwd()) not in answer.text


def test_a_file_that_is_too_large_is_refused(client, person):
    folder = client_folder(client, person)
    answer = person.send("predictions", b"a,b\n" + b"1,2\n" * 60_000)
    assert answer.status_code == 413
    assert "at most 200 kB" in answer.json()["error"]
    assert "--max-upload" in answer.json()["hint"]

    def chunks():  # without a length in the header
        for _ in range(60):
            yield b"1,2\n" * 1000

    assert person.send("predictions", chunks()).status_code == 413
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 200_000


def client_folder(client, person):
    return client.app.state.sessions.get(person.token).folder


@pytest.mark.parametrize("name", ["..%2f..%2fetc", "predictions.csv", "../x", "table", "%00", "a"])
def test_only_our_own_names_are_addresses(client, person, name):
    answer = person.send(name, b"a,b\n1,2\n")
    assert answer.status_code in (404, 405)
    assert list(client_folder(client, person).iterdir()) == []


def test_a_label_that_is_sql_or_a_path_is_text(person):
    label = "x'); COPY (SELECT 1) TO 'pwned.csv'; --"
    predictions = "id,predicted\n" + f'1,"{label}"\n2,/etc/passwd\n' * 20
    test_set = "predicted,true\n" + f'"{label}","{label}"\n/etc/passwd,/etc/passwd\n' * 5
    person.send("predictions", predictions.encode())
    person.send("test_set", test_set.encode())
    status, found = person.ask({"predicted": "predicted", "true": "true", "seed": 1})
    assert status == 200
    assert {row["class"] for row in found["answer"]["rows"]} == {label, "/etc/passwd"}
    assert not Path("pwned.csv").exists()


def test_bad_columns_are_refused_in_words(person, tables):
    assert person.ask(COLUMNS)[0] == 422  # no files yet
    predictions, test_set = tables()
    person.send("predictions", predictions.read_bytes())
    person.send("test_set", test_set.read_bytes())
    for change, words in (
        ({"true": None}, "`true` must name a column"),
        ({"true": "truth"}, "truth"),
        ({"value": "region"}, "region"),
        ({"by": [1]}, "`by`"),
        ({"design": "x"}, "`design`"),
    ):
        status, found = person.ask(COLUMNS | change)
        assert status == 422
        assert words in found["error"]
    assert person.get("report").status_code == 422


def test_two_people_do_not_see_each_other(client, tables):
    one, other = Person(client), Person(client)
    assert one.token != other.token
    predictions, test_set = tables()
    one.send("predictions", predictions.read_bytes())
    one.send("test_set", test_set.read_bytes())
    assert one.ask(COLUMNS | {"seed": 1})[0] == 200
    assert other.get("table").status_code == 422
    assert "Both files" in other.ask(COLUMNS)[1]["error"]
    for token in ("", "x", one.token[:-1]):
        answer = client.get("/api/files/table", headers={"X-Trueup-Session": token})
        assert answer.status_code == 410
    client.delete("/api/session", headers=other.headers)
    assert one.get("table").status_code == 200
    client.delete("/api/session", headers=one.headers)
    assert one.get("table").status_code == 410


def test_folders_go_when_a_session_ends_or_is_forgotten_or_the_server_stops(tables):
    app = make_app(idle=0.0)
    sessions = app.state.sessions
    with client_of(app) as client:
        gone, forgotten, open_ = Person(client), Person(client), Person(client)
        for person in (gone, forgotten, open_):
            person.send("predictions", b"a,b\n1,2\n")
        assert len(list(sessions.root.rglob("predictions.csv"))) == 3
        client.delete("/api/session", headers=gone.headers)
        assert len(list(sessions.root.rglob("predictions.csv"))) == 2
        sessions._open.pop(open_.token)  # so that only the other one is found
        asyncio.run(sessions.sweep())
        assert len(list(sessions.root.rglob("predictions.csv"))) == 1
        assert (sessions.root.stat().st_mode & 0o777) == 0o700
    assert not sessions.root.exists()


def test_there_is_room_for_so_many_sessions_only(client, monkeypatch):
    monkeypatch.setattr(Limits, "sessions", len(client.app.state.sessions))
    answer = client.post("/api/session")
    assert answer.status_code == 503
    assert "already" in answer.json()["error"]


def test_leaving_stops_the_computation_for_real():
    app = make_app()
    workers = app.state.workers
    slow = PECULIAR | {"draws": 9_000_000}
    with running(app) as url:
        with asked(url, "/api/numbers", slow):
            until(lambda: workers.running)
        # the client has gone; the process that worked for it must go too
        until(lambda: not workers.running)
    assert not workers.running


def test_the_process_of_a_cancelled_job_is_gone_and_others_go_on():
    app = make_app()
    workers = app.state.workers
    with client_of(app) as client:
        slow = PECULIAR | {"draws": 9_000_000}
        with asked(client.base_url, "/api/numbers", slow):
            until(lambda: workers.running)
            (process,) = workers.running
            assert client.post("/api/numbers", json=PECULIAR).status_code == 200
        until(lambda: not workers.running)
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


def test_guesses_are_sensible():
    def table(**kinds):
        return {"columns": [{"name": name, "kind": kind} for name, kind in kinds.items()]}

    found = guess(
        table(Unit_ID="integer", Map_class="text", hectares="number"),
        table(Unit_ID="integer", reference="text"),
    )
    assert found == {
        "predicted": "Map_class",
        "true": "reference",
        "value": "hectares",
        "id": "Unit_ID",
    }
    found = guess(table(label="text"), table(label="text", checked="text"))
    assert found == {"predicted": "label", "true": "checked", "value": None, "id": None}


def test_csv_is_safe_to_open_in_a_spreadsheet():
    cells = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "a=1", "'x", ""]
    rows = [{"=class": cell, "estimate": -1.5, "mean": None} for cell in cells]
    header, *found = csv.reader(io.StringIO(csv_text(rows), newline=""))
    assert header == ["'=class", "estimate", "mean"]
    assert [row[0] for row in found] == [f"'{cell}" for cell in cells[:7]] + cells[7:]
    assert {(row[1], row[2]) for row in found} == {("-1.5", "")}


def test_a_work_list_that_cannot_be_drawn_is_refused_in_words(person, tables):
    asked_for = {"n": 20, "id": "company", "predicted": "predicted", "seed": 1}
    draw = {"url": "/api/files/draw", "headers": person.headers}
    assert "needed first" in person.client.post(**draw, json=asked_for).json()["error"]
    person.send("predictions", tables()[0].read_bytes())
    for change, words in (
        ({"n": 0}, "`n` must be"),
        ({"n": 1_000}, "`n` may be at most"),
        ({"n": "7"}, "`n` must be"),
        ({"id": None}, "`id` must name a column"),
        ({"id": ["company"]}, "`id` must name a column"),
        ({"size": "region"}, "region"),
        ({"decimal": "x"}, "`decimal` must be"),
        ({"show": ["x"]}, "The page may ask for"),
    ):
        answer = person.client.post(**draw, json=asked_for | change)
        assert answer.status_code == 422
        assert words in answer.json()["error"]
    assert "company" in person.client.post(**draw, json=asked_for).text
