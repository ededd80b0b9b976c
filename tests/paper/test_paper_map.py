"""docs/paper-map.md is true: every function and every test that it names exists."""

import ast
import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| .+? \| `(trueup\.[\w.]+)` \| `(tests/[\w/.]+)::(\w+)` \|$", PAGE, re.M)


def test_every_row_was_read():
    table_lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(table_lines) - 1  # less the header
    assert len(ROWS) >= 15


def test_functions_exist():
    for function, *_ in ROWS:
        module, name = function.rsplit(".", 1)
        assert callable(getattr(import_module(module), name)), function


def test_tests_exist():
    for _, file, test in ROWS:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test
