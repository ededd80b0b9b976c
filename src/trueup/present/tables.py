"""An estimate as a table: printed, and for a text in Markdown, LaTeX, HTML or Great Tables.

One function writes the numbers, so that they are the same in every form; none of the data can add
markup to any of them.
"""

import html
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import sqrt
from statistics import NormalDist
from typing import Any

from trueup.count.names import FIGURES
from trueup.errors import optional
from trueup.estimate.result import MOST_PRINTED, Estimate
from trueup.present.evidence import audited_in, how_made, over_time, population
from trueup.present.markup import Markup, join, table, tag
from trueup.text import UNSEEN, aligned, percent, rounded, shown

WIDTH = 100
SHORTEST = (12, 6)  # labels; the second where the first does not fit in any unit
UNITS = {1.0: "", 1e3: ", in thousands", 1e6: ", in millions", 1e9: ", in billions"}
"""What is printed in units, so that it fits."""
# What is markup in Markdown, and what some of its dialects take for markup or make a link of.
MARKUP = re.compile(r"([\\`*_{}\[\]|])")
DIALECT = re.compile(r"[~$^@]|(?<=www)\.|:(?=//)", re.IGNORECASE)
LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "[": "{[}", "]": "{]}", "*": "{*}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}  # fmt: skip


def written(
    est: Estimate, unit: float = 1.0, groups: Iterable[int] | None = None
) -> list[dict[str, Any]]:
    """Return the tidy rows with each figure as text: as many digits as its interval leaves it.

    Predicted counts are known, and written in full. Figures may be in a larger `unit`. With
    `groups`, only those groups are written, and the whole.
    """
    rows, whole = _chosen(est, est.tidy(), groups), not est.counts.totals and unit == 1
    first = len(rows) - len(est.classes)
    for i, row in enumerate(rows):
        half = None if row["lower"] is None else (row["upper"] - row["lower"]) / 2 / unit
        errors = _errors(est, row, i - first)
        for name in FIGURES:
            if row[name] is None:
                continue
            x = row[name] / unit
            if name == "sd":
                row[name] = rounded(x, x, False)
            else:
                known, error = whole and name == "naive", errors.get(name, errors.get("", 0.0))
                error = 0.0 if name == "naive" else error  # a sum over the table
                counted = whole and name != "mean"
                row[name] = rounded(x, None if known else half, counted, error / unit)
    return rows


def _chosen(est: Estimate, rows: list[Any], groups: Iterable[int] | None) -> list[Any]:
    """Return the rows of some groups and of the whole; without `groups`, all."""
    if groups is None or est.groups is None:
        return rows
    K = len(est.classes)
    return [row for b in groups for row in rows[b * K : (b + 1) * K]] + rows[-K:]


def _errors(est: Estimate, row: dict[str, Any], g: int) -> dict[str, float]:
    """Return the Monte Carlo errors of the ends, and of the other figures under "".

    Those of groups, whose draws need not be kept, are those of a normal with their sd.
    """
    info = est.info
    if "monte_carlo_error" not in info:
        return {}
    if g < 0:
        return normal_errors(row["sd"], info)
    names = {"": "", "lower": "_lower", "upper": "_upper"}
    return {end: info[f"monte_carlo_error{name}"][g] for end, name in names.items()}


def normal_errors(sd: float, info: Mapping[str, Any]) -> dict[str, float]:
    """Return the Monte Carlo errors of median and ends, √(p(1 − p)/ess) over the density."""
    normal, upper = NormalDist(), (1 + info["interval"]) / 2
    each = {p: sd * sqrt(p * (1 - p) / info["ess"]) for p in (0.5, upper)}
    middle, end = (x / normal.pdf(normal.inv_cdf(p)) for p, x in each.items())
    return {"": middle, "lower": end, "upper": end}


def shares(est: Estimate, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of accuracies or shares with mean, sd and interval as text."""
    found = []
    for row in rows:
        half = None if row["lower"] is None else (row["upper"] - row["lower"]) / 2
        errors = {} if row["sd"] is None else normal_errors(row["sd"], est.info)
        texts = {
            k: rounded(x, half, False, errors.get(k if k in errors else ""))
            for k, x in row.items()
            if isinstance(x, float)
        }
        found.append({k: "–" if x is None and k != "class" else x for k, x in row.items()} | texts)
    return found


def error_cells(est: Estimate) -> list[list[str]]:
    """Return the share of the population in each cell in %, a row for each true class."""
    cells = [f"{100 * row['mean']:.2f}" for row in est.error_matrix()]
    L = est.counts.L
    return [cells[i : i + L] for i in range(0, len(cells), L)]


def class_shares(est: Estimate) -> list[dict[str, Any]]:
    """Return the tidy rows with shares of the classes, in each group and in the whole, as text."""
    found, rows, K = est.share(), est.tidy(), len(est.classes)
    naive = [row["naive"] for row in rows]
    z = NormalDist().inv_cdf((1 + est.info["interval"]) / 2)
    for i, (row, share) in enumerate(zip(rows, found, strict=True)):
        every = sum(naive[i - i % K : i - i % K + K])
        share["naive"] = naive[i] / every if every else None
        half = None if share["lower"] is None else 50 * (share["upper"] - share["lower"])
        errors = normal_errors((half or 0.0) / z, est.info) | {"naive": 0.0}
        for name in ("naive", "estimate", "lower", "upper"):
            x, error = share[name], errors.get(name, errors[""])
            row[name] = None if x is None else f"{rounded(100 * x, half, False, error)}%"
    return rows


def published(
    est: Estimate, share: bool = False, groups: Iterable[int] | None = None
) -> tuple[list[str], list[list[str]], int]:
    """Return header, cells and number of columns of words of the table that people publish.

    With `share`, it has the classes' shares; with `groups`, only those groups and the whole.
    """
    by = list(est.groups.by) if est.groups is not None else []
    names = {"naive": "as predicted"}
    if est.info["method"] != "naive":
        names |= {"estimate": "corrected", "lower": f"{percent(est.info['interval'])} from"}
        names |= {"upper": "to"}
    rows = _chosen(est, class_shares(est), groups) if share else written(est, groups=groups)
    return [*by, "class", *names.values()], _cells(rows, by, names), len(by) + 1


def _cells(
    rows: Sequence[dict[str, Any]], by: Sequence[str], figures: Iterable[str]
) -> list[list[str]]:
    """Return labels and figures as text; "all" stands for the groups, unless one is called so."""
    taken = {str(row[name]).casefold() for row in rows for name in by}
    whole = "all groups" if "all" in taken else "all"
    return [
        [whole if row["part"] == "whole" else _text(row[name]) for name in by]
        + [_text(row["class"])]
        + ["–" if row[name] is None else row[name] for name in figures]
        for row in rows
    ]


def _text(label: object) -> str:
    return "(none)" if label is None else UNSEEN.sub(shown, str(label))


def markdown_table(est: Estimate, share: bool = False) -> str:
    """Return the published table in Markdown, with a sentence on how it was made."""
    header, cells, words = published(est, share)

    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(map(_markdown, row))} |"

    rule = ["---"] * words + ["---:"] * (len(header) - words)
    lines = [line(header), f"| {' | '.join(rule)} |", *map(line, cells)]
    return "\n".join([*lines, "", _markdown(how_made(est, share))]) + "\n"


def _markdown(text: str) -> str:
    escaped = MARKUP.sub(r"\\\1", html.escape(text, quote=False))
    return DIALECT.sub(lambda found: f"&#{ord(found[0])};", escaped)


def latex_table(est: Estimate, share: bool = False) -> str:
    """Return the published table as a LaTeX tabular, with a sentence on how it was made."""
    header, cells, words = published(est, share)
    lines = [" & ".join(map(_latex, row)) + r" \\" for row in [header, *cells]]
    kinds = "l" * words + "r" * (len(header) - words)
    body = [rf"\begin{{tabular}}{{{kinds}}}", r"\hline", lines[0], r"\hline", *lines[1:]]
    return "\n".join([*body, r"\hline", r"\end{tabular}", "", _latex(how_made(est, share))]) + "\n"


def _latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def html_table(
    est: Estimate, share: bool = False, *, rows: int | None = None, warnings: bool = False
) -> Markup:
    """Return the published table in HTML, if asked only its first groups and the whole."""
    K, B = len(est.classes), _groups(est)
    hidden = 0 if rows is None else max(B * K - rows, 0)
    header, cells, words = published(est, share, range(-(-(B * K - hidden) // K)))
    cells = cells[: B * K - hidden] + cells[-K:]
    parts: list[Markup] = [table(header, cells, words=words)]
    if hidden:
        parts.append(tag("p", f"{hidden:,} more rows are in rows() and table."))
    parts.append(tag("p", how_made(est, share)))
    if warnings:
        parts += [tag("p", tag("b", "Warning: "), text) for text in est.info["warnings"]]
    return join(parts)


def great_table(est: Estimate, share: bool = False) -> Any:
    """Return the published table as a Great Tables object, to be styled further."""
    absent = "`to_great_tables` needs the package great-tables, which is not installed."
    GT = optional("great_tables", absent, "pip install 'trueup[tables]'").GT
    from trueup.read.native import local_frame

    header, cells, words = published(est, share)
    columns = enumerate(zip(*cells, strict=True))
    frame = local_frame({str(i): list(column) for i, column in columns})  # it escapes the cells
    made = GT(frame).cols_label({str(i): name for i, name in enumerate(header)})
    made = made.cols_align("right", [str(i) for i in range(words, len(header))])
    return made.tab_source_note(_markdown(how_made(est, share)))


def plain_text(est: Estimate, *, warnings: bool = True) -> str:
    """Return what `print` shows: every figure, in at most 100 columns."""
    for shortest, unit in product(SHORTEST, UNITS):
        lines = _lines(est, unit, shortest)
        if max(map(len, lines)) <= WIDTH:
            break
    parts = [_wrapped(_title(est) + UNITS[unit]), "\n".join(lines)]
    parts += [_wrapped(larger)] if (larger := population(est)) else []
    if warnings:
        parts += [_wrapped(f"Warning: {text}") for text in est.info["warnings"]]
    return "\n\n".join(parts)


def _lines(est: Estimate, unit: float, shortest: int) -> list[str]:
    by = list(est.groups.by) if est.groups is not None else []
    K, B = len(est.classes), _groups(est)
    hidden = max(B * K - MOST_PRINTED, 0)
    rows = written(est, unit, range(-(-(B * K - hidden) // K)))
    rows = rows[: B * K - hidden] + rows[-K:]  # the first groups, and the whole at the end
    words, header = range(len(by) + 1), [*by, "class", *FIGURES]
    table = [header, *_cells(rows, by, FIGURES)]
    lines = aligned(_narrow(table, words, shortest), words)
    if hidden:
        lines.insert(1 + MOST_PRINTED, f"… {hidden:,} more rows: see rows() or table; the whole:")
    return lines


def _groups(est: Estimate) -> int:
    return 0 if est.groups is None else len(est.groups.labels)


def _title(est: Estimate) -> str:
    what, info = "totals" if est.totals else "counts", est.info
    if info["method"] == "naive":
        return f"{what.capitalize()} as predicted, not corrected"
    design = f"drawn {est.asked['drawn']}" if "drawn" in est.asked else f"design {info['design']}"
    if est.asked.get("probability") and "drawn" not in est.asked:
        design = f"drawn with the probabilities in {est.asked['probability']!r}"
    if "audited_periods" in info:
        where = audited_in(est)
        design += f" in {where} ({over_time(est)})" if where else f" ({over_time(est)})"
    prior = "" if est.whole is None else f"prior {info['prior']}, "
    return (
        f"Corrected {what}: method {info['method']}, {design}, {prior}"
        f"{percent(info['interval'])} interval"
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=True, break_on_hyphens=False)


def _narrow(table: list[list[str]], words: Sequence[int], shortest: int) -> list[list[str]]:
    """Shorten the labels in the middle, the widest column first, until the table fits."""
    width = [max(map(len, column)) for column in zip(*table, strict=True)]
    while sum(width) + 2 * (len(width) - 1) > WIDTH:
        widest = max(words, key=lambda i: width[i])
        if width[widest] <= shortest:
            break
        width[widest] -= 1

    def cut(x: str, most: int) -> str:
        return x if len(x) <= most else f"{x[: most // 2]}…{x[most // 2 + 1 - most :]}"

    return [[cut(x, width[i]) if i in words else x for i, x in enumerate(row)] for row in table]
