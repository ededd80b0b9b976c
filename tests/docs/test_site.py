"""The site builds from the repository, needs no network, and breaks when a link does."""

import re
import subprocess
import sys

import click
import pytest
from pages import ROOT

import trueup
from trueup.cli import main

pytestmark = pytest.mark.slow


def build(root, target):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT, target)
    assert done.returncode == 0, done.stderr
    return target


def test_pages_ask_nothing_of_the_network(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|iframe)[^>]*\ssrc="?(?:https?:)?//', text), page
        assert not re.search(r'<link[^>]*rel="?(?:stylesheet|preconnect)[^>]*href="?http', text), (
            page
        )


def test_formulas_are_mathml(site):
    text = (site / "method/posteriors.html").read_text(encoding="utf-8")
    assert text.count("<math") > 40
    for page in site.rglob("*.html"):
        assert 'class="arithmatex"' not in page.read_text(encoding="utf-8"), page


def test_python_reference_has_every_public_name(site):
    text = (site / "reference/api.html").read_text(encoding="utf-8")
    for name in trueup.__all__:
        if not name.startswith("__"):
            assert re.search(rf'id="trueup\.(?:[\w.]+\.)?{name}"', text), name


def test_command_reference_has_every_option(site):
    text = (site / "reference/commands.html").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        section = text.split(f'id="trueup-{name}"')[1].split("<h2")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[0] in section, f"{name} {parameter.opts[0]}"


@pytest.mark.parametrize("anchor", ["the-four-designs", "nothing-is-here"])
def test_a_broken_link_fails(anchor, tmp_path):
    """With the settings of the site, on two small pages."""
    (tmp_path / "docs").mkdir()
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    kept = [part for part in settings.split("\n\n") if part.startswith(("#", "validation:"))]
    (tmp_path / "mkdocs.yml").write_text("\n".join(kept) + "\nplugins: []\n")
    (tmp_path / "docs/index.md").write_text(f"# Home\n\n[here](designs.md#{anchor})\n")
    (tmp_path / "docs/designs.md").write_text("# Designs\n\n## The four designs\n")
    done = build(tmp_path, tmp_path / "site")
    assert (done.returncode != 0) == (anchor == "nothing-is-here"), done.stderr
    assert (anchor in done.stderr) == (anchor == "nothing-is-here")
