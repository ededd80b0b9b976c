"""What the commands share: errors in plain words, a progress bar, labels from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

INTERRUPTED = 130
"""The exit code of a command that was stopped by Ctrl-C: 128 + SIGINT, as shells have it."""

__all__ = ["Command", "progress_bar", "quiet_warnings", "read_labels"]


class Command(click.Command):
    """A command that answers bad input with its message and exit code 2, and Ctrl-C with 130."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; only trueup's own errors are the user's to mend."""
        from trueup.errors import TrueupError

        try:
            return super().invoke(context)
        except TrueupError as error:
            click.echo(f"Error: {error}", err=True)
            context.exit(2)
        except KeyboardInterrupt:
            click.echo("\nStopped by Ctrl-C before there was an answer.", err=True)
            context.exit(INTERRUPTED)


class progress_bar:  # noqa: N801  (a context manager, used as a function)
    """A bar on standard error that shows only when the work takes longer than half a second.

    With `keep_on_interrupt`, Ctrl-C during a chain gives the draws so far (see `run_chains`).
    """

    def __init__(self, quiet: bool = False, keep_on_interrupt: bool = False) -> None:
        import time

        self._clock, self._start = time.monotonic, time.monotonic()
        self._shown, self._last = False, 0.0
        self._visible = sys.stderr.isatty() and not quiet
        self.keep_on_interrupt = keep_on_interrupt

    def __enter__(self) -> Callable[[float], None] | None:
        return self if self._visible or self.keep_on_interrupt else None

    def __call__(self, fraction: float) -> None:
        """Show how far the work is."""
        if not self._visible:
            return
        if fraction < self._last:  # the next piece of work: the table is read, draws begin
            self._start = self._clock()
        self._last = fraction
        elapsed = self._clock() - self._start
        if elapsed < 0.5:
            return
        width = 30
        filled = round(width * min(max(fraction, 0.0), 1.0))
        left = elapsed * (1 / fraction - 1) if fraction > 0 else 0
        bar = "█" * filled + "░" * (width - filled)
        sys.stderr.write(f"\r{bar} {fraction:4.0%}  {elapsed:.0f} s, about {left:.0f} s left ")
        sys.stderr.flush()
        self._shown = True

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * 70 + "\r")


def quiet_warnings() -> Any:
    """Keep trueup's warnings off the Python channel: the command prints them itself."""
    import warnings

    from trueup.errors import TrueupWarning

    return warnings.catch_warnings(action="ignore", category=TrueupWarning)


def read_labels(classes: str, path: str, column: str) -> list[Any]:
    """Read ``--classes`` as the kind of label that the table holds."""
    from trueup.errors import ClassError
    from trueup.read import open_table
    from trueup.read.table import require_columns

    kind = require_columns(open_table(path, "predictions"), [column])[column]
    words = [word.strip() for word in classes.split(",")]
    try:
        if kind == "integer":
            return [int(word) for word in words]
        if kind == "boolean":
            return [{"true": True, "false": False}[word.lower()] for word in words]
    except (ValueError, KeyError):
        raise ClassError(
            f"--classes must list labels as in column {column!r}, which holds {kind}; "
            f"{classes!r} came."
        ) from None
    return words
