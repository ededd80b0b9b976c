"""The command ``trueup verify``: the proof, rerun on your own machine."""

import click

from trueup.cli.console import Command, progress_bar, quiet_warnings


@click.command(cls=Command)
@click.option("--quick", is_flag=True, help="Minutes instead of a quarter of an hour.")
@click.option("--seed", type=int, help="The same seed gives the same table. [default: a fresh one]")
@click.option("--processes", type=int, help="How many at once. [default: 2]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def verify(
    quick: bool, seed: int | None, processes: int | None, as_json: bool, quiet: bool
) -> None:
    """Check that intervals cover and figures are right: one table, exit code 1 if any is not.

    Simulation-based calibration, coverage and error over a grid of cases with a known truth,
    published figures, and other packages on the same input.
    """
    import json

    from trueup.verify import verify as run

    with progress_bar(quiet) as bar, quiet_warnings():
        found = run(quick=quick, seed=seed, processes=processes, progress=bar)
    click.echo(json.dumps(found.answer(), indent=2, allow_nan=False) if as_json else str(found))
    if found.breaches:
        raise click.exceptions.Exit(1)
