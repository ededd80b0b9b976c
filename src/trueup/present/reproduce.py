"""How to reproduce the numbers: the call, the command, versions, and hashes of the inputs."""

import hashlib
import inspect
import json
import os
import platform
import shlex
from typing import Any

import numpy as np

from trueup import api
from trueup.count.counts import Counts
from trueup.errors import FileError
from trueup.estimate.result import Estimate
from trueup.read.paths import find

MOST_BYTES = 16 << 30
MOST_FILES = 100
TABLES = ("predictions", "test_set")
SERIES = "reproduced.trueup"
"""The file that the printed commands save a series in: no name that users choose."""


def parameters(function: str) -> dict[str, Any]:
    """Return the options of `correct` or `correct_counts` with their defaults: the one list.

    Examples
    --------
    >>> parameters("correct")["interval"]
    0.95
    """
    found = inspect.signature(getattr(api, function)).parameters
    return {
        name: option.default
        for name, option in found.items()
        if name not in ("progress", "executor")
    }


def options_given(est: Estimate) -> dict[str, Any]:
    """Return every option that is not at its default, and the seed that was used."""
    defaults = parameters(est.asked["function"]) | {"design": "random"}  # also where it is None
    given = {name: est.asked[name] for name in defaults if name in est.asked}
    changed = {name: x for name, x in given.items() if not _same(x, defaults[name])}
    return changed | {"seed": est.info["seed"]}


def _same(x: Any, default: Any) -> bool:
    return x is default or (isinstance(x, str | int | float | bool | tuple) and x in (default, ()))


def python_call(est: Estimate) -> str | None:
    """Return the call in Python; None for an estimate that no public function made."""
    if "function" not in est.asked:
        return None
    inside = "\n".join(_argument(name, x) for name, x in options_given(est).items())
    call = f"import trueup\n\nest = trueup.{est.asked['function']}(\n{inside}\n)"
    for tables in est.asked.get("added", ()):
        call += f".add({', '.join('...' if is_table(x) else repr(x) for x in tables)})"
    if "combine" in est.asked:
        call += f".combine({est.asked['combine']!r})"
    if "margin" in est.asked:
        call += f".margin({', '.join(map(repr, est.asked['margin']))})"
    return call


def _argument(name: str, x: Any) -> str:
    """Return the line of an argument; of a table in memory, that it goes here and what it was."""
    if is_table(x):
        return f"    ...,  # {name}: a {x[1:-1]}"
    text = repr(x.tolist() if isinstance(x, np.ndarray) else x)
    return f"    {text}," if name in TABLES else f"    {name}={text},"


def is_table(x: Any) -> bool:
    """Whether the argument was a table in memory, of which only the kind is kept."""
    return isinstance(x, str) and x.startswith("<") and x.endswith(">") and "." in x


def command_line(est: Estimate) -> str | None:
    """Return the command that makes the same numbers; None where only Python can.

    A series that grew has a line for each table that was added.
    """
    if "function" not in est.asked or only_in_python(est):
        return None
    command = "correct" if est.asked["function"] == "correct" else "numbers"
    words = [word for name, x in options_given(est).items() for word in _words(name, x) or ()]
    words += [word for name in est.asked.get("margin", ()) for word in ("--margin", name)]
    lines = [["trueup", command, *words]]
    for table, test_set in (added := est.asked.get("added", ())):
        more = [] if test_set is None else ["--test-set", test_set]
        lines.append(["trueup", "add", SERIES, *([] if table is None else [table]), *more])
    if added:
        lines[0] += ["--save", SERIES]
    return "\n".join(map(shlex.join, lines))


def only_in_python(est: Estimate) -> list[str]:
    """Return the arguments of this estimate that the command line has no words for."""
    given = options_given(est)
    found = [name for name, x in given.items() if not is_table(x) and _words(name, x) is None]
    if any(is_table(given.get(name)) for name in TABLES):
        found.insert(0, "tables in memory (write them to files)")
    if "margin" in est.asked and est.asked.get("keep_draws"):
        found.remove("keep_draws")  # --margin implies it
    if any(is_table(x) for pair in est.asked.get("added", ()) for x in pair):
        found.append("tables in memory that were added")
    return found + [name for name in ("combine",) if name in est.asked]


def _words(name: str, x: Any) -> list[str] | None:
    flag = "--rates" if name == "P" else "--" + name.replace("_", "-")
    if x is None:
        return []
    if name in ("keep_draws", "studies") or is_table(x):
        return None
    if name in TABLES:
        return [x]
    if isinstance(x, bool):
        return [flag if x else f"--no-{name}"]
    if name in ("by", "strata", "drawn_within", "score", "predicted"):
        return [word for column in ([x] if isinstance(x, str) else x) for word in (flag, column)]
    if name in ("classes", "predicted_classes"):
        labels = [str(label) for label in x]
        return None if any("," in label for label in labels) else [flag, ",".join(labels)]
    if name in ("P", "test") or name.startswith(("predicted_", "test_")):
        if np.ndim(x) > 2:
            return None
        rows = np.atleast_2d(np.asarray(x)).tolist()
        return [flag, ";".join(",".join(f"{cell:.17g}" for cell in row) for row in rows)]
    word = getattr(x, "word", "") or x  # a prior as the command line spelled it
    return [flag, str(word)] if isinstance(word, str | int | float) else None


def bag(counts: Counts) -> dict[str, Any]:
    """Return the data in numbers, by the names that `correct_counts` takes."""
    arrays = {
        "test": counts.n,
        "predicted_counts": counts.v_hat,
        "predicted_sums": counts.u_hat,
        "predicted_squares": counts.w_hat,
        "test_sums": counts.t,
        "test_squares": counts.t2,
    }
    found = {name: x.tolist() for name, x in arrays.items() if x is not None}
    columns = {"predicted_classes": list(counts.columns)} if counts.columns else {}
    return {"classes": list(counts.classes)} | columns | found


def numbers_command(counts: Counts, **options: Any) -> str:
    """Return the command that corrects the data in numbers, with these options of it.

    Examples
    --------
    >>> from trueup.count.counts import make_counts
    >>> numbers_command(make_counts([[4, 1], [2, 3]], [10, 90]))
    "trueup numbers --classes 0,1 --test '4,1;2,3' --predicted-counts 10,90"
    """
    words = [_words(name, x) for name, x in (bag(counts) | options).items()]
    return shlex.join(["trueup", "numbers", *(word for found in words for word in found or ())])


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
    """Return the SHA-256 of the data in numbers: classes, n, v̂, û and sums of squares if known.

    Examples
    --------
    >>> from trueup.count.counts import make_counts
    >>> counts_hash(make_counts([[4, 1], [2, 3]], [10, 90]))[:12]
    '8ab3603f0765'
    """
    arrays = {name: x.tolist() for name, x in counts.changed(lambda x: x).items() if x is not None}
    content = {"classes": [str(label) for label in counts.classes]} | arrays
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def file_hashes(est: Estimate) -> list[tuple[str, str, str]]:
    """Return name, size and SHA-256 of each input file, as it is now, or was when saved."""
    found = [(str(a), str(b), str(c)) for a, b, c in est.asked.get("hashed", ())]
    for path in _not_hashed(est):
        try:
            files = find(path).files
        except FileError:
            found.append((path, "–", "no longer there when files were hashed"))
            continue
        found += [(file, *_hashed(file)) for file in files[:MOST_FILES]]
        if len(files) > MOST_FILES:
            found.append((f"… {len(files) - MOST_FILES:,} more files", "–", "not hashed"))
    return found


def _not_hashed(est: Estimate) -> list[str]:
    """Return the paths of files that no saved estimate has hashes of."""
    paths = [est.asked.get(name) for name in TABLES]
    paths += [path for tables in est.asked.get("added", ()) for path in tables]
    late = paths[est.asked.get("tables_hashed", 0) :]
    return [path for path in late if path is not None and not is_table(path)]


def when_hashed(est: Estimate) -> str:
    """Say when files were hashed, for a report that is being written."""
    if not est.asked.get("hashed"):
        return "Files were hashed when this report was written."
    late = "; those that were added after that, when this report was written"
    return f"Files were hashed when the estimate was saved{late if _not_hashed(est) else ''}."


def _hashed(file: str) -> tuple[str, str]:
    if "://" in file:
        return "–", "an address: not hashed"
    try:
        size = os.path.getsize(file)
        if size > MOST_BYTES:
            return f"{size:,} bytes", "not hashed: larger than 16 GiB"
        with open(file, "rb") as content:
            digest = hashlib.file_digest(content, "sha256")
    except OSError as error:
        return "–", f"not readable: {error.strerror}"
    return f"{size:,} bytes", digest.hexdigest()
