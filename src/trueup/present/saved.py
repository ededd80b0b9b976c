"""Estimates in files: `Estimate.save` and `load`.

A file is a zip archive: `estimate.json` has all but the arrays, which are `.npy` files beside it.
Nothing in it is run when it is read: only the classes of `KNOWN` are made, and no pickle is opened.
"""

import datetime
import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup import __version__
from trueup.audit.units import Units
from trueup.count.counts import Counts
from trueup.count.parts import GroupBands, GroupCounts, Parts
from trueup.errors import FileError
from trueup.estimate.answer import GroupFigures
from trueup.estimate.job import Job
from trueup.estimate.result import Estimate
from trueup.present.output import writable, write_whole
from trueup.present.reproduce import file_hashes
from trueup.prior import Dirichlet
from trueup.read.native import local_frame

FORMAT = 1
"""Raised when older versions could not read a file any more."""
ENDING, HEAD = ".trueup", "estimate.json"
KNOWN = {
    kind.__name__: kind
    for kind in (
        Estimate, Counts, GroupFigures, Job, GroupCounts, Parts, GroupBands, Dirichlet, Units,
    )
}  # fmt: skip
NATIVE = ("_native", "native")
"""Fields for what makes a dataframe of the user's kind: a saved estimate makes the usual one."""
TIMES = {"date": datetime.date, "datetime": datetime.datetime}


def check_ending(path: str | Path) -> Path:
    """Refuse a path for an estimate before any work is done."""
    return writable("the saved estimate", path, ENDING)


def save(est: Estimate, path: str | Path) -> Path:
    """Write the estimate to a file that ends in .trueup, whole or not at all."""
    target = check_ending(path)
    hashed = {"hashed": file_hashes(est), "tables_hashed": 2 + 2 * len(est.asked.get("added", ()))}
    est = replace(est, asked=est.asked | hashed)
    arrays: list[Any] = []
    plain = {"trueup estimate": FORMAT, "version": __version__, "content": _plain(est, arrays)}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEAD, json.dumps(plain, allow_nan=False))
        for i, array in enumerate(arrays):
            with archive.open(f"{i}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    write_whole(target, content.getvalue())
    return target


def load(path: str | Path) -> Estimate:
    """Read an estimate that `Estimate.save` wrote: figures, draws, and what made them.

    Parameters
    ----------
    path : str or path
        The file, which ends in .trueup.

    Returns
    -------
    Estimate
        As it was saved. Its `table` is of pandas, Polars or PyArrow, whichever is installed.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read(HEAD))
            form, version = head["trueup estimate"], head["version"]
            found = _made(head["content"], archive) if form == FORMAT else None
    except OSError as error:
        why = error.strerror or "it cannot be read"
        raise FileError(f"{str(path)!r} must be a saved estimate; {why}.") from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, AttributeError):
        form = found = None
    if form not in (None, FORMAT):
        raise FileError(
            f"{str(path)!r} must be of format {FORMAT}; it is of format {form!r}, written by "
            f"trueup {version}.",
            hint="install that version of trueup, or make the estimate again.",
        )
    if not isinstance(found, Estimate):
        raise FileError(
            f"{str(path)!r} must be an estimate that `Estimate.save` wrote; it is not, or it is "
            "damaged.",
            hint="save it again: est.save(path), or `trueup correct … --save FILE.trueup`.",
        )
    return found


def _plain(x: Any, arrays: list[Any]) -> Any:
    """Return what JSON can hold; arrays go to the list, and their place stands for them."""
    if isinstance(x, np.generic):
        x = x.item()
    if x is None or isinstance(x, bool | int | str):
        return str(x) if isinstance(x, str) else x
    if isinstance(x, float):
        return x if math.isfinite(x) else {"float": repr(x)}
    if isinstance(x, np.ndarray) and x.dtype != object:
        arrays.append(x)
        return {"array": len(arrays) - 1}
    if isinstance(x, list):
        return [_plain(item, arrays) for item in x]
    if isinstance(x, tuple | set | frozenset):
        return {"tuple": [_plain(item, arrays) for item in x]}
    if isinstance(x, Mapping):
        return {"dict": [[_plain(k, arrays), _plain(item, arrays)] for k, item in x.items()]}
    if type(x) in TIMES.values():
        return {type(x).__name__: x.isoformat()}
    if is_dataclass(x) and type(x) is KNOWN.get(type(x).__name__):
        kept = {f.name: getattr(x, f.name) for f in fields(x) if f.name not in NATIVE}
        if isinstance(x, Estimate):
            kept["_again"] = x._again if _can_rerun(x._again) else None
        return {type(x).__name__: {name: _plain(item, arrays) for name, item in kept.items()}}
    return repr(x)  # a prior of the user's own, in `asked`: told, not made again


def _can_rerun(job: Any) -> bool:
    """Whether all that a job needs can be in a file: not a prior of the user's own."""
    return isinstance(job, Job) and isinstance(job.options["prior"], str | Dirichlet)


def _made(x: Any, archive: zipfile.ZipFile) -> Any:
    """Return what `_plain` was given."""
    if isinstance(x, list):
        return [_made(item, archive) for item in x]
    if not isinstance(x, dict):
        return x
    ((kind, content),) = x.items()
    if kind == "float":
        return float(content)
    if kind == "array":
        with archive.open(f"{int(content)}.npy") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    if kind == "tuple":
        return tuple(_made(item, archive) for item in content)
    if kind == "dict":
        return {_made(k, archive): _made(item, archive) for k, item in content}
    if kind in TIMES:
        return TIMES[kind].fromisoformat(content)
    made = {name: _made(item, archive) for name, item in content.items()}
    known = KNOWN[kind]
    made |= {f.name: local_frame for f in fields(known) if f.name in NATIVE}
    return known(**made)
