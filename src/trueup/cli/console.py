"""How the commands talk: errors in plain words, a progress bar, and exit codes."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from trueup.errors import TrueupError, TrueupWarning

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C stopped: 128 + SIGINT, as in shells."""
NOT_TO_PUBLISH = 3
"""The exit code when there is an answer that is not good enough for what was asked of it."""
WIDTH = 30


class Command(click.Command):
    """A command that answers bad input with its message and exit code 2, and Ctrl-C with 130."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the options; only trueup's own errors are the user's."""
        with _plain_errors():
            return super().make_context(*arguments, **more)

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        with _plain_errors():
            return super().invoke(context)


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except TrueupError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(2) from None
    except KeyboardInterrupt:
        click.echo("\nStopped by Ctrl-C before there was an answer.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def refuse(why: str) -> NoReturn:
    """End with the exit code that keeps a pipeline from publishing."""
    click.echo(f"Not to be published: {why}", err=True)
    raise click.exceptions.Exit(NOT_TO_PUBLISH)


class progress_bar:  # noqa: N801  (a context manager, used as a function)
    """A bar on standard error that shows only when the work takes longer than half a second.

    With `keep_on_interrupt`, Ctrl-C during a chain keeps the draws so far (see `run_chains`).
    """

    def __init__(self, quiet: bool = False, keep_on_interrupt: bool = False) -> None:
        self._start, self._last, self._shown = time.monotonic(), 0.0, False
        self._visible = sys.stderr.isatty() and not quiet
        self.keep_on_interrupt = keep_on_interrupt

    def __enter__(self) -> Callable[[float], None] | None:
        return self if self._visible or self.keep_on_interrupt else None

    def __call__(self, fraction: float) -> None:
        """Show how far the work is."""
        if not self._visible:
            return
        if fraction < self._last:  # the next piece of work: the table is read, draws begin
            self._start = time.monotonic()
        self._last = fraction
        elapsed = time.monotonic() - self._start
        if elapsed < 0.5:
            return
        filled = round(WIDTH * min(max(fraction, 0.0), 1.0))
        left = elapsed * (1 / fraction - 1) if fraction > 0 else 0
        bar = "█" * filled + "░" * (WIDTH - filled)
        sys.stderr.write(f"\r{bar} {fraction:4.0%}  {elapsed:.0f} s, about {left:.0f} s left ")
        sys.stderr.flush()
        self._shown = True

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * 70 + "\r")


def show(found: Any, answer: Any, as_json: bool) -> None:
    """Print what was found, or its answer as JSON."""
    import json

    text = json.dumps(answer, indent=2, allow_nan=False, default=str) if as_json else str(found)
    click.echo(text)


def quiet_warnings() -> Any:
    """Keep trueup's warnings off the Python channel: the command prints them itself."""
    return warnings.catch_warnings(action="ignore", category=TrueupWarning)
