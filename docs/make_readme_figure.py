"""Draw the README's picture: `python docs/make_readme_figure.py` writes docs/figures/demo.svg.

The figures are those of `python3 dev.py demo`: the same companies, the same seed.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import altair as alt

from trueup import correct
from trueup.cli.demo import METHODS, make_files

TARGET = Path(__file__).parent / "figures" / "demo.svg"
SEED = 2019  # that of `trueup demo`
# Okabe and Ito's colours, which colour-blind people tell apart.
GREY, ORANGE, BLUE = "#555555", "#d55e00", "#0072b2"
SHOWN = {
    "naive": "naive: added up per predicted class",
    "inverse": "error rates inverted (Rogan–Gladen)",
    "constrained (the paper)": "the paper: Bayesian, constrained",
    "auto (trueup)": "trueup",
}


def figures() -> tuple[list[dict[str, Any]], float]:
    """Return a row per method with its estimate and interval in million euro, and the truth."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictions, test_set, truth = make_files(Path(folder), SEED)
        rows = []
        for method, label in SHOWN.items():
            est = correct(
                predictions, test_set, value="turnover", id="company", seed=SEED, **METHODS[method]
            )
            row = next(row for row in est.rows() if row["class"] == "webshop")
            figure = {
                name: row[name] and row[name] / 1e6 for name in ("estimate", "lower", "upper")
            }
            rows.append({"method": label, "colour": ORANGE if method == "naive" else BLUE} | figure)
    return rows, truth / 1e6


def chart() -> alt.LayerChart:
    """Naive against corrected against truth."""
    rows, truth = figures()
    y = alt.Y(
        "method:N",
        sort=list(SHOWN.values()),
        title=None,
        axis=alt.Axis(labelLimit=400, labelPadding=8),
    )
    x = alt.X("estimate:Q", title="turnover of the webshops, million euro", scale=_scale())
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(alt.Data(values=rows))
    bars = base.mark_rule(strokeWidth=3).encode(y=y, x=alt.X("lower:Q"), x2="upper:Q", color=colour)
    points = base.mark_point(size=110, filled=True, opacity=1).encode(y=y, x=x, color=colour)
    numbers = base.mark_text(align="right", dx=-9, dy=-11, fontSize=12).encode(
        y=y, x=x, text=alt.Text("estimate:Q", format=".0f"), color=alt.value("#222222")
    )
    truths = alt.Chart(alt.Data(values=[{"truth": truth, "words": f"the truth, {truth:.0f}"}]))
    line = truths.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=GREY).encode(x="truth:Q")
    words = truths.mark_text(align="right", dx=-6, fontSize=12, color=GREY).encode(
        x="truth:Q", y=alt.value(6), text="words:N"
    )
    return (
        alt.layer(bars, line, points, numbers, words)
        .properties(
            width=460,
            height=alt.Step(46),
            background="white",
            padding={"left": 70, "right": 12, "top": 12, "bottom": 12},
        )
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", grid=False)
        .configure_axisX(grid=True, gridColor="#eeeeee")
        .configure_view(stroke=None)
    )


def _scale() -> alt.Scale:
    return alt.Scale(domain=[0, 1100], nice=False)


if __name__ == "__main__":
    chart().save(TARGET)
    print(TARGET.relative_to(Path.cwd()) if TARGET.is_relative_to(Path.cwd()) else TARGET)
