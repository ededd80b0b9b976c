"""The numbers endpoint: the answer of `correct_counts`, and plain words for everything else."""

from __future__ import annotations

import json

import pytest

import trueup
from tests.web.running import PECULIAR
from trueup.present.tables import shares, written
from trueup.web.endpoints import EXAMPLES
from trueup.web.limits import Limits


def ask(client, given, path="/api/numbers"):
    answer = client.post(path, json=given)
    events = [json.loads(line) for line in answer.text.splitlines()]
    return answer.status_code, {name: x for event in events for name, x in event.items()}


@pytest.mark.parametrize(
    "given",
    [
        PECULIAR,
        PECULIAR | {"method": "bayes", "prior": "jeffreys", "noise": False, "interval": 0.8},
        {"test": [[40, 3], [5, 52]], "predicted_counts": [900, 2000], "seed": 7, "draws": 500},
        {
            "test": [[30, 2, 1], [4, 25, 3], [0, 2, 33]],
            "predicted_counts": [100, 200, 300],
            "predicted_sums": [1e4, 3e4, 2e4],
            "predicted_squares": [3e6, 9e6, 4e6],
            "classes": ["a", "b", "c"],
            "design": "by_class",
            "seed": 3,
        },
    ],
    ids=["peculiar", "options", "random", "totals"],
)
@pytest.mark.filterwarnings("ignore::trueup.errors.TrueupWarning")
def test_the_answer_is_that_of_correct_counts(client, given):
    status, found = ask(client, given)
    est = trueup.correct_counts(**given)
    assert status == 200
    assert found["answer"]["rows"] == est.rows()
    assert found["answer"]["info"]["warnings"] == est.info["warnings"]
    assert found["answer"]["written"] == written(est)
    assert found["answer"]["markdown"] == est.to_markdown()
    if est.M is not None:
        assert [row["mean"] for row in found["answer"]["accuracy"]] == [
            row["mean"] for row in shares(est, est.accuracy())
        ]
    assert {"totals", "density", "test_set"} <= set(found["charts"])


def test_plain_inversion_of_the_peculiar_example_is_refused(client):
    _, found = ask(client, PECULIAR)
    inversion = found["answer"]["inversion"]
    assert inversion["values"] == pytest.approx([-75, 175])
    assert not inversion["permissible"]
    assert "−75" in inversion["words"]
    assert "refused" in inversion["words"]
    assert all(0 <= row["lower"] <= row["upper"] <= 100 for row in found["answer"]["rows"])


def test_plain_inversion_that_is_possible_or_undefined(client):
    _, found = ask(client, PECULIAR | {"predicted_counts": [60, 40]})
    assert found["answer"]["inversion"]["permissible"]
    assert found["answer"]["inversion"]["values"] == pytest.approx([50, 50])
    _, found = ask(client, PECULIAR | {"test": [[1, 1], [2, 2]]})
    assert found["answer"]["inversion"]["values"] is None


def test_sentence_names_everything_that_made_it(client):
    _, found = ask(client, PECULIAR)
    answer = found["answer"]
    words = answer["sentences"][0]
    for part in ("“webshop”", "95% interval", "10 audited units", "seed 1", trueup.__version__):
        assert part in words
    assert f"estimated at {answer['rows'][0]['estimate']:g}" in words


def test_the_command_gives_the_same_answer(client):
    import shlex

    from click.testing import CliRunner

    from trueup.cli import main

    _, found = ask(client, PECULIAR | {"prior": "uniform", "interval": 0.9})
    words = shlex.split(found["answer"]["command"])
    done = CliRunner().invoke(main, [*words[1:], "--json"])
    assert json.loads(done.stdout)["rows"] == found["answer"]["rows"]


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"test": [[4, 1]]}, "classes", "each of the 1 rows"),
        ({"test": [[4, 1], [2]]}, "test", "numbers"),
        ({"test": [[4, -1], [2, 3]]}, "test", "at least 0"),
        ({"test": [[4, "x"], [2, 3]]}, "test", "numbers"),
        ({"test": None}, "test", "missing"),
        ({"test": [[4, 1e400], [2, 3]]}, "test", "finite"),
        ({"predicted_counts": [10]}, "predicted_counts", "must have shape (2,)"),
        ({"predicted_counts": [10, 0.5]}, "predicted_counts", "whole"),
        ({"predicted_squares": [1, 2]}, "predicted_squares", "predicted_sums"),
        ({"classes": ["a", "a"]}, "classes", "differ"),
        ({"classes": ["a", {"b": 1}]}, "classes", "names"),
        ({"classes": ["a" * 400, "b"]}, "classes", "300 characters"),
        ({"design": "guessed"}, "design", "one of"),
        ({"design": ["random"]}, "design", "one of"),
        ({"prior": {"alpha": 1}}, "prior", "word"),
        ({"interval": 95}, "interval", "between 0 and 1"),
        ({"seed": -1}, "seed", "whole number"),
        ({"draws": 10}, "draws", "whole number"),
        ({"draws": 50_000_000}, "draws", "at most"),
        ({"colour": "red"}, None, "colour"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_bad_numbers_are_refused_in_words(client, change, field, words):
    if "test" in change and change["test"] and change["test"][0] == [4, 1e400]:
        body = json.dumps(PECULIAR).replace("[4, 1]", "[4, 1e400]")
        answer = client.post("/api/numbers", content=body)
    else:
        answer = client.post("/api/numbers", json=PECULIAR | change)
    found = answer.json()
    assert answer.status_code == 422
    assert words in found["error"]
    assert found["field"] == field
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b"\xff", b'{"seed": NaN}', b"[" * 100_000, b'{"test": [[Infinity]]}'],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_is_refused(client, body):
    answer = client.post("/api/numbers", content=body)
    assert answer.status_code == 422
    assert "JSON" in answer.json()["error"]


def test_huge_numbers_of_classes_and_bytes_are_refused(client):
    K = 501
    status, found = ask(client, {"test": [[1] * K] * K, "predicted_counts": [9] * K, "draws": 100})
    assert (status, found["field"]) == (422, None)
    assert "at most 500 classes" in found["error"]
    answer = client.post("/api/numbers", content=b" " * (Limits.body + 1))
    assert answer.status_code == 413
    assert "at most 8 MB" in answer.json()["error"]


def test_hostile_labels_come_back_as_they_are(client):
    labels = ["<img src=x onerror=alert(1)>", '=HYPERLINK("http://evil")']
    _, found = ask(client, PECULIAR | {"classes": labels})
    assert [row["class"] for row in found["answer"]["rows"]] == labels
    csv = client.post("/api/numbers/table", json=PECULIAR | {"classes": labels})
    assert csv.headers["content-disposition"].startswith("attachment")
    assert '"\'=HYPERLINK(""http://evil"")"' in csv.text
    report = client.post("/api/numbers/report", json=PECULIAR | {"classes": labels})
    assert report.status_code == 200
    assert "<img" not in report.text


def test_files_of_numbers_are_refused_in_words_too(client):
    for what in ("table", "report"):
        answer = client.post(f"/api/numbers/{what}", json=PECULIAR | {"seed": "x"})
        assert answer.status_code == 422
        assert answer.json()["field"] == "seed"


def test_a_crowd_is_sent_away(client, monkeypatch):
    monkeypatch.setattr(Limits, "waiting", 0)
    status, found = ask(client, PECULIAR)
    assert status == 503
    assert "waiting" in found["error"]


def test_every_example_has_an_answer_and_a_source(client):
    for example in client.get("/api/about").json()["examples"]:
        given = {name: example[name] for name in example if name not in ("name", "about", "source")}
        status, found = ask(client, given | {"seed": 1})
        assert status == 200, found
        assert len(found["answer"]["rows"]) == len(example["classes"])
        assert example["source"]
    assert [len(example["classes"]) for example in EXAMPLES] == [2, 2, 15, 2]


def test_the_webshops_are_those_of_the_demo(tmp_path):
    import duckdb

    from trueup.cli.demo import make_files

    predictions, test_set, _ = make_files(tmp_path, 2019)
    rows = duckdb.sql(
        f"SELECT count(*), sum(turnover), sum(turnover * turnover) FROM '{predictions}' "
        "GROUP BY predicted ORDER BY predicted DESC"
    ).fetchall()
    assert [row[0] for row in rows] == EXAMPLES[1]["predicted_counts"]
    assert [row[1] for row in rows] == pytest.approx(EXAMPLES[1]["predicted_sums"], abs=1)
    assert [row[2] for row in rows] == pytest.approx(EXAMPLES[1]["predicted_squares"], rel=1e-9)
    cells = {
        (true, predicted): n
        for true, predicted, n in duckdb.sql(
            f"SELECT \"true\", predicted, count(*) FROM '{test_set}' GROUP BY ALL"
        ).fetchall()
    }
    names = EXAMPLES[1]["classes"]
    assert [[cells.get((g, h), 0) for h in names] for g in names] == EXAMPLES[1]["test"]
