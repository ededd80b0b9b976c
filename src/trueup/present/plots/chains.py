"""Whether the chains have met: their traces, and R-hat as the run grew."""

from typing import Any

import numpy as np

from trueup.draws.samplers import rhat
from trueup.estimate.result import Estimate
from trueup.present.plots import style
from trueup.present.plots.style import Palette, Spec

MOST_TRACES = 6
POINTS = 24
WANTED = 1.01


def chains_spec(est: Estimate, colours: Palette) -> Spec:
    """Draw the base rate that mixes worst: some chains within the band of all; R-hat so far."""
    trace, info = est.info["trace"], est.info
    label = style.shortened(est.classes[trace["class"]])
    return {
        "title": {
            "text": f"Have the {info['chains']:,} chains met?",
            "subtitle": [
                f"{info['sweeps']:,} sweeps; over all classes R-hat {info['rhat']:.3f} and "
                f"{info['ess']:,.0f} effective draws.",
                f"Shown: the share of {label}, the class whose chains differ most.",
            ],
        },
        "vconcat": [_traces(trace, colours), _running(trace, colours)],
        "spacing": 18,
    }


def _traces(trace: dict[str, Any], colours: Palette) -> Spec:
    sweeps, beta = trace["sweeps"], trace["beta"]
    low, middle, high = np.quantile(beta, [0.05, 0.5, 0.95], axis=0)
    band = [
        {"sweep": int(t), "low": float(a), "middle": float(m), "high": float(b)}
        for t, a, m, b in zip(sweeps, low, middle, high, strict=True)
    ]
    chosen = np.linspace(0, len(beta) - 1, min(MOST_TRACES, len(beta))).astype(int)
    lines = [
        {"sweep": int(t), "share": float(x), "chain": f"chain {c + 1}"}
        for c in chosen
        for t, x in zip(sweeps, beta[c], strict=True)
    ]
    x = style.quantity("sweep", title=None, axis={"grid": False}, scale={"nice": False})
    axis = {"format": ".1~%", "tickCount": 5}

    def y(field: str) -> Spec:
        return style.quantity(field, title="share of the class", axis=axis, scale={"zero": False})

    colour = style.words("chain", scale={"range": list(colours.series)}, legend=None)
    area = {"type": "area", "color": colours.faint, "opacity": 0.25}
    thin = {"type": "line", "strokeWidth": 1, "opacity": 0.8}
    thick = {"type": "line", "strokeWidth": 2, "color": colours.ink}
    layers = [
        style.layer(band, area, x=x, y=y("low"), y2={"field": "high"}),
        style.layer(lines, thin, x=x, y=y("share"), color=colour),
        style.layer(band, thick, x=x, y=y("middle")),
    ]
    title = f"{len(chosen)} chains; grey: where 90% of all chains are, and their median"
    return {"title": _heading(title), "width": 560, "height": 170, "layer": layers}


def _running(trace: dict[str, Any], colours: Palette) -> Spec:
    sweeps, beta = trace["sweeps"], trace["beta"]
    ends = np.unique(np.linspace(min(12, len(sweeps)), len(sweeps), POINTS).astype(int))
    found = [min(rhat(beta[:, int(trace["burn"] * end) : end]), 10.0) for end in ends]
    values = [
        {"sweep": int(sweeps[end - 1]), "rhat": float(x)}
        for end, x in zip(ends, found, strict=True)
    ]
    scale = {"nice": False, "domain": [int(sweeps[0]), int(sweeps[-1])]}
    x = style.quantity("sweep", title="sweep after the warm-up", axis={"grid": False}, scale=scale)
    scale = {"domain": [float(min(1.0, *found)), float(max(1.02, *found))]}
    axis = {"tickCount": 4, "format": ".3~f"}
    y, wanted = (
        style.quantity(field, title="R-hat", scale=scale, axis=axis) for field in ("rhat", "wanted")
    )
    line = {"type": "line", "point": {"color": colours.corrected}, "color": colours.corrected}
    rule = {"type": "rule", "strokeDash": [5, 3], "color": colours.naive}
    tooltip = [style.quantity("sweep", format=","), style.quantity("rhat", format=".4f")]
    layers = [
        style.layer(values, line, x=x, y=y, tooltip=tooltip),
        style.layer([{"wanted": WANTED}], rule, y=wanted),
    ]
    title = f"R-hat of the run so far, without its first fifth; below {WANTED} (dashed) is wanted"
    return {"title": _heading(title), "width": 560, "height": 100, "layer": layers}


def _heading(text: str) -> Spec:
    return {"text": text, "fontSize": 12, "fontWeight": "normal", "offset": 4}
