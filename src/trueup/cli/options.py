"""Options that several commands share, and how their text is read."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import click

from trueup.cli.matrix import Matrix, parse_list, parse_matrix
from trueup.errors import ClassError

DESIGN = (
    "How the test set was drawn: 'random' from the population, 'by_prediction' within predicted "
    "classes, 'by_class' within true classes, 'shifted' from another period or population."
)
METHOD = (
    "auto (joint for the designs random and by_prediction, otherwise constrained, or full for "
    "totals of by_class tables), joint, constrained, full, bayes, inverse, calibrated, "
    "difference, test_set or naive."
)
PRIOR = (
    "What is assumed about the error rates before the test set: perks, jeffreys or uniform; an "
    "earlier audit, from-counts:FILE:WEIGHT; an expert's range of a recall, "
    "from-range:CLASS:LOW-HIGH; diagonal:UNITS, dirichlet:FILE, logistic-normal:ERROR:SD, "
    "hierarchical:ERROR, truncated:LOW-HIGH, symmetric:SD, ordered or regression:COLUMN:log. "
    "docs/priors.md explains each."
)


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Make one decorator of several, so that commands can share them."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def column_options(*, required: bool) -> Callable[..., Any]:
    """The two tables and their columns."""
    return together(
        click.argument("predictions", type=click.Path(), required=required),
        click.argument("test_set", type=click.Path(), required=required),
        click.option(
            "--predicted",
            default="predicted",
            help="Column of the predicted class, in both tables.",
        ),
        click.option("--true", default="true", help="Column of the true class, in the test set."),
        click.option("--value", help="Numeric column to total; by default units are counted."),
        click.option("--id", help="Column of the unit's id, in both tables, to match units."),
        classes_option,
        click.option(
            "--missing",
            type=click.Choice(["refuse", "leave_out"]),
            default="refuse",
            help="What to do with rows without a usable class or value.",
        ),
    )


written_options = together(
    click.option("--decimal", help="Decimal mark of the files' numbers: , or ."),
    click.option("--encoding", help="Encoding of CSV files. [default: utf-8]"),
    click.option("--text", multiple=True, help="Column whose numbers are codes. May be repeated."),
)
unit_options = together(
    click.option("--probability", help="Column of the test set: each unit's drawing probability."),
    click.option("--cluster", help="Column of the test set: which units were drawn together."),
)
aggregated_options = together(
    click.option("--count", help="For a table already aggregated: column of units per row."),
    click.option("--squares", help="With --count: column of sums of squares; --value has sums."),
)
classes_option = click.option("--classes", help="All classes in order, separated by commas.")


def _draws(context: click.Context, option: click.Parameter, given: str) -> int | None:
    """Read the number of draws; None for "auto"."""
    return None if given == "auto" else int(click.types.convert_type(int)(given, option, context))


def run_options(draws: int, auto: bool = False) -> Callable[..., Any]:
    """How the answer is computed and printed."""
    more = " 'auto' takes 4000, and more where the printed digits need them." if auto else ""
    how: dict[str, Any] = {"metavar": "N", "callback": _draws} if auto else {"type": int}
    return together(
        click.option("--draws", default=str(draws), help=f"How many draws.{more}", **how),
        click.option("--interval", type=float, default=0.95, help="Probability of the interval."),
        click.option("--seed", type=int, help="The same seed gives the same numbers."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output."),
        click.option("--quiet", is_flag=True, help="Show no progress bar."),
    )


seconds_option = click.option(
    "--seconds", type=float, default=20.0, help="How long chains may take, where draws need them."
)


def _read_prior(_: click.Context, option: click.Parameter, text: str) -> object:
    from trueup.cli.priors import parse_prior

    return parse_prior(text)


prior_option = click.option("--prior", default="perks", callback=_read_prior, help=PRIOR)


def matrix_option(*names: str, **more: Any) -> Callable[..., Any]:
    """An option that is a matrix, typed or in a file."""

    def read(_: click.Context, option: click.Parameter, text: str | None) -> Matrix | None:
        return None if text is None else parse_matrix(option.opts[0], text)

    return click.option(*names, callback=read, **more)


def list_option(*names: str, **more: Any) -> Callable[..., Any]:
    """An option that is a list of numbers."""

    def read(_: click.Context, option: click.Parameter, text: str | None) -> list[float] | None:
        return None if text is None else parse_list(option.opts[0], text)

    return click.option(*names, callback=read, **more)


def labels_of(
    classes: str | None,
    matrices: Sequence[Matrix | None],
    path: str | None,
    column: str,
    text: Sequence[str] = (),
) -> list[Hashable] | None:
    """Return the classes: those of ``--classes`` or of a labelled matrix, as the table spells them.

    Text from the command line becomes the kind of label that column `column` of `path` holds.
    """
    named = [matrix.labels for matrix in matrices if matrix is not None and matrix.labels]
    if classes is None and not named:
        return None
    words = named[0] if classes is None else [word.strip() for word in classes.split(",")]
    if path is None or column in text:
        return list(words)
    from trueup.read import open_table
    from trueup.read.table import require_columns

    kind = require_columns(open_table(path, "predictions"), [column])[column]
    try:
        if kind == "integer":
            return [int(word) for word in words]
        if kind == "boolean":
            return [{"true": True, "false": False}[word.lower()] for word in words]
    except (ValueError, KeyError):
        raise ClassError(
            f"--classes must list labels as in column {column!r}, which holds {kind}; "
            f"got {','.join(words)!r}."
        ) from None
    return list(words)
