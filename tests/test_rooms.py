"""A room imports itself and the rooms above it, and the public names are what is exported."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import trueup

SOURCE = Path(trueup.__file__).parent
ROOMS = [
    "errors",
    "text",
    "numerics",
    "prior",
    "read",
    "count",
    "audit",
    "draws",
    "aggregate",
    "estimate",
    "api",
    "simulation",
    "study",
    "present",
    "paper",
    "verify",
    "web",
    "cli",
    "__main__",
]
CORE = {"errors", "text", "numerics", "prior", "count", "draws", "aggregate", "estimate"}
# Methods such as `.plot()` may look ahead: by name, when they are called.
LOOK_AHEAD = {
    ("estimate", "present"),
    ("estimate", "study"),
    ("prior", "present"),
    ("study", "present"),
}
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """Yield (module, by name) for every import in a file: in functions and by string too.

    A public name is imported from where it is defined, and `import trueup` is for the last rooms.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (("trueup.web" if name == "trueup" else name, False) for name in names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: write imports in full, without dots"
            homes = [trueup._HOME.get(alias.name) or alias.name for alias in node.names]
            whole = node.module == "trueup"
            yield from ((f"trueup.{home}" if whole else node.module, False) for home in homes)
        elif isinstance(node, ast.Constant) and re.match(r"trueup(\.\w+)+$", str(node.value)):
            yield node.value, True
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            full = isinstance(node.args[0], ast.Constant) and node.args[0].value[0] != "."
            assert full or path == SOURCE / "__init__.py", f"{path.name}: modules by their name"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_up_the_list_of_rooms(path):
    room = room_of(path)
    if path == SOURCE / "__init__.py":
        return  # the public namespace points everywhere, lazily
    for module, by_name in imports(path):
        other = module.split(".")[1] if module.startswith("trueup.") else None
        if other in ROOMS and not (by_name and (room, other) in LOOK_AHEAD):
            assert ROOMS.index(other) <= ROOMS.index(room), f"{room} imports {module}"


def test_no_room_is_crowded():
    for folder in {path.parent for path in MODULES} - {SOURCE}:
        files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 12, f"{folder.relative_to(SOURCE)} has {len(files)} files"
    assert {room_of(path) for path in MODULES} - {"__init__"} == set(ROOMS)


@pytest.mark.parametrize(
    "path", [path for path in MODULES if room_of(path) in CORE], ids=lambda path: path.stem
)
def test_the_core_knows_numpy_and_scipy_special_only(path):
    if path.stem == "nuts" or room_of(path) == "count":
        return
    allowed = {"numpy", "scipy.special", "trueup"} | sys.stdlib_module_names
    for module, _ in imports(path):
        known = module in allowed or module.split(".")[0] in allowed - {"scipy.special"}
        assert known, f"{path.stem} imports {module}"


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


def test_every_planted_fault_has_its_place():
    """`dev.py mutants` stops at a line that was rewritten; here it shows at once."""
    faults = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))
    for fault in faults["fault"]:
        text = (SOURCE / fault["file"]).read_text(encoding="utf-8")
        assert text.count(fault["now"]) == 1, fault
