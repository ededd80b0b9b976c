"""The result: figures per class (and group), the draws they came from, and what made them."""

from __future__ import annotations

import html
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts
from trueup.count.names import FIGURES
from trueup.errors import EstimateError, OptionError
from trueup.estimate import derived
from trueup.text import aligned, alike

__all__ = ["Answer", "Estimate", "GroupFigures", "median_error", "summarise"]

Floats = NDArray[np.float64]
MOST_PRINTED = 40


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method returns: draws to summarise, or figures of its own, or both.

    `beta` (R, K) are the base rates, on each draw, of the units that were not audited; `M`
    (R, K, L) all units of the population by true and predicted class.
    """

    draws: Floats | None = None
    P: Floats | None = None
    beta: Floats | None = None
    M: NDArray[Any] | None = None
    estimate: Floats | None = None
    sd: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """Per group: the columns and labels that tell groups apart, figures (B, K), and draws."""

    by: tuple[str, ...]
    labels: list[tuple[Hashable, ...]]
    figures: dict[str, Floats | None]
    draws: Floats | None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Corrected counts or totals per class, with their uncertainty.

    Attributes
    ----------
    classes : tuple
        The K class labels.
    counts : Counts
        The data in numbers.
    whole : (R, K) array or None
        Draws of the counts or totals of the whole population; None for a method without draws.
    P : (R, K, K) array or None
        The draws of the contingency matrix that they came from.
    M : (R, K, L) array or None
        Draws of the population's error matrix: units of true class g that were predicted h.
    info : dict
        method, design, prior, seed, draws, acceptance, ess, rhat, warnings, and more.
    groups : GroupFigures or None
        With `by`: the groups.
    asked : dict
        The call that made it: the function, what the tables were, and every option as given.
    """

    classes: tuple[Hashable, ...]
    counts: Counts
    whole: Floats | None
    P: Floats | None
    M: NDArray[Any] | None
    info: dict[str, Any]
    _figures: dict[str, Floats | None] = field(repr=False)
    _native: Callable[[dict[str, list[Any]]], Any] = field(repr=False)
    groups: GroupFigures | None = None
    asked: dict[str, Any] = field(default_factory=dict, repr=False)
    _again: Callable[..., Estimate] | None = field(default=None, repr=False)

    @property
    def draws(self) -> Floats | None:
        """The draws: (R, K), or (R, G, K) with `by`; None if there are none or were not kept."""
        return self.whole if self.groups is None else self.groups.draws

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per class: class, naive, estimate, mean, sd, lower, upper.

        With `by`, a dict per group and class with the group's columns first, then the whole, which
        has None in those columns.
        """
        if self.groups is None:
            return _rows({}, self.classes, self._figures)
        by, rows = self.groups.by, []
        for b, label in enumerate(self.groups.labels):
            here = {name: None if x is None else x[b] for name, x in self.groups.figures.items()}
            rows += _rows(dict(zip(by, label, strict=True)), self.classes, here)
        return rows + _rows(dict.fromkeys(by), self.classes, self._figures)

    @property
    def table(self) -> Any:
        """The rows as a dataframe of the input's kind; for files pandas, Polars or PyArrow."""
        rows = self.rows()
        return self._native({name: [row[name] for row in rows] for name in rows[0]})

    def share(self) -> list[dict[str, Any]]:
        """Return the share of each class within its group (or within the whole), with interval."""
        return self._derived(derived.share(self._joint_draws(), self.info["interval"]))

    def contrast(self, a: Hashable, b: Hashable) -> list[dict[str, Any]]:
        """Return b − a and the growth (b − a)/a per class, for two groups by label, with intervals.

        Labels are as in the rows; a tuple of them for several `by` columns.
        """
        one, other = self._group(a), self._group(b)
        interval = self.info["interval"]
        difference = derived.contrast(one, other, interval)
        growth = derived.growth(one, other, interval)
        return [
            {"class": label}
            | {name: _plain(x[g]) for name, x in difference._asdict().items()}
            | {f"growth_{name}": _plain(x[g]) for name, x in growth._asdict().items()}
            for g, label in enumerate(self.classes)
        ]

    def accuracy(self) -> list[dict[str, Any]]:
        """Return recall, precision and F1 of each class and the overall accuracy, with intervals.

        They are the classifier's in the *population*, whatever the design of the test set: recall
        is the producer's accuracy, precision the user's. A dict has class (None for the overall
        one), measure, mean, sd, lower and upper.
        """
        found = derived.accuracies(self._error_matrix(), self._columns()[1])
        interval = self.info["interval"]
        told = {name: derived.spread(x, interval)._asdict() for name, x in found.items()}
        overall = {name: _plain(x) for name, x in told.pop("accuracy").items()}
        rows = [
            {"class": label, "measure": measure} | {k: _plain(x[g]) for k, x in figures.items()}
            for g, label in enumerate(self.classes)
            for measure, figures in told.items()
        ]
        return [*rows, {"class": None, "measure": "accuracy"} | overall]

    def error_matrix(self) -> list[dict[str, Any]]:
        """Return the share of the population in each cell: true, predicted, mean, sd, interval."""
        M = self._error_matrix()
        figures = derived.spread(M / M.sum(axis=(1, 2), keepdims=True), self.info["interval"])
        return [
            {"true": label, "predicted": column}
            | {name: _plain(x[g, h]) for name, x in figures._asdict().items()}
            for g, label in enumerate(self.classes)
            for h, column in enumerate(self._columns()[0])
        ]

    def _error_matrix(self) -> NDArray[Any]:
        if self.M is None:
            raise EstimateError(
                "Accuracies of the population need draws of the error rates; method "
                f"{self.info['method']!r} has none.",
                hint='use method="auto".',
            )
        return self.M

    def _columns(self) -> tuple[tuple[Hashable, ...], list[int | None]]:
        """The predicted labels, and where among them each class is."""
        labels = self.classes
        return labels, [labels.index(x) if x in labels else None for x in self.classes]

    def rank(self) -> list[dict[str, Any]]:
        """Return the rank of each group per class, 1 for the largest, with interval."""
        if self.groups is None:
            raise OptionError("Ranks compare groups.", hint="give `by`.")
        return self._derived(derived.rank(self._joint_draws(), self.info["interval"]))

    def probability(self, above: float) -> list[dict[str, Any]]:
        """Return Pr(u > above) for each class, and each group with `by`."""
        chance = derived.probability_above(self._joint_draws(), above)
        return self._derived_rows({"probability": chance})

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Return an Altair chart, with extra ``plot``; kinds are in `trueup.present.plots.plot`."""
        return import_module("trueup.present.plots").plot(self, kind, **options)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML file; see `trueup.present.report.write_report`."""
        written: Path = import_module("trueup.present.report").write_report(self, path, **options)
        return written

    def sensitivity(self, priors: Any = ("jeffreys", "uniform")) -> Any:
        """Return the estimate under other priors, side by side; see `trueup.study.sensitivity`."""
        return import_module("trueup.study.sensitivity").sensitivity(self, priors)

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ, with named coordinates; see `trueup.present.arviz`."""
        return import_module("trueup.present.arviz").to_arviz(self)

    def again(self, **changes: Any) -> Estimate:
        """Estimate once more from the same numbers and seed, with some options changed."""
        if self._again is None:
            raise EstimateError("Only an estimate made by `correct` or `correct_counts` can rerun.")
        return self._again(**changes)

    def _joint_draws(self) -> Floats:
        if self.draws is None:
            raise EstimateError(
                "This needs joint draws, and none were kept.",
                hint="use a method with draws; with many groups, keep_draws=True.",
            )
        return self.draws

    def _group(self, label: Hashable) -> Floats:
        if self.groups is None:
            raise OptionError("A contrast compares groups.", hint="give `by`.")
        wanted = label if isinstance(label, tuple) else (label,)
        if wanted not in self.groups.labels:
            known = [x[0] if len(x) == 1 else x for x in self.groups.labels[:10]]
            raise OptionError(f"There must be a group {label!r}; groups are {known} …")
        return self._joint_draws()[:, self.groups.labels.index(wanted)]

    def _derived(self, figure: derived.Figure) -> list[dict[str, Any]]:
        return self._derived_rows(figure._asdict())

    def _derived_rows(self, columns: dict[str, Floats]) -> list[dict[str, Any]]:
        if self.groups is None:
            return _rows({}, self.classes, columns)
        rows = []
        for b, label in enumerate(self.groups.labels):
            here = {name: x[b] for name, x in columns.items()}
            rows += _rows(dict(zip(self.groups.by, label, strict=True)), self.classes, here)
        return rows

    def __str__(self) -> str:
        header, cells = self._cells()
        hidden = max(len(cells) - MOST_PRINTED - len(self.classes), 0)
        if hidden:  # the first groups, and the whole at the end
            cells = cells[:MOST_PRINTED] + cells[-len(self.classes) :]
        lines = aligned([header, *cells], left=range(len(header) - len(FIGURES)))
        if hidden:
            more = f"… {hidden:,} more rows: see rows() or table; then the whole:"
            lines.insert(1 + MOST_PRINTED, more)
        lines = [self._title(), "", *lines]
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
        body = "".join(line(row, "td") for row in cells[: MOST_PRINTED + len(self.classes)])
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
        write = dict.fromkeys(FIGURES, alike(row[name] for row in rows for name in FIGURES))
        for name in FIGURES:  # a column of whole numbers needs no decimals
            column = [row[name] or 0.0 for row in rows]
            if all(x.is_integer() and abs(x) < 1e15 for x in column):
                write[name] = alike(column)
        words = [name for name in rows[0] if name not in FIGURES]
        cells = [
            ["" if row[name] is None else str(row[name]) for name in words]
            + [write[name](row[name]) for name in FIGURES]
            for row in rows
        ]
        return [*words, *FIGURES], cells


def _rows(
    labels: dict[str, Any], classes: tuple[Hashable, ...], figures: dict[str, Any]
) -> list[dict[str, Any]]:
    return [
        labels
        | {"class": label}
        | {name: None if x is None else _plain(x[g]) for name, x in figures.items()}
        for g, label in enumerate(classes)
    ]


def _plain(x: Any) -> float | None:
    """A plain float; what does not exist (0/0, growth from 0) is None, never NaN."""
    return float(x) if np.isfinite(x) else None


def summarise(answer: Answer, naive: Floats, interval: float) -> dict[str, Floats | None]:
    """Return the figures of each row; from draws: median, mean, sd and equal-tailed interval."""
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
    """Return the Monte Carlo standard error of the medians, from the draws' own order.

    The rank of the median among `ess` draws has standard deviation √ess/2; the values at those
    ranks bracket it. No variance is needed, and some of these posteriors have none.
    """
    step = min(0.5 / np.sqrt(max(ess, 1.0)), 0.5)
    low, high = np.quantile(draws, [0.5 - step, 0.5 + step], axis=0)
    return np.asarray((high - low) / 2)
