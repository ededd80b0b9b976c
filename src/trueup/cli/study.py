"""The commands that simulate: ``trueup compare``, ``trueup plan`` and ``trueup paper``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trueup.cli.console import Command, progress_bar, quiet_warnings, read_labels

__all__ = ["compare", "paper", "plan"]


def case_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say what the case is: tables, or what to assume."""
    for option in reversed(
        (
            click.argument("predictions", type=click.Path(), required=False),
            click.argument("test_set", type=click.Path(), required=False),
            click.option("--predicted", default="predicted", show_default=True, help="Column."),
            click.option("--true", default="true", show_default=True, help="Column."),
            click.option("--value", help="Numeric column to total; without it, units."),
            click.option("--id", help="Unit id in both tables."),
            click.option("--classes", help="All classes in order, separated by commas."),
            click.option("--missing", default="refuse", show_default=True, help="As in correct."),
            click.option(
                "--rates",
                help='Assumed error rates, rows true: "0.9,0.1;0.2,0.8", a CSV file, or one '
                "number: the share that is right, the rest spread evenly.",
            ),
            click.option("--base-rates", help="Assumed shares of the true classes: 0.1,0.9."),
            click.option("--units", type=int, help="Assumed size of the population."),
            click.option(
                "--spread",
                type=float,
                help="Assumed values to total: lognormal, with this spread; 0 are equal values.",
            ),
            click.option("--means", help="Their mean per true class: 1,3. [default: 1]"),
            click.option("--test-base-rates", help="Shares of the classes in a shifted test set."),
            click.option("--interest", help="The class that matters. [default: the smallest]"),
            click.option("--prior", default="perks", show_default=True, help="As in correct."),
            click.option("--draws", type=int, default=1000, show_default=True, help="Draws."),
            click.option("--interval", type=float, default=0.95, show_default=True, help="Size."),
            click.option("--seed", type=int, help="The same seed gives the same numbers."),
            click.option("--plot", type=click.Path(), help="Write a chart to FILE.svg or .png."),
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
            click.option("--quiet", is_flag=True, help="No progress bar."),
        )
    ):
        command = option(command)
    return command


@click.command(cls=Command)
@case_options
@click.option("--test-size", help="Test units: 200, or per class 100,100. [default: as it is]")
@click.option("--design", default="random", show_default=True, help="How test units are drawn.")
@click.option("--method", "methods", multiple=True, help="Only these; may be repeated.")
@click.option("--replications", type=int, default=400, show_default=True, help="How many.")
def compare(
    plot: str | None, as_json: bool, quiet: bool, test_size: str | None, **options: Any
) -> None:
    """See how every method would do on your case, by simulation with a known truth.

    The case is PREDICTIONS and TEST_SET (CSV or Parquet), or what you assume:

    trueup compare --rates 0.9 --base-rates 0.1,0.9 --units 20000 --test-size 200
    """
    import trueup
    from trueup.cli.matrix import parse_list

    _check_chart(plot)
    options["methods"] = options["methods"] or None
    if test_size is not None:
        sizes = [int(x) if x.is_integer() else x for x in parse_list("--test-size", test_size)]
        options["n"] = sizes[0] if len(sizes) == 1 else sizes
    with progress_bar(quiet) as bar, quiet_warnings():
        found = trueup.compare(**_case(options), progress=bar)
    answer = {
        "rows": found.rows(),
        "info": found.info
        | {
            "interest": found.interest,
            "recommended": found.recommended,
            "recommendation": found.recommendation,
        },
    }
    _show(found, answer, plot, as_json)


@click.command(cls=Command)
@case_options
@click.option("--half-width", type=float, help="The wanted half-width of the interval.")
@click.option("--cv", type=float, help="Or the wanted coefficient of variation: 0.05.")
@click.option("--next", "next_", type=int, help="Which units to audit next: how many.")
@click.option("--certainty", type=int, default=0, help="Audit so many of the largest for certain.")
@click.option("--by", help="Column of groups, to name them with --next.")
@click.option("--worth", type=float, help="Test units that the assumed rates are worth.")
@click.option("--cost", type=float, default=1.0, show_default=True, help="Of a label.")
@click.option("--design", default="by_prediction", show_default=True, help="As in correct.")
@click.option("--allocation", "allocations", multiple=True, help="Only these; may be repeated.")
@click.option("--method", default="auto", show_default=True, help="As in correct.")
@click.option("--replications", type=int, default=100, show_default=True, help="Test sets.")
def plan(plot: str | None, as_json: bool, quiet: bool, next_: int | None, **options: Any) -> None:
    """Say how many units to label for a wanted precision, and which next.

    From PREDICTIONS and a pilot TEST_SET, from PREDICTIONS and assumed rates, or all assumed:

    trueup plan --rates 0.9 --base-rates 0.1,0.9 --units 20000 --half-width 200
    """
    import trueup

    _check_chart(plot)
    options["allocations"] = options["allocations"] or ("proportional", "equal", "neyman")
    with progress_bar(quiet) as bar, quiet_warnings():
        found = trueup.plan(**_case(options), next=next_, progress=bar)
    answer = {
        "rows": found.rows(),
        "curve": found.curve,
        "next": found.next,
        "info": found.info | {"interest": found.interest, "target": found.target},
    }
    _show(found, answer, plot, as_json)


@click.command(cls=Command)
@click.argument("what", type=click.Choice(["examples", "table1", "figures"]), default="examples")
@click.option("--replications", type=int, default=1000, show_default=True, help="Of Table 1.")
@click.option("--seed", type=int, default=2019, show_default=True, help="Of the simulations.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("trueup-figures"),
    show_default=True,
    help="Where figures are written.",
)
@click.option("--json", "as_json", is_flag=True, help="Table 1 as JSON.")
def paper(what: str, replications: int, seed: int, folder: Path, as_json: bool) -> None:
    """Reproduce the paper (Meertens et al., 2019): its examples, Table 1 or its figures."""
    with progress_bar() as bar, quiet_warnings():
        if what == "examples":
            from trueup.paper.examples import print_examples

            print_examples()
        elif what == "table1":
            _table_1(replications, seed, as_json, bar)
        else:
            from trueup.paper.figures import write_figures

            for path in write_figures(folder, replications=replications, seed=seed, progress=bar):
                click.echo(str(path))


def _table_1(
    replications: int, seed: int, as_json: bool, progress: Callable[[float], None] | None
) -> None:
    import json
    from dataclasses import asdict

    from trueup.paper.table1 import table_1, table_1_text

    lines, _ = table_1(replications, seed=seed, progress=progress)
    if as_json:
        answer = {"rows": [asdict(line) for line in lines], "info": {"seed": seed}}
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
    else:
        click.echo(table_1_text(lines))


def _case(options: dict[str, Any]) -> dict[str, Any]:
    """Turn what was typed into arguments."""
    from trueup.cli.matrix import parse_list, parse_matrix
    from trueup.cli.priors import parse_prior
    from trueup.errors import OptionError
    from trueup.simulation import lognormal

    options = dict(options)
    rates, shares = options.pop("rates"), options.pop("base_rates")
    spread, means = options.pop("spread"), options.pop("means")
    classes = options.pop("classes")
    options["N"] = options.pop("units")
    options["prior"] = parse_prior(options["prior"])
    given = options.pop("test_base_rates")
    options["test_base_rates"] = parse_list("--test-base-rates", given) if given else None
    beta = parse_list("--base-rates", shares) if shares else None
    labels: list[Any] | None = None
    P: list[list[float]] | None = None
    if rates is not None:
        P, labels = parse_matrix("--rates", rates)
        if len(P) == 1 and len(P[0]) == 1:
            if beta is None:
                raise OptionError("One number as --rates needs --base-rates to count the classes.")
            right, K = P[0][0], len(beta)
            P = [[right if g == h else (1 - right) / (K - 1) for h in range(K)] for g in range(K)]
    if classes is not None:
        if options["predictions"] is not None:
            labels = read_labels(classes, options["predictions"], options["predicted"])
        else:
            labels = [word.strip() for word in classes.split(",")]
    values = None
    if spread is not None or means is not None:
        values = lognormal(spread or 0.0, parse_list("--means", means) if means else 1.0)
    return options | {"P": P, "base_rates": beta, "classes": labels, "values": values}


def _check_chart(plot: str | None) -> None:
    """Refuse a chart that could not be written before any work is done."""
    if plot is None:
        return
    from trueup.errors import FileError, OptionError
    from trueup.present.plots.studies import load_altair

    if Path(plot).suffix.lower() not in (".svg", ".png"):
        raise OptionError(f"--plot must end in .svg or .png; {Path(plot).name!r} came.")
    if not Path(plot).parent.is_dir():
        raise FileError(f"The folder of --plot must exist; {str(Path(plot).parent)!r} does not.")
    load_altair()


def _show(found: Any, answer: dict[str, Any], plot: str | None, as_json: bool) -> None:
    import json

    if plot is not None:
        from trueup.present.plots.studies import save_chart

        save_chart(found.plot(), plot)
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False, default=str))
    else:
        click.echo(str(found))
        click.echo(f"\nseed {answer['info']['seed']}", err=True)
