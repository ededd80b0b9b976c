"""The commands' options, which are in options.toml, and how their text is read."""

import tomllib
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import click

from trueup.cli.matrix import Matrix, parse_list, parse_matrix
from trueup.errors import ClassError

KNOWN = tomllib.loads(Path(__file__).with_name("options.toml").read_text(encoding="utf-8"))
TYPES = {
    "int": int,
    "float": float,
    "above 0": click.FloatRange(min=0, min_open=True),
    "port": click.IntRange(0, 65_535),
    "path": click.Path(),
    "folder": click.Path(path_type=Path),
}
COLUMNS = "predicted true value id classes missing"
WRITTEN = "decimal encoding text"


def takes(names: str, command: str = "") -> Callable[..., Any]:
    """Add options by their names in options.toml; those of the command itself come first."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names.split()):
            how = dict(KNOWN.get(f"{command}.{name}") or KNOWN[name])
            flags, kind, reads = (how.pop(key, None) for key in ("flags", "type", "reads"))
            if kind is not None:
                how["type"] = click.Choice(kind) if isinstance(kind, list) else TYPES[kind]
            if reads is not None:
                how["callback"] = READERS[reads]
            if how.get("default") == "none":
                how["default"] = None
            function = click.option(*(flags or [f"--{name}"]), **how)(function)
        return function

    return decorate


def takes_tables(required: bool) -> Callable[..., Any]:
    """Add the arguments PREDICTIONS and TEST_SET."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for name in ("test_set", "predictions"):
            function = click.argument(name, type=click.Path(), required=required)(function)
        return function

    return decorate


def _draws(context: click.Context, option: click.Parameter, given: str) -> int | None:
    """Read the number of draws; None for "auto"."""
    try:
        return None if given == "auto" else int(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is neither a whole number nor 'auto'.") from None


def _prior(_: click.Context, option: click.Parameter, text: str) -> object:
    from trueup.cli.priors import parse_prior

    return parse_prior(text)


def _matrix(_: click.Context, option: click.Parameter, text: str | None) -> Matrix | None:
    return None if text is None else parse_matrix(option.opts[0], text)


def _list(_: click.Context, option: click.Parameter, text: str | None) -> list[float] | None:
    return None if text is None else parse_list(option.opts[0], text)


READERS: dict[str, Callable[..., Any]] = {
    "draws": _draws,
    "prior": _prior,
    "matrix": _matrix,
    "list": _list,
}


def labels_of(
    classes: str | None,
    matrices: Sequence[Matrix | None],
    path: str | None,
    column: str,
    text: Sequence[str] = (),
) -> list[Hashable] | None:
    """Return the classes: those of ``--classes`` or of a labelled matrix, as the table spells them.

    Text from the command line becomes the kind of label that column `column` of `path` holds.
    """
    named = [matrix.labels for matrix in matrices if matrix is not None and matrix.labels]
    if classes is None and not named:
        return None
    words = named[0] if classes is None else [word.strip() for word in classes.split(",")]
    if path is None or column in text:
        return list(words)
    from trueup.read import open_table
    from trueup.read.columns import require_columns

    kind = require_columns(open_table(path, "predictions"), [column])[column]
    try:
        if kind == "integer":
            return [int(word) for word in words]
        if kind == "boolean":
            return [{"true": True, "false": False}[word.lower()] for word in words]
    except (ValueError, KeyError):
        raise ClassError(
            f"--classes must list labels as in column {column!r}, which holds {kind}; "
            f"got {','.join(words)!r}."
        ) from None
    return list(words)
