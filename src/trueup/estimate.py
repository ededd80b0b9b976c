"""The result: figures per class, the draws they came from, and what made them."""

from __future__ import annotations

import html
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.counts import Counts

__all__ = ["Answer", "Estimate", "summarise"]

Floats = NDArray[np.float64]
FIGURES = ("naive", "estimate", "mean", "sd", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method gives back: draws to summarise, or figures of its own, or both."""

    draws: Floats | None = None
    P: Floats | None = None
    estimate: Floats | None = None
    sd: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Corrected counts or totals per class, with how sure one can be.

    Attributes
    ----------
    classes : tuple
        The K class labels.
    draws : (R, K) array or None
        Draws of the counts or totals; None for a method without draws.
    P : (R, K, K) array or None
        The draws of the contingency matrix that they came from.
    info : dict
        method, design, prior, seed, draws, acceptance, ess, rhat, warnings, and more.
    counts : Counts
        The data in numbers.
    """

    classes: tuple[Hashable, ...]
    counts: Counts
    draws: Floats | None
    P: Floats | None
    info: dict[str, Any]
    _figures: dict[str, Floats | None] = field(repr=False)
    _native: Callable[[dict[str, list[Any]]], Any] = field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """Give a dict per class: class, naive, estimate, mean, sd, lower, upper."""
        return [
            {"class": label}
            | {name: None if x is None else float(x[g]) for name, x in self._figures.items()}
            for g, label in enumerate(self.classes)
        ]

    @property
    def table(self) -> Any:
        """The rows as a dataframe of the kind that came in; else pandas, Polars or PyArrow."""
        columns: dict[str, list[Any]] = {name: [] for name in ("class", *FIGURES)}
        for row in self.rows():
            for name, value in row.items():
                columns[name].append(value)
        return self._native(columns)

    def __str__(self) -> str:
        header, cells = self._cells()
        table = [header, *cells]
        widths = [max(len(row[i]) for row in table) for i in range(len(header))]
        lines = [self._title(), ""]
        for row in table:
            first = row[0].ljust(widths[0])
            rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            lines.append("  ".join([first, *rest]).rstrip())
        for warning in self.info["warnings"]:
            lines += ["", f"Warning: {warning}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        header, cells = self._cells()

        def line(row: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in row) + "</tr>"

        warnings = "".join(
            f"<p><b>Warning:</b> {html.escape(text)}</p>" for text in self.info["warnings"]
        )
        body = "".join(line(row, "td") for row in cells)
        return (
            f"<p>{html.escape(self._title())}</p><table><thead>{line(header, 'th')}</thead>"
            f"<tbody>{body}</tbody></table>{warnings}"
        )

    def _title(self) -> str:
        what = "totals" if self.counts.totals else "counts"
        return (
            f"Corrected {what}: method {self.info['method']}, design {self.info['design']}, "
            f"prior {self.info['prior']}, {100 * self.info['interval']:g}% interval"
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = self.rows()
        numbers = [abs(row[name]) for row in rows for name in FIGURES if row[name] is not None]
        largest = max(numbers, default=0.0)
        decimals = 0 if largest >= 10_000 else 1 if largest >= 100 else 3
        form = "{:.4g}" if largest >= 1e15 or 0 < largest < 0.01 else f"{{:,.{decimals}f}}"
        cells = [
            [str(row["class"])]
            + ["–" if row[name] is None else form.format(row[name]) for name in FIGURES]
            for row in rows
        ]
        return ["class", *FIGURES], cells


def summarise(answer: Answer, naive: Floats, interval: float) -> dict[str, Floats | None]:
    """Give the figures of each row; from draws: median, mean, sd and equal-tailed interval."""
    figures: dict[str, Floats | None] = dict.fromkeys(FIGURES)
    figures["naive"] = naive
    if answer.draws is not None:
        tail = (1 - interval) / 2
        lower, median, upper = np.quantile(answer.draws, [tail, 0.5, 1 - tail], axis=0)
        figures |= {"estimate": median, "lower": lower, "upper": upper}
        figures |= {"mean": answer.draws.mean(axis=0), "sd": answer.draws.std(axis=0, ddof=1)}
    for name in ("estimate", "sd", "lower", "upper"):
        own = getattr(answer, name)
        if own is not None:
            figures[name] = own
    return figures


def median_error(draws: Floats, ess: float) -> Floats:
    """Give the Monte Carlo standard error of the medians, from the draws' own order.

    The rank of the median among `ess` draws has standard deviation √ess/2; the values at those
    ranks bracket it. No variance is needed, and some of these posteriors have none.
    """
    step = min(0.5 / np.sqrt(max(ess, 1.0)), 0.5)
    low, high = np.quantile(draws, [0.5 - step, 0.5 + step], axis=0)
    return np.asarray((high - low) / 2)
