"""When to audit again: how the interval of the latest level grows with the time since the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import ndtri

from trueup.count.counts import Counts
from trueup.count.gather import gather_groups
from trueup.count.names import Columns
from trueup.draws.settings import make_settings
from trueup.errors import OptionError
from trueup.estimate.periods.draw import Assumed, draw_periods
from trueup.estimate.periods.estimate import LIKELY, audits_differ, check_drift, in_order
from trueup.numerics.arrays import Floats
from trueup.read import open_table
from trueup.study.case import place
from trueup.study.plans.result import Plan
from trueup.text import aligned, short

SPEEDS = (0.0, 0.002, 0.005, 0.01)
"""How far a recall may move in one period, if the user does not say."""
OPTIONS = ("design", "method", "prior", "draws", "interval", "seed")
NOT_WITH_PERIOD = (
    "next", "certainty", "P", "base_rates", "N", "values", "worth", "test_base_rates",
)  # fmt: skip
AHEAD = (1, 2, 3, 6, 9, 12, 18, 24)
"""Periods after the last one for which the interval is shown."""


class NextAudit(Plan):
    """When to audit again; `print` it, or see ``rows()``, ``enough`` and ``plot()``.

    A row has the drift, how many periods have passed since the last audit, and then the half-width
    and coefficient of variation of the level. `target` is the half-width that must not be passed.
    """

    @property
    def enough(self) -> dict[float, float | None]:
        """For each drift: how long after the audit the interval is narrow enough, None if never."""
        found: dict[float, float | None] = {}
        passed = set()
        for row in self.curve:
            found.setdefault(row["drift"], None)
            if self.target is None or row["half_width"] > self.target:
                passed.add(row["drift"])
            elif row["drift"] not in passed:
                found[row["drift"]] = row["since"]
        return found

    def plot(self) -> Any:
        """Draw precision against the time since the audit (needs the extra ``plot``)."""
        curve = [
            {
                "allocation": f"drift of {_points(row['drift'])}",
                "n": row["since"],
                "half_width": row["half_width"],
                "grid": True,
            }
            for row in self.curve
        ]
        return import_module("trueup.present.plots.studies").precision_chart(
            curve, self.target, f"level of {self.interest!r}", self.info["interval"],
            across="periods since the last audit",
        )  # fmt: skip

    def __str__(self) -> str:
        info, drifts = self.info, [*self.enough]
        what = "total" if info["totals"] else "count"
        lines = [
            f"Half-width of the {info['interval']:.0%} interval of the {what} of "
            f"{self.interest!r}, about {short(info['level'])} in {info['last']},",
            f"by periods since the audit of {info['audited'][-1]}, and by how far a recall "
            f"{'moves at least' if info['audited'][1:] else 'may move'} in one period:",
            "",
        ]
        table = [["periods since", *map(_points, drifts)]]
        for since in sorted({row["since"] for row in self.curve}):
            at = {row["drift"]: row for row in self.curve if row["since"] == since}
            cells = [f"{short(at[d]['half_width'])} ({at[d]['cv']:.1%})" for d in drifts]
            table.append([f"{since:g}", *cells])
        lines += [*aligned(table), "", "In brackets: the coefficient of variation."]
        if self.target is not None:
            lines += ["", f"To stay within ± {short(self.target)}, audit again:"]
            last = max(row["since"] for row in self.curve)
            for drift, since in self.enough.items():
                when = "now" if since is None else f"within {since:g} periods of that audit"
                when = (
                    f"not needed within {last:g} periods of that audit" if since == last else when
                )
                lines.append(f"  {_points(drift)}: {when}")
        return "\n".join([*lines, *(f"\n{note}" for note in info["notes"])])


def _points(drift: float) -> str:
    return f"{100 * drift:g} point{'' if drift == 0.01 else 's'}"


def plan_next_audit(
    tables: tuple[Any, Any], columns: Columns, asked: Mapping[str, Any]
) -> NextAudit:
    """Draw the series with periods to come that are like the last one, for each drift.

    `asked` are the options of `plan`; its goal is a half-width or a coefficient of variation, or
    neither.
    """
    _check(tables, columns, asked)
    population, audited = (
        open_table(table, name)
        for table, name in zip(tables, ("predictions", "the test set"), strict=True)
    )
    drift, progress = asked["drift"], asked["progress"]
    overlap = asked["overlap"]
    inside = asked["design"] != "shifted" if overlap is None else overlap
    how: Any = {name: asked[name] for name in ("classes", "missing", "design")}
    found = gather_groups(population, audited, columns, overlap=inside, **how)
    whole = found.whole
    options: Any = {name: asked[name] for name in OPTIONS}
    settings = make_settings(whole.K, L=whole.L, classes=whole.classes, overlap=inside, **options)
    counts, at, order = in_order(found, settings, drift=1.0)
    labels = [found.groups.labels[t][0] for t in order]
    audits = np.flatnonzero(counts.n.any(axis=(1, 2)))
    evidence = audits_differ(counts, settings.design)
    differ = evidence is not None and evidence.p_value < LIKELY
    longer, times = _with_later(counts, at)
    since = times[len(at) - 1 :] - at[audits[-1]]
    g, drifts = None, SPEEDS if drift is None else (drift,)
    ends = [(1 - settings.interval) / 2, 0.5, (1 + settings.interval) / 2]
    z = float(ndtri(ends[2]))
    rows: list[dict[str, Any]] = []
    for speed in drifts:
        rng = np.random.Generator(np.random.SFC64(settings.seed))  # the same for each drift
        assumed = Assumed(drift=speed, differ=differ, ahead=len(AHEAD))
        u = draw_periods(longer, times, replace(settings, rng=rng), assumed).u[:, len(at) - 1 :]
        g = place(counts.classes, u[:, 0].mean(axis=0), asked["interest"]) if g is None else g
        lower, level, upper = np.quantile(u[:, :, g], ends, axis=0)
        if not rows:
            now = float(level[0])
        half = (upper - lower) / 2
        for k, periods in enumerate(since):
            cv = float(half[k] / z / level[k]) if level[k] else None
            rows.append(
                {"drift": speed, "since": float(periods), "half_width": float(half[k]), "cv": cv}
            )
        if progress is not None:
            progress(len(rows) / len(since) / len(drifts))
    target = asked["half_width"] if asked["cv"] is None else asked["cv"] * z * now
    info = {
        "audited": [labels[t] for t in audits],
        "last": labels[-1],
        "level": now,
        "totals": counts.totals,
        "design": settings.design,
        "interval": settings.interval,
        "draws": settings.draws,
        "seed": settings.seed,
        "notes": [],
    }
    if differ:
        info["notes"] = ["Audits differ, so that rates drift at least as fast as these show."]
    of = counts.classes[g or 0]
    return NextAudit(counts.classes, of, target, rows, [], info, rows)


def _with_later(counts: Counts, at: Floats) -> tuple[Counts, Floats]:
    """Return the periods and those to come, with the predictions of the last and no audit."""
    longer = counts.part([*range(len(at)), *[len(at) - 1] * len(AHEAD)])
    audited: dict[str, Any] = {}
    for name in ("n", "t", "t2"):
        if (x := getattr(longer, name)) is not None:
            audited[name] = np.concatenate([x[: len(at)], np.zeros_like(x[len(at) :])])
    return replace(longer, **audited), np.concatenate([at, at[-1] + np.array(AHEAD)])


def _check(tables: tuple[Any, Any], columns: Columns, asked: Mapping[str, Any]) -> None:
    drift = asked["drift"]
    if not columns.by:
        raise OptionError(f"`drift` needs `period`, the column of periods; got {drift} alone.")
    if given := [name for name in NOT_WITH_PERIOD if asked[name] is not None]:
        raise OptionError(
            f"`period` plans when to audit again, from two tables; got `{given[0]}` too.",
            hint=f"leave out `period` or `{given[0]}`.",
        )
    if any(table is None for table in tables):
        raise OptionError("`period` needs both tables: the test set says when units were audited.")
    if drift is not None:
        check_drift(drift)
