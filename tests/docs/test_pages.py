"""Every example on the pages runs, and prints what the page says it prints."""

import re
from codeop import compile_command

import pytest
from pages import LANGUAGES, ROOT, blocks, name_of, pages, run_page, same, steps

# Pages whose examples simulate for more than a few seconds.
SLOW = {"docs/compare.md", "docs/plan.md", "docs/priors.md", "docs/reproduce.md", "docs/tables.md"}
EXAMPLES = [
    pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] * (name_of(page) in SLOW))
    for page in pages()
    if any(True for _ in steps(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_run_and_print_what_the_page_says(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    ran = 0
    for source, printed, claim in run_page(text, tmp_path):
        ran += 1
        if claim is not None:
            claimed = text[slice(*claim)]
            assert same(printed, claimed), f"{source}\nprints\n{printed}\nthe page says\n{claimed}"
    assert ran > 0 or name_of(page) == "CONTRIBUTING.md"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_block_says_what_it_is(page):
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language in LANGUAGES, block.text


def test_most_code_runs():
    """Code may stand in a block that does not run, but rarely."""
    idle = [
        name_of(page)
        for page in pages()
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language == "text" and re.search(r"^(import|from) \w+", block.text, re.MULTILINE)
    ]
    assert len(idle) <= 3, idle


def test_studies_that_are_named_exist():
    """A study that is too long to run here is at least a file with the options that are named."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for script, options in re.findall(
            r"python ((?:studies|bench|docs)/\w+\.py)([^`\n]*)", text
        ):
            source = (ROOT / script).read_text(encoding="utf-8")
            for option in re.findall(r"--[a-z-]+", options):
                assert f'"{option}"' in source, f"{name_of(page)}: {script} has no {option}"


@pytest.mark.parametrize("page", EXAMPLES)
def test_blocks_can_be_pasted_at_the_prompt(page):
    """Python's prompt wants an empty line after a loop, and none within."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "python":
            continue
        waiting: list[str] = []
        for line in [*block.text.splitlines(), ""]:
            waiting.append(line)
            if not any(waiting) or compile_command("\n".join(waiting), symbol="single"):
                waiting = []
        assert not waiting, block.text


def test_output_that_differs_is_seen():
    assert same("a  1 \nb  2\n", "a  1\nb  2\n")
    assert same("a\nx\ny\nb\n", "a\n…\nb\n")
    assert not same("a  1\n", "a  2\n")
    assert not same("a\nx\n", "a\n")
