"""Whether the classifier is as sure as it is right: shares that are right, by score."""

from trueup.count.reliability import SCALES, score_scale
from trueup.estimate.result import Estimate
from trueup.present.plots import style
from trueup.present.plots.style import Palette, Spec
from trueup.text import percent

MOST_CLASSES = 6


def calibration_spec(est: Estimate, colours: Palette) -> Spec:
    """Draw, for each predicted class, audited shares with intervals and the learned curve."""
    rows, cells = est.info["calibration"], est.counts.bands
    assert cells is not None
    assert cells.score is not None
    labels = list(dict.fromkeys(row["predicted"] for row in rows))
    panels = []
    size = 260 if len(labels) <= 2 else 200
    for label, name in zip(labels[:MOST_CLASSES], style.names(labels[:MOST_CLASSES]), strict=True):
        mine = [{k: x for k, x in row.items() if k != "predicted"} for row in rows
                if row["predicted"] == label]  # fmt: skip
        audited = [row | {"share": row["right"] / row["audited"]} for row in mine if row["audited"]]
        across = style.quantity("given", title="score, as a probability", axis={"format": "%"},
                                scale={"domain": [0, 1]})  # fmt: skip
        down = {"type": "quantitative", "title": "predicted right", "axis": {"format": "%"},
                "scale": {"domain": [0, 1]}}  # fmt: skip
        tooltip = [
            style.quantity("given", format=".1%", title="score"),
            style.quantity("audited", format=",", title="audited units"),
            style.quantity("right", format=",", title="of which right"),
            style.quantity("learned", format=".1%", title="learned share"),
            style.quantity("units", format=",", title="units in the population"),
        ]
        line = {"type": "line", "color": colours.faint, "strokeDash": [4, 4]}
        band = {"type": "area", "color": colours.corrected, "opacity": 0.2}
        curve = {"type": "line", "color": colours.corrected, "strokeWidth": 2.5}
        rule = {"type": "rule", "color": colours.naive}
        dot = {"type": "point", "filled": True, "size": 50, "color": colours.naive, "opacity": 1}
        layers = [
            style.layer([{"given": x, "share": x} for x in (0, 1)], line, x=across,
                        y=down | {"field": "share"}),
            style.layer(mine, band, x=across, y=down | {"field": "learned_lower"},
                        y2={"field": "learned_upper"}),
            style.layer(mine, curve, x=across, y=down | {"field": "learned"}, tooltip=tooltip),
            style.layer(audited, rule, x=across, y=down | {"field": "lower"},
                        y2={"field": "upper"}),
            style.layer(audited, dot, x=across, y=down | {"field": "share"}, tooltip=tooltip),
        ]  # fmt: skip
        title = style.heading(f"predicted {name}")
        panels.append({"title": title, "width": size, "height": size, "layer": layers})
    scale = SCALES[score_scale(cells.score, cells.v_hat)]
    notes = [
        f"Dots: audited units, with {percent(est.info['interval'])} intervals. Line: the learned "
        "curve, which the estimate uses.",
        f"Dashed: scores as given, taken for {scale}; the estimate believes only their order.",
    ]
    above = {"text": "Is the classifier as sure as it is right?", "subtitle": notes}
    return {"title": above, "concat": panels, "columns": 3}
