"""The reference: public names from the package, commands and options from the parser."""

from __future__ import annotations

import html

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import trueup
from trueup.cli import main

ORDER = ("correct", "correct_counts", "Estimate", "check", "compare", "plan", "simulate")
API_START = """# Python

Everything public is in `trueup`: `import trueup as tu`. This page is made from the docstrings.
"""
COMMANDS_START = """# Commands

`trueup COMMAND --help` prints the same; this page is made from the parser. Exit code 0: done;
2: bad input, with one message on standard error. With `--json`, standard output holds JSON only.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add both pages."""
    files.append(File.generated(config, "reference/api.md", content=api_page()))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    return files


def api_page() -> str:
    """A section for every public name: those that users call first, the others by name."""
    public = [name for name in trueup.__all__ if not name.startswith("__")]
    errors = [name for name in public if name.endswith(("Error", "Warning"))]
    rest = [name for name in public if name not in (*ORDER, *errors, "prior")]
    makers = [f"prior.{name}" for name in trueup.prior.__all__ if name[0].islower()]
    parts = [API_START]
    for heading, names in (
        ("Correct", [*ORDER[:3], *rest]),
        ("Before and after", ORDER[3:]),
        ("Priors", [name for name in makers if name != "prior.resolve_prior"]),
        ("Errors and warnings", errors),
    ):
        parts.append(f"## {heading}\n")
        if heading == "Priors":
            parts.append("::: trueup.prior\n    options:\n      members: false\n")
        parts += [f"::: trueup.{name}\n" for name in names]
    return "\n".join(parts)


def commands_page() -> str:
    """A section for every command, with every argument and option."""
    parts = [COMMANDS_START]
    for name, command in sorted(main.commands.items()):
        context = click.Context(command, info_name=f"trueup {name}", show_default=True)
        usage = command.get_usage(context).removeprefix("Usage: ")
        parts += [f"## trueup {name}\n", f"```text\n{' '.join(usage.split())}\n```\n"]
        parts += [_words(command.help or ""), ""]
        parts.append('<dl class="options" markdown="0">')
        for parameter in command.params:
            record = _option(parameter, context)
            if record:
                parts.append("<dt><code>{}</code></dt><dd>{}</dd>".format(*record))
        parts += ["</dl>", ""]
    return "\n".join(parts)


def _words(text: str) -> str:
    """The help of a command; a line that is a command becomes one."""
    lines = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(f"```text\n{x}\n```" if x.startswith("trueup ") else x for x in lines)


def _option(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    if isinstance(parameter, click.Argument):
        words = "A file." if isinstance(parameter.type, click.Path) else ""
        if isinstance(parameter.type, click.Choice):
            words = "One of " + ", ".join(map(str, parameter.type.choices)) + "."
        optional = "" if parameter.required else " May be left out."
        return html.escape(parameter.make_metavar(context)), html.escape(words + optional)
    record = parameter.get_help_record(context)
    return None if record is None else (html.escape(record[0]), html.escape(record[1]))
