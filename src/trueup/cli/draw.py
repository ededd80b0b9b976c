"""The command ``trueup draw``: the units to label, as a work list."""

from typing import Any

import click

from trueup.cli.console import Command
from trueup.cli.options import WRITTEN, labels_of, takes


@click.command(cls=Command)
@click.argument("predictions", type=click.Path())
@takes(
    "n id within by-prediction size score classes allocation predicted true show seed "
    f"{WRITTEN} output",
    "draw",
)
def draw(predictions: str, output: str, **options: Any) -> None:
    """Draw the units of PREDICTIONS to label, as a work list.

    The list records how it was drawn. Fill in its column of true classes, and pass it to
    `trueup correct` as TEST_SET.
    """
    import warnings

    from trueup.audit.draw import draw_rows
    from trueup.errors import TrueupWarning
    from trueup.present.output import work_list_writer
    from trueup.read import open_table
    from trueup.read.formats.written import written

    write = work_list_writer(output, predictions)
    columns = options["predicted"], options["text"]
    options["classes"] = labels_of(options["classes"], [], predictions, *columns)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", TrueupWarning)
        how = {name: options.pop(name) for name in ("decimal", "encoding", "text")}
        rows = draw_rows(open_table(written(predictions, **how), "predictions"), **options)
    write(rows)
    for warning in told:
        click.echo(f"Warning: {warning.message}", err=True)
    click.echo(summary(rows, options["true"], output))


def summary(rows: list[dict[str, Any]], true: str, output: str) -> str:
    """Say how many units are to be labelled, and in which strata."""
    stratum = "trueup_stratum" if "trueup_stratum" in rows[0] else "stratum"
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[stratum]] = counts.get(row[stratum], 0) + (row[true] is None)
    lines = [f"{sum(counts.values()):,} units to label, in {output}:"]
    lines += [f"  {units:>6,} {label}" for label, units in list(counts.items())[:20]]
    lines += [f"  … and {len(counts) - 20:,} more strata"] if len(counts) > 20 else []
    return "\n".join([*lines, f"Fill in the column {true!r}, then correct with this file."])
