"""The command ``trueup``: a thin layer over the functions, with plain words for every mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup import __version__
from trueup.cli import options as shared
from trueup.cli.console import Command, progress_bar, quiet_warnings, refuse
from trueup.cli.counts import counts
from trueup.cli.draw import draw
from trueup.cli.options import labels_of
from trueup.cli.serve import serve
from trueup.cli.study import compare, paper, plan
from trueup.cli.verify import verify

if TYPE_CHECKING:
    from trueup.cli.matrix import Matrix
    from trueup.estimate.result import Estimate


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, prog_name="trueup")
def main() -> None:
    """Totals you can defend, from classes a model predicted."""


case_options = shared.together(
    click.option("--design", default="random", help=shared.DESIGN),
    shared.prior_option,
    click.option(
        "--overlap/--no-overlap",
        default=None,
        help="Whether the audited units are in the population. [default: yes, except with --design "
        "shifted]",
    ),
)
estimate_options = shared.together(
    case_options,
    click.option("--method", default="auto", help=shared.METHOD),
    shared.matrix_option("--rates", "P", help="Known error rates, rows true: 0.9,0.1;0.2,0.8."),
    click.option(
        "--noise/--no-noise",
        default=True,
        help="Whether the interval includes the chance of which units are misclassified.",
    ),
    click.option(
        "--sample-of", help="Size of the population that the table is a sample of, or inf."
    ),
    shared.run_options(4000, auto=True),
    shared.seconds_option,
    click.option("--output", type=click.Path(), help="Write to FILE.csv, .parquet or .json."),
    click.option("--report", type=click.Path(), help="Write a report to FILE.html."),
    click.option(
        "--max-cv",
        type=click.FloatRange(min=0, min_open=True),
        help="Exit with code 3 if the standard deviation of a figure is above this share of it.",
    ),
    click.option(
        "--keep-on-interrupt",
        is_flag=True,
        help="Ctrl-C while chains run gives the answer from the draws so far.",
    ),
)


by_option = click.option("--by", multiple=True, help="Column: report per group. May be repeated.")
score_option = click.option(
    "--score",
    multiple=True,
    help="Column of the confidence in the predicted class; or repeated, one for each class in the "
    "order of --classes.",
)
strata_option = click.option(
    "--strata", multiple=True, help="Column within which error rates differ. May be repeated."
)


@main.command()
@shared.column_options(required=True)
@score_option
@by_option
@click.option(
    "--margin",
    multiple=True,
    help="Some of the --by columns: groups are added up over the others. May be repeated.",
)
@click.option("--period", help="Column with the period (2024-03, …) of each unit: a series.")
@click.option(
    "--panel",
    type=float,
    default=0.0,
    help="With --period: share of units that are also in the next period, with the same labels.",
)
@strata_option
@click.option(
    "--drawn-within",
    multiple=True,
    help="Column within which the test set was drawn, with any allocation. May be repeated.",
)
@click.option(
    "--pooling",
    default="partial",
    help="How far the rates of strata are pooled: partial, none or complete.",
)
@shared.unit_options
@shared.aggregated_options
@shared.written_options
@estimate_options
def correct(
    predictions: str, test_set: str, classes: str | None, P: Matrix | None, **options: Any
) -> None:
    """Correct the totals in PREDICTIONS with the audited units in TEST_SET (CSV or Parquet)."""
    import trueup

    labels = labels_of(classes, [P], predictions, options["predicted"], options["text"])
    known = P and P.in_order(labels)
    if options["margin"]:
        options["keep_draws"] = True
    answer(trueup.correct, predictions, test_set, classes=labels, P=known, **options)


@main.command()
@shared.column_options(required=True)
@score_option
@by_option
@strata_option
@shared.aggregated_options
@shared.written_options
@case_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
@click.option("--strict", is_flag=True, help="Exit with code 3 if anything gives reason to doubt.")
def check(
    predictions: str,
    test_set: str,
    classes: str | None,
    as_json: bool,
    strict: bool,
    **options: Any,
) -> None:
    """Say what is wrong or doubtful with these tables, before any estimate."""
    import json

    import trueup

    labels = labels_of(classes, [], predictions, options["predicted"], options["text"])
    found = trueup.check(predictions, test_set, classes=labels, **options)
    click.echo(json.dumps(found.rows(), indent=2, allow_nan=False) if as_json else str(found))
    if strict and found.doubts:
        refuse(f"{len(found.doubts)} of {len(found.findings)} answers give reason to doubt.")


@main.command()
@shared.matrix_option(
    "--test", help='Test counts, rows true: "4,1;2,3", or a CSV file with labels.'
)
@shared.matrix_option(
    "--studies",
    help="Instead of --test: a CSV file with a row for each published study of a class. Its first "
    "column is the true class, the others count the units predicted as each class.",
)
@click.option(
    "--between",
    type=float,
    default=0.5,
    help="With --studies: how far rates differ between studies, on the logit scale. 0: not at all.",
)
@shared.list_option(
    "--predicted-counts",
    required=True,
    help="Units per predicted class, in the order of the columns of --test: 10,90.",
)
@shared.list_option("--predicted-sums", help="Sum of the value per predicted class.")
@shared.list_option("--predicted-squares", help="Sum of the squared value per predicted class.")
@shared.matrix_option("--test-sums", help="Sum of the value of the test units per cell, as --test.")
@shared.matrix_option("--test-squares", help="Sum of their squared values, as --test.")
@shared.classes_option
@click.option(
    "--predicted-classes",
    help="Names of the columns of --test, separated by commas, where they are not the classes: "
    "a label such as 'unknown' is a column without a row.",
)
@estimate_options
def numbers(classes: str | None, predicted_classes: str | None, **options: Any) -> None:
    """Correct counts or totals that you already have as numbers."""
    import trueup
    from trueup.cli.matrix import by_class

    test = options["test"]
    if (studies := options["studies"]) is not None:
        options["studies"], found = by_class(studies)
        classes = ",".join(found) if classes is None else classes
    names = ("test", "test_sums", "test_squares", "P")
    labels = labels_of(classes, [options[name] for name in names], None, "")
    columns = None if test is None else test.columns
    if predicted_classes is not None:
        columns = [word.strip() for word in predicted_classes.split(",")]
    options |= {name: options[name] and options[name].in_order(labels, columns) for name in names}
    answer(trueup.correct_counts, classes=labels, predicted_classes=columns, **options)


@main.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("trueup-demo"),
    help="Where the tables and the report are written.",
)
@click.option("--seed", type=int, default=2019, help="The same seed gives the same data.")
def demo(folder: Path, seed: int) -> None:
    """Make a data set like the paper's, correct it with each method, and compare with the truth."""
    from trueup.cli.demo import run_demo

    with quiet_warnings():
        run_demo(folder, seed)


def answer(
    function: Callable[..., Estimate],
    *tables: str,
    output: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
    keep_on_interrupt: bool,
    max_cv: float | None,
    margin: tuple[str, ...] = (),
    **options: Any,
) -> None:
    """Check where to write, estimate, write, and print; warnings go to standard error."""
    from trueup.present.output import as_text, writer
    from trueup.present.tables import plain_text

    write = writer(output, *tables)
    if report is not None:
        from trueup.present.report import check_path, write_report

        target = check_path(report)
    with progress_bar(quiet, keep_on_interrupt) as bar, quiet_warnings():
        est = function(*tables, progress=bar, **options)
    est = est.margin(*margin) if margin else est
    write(est)
    if report is not None:
        write_report(est, target)
    for warning in est.info["warnings"]:
        click.echo(f"Warning: {warning}", err=True)
    if as_json:
        click.echo(as_text(est))
    else:
        click.echo(plain_text(est, warnings=False))
        click.echo(f"\nseed {est.info['seed']}", err=True)
    if max_cv is not None:
        check_cv(est, max_cv)


def check_cv(est: Estimate, most: float) -> None:
    """Refuse figures whose coefficient of variation is above `most`, or not known."""
    wide = [
        row
        for row in est.rows()
        if row["sd"] is None or not row["sd"] <= most * abs(row["estimate"])
    ]
    if wide:
        by = est.groups.by if est.groups is not None else ()
        labels = [[row[name] for name in (*by, "class")] for row in wide[:3]]
        shown = ", ".join("/".join("all" if x is None else str(x) for x in row) for row in labels)
        refuse(
            f"{len(wide)} of {len(est.rows())} figures have a coefficient of variation above "
            f"{most:g}, or none: {shown}{' …' if len(wide) > 3 else ''}."
        )


for command in (compare, counts, draw, paper, plan, serve, verify):
    main.add_command(command)
