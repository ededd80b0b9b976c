"""Examples in docstrings print what they say.

pytest's own `--doctest-modules` loads and searches every module of `src` and `tests` in each
worker before the first test runs; this loads the modules that have examples, one in each test.
"""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def examples() -> list[str]:
    """Return the modules with an example."""
    found = [
        path.relative_to(folder)
        for folder in (ROOT / "src", ROOT)
        for path in sorted((folder / ("trueup" if folder.name == "src" else "tests")).rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8") and path != Path(__file__)
    ]
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in found]


@pytest.mark.parametrize("name", examples())
def test_examples_print_what_they_say(name: str) -> None:
    told: list[str] = []
    runner = doctest.DocTestRunner()
    for case in doctest.DocTestFinder().find(import_module(name)):
        runner.run(case, out=told.append)
    assert runner.tries
    assert not runner.failures, "\n".join(told)
