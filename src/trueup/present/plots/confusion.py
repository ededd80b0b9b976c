"""The test set as a table of counts: rows true, columns predicted, shaded by share of the row."""

import numpy as np

from trueup.estimate.result import Estimate
from trueup.present.plots.style import Spec, clean, finish, names, palette, quantity, words

LONGEST = 22
MOST_TEXT = 40
"""With more classes than this the cells are too small for numbers."""


def confusion_spec(est: Estimate, theme: str = "light") -> Spec:
    """Draw the confusion matrix: counts and row percentages, with text that can be read."""
    colours = palette(theme)
    n, K = est.counts.n, max(est.counts.K, est.counts.L)
    rows = n.sum(axis=1)
    share = n / np.maximum(rows, 1)[:, None]
    across = names(est.counts.predicted, LONGEST)
    named = zip(names(est.classes, LONGEST), rows, strict=True)
    down = [f"{name} · {units:,}" for name, units in named]
    size = 58 if K <= 8 else 42 if K <= 16 else 30 if K <= 24 else 22 if K <= MOST_TEXT else 12
    cells = []
    for g in range(est.counts.K):
        for h in range(est.counts.L):
            fill = mixed(colours.low, colours.high, float(share[g, h]))
            cells.append(
                {
                    "true": down[g],
                    "predicted": across[h],
                    "true_name": clean(est.classes[g]),
                    "predicted_name": clean(est.counts.predicted[h]),
                    "units": int(n[g, h]),
                    "share": float(share[g, h]),
                    "words": f"{n[g, h]:,}" if n[g, h] or K <= 8 else "",
                    "percent": f"{share[g, h]:.0%}" if n[g, h] else "",
                    "fill": fill,
                    "ink": ink(fill),
                }
            )
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
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "strokeWidth": 1, "stroke": colours.grid},
            "encoding": position | {"fill": words("fill", scale=None), "tooltip": tooltip},
        }
    ]
    two_lines = size >= 42
    if K <= MOST_TEXT:
        layers.append(_text("words", position, 12 if size >= 30 else 9, -6 if two_lines else 0))
    if two_lines:
        layers.append(_text("percent", position, 10, 9))
    chart: Spec = {
        "title": title,
        "data": {"values": cells},
        "width": {"step": max(size, 84) if K <= 4 else size},
        "height": {"step": size},
        "layer": layers,
    }
    return finish(chart, theme)


def _text(field: str, position: Spec, size: int, dy: int) -> Spec:
    return {
        "mark": {"type": "text", "fontSize": size, "dy": dy},
        "encoding": position | {"text": words(field), "color": words("ink", scale=None)},
    }


def mixed(low: str, high: str, share: float) -> str:
    """The colour between two, at `share` of the way.

    Examples
    --------
    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    parts = [(int(low[i : i + 2], 16), int(high[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in parts)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21.

    Examples
    --------
    >>> round(contrast("#ffffff", "#000000"), 1)
    21.0
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def ink(fill: str) -> str:
    """Black or white, whichever is easier to read on `fill`."""
    return max(("#ffffff", "#000000"), key=lambda text: contrast(fill, text))


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
