"""Whether an answer is right: the numbers of trueup itself, or a refusal in plain words."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from pathlib import Path
from typing import Any

import httpx

import trueup as tu

NUMBERS = ("test", "predicted_counts", "predicted_sums", "predicted_squares", "test_sums")
ENDS = ("sorry", "process ended", "and was stopped", "Traceback", "trueup-page-")


class WrongError(Exception):
    """What the page did that it may not do."""


def must(holds: object, words: str) -> None:
    if not holds:
        raise WrongError(words)


def refusal(status: int, body: bytes) -> str:
    """Check a refusal: a 4xx status, and JSON with what is wrong in plain words."""
    must(400 <= status < 500, f"status {status}: {body[:300]!r}")
    try:
        found = json.loads(body)
    except ValueError:
        raise WrongError(f"status {status} without JSON: {body[:300]!r}") from None
    plain_words(found)
    return "refused"


def plain_words(found: Any) -> None:
    must(isinstance(found, dict) and found.get("error"), f"no error in {str(found)[:300]}")
    words = f"{found['error']} {found.get('hint')}"
    must(not any(x in words for x in ENDS), f"not plain words: {words[:300]}")
    must(len(words) < 1500, "an endless message")


def events(answer: httpx.Response) -> dict[str, Any]:
    """All lines of an answer in one dict; every line must be JSON without NaN."""
    found: dict[str, Any] = {}
    for line in answer.content.splitlines():
        try:
            found |= json.loads(line, parse_constant=_no_constant)
        except ValueError:
            raise WrongError(f"a line that is no JSON: {line[:200]!r}") from None
    return found


def _no_constant(word: str) -> float:
    raise ValueError(word)


def numbers(answer: httpx.Response, body: bytes) -> str:
    """The answer to numbers: that of `correct_counts` for what was sent."""
    if answer.status_code != 200:
        return refusal(answer.status_code, answer.content)
    found = events(answer)
    must("error" not in found, f"an error after the answer: {found.get('error')}")
    must("answer" in found and "charts" in found, f"no answer but {list(found)}")
    same(found["answer"]["rows"], expected(body, found["answer"]["info"]["seed"]))
    return "answered"


def table(answer: httpx.Response, body: bytes) -> str:
    """The table of numbers entered; figures as written, labels as a spreadsheet may have them."""
    if answer.status_code != 200:
        return refusal(answer.status_code, answer.content)
    read = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    given = json.loads(body)
    if given.get("seed") is not None:
        rows = expected(body, given["seed"])
        for name in ("estimate", "naive", "lower"):
            want = ["" if row[name] is None else str(row[name]) for row in rows]
            must([row[name] for row in read] == want, f"{name} of the table differs")
    for row in read:
        must(not row["class"].startswith(tuple("=+-@\t\r\n")), f"a formula: {row['class']!r}")
    return "answered"


def report(answer: httpx.Response) -> str:
    if answer.status_code != 200:
        return refusal(answer.status_code, answer.content)
    must(answer.text.lower().startswith("<!doctype html>"), "no report")
    must("<script>alert" not in answer.text, "markup from the data")
    return "answered"


def refused_alike(body: bytes) -> None:
    """A request with nothing changed may be refused only if trueup itself refuses it."""
    try:
        expected(body, json.loads(body)["seed"])
    except WrongError:
        return
    raise WrongError("refused a plain request")


def expected(body: bytes, seed: int) -> list[dict[str, Any]]:
    """Rows of `correct_counts`, once what was sent is what it should be."""
    given = json.loads(body, object_pairs_hook=_once)
    for name in NUMBERS:
        must(_numeric(given.get(name)), f"`{name}` with what is no number was answered")
    for name in ("overlap", "noise"):
        x = given.get(name)
        must(x is None or isinstance(x, bool), f"`{name}` {x!r} was answered")
    options = {name: x for name, x in given.items() if x is not None and name != "theme"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tu.correct_counts(**options | {"seed": seed}).rows()
        except Exception as error:
            raise WrongError(f"answered what trueup refuses: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    must(len({name for name, _ in pairs}) == len(pairs), "a key that came twice was answered")
    return dict(pairs)


def _numeric(x: Any) -> bool:
    if isinstance(x, list):
        return all(map(_numeric, x))
    return x is None or (
        isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)
    )


def files(answer: httpx.Response, paths: tuple[Path, Path], given: dict[str, Any]) -> str:
    """The answer to files: that of `correct` for the same bytes."""
    if answer.status_code != 200:
        return refusal(answer.status_code, answer.content)
    found = events(answer)
    if "error" in found:  # after the check
        must("answer" not in found, f"an error after the answer: {found['error']}")
        plain_words(found)
        return "refused"
    must({"check", "answer", "charts", "ready"} <= set(found), f"no answer but {list(found)}")
    options = {name: x for name, x in given.items() if x is not None and name != "theme"}
    options["seed"] = found["answer"]["info"]["seed"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rows = tu.correct(*map(str, paths), **options).rows()
        except Exception as error:
            raise WrongError(f"answered what trueup refuses: {error}") from None
    same(found["answer"]["rows"], rows)
    return "answered"


def same(got: list[dict[str, Any]], want: list[dict[str, Any]]) -> None:
    must(got == json.loads(json.dumps(want, default=str)), "rows differ from those of trueup")
