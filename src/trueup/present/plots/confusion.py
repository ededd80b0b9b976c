"""The test set as a table of counts: rows true, columns predicted, shaded by share of the row."""

import numpy as np

from trueup.estimate.result import Estimate
from trueup.present.plots.style import Palette, Spec, clean, names, quantity, words

LONGEST = 22
MOST_TEXT = 40
"""With more classes than this the cells are too small for numbers."""


def confusion_spec(est: Estimate, colours: Palette) -> Spec:
    """Draw the confusion matrix: counts and row percentages, with text that can be read."""
    n, K = est.counts.n, max(est.counts.K, est.counts.L)
    rows = n.sum(axis=1)
    share = n / np.maximum(rows, 1)[:, None]
    across = names(est.counts.predicted, LONGEST)
    named = zip(names(est.classes, LONGEST), rows, strict=True)
    down = [f"{name} · {units:,}" for name, units in named]
    size = 58 if K <= 8 else 42 if K <= 16 else 30 if K <= 24 else 22 if K <= MOST_TEXT else 12
    cells = [
        {
            "true": down[g],
            "predicted": across[h],
            "true_name": clean(est.classes[g]),
            "predicted_name": clean(est.counts.predicted[h]),
            "units": int(n[g, h]),
            "share": float(share[g, h]),
            "words": f"{n[g, h]:,}" if n[g, h] or K <= 8 else "",
            "percent": f"{share[g, h]:.0%}" if n[g, h] else "",
        }
        for g, h in np.ndindex(n.shape)
    ]
    title = {
        "text": f"The test set: {n.sum():,} audited units, {est.counts.right:,} predicted right",
        "subtitle": [
            f"Units, {'percentages of each row; ' if size >= 42 else ''}stronger colour: a larger "
            "share of the row.",
            "Beside each true class: its units.",
        ],
    }
    bare = {"ticks": False, "domain": False, "labelPadding": 6}
    above = {"orient": "top", "title": "predicted class", "labelAngle": 0 if K <= 3 else -40}
    position: Spec = {
        "x": words("predicted", scale={"domain": across, "padding": 0}, axis=above | bare),
        "y": words(
            "true", scale={"domain": down, "padding": 0}, axis={"title": "true class"} | bare
        ),
    }
    tooltip = [
        words("true_name", title="true"),
        words("predicted_name", title="predicted"),
        quantity("units", format=","),
        quantity("share", format=".1%", title="of the true class"),
    ]
    ends = {"domain": [0, 1], "range": [colours.low, colours.high], "interpolate": "rgb"}
    shade = quantity("share", scale=ends, legend=None)
    below = {"test": f"datum.share < {colours.turn}", "value": colours.text[0]}
    ink = {"condition": below, "value": colours.text[1]}
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "strokeWidth": 1, "stroke": colours.grid},
            "encoding": position | {"fill": shade, "tooltip": tooltip},
        }
    ]
    two_lines = size >= 42
    if K <= MOST_TEXT:
        dy = -6 if two_lines else 0
        layers.append(_text("words", position, ink, 12 if size >= 30 else 9, dy))
    if two_lines:
        layers.append(_text("percent", position, ink, 10, 9))
    return {
        "title": title,
        "data": {"values": cells},
        "width": {"step": max(size, 84) if K <= 4 else size},
        "height": {"step": size},
        "layer": layers,
    }


def _text(field: str, position: Spec, ink: Spec, size: int, dy: int) -> Spec:
    return {
        "mark": {"type": "text", "fontSize": size, "dy": dy},
        "encoding": position | {"text": words(field), "color": ink},
    }
