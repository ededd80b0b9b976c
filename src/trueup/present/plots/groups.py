"""Groups: small multiples per class; over time a line with a band, else groups sorted by size."""

import datetime
import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from trueup.errors import OptionError
from trueup.estimate.periods.labels import when
from trueup.estimate.result import Estimate
from trueup.present.plots import style
from trueup.present.plots.style import Palette, Spec
from trueup.present.plots.totals import domain, dots, points, title
from trueup.text import percent

MOST_GROUPS = 24
MOST_PERIODS = 400
MOST_PANELS = 6
LONGEST = 28  # characters of a group's label

# 2024, 2024-03, 2024-03-01, 2024Q1, 2024-Q1, 2024-W05, 2024M03
PERIOD = re.compile(r"(1[5-9]|20|21)\d\d(-?(Q[1-4]|W\d\d|M\d\d)|-\d\d(-\d\d([T ].*)?)?)?")


def groups_spec(
    est: Estimate,
    colours: Palette,
    *,
    classes: Sequence[Hashable] | None = None,
    most: int | None = None,
) -> Spec:
    """Draw each class's groups; `classes` chooses panels, `most` how many groups each shows."""
    assert est.groups is not None
    labels = est.groups.labels
    wanted = _chosen(est, classes)
    series = est.info.get("period") is not None
    over_time = series or (len(labels) > 2 and all(period(label) for label in labels))
    limit = most or (MOST_PERIODS if over_time else MOST_GROUPS)
    notes = [f"{title(est)}; {percent(est.info['interval'])} intervals."]
    if over_time:
        at = when([label[0] for label in labels]) if series else None
        times = at if at is not None else [str(label[0]) for label in labels]
        order = sorted(range(len(labels)), key=lambda b: times[b])[-limit:]
        if series:
            notes.append("Dots: audited periods.")
        panels = [_over_time(est, g, order, colours) for g in wanted]
        unit = "last"
    else:
        size = np.abs(_naive(est)).sum(axis=1)
        order = np.argsort(-size, kind="stable")[:limit].tolist()
        panels = [_sorted(est, g, order, colours) for g in wanted]
        unit = "largest"
    if len(order) < len(labels):
        notes.append(f"The {len(order):,} {unit} of {len(labels):,} groups.")
    if len(wanted) < len(est.classes) and classes is None:
        notes.append(f"The {len(wanted)} largest of {len(est.classes)} classes.")
    if any(panel.pop("cut", False) for panel in panels):
        notes.append("Log scale; intervals that reach 0 end at the left edge.")
    by = " and ".join(style.shortened(column, 24) for column in est.groups.by)
    above = {"text": f"Per {by}, as predicted and corrected", "subtitle": " ".join(notes)}
    return {"title": above, "concat": panels, "columns": 1 if over_time else 2}


def period(label: tuple[Hashable, ...]) -> bool:
    """Whether a group is a date or a period, so that groups have an order in time.

    Examples
    --------
    >>> period(("2024-Q1",)), period((2024,)), period(("Utrecht",)), period((12,))
    (True, True, False, False)
    """
    if len(label) != 1 or label[0] is None:
        return False
    if isinstance(label[0], datetime.date):
        return True
    return not isinstance(label[0], float) and PERIOD.fullmatch(str(label[0])) is not None


def _chosen(est: Estimate, classes: Sequence[Hashable] | None) -> list[int]:
    if classes is None:
        naive = _naive(est).sum(axis=0)
        return [int(g) for g in np.argsort(-naive, kind="stable")[:MOST_PANELS]]
    unknown = [label for label in classes if label not in est.classes]
    if unknown or not classes:
        raise OptionError(
            f"`classes` must be among {list(est.classes)[:20]}; got {unknown or 'none'}."
        )
    return [est.classes.index(label) for label in classes]


def _naive(est: Estimate) -> Any:
    assert est.groups is not None
    return est.groups.figures["naive"]


def _rows(est: Estimate, g: int, order: Sequence[int]) -> list[dict[str, Any]]:
    assert est.groups is not None
    figures = est.groups.figures
    rows = [
        {name: None if x is None else float(x[b, g]) for name, x in figures.items()} for b in order
    ]
    return points(rows, [_name(est.groups.labels[b]) for b in order], LONGEST)


def _name(label: tuple[Hashable, ...]) -> str:
    return " / ".join("(none)" if part is None else str(part) for part in label)


def _sorted(est: Estimate, g: int, order: Sequence[int], colours: Palette) -> Spec:
    rows = sorted(_rows(est, g, order), key=lambda row: -row["corrected"])
    chart = dots(rows, colours, "", step=18, ticks=4, name="group")
    return {"title": style.heading(style.shortened(est.classes[g])), "width": 230} | chart


def _is_date(text: str) -> bool:
    """Whether it is a day or a month as ISO writes it, which browsers read as UTC."""
    try:
        return bool(datetime.date.fromisoformat(text if len(text) == 10 else f"{text}-01"))
    except ValueError:
        return False


def _over_time(est: Estimate, g: int, order: Sequence[int], colours: Palette) -> Spec:
    assert est.groups is not None
    rows = _rows(est, g, order)
    for row, b in zip(rows, order, strict=True):
        row["time"] = style.clean(est.groups.labels[b][0])
    calendar = all(_is_date(row["time"]) for row in rows)
    ends = domain([row[f] for row in rows for f in ("naive", "corrected", "lower", "upper")])
    x: Spec = {"field": "time", "title": None}
    if calendar:
        x |= {"type": "temporal", "scale": {"type": "utc"}, "axis": {"grid": False}}
    else:
        times = [row["time"] for row in rows]
        x |= {"type": "ordinal", "scale": {"domain": times, "type": "point", "padding": 0.3}}
        x["axis"] = {"labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 8}

    def y(field: str) -> Spec:
        axis = {"labelExpr": style.number_labels(ends), "tickCount": 5}
        return style.quantity(field, title=None, axis=axis, scale={"domain": ends, "nice": True})

    lines = [
        row | {"figure": figure, "value": row[field]}
        for figure, field in ((style.CORRECTED, "corrected"), (style.NAIVE, "naive"))
        for row in rows
    ]
    legend = {"symbolType": "stroke", "symbolStrokeWidth": 2}
    both = style.both_figures(colours, "strokeDash", legend=legend)
    tooltip = style.figure_tooltip("period", rows[0], style.range_format(ends))
    area = {"type": "area", "color": colours.corrected, "opacity": 0.25}
    points_too = len(rows) <= 60 and est.info.get("period") is None
    line = {"type": "line", "strokeWidth": 2, "point": points_too}
    layers = [
        style.layer(rows, area, x=x, y=y("lower"), y2={"field": "upper"}),
        style.layer(lines, line, x=x, y=y("value"), tooltip=tooltip, **both),
    ]
    audited = {style.clean(label) for label in est.info.get("audited_periods", ())}
    if seen := [row for row in rows if row["time"] in audited]:
        dot = {"type": "point", "filled": True, "size": 110, "color": colours.corrected}
        layers.append(style.layer(seen, dot, x=x, y=y("corrected"), tooltip=tooltip))
    title = style.heading(style.shortened(est.classes[g]))
    return {"title": title, "width": 560, "height": 150, "layer": layers}
