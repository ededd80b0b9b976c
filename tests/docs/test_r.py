"""The examples in R run through reticulate, and print what the page says."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from pages import ROOT, blocks, same

from trueup.cli.demo import make_files

RSCRIPT = shutil.which("Rscript")
MARK = "--- the next block ---"


def test_the_page_for_r(tmp_path):
    if RSCRIPT is None:
        pytest.skip("no R on this machine")
    page = blocks((ROOT / "docs/r.md").read_text(encoding="utf-8"))
    code = [
        block.text.replace('use_virtualenv("trueup")\n', "")
        for block in page
        if block.language == "r"
    ]
    claims = [after.text for block, after in pairwise(page) if block.language == "r"]
    make_files(tmp_path / "trueup-demo", 2019)
    script = tmp_path / "page.R"
    script.write_text(f'\ncat("{MARK}\\n")\n'.join(code), encoding="utf-8")
    commands = Path(sys.executable).parent  # the command `trueup` is beside this Python
    environment = os.environ | {
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
    }
    ran = subprocess.run(
        [RSCRIPT, script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "there is no package called" in ran.stderr:
        pytest.skip("R has no package reticulate")
    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout.split(f"{MARK}\n")
    assert len(printed) == len(claims) == 4
    for found, claim in zip(printed, claims, strict=True):
        assert same(found, claim), found
