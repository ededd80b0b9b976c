"""What a prior believes of every class's recall, before any test unit is seen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from trueup.present.plots.studies import load_altair
from trueup.present.plots.style import Spec, finish, names, palette
from trueup.prior.belief import BINS, Belief, recalls

__all__ = ["prior_chart", "prior_spec"]


def prior_spec(prior: Belief, classes: int | Sequence[Hashable] = 2, theme: str = "light") -> Spec:
    """Draw the prior of each p_gg as a histogram from 0 to 1, its central 90% in strong colour."""
    labels = list(range(classes)) if isinstance(classes, int) else list(classes)
    resolved = prior.for_classes(len(labels), labels)
    edges = np.linspace(0, 1, BINS + 1)
    colours, panels = palette(theme), []
    for word, row in zip(names(labels), recalls(resolved), strict=True):
        bars = [
            {
                "from": float(a),
                "to": float(b),
                "height": float(h),
                "inside": bool(row["lower"] <= (a + b) / 2 <= row["upper"]),
            }
            for a, b, h in zip(edges[:-1], edges[1:], row["heights"], strict=True)
        ]
        panels.append(
            {
                "title": {"text": word, "fontSize": 12, "anchor": "middle", "offset": 4},
                "width": 210,
                "height": 90,
                "data": {"values": bars},
                "mark": {"type": "rect", "color": colours.corrected},
                "encoding": {
                    "x": {
                        "field": "from",
                        "type": "quantitative",
                        "title": None,
                        "scale": {"domain": [0, 1]},
                        "axis": {"format": "%", "tickCount": 5, "grid": False},
                    },
                    "x2": {"field": "to"},
                    "y": {"field": "height", "type": "quantitative", "axis": None},
                    "opacity": {"condition": {"test": "datum.inside", "value": 0.7}, "value": 0.28},
                },
            }
        )
    title = {
        "text": f"Prior {resolved.name!r}: the recall of each class",
        "subtitle": "Strong colour: 90% of the belief.",
    }
    return finish({"title": title, "concat": panels, "columns": 3}, theme)


def prior_chart(prior: Belief, classes: int | Sequence[Hashable] = 2) -> Any:
    """Give that chart as Altair's."""
    return load_altair().Chart.from_dict(prior_spec(prior, classes))
