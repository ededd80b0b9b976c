"""Only this page may talk to the server, and what it serves needs nothing from elsewhere."""

from __future__ import annotations

import re
import struct

import pytest

from tests.web.running import PECULIAR
from trueup.web.guard import host_allowed
from trueup.web.server import STATIC


@pytest.mark.parametrize(
    ("host", "listening", "allowed"),
    [
        ("127.0.0.1:8080", "127.0.0.1", True),
        ("localhost:1", "127.0.0.1", True),
        ("[::1]:8080", "::1", True),
        ("evil.example:8080", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("192.168.1.5:8080", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("[", "127.0.0.1", False),
        ("192.168.1.5:8080", "0.0.0.0", True),
        ("evil.example", "0.0.0.0", False),
        ("stats.example:8080", "stats.example", True),
    ],
)
def test_hosts(host, listening, allowed):
    assert host_allowed(host, listening) is allowed


def test_another_name_for_this_machine_is_refused(client):
    for path in ("/", "/api/about", "/static/main.js"):
        answer = client.get(path, headers={"Host": "evil.example"})
        assert answer.status_code == 403
        assert "version" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/numbers"), ("POST", "/api/session"), ("DELETE", "/api/session")],
)
def test_a_page_from_elsewhere_cannot_drive_it(client, headers, method, path):
    answer = client.request(method, path, json=PECULIAR, headers=headers)
    assert answer.status_code == 403
    assert "another web page" in answer.json()["error"]


def test_a_form_from_elsewhere_lacks_the_mark(client):
    request = client.build_request("POST", "/api/numbers", json=PECULIAR)
    del request.headers["X-Trueup"]
    assert client.send(request).status_code == 403
    preflight = client.options("/api/numbers", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in preflight.headers


def test_our_own_origin_is_welcome(client):
    headers = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/numbers", json=PECULIAR, headers=headers).status_code == 200


def test_every_answer_has_the_headers(client):
    for answer in (
        client.get("/"),
        client.get("/api/about"),
        client.get("/static/main.js"),
        client.get("/vega.js"),
        client.get("/nothing"),
        client.post("/api/numbers", json=PECULIAR),
        client.get("/", headers={"Host": "evil.example"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/about").headers["cache-control"] == "no-store"
    assert client.post("/api/numbers", json=PECULIAR).headers["cache-control"] == "no-store"


def test_wrong_addresses_are_answered_in_words(client):
    for answer, status in ((client.get("/x"), 404), (client.post("/"), 405)):
        assert answer.status_code == status
        assert set(answer.json()) == {"error", "hint", "field"}
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"):
        assert client.get(path).status_code == 404


def test_our_own_mistakes_are_an_apology_and_a_log(client, monkeypatch, capfd):
    def fall(*_):
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(client.app.state.sessions, "start", fall)
    answer = client.post("/api/session")
    assert answer.status_code == 500
    assert "sorry" in answer.json()["error"]
    assert "secret" not in answer.text
    assert "a secret of the server" in capfd.readouterr().err


def test_the_page_names_no_other_site():
    names = {path.name for path in STATIC.iterdir()}
    assert {"index.html", "main.js", "style.css"} <= names
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"^\s*//.*$|; // .*$", "", text, flags=re.M), path.name
        for name in re.findall(r'(?:from |src="|href=")"?(?:\./|/static/)([\w.]+)"', text):
            assert name in names, f"{path.name} needs {name}"
        for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert unsafe not in text, f"{path.name} uses {unsafe}"


def test_the_drawing_library_comes_once(client):
    first = client.get("/vega.js")
    assert "vegaEmbed" in first.text
    again = client.get("/vega.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


def test_screenshots_are_small(request):
    for path in (request.config.rootpath / "docs" / "screenshots").glob("*.png"):
        content = path.read_bytes()
        assert len(content) < 300_000, path.name
        assert struct.unpack(">I", content[16:20])[0] <= 1500, path.name
