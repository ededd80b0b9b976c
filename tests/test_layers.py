"""A module imports only from modules to its left, and the public names are what is exported."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import trueup

SOURCE = Path(trueup.__file__).parent

# Left to right. Modules on one line stand beside each other.
LAYERS = [
    {"errors", "words", "special", "blocks", "__init__"},
    {"prior", "contingency", "counts", "noise", "simplex_normal", "kloos", "derived"},
    {"parts", "pareto", "totals", "posterior", "classical", "samplers", "groups"},
    {"estimate", "settings", "strata", "stratum"},
    {"aggregates", "inverse", "design", "simulation", "column_names"},
    {"cautions", "density"},
    {"pair_walk", "nuts"},
    {"rates"},
    {"methods"},
    {"regressed"},
    {"grouped"},
    {"tables", "charts", "local_frames", "arrow_sums"},
    {"libraries"},
    {"frames", "plots"},
    {"duck"},
    {"paths"},
    {"arrow_files", "csv_files", "parquet_files"},
    {"files"},
    {"matched"},
    {"sources", "gather", "binning"},
    {"api", "arviz_data", "prior_sensitivity", "situation", "judging", "planned"},
    {"checks", "assumptions", "auditing"},
    {"comparison"},
    {"webshops", "matrix", "output", "search", "console"},
    {"planning", "prior_words", "reporting"},
    {"paper", "demo", "study", "table1"},
    {"figures", "web", "verification"},
    {"commands_study", "commands_serve", "commands_verify"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
CORE = set().union(*LAYERS[: LAYERS.index({"grouped"}) + 1]) - {"nuts"}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """Give every module that a file names in an import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "trueup":
                yield from (f"trueup.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("path", "name"), list(modules()), ids=lambda x: str(x)[-30:])
def test_imports_go_to_the_left(path, name):
    assert name in LEVEL, f"{name} has no place in LAYERS"
    if name == "__init__" and path.parent == SOURCE:
        return  # the public namespace points everywhere, lazily
    for module in imports(path):
        if not module.startswith("trueup."):
            continue
        other = module.split(".")[1]
        if other in LEVEL and other != name:
            assert LEVEL[other] < LEVEL[name], f"{name} imports {module}"


@pytest.mark.parametrize(("path", "name"), list(modules()), ids=lambda x: str(x)[-30:])
def test_the_core_knows_numpy_and_scipy_special_only(path, name):
    if name not in CORE:
        return
    allowed = {"numpy", "scipy.special", "trueup"} | sys.stdlib_module_names
    for module in imports(path):
        known = module in allowed or module.split(".")[0] in allowed - {"scipy.special"}
        assert known, f"{name} imports {module}"


def test_all_is_what_is_exported():
    assert set(trueup.__all__) == set(dir(trueup))
    for name in trueup.__all__:
        assert getattr(trueup, name) is not None
        assert getattr(trueup, name) is getattr(trueup, name)


def test_import_and_help_load_nothing_heavy():
    """No dataframe library, no plotting library, no compiler, and not even NumPy for --help."""
    code = (
        "import sys, trueup, trueup.cli\n"
        "try: trueup.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'polars', 'pyarrow', 'narwhals', 'duckdb', 'altair',"
        " 'matplotlib', 'numba', 'jax', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
