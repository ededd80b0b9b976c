"""The scripts in examples/ are the tutorials' code, and run as they are."""

import ast
import subprocess
import sys

import pytest
from pages import ROOT, blocks

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def test_there_is_a_tutorial_for_every_script():
    tutorials = {page.stem.replace("-", "_") for page in (ROOT / "docs/tutorials").glob("*.md")}
    assert tutorials == {script.stem for script in SCRIPTS}
    assert len(SCRIPTS) >= 4


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_is_the_code_of_its_page(script):
    page = ROOT / "docs/tutorials" / f"{script.stem.replace('_', '-')}.md"
    source = script.read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0]
    body = "\n".join(source.splitlines()[docstring.end_lineno :]).strip()
    code = [
        block.text.strip()
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language == "python"
    ]
    assert body == "\n\n".join(code)


def test_every_tutorial_is_short_and_prints_a_table():
    for page in (ROOT / "docs/tutorials").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) < 150, page.name
        assert "| corrected | 95% from | to |" in text, page.name


@pytest.mark.slow
@pytest.mark.search
def test_a_script_runs_in_an_empty_folder(rng, tmp_path):
    """Any one of them: its code is its page's, which runs in another test, every time."""
    script = SCRIPTS[rng.integers(len(SCRIPTS))]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
