"""The command ``trueup``: a thin layer over the functions, with plain words for every mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup import __version__
from trueup.cli.console import Command, progress_bar, quiet_warnings, refuse, show
from trueup.cli.counts import counts
from trueup.cli.draw import draw
from trueup.cli.options import COLUMNS, WRITTEN, labels_of, takes, takes_tables
from trueup.cli.serve import serve
from trueup.cli.study import compare, paper, plan
from trueup.cli.verify import verify
from trueup.errors import OptionError

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


CASE = "design prior overlap"
ESTIMATE = (
    f"{CASE} method rates noise sample-of draws interval seed json quiet seconds output report "
    "save max-cv keep-on-interrupt"
)


@main.command()
@takes_tables(required=True)
@takes(
    f"{COLUMNS} score by margin period panel drift strata drawn-within pooling probability cluster "
    f"weight count squares {WRITTEN} {ESTIMATE}",
    "judged",
)
def correct(
    predictions: str, test_set: str, classes: str | None, P: Matrix | None, **options: Any
) -> None:
    """Correct the totals in PREDICTIONS with the units in TEST_SET.

    Both are CSV, Parquet or Arrow files; TEST_SET has the audited units with their true class.
    """
    import trueup

    labels = labels_of(classes, [P], predictions, options["predicted"][0], options["text"])
    known = P and P.in_order(labels)
    if options["margin"]:
        options["keep_draws"] = True
        known_columns = (*options["by"], options["period"])
        if unknown := [name for name in options["margin"] if name not in known_columns]:
            raise OptionError(f"--margin must name some of the --by columns; got {unknown[0]!r}.")
    answer(trueup.correct, predictions, test_set, classes=labels, P=known, **options)


@main.command()
@takes_tables(required=True)
@takes(
    f"{COLUMNS} score by strata period drawn-within count squares {WRITTEN} {CASE} json strict",
    "judged",
)
def check(
    predictions: str,
    test_set: str,
    classes: str | None,
    as_json: bool,
    strict: bool,
    **options: Any,
) -> None:
    """Say what is wrong or doubtful in these tables.

    Run it before any estimate.
    """
    import trueup

    labels = labels_of(classes, [], predictions, options["predicted"][0], options["text"])
    found = trueup.check(predictions, test_set, classes=labels, **options)
    show(found, found.rows(), as_json)
    if strict and found.doubts:
        refuse(f"there is reason to doubt in {len(found.doubts)} of {len(found.findings)} answers.")


@main.command()
@takes(
    "test studies between predicted-counts predicted-sums predicted-squares test-sums test-squares "
    f"classes predicted-classes {ESTIMATE}",
    "numbers",
)
def numbers(classes: str | None, predicted_classes: str | None, **options: Any) -> None:
    """Correct counts or totals that you already have as numbers."""
    import trueup
    from trueup.cli.matrix import by_class, in_columns_order

    test = options["test"]
    if (studies := options["studies"]) is not None:
        options["studies"], found = by_class(studies)
        classes = in_columns_order(classes, found)
    names = ("test", "test_sums", "test_squares", "P")
    labels = labels_of(classes, [options[name] for name in names], None, "")
    columns = None if test is None else test.columns
    if predicted_classes is not None:
        columns = [word.strip() for word in predicted_classes.split(",")]
    elif test is not None and test.labels and columns is None and labels != test.labels:
        columns = test.labels  # numbers per predicted class are in the order of the file
        said = ", ".join(columns)
        click.echo(
            f"Numbers per predicted class are read in the order of --test: {said}.", err=True
        )
        for name in names[1:3]:
            if options[name] and options[name].labels is None:
                options[name] = options[name]._replace(labels=test.labels)
    square = columns and sorted(columns) == sorted(map(str, labels or ()))
    across = dict.fromkeys(names, columns) | ({"P": labels} if square else {})
    options |= {x: options[x] and options[x].in_order(labels, across[x]) for x in names}
    answer(trueup.correct_counts, classes=labels, predicted_classes=columns, **options)


@main.command()
@click.argument("series", type=click.Path())
@click.argument("predictions", type=click.Path(), required=False)
@takes("test-set save output report json quiet max-cv", "add")
def add(
    series: str, predictions: str | None, test_set: str | None, save: str | None, **options: Any
) -> None:
    """Add the periods in PREDICTIONS to SERIES, a file that `correct --period --save` wrote.

    The tables of earlier periods are not needed. The answer is that of all tables together.
    """
    import trueup

    est = trueup.load(series)
    tables = [table for table in (predictions, test_set) if table is not None]

    def longer(*_: str, progress: Any) -> Estimate:
        return est.add(predictions, test_set, progress=progress)

    answer(longer, *tables, save=save or series, keep_on_interrupt=False, **options)


@main.command()
@takes("folder seed", "demo")
def demo(folder: Path, seed: int) -> None:
    """Make example data, correct them, and compare with the truth.

    The data are like the paper's: companies, some of which are webshops, and their turnover.
    """
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
    save: str | None = None,
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
    if save is not None:
        from trueup.present.saved import check_ending

        check_ending(save)
    with progress_bar(quiet, keep_on_interrupt) as bar, quiet_warnings():
        est = function(*tables, progress=bar, **options)
    est = est.margin(*margin) if margin else est
    write(est)
    if save is not None:
        est.save(save)
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
