"""`--score` on the command line: the same figures as in Python, and the command that repeats it."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import trueup as tu
from trueup.cli import main
from trueup.present.reproduce import command_line


@pytest.mark.usefixtures("short_chains")
@pytest.mark.filterwarnings("ignore::trueup.TrueupWarning")
@pytest.mark.parametrize("score", [["p"], ["p_a", "p_b"]])
def test_a_score_by_command_and_in_python(tmp_path, monkeypatch, rng, score):
    monkeypatch.chdir(tmp_path)
    p = np.round(rng.random(800), 3)
    h = np.where(p > 0.5, "a", "b")
    table = pl.DataFrame({"predicted": h, "p_a": p, "p_b": 1 - p, "p": np.maximum(p, 1 - p)})
    true = np.where(rng.random(800) < p, "a", "b")
    table.write_csv("all.csv")
    table.with_columns(true=true)[:150].write_csv("test.csv")
    options = {"classes": ["a", "b"], "draws": 300, "seed": 4}
    est = tu.correct("all.csv", "test.csv", score=score, **options)
    words = ["all.csv", "test.csv", *(w for x in score for w in ("--score", x)), "--json"]
    words += ["--classes", "a,b", "--draws", "300", "--seed", "4", "--quiet"]
    found = CliRunner().invoke(main, ["correct", *words])
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["rows"] == est.rows()
    assert json.loads(found.stdout)["info"]["calibration"] == est.info["calibration"]
    assert all(f"--score {x}" in command_line(est) for x in score)
    checked = CliRunner().invoke(
        main, ["check", "all.csv", "test.csv", "--score", "p", "--classes", "a,b"]
    )
    assert "scores as probabilities" in checked.stdout
