"""The naive figure against the corrected one with its interval, per class."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from trueup.estimate.result import Estimate
from trueup.present.evidence import what
from trueup.present.plots import style
from trueup.present.plots.style import Palette, Spec
from trueup.present.sentences import whole
from trueup.text import percent

LONGEST_TITLE = 45
MOST_CLASSES = 60
LOG_SPREAD = 100.0


def totals_spec(est: Estimate, colours: Palette) -> Spec:
    """Draw every class as predicted and corrected, largest first, with the interval."""
    rows = whole(est)
    order = sorted(range(len(rows)), key=lambda g: -rows[g]["estimate"])
    shown = order[:MOST_CLASSES]
    chosen = [rows[g] for g in shown]
    corrected = est.info["method"] != "naive"
    data = points(chosen, [row["class"] for row in chosen])
    chart = dots(data, colours, title(est), corrected=corrected)
    notes = []
    if any(row["lower"] is not None for row in chosen):
        notes.append(f"Lines are {percent(est.info['interval'])} intervals.")
    if chart.pop("cut"):
        notes.append("Log scale; intervals that reach 0 end at the left edge.")
    if len(order) > len(shown):
        notes.append(f"The {len(shown)} largest of {len(order)} classes.")
    both = "as predicted and corrected" if corrected else "as predicted, not corrected"
    above: Spec = {"text": f"{title(est)} per class, {both}"}
    if notes:
        above["subtitle"] = " ".join(notes)
    return {"title": above, "width": 440} | chart


def title(est: Estimate) -> str:
    """Return what is estimated, as a title that no column name can break."""
    text = style.shortened(what(est), LONGEST_TITLE)
    return text[0].upper() + text[1:]


def points(
    rows: Sequence[dict[str, Any]], labels: Sequence[Hashable], most: int = style.LONGEST_LABEL
) -> list[dict[str, Any]]:
    """Return a record per row: its label, short and in full, both figures and the interval."""
    return [
        {
            "label": word,
            "name": style.clean(label),
            "naive": row["naive"],
            "corrected": row["estimate"],
            "lower": row["lower"],
            "upper": row["upper"],
        }
        for row, label, word in zip(rows, labels, style.names(labels, most), strict=True)
    ]


def logarithmic(data: list[dict[str, Any]]) -> float | None:
    """The left end of a log axis, or None where a linear one serves better.

    Both figures must be above 0 and two orders of magnitude apart; an interval may reach 0, and is
    then cut at the left end.
    """
    values = np.array([(row["naive"], row["corrected"]) for row in data])
    if values.min() <= 0 or values.max() < LOG_SPREAD * values.min():
        return None
    least = float(values.min())
    lowers = [row["lower"] for row in data if row["lower"] is not None]
    if any(x < 0 for x in lowers):
        return None
    return float(min([least / 2, *(x / 1.2 for x in lowers if x > least / 20)]))


def domain(values: Sequence[float]) -> list[float]:
    """The ends of a linear axis with a little room, which does not lead below 0 by itself."""
    low, high = min(values), max(values)
    room = 0.03 * (high - low) or 0.03 * abs(high) or 1.0
    near_zero = 0 <= low < 0.25 * (high - low)
    return [0.0 if near_zero else low - room, high + room]


def dots(
    data: list[dict[str, Any]],
    colours: Palette,
    title: str,
    *,
    step: int | None = None,
    ticks: int = 6,
    name: str = "class",
    corrected: bool = True,
) -> Spec:
    """Draw a row per label: a line for the interval, a dot and a diamond for the two figures.

    Figures that were not corrected have the diamond alone.
    The key ``cut`` says whether an interval had to be cut at the left end of a log axis.
    """
    left = logarithmic(data)
    everything = [x for row in data for x in row.values() if isinstance(x, float)]
    scale: Spec = {"domain": domain(everything), "nice": True}
    if left is not None:
        scale = {"type": "log", "domain": [left, 1.1 * max(everything)], "nice": False}
    drawn = [
        row | {"from": row["lower"] if left is None else max(row["lower"], left)}
        if row["lower"] is not None
        else row
        for row in data
    ]
    y = style.words(
        "label",
        scale={"domain": [row["label"] for row in data]},
        axis={"title": None, "grid": False, "ticks": False, "domain": False, "labelPadding": 8},
    )
    axis = {"labelExpr": style.number_labels(everything), "tickCount": ticks}
    axis |= {"labelOverlap": "greedy", "labelSeparation": 8}

    def x(field: str) -> Spec:
        return style.quantity(field, title=title, scale=scale, axis=axis)

    told = data[0] if corrected else data[0] | {"corrected": None}
    more = {"y": y, "tooltip": style.figure_tooltip(name, told, style.range_format(everything))}
    figures = [(style.CORRECTED, "corrected", 90), (style.NAIVE, "naive", 45)]
    legend = {} if corrected else {"legend": None}
    dot = {"type": "point", "filled": True, "opacity": 1}
    layers = [
        style.layer(
            [row | {"figure": figure} for row in data],
            dot | {"size": area},
            x=x(field),
            **more,
            **style.both_figures(colours, "shape", **legend),
        )
        for figure, field, area in (figures if corrected else figures[1:])
    ]
    known = [row for row in drawn if row["lower"] is not None]
    if known:
        line = {"type": "rule", "strokeWidth": 3, "opacity": 0.55, "strokeCap": "round"}
        colour = {"value": colours.corrected}
        ends = {"x": x("from"), "x2": {"field": "upper"}}
        layers.insert(0, style.layer(known, line, **ends, color=colour, **more))
    cut = left is not None and any(row["lower"] < left for row in known)
    size = step or (26 if len(data) <= 20 else 18)
    return {"layer": layers, "height": {"step": size}, "cut": cut}
