"""Hostile requests for the page: JSON, bodies, files, addresses and raw HTTP, made from a seed."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import random
from typing import Any

from tests.hostile.cases import csv_bytes, damaged, logical_rows, write_binary_pair
from trueup.web.endpoints import EXAMPLES

Path = list[Any]
LITERAL = "@literal:"
"""A string that begins so becomes what follows it, without quotes: numbers no float can hold."""

TEXTS = [
    "", " ", "a", "7", "-1", "nan", "random", "joint", "perks", "dark", "=1+1", "\r\n=2", "\x00",
    "<script>alert(1)</script>", "é", "e\u0301", "日本語", "🏪", "\ud800", "a\udfffb", "\u202eabc",
    "x" * 301, "x" * 100_000, "../../etc/passwd", "a,b", "{}", "%s%n", "'; DROP TABLE x; --",
]  # fmt: skip
NUMBERS = [
    0, -0.0, 1, -1, 0.5, 1.0, 2, 40, 100, 2**31, 2**53, 2**53 + 2, 2**63, 2**64, -(2**63), 10**30,
    10**400, 1e-300, 5e-324, 1e99, 1e100, 1e101, 1e154, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"),
    f"{LITERAL}1e999", f"{LITERAL}-1e999", f"{LITERAL}1e-999", f"{LITERAL}{'9' * 5000}",
    f"{LITERAL}0x10", f"{LITERAL}01", f"{LITERAL}+1", f"{LITERAL}.5", f"{LITERAL}1_000",
]  # fmt: skip
KEYS = [
    "test", "predicted_counts", "predicted_sums", "predicted_squares", "test_sums", "classes",
    "design", "method", "prior", "overlap", "noise", "draws", "interval", "seed", "theme",
    "progress", "self", "given", "P", "__class__", "", "a\ud800b", "x" * 5000, "predicted", "true",
    "value", "id", "by", "strata", "missing", "pooling", "folder", "kind", "predictions",
]  # fmt: skip
OPTIONS: dict[str, list[Any]] = {
    "design": ["random", "by_prediction", "by_class", "shifted"],
    "method": [
        "auto", "naive", "inverse", "bayes", "constrained", "joint", "calibrated", "difference",
        "test_set",
    ],
    "prior": ["perks", "jeffreys", "uniform"],
    "overlap": [None, True, False],
    "noise": [None, True, False],
    "interval": [None, 0.5, 0.9, 0.95, 0.999999],
    "theme": ["light", "dark", None],
}  # fmt: skip


def chance(rng: random.Random, p: float) -> bool:
    return rng.random() < p


def anything(rng: random.Random) -> Any:
    """A value of any type."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 5:
        return rng.choice(TEXTS)
    if kind == 5:
        return rng.choice([None, True, False])
    if kind == 6:
        return rng.choice([[], {}, [[]], [[1]], [1, 2], {"a": 1}, [None, None], [[1, 2], [3]]])
    deep: Any = 1
    for _ in range(rng.choice([3, 40, 400])):
        deep = [deep] if chance(rng, 0.5) else {"a": deep}
    return deep


def plain_numbers(rng: random.Random) -> dict[str, Any]:
    """A request that should be answered: an example, or numbers of our own, with a few draws."""
    if chance(rng, 0.5):
        example = copy.deepcopy(rng.choice(EXAMPLES))
        given = {name: x for name, x in example.items() if name not in ("name", "about", "source")}
    else:
        K = rng.choice([2, 2, 2, 3, 4, 8])
        test = [[rng.randint(5, 40) if g == h else rng.randint(0, 6) for h in range(K)]
                for g in range(K)]  # fmt: skip
        given = {"test": test, "predicted_counts": [rng.randint(300, 900) for _ in range(K)]}
        if chance(rng, 0.5):
            sums = [rng.uniform(1, 50) * v for v in given["predicted_counts"]]
            given["predicted_sums"] = sums
            given["predicted_squares"] = [
                rng.uniform(2, 9) * s * s / v
                for s, v in zip(sums, given["predicted_counts"], strict=True)
            ]
        if chance(rng, 0.6):
            given["classes"] = [f"class {i}" for i in range(K)]
        given["design"] = rng.choice(OPTIONS["design"])
    for name in ("method", "prior", "overlap", "noise", "interval", "theme"):
        if chance(rng, 0.15):
            given[name] = rng.choice(OPTIONS[name])
    if len(given["test"]) == 15 and given.get("prior") == "uniform":
        del given["prior"]  # its chains take minutes: right, but not for a fuzzer
    given["draws"] = rng.choice([100, 101, 300])
    given["seed"] = rng.randrange(2**32)
    return given


def places(tree: Any, here: Path | None = None) -> list[Path]:
    """The way to every value in a tree of lists and dicts."""
    here = here or []
    found = [here] if here else []
    if isinstance(tree, dict | list):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found += places(x, [*here, key])
    return found


def mutated(tree: Any, rng: random.Random, most: int = 3) -> Any:
    """Change a few places: another value, another type, gone, twice, or wrapped."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, most)):
        ways = places(tree)
        if not ways:
            return anything(rng)
        # every key has the same chance, though a matrix has more places than a word
        top = rng.choice(sorted({str(way[0]) for way in ways}))
        *way, last = rng.choice([way for way in ways if str(way[0]) == top])
        holder = tree
        for key in way:
            holder = holder[key]
        kind = rng.randrange(7)
        if kind <= 2:
            holder[last] = anything(rng)
        elif kind == 3:
            del holder[last]
        elif kind == 4:
            holder[last] = [holder[last]]
        elif kind == 5 and isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]))
        elif isinstance(holder, dict):
            holder[rng.choice(KEYS)] = anything(rng)
        else:
            holder[last] = rng.choice(NUMBERS)
    return tree


def many_classes(rng: random.Random) -> dict[str, Any]:
    """Thousands of classes, or long lists where a short one is meant."""
    K = rng.choice([60, 130, 501, 1000, 1500])
    given = plain_numbers(rng) | {
        "test": [[0] * K for _ in range(K)], "predicted_counts": [5] * K, "draws": 100,
        "classes": [f"c{i}" for i in range(K)], "predicted_sums": None, "predicted_squares": None,
    }  # fmt: skip
    kind = rng.randrange(4)
    if kind == 0:
        given["test"] = [[1, 2], [3, 4]]
    elif kind == 1:
        given["classes"] = ["same"] * 20_000
    elif kind == 2:
        given["test"] = [[1] * 2] * 50_000
    return given


def as_json(tree: Any) -> str:
    """Write it as JSON, with the literals that begin with the mark and NaN as they are."""
    text = json.dumps(tree)
    parts = text.split(f'"{LITERAL}')
    return parts[0] + "".join("".join(part.split('"', 1)) for part in parts[1:])


def broken_body(rng: random.Random) -> bytes:
    """Bytes that are almost, or not at all, a JSON object."""
    text = as_json(plain_numbers(rng))
    kind = rng.randrange(10)
    if kind == 0:
        return text[: rng.randrange(len(text))].encode()
    if kind == 1:
        return damaged(text.encode(), rng)
    if kind == 2:
        depth = rng.choice([100, 1000, 100_000])
        return (rng.choice(["[", '{"test":', '{"test":[[']) * depth).encode()
    if kind == 3:  # a key twice
        return (text[:-1] + ', "seed": 5, "draws": 100}').encode()
    if kind == 4:
        encoding = rng.choice(["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "latin-1", "utf-7"])
        return text.replace("class", "é").encode(encoding, errors="replace")
    if kind == 5:
        return text.encode().replace(b"c", rng.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00"]))
    if kind == 6:
        return rng.randbytes(rng.choice([0, 1, 30, 3000]))
    if kind == 7:
        return rng.choice([b"", b"null", b"[]", b"3", b'"x"', b"true", b"{}", b"{}{}", b"NaN"])
    if kind == 8:
        return b'{"test": "' + b"x" * rng.choice([10**5, 7_900_000, 8_100_000]) + b'"}'
    return text.replace("[", rng.choice(["(", "[,", "[[", "[/*x*/", "[\n\n"])).encode()


FILES_GIVEN = {"predicted": "predicted", "true": "true", "draws": 100, "overlap": False}


def sane_pair(rng: random.Random) -> tuple[bytes, bytes]:
    """Two small tables that can be corrected, with a group and a value."""
    labels = rng.choice([["a", "b"], ["=1+1", "-b"], ["<b>", "é"], ["a\nb", "a,b"], ["1", "2"]])
    N = rng.choice([40, 300])
    rows = [
        (str(i), rng.choice(["north", "south"]), rng.choice(labels), f"{rng.uniform(1, 9):.3f}")
        for i in range(N)
    ]
    test = [(r[0], r[2], r[2] if chance(rng, 0.8) else rng.choice(labels), r[3]) for r in rows[:30]]
    test += [("x1", a, b, "2.5") for a in labels for b in labels]
    return (
        _plain_csv(["unit", "region", "predicted", "y"], rows),
        _plain_csv(["unit", "predicted", "true", "y"], test),
    )


def _plain_csv(header: list[str], rows: list[tuple[str, ...]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *rows])
    return text.getvalue().encode()


def hostile_file(rng: random.Random, folder: Any) -> bytes:
    """What somebody might drop on the page instead of a table."""
    kind = rng.randrange(12)
    rows, _ = logical_rows(rng)
    table = csv_bytes(rows, ["predicted", "y"], rng)
    if kind == 0:
        return damaged(table, rng)
    if kind == 1:
        return rng.randbytes(rng.choice([1, 10, 1000, 100_000]))
    if kind == 2:
        return b""
    if kind == 3:
        return gzip.compress(b"a,b\n" + rng.choice([b"1,2\n", b"\x00", b"x"]) * 5_000_000)
    if kind == 4:
        return gzip.compress(table)[: rng.randrange(5, 60)]
    if kind in (5, 6):
        path, _, _ = write_binary_pair(folder, rng, "parquet")
        content = path.read_bytes()
        return content[: rng.randrange(len(content))] if kind == 5 else damaged(content, rng)
    if kind == 7:
        return b"PAR1" + rng.randbytes(rng.choice([0, 4, 8, 300])) + rng.choice([b"", b"PAR1"])
    if kind == 8:
        return multipart(rng, table)
    if kind == 9:
        header = rng.choice(["x" * 10_000, ",".join("abc" * 3000), "a,a,a", ",,,", '"', "\ufeff"])
        return f"{header}\n1,2\n".encode()
    if kind == 10:
        return b"a,b\n" + b"1,2\n" * rng.choice([1, 300_000, 600_000])
    return bytes(rng.choice([b",", b'"', b"\n", b"a", b"\xff", b";"])[0] for _ in range(3000))


def multipart(rng: random.Random, content: bytes) -> bytes:
    """A form, well made or not, where the bytes of a file are expected."""
    name = rng.choice(["file", "predictions", "", "x\r\nX-Evil: 1"])
    file = rng.choice(["a.csv", "../../../etc/passwd", "C:\\x", "a\x00.csv", "", "x" * 5000])
    text = io.BytesIO()
    text.write(rng.choice([b"--b\r\n", b"--\r\n", b"\r\n", b""]))
    text.write(f'Content-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n'.encode())
    text.write(content[:3000] + rng.choice([b"\r\n--b--\r\n", b"", b"\r\n--b"]))
    return text.getvalue()


ADDRESSES = [
    "/", "/vega.js", "/api/about", "/api/numbers", "/api/numbers/table", "/api/numbers/report",
    "/api/session", "/api/files/predictions", "/api/files/test_set", "/api/files/correct",
    "/api/files/table", "/api/files/report", "/static/main.js", "/static", "/static/", "/api",
    "/api/numbers/", "//api/numbers", "/api/files/..", "/static/..%2f..%2fserver.py", "/static/%00",
    "/static/" + "a" * 3000, "/static/main.js/x", "/%ff%fe", "/api/files/%2e%2e",
    "/?" + "a=1&" * 500,
    "/api/about?x=%00", "*", "http://evil.example/", "/static/%5c..%5cx", "/static/." * 200,
]  # fmt: skip
METHODS = [
    "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "FOO", "get",
]  # fmt: skip
HEADERS = [
    "Origin: http://[", "Origin: null", "Origin: http://evil.example", "Origin: \xff\xfe",
    "Sec-Fetch-Site: cross-site", "Range: bytes=0-1", "Range: bytes=abc", "Range: bytes=9-2,,-",
    "Range: bytes=99999999-", "Range: bytes=" + "0-1," * 400, "If-Range: x", "If-None-Match: *",
    "If-Modified-Since: x", "If-Modified-Since: Mon, 99 Foo 99999 99:99:99 GMT",
    "Content-Type: multipart/form-data", "Content-Type: \xff",
    "Content-Type: text/plain; charset=x",
    "Content-Encoding: gzip", "Expect: 100-continue", "Expect: x", "Upgrade: websocket",
    "Connection: Upgrade", "Connection: close", "X-Trueup-Session: x", "X-Trueup-Session: \xe9\xff",
    "X-Trueup-Session: " + "x" * 9000, "X-Trueup-Session:", "Cookie: a=b", "Accept-Encoding: gzip",
    "X-Forwarded-For: 1.2.3.4", "Transfer-Encoding: gzip", "Accept: text/html", "Trailer: x",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
]  # fmt: skip
LENGTHS = ["0", "1", "5", "-1", "abc", "1e3", "99999999999", "9" * 5000, "+5", "5, 5", "5, 6", "²"]
CHUNKS = [
    b"5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n", b"zz\r\nhello\r\n0\r\n\r\n", b"-1\r\n\r\n",
    b"ffffffffffffffffff\r\nx", b"5\r\nab", b"0\r\n\r\n", b"5;ext=1\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"3\r\nabcdef\r\n0\r\n\r\n",
]  # fmt: skip


def raw_request(rng: random.Random, host: str) -> tuple[bytes, bool]:
    """A request as bytes on the wire, odd in any of its parts; and whether it is whole."""
    method, address = rng.choice(METHODS), rng.choice(ADDRESSES)
    if chance(rng, 0.4):
        method, address = rng.choice(
            [("GET", x) for x in ADDRESSES[:3]] + [("POST", x) for x in ADDRESSES[3:7]]
            + [("GET", "/static/main.js"), ("HEAD", "/"), ("PUT", "/api/files/predictions")]
        )  # fmt: skip
    lines = [f"{method} {address} {rng.choice(['HTTP/1.1'] * 12 + ['HTTP/1.0', 'HTTP/9', ''])}"]
    if chance(rng, 0.95):
        odd = rng.choice(["evil.example", "", "[", "localhost:x", "127.0.0.1\xff", "127.0.0.1@x"])
        lines.append(f"Host: {odd if chance(rng, 0.1) else host}")
    if chance(rng, 0.8):
        lines.append("X-Trueup: 1")
    lines += rng.sample(HEADERS, rng.choice([0, 0, 1, 1, 2, 4]))
    body = rng.choice(
        [b"", b"{}", b"hello", b"\x00\xff" * 50, as_json(plain_numbers(rng)).encode()]
    )
    kind = rng.randrange(5)
    if kind == 0:
        lines.append(f"Content-Length: {rng.choice(LENGTHS)}")
    elif kind == 1:
        lines.append("Transfer-Encoding: chunked")
        body = rng.choice(CHUNKS)
        if chance(rng, 0.2):
            lines.append("Content-Length: 5")
    elif kind < 4:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines).encode("latin-1", errors="replace") + b"\r\n\r\n"
    if head.startswith(b"POST /api/session"):  # its token must come back, to end the session
        return head, True
    if chance(rng, 0.1):
        return damaged(head, rng) + body, False
    return head + body, kind > 1
