"""The page's fuzzer: ``python -m tests.hostile.page_fuzz --cases 4000 --seed 1``.

One ``trueup serve`` gets all cases. Each is made from a seed of its own and judged: answered with
the numbers of trueup itself, refused with a 4xx status in plain words, or a bug: a 5xx, a traceback
in an answer or in the server's log, another number, or no answer in time. At the end the server
must live, its memory be bounded, and its temporary folder be gone. ``--kind numbers --case SEED``
repeats one case.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path

import httpx

from tests.hostile import page_cases as cases
from tests.hostile import page_judge as judge
from tests.hostile.page_server import MOST_GROWTH, TIMEOUT, Page

HEADER = "X-Trueup-Session"
SLOW = {"test": [[4, 1], [2, 3]], "predicted_counts": [10, 90], "design": "shifted",
        "draws": 9_000_000}  # fmt: skip


def numbers(rng: random.Random, page: Page) -> str:
    """Numbers, most of them with something changed, for the answer, the table or the report."""
    tree = cases.many_classes(rng) if rng.random() < 0.01 else cases.plain_numbers(rng)
    plain = rng.random() < 0.15
    body = cases.as_json(tree if plain else cases.mutated(tree, rng)).encode()
    found = _ask_numbers(rng, page, body)
    if plain and found != "answered" and len(tree["test"]) < 50:
        judge.refused_alike(body)
    return found


def broken(rng: random.Random, page: Page) -> str:
    """Bodies that are no JSON, or hardly."""
    return _ask_numbers(rng, page, cases.broken_body(rng))


def _ask_numbers(rng: random.Random, page: Page, body: bytes) -> str:
    where = rng.choice(["", "", "", "", "", "/table", "/report"])
    answer = page.client.post(f"/api/numbers{where}", content=body)
    if where == "/table":
        return judge.table(answer, body)
    return judge.report(answer) if where else judge.numbers(answer, body)


class Session:
    """A session for files, ended when it is left."""

    def __init__(self, page: Page) -> None:
        self.client = page.client
        answer = self.client.post("/api/session")
        judge.must(answer.status_code == 200, f"no session: {answer.text[:200]}")
        self.headers = {HEADER: answer.json()["session"]}

    def send(self, role: str, content: bytes) -> httpx.Response:
        return self.client.put(f"/api/files/{role}", content=content, headers=self.headers)

    def ask(self, body: bytes) -> httpx.Response:
        return self.client.post("/api/files/correct", content=body, headers=self.headers)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.delete("/api/session", headers=self.headers)


def files(rng: random.Random, page: Page) -> str:
    """Two good files and a request with something changed."""
    contents = cases.sane_pair(rng)
    given = dict(cases.FILES_GIVEN) | {"seed": rng.randrange(2**32)}
    given |= {name: x for name, x in {"value": "y", "by": ["region"]}.items() if rng.random() < 0.3}
    plain = rng.random() < 0.3
    body = cases.as_json(given if plain else cases.mutated(given, rng)).encode()
    with Session(page) as session, tempfile.TemporaryDirectory() as name:
        paths = (Path(name) / "predictions.csv", Path(name) / "test_set.csv")
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
            judge.must(session.send(path.stem, content).status_code == 200, "file refused")
        answer = session.ask(body)
        sent = json.loads(body) if answer.status_code == 200 else {}
        found = judge.files(answer, paths, sent)
        judge.must(
            not plain or found == "answered", f"refused a plain request: {answer.text[:300]}"
        )
        for what in ("table", "report"):
            there = page.client.get(f"/api/files/{what}", headers=session.headers)
            judge.must((there.status_code == 200) == (found == "answered"), f"{what} and {found}")
        return found


def uploads(rng: random.Random, page: Page) -> str:
    """A file that is no table, with a good one beside it; then an answer is asked for."""
    role, other = rng.sample(["predictions", "test_set"], 2)
    with Session(page) as session, tempfile.TemporaryDirectory() as name:
        answer = session.send(role, cases.hostile_file(rng, Path(name)))
        if answer.status_code != 200:
            judge.refusal(answer.status_code, answer.content)
        else:
            judge.must(answer.json()["table"]["columns"], "a table without columns")
        answer = session.send(other, cases.sane_pair(rng)[other == "test_set"])
        judge.must(answer.status_code == 200, f"a good file was refused: {answer.text[:300]}")
        given = {name: x for name, x in (answer.json()["guess"] or {}).items() if x}
        answer = session.ask(cases.as_json(given | {"draws": 100}).encode())
        if answer.status_code != 200:
            return judge.refusal(answer.status_code, answer.content)
        found = judge.events(answer)
        if "error" in found:
            judge.plain_words(found)
        return "refused" if "error" in found else "answered"


def tokens(rng: random.Random, page: Page) -> str:
    """Guesses at somebody else's session find nothing."""
    with Session(page) as session:
        mine = session.headers[HEADER]
        guess = rng.choice([
            "", mine[:-1], mine + "x", mine.swapcase(), "../" + mine, "%00", "x" * 3000, "é", "*",
            mine[::-1], f"{mine},{mine}",
        ])  # fmt: skip
        headers = {HEADER: guess.encode("latin-1")}
        method, where = rng.choice([
            ("PUT", "predictions"), ("PUT", "test_set"), ("POST", "correct"), ("GET", "table"),
            ("GET", "report"),
        ])  # fmt: skip
        session.send("predictions", b"predicted\na\nb\n")
        answer = page.client.request(method, f"/api/files/{where}", content=b"{}", headers=headers)
        judge.must(answer.status_code == 410, f"status {answer.status_code} for {guess[:50]!r}")
        page.client.delete("/api/session", headers=headers)
        again = session.send("test_set", b"predicted,true\na,a\n")
        judge.must(again.status_code == 200, "somebody else ended the session")
        return judge.refusal(answer.status_code, answer.content)


def wire(rng: random.Random, page: Page) -> str:
    """HTTP that is odd in its method, address, headers, length or chunks."""
    request, whole = cases.raw_request(rng, f"127.0.0.1:{page.port}")
    with socket.create_connection(("127.0.0.1", page.port), timeout=TIMEOUT) as line:
        line.sendall(request)
        if not whole:  # the server may wait for the rest: there is none
            time.sleep(0.05)
            line.shutdown(socket.SHUT_WR)
        answer = HTTPResponse(line, method=request.split(b" ", 1)[0].decode("latin-1"))
        try:
            answer.begin()
            body = answer.read()
        except (HTTPException, ConnectionError):
            judge.must(not whole, f"no answer to {request[:300]!r}")
            return "dropped"
    if answer.status < 400:
        judge.must(answer.status in (200, 204, 304), f"status {answer.status}")
        if body.startswith(b'{"session"'):
            page.client.delete("/api/session", headers={HEADER: json.loads(body)["session"]})
        return "answered"
    if request.startswith(b"HEAD") or body == b"Invalid HTTP request received.":
        judge.must(answer.status < 500, f"status {answer.status}")
        return "refused"
    return judge.refusal(answer.status, body)


def cancelled(rng: random.Random, page: Page) -> str:
    """Somebody leaves in the middle of a computation or an upload; another's answer is right."""
    kind = rng.randrange(3)
    with Session(page) as session, page.new_client() as leaving:
        leaving.timeout = httpx.Timeout(TIMEOUT, read=rng.uniform(0.01, 0.4))
        try:
            if kind == 0:
                where = rng.choice(["", "/table", "/report"])
                leaving.post(f"/api/numbers{where}", json=SLOW)
            elif kind == 1:
                for role, content in zip(
                    ("predictions", "test_set"), cases.sane_pair(rng), strict=True
                ):
                    session.send(role, content)
                given = cases.FILES_GIVEN | {"draws": 3_000_000, "by": ["region"]}
                leaving.post("/api/files/correct", json=given, headers=session.headers)
            else:
                leaving.put("/api/files/predictions", content=_stops(), headers=session.headers)
        except (httpx.HTTPError, StopUploadError):
            pass
        body = cases.as_json(cases.plain_numbers(rng)).encode()
        found = judge.numbers(page.client.post("/api/numbers", content=body), body)
        if found != "answered":
            judge.refused_alike(body)
        return found


class StopUploadError(Exception):
    """The other side gives up."""


def _stops():
    yield b"a,b\n" * 100
    time.sleep(0.02)
    raise StopUploadError


def crowd(rng: random.Random, page: Page) -> str:
    """Several requests at once in one session: uploads, answers, downloads, and its end."""
    contents = dict(zip(("predictions", "test_set"), cases.sane_pair(rng), strict=True))
    given = cases.as_json(cases.FILES_GIVEN).encode()
    wrong: list[str] = []
    with Session(page) as session:
        for role, content in contents.items():
            session.send(role, content)

        def act(method: str, where: str, body: bytes, patience: float) -> None:
            try:
                with page.new_client() as client:
                    client.timeout = httpx.Timeout(TIMEOUT, read=patience)
                    answer = client.request(method, where, content=body, headers=session.headers)
                if answer.status_code not in (200, 204):
                    judge.refusal(answer.status_code, answer.content)
                elif "ndjson" in answer.headers.get("content-type", "") and (
                    "error" in (found := judge.events(answer))
                ):
                    judge.plain_words(found)
            except httpx.ReadTimeout:
                if patience == TIMEOUT:
                    wrong.append("HANG")
            except httpx.RemoteProtocolError:
                pass  # stopped in the middle: the session went on to something else
            except judge.WrongError as error:
                wrong.append(str(error))

        actions = [
            ("PUT", "/api/files/predictions", contents["predictions"]),
            ("PUT", "/api/files/predictions", contents["predictions"]),
            ("PUT", "/api/files/test_set", contents["test_set"]),
            ("POST", "/api/files/correct", given), ("POST", "/api/files/correct", given),
            ("GET", "/api/files/table", b""), ("GET", "/api/files/report", b""),
            ("DELETE", "/api/session", b""),
        ]  # fmt: skip
        threads = [
            threading.Thread(target=act, args=(*a, rng.choice([TIMEOUT, TIMEOUT, 0.05])))
            for a in rng.choices(actions, k=rng.randint(2, 6))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    judge.must(not wrong, "; ".join(wrong)[:600])
    return "answered"


KINDS: dict[str, tuple[Callable[[random.Random, Page], str], int]] = {
    "numbers": (numbers, 40), "broken": (broken, 15), "wire": (wire, 20), "tokens": (tokens, 5),
    "uploads": (uploads, 10), "files": (files, 6), "cancelled": (cancelled, 2), "crowd": (crowd, 2),
}  # fmt: skip
"""Each kind of case and how many of a hundred it gets."""


def run_case(kind: str, seed: int, page: Page) -> str:
    """One case: what became of it, in a word, or what is wrong."""
    try:
        with page.watched():
            found = KINDS[kind][0](random.Random(seed), page)
    except judge.WrongError as error:
        found = f"WRONG {error}"
    except httpx.TimeoutException:
        found = f"HANG over {TIMEOUT:g} s"
    except Exception:
        found = "CRASH " + traceback.format_exc(limit=-4)
    if page.hang:
        found = f"HANG {page.hang}"
    said = page.log()
    return f"{found} CRASH in the log: {said[-1500:]}" if said.strip() else found


def fuzz(cases: int, seed: int, kinds: list[str] | None = None) -> list[tuple[str, int, str]]:
    """Run so many cases; give (kind, seed, what became of it) for each, and for the server."""
    rng = random.Random(seed)
    chosen = kinds or list(KINDS)
    todo = rng.choices(chosen, [KINDS[kind][1] for kind in chosen], k=cases)
    page = Page()
    try:
        found, early = [], 0.0
        for i, kind in enumerate(todo):
            number = rng.getrandbits(48)
            found.append((kind, number, run_case(kind, number, page)))
            if i == min(200, cases // 2):
                early = page.memory()
            if not page.alive():
                break
        growth = page.memory() - early
    finally:
        wrong = page.stop()
    if growth > MOST_GROWTH:
        wrong.append(f"WRONG the server grew by {growth:.0f} MB")
    print(f"the server grew by {growth:.1f} MB after its first cases")
    return found + [("server", seed, words) for words in wrong or ["answered"]]


def bugs(found: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """Those that are neither answered nor refused."""
    return [x for x in found if x[2] not in ("answered", "refused", "dropped")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--case", type=int, help="the seed of one case to repeat")
    given = parser.parse_args()
    if given.case is not None:
        page = Page()
        for kind in given.kind or KINDS:
            print(kind, run_case(kind, given.case, page))
        print(page.stop())
        return 0
    seed = random.SystemRandom().getrandbits(32) if given.seed is None else given.seed
    begun = time.monotonic()
    found = fuzz(given.cases, seed, given.kind)
    passed = time.monotonic() - begun
    table = Counter((kind, outcome.split()[0]) for kind, _, outcome in found)
    for (kind, outcome), count in sorted(table.items()):
        print(f"{kind:9} {outcome:9} {count:7,}")
    wrong = bugs(found)
    for kind, number, outcome in wrong[:40]:
        print(f"\n{kind} {number}: {outcome}")
    print(f"\n{len(found) - 1:,} cases, {len(wrong)} bugs; seed {seed}, {passed:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
