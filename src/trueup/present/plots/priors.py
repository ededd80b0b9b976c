"""What a prior believes of every class's recall, before any test unit is seen."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from trueup.present.plots.studies import load_altair
from trueup.present.plots.style import bars, finish, heading, names, palette
from trueup.prior.belief import BINS, Belief, recalls


def prior_chart(prior: Belief, classes: int | Sequence[Hashable] = 2) -> Any:
    """Draw the prior of each p_gg as a histogram from 0 to 1, its central 90% in strong colour."""
    labels = list(range(classes)) if isinstance(classes, int) else list(classes)
    resolved, colours = prior.for_classes(len(labels), labels), palette("light")
    edges = np.linspace(0, 1, BINS + 1)
    axis = {"format": "%", "tickCount": 5, "grid": False}
    x = {"type": "quantitative", "title": None, "scale": {"domain": [0, 1]}, "axis": axis}
    panels = [
        {"title": heading(word), "width": 210, "height": 90}
        | bars(edges, row["heights"], row, colours.corrected, x)
        for word, row in zip(names(labels), recalls(resolved), strict=True)
    ]
    title = {
        "text": f"Prior {resolved.name!r}: the recall of each class",
        "subtitle": "Strong colour: 90% of the belief.",
    }
    chart = finish({"title": title, "concat": panels, "columns": 3}, colours)
    return load_altair().Chart.from_dict(chart)
