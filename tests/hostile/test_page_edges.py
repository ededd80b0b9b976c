"""What the page's fuzzer found, kind by kind; and tables that a spreadsheet may open."""

import asyncio
import csv
import io
import json
import socket
import threading
import time

import httpx
import pytest
from click.testing import CliRunner

import trueup as tu
from tests.hostile.page_server import Page
from tests.patience import PATIENCE
from tests.web.running import PECULIAR, asked, client_of, until
from trueup.cli import main
from trueup.present.output import writer
from trueup.web.guard import Guard
from trueup.web.server import make_app

PREDICTIONS = b"predicted\n" + b"a\nb\n" * 40
TEST_SET = b"predicted,true\n" + b"a,a\nb,b\n" * 9 + b"a,b\nb,a\n"
SLOW = PECULIAR | {"draws": 9_000_000}


@pytest.fixture(scope="module")
def page():
    with client_of(make_app(max_upload=200_000)) as client:
        yield client


def opened(page):
    return {"X-Trueup-Session": page.post("/api/session").json()["session"]}


def words(answer, status=422):
    assert answer.status_code == status, answer.text
    found = answer.json()
    assert "sorry" not in found["error"]
    return found


@pytest.mark.parametrize("where", ["", "/table", "/report"])
@pytest.mark.parametrize(
    "body",
    [
        json.dumps(PECULIAR)[:-1] + ', "seed": 2}',
        json.dumps(PECULIAR | {"classes": ["\ud800", "b"]}),
        json.dumps(PECULIAR | {"\udfff": 1}),
    ],
    ids=["a name twice", "half a character in a label", "half a character in a name"],
)
def test_json_that_says_two_things_or_no_text(page, where, body):
    assert "each name once" in words(page.post(f"/api/numbers{where}", content=body))["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"overlap": "no"}, {"noise": 0}, {"noise": [[1]]}, {"seed": 1.0}, {"seed": True},
        {"draws": 200.0}, {"interval": True},
        {"test": [[True, 1], [2, 3]]}, {"test": [["4", 1], [2, 3]]}, {"test": [4, 1]},
        {"predicted_counts": [10, "90"]}, {"predicted_sums": [1.5, None]},
        {"predicted_sums": "12"}, {"test_sums": [[1, 2], 3]},
    ],
    ids=str,
)  # fmt: skip
def test_a_value_of_another_type_is_not_converted(page, change):
    (name,) = change
    found = words(page.post("/api/numbers", json=PECULIAR | change))
    assert found["field"] == name
    assert "got something else" in found["error"]


def test_an_origin_that_is_no_address(page):
    answer = page.post("/api/numbers", json=PECULIAR, headers={"Origin": "http://["})
    assert "another web page" in words(answer, 403)["error"]


def test_an_address_is_ours_or_does_not_exist(page):
    assert "nothing" in words(page.get("/api/about/"), 404)["error"]
    whole = page.get("/static/main.js").content
    for span in ("bytes=0-1", "bytes=abc", "bytes=9999999-"):
        answer = page.get("/static/main.js", headers={"Range": span})
        assert (answer.status_code, answer.content) == (200, whole)


def test_a_websocket_is_closed():
    sent = []

    async def send(message):
        sent.append(message["type"])

    asyncio.run(Guard(None, "127.0.0.1")({"type": "websocket"}, None, send))
    assert sent == ["websocket.close"]


class LeaveError(Exception):
    """The other side gives up in the middle of an upload."""


def leaves():
    yield b"a,b\n"
    time.sleep(0.05)
    raise LeaveError


def test_who_leaves_while_sending_is_no_news(page, capfd):
    headers = opened(page)
    with pytest.raises(LeaveError):
        page.put("/api/files/predictions", content=leaves(), headers=headers)
    with pytest.raises(LeaveError):
        page.post("/api/numbers", content=leaves())
    until(lambda: not files_of(page))
    page.delete("/api/session", headers=headers)
    assert capfd.readouterr().err == ""


def files_of(page):
    return [x for x in page.app.state.sessions.root.rglob("*") if x.is_file()]


@pytest.mark.parametrize("what", ["table", "report"])
def test_who_leaves_stops_the_table_and_the_report(page, what):
    with asked(page.base_url, f"/api/numbers/{what}", SLOW):
        until(lambda: page.app.state.workers.running)
    until(lambda: not page.app.state.workers.running)
    until(lambda: not list(page.app.state.sessions.root.iterdir()))


def test_uploads_at_once_and_the_end_of_the_session(page, capfd):
    headers = opened(page)
    found = []

    def send(role, content):
        with httpx.Client(base_url=page.base_url, headers=page.headers, trust_env=False) as client:
            answer = client.put(
                f"/api/files/{role}", content=content, headers=headers, timeout=PATIENCE
            )
            found.append(answer.status_code)

    def all_at_once(more=()):
        found.clear()
        jobs = [("predictions", PREDICTIONS)] * 3 + [("test_set", TEST_SET)]
        threads = [threading.Thread(target=send, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        for call in more:
            call()
        for thread in threads:
            thread.join()

    all_at_once()
    assert found == [200] * 4
    assert {x.name for x in files_of(page)} == {"predictions.csv", "test_set.csv"}
    all_at_once([lambda: page.delete("/api/session", headers=headers)])
    assert set(found) <= {200, 410}
    assert files_of(page) == []
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_a_newer_request_stops_the_older_one_in_words(page, capfd):
    headers = opened(page)
    page.put("/api/files/predictions", content=PREDICTIONS, headers=headers)
    page.put("/api/files/test_set", content=TEST_SET, headers=headers)
    given = {"predicted": "predicted", "true": "true", "overlap": False}
    older = []

    def ask():
        with httpx.Client(base_url=page.base_url, headers=page.headers, trust_env=False) as client:
            slow = given | {"draws": 9_000_000}
            answer = client.post("/api/files/correct", json=slow, headers=headers, timeout=PATIENCE)
            older.append((answer.status_code, json.loads(answer.text.splitlines()[-1])))

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: page.app.state.workers.running)
    newer = page.post("/api/files/correct", json=given, headers=headers)
    thread.join()
    assert "report" in newer.text.splitlines()[-1]
    ((status, last),) = older
    assert status in (200, 409)  # stopped after its check, or before
    assert "a newer request" in last["error"]
    page.delete("/api/session", headers=headers)
    assert capfd.readouterr().err == ""


def test_text_in_parquet_that_is_no_text(page, tmp_path):
    """Its columns can be read, its rows cannot."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffers = pa.array([b"a\xff", b"b"], pa.binary()).buffers()
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"predicted": pa.Array.from_buffers(pa.string(), 2, buffers)}), path)
    headers = opened(page)
    answer = page.put("/api/files/predictions", content=path.read_bytes(), headers=headers)
    page.delete("/api/session", headers=headers)
    assert "predictions.parquet must be a readable table" in words(answer)["error"]


def test_http_that_breaks_in_the_middle_is_refused_once():
    """Uvicorn refused it, the page answered too, and the log had the traceback of that."""
    running = Page()
    try:
        for request in ("POST /api/about", "POST /nothing", "POST /api/numbers", "HEAD /"):
            for chunk in (b"zz\r\nhello\r\n", b"-1\r\n\r\n"):
                with socket.create_connection(
                    ("127.0.0.1", running.port), timeout=PATIENCE
                ) as line:
                    line.sendall(
                        f"{request} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Trueup: 1\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n".encode()
                        + chunk
                    )
                    assert line.recv(100).startswith(b"HTTP/1.1 4")
        # with the package websockets installed, Uvicorn never answered an upgrade that has a body
        with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as line:
            line.sendall(
                b"POST /api/numbers HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
                b"Upgrade: websocket\r\nContent-Length: 2\r\n\r\n{}"
            )
            assert line.recv(100).startswith(b"HTTP/1.1 4")
        assert running.client.post("/api/numbers", json=PECULIAR).status_code == 200
    finally:
        said = running.log()
        wrong = running.stop()
    assert (said, wrong) == ("", [])


@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
@pytest.mark.parametrize(
    ("label", "shown"),
    [(x, f"'{x}") for x in ("=1+1", "+1", "-1", "@x", "\tx", "\r=1", "\n=1", "'=1")]
    + [(x, x) for x in ("a\rb", "a=1", "'a", "a,b")],
)
def test_tables_are_safe_to_open_in_a_spreadsheet(page, tmp_path, label, shown):
    """The command's and the page's alike; and a CR stays within its cell."""
    given = {"test": [[9, 1], [1, 9]], "predicted_counts": [30, 40], "seed": 1}
    given |= {"classes": [label, "b"], "draws": 100}
    writer(str(tmp_path / "result.csv"))(tu.correct_counts(**given))  # what --output calls
    sent = page.post("/api/numbers/table", json=given)
    for content in ((tmp_path / "result.csv").read_bytes(), sent.content):
        rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
        assert [row[0] for row in rows] == ["class", shown, "b"]


def test_headers_are_safe_too(page, tmp_path):
    """A column of groups has the name that the file gives it."""
    predictions = tmp_path / "p.csv"
    predictions.write_bytes(b"=group,predicted\n" + b"x,a\ny,b\n" * 40)
    (tmp_path / "t.csv").write_bytes(TEST_SET)
    arguments = ["correct", str(predictions), str(tmp_path / "t.csv"), "--by", "=group"]
    path = tmp_path / "result.csv"
    CliRunner().invoke(main, [*arguments, "--draws", "100", "--no-overlap", "--output", str(path)])
    headers = opened(page)
    page.put("/api/files/predictions", content=predictions.read_bytes(), headers=headers)
    page.put("/api/files/test_set", content=TEST_SET, headers=headers)
    given = {
        "predicted": "predicted",
        "true": "true",
        "by": "=group",
        "overlap": False,
        "draws": 100,
    }
    page.post("/api/files/correct", json=given, headers=headers)
    sent = page.get("/api/files/table", headers=headers)
    page.delete("/api/session", headers=headers)
    for content in (path.read_text(), sent.text):
        assert content.startswith("'=group,")
