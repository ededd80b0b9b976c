"""Which files a path means: a file, a folder, a pattern or an address."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from urllib.parse import unquote

from trueup.errors import FileError

__all__ = ["Found", "find"]

FORMATS = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}


@dataclass(frozen=True)
class Found:
    """The files of a path, all of one format; `many` when the path may mean several."""

    format: str
    files: list[str]
    many: bool

    def patterns(self) -> list[str]:
        """Give what DuckDB shall read: files as they are called, an address with its own signs."""
        return [file if "://" in file else glob.escape(file) for file in self.files]

    def states(self) -> set[tuple[str, int, int]]:
        """Give size and time of every file; an address that is not a local file has none."""
        return {
            (file, state.st_size, state.st_mtime_ns)
            for file in self.files
            if os.path.isfile(file)
            for state in [os.stat(file)]
        }

    def partitions(self) -> set[str]:
        """Give the columns whose values are in the names of folders, such as year=2024."""
        parts = (part for file in self.files for part in os.path.dirname(file).split(os.sep))
        return {part.split("=")[0] for part in parts if "=" in part}


def find(path: str) -> Found:
    """Give the files of a path. What is there is listed here, once, for every format alike.

    A name with glob signs that exists is that file. Folders are searched to the bottom, through
    links too; names that begin with a dot or an underscore are somebody's working files.
    """
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    path = os.path.expanduser(path)
    if "://" in path:
        return Found(_format([path], path), [path], many=False)
    if os.path.isdir(path):
        files = sorted(file for file in _inside(path) if _ending(file))
        if not files:
            raise FileError(
                f"The folder {path!r} must hold CSV, Parquet or Arrow files; none is there.",
                hint="give the folder that holds the files themselves, or a glob.",
            )
        return Found(_format(files, path), files, many=True)
    if os.path.isfile(path):
        return Found(_format([path], path), [path], many=False)
    if any(sign in path for sign in "*?["):
        files = sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
        if files:
            return Found(_format(files, path), files, many=True)
        what = "match at least one file; none does"
    else:
        if os.path.splitext(path)[1]:
            _format([path], path)
        what = "exist; nothing is there"
    raise FileError(
        f"The path {path!r} must {what}.", hint="check the spelling and the folder you are in."
    )


def _inside(folder: str) -> list[str]:
    seen, found = set(), []
    for here, folders, files in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(here))
        inner = (name for name in folders if not _hidden(name))
        folders[:] = [n for n in inner if os.path.realpath(os.path.join(here, n)) not in seen]
        found += [os.path.join(here, name) for name in files if not _hidden(name)]
    return found


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _ending(file: str) -> str | None:
    """Give the ending that tells the format, whatever its case."""
    endings = (ending for known in FORMATS.values() for ending in known)
    return next((ending for ending in endings if file.lower().endswith(ending)), None)


def _format(files: list[str], path: str) -> str:
    endings = {_ending(file) for file in files}
    formats = {known for known, listed in FORMATS.items() if endings & set(listed)}
    if None in endings:
        name = next(os.path.basename(file) for file in files if not _ending(file))
        raise FileError(
            f"A table must be a CSV, a Parquet or an Arrow file; {name!r} came.",
            hint="rename it to end in .csv, .parquet or .arrow, or pass a dataframe.",
        )
    if len(formats) > 1:
        listed = sorted(ending for ending in endings if ending)
        raise FileError(
            f"The folder {path!r} must hold files of one format; it holds {listed}.",
            hint=f"give a glob, such as {os.path.join(path, '*' + listed[0])!r}.",
        )
    return formats.pop()
