"""The result: figures per class (and group), the draws they came from, and what made them."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.quantiles import figures as summary
from trueup.aggregate.overall import overall_accuracy
from trueup.count.counts import Counts
from trueup.count.names import FIGURES, names
from trueup.errors import EstimateError, OptionError, TrueupWarning
from trueup.estimate import derived
from trueup.estimate.answer import Answer, GroupFigures, monte_carlo_errors, summarise
from trueup.numerics.arrays import Floats
from trueup.text import listed, quoted

MOST_PRINTED = 40
SHARED = (
    "Both estimates use the same test set, so their errors go together; the contrast takes them as "
    "independent, and its interval is likely too wide. Put both tables into one and contrast "
    "groups (`by`)."
)
FEW_GROUPS, ENOUGH = 3, 1000
FEW = (
    "With {groups} groups and {least_audited} audited units in one of them, little shows whether "
    "the groups' error rates differ. If they do, the contrast leans towards one set of rates for "
    "all, and its interval may be too narrow. Name the groups in `strata` too, with "
    "pooling='none', or audit more units of each; pooling='complete' says that rates are the same."
)
"""Of a contrast between groups. With 2 groups and false passes of 25% and 40%, 95% intervals
covered 95% of 40 with 150 audited units each, and 85% of 20 with 300."""


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
    _native: Callable[[dict[str, list[Any]]], Any] = field(repr=False)
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
        if self.groups is None:
            return _rows({}, self.classes, self._figures)
        whole = _rows(dict.fromkeys(self.groups.by), self.classes, self._figures)
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
        found = self._derived(derived.shares(self._joint_draws()))
        if self.groups is None:
            return found
        whole = derived.summarise_draws(derived.shares(self._whole_draws()), self.info["interval"])
        return found + _rows(dict.fromkeys(self.groups.by), self.classes, whole._asdict())

    def contrast(
        self, a: Hashable, b: Hashable = None, *, share: bool = False
    ) -> list[dict[str, Any]]:
        """Return b − a and the growth (b − a)/a per class, with intervals.

        `a` and `b` are groups by label, as in the rows (a tuple for several `by` columns), or two
        classes, which are compared in each group. ``est.contrast(other)`` is other − est for the
        whole populations of two estimates, taken as independent; it warns if both rest on one test
        set. With `share`, shares of the classes are compared.
        """
        labels = () if self.groups is None else self.groups.labels
        if b is None and not (isinstance(a, Estimate) or (None,) in labels or None in self.classes):
            raise OptionError(
                f"A contrast compares two groups, two classes or two estimates; got {a!r} alone.",
                hint=f"name the other one too: est.contrast({a!r}, …).",
            )
        if isinstance(a, Estimate):
            rows = [{"class": label} for label in self.classes]
            if {*self.classes} != {*a.classes} or self.totals != a.totals:
                kinds = ("totals" if x.totals else "counts" for x in (self, a))
                classes = (listed([*map(str, x.classes)]) for x in (self, a))
                got = map("{} of {}".format, kinds, classes)
                raise OptionError(
                    "Two estimates must both be counts, or both totals, of the same classes to be "
                    f"compared; got {' and '.join(got)}."
                )
            at = [a.classes.index(label) for label in self.classes]
            n = a.counts.n[at] if a.counts.columns else a.counts.n[np.ix_(at, at)]
            if np.array_equal(self.counts.n, n):
                warnings.warn(SHARED, TrueupWarning, stacklevel=2)
            one, other = derived.independent(self._whole_draws(), a._whole_draws()[:, at])
        elif self._are_classes(a, b):
            rows = self._derived_rows({})[:: len(self.classes)]
            rows = [row | {"class": b, "against": a} for row in rows]
            one = other = self._joint_draws()
        else:
            rows = [{"class": label} for label in self.classes]
            one, other = self._group(a), self._group(b)
            learned = self.info.get("group_rates") or {"groups": FEW_GROUPS + 1}
            if learned["groups"] <= FEW_GROUPS and learned["least_audited"] < ENOUGH:
                warnings.warn(FEW.format(**learned), TrueupWarning, stacklevel=2)
        if share:
            one, other = derived.shares(one), derived.shares(other)
        if "against" in rows[0]:
            one, other = (x[..., self._class(k)] for x, k in ((one, a), (other, b)))
            one, other = (x.reshape(len(x), -1) for x in (one, other))
        interval = self.info["interval"]
        difference = derived.summarise_draws(other - one, interval)
        growth = derived.summarise_draws(derived.divide(other - one, one), interval)
        return [
            row
            | {name: _plain(x[g]) for name, x in difference._asdict().items()}
            | {f"growth_{name}": _plain(x[g]) for name, x in growth._asdict().items()}
            for g, row in enumerate(rows)
        ]

    def combine(self, classes: Mapping[Hashable, Sequence[Hashable]]) -> Estimate:
        """Return the estimate with classes added up, draw by draw: ``{"new": ["a", "b"]}``."""
        from trueup.estimate.doubts.combined import said_of_combined

        labels, parts = derived.partition(self.classes, classes)
        groups, draws = self.groups, derived.added(self._whole_draws(), parts, -1)
        if groups is not None:
            of_groups = derived.added(self._joint_draws(), parts, -1)
            naive = derived.added(groups.figures["naive"], parts, -1)
            units = derived.added(groups.units, parts, -1)
            groups = self._grouped(groups.by, groups.labels, naive, of_groups, units)
        predicted, columns = derived.joined(self._columns()[0], classes)
        more: dict[str, Any] = {
            name: derived.added(getattr(self.counts, name), columns, -1)
            for name in ("n", "v_hat", "u_hat", "w_hat", "t", "t2")
        }
        more |= {name: derived.added(more[name], parts, -2) for name in ("n", "t", "t2")}
        if self.counts.columns is not None:
            more["columns"] = predicted
        counts = replace(self.counts, classes=labels, bands=None, **more)
        info = {name: x for name, x in self.info.items() if name != "calibration"}  # of old labels
        interval = self.info["interval"]
        figures = summarise(Answer(draws), counts.naive, interval)
        info |= said_of_combined(info, self.classes, counts, figures, parts)
        return replace(
            self,
            classes=labels,
            counts=counts,
            whole=draws,
            P=None,
            M=derived.added(derived.added(self.M, columns, -1), parts, -2),
            info=info
            | monte_carlo_errors(draws, self.info["ess"], interval, self.info.get("ess_tails")),
            _figures=figures,
            groups=groups,
            asked=self.asked | {"combine": {new: list(old) for new, old in classes.items()}},
            _again=None,
        )

    def margin(self, *by: str) -> Estimate:
        """Return the estimate for fewer `by` columns: groups added up over the others."""
        by = names("by", by[0] if len(by) == 1 else by)  # one by one, or as a list
        if self.groups is None or not by or not {*by} <= {*self.groups.by}:
            known = () if self.groups is None else self.groups.by
            got, had = (quoted(x) or "none" for x in (by, known))
            raise OptionError(f"A margin keeps some of the `by` columns; got {got} of {had}.")
        at = [self.groups.by.index(name) for name in by]
        kept = [tuple(label[i] for i in at) for label in self.groups.labels]
        labels = list(dict.fromkeys(kept))
        parts = [[b for b, x in enumerate(kept) if x == label] for label in labels]
        naive = derived.added(self.groups.figures["naive"], parts, 0)
        groups = self._grouped(by, labels, naive, derived.added(self._joint_draws(), parts, 1))
        return replace(self, groups=groups, asked=self.asked | {"margin": by}, _again=None)

    def _grouped(
        self,
        by: tuple[str, ...],
        labels: list[tuple[Hashable, ...]],
        naive: Floats,
        draws: Floats,
        units: NDArray[Any] | None = None,
    ) -> GroupFigures:
        found = summary(draws, self.info["interval"], discrete=not self.counts.totals)
        return GroupFigures(by, labels, {"naive": naive} | found, draws, units)

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
            units = self._error_matrix("Mean values").sum(axis=2)
        return self._derived(derived.divide(self._joint_draws(), units))

    def accuracy(self) -> list[dict[str, Any]]:
        """Return recall, precision and F1 of each class and the overall accuracy, with intervals.

        They hold for the whole *population* (all groups, all periods), whatever the design: recall
        is the producer's accuracy, precision the user's. A dict has class (None for the overall
        one), measure, mean, sd, lower and upper. With more than two classes there is no overall one
        with `period` or `strata`, nor after `combine` of a test set not drawn at random: it would
        be too low.
        """
        M = self._error_matrix()
        found = derived.accuracies(M, self._columns()[1])
        interval = self.info["interval"]
        combined = any(len(old) > 1 for old in self.asked.get("combine", {}).values())
        best = overall_accuracy(found.pop("accuracy"), M, self.counts, self.info, combined)
        told = {name: derived.spread(x, interval)._asdict() for name, x in found.items()}
        rows = [
            {"class": label, "measure": measure} | {k: _plain(x[g]) for k, x in figures.items()}
            for g, label in enumerate(self.classes)
            for measure, figures in told.items()
        ]
        if best is None:
            return rows
        overall = {k: _plain(x) for k, x in derived.spread(best, interval)._asdict().items()}
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

    def _error_matrix(self, what: str = "Accuracies of the population") -> NDArray[Any]:
        if self.M is not None:
            return self.M
        asked = self.asked
        if asked.get("weight") is not None:
            raise EstimateError(
                f"{what} are not known with `weight`: how many units of each class the larger "
                "population has was not drawn together with the totals.",
                hint="leave out `weight`: they are then those of the table's own units.",
            )
        if asked.get("drawn_by_size"):
            raise EstimateError(
                f"{what} are not known from a test set drawn by size: it hardly shows the errors "
                "among small units.",
                hint="audit units drawn at random, or within predicted classes (`draw`).",
            )
        raise EstimateError(
            f"{what} need draws of the error rates; method {self.info['method']!r} has none.",
            hint=self._way_to_draws(),
        )

    def _columns(self) -> tuple[tuple[Hashable, ...], list[int | None]]:
        """The predicted labels, and where among them each class is."""
        labels = self.counts.predicted
        return labels, [labels.index(x) if x in labels else None for x in self.classes]

    def rank(self) -> list[dict[str, Any]]:
        """Return the rank of each group per class, 1 for the largest, with interval."""
        if self.groups is None:
            raise OptionError("`rank` needs groups; got an estimate without `by`.")
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
            raise cannot_rerun(self)
        return self._again(**changes)

    def _joint_draws(self) -> Floats:
        return self._kept(self.draws)

    def _whole_draws(self) -> Floats:
        return self._kept(self.whole)

    def _kept(self, draws: Floats | None) -> Floats:
        if draws is None:
            many = "with many groups, keep_draws=True."
            hint = self._way_to_draws() if self.whole is None else many
            raise EstimateError("This needs joint draws, and none were kept.", hint=hint)
        return draws

    def _way_to_draws(self) -> str:
        if self.asked.get("probability") is None:
            return 'use method="auto".'
        return (
            'use method="auto"; with `probability` it has draws only for the total of the column '
            "by whose size `draw` drew the units."
        )

    def _are_classes(self, a: Hashable, b: Hashable) -> bool:
        """Whether a contrast is between classes; a label of both kinds is a group."""
        if self.groups is None:
            return True
        return {a, b} <= {*self.classes} and not {(a,), (b,)} & {*self.groups.labels}

    def _class(self, label: Hashable) -> int:
        if label not in self.classes:
            raise OptionError(
                "A contrast compares two classes, two groups (`by`) or two estimates; "
                f"{label!r} is not one of the classes {list(self.classes[:10])}."
            )
        return self.classes.index(label)

    def _group(self, label: Hashable) -> Floats:
        assert self.groups is not None
        wanted = label if isinstance(label, tuple) else (label,)
        if wanted not in self.groups.labels:  # dates may be named as the rows print them
            written = {tuple(map(_written, x)): x for x in self.groups.labels}
            wanted = written.get(wanted, wanted)
        if wanted not in self.groups.labels:
            known = [x[0] if len(x) == 1 else x for x in self.groups.labels[:10]]
            raise OptionError(f"There must be a group {label!r}; groups are {known} …")
        return self._joint_draws()[:, self.groups.labels.index(wanted)]

    def _derived(self, draws: Floats) -> list[dict[str, Any]]:
        figure = derived.summarise_draws(draws, self.info["interval"])
        return self._derived_rows(figure._asdict())

    def _derived_rows(self, columns: Mapping[str, Floats | None]) -> list[dict[str, Any]]:
        if self.groups is None:
            return _rows({}, self.classes, columns)
        rows = []
        for b, label in enumerate(self.groups.labels):
            here = {name: None if x is None else x[b] for name, x in columns.items()}
            rows += _rows(dict(zip(self.groups.by, label, strict=True)), self.classes, here)
        return rows

    def __str__(self) -> str:
        return str(_tables().plain_text(self))

    __repr__ = __str__  # what a console shows, and R: not thousands of draws

    def _repr_html_(self) -> str:
        return str(_tables().html_table(self, rows=MOST_PRINTED, warnings=True))


def cannot_rerun(est: Estimate) -> EstimateError:
    """Return the error that says why an estimate cannot be made again."""
    if {"combine", "margin"} & {*est.asked}:
        return EstimateError(
            "`again` and other priors need the estimate as it was made, before `combine` and "
            "`margin`.",
            hint="call it on that estimate, and `combine` or `margin` what it returns.",
        )
    if "function" in est.asked:
        return EstimateError(
            "`again` and other priors need the estimate's own prior, and a file holds only those "
            f"with a name and `Dirichlet`; this one was saved with prior {est.info['prior']!r}.",
            hint=f"call `{est.asked['function']}` again with that prior.",
        )
    return EstimateError("Only an estimate made by `correct` or `correct_counts` can rerun.")


def _tables() -> Any:
    return import_module("trueup.present.tables")


def _rows(
    labels: dict[str, Any], classes: tuple[Hashable, ...], figures: Mapping[str, Any]
) -> list[dict[str, Any]]:
    return [
        labels
        | {"class": label}
        | {name: None if x is None else _plain(x[g]) for name, x in figures.items()}
        for g, label in enumerate(classes)
    ]


def _written(label: Hashable) -> Hashable:
    """A date as text, 2024-01-31; other labels as they are."""
    return str(label) if isinstance(label, datetime.date) else label


def _plain(x: Any) -> float | None:
    """A plain float; what does not exist (0/0, growth from 0) is None, never NaN."""
    return float(x) if np.isfinite(x) else None
