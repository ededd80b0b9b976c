"""The result: figures per class (and group), the draws they came from, and what made them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.count.counts import Counts
from trueup.count.names import FIGURES, names
from trueup.errors import EstimateError, OptionError
from trueup.estimate import derived
from trueup.estimate.answer import GroupFigures
from trueup.numerics.arrays import Floats

MOST_PRINTED = 40


@dataclass(frozen=True, eq=False)
class Estimate:
    """Corrected counts or totals per class, with their uncertainty.

    Attributes
    ----------
    classes : tuple
        The K class labels.
    counts : Counts
        The counted tables.
    whole : (R, K) array or None
        Draws of the counts or totals of the whole population; None for a method without draws.
    P : (R, K, K) array or None
        Draws of the error rates: rows true, columns predicted.
    M : (R, K, L) array or None
        Draws of the population's error matrix: units of true class g that were predicted h. None
        without draws, with `weight`, and for a work list drawn by size.
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
    _native: Callable[[dict[str, list[Any]]], Any] = field(default=dict, repr=False)
    groups: GroupFigures | None = None
    asked: dict[str, Any] = field(default_factory=dict, repr=False)
    _again: Callable[..., Estimate] | None = field(default=None, repr=False)

    @property
    def draws(self) -> Floats | None:
        """The draws: (R, K), or (R, G, K) with `by`; None if none were made or kept."""
        return self.whole if self.groups is None else self.groups.draws

    @property
    def totals(self) -> bool:
        """Whether a value is totalled; units that are counted with a `weight` are counts too."""
        weighted = self.asked.get("weight") is not None and self.asked.get("value") is None
        return self.counts.totals and not weighted

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per class: class, naive, estimate, mean, sd, lower, upper.

        With `by`, a dict per group and class with the group's columns first, then the whole, which
        has None in those columns.
        """
        whole = self._whole_rows(self._figures)
        if self.groups is None:
            return whole
        figures = {name: self.groups.figures[name] for name in FIGURES}  # one order for all
        return self._derived_rows(figures) + whole

    def tidy(self) -> list[dict[str, Any]]:
        """Return the rows with `part`: "group", or "whole" for the population as a whole."""
        rows = self.rows()
        whole = len(rows) - len(self.classes)
        return [row | {"part": "group" if i < whole else "whole"} for i, row in enumerate(rows)]

    @property
    def table(self) -> Any:
        """The tidy rows as a dataframe of the input's kind; for files pandas, Polars or PyArrow."""
        rows = self.tidy()
        return self._native({name: [row[name] for row in rows] for name in rows[0]})

    def share(self) -> list[dict[str, Any]]:
        """Return the share of each class within its group and within the whole, with interval.

        As in `rows`, the whole comes last and has None in the columns of groups.
        """
        if self.groups is not None:
            from trueup.estimate.derived.few_groups import warn_of_few

            warn_of_few(self, stacklevel=3)
        found = self._derived(derived.shares(self._joint_draws()))
        if self.groups is None:
            return found
        whole = derived.summarise_draws(derived.shares(self._whole_draws()), self.info["interval"])
        return found + self._whole_rows(whole)

    def contrast(
        self, a: Hashable, b: Hashable = None, *, share: bool = False
    ) -> list[dict[str, Any]]:
        """Return b − a and the growth (b − a)/a per class, with intervals.

        `a` and `b` are groups by label, as in the rows (a tuple for several `by` columns), or two
        classes, which are compared in each group. ``est.contrast(other)`` is other − est for the
        whole populations of two estimates, taken as independent; it warns if both rest on one test
        set. With `share`, shares of the classes are compared.
        """
        from trueup.estimate.derived.contrast import contrast

        return contrast(self, a, b, share)

    def combine(self, classes: Mapping[Hashable, Sequence[Hashable]]) -> Estimate:
        """Return the estimate with classes added up, draw by draw: ``{"new": ["a", "b"]}``."""
        from trueup.estimate.derived.combine import combine

        return combine(self, classes)

    def margin(self, *by: str) -> Estimate:
        """Return the estimate for fewer `by` columns: groups added up over the others."""
        from trueup.estimate.derived.combine import margin

        return margin(self, names("by", by[0] if len(by) == 1 else by))  # one by one, or a list

    def mean_value(self) -> list[dict[str, Any]]:
        """Return the mean value per unit of each class (its total / its units), with interval.

        With `period`, of each class in each period.
        """
        units = None if self.groups is None else self.groups.units
        if not self.totals or (self.groups is not None and units is None):
            raise OptionError(
                "`mean_value` needs an estimate with `value` and without `by`.",
                hint="give `value` alone or with `period`; for one group, correct its own table.",
            )
        if units is None:
            from trueup.estimate.derived.accuracy import drawn_matrix

            units = drawn_matrix(self, "Mean values").sum(axis=2)
        return self._derived(derived.divide(self._joint_draws(), units))

    def accuracy(self) -> list[dict[str, Any]]:
        """Return recall, precision and F1 of each class and the overall accuracy, with intervals.

        They hold for the whole *population* (all groups, all periods), whatever the design: recall
        is the producer's accuracy, precision the user's. A dict has class (None for the overall
        one), measure, mean, sd, lower and upper. With more than two classes there is no overall one
        with `period` or `strata`, nor after `combine` of a test set not drawn at random: it would
        be too low.
        """
        from trueup.estimate.derived.accuracy import accuracy

        return accuracy(self)

    def error_matrix(self) -> list[dict[str, Any]]:
        """Return the share of the population in each cell: true, predicted, mean, sd, interval."""
        from trueup.estimate.derived.accuracy import error_matrix

        return error_matrix(self)

    def rank(self) -> list[dict[str, Any]]:
        """Return the rank of each group per class, 1 for the largest, with interval."""
        if self.groups is None:
            raise OptionError("`rank` needs groups; got an estimate without `by`.")
        from trueup.estimate.derived.few_groups import warn_of_few

        warn_of_few(self, stacklevel=3)
        return self._derived(derived.ranks(self._joint_draws()))

    def probability(self, above: float) -> list[dict[str, Any]]:
        """Return Pr(u > above) for each class, and each group with `by`."""
        numbers = int | float | np.integer | np.floating
        if isinstance(above, bool) or not (isinstance(above, numbers) and np.isfinite(above)):
            raise OptionError(f"`above` must be a finite number; got {above!r}.")
        chance = derived.probability_above(self._joint_draws(), above)
        return self._derived_rows({"probability": chance})

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Return an Altair chart (needs the extra ``plot``); kinds: `trueup.present.plots.plot`."""
        return import_module("trueup.present.plots").plot(self, kind, **options)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML file; see `trueup.present.report.write_report`."""
        written: Path = import_module("trueup.present.report").write_report(self, path, **options)
        return written

    def to_markdown(self, *, share: bool = False) -> str:
        """Return a Markdown table, rounded as the intervals allow; with `share`, of shares in %."""
        return str(_tables().markdown_table(self, share))

    def to_latex(self, *, share: bool = False) -> str:
        """Return the same as a LaTeX table that needs no package."""
        return str(_tables().latex_table(self, share))

    def to_html(self, *, share: bool = False) -> str:
        """Return the same as an HTML table."""
        return str(_tables().html_table(self, share))

    def to_great_tables(self, *, share: bool = False) -> Any:
        """Return the same as a Great Tables object (needs the extra ``tables``)."""
        return _tables().great_table(self, share)

    def sensitivity(self, priors: Any = ("jeffreys", "uniform")) -> Any:
        """Return the estimate under other priors, side by side; see `trueup.study.sensitivity`."""
        return import_module("trueup.study.sensitivity").sensitivity(self, priors)

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ, with named coordinates; see `trueup.present.arviz`."""
        return import_module("trueup.present.arviz").to_arviz(self)

    def save(self, path: str | Path) -> Path:
        """Write the estimate to a file that ends in .trueup; `trueup.load` reads it."""
        written: Path = import_module("trueup.present.saved").save(self, path)
        return written

    def add(self, predictions: Any = None, test_set: Any = None, **options: Any) -> Estimate:
        """Return the series (`period`) with the periods of one more table.

        The earlier tables are not needed: the estimate has their counts. `test_set` are audited
        units of the new periods or of earlier ones; it may be given alone. Columns, options and
        seed are those of the series; the answer is that of the whole table.
        """
        adding = import_module("trueup.estimate.periods.adding")
        result: Estimate = adding.add_periods(self, predictions, test_set, **options)
        return result

    def again(self, **changes: Any) -> Estimate:
        """Return the estimate from the same data and seed, with some options changed."""
        if self._again is None:
            from trueup.estimate.job import cannot_rerun

            raise cannot_rerun(self)
        return self._again(**changes)

    def _joint_draws(self) -> Floats:
        if self.draws is None:
            many = "with many groups, keep_draws=True."
            hint = self._way_to_draws() if self.whole is None else many
            raise EstimateError("This needs joint draws, and none were kept.", hint=hint)
        return self.draws

    def _whole_draws(self) -> Floats:
        return replace(self, groups=None)._joint_draws()

    def _way_to_draws(self) -> str:
        if self.asked.get("probability") is None:
            return 'use method="auto".'
        return (
            'use method="auto"; with `probability` it has draws only for the total of the column '
            "by whose size `draw` drew the units."
        )

    def _derived(self, draws: Floats) -> list[dict[str, Any]]:
        return self._derived_rows(derived.summarise_draws(draws, self.info["interval"]))

    def _derived_rows(self, figures: Any) -> list[dict[str, Any]]:
        """Return a row for each class of each group; without groups, of the whole."""
        if self.groups is None:
            return self._whole_rows(figures)
        return [
            dict(zip(self.groups.by, label, strict=True))
            | {"class": name}
            | derived.at(figures, b, g)
            for b, label in enumerate(self.groups.labels)
            for g, name in enumerate(self.classes)
        ]

    def _whole_rows(self, figures: Any) -> list[dict[str, Any]]:
        none = {} if self.groups is None else dict.fromkeys(self.groups.by)
        return [
            none | {"class": name} | derived.at(figures, g) for g, name in enumerate(self.classes)
        ]

    def __str__(self) -> str:
        return str(_tables().plain_text(self))

    __repr__ = __str__  # what a console shows, and R: not thousands of draws

    def _repr_html_(self) -> str:
        return str(_tables().html_table(self, rows=MOST_PRINTED, warnings=True))


def _tables() -> Any:
    return import_module("trueup.present.tables")
