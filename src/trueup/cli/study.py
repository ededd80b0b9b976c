"""The commands that simulate: ``trueup compare``, ``trueup plan`` and ``trueup paper``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trueup.cli.console import Command, progress_bar, quiet_warnings, show
from trueup.cli.options import COLUMNS, WRITTEN, labels_of, takes, takes_tables
from trueup.errors import OptionError
from trueup.text import listed

CASE = (
    f"{COLUMNS} rates base-rates units spread means test-base-rates prior draws interval "
    "seed json quiet plot"
)


@click.command(cls=Command)
@takes_tables(required=False)
@takes(CASE, "study")
@takes("interest test-size design method replications", "compare")
def compare(
    plot: str | None, as_json: bool, quiet: bool, test_size: list[float] | None, **options: Any
) -> None:
    """See how well each method would do on data like yours.

    Your case is simulated, so that the truth is known. It is PREDICTIONS and TEST_SET (CSV or
    Parquet), or what you assume:

    trueup compare --rates 0.9 --base-rates 0.1,0.9 --units 20000 --test-size 200
    """
    import trueup

    _check_chart(plot)
    if len(options["interest"]) > 1:
        raise OptionError("--interest must name one class here; got several.")
    options["methods"] = options["methods"] or None
    if test_size is not None:
        sizes = [int(x) if x.is_integer() else x for x in test_size]
        options["n"] = sizes[0] if len(sizes) == 1 else sizes
    case = _case(options)
    if test_size is None and options["test_set"] is None:
        raise OptionError("Give the size of the test set: --test-size 200.")
    with progress_bar(quiet) as bar, quiet_warnings():
        found = trueup.compare(**case, progress=bar)
    more = {name: getattr(found, name) for name in ("interest", "recommended", "recommendation")}
    by_simulation = {name: found.rows(name) for name in found.info["simulations"]}
    answer = {"rows": found.rows(), "simulations": by_simulation, "info": found.info | more}
    _show(found, answer, plot, as_json)


@click.command(cls=Command)
@takes_tables(required=False)
@takes(CASE, "study")
@takes(
    f"interest {WRITTEN} half-width cv next by drawn-within certainty period drift score worth "
    "cost output design allocation method replications",
    "plan",
)
def plan(
    plot: str | None,
    as_json: bool,
    quiet: bool,
    next_: int | None,
    output: str | None,
    cost: str,
    cv: str | None,
    **options: Any,
) -> None:
    """Say how many units to label, and which next.

    The plan is for a precision that you want. It starts from PREDICTIONS and a pilot TEST_SET, from
    PREDICTIONS and assumed rates, or from assumptions alone:

    trueup plan --rates 0.9 --base-rates 0.1,0.9 --units 20000 --half-width 200
    """
    import trueup

    _check_chart(plot)
    options["cv"] = None if cv is None else _numbers("--cv", cv)
    cost_, case = _numbers("--cost", cost), _case(dict(options))
    goals = (options["half_width"], options["cv"], next_, options["period"])
    if all(goal is None for goal in goals):
        raise OptionError("Give a goal: --half-width, --cv or --next.")
    if output is not None:
        from trueup.present.output import work_list_writer

        if next_ is None or options["id"] is None:
            raise OptionError("--output needs --next and --id: which units, and their names.")
        write = work_list_writer(output, *filter(None, (options["predictions"],)))
    with progress_bar(quiet) as bar, quiet_warnings():
        found = trueup.plan(**case, next=next_, cost=cost_, progress=bar)
    if output is not None:
        write(found.work_list_rows())
    answer = {
        "rows": found.rows(),
        "curve": found.curve,
        "next": found.next,
        "info": found.info | {"interest": found.interest, "target": found.target},
    }
    _show(found, answer, plot, as_json)


@click.command(cls=Command)
@click.argument("what", type=click.Choice(["examples", "table1", "figures"]), default="examples")
@takes("replications seed folder json", "paper")
def paper(what: str, replications: int, seed: int, folder: Path, as_json: bool) -> None:
    """Reproduce the paper's examples, Table 1 or figures.

    The paper is Meertens, Diks, van den Herik and Takes (2019).
    """
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
    from dataclasses import asdict

    from trueup.paper.table1 import table_1, table_1_text

    lines, _ = table_1(replications, seed=seed, progress=progress)
    answer = {"rows": [asdict(line) for line in lines], "info": {"seed": seed}}
    show(table_1_text(lines), answer, as_json)


def _numbers(option: str, text: str) -> float | dict[str, float]:
    """Read one number, or one for each class."""
    try:
        if "=" not in text:
            return float(text)
        return {a: float(b) for a, b in (part.rsplit("=", 1) for part in text.split(","))}
    except ValueError:
        raise OptionError(f"{option} must be a number, or class=number,…; got {text!r}.") from None


def _case(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the options of the case into the arguments of `compare` and `plan`."""
    from trueup.simulation import lognormal

    rates, spread, means = (options.pop(name) for name in ("rates", "spread", "means"))
    predictions, shares = options["predictions"], options["base_rates"]
    if (predictions is None or options["test_set"] is None) and not options.get("score"):
        needed = {"--rates": rates, "--base-rates": shares}
        needed |= {"--units": options["N"]} if predictions is None else {}
        if absent := [name for name, given in needed.items() if given is None]:
            raise OptionError(
                f"Without {'tables' if predictions is None else 'TEST_SET'}, "
                f"{listed([*needed])} must say what to assume; missing: {listed(absent)}.",
                hint="name both tables, or add those options.",
            )
    if "score" in options:
        options["score"] = options["score"] or None
    labels = labels_of(options.pop("classes"), [rates], predictions, options["predicted"])
    P = rates and rates.in_order(labels)
    if P and len(P) == len(P[0]) == 1:
        right, K = P[0][0], len(shares)
        if not 0 <= right <= 1:
            raise OptionError(f"--rates must be between 0 and 1; got {right:g}.")
        P = [[right if g == h else (1 - right) / (K - 1) for h in range(K)] for g in range(K)]
    values = None
    if spread is not None or means is not None:
        values = lognormal(spread or 0.0, 1.0 if means is None else means)
    wanted = options["interest"]
    interest = (wanted[0] if wanted else None) if len(wanted) < 2 else list(wanted)
    return options | {"P": P, "classes": labels, "values": values, "interest": interest}


def _check_chart(plot: str | None) -> None:
    """Refuse a chart that could not be written, before any work is done."""
    if plot is None:
        return
    from trueup.present.output import writable
    from trueup.present.plots.studies import load_altair

    writable("--plot", plot, ".svg", ".png")
    load_altair()


def _show(found: Any, answer: dict[str, Any], plot: str | None, as_json: bool) -> None:
    if plot is not None:
        from trueup.present.plots.studies import save_chart

        save_chart(found.plot(), plot)
    show(found, answer, as_json)
    if not as_json and answer["info"]["seed"] is not None:
        click.echo(f"\nseed {answer['info']['seed']}", err=True)
