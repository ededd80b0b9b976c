"""The posterior of every class as a histogram, with the interval and the naive figure marked."""

from typing import Any

import numpy as np

from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats
from trueup.present.plots import style
from trueup.present.plots.style import Palette, Spec
from trueup.present.plots.totals import title
from trueup.present.sentences import whole
from trueup.text import percent

MOST_CLASSES = 12
BINS = 60
TAIL = 0.0025
WIDTHS = {1: 440, 2: 300}


def density_spec(est: Estimate, colours: Palette) -> Spec:
    """Draw the posterior of each class: strong colour within the interval, pale outside."""
    assert est.whole is not None
    rows = whole(est)
    order = sorted(range(len(rows)), key=lambda g: -rows[g]["estimate"])[:MOST_CLASSES]
    labels = style.names([rows[g]["class"] for g in order])
    width = WIDTHS.get(len(order), 210)
    panels = [
        _panel(est.whole[:, g], rows[g], label, colours, width)
        for g, label in zip(order, labels, strict=True)
    ]
    notes = f"{title(est)}. Strong colour: the {percent(est.info['interval'])} interval."
    if len(order) < len(rows):
        notes += f" The {len(order)} largest of {len(rows)} classes."
    above = {"text": "How sure: the posterior of each class", "subtitle": notes}
    columns = 2 if len(order) in (2, 4) else 3
    return {"title": above, "concat": panels, "columns": columns}


def histogram(x: Floats) -> tuple[Floats, Floats]:
    """Bin draws: heights and edges. Whole numbers have bins of whole width around them.

    The outer 0.25% on either side is left out when it would make the chart much wider.
    """
    low, high = (float(v) for v in np.quantile(x, [TAIL, 1 - TAIL]))
    if np.ptp(x) <= 1.25 * (high - low):
        low, high = float(x.min()), float(x.max())
    if high == low:
        return np.ones(1), np.array([low - 0.5, low + 0.5])
    if (x == np.round(x)).all():
        width = max(1.0, float(np.ceil((high - low) / BINS)))
        edges = np.arange(np.floor(low) - 0.5, high + width, width)
    else:
        edges = np.linspace(low, high, BINS + 1)
    counts, _ = np.histogram(x, edges)
    return counts / (len(x) * np.diff(edges)), edges


def _panel(x: Floats, row: dict[str, Any], label: str, colours: Palette, width: int) -> Spec:
    height, edges = histogram(x)
    axis = {
        "labelExpr": style.number_labels([*edges, row["naive"]]),
        "tickCount": 4,
        "grid": False,
        "labelOverlap": "greedy",
        "labelSeparation": 8,
    }
    scale = {"zero": False, "nice": False, "padding": 6}
    across = {"type": "quantitative", "title": None, "scale": scale, "axis": axis}
    marks = [
        {"figure": style.CORRECTED, "value": row["estimate"]},
        {"figure": style.NAIVE, "value": row["naive"]},
    ]
    form = style.range_format([row["naive"], row["estimate"]])
    tooltip = [
        style.words("figure", title=" "),
        style.quantity("value", format=form, title="value"),
    ]
    rule = {"type": "rule", "strokeWidth": 2.5}
    both = style.both_figures(colours, "strokeDash")
    lines = style.layer(marks, rule, x=across | {"field": "value"}, tooltip=tooltip, **both)
    layers = [style.bars(edges, height, row, colours.corrected, across), lines]
    return {"title": style.heading(label), "width": width, "height": 130, "layer": layers}
