"""The command ``trueup``: a thin layer over the functions, with plain words for every mistake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup import __version__
from trueup.cli.console import Command, progress_bar, quiet_warnings, read_labels
from trueup.cli.serve import serve
from trueup.cli.study import compare, paper, plan
from trueup.cli.verify import verify

if TYPE_CHECKING:
    from trueup.estimate.result import Estimate

DESIGN_WORDS = (
    "How the test set was drawn: 'random' from the population, 'by_prediction' within predicted "
    "classes, 'by_class' within true classes, 'shifted' from another period or population."
)


PRIOR_HELP = (
    "perks, jeffreys, uniform; or from-counts:FILE:WEIGHT (an earlier audit), "
    "from-range:CLASS:LOW-HIGH (an expert's range of a recall), diagonal:UNITS, dirichlet:FILE; "
    "or one that is not conjugate: logistic-normal:ERROR:SD, hierarchical:ERROR, "
    "truncated:LOW-HIGH, symmetric:SD, ordered, regression:COLUMN:log. See docs/priors.md."
)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command
    group_class = type


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="trueup")
def main() -> None:
    """Totals you can defend, from classes a model predicted."""


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Make one decorator of several, so that commands can share them."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


table_options = together(
    click.argument("predictions", type=click.Path()),
    click.argument("test_set", type=click.Path()),
    click.option("--predicted", default="predicted", show_default=True, help="Column in both."),
    click.option("--true", default="true", show_default=True, help="Column in the test set."),
    click.option("--value", help="Numeric column to total; without it, units are counted."),
    click.option("--id", help="Unit id in both tables, to match the audited units."),
    click.option(
        "--missing",
        type=click.Choice(["refuse", "leave_out"]),
        default="refuse",
        show_default=True,
        help="What to do with rows without a usable class or value.",
    ),
)


def read_prior(context: click.Context, parameter: click.Parameter, text: str) -> object:
    """Read ``--prior``."""
    from trueup.cli.priors import parse_prior

    return plainly(parse_prior, text)


def read_rates(context: click.Context, parameter: click.Parameter, text: str | None) -> object:
    """Read ``--rates``."""
    from trueup.cli.priors import parse_rates

    return None if text is None else plainly(parse_rates, text)


def plainly(read: Callable[[str], object], text: str) -> object:
    """Read an option; what is wrong with it is the user's to mend."""
    from trueup.errors import TrueupError

    try:
        return read(text)
    except TrueupError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(2) from None


prior_option = click.option(
    "--prior", default="perks", show_default=True, callback=read_prior, help=PRIOR_HELP
)

estimate_options = together(
    click.option("--design", default="random", show_default=True, help=DESIGN_WORDS),
    click.option("--method", default="auto", show_default=True, help="See the README."),
    prior_option,
    click.option(
        "--rates", "P", callback=read_rates, help="Known error rates: a matrix, as --test."
    ),
    click.option("--draws", type=int, default=4000, show_default=True, help="Draws."),
    click.option("--interval", type=float, default=0.95, show_default=True, help="Its size."),
    click.option("--seed", type=int, help="The same seed gives the same numbers."),
    click.option(
        "--noise/--no-noise",
        default=True,
        help="Whether to include which units are misclassified; without it, the paper's steps.",
    ),
    click.option(
        "--overlap/--no-overlap",
        default=None,
        help="Whether audited units are in the population. [default: unless --design shifted]",
    ),
    click.option("--classes", help="All classes in order, separated by commas."),
    click.option("--output", type=click.Path(), help="Write to FILE.csv, .parquet or .json."),
    click.option("--report", type=click.Path(), help="Write a report to FILE.html."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
    click.option(
        "--keep-on-interrupt",
        is_flag=True,
        help="Ctrl-C while chains run gives the answer from the draws so far.",
    ),
)


@main.command()
@table_options
@click.option("--by", multiple=True, help="Column: report per group. May be given several times.")
@click.option("--strata", multiple=True, help="Column within which error rates differ. Likewise.")
@click.option(
    "--pooling",
    default="partial",
    show_default=True,
    help="How far the rates of strata are drawn together: partial, none or complete.",
)
@estimate_options
def correct(
    predictions: str,
    test_set: str,
    classes: str | None,
    output: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
    keep_on_interrupt: bool,
    **options: Any,
) -> None:
    """Correct the totals in PREDICTIONS with the audited units in TEST_SET (CSV or Parquet)."""
    import trueup
    from trueup.cli.priors import place_rates

    write = writers(output, report, predictions, test_set)
    if classes is None and options["P"] and options["P"][1]:  # the rates' file has labels
        classes = ",".join(options["P"][1])
    labels = None if classes is None else read_labels(classes, predictions, options["predicted"])
    if options["P"]:
        options["P"] = place_rates(options["P"], labels)
    with progress_bar(quiet, keep_on_interrupt) as bar, quiet_warnings():
        est = trueup.correct(predictions, test_set, classes=labels, progress=bar, **options)
    show(est, as_json, write)


@main.command()
@table_options
@click.option("--design", default="random", show_default=True, help=DESIGN_WORDS)
@prior_option
@click.option("--overlap/--no-overlap", default=None, help="As in `trueup correct`.")
@click.option("--classes", help="All classes in order, separated by commas.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
def check(
    predictions: str, test_set: str, classes: str | None, as_json: bool, **options: Any
) -> None:
    """Say what is wrong or doubtful with these tables, before any estimate."""
    import json

    import trueup

    labels = None if classes is None else read_labels(classes, predictions, options["predicted"])
    found = trueup.check(predictions, test_set, classes=labels, **options)
    click.echo(json.dumps(found.rows(), indent=2, allow_nan=False) if as_json else str(found))


@main.command()
@click.option("--test", required=True, help='Test counts, rows true: "4,1;2,3", or a CSV file.')
@click.option("--predicted-counts", required=True, help="Units per predicted class: 10,90.")
@click.option("--predicted-sums", help="Sum of the value per predicted class.")
@click.option("--predicted-squares", help="Sum of the squared value per predicted class.")
@click.option("--test-sums", help="Sum of the value of the test units per cell, as --test.")
@click.option("--test-squares", help="Sum of the squared value of the test units, likewise.")
@estimate_options
def numbers(
    test: str,
    predicted_counts: str,
    predicted_sums: str | None,
    predicted_squares: str | None,
    test_sums: str | None,
    test_squares: str | None,
    classes: str | None,
    output: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
    keep_on_interrupt: bool,
    **options: Any,
) -> None:
    """Correct counts or totals that you already have as numbers."""
    import trueup
    from trueup.cli.matrix import parse_list, parse_matrix
    from trueup.cli.priors import place_rates

    write = writers(output, report)
    n, labels = parse_matrix("--test", test)
    if classes is not None:
        labels = [label.strip() for label in classes.split(",")]
    if options["P"]:
        labels = labels or options["P"][1]
        options["P"] = place_rates(options["P"], labels)
    with progress_bar(quiet, keep_on_interrupt) as bar, quiet_warnings():
        est = trueup.correct_counts(
            n,
            parse_list("--predicted-counts", predicted_counts),
            parse_list("--predicted-sums", predicted_sums) if predicted_sums else None,
            parse_list("--predicted-squares", predicted_squares) if predicted_squares else None,
            parse_matrix("--test-sums", test_sums)[0] if test_sums else None,
            parse_matrix("--test-squares", test_squares)[0] if test_squares else None,
            classes=labels,
            progress=bar,
            **options,
        )
    show(est, as_json, write)


@main.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("trueup-demo"))
@click.option("--seed", type=int, default=2019, show_default=True)
def demo(folder: Path, seed: int) -> None:
    """Make a data set like the paper's, correct it with each method, and compare with the truth."""
    from trueup.cli.demo import run_demo

    with quiet_warnings():
        run_demo(folder, seed)


def writers(output: str | None, report: str | None, *inputs: str) -> Callable[[Estimate], None]:
    """Check both paths before any work is done, and give the function that writes to them."""
    from trueup.present.output import writer

    write = writer(output, *inputs)
    if report is None:
        return write
    from trueup.present.report import check_path, write_report

    target = check_path(report)

    def both(est: Estimate) -> None:
        write(est)
        write_report(est, target)

    return both


def show(est: Estimate, as_json: bool, write: Callable[[Estimate], None]) -> None:
    """Write the file, then print the answer; warnings go to standard error."""
    from trueup.present.output import as_text

    write(est)
    for warning in est.info["warnings"]:
        click.echo(f"Warning: {warning}", err=True)
    if as_json:
        click.echo(as_text(est))
    else:
        click.echo(str(est).split("\n\nWarning:")[0])
        click.echo(f"\nseed {est.info['seed']}", err=True)


for command in (compare, paper, plan, serve, verify):
    main.add_command(command)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command as the console does."""
    main(arguments)
