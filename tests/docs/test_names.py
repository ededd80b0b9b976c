"""What the pages name exists: functions, files, and the figures of the README's picture."""

import importlib.util
import re
from importlib import import_module

import pytest
from pages import ROOT, name_of, pages

METHOD = [*sorted((ROOT / "docs/method").glob("*.md")), ROOT / "docs/samplers.md"]


@pytest.mark.parametrize("page", METHOD, ids=name_of)
def test_functions_that_the_method_names_exist(page):
    for dotted in set(re.findall(r"`(trueup(?:\.\w+)+)", page.read_text(encoding="utf-8"))):
        module, _, name = dotted.rpartition(".")
        try:
            import_module(dotted)
        except ModuleNotFoundError:
            assert hasattr(import_module(module), name), f"{name_of(page)}: {dotted}"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_files_that_pages_name_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in set(re.findall(r"`((?:tests|studies|bench|docs|examples|src)/[\w./-]+)`", text)):
        assert (ROOT / path).exists(), f"{name_of(page)}: {path}"


def test_links_of_the_readme_work_in_the_repository():
    for source in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / source).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / target).exists(), f"{source}: {target}"


def test_every_symbol_of_the_paper_is_explained():
    """The symbols that the paper defines, as the method's table writes them."""
    table = (ROOT / "docs/method/model.md").read_text(encoding="utf-8").split("## The problem")[0]
    for symbol in (
        r"$I$", r"$N$", r"$H$", r"$K$", r"$s_i$", r"$\hat s_i$", r"$y_i$", r"$A = (a_{ih})$",
        r"$\hat A$", r"$v = A^T 1$", r"$\hat v$", r"$u = A^T y$", r"$\hat u$", r"$\beta = v/N$",
        r"$\hat\beta = \hat v/N$", r"$P = (p_{gh})$", r"$P_i$", r"$p$", r"$q$", r"$Q = (P^T)^{-1}$",
        r"$J$", r"$n$", r"$\mathcal D$", r"$x_j = (s_j, \hat s_j)$", r"$n_{gh}$", r"$n_g$",
        r"$\alpha_{gh}$", r"$\gamma_g$", r"$\Delta_{K-1}$", r"$\mathrm{Dir}(K, \alpha)$",
        r"$\Theta_K(\hat v)$", r"$R$", "TP, FN, FP, TN",
    ):  # fmt: skip
        assert symbol in table, symbol


def test_the_readme_picture_shows_the_figures_of_the_demo():
    """`python docs/make_readme_figure.py` draws it again."""
    spec = importlib.util.spec_from_file_location("figure", ROOT / "docs/make_readme_figure.py")
    figure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figure)
    rows, truth = figure.figures()
    picture = (ROOT / "docs/figures/demo.svg").read_text(encoding="utf-8")
    for row in rows:
        assert f">{row['estimate']:.0f}</text>" in picture, row
    assert f"the truth, {truth:.0f}" in picture
    demo = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in rows:
        assert re.search(rf" {row['estimate']:.0f}  ", demo), row
