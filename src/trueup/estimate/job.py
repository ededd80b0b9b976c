"""An estimate as a job: counts and options, from which it is made, and made again."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from trueup.aggregate.larger import class_squares, larger_matrix, larger_totals
from trueup.count.counts import Counts
from trueup.count.names import check_given
from trueup.count.parts import GroupCounts
from trueup.draws.settings import MOST_DRAWS, Settings, make_settings
from trueup.errors import EstimateError, OptionError, TrueupWarning
from trueup.estimate.answer import Answer, monte_carlo_errors, more_draws, summarise
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Progress
from trueup.read.on_spark import as_executor
from trueup.text import listed, percent, quoted

OPTIONS = (
    "design", "method", "prior", "overlap", "noise", "P", "draws", "interval", "seed", "seconds",
)  # fmt: skip
"""What `make_settings` takes, of `correct` and `correct_counts`."""
LEAST_BEYOND = 2.5
"""Draws beyond each end of an interval, on average: those of 100 draws at 95%."""


def asked_of(function: str, given: dict[str, Any]) -> dict[str, Any]:
    """What was asked, to reproduce it: files by path, other tables by their kind.

    Options of the wrong kind are refused.
    """
    check_given(given, classifiers=True)
    tables = {}
    for name in ("predictions", "test_set"):
        if name in given:
            x = given[name]
            kind = f"{type(x).__module__.split('.')[0]}.{type(x).__name__}"
            tables[name] = str(x) if isinstance(x, str | PathLike) else f"<{kind}>"
    options = {name: x for name, x in given.items() if name not in ("progress", "executor")}
    return {"function": function} | options | tables


@dataclass(frozen=True, eq=False)
class Job:
    """What an estimate is made of. Plain data rather than a closure, so that it can be pickled."""

    counts: Counts
    native: Callable[[dict[str, list[Any]]], Any]
    notes: Sequence[str]
    parts: tuple[GroupCounts, str, bool | None] | None
    asked: dict[str, Any]
    options: dict[str, Any]
    units: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # for `info`

    def __call__(
        self,
        *,
        progress: Progress | None = None,
        executor: Executor | None = None,
        **changes: Any,
    ) -> Estimate:
        """Make the estimate, with some options changed; more draws if their number is open."""
        if unknown := [name for name in changes if name not in self.options]:
            raise OptionError(
                f"`again` changes {listed([*self.options])}; got {quoted(unknown)}.",
                hint="for other tables, columns or parts call `correct` again.",
            )
        check_given(changes)
        options = self.options | changes
        counts = self.counts
        started = time.process_time()
        make = partial(
            make_settings, counts.K, L=counts.L, classes=counts.classes, progress=progress,
            executor=executor, call=self.asked | changes,
        )  # fmt: skip
        settings = make(**options)
        result = self._answer(settings)
        if options["draws"] is None:
            parts = max(counts.L, 1 if result.groups is None else len(result.groups.labels))
            more = more_draws(result._figures, result.info, counts.totals, counts.K * parts)
            seconds = (time.process_time() - started) * more / settings.draws
            if more and seconds < settings.seconds:
                result = self._answer(make(**options | {"draws": more, "seed": settings.seed}))
        asked = self.asked | changes
        larger = asked.get("sample_of")
        if larger is not None or asked.get("weight") is not None:
            size = None if larger is None else _larger(larger)
            result = of_larger(result, size, settings)
        if asked.get("drawn_by_size"):  # M is not right: within a band, small units are not seen
            result = replace(result, M=None)
        given = self.asked["classes"]
        notes = [*self.notes, *_alphabetical(options["prior"], given, self.counts.classes)]
        notes += _few_draws(result)
        if larger is None and asked.get("weight") is None:
            notes += _all_audited(counts, settings)
        result.info["warnings"][:0] = notes
        result.info.update(self.extra)
        again = replace(self, asked=asked, options={**options, "seed": settings.seed})
        return replace(result, asked=asked, _again=again, _native=self.native)

    def _answer(self, settings: Settings) -> Estimate:
        if self.units is not None:
            from trueup.estimate.from_units import estimate_units

            return estimate_units(self.counts, self.units, settings)
        if self.parts is None:
            from trueup.estimate.methods import estimate

            return estimate(self.counts, settings)
        if self.asked.get("period") is not None:
            from trueup.estimate.periods.estimate import estimate_periods

            panel, drift = (self.asked.get(name, 0.0) for name in ("panel", "drift"))
            return estimate_periods(self.parts[0], settings, panel, drift)
        from trueup.estimate.grouped import estimate_parts

        found, pooling, keep = self.parts
        return estimate_parts(found, settings, pooling=pooling, keep=keep)


def _larger(given: object) -> float:
    try:
        size = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        size = 0.5
    if not size >= 1 or (size != float("inf") and size != int(size)):
        raise OptionError(f"`sample_of` must be a whole number of units, or inf; got {given!r}.")
    return size


def _alphabetical(prior: object, given: object, classes: Sequence[Hashable]) -> list[str]:
    """Warn of a prior for ordered classes whose order is no more than the alphabet's."""
    text = len(classes) > 2 and all(isinstance(label, str) for label in classes)
    sure = given is not None or getattr(prior, "name", "") != "ordered" or not text
    if sure or list(classes) != sorted(classes, key=str):
        return []
    return [
        f"Prior 'ordered' takes the classes in alphabetical order, {list(classes)}. If that is "
        "not their order, the answer is wrong: list them in order with classes=[...] (--classes)."
    ]


def _few_draws(result: Estimate) -> list[str]:
    """Warn of ends that are little more than the least and the largest draw."""
    size, interval = result.info["draws"], result.info["interval"]
    if result.whole is None or round(size * (1 - interval) / 2, 9) >= LEAST_BEYOND:
        return []
    enough = math.ceil(round(10 / (1 - interval), 3))
    ask = f"Ask for {enough:,} `draws`, or for" if enough <= MOST_DRAWS else "Ask for"
    return [
        f"{size:,} draws are too few for an interval of {percent(interval)}: its ends are hardly "
        f"more than the least and the largest draw. {ask} an `interval` that is less sure."
    ]


def _all_audited(counts: Counts, settings: Settings) -> list[str]:
    """Say so when nothing is left to estimate."""
    from trueup.estimate.doubts.cautions import all_known

    if not all_known(counts, settings):
        return []
    return [
        f"All {counts.N:,} units of the population are in the test set: their true classes are "
        "known, and no estimate is needed. Was the same table given twice?"
    ]


def of_larger(result: Estimate, sample_of: float | None, settings: Settings) -> Estimate:
    """Return the figures of a larger population that the table is a random sample of.

    See `aggregate.larger`; before the table its shares have the prior of the base rates, γ. For an
    infinite population the figures are shares times the table's size. None is a table with survey
    weights, whose figures are expanded already; its own M would not be that of the larger
    population.
    """
    counts, U = result.counts, result.whole
    named = "`weight`" if sample_of is None else "`sample_of`"
    if U is None or result.M is None:
        raise OptionError(
            f"{named} needs a method with draws; {result.info['method']!r} has none.",
            hint="use method='auto'.",
        )
    size = np.inf if sample_of is None else sample_of
    if not size >= counts.N:
        raise OptionError(
            f"`sample_of` must be at least the {counts.N:,} units of the table, or inf; "
            f"got {size:g}."
        )
    rng = np.random.Generator(np.random.SFC64([settings.seed, 1]))
    scale = 1.0 if np.isinf(size) else size / counts.N
    M = larger_matrix(result.M, size, settings.prior.gamma, rng)
    draws = M.sum(axis=2)
    if counts.u_hat is not None:
        if counts.w_hat is None:
            raise OptionError(
                f"{named} with totals needs the sum of squares per predicted class.",
                hint="give `predicted_squares`.",
            )
        S = class_squares(U, result.M, counts.v_hat, counts.u_hat, counts.w_hat)
        draws = larger_totals(U, S, result.M.sum(axis=2), draws, np.isfinite(size), rng)
    figures = summarise(Answer(draws), counts.naive * scale, result.info["interval"])
    info = result.info | monte_carlo_errors(draws, result.info)
    if sample_of is not None:
        info["sample_of"] = "inf" if np.isinf(size) else int(size)
    kept = None if sample_of is None else M
    return replace(result, whole=draws, M=kept, _figures=figures, info=info)


def run(job: Job, progress: Progress | None, executor: Any = None) -> Estimate:
    """Make the estimate, and warn of what the user should know."""
    where = as_executor(executor)
    try:
        result = job(progress=progress, executor=where)
    finally:
        if where is not None and where is not executor:  # the user's own stays open
            where.shutdown()
    for text in result.info["warnings"]:
        warnings.warn(text, TrueupWarning, stacklevel=3)
    return result


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
