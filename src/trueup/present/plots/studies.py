"""Charts of studies, made with Altair (the extra ``plot``) and written as SVG or PNG files."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from trueup.errors import FileError, optional
from trueup.present.output import writable


def load_altair() -> Any:
    """Import Altair, or say how to get it."""
    words = "Charts need Altair and vl-convert, which are not installed."
    for package in ("vl_convert", "altair"):  # files need the first
        found = optional(package, words, "pip install 'trueup[plot]'")
    return found


def save_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart of Altair or a specification; the ending, .svg or .png, decides the format.

    Altair takes up to 9 s to check a specification with many rows.
    """
    target = writable("a chart", path, ".svg", ".png")
    png = target.suffix.lower() == ".png"
    try:
        if not isinstance(chart, dict):
            chart.save(str(target), **({"ppi": 144} if png else {}))
        elif png:
            target.write_bytes(import_module("vl_convert").vegalite_to_png(chart, ppi=144))
        else:
            svg = import_module("vl_convert").vegalite_to_svg(chart)
            target.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{str(target)!r} must be writable; {error.strerror}.") from None
    return target


def comparison_chart(rows: Sequence[dict[str, Any]], interval: float) -> Any:
    """Draw the root mean squared error and the coverage of every method; lines are ± 2 errors."""
    alt = load_altair()
    shown = [row for row in rows if row["mse"] is not None]
    data = []
    for row in shown:
        low, high = (max(row["mse"] + k * row["mse_error"], 0.0) ** 0.5 for k in (-2, 2))
        ends = {"method": row["method"], "rmse": row["mse"] ** 0.5, "low": low, "high": high}
        covered, error = row["coverage"], 2 * (row["coverage_error"] or 0.0)
        if covered is not None:
            ends |= {"coverage": covered, "from": covered - error, "to": covered + error}
        data.append(ends)
    order = [row["method"] for row in sorted(shown, key=lambda row: row["mse"])]
    base = alt.Chart(alt.Data(values=data)).encode(y=alt.Y("method:N", sort=order, title=None))
    error = base.mark_circle(size=60).encode(
        x=alt.X(
            "rmse:Q",
            title="root mean squared error (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=20),
            axis={"format": "~s", "tickCount": 6},
        )
    ) + base.mark_rule().encode(x=alt.X("low:Q"), x2="high:Q")
    known = base.transform_filter("isValid(datum.coverage)")
    cover = known.mark_circle(size=60).encode(
        x=alt.X(
            "coverage:Q",
            title=f"coverage of {interval:.0%} intervals",
            axis={"format": "%"},
            scale=alt.Scale(zero=False),
        )
    ) + known.mark_rule().encode(x="from:Q", x2="to:Q")
    line = alt.Chart(alt.Data(values=[{"x": interval}])).mark_rule(strokeDash=[4, 4], color="#888")
    return (error.properties(width=300)) | (cover + line.encode(x="x:Q")).properties(width=240)


def precision_chart(
    points: Sequence[dict[str, Any]],
    target: float | None,
    what: str,
    interval: float,
    across: str = "test units",
) -> Any:
    """Draw the expected half-width against the number of test units, per allocation.

    Or against time (`across`), which has no log scale: it may be 0.
    """
    alt = load_altair()
    data = alt.Data(values=list(points))
    base = alt.Chart(data).encode(
        x=alt.X(
            "n:Q", title=across, scale=alt.Scale(type="log" if across == "test units" else "linear")
        ),
        color=alt.Color("allocation:N", title=None),
    )
    chart = base.mark_line(point=True).encode(
        y=alt.Y(
            "half_width:Q",
            title=f"half-width of the {interval:.0%} interval, {what}",
            scale=alt.Scale(type="log"),
            axis={"format": "~s"},
        )
    )
    if target is not None:
        rule = alt.Chart(alt.Data(values=[{"y": target}])).mark_rule(strokeDash=[4, 4])
        chart = chart + rule.encode(y="y:Q")
    return chart.properties(width=420, height=280)
