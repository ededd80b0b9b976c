"""How to make the same numbers again: the call, the command, versions, and hashes of the inputs."""

from __future__ import annotations

import glob
import hashlib
import inspect
import json
import os
import platform
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from trueup import api
from trueup.count.counts import Counts
from trueup.estimate.result import Estimate

__all__ = ["command_line", "counts_hash", "file_hashes", "python_call", "versions"]

BLOCK = 1 << 20
MOST_BYTES = 16 << 30
MOST_FILES = 100
TABLES = {"correct": ("predictions", "test_set"), "correct_counts": ()}
# What the commands take; anything else can only be said in Python.
OPTIONS = {
    "correct": (
        "predicted", "true", "value", "by", "strata", "pooling", "id", "overlap", "classes",
        "missing", "design", "method", "prior", "noise", "draws", "interval", "seed",
        "P",
    ),
    "correct_counts": (
        "test", "predicted_counts", "predicted_sums", "predicted_squares", "test_sums", "classes",
        "design", "method", "prior", "overlap", "noise", "draws", "interval", "seed",
        "P",
    ),
}  # fmt: skip
COMMANDS = {"correct": "correct", "correct_counts": "numbers"}


def options_given(est: Estimate) -> dict[str, Any]:
    """Every option that is not at its default, and the seed that was used."""
    function = est.asked["function"]
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(getattr(api, function)).parameters.items()
    }
    given = {
        name: x
        for name, x in est.asked.items()
        if name != "function" and not _same(x, defaults.get(name, inspect.Parameter.empty))
    }
    return given | {"seed": est.info["seed"]}


def _same(x: Any, default: Any) -> bool:
    return x is default or (isinstance(x, str | int | float | bool) and x == default)


def python_call(est: Estimate) -> str | None:
    """Return the call in Python; None for an estimate that no public function made."""
    if "function" not in est.asked:
        return None
    given = options_given(est)
    function = est.asked["function"]
    names = [*TABLES[function], *(name for name in given if name not in TABLES[function])]
    parts = [
        _python(given[name]) if name in TABLES[function] else f"{name}={_python(given[name])}"
        for name in names
        if name in given
    ]
    inside = ",\n    ".join(parts)
    return f"import trueup\n\nest = trueup.{function}(\n    {inside},\n)"


def _python(x: Any) -> str:
    if isinstance(x, str) and x.startswith("<") and x.endswith(">") and "." in x:
        return f"...  # a {x[1:-1]}"  # a table that was not a file
    if isinstance(x, np.ndarray):
        return repr(x.tolist())
    return repr(x)


def command_line(est: Estimate) -> str | None:
    """Return the command that makes the same numbers; None where only Python can say it."""
    function = est.asked.get("function")
    if function not in COMMANDS:
        return None
    given = options_given(est)
    words = ["trueup", COMMANDS[function]]
    for name in TABLES[function]:
        path = given.pop(name)
        if path.startswith("<"):
            return None
        words.append(path)
    if any(name not in OPTIONS[function] for name in given):
        return None
    for name, x in given.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(x, bool):
            words.append(flag if x else f"--no-{name}")
        elif name in ("by", "strata"):
            columns = [x] if isinstance(x, str) else x
            words += [word for column in columns for word in (flag, str(column))]
        elif name in ("test", "test_sums"):
            words += [flag, ";".join(_numbers(row) for row in np.asarray(x))]
        elif name.startswith("predicted_"):
            words += [flag, _numbers(np.asarray(x))]
        elif name == "classes":
            if any("," in str(label) for label in x):
                return None
            words += [flag, ",".join(map(str, x))]
        elif name == "P":
            if np.ndim(x) != 2:
                return None
            words += ["--rates", ";".join(_numbers(row) for row in np.asarray(x))]
        elif getattr(x, "word", ""):  # a prior as the command line spelled it
            words += [flag, x.word]
        elif isinstance(x, str | int | float):
            words += [flag, str(x)]
        else:
            return None
    return shlex.join(words)


def _numbers(values: Any) -> str:
    return ",".join(f"{x:.17g}" for x in values.tolist())


def versions() -> dict[str, str]:
    """Return the versions that the numbers depend on."""
    import scipy

    from trueup import __version__

    return {
        "trueup": __version__,
        "NumPy": np.__version__,
        "SciPy": str(scipy.__version__),
        "Python": platform.python_version(),
    }


def counts_hash(counts: Counts) -> str:
    """Return the SHA-256 of the data in numbers: classes, n, v̂, û and what else there is.

    Examples
    --------
    >>> from trueup.count.counts import make_counts
    >>> counts_hash(make_counts([[4, 1], [2, 3]], [10, 90]))[:12]
    '8ab3603f0765'
    """
    content = {"classes": [str(label) for label in counts.classes]} | {
        name: x.tolist()
        for name in ("n", "v_hat", "u_hat", "w_hat", "t", "t2")
        if (x := getattr(counts, name)) is not None
    }
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def file_hashes(est: Estimate) -> list[tuple[str, str, str]]:
    """Return name, size and SHA-256 of each input file, as it is now."""
    found = []
    for name in ("predictions", "test_set"):
        path = est.asked.get(name)
        if not isinstance(path, str) or path.startswith("<"):
            continue
        files = sorted(_files(path))
        if not files:
            found.append((path, "–", "no longer there when the report was written"))
        found += [(file, *_hashed(file)) for file in files[:MOST_FILES]]
        if len(files) > MOST_FILES:
            found.append((f"… {len(files) - MOST_FILES:,} more files", "–", "not hashed"))
    return found


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    elif os.path.isdir(path):
        for folder, _, files in os.walk(path):
            yield from (os.path.join(folder, f) for f in files if not f.startswith((".", "_")))
    else:
        yield from (file for file in glob.glob(path, recursive=True) if os.path.isfile(file))


def _hashed(file: str) -> tuple[str, str]:
    try:
        size = os.path.getsize(file)
        if size > MOST_BYTES:
            return f"{size:,} bytes", "not hashed: larger than 16 GiB"
        digest = hashlib.sha256()
        with open(file, "rb") as content:
            while block := content.read(BLOCK):
                digest.update(block)
    except OSError as error:
        return "–", f"not readable: {error.strerror}"
    return f"{size:,} bytes", digest.hexdigest()
