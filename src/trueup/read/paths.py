"""Which files a path means: a file, a folder, a pattern or an address."""

import glob
import os
from dataclasses import dataclass
from urllib.parse import unquote

from trueup.errors import FileError

FORMATS = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}


SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")


@dataclass(frozen=True)
class Found:
    """The files of a path, all of one format; `many` when the path may mean several."""

    format: str
    files: list[str]
    many: bool

    def patterns(self) -> list[str]:
        """Return the paths for DuckDB: local names escaped, addresses unchanged."""
        return [file if "://" in file else glob.escape(file) for file in self.files]

    def states(self) -> set[tuple[str, int, int]]:
        """Return the size and time of every local file; addresses have none."""
        return {
            (file, state.st_size, state.st_mtime_ns)
            for file in self.files
            if os.path.isfile(file)
            for state in [os.stat(file)]
        }

    def partitions(self) -> set[str]:
        """Return the columns whose values are in the names of folders, such as year=2024."""
        parts = (part for file in self.files for part in os.path.dirname(file).split(os.sep))
        return {part.split("=")[0] for part in parts if "=" in part}


def find(path: str) -> Found:
    """Return the files that a path means: ``~``, ``file://``, a folder, a glob or an address.

    A file whose own name has glob characters is that file. Folders are searched recursively,
    through links too, without hidden files: names that begin with a dot or an underscore.
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
                f"The folder {path!r} must hold CSV, Parquet or Arrow files; it has none.",
                hint="name the folder that holds the files themselves, or use a glob.",
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
    """Return the ending that tells the format, ignoring case."""
    endings = (ending for known in FORMATS.values() for ending in known)
    return next((ending for ending in endings if file.lower().endswith(ending)), None)


def _format(files: list[str], path: str) -> str:
    endings = {_ending(file) for file in files}
    formats = {known for known, listed in FORMATS.items() if endings & set(listed)}
    if None in endings:
        name = next(os.path.basename(file) for file in files if not _ending(file))
        raise FileError(
            f"A table must be a CSV, a Parquet or an Arrow file; got {name!r}.",
            hint="sheets are read one at a time: name one file."
            if name.lower().endswith(SHEETS)
            else f"the name must end in one of {[e for known in FORMATS.values() for e in known]}; "
            "or pass a dataframe.",
        )
    if len(formats) > 1:
        listed = sorted(ending for ending in endings if ending)
        raise FileError(
            f"The folder {path!r} must hold files of one format; it holds {listed}.",
            hint=f"use a glob, such as {os.path.join(path, '*' + listed[0])!r}.",
        )
    return formats.pop()
