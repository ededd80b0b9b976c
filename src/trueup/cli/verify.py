"""The command ``trueup verify``: the proof, rerun on your own machine."""

import click

from trueup.cli.console import Command, progress_bar, quiet_warnings, show
from trueup.cli.options import takes


@click.command(cls=Command)
@takes("quick only seed processes json quiet", "verify")
def verify(
    quick: bool,
    only: tuple[str, ...],
    seed: int | None,
    processes: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check that intervals cover and figures are right.

    Prints one table: simulation-based calibration; coverage and error over a grid of cases with a
    known truth, and with real classifiers, groups, audits, scores and periods; published figures.
    The exit code is 1 if anything is not as it should be.
    """
    from trueup.verify import verify as run

    with progress_bar(quiet) as bar, quiet_warnings():
        found = run(quick=quick, only=only, seed=seed, processes=processes, progress=bar)
    show(found, found.answer() if as_json else None, as_json)
    if found.breaches:
        raise click.exceptions.Exit(1)
