"""A short run of the page's fuzzer; long: ``python -m tests.hostile.page_fuzz``."""

import json
import os

import httpx
import pytest

import trueup as tu
from tests.hostile import page_judge as judge
from tests.hostile.page_fuzz import bugs, fuzz
from tests.seeds import fresh

CASES = int(os.environ.get("TRUEUP_FUZZ_CASES", "20"))
GIVEN = {"test": [[40, 3], [4, 30]], "predicted_counts": [430, 330], "draws": 100, "seed": 5}


@pytest.mark.slow
@pytest.mark.search
def test_no_crash_no_hang_no_wrong_answer():
    seed = int(fresh(11).integers(2**32))
    assert bugs(fuzz(CASES, seed)) == [], f"seed {seed}"


def answer(rows, given=GIVEN):
    events = [{"answer": {"rows": rows, "info": {"seed": 5}}}, {"charts": {}}]
    content = "\n".join(map(json.dumps, events))
    return judge.numbers(httpx.Response(200, content=content), json.dumps(given).encode())


def test_the_judge_knows_a_right_answer_from_a_wrong_one():
    rows = tu.correct_counts(**GIVEN).rows()
    assert answer(rows) == "answered"
    with pytest.raises(judge.WrongError, match="differ"):
        answer([rows[0] | {"estimate": rows[0]["estimate"] + 1e-9}, rows[1]])
    with pytest.raises(judge.WrongError, match="`noise`"):
        answer(rows, GIVEN | {"noise": "no"})
    with pytest.raises(judge.WrongError, match="refuses"):
        answer(rows, GIVEN | {"draws": 1})
    refused = b'{"error": "`draws` must be more.", "hint": null, "field": "draws"}'
    assert judge.refusal(422, refused) == "refused"
    for status, body in (
        (500, refused),
        (200, refused),
        (422, b"Internal Server Error"),
        (422, b'{"error": "We are sorry."}'),
        (422, b'{"error": "Traceback (most recent call last)"}'),
        (422, b"[]"),
    ):
        with pytest.raises(judge.WrongError):
            judge.refusal(status, body)
