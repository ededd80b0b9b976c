"""The command ``trueup counts``: both tables in numbers, to correct them somewhere else."""

from typing import Any

import click

from trueup.cli.console import Command, quiet_warnings
from trueup.cli.options import COLUMNS, labels_of, takes, takes_tables
from trueup.errors import OptionError


@click.command(cls=Command)
@takes_tables(required=True)
@takes(f"{COLUMNS} count squares overlap json", "counts")
def counts(
    predictions: str, test_set: str, classes: str | None, as_json: bool, **options: Any
) -> None:
    """Count both tables, to correct the numbers elsewhere.

    Prints the command `trueup numbers` with the numbers of PREDICTIONS and TEST_SET; with --json
    the numbers by name, which are also the arguments of `trueup.correct_counts`. For totals,
    `trueup correct` is better: these numbers do not say how large single units are.
    """
    import json

    import trueup
    from trueup.present.reproduce import bag, numbers_command

    labels = labels_of(classes, [], predictions, options["predicted"])
    with quiet_warnings():
        est = trueup.correct(predictions, test_set, classes=labels, method="naive", **options)
    if "drawn" in est.asked:
        raise OptionError(
            f"{test_set} was drawn {est.asked['drawn']}, and numbers per class do not say so.",
            hint="correct the tables themselves with `trueup correct`.",
        )
    how: dict[str, Any] = {} if options["overlap"] else {"overlap": False}
    how |= {} if est.info["design"] == "random" else {"design": est.info["design"]}
    numbers = json.dumps(bag(est.counts) | how, allow_nan=False, default=str)
    click.echo(numbers if as_json else numbers_command(est.counts, **how))
